//! Whatever stands in entries, journals, names of files and settings: a terminal gets no orders from it, and JSON
//! says it as it is.

use crate::support::TestBase;

/// Every sort of thing that a terminal acts on: a colour, a title and a clipboard (OSC 0, 52), a link (OSC 8), a bell,
/// a backspace, C1 in one character, deletion, turned text, other line breaks.
const ORDERS: [&str; 12] = [
    "\u{1b}[31m",
    "\u{1b}]0;t\u{7}",
    "\u{1b}]52;c;eA==\u{7}",
    "\u{1b}]8;;http://x\u{1b}\\",
    "\u{8}\u{8}",
    "\u{9b}31m",
    "\u{9d}0;t\u{9c}",
    "\u{7f}",
    "\u{202e}",
    "\u{2066}\u{2069}",
    "\u{2028}",
    "\u{200f}",
];

fn is_order(character: char) -> bool {
    let is_control = character.is_control() && !matches!(character, '\n' | '\t');
    is_control
        || matches!(u32::from(character), 0x200e | 0x200f | 0x061c | 0x202a..=0x202e | 0x2066..=0x2069 | 0x2028 | 0x2029)
}

/// Returns text in double quotes of YAML, with control characters escaped, as a file may contain them.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|character| {
            if is_order(character) {
                format!("\\u{:04x}", u32::from(character))
            } else {
                character.to_string().replace('\\', "\\\\")
            }
        })
        .collect();
    format!("\"{escaped}\"")
}

#[test]
fn control_characters_reach_no_terminal_and_no_prompt() {
    let base = TestBase::new();
    let all = ORDERS.concat();
    let word = format!("zebra{all}stripe");
    let q = quoted(&word);
    let head = format!(
        "title: {q}\ntags: [{q}, a]\ncategory: {q}\nfeature: {q}\nscope: project\nfiles: [{q}]\ntask_id: {q}\nrun_id: {q}\ndetails: {{x: {q}}}\nsupersedes: [{q}]\n"
    );
    let body = format!("Of zebras: {word}\n\nsee [[{word}]]\n");
    base.write(".ralph/knowledge/hostile.md", format!("---\n{head}---\n\n{body}"));
    base.write(".ralph/knowledge/twin.md", format!("---\n{head}---\n\n{body}again\n"));
    base.write(".ralph/knowledge/event.md", format!("---\ntitle: {q}\ntags: [{q}]\ncategory: decision\n---\n\n{body}"));
    base.write(".ralph/knowledge/broken.md", format!("---\ntitle: {word}\ntags: {word}: {word}\n---\n{body}"));
    base.write(".ralph/archive/knowledge/old.md", format!("---\n{head}---\n\n{body}"));
    base.write(&format!(".ralph/knowledge/name{all}.md"), format!("---\n{head}---\n\n{body}").replace('/', "-"));
    let attempt = format!(
        "---\nrun_id: run-1a2b3c4d\niteration: 1\ntask_id: t-1\ntask_title: {q}\nfeature: {q}\noutcome: failed\nerror_category: {q}\nmodel: {q}\nmodel_rationale: {q}\n\
         started_at: \"2026-11-20T09:00:00Z\"\nfiles: {{modified: [{q}]}}\nvalidation: {{command: {q}, exit_code: 1, duration_ms: 2}}\nrefused: [{q}]\n---\n\n> {word}\n\n## What was tried\n\n> {word}\n"
    );
    base.write(".ralph/journal/run-1a2b3c4d/0001.md", attempt);
    let config = base.read(".ralph/config.toml");
    base.write(".ralph/config.toml", format!("{config}\n{q} = 1\n"));

    let commands: [&[&str]; 33] = [
        &["search", "zebra"],
        &["search", "zebra", "--explain", "--archived"],
        &["search", &word],
        &["show", "hostile"],
        &["show", "journal/run-1a2b3c4d/0001"],
        &["show", &word],
        &["list"],
        &["list", "--archived"],
        &["list", "--tags"],
        &["list", "--kind", "journal"],
        &["list", "--sort", "title", "--never-helped"],
        &["log"],
        &["log", "--full"],
        &["stats"],
        &["show", "t-1"],
        &["show", "run-1a2b3c4d"],
        &["show", &format!("task:{word}")],
        &["log", "--model", &word],
        &["stats", "--feature", &word],
        &["check"],
        &["check", "--format", "github"],
        &["--quiet"],
        &["check", "--fix"],
        &["tidy", "--dry-run"],
        &["restore", &word],
        &["archive", &word],
        &["edit", &word],
        &["edit", &word, "--title", &word],
        &["edit", "hostile", "--supersedes", &word],
        &["edit", "hostile", "--scope", &format!("feature:{word}")],
        &["add", &word, "--tags", &word, "--body", "zebra"],
        &["add", "--event", &word, &word],
        // A prompt for an agent: what no reader needs is made visible there, too.
        &["context", "--task", "zebra"],
    ];
    for arguments in commands {
        let ran = base.run(arguments);
        assert!(!matches!(ran.code, None | Some(70)), "{arguments:?}: {ran}");
        for (stream, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
            let found: Vec<String> =
                text.lines().filter(|line| line.contains(is_order)).map(|line| format!("{line:?}")).collect();
            assert_eq!(found, Vec::<String>::new(), "{arguments:?}: {stream}");
        }
    }
    // They had something to show.
    assert!(base.run(["search", "zebra"]).stdout.contains("zebra\\u{1b}[31m"));
    assert!(base.run(["context", "--task", "zebra"]).stdout.contains("Of zebras: zebra"));

    let hits = base.run(["search", "zebra", "--json"]).json(0);
    let titles: Vec<&str> =
        hits["entries"].as_array().unwrap().iter().map(|hit| hit["title"].as_str().unwrap()).collect();
    assert!(titles.contains(&word.as_str()), "{titles:?}");
    let entry = base.run(["show", "hostile", "--json"]).json(0);
    assert_eq!(entry["entry"]["title"].as_str(), Some(word.as_str()));
    assert!(entry["entry"]["body"].as_str().unwrap().contains(&word));
    let context = base.run(["context", "--task", "zebra", "--json"]).json(0);
    let prompt = context["prompt"].as_str().unwrap();
    assert!(prompt.contains("Of zebras") && !prompt.contains(is_order), "{prompt}");
}
