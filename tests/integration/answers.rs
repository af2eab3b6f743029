//! What commands answer with `--json`: one shape for one thing, as `docs/json-schema.json` says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::cli::{commands, words};
use crate::schemas::{ANSWERS, assert_answer, assert_well_formed};
use crate::support::TestBase;

/// The commands that answer nothing that a program reads as JSON.
const WITHOUT: [&str; 5] = ["completions", "help", "hook", "man", "mcp"];
/// Definitions of what answers are made of.
const PARTS: &str = "operation answer attempt change entry entry-elsewhere error feature-stats found-entry full-entry imported link listed-entry \
    live-action live-run merged model-stats moved occurrence problem recurring-error \
    task-in-run totals touched-file usage";

/// Returns a memory of which every command has something to say.
fn sample() -> TestBase {
    let base = TestBase::new();
    base.entry("bench", "Benches need nightly", "cargo", "Use `cargo +nightly bench`.\n\nSee [[wal]] and [[nobody]].");
    base.entry("wal", "WAL mode", "sqlite", "Readers go on in WAL mode.");
    base.entry("make", "Use make", "cargo, build", "Run `make` to build.");
    let lesson = |stem: &str, body: &str| {
        let head = format!("title: \"{body}\"\ntags: [ci, cache]\ncategory: pitfall\nsource: agent");
        base.write(&format!(".ralph/knowledge/{stem}.md"), format!("---\n{head}\n---\n\n{body}\n"));
    };
    lesson("one", "The cache of the build server grows without end.");
    lesson("two", "The cache of the build server grows without an end.");
    base.write(
        ".ralph/knowledge/gone.md",
        "---\ntitle: Gone\ntags: [cargo]\nexpires_at: \"2026-01-01T00:00:00Z\"\n---\n\nThe nightly of 2025.\n",
    );
    base.write(".ralph/knowledge/odd.md", "---\ntitle: never closed\n");
    base
}

/// Runs a command line for its JSON, which is checked against the schema.
fn answer(base: &TestBase, code: i32, line: &str) -> Value {
    base.run([&words(line)[..], &["--json"]].concat()).json(code)
}

const TOLD: &str =
    "run --task T --agent 'echo \"<task-done>T</task-done><task-done>U</task-done>\"' --max-iterations 1";
/// A command line for each kind of answer, in their order: the definition, and the exit code. The second table needs the attempt that the
/// last line of the first one records.
const BEFORE: [(&str, i32, &str); 14] = [
    ("init", 0, "init"),
    ("setup", 0, "setup agents-md cursor"),
    ("setup", 1, "setup agents-md cursor --check"),
    ("setup", 0, "setup --remove --yes"),
    ("add", 0, "add T --tags a --body b"),
    ("add", 0, "add T --tags a --body c"),
    ("add", 0, "add --event decision 'Sessions stay in SQLite.'"),
    ("list", 0, "list"),
    ("list", 0, "list --archived --kind knowledge"),
    ("list-tags", 0, "list --tags"),
    ("context", 0, "context --task 'Speed up the nightly benches'"),
    ("context-briefing", 0, "context"),
    ("context", 0, "context --task 'Speed up the nightly benches' --budget 2500"),
    (
        "record",
        0,
        "record said.txt --task 'Speed up the nightly benches' --verify-exit 1 --verify-command 'cargo bench'",
    ),
];
const AFTER: [(&str, i32, &str); 41] = [
    ("search", 0, "search nightly bench"),
    ("search", 0, "search nightly bench --explain --archived"),
    ("search", 1, "search zebra"),
    ("show", 0, "show bench"),
    ("show", 0, "show ATTEMPT"),
    ("show-task", 0, "show TASK"),
    ("show-run", 0, "show RUN"),
    ("log", 0, "log"),
    ("log", 0, "log --outcome done"),
    ("log", 0, "log --full"),
    ("stats", 0, "stats"),
    ("list", 0, "list --unused --sort title"),
    ("edit", 0, "edit bench --supersedes make"),
    ("edit", 0, "edit bench --supersedes make"),
    ("edit", 0, "edit wal --scope feature:db"),
    ("edit", 0, "edit wal --scope feature:db"),
    ("restore", 0, "restore t"),
    ("restore-list", 0, "restore t --list"),
    ("edit", 0, "edit t --title Tea"),
    ("edit", 0, "edit t --title Tea"),
    ("edit", 0, "edit tea --title T"),
    ("edit-confirm", 0, "edit bench wal --confirm"),
    ("archive", 0, "archive t"),
    ("undo", 0, "undo --dry-run"),
    ("undo", 0, "undo"),
    ("undo-list", 0, "undo --list"),
    ("undo", 0, "undo --redo"),
    ("restore", 0, "restore t"),
    ("tidy", 0, "tidy --dry-run"),
    ("tidy", 0, "tidy"),
    ("restore", 0, "restore gone"),
    ("import", 0, "import"),
    ("import", 0, "import AGENTS.md --dry-run"),
    ("import", 0, "import AGENTS.md"),
    ("import", 0, "import AGENTS.md"),
    ("index", 0, "index"),
    ("check", 1, "check"),
    ("check", 1, "check --fix"),
    ("run", 0, TOLD),
    ("undo-clear", 0, "undo --clear"),
    ("error", 1, "show nobody"),
];

/// Returns each command's answers.
fn answers() -> BTreeMap<&'static str, Vec<Value>> {
    let mut found: BTreeMap<&'static str, Vec<Value>> = BTreeMap::new();
    let base = sample();
    let said = "<learning category=\"pitfall\" tags=\"ci\">Runners have two cores.</learning>\n<learning>Nobody tags this.\
                </learning>\n<task-failed>t</task-failed>";
    base.write("said.txt", said);
    for (name, code, line) in BEFORE {
        found.entry(name).or_default().push(answer(&base, code, line));
    }
    let attempt = found["record"][0]["attempt"].clone();
    let memory = base.memory();
    let open = memory.begin(&ralph_memory::Task::new("Cache the tiles"), &memory.new_run()).unwrap();
    found.insert("overview", vec![answer(&base, 0, "")]);
    memory.cancel(&open).unwrap();
    base.write("AGENTS.md", "## Ports\n\n8080.\n");
    for (name, code, line) in AFTER {
        let ids = [("ATTEMPT", "id"), ("TASK", "task_id"), ("RUN", "run_id")];
        let line =
            ids.iter().fold(line.to_owned(), |line, (word, key)| line.replace(word, attempt[*key].as_str().unwrap()));
        found.entry(name).or_default().push(answer(&base, code, &line));
    }
    found.insert("serve", vec![crate::serving::answer(&base)]);
    found
}

/// Returns the fields that a definition describes.
fn described(name: &str) -> BTreeSet<&str> {
    let schema = &ANSWERS["$defs"][name];
    let own = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let bases = schema["allOf"].as_array().into_iter().flatten();
    own.chain(bases.flat_map(|base| described(base["$ref"].as_str().unwrap().strip_prefix("#/$defs/").unwrap())))
        .collect()
}

/// Seen in 0.1.0: lists were `hits` here and `entries` there, and `problems` occurred twice in an answer.
#[test]
fn every_answer_matches_the_schema_and_has_problems_once() {
    assert_well_formed(&ANSWERS);
    let answers = answers();
    for (name, answers) in &answers {
        for answer in answers {
            assert_answer(name, answer);
            assert_eq!(answer.to_string().matches("\"problems\":").count(), 1, "{name}: {answer}");
        }
        let mut told: BTreeSet<&str> =
            answers.iter().flat_map(|answer| answer.as_object().unwrap().keys()).map(String::as_str).collect();
        if *name == "search" {
            // It takes a server: `elsewhere` has its tests.
            told.insert("elsewhere");
        }
        assert_eq!(told, described(name), "{name}: what the schema describes is told, and nothing else");
    }
}

#[test]
fn every_command_has_a_schema() {
    let commands: BTreeSet<&str> = commands().into_iter().collect();
    assert!(commands.len() > 15, "{commands:?}");
    let names: BTreeSet<&str> = ANSWERS["$defs"].as_object().unwrap().keys().map(String::as_str).collect();
    let answers: BTreeSet<&str> =
        names.into_iter().filter(|name| !PARTS.split(' ').any(|part| part == *name)).collect();
    let of_commands: BTreeSet<&str> = answers
        .iter()
        .map(|name| {
            ["-tags", "-cancel", "-confirm", "-briefing", "-task", "-run", "-follow", "-list", "-clear"]
                .iter()
                .find_map(|form| name.strip_suffix(form))
                .unwrap_or(name)
        })
        .collect();
    // The program without a command has an answer, too.
    let expected = commands.into_iter().filter(|name| !WITHOUT.contains(name)).chain(["overview"]).collect();
    assert_eq!(of_commands, expected);
}

#[test]
fn an_entry_has_the_same_form_in_every_list() {
    let base = sample();
    let shared = described("entry");
    let of = |entries: &Value| {
        let found = entries.as_array().unwrap().iter().find(|entry| entry["id"] == "knowledge/bench").unwrap();
        let fields = shared.iter().map(|name| ((*name).to_owned(), found[name].clone()));
        Value::Object(fields.collect())
    };
    let listed = of(&answer(&base, 0, "list")["entries"]);
    assert_eq!(listed["title"], "Benches need nightly");
    assert_eq!(listed["source"], "human");
    assert_eq!(of(&answer(&base, 0, "search nightly")["entries"]), listed);
    let context = answer(&base, 0, "context --task 'Speed up the nightly benches'");
    assert_eq!(of(&context["entries"]), listed);
    assert_eq!(of(&json!([answer(&base, 0, "show bench")["entry"]])), listed);
}

#[test]
fn explanations_come_on_request() {
    let base = sample();
    let first = |line: &str| answer(&base, 0, line)["entries"][0].clone();
    let found = first("search nightly");
    assert_eq!((&found["excerpt"], found.get("explanation")), (&json!("Use cargo +nightly bench."), None));
    let explained = first("search nightly --explain");
    let sum: f64 =
        explained["explanation"].as_array().unwrap().iter().map(|part| part["value"].as_f64().unwrap()).sum();
    assert!((sum - explained["score"].as_f64().unwrap()).abs() < 1e-9, "{explained}");
    // A list of ten thousand entries opens none of their files.
    let listed = answer(&base, 0, "list --tag sqlite");
    assert_eq!(listed["entries"][0].get("excerpt"), None);
}

/// Found by the campaign of hostile clones: an answer showed a secret in an entry's first line.
#[test]
fn excerpts_have_no_secrets() {
    let base = TestBase::new();
    // In pieces, so that scanners do not report it.
    let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
    base.entry("deploys", "Deploys", "ops", &format!("The token for deploys is {token}."));
    let excerpt = answer(&base, 0, "search token deploys")["entries"][0]["excerpt"].as_str().unwrap().to_owned();
    assert!(excerpt.starts_with("The token for deploys is [redacted: "), "{excerpt}");
    let shown = base.run(["search", "token", "deploys"]).answer(0);
    assert!(shown.contains("The token for deploys is [redacted: ") && !shown.contains(&token), "{shown}");
}

#[test]
fn examples_of_the_documentation_match_the_schema() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/src/reference/json.md")).unwrap();
    let mut n_examples = 0;
    for (at, _) in text.match_indices("```json\n") {
        let (before, block) = (&text[..at], &text[at + 8..]);
        let block = block.split("```").next().unwrap();
        let value: Value = serde_json::from_str(block).unwrap();
        let command = before.rsplit("\nralph-memory ").next().unwrap().split_whitespace().next().unwrap();
        assert_answer(if value.get("error").is_some() { "error" } else { command }, &value);
        n_examples += 1;
    }
    assert_eq!(n_examples, 3);
}
