//! `import` of notes, records, rules and JSON Lines: what becomes an entry, and that nothing of the memory is lost.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use ralph_memory::Memory;
use ralph_memory::memory::{ImportAction, ImportInput, ImportRequest};
use serde_json::Value;

use crate::support::{TestBase, utf16};

const GUIDE: &str = "# CLAUDE.md\n\nYou are a senior engineer.\n\n## Git\n\n- Never commit to `main`.\n- Name branches after the ticket.\n\n## Gotchas\n\n- The dev server needs port 3000.\n  ```sh\n  lsof -i :3000\n  ```\n- Dates are UTC.\n";

/// Imports, and returns `ACTION TITLE` of each item, sorted.
#[track_caller]
fn import(base: &TestBase, arguments: &[&str], code: i32) -> Vec<String> {
    let answer = base.run([&["import"], arguments, &["--json"]].concat()).json(code);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = answer["items"].as_array().unwrap().iter();
    let mut items: Vec<String> =
        items.map(|item| format!("{} {}", text(&item["action"]), text(&item["title"])).trim().to_owned()).collect();
    items.sort();
    items
}

/// Returns the text of the entry with this title.
#[track_caller]
fn entry(base: &TestBase, title: &str) -> String {
    let mut all = base.files(".ralph/knowledge").into_iter().map(|path| base.read(&path));
    all.rfind(|text| text.contains(&format!("title: \"{title}\""))).unwrap_or_else(|| panic!("no {title}"))
}

#[test]
fn each_rule_of_a_file_is_an_entry_that_is_imported_once() {
    let base = TestBase::new();
    base.write("CLAUDE.md", GUIDE);
    let titles = [
        "Dates are UTC.",
        "Name branches after the ticket.",
        "Never commit to `main`.",
        "The dev server needs port 3000.",
    ];
    let as_each = |action: &str| titles.map(|title| format!("{action} {title}")).to_vec();
    assert_eq!(import(&base, &["CLAUDE.md", "--dry-run"], 0), as_each("added"));
    assert!(base.files(".ralph/knowledge").is_empty(), "a dry run writes nothing");
    assert_eq!(import(&base, &["CLAUDE.md"], 0), as_each("added"));
    assert_eq!(import(&base, &["CLAUDE.md"], 0), as_each("unchanged"));
    let pitfall = entry(&base, "The dev server needs port 3000.");
    assert!(pitfall.contains("category: pitfall") && pitfall.contains("```sh\nlsof -i :3000\n```"), "{pitfall}");
    let line =
        entry(&base, "Never commit to `main`.").lines().find(|line| line.starts_with("details")).unwrap().to_owned();
    assert!(line.contains("\"id\":\"CLAUDE.md#Git\"") && line.matches(':').count() == 4, "{line}");
    // Another order and a new item leave the others alone; a changed one is updated.
    let changed = GUIDE.replace(
        "- Never commit to `main`.\n",
        "- Squash each branch first.\n- Never commit to `main` without a review.\n",
    );
    base.write("CLAUDE.md", changed);
    let expected = [
        "added Squash each branch first.",
        "unchanged Dates are UTC.",
        "unchanged Name branches after the ticket.",
        "unchanged The dev server needs port 3000.",
        "updated Never commit to `main` without a review.",
    ];
    assert_eq!(import(&base, &["CLAUDE.md"], 0), expected);
}

#[test]
fn what_a_person_changed_or_archived_stays() {
    let base = TestBase::new();
    base.write("notes/ports.md", "# Ports\n\nThe API has 8080.\n").write("notes/hosts.md", "# Hosts\n\nOne host.\n");
    assert_eq!(import(&base, &["notes"], 0), ["added Hosts", "added Ports"]);
    base.run(["archive", "hosts"]).says(0, "archived");
    assert_eq!(import(&base, &["notes"], 0), ["unchanged Hosts", "unchanged Ports"]);
    base.write(".ralph/knowledge/ports.md", base.read(".ralph/knowledge/ports.md").replace("8080", "8081"));
    assert_eq!(import(&base, &["notes"], 0), ["unchanged Hosts", "unchanged Ports"]);
    base.write("notes/ports.md", "# Ports\n\nThe API has 9090.\n").write("notes/hosts.md", "# Hosts\n\nTwo hosts.\n");
    let before = base.read(".ralph/knowledge/ports.md");
    assert_eq!(import(&base, &["notes"], 1), ["conflict Ports", "skipped Hosts"]);
    assert_eq!(base.read(".ralph/knowledge/ports.md"), before);
    // The same correction in both is none.
    base.write("notes/ports.md", "# Ports\n\nThe API has 8081.\n");
    assert_eq!(import(&base, &["notes"], 0), ["skipped Hosts", "unchanged Ports"]);
    // An entry that was not imported is never changed.
    base.run(["add", "Queues", "--tags", "mq", "--body", "Three queues."]).says(0, "created");
    base.write("more/queues.md", "# Queues\n\nTwo queues.\n");
    assert_eq!(import(&base, &["more"], 1), ["conflict Queues"]);
    assert!(entry(&base, "Queues").contains("Three queues."));
}

#[test]
fn what_an_agent_wrote_keeps_no_import_of_a_person_out() {
    let base = TestBase::new();
    let by_agent = |words: &[&str]| base.with(words).env("CLAUDECODE", "1").run();
    base.write("notes/ports.md", "# Ports\n\nThe API has 8080.\n").write("notes/hosts.md", "# Hosts\n\nOne host.\n");
    by_agent(&["import", "notes/ports.md"]).says(0, "1 added");
    by_agent(&["add", "Ports", "--tags", "a", "--body", "The API has 8081."]).says(0, "updated");
    let forged =
        base.read(".ralph/knowledge/ports.md").lines().find(|line| line.starts_with("details:")).unwrap().to_owned();
    let forged = forged.trim_start_matches("details: ").replace("ports.md", "hosts.md").replace('}', ", \"n\": 1}");
    by_agent(&["add", "Servers", "--tags", "a", "--body", "Nine.", "--details", &forged]).says(0, "created");
    let text = entry(&base, "Servers");
    assert!(!text.contains("imported") && text.contains("\"n\""), "{text}");
    assert_eq!(import(&base, &["notes"], 0), ["added Hosts", "updated Ports"]);
    let text = entry(&base, "Ports");
    assert!(text.contains("8080") && !text.contains("source: agent"), "{text}");
}

#[test]
fn an_entry_of_the_first_version_is_known() {
    let base = TestBase::new();
    base.write("notes/ports.md", "# Ports\n\nThe API has 8080.\n");
    import(&base, &["notes"], 0);
    let text = base.read(".ralph/knowledge/ports.md");
    let start = text.find("details:").unwrap();
    let end = start + text[start..].find('\n').unwrap();
    let hash = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(b"The API has 8080."));
    let old = format!(
        "details: {{\"imported\":{{\"hash\":\"{hash}\",\"id\":\"notes/ports.md\",\"path\":\"notes/ports.md\",\"source\":\"memory-bank\",\"tags\":[\"notes\"],\"title\":\"Ports\"}}}}"
    );
    base.write(".ralph/knowledge/ports.md", format!("{}{old}{}", &text[..start], &text[end..]));
    base.write("notes/ports.md", "# Ports\n\nThe API has 9090.\n");
    assert_eq!(import(&base, &["notes"], 0), ["updated Ports"]);
    assert!(!entry(&base, "Ports").contains("memory-bank"));
}

#[test]
fn a_decision_record_has_its_status_and_its_number() {
    let base = TestBase::new();
    let record = |title: &str, status: &str| {
        format!(
            "# {title}\n\nDate: 2025-02-10\n\n## Status\n\n{status}\n\n## Context\n\nWe need one.\n\n## Decision\n\nWe take {title}.\n"
        )
    };
    base.write("docs/adr/0001-use-wal.md", record("1. Use WAL", "Accepted"));
    base.write("docs/adr/0002-use-redux.md", record("2. Use Redux", "Superceded by [3. Use signals](0003.md)"));
    base.write("choices/adr-7.md", record("ADR-7: Use GraphQL", "**Rejected**"));
    base.write("docs/adr/0000-template.md", record("Title", "proposed"));
    let expected = ["added Use GraphQL", "added Use Redux", "added Use WAL", "skipped"];
    assert_eq!(import(&base, &["docs/adr", "choices"], 0), expected);
    for (title, status, alias) in [
        ("Use WAL", "accepted", "[ADR-1, ADR-0001]"),
        ("Use Redux", "superseded", "[ADR-2, ADR-0002]"),
        ("Use GraphQL", "rejected", "[ADR-7]"),
    ] {
        let text = entry(&base, title);
        for part in [
            "category: decision",
            &format!("status: {status}"),
            &format!("aliases: {alias}"),
            "created_at: \"2025-02-10",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let text = entry(&base, "Use WAL");
    assert!(text.contains("---\n\nWe take 1. Use WAL.\n\n## Context\n\nWe need one.\n"), "{text}");
    assert!(entry(&base, "Use Redux").contains("Superceded by [3. Use signals]"), "nothing is lost");
    base.run(["search", "ADR-0007", "--limit", "1"]).says(0, "Use GraphQL");
    // A status that changes is a change.
    base.write("docs/adr/0001-use-wal.md", record("1. Use WAL", "Deprecated"));
    assert_eq!(import(&base, &["docs/adr/0001-use-wal.md"], 0), ["updated Use WAL"]);
    assert!(entry(&base, "Use WAL").contains("status: \"deprecated\""));
}

#[test]
fn a_note_is_one_entry_with_what_its_frontmatter_says() {
    let base = TestBase::new();
    base.write("vault/ops/brokers.md", "---\ntags: [mq, '#infra']\naliases: Kafka\ncategory: pitfall\ndate: 2026-01-05\nglobs: *.conf\n---\n\n# Brokers [![up](a.svg)](b)\r\n\r\nThey want TLS. See [[rack-a]].\r\n\r\n## Ports\r\n\r\n9092.\r\n");
    base.write("vault/rack-a.md", "# The first rack\n\nIt has two brokers.\n")
        .write("vault/empty.md", "# Empty\n\n<!-- later -->\n");
    base.write("vault/copy/brokers.md", "# Brokers\n\nOther ones.\n");
    let expected = ["added Brokers", "added The first rack", "added vault/ops: Brokers", "skipped"];
    assert_eq!(import(&base, &["vault"], 0), expected);
    let text = entry(&base, "vault/ops: Brokers");
    for part in [
        "tags: [vault/ops, mq, infra]",
        "category: pitfall",
        "aliases: [Kafka]",
        "created_at: \"2026-01-05",
        "files: [\"*.conf\"]",
        "They want TLS. See [[rack-a]].\n\n## Ports\n\n9092.\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The name of a file that others link to leads to its entry.
    base.run(["check", "--strict"]).says(0, "no problems");
}

#[test]
fn json_lines_have_five_fields() {
    let base = TestBase::new();
    let lines = "{\"title\":\"Page size\",\"body\":\"50 rows.\",\"tags\":[\"api\"],\"category\":\"tool_usage\",\"created_at\":\"2026-02-03T04:05:06Z\",\"id\":7}\n\n{\"body\":\"Retries stop after three.\",\"tags\":\"net, http\"}\n{\"title\":\"Nothing\"}\nnot json\n{\"title\":\"Late\",\"body\":\"x\",\"created_at\":\"soon\"}\n";
    base.write("memories.jsonl", lines);
    let expected = ["added Page size", "added Retries stop after three.", "skipped", "skipped", "skipped"];
    assert_eq!(import(&base, &["memories.jsonl"], 0), expected);
    let ran = base.run(["import", "memories.jsonl"]);
    for line in [
        "memories.jsonl:4: it has no `body`",
        "memories.jsonl:5: it cannot be read",
        "memories.jsonl:6: its `created_at` is not a time: `soon`",
    ] {
        assert!(ran.stdout.contains(line), "{ran}");
    }
    let text = entry(&base, "Page size");
    assert!(text.contains("tags: [api]\ncategory: tool_usage") && text.contains("\"2026-02-03T04:05:06Z\""), "{text}");
    base.with(["import", "-"])
        .input("{\"title\":\"Piped\",\"body\":\"It was.\"}")
        .run()
        .says(0, "1 added; read standard input");
    let odd = "{\"title\":\"Odd\",\"body\":\"half \\ud83d\ttab\",\"tags\":\"[\\\"api\\\", 5]\"}\n";
    fs::write(base.at("odd.jsonl"), utf16(odd)).unwrap();
    assert_eq!(import(&base, &["odd.jsonl"], 0), ["added Odd"]);
    let text = entry(&base, "Odd");
    assert!(text.contains("tags: [api, \"5\"]") && text.contains("half \u{fffd}\ttab"), "{text}");
    base.with(["add", "Size", "--tags", "a"]).input(utf16("Größe.")).run().says(0, "created");
    assert!(entry(&base, "Size").ends_with("\n\nGröße.\n"));
    base.write("words.jsonl", "just words\n");
    base.run(["import", "words.jsonl"]).says(2, "no line with a JSON object");
    base.write("lines.txt", "{\"title\":\"Named\",\"body\":\"By hand.\"}\n");
    base.run(["import", "lines.txt"]).says(2, "add --as markdown");
    assert_eq!(import(&base, &["lines.txt", "--as", "jsonl"], 0), ["added Named"]);
}

#[test]
fn an_import_alone_shows_what_there_is() {
    let base = TestBase::new();
    base.run(["import"]).says(0, "found nothing to import");
    base.write("CLAUDE.md", GUIDE).write("docs/adr/0001-x.md", "# X\n\n## Status\n\nAccepted\n\nYes.\n");
    base.write("packages/web/AGENTS.md", "- Use the shared buttons.\n").write("memory-bank/state.md", "Half done.\n");
    base.write("node_modules/a/CLAUDE.md", "- Never look here at all.\n").write("docs/other.md", "# Other\n\nText.\n");
    let ran = base.run(["import"]);
    for line in ["CLAUDE.md: 4 new", "docs/adr: 1 new", "packages/web/AGENTS.md: 1 new", "memory-bank: 1 new"] {
        assert!(ran.stdout.lines().any(|found| found == line), "{line}: {ran}");
    }
    assert_eq!(ran.stdout.lines().count(), 4, "{ran}");
    assert!(base.files(".ralph/knowledge").is_empty());
    base.run(["import", "packages/web/AGENTS.md"]).says(0, "1 added");
    let text = entry(&base, "Use the shared buttons.");
    assert!(text.contains("tags: [rules, packages/web]") && text.contains("files: [\"packages/web/**\"]"), "{text}");
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_imported() {
    let base = TestBase::new();
    let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
    base.write("notes/good.md", "# Good\n\nIt is.\n").write("notes/secret.md", format!("# Secret\n\nUse {token}.\n"));
    base.write("notes/yaml.md", "---\na: 1\n  b: [1\n---\nText.\n").write("notes/big.md", "x".repeat(5 << 20));
    fs::write(base.at("notes/latin.md"), b"# Caf\xe9\n").unwrap();
    fs::write(base.at("notes/zero.md"), b"# A\0\n").unwrap();
    base.write("outside.md", "# Outside\n\nText.\n");
    symlink(base.at("outside.md"), base.at("notes/link.md")).unwrap();
    let ran = base.run(["import", "notes"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    for line in [
        "added knowledge/good",
        "notes/yaml.md: its frontmatter is not valid YAML",
        "notes/big.md: it has 5242880 bytes, and the limit is 4 MiB",
        "notes/latin.md: it is not UTF-8",
        "notes/zero.md: it is not a text",
        "notes/link.md: it is a link, and links are not followed",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {ran}");
    }
    assert!(ran.stdout.contains("refused") && !ran.to_string().contains(&token), "{ran}");
    assert_eq!(base.files(".ralph/knowledge").len(), 1);
    // Of a file that a person names it is an error, and nothing is imported.
    base.run(["import", "outside.md", "notes/latin.md"]).says(2, "it is not UTF-8");
    base.run(["import", "outside.md", "nowhere.md"]).says(2, "`nowhere.md` does not exist");
    base.run(["import", ".ralph/knowledge"]).says(2, "it is in this memory");
    // A clone can bring a link.
    symlink(base.home(), base.at("docs")).unwrap();
    base.run(["import", "docs"]).says(2, "a link on the way leads out of this project");
    assert_eq!(base.files(".ralph/knowledge").len(), 1);
}

#[test]
fn the_block_of_setup_is_not_imported() {
    let base = TestBase::new();
    base.write("AGENTS.md", "# Rules\n\n## Tests\n\n- Use a temporary folder.\n");
    base.run(["setup", "agents-md"]).says(0, "AGENTS.md");
    assert!(base.read("AGENTS.md").contains("build_context"), "{}", base.read("AGENTS.md"));
    assert_eq!(import(&base, &["AGENTS.md"], 0), ["added Use a temporary folder."]);
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let base = TestBase::new();
    base.run(["import", ".", "--since", "3"]).says(2, "--since is for past sessions");
    base.run(["import", "transcripts", "--tag", "x"]).says(2, "--tag is for entries");
    base.run(["import", "transcripts", "--as", "jsonl"]).says(2, "--as says something else");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Sources and entries change in any order: an import changes the bytes of an entry only if it has what was imported.
    #[test]
    fn an_import_changes_only_what_nobody_edited(steps in prop::collection::vec((0..3_usize, 0..4_usize, 0..3_u8), 1..12)) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        Memory::init(root).unwrap();
        let memory = Memory::open(root).unwrap();
        let source = |number: usize| root.join(format!("note-{number}.md"));
        let files = || {
            let found = fs::read_dir(root.join(".ralph/knowledge")).into_iter().flatten().map(|file| file.unwrap().path());
            found.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect::<Vec<_>>()
        };
        let mut edited = std::collections::HashSet::new();
        for number in 0..3 {
            fs::write(source(number), format!("# Note {number}\n\nThe first text.\n")).unwrap();
        }
        for (number, text, what) in steps {
            match what {
                0 => fs::write(source(number), format!("# Note {number}\n\nText {text} of the source.\n")).unwrap(),
                1 => {
                    for (path, old) in files().into_iter().filter(|(path, _)| path.ends_with(format!("note-{number}.md"))) {
                        let body = old.find("\n---\n").unwrap() + 5;
                        fs::write(&path, format!("{}\nEdit {text}.\n", &old[..body])).unwrap();
                        edited.insert(path);
                    }
                }
                _ => {
                    let before = files();
                    let request = ImportRequest::new(ImportInput::Paths((0..3).map(source).collect()));
                    let report = memory.import(&request).unwrap();
                    for (path, old) in before {
                        let is_same = fs::read_to_string(&path).unwrap() == old;
                        prop_assert!(is_same || !edited.contains(&path), "{}: {report:?}", path.display());
                    }
                    prop_assert_eq!(memory.import(&ImportRequest { dry_run: true, ..request }).unwrap().count(ImportAction::Updated), 0);
                }
            }
        }
    }
}
