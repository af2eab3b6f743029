//! Each command: its answer, its messages and its exit code.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{NOW, TestBase};

/// The commands, for what holds for all of them.
const COMMANDS: [&str; 13] = [
    "init",
    "add",
    "search",
    "show",
    "list",
    "context",
    "check",
    "status",
    "doctor",
    "restore",
    "supersede",
    "index",
    "completions",
];
/// What makes a complete command line of each that works on a memory with [`sample`]'s entries.
const COMPLETE: [&[&str]; 13] = [
    &["init"],
    &["add", "--title", "T", "--tags", "a", "--body", "b"],
    &["search", "nightly"],
    &["show", "wal"],
    &["list"],
    &["context", "--task", "run the benches"],
    &["check"],
    &["status"],
    &["doctor"],
    &["restore", "old"],
    &["supersede", "bench", "wal"],
    &["index"],
    &["index", "--rebuild"],
];

/// Makes a memory with three live entries and an archived one.
fn sample() -> TestBase {
    let base = TestBase::new();
    base.entry("bench", "Cargo bench requires nightly", "cargo, nightly", "Use `cargo +nightly bench`.")
        .entry("wal", "WAL mode", "sqlite", "Readers go on in WAL mode.\n\nSee [[bench]] and [[nobody]].")
        .write(
            ".ralph/knowledge/login.md",
            "---\ntitle: \"Logins expire\"\ntags: [auth]\ncategory: pitfall\nfeature: login\nscope: \"feature:login\"\n\
             source: agent\nimportance: 80\nexpires_at: \"2026-11-01T00:00:00Z\"\n---\n\nAfter an hour.\n",
        )
        .write(".ralph/archive/knowledge/old.md", "---\ntitle: \"Old\"\ntags: [cargo]\n---\n\nOld text.\n");
    base
}

#[test]
fn help_says_what_there_is() {
    let base = TestBase::without_memory();
    let mut help = base.run(["--help"]).answer(0);
    for command in COMMANDS {
        help.push_str(&format!("\n================ {command}\n{}", base.run([command, "--help"]).answer(0)));
    }
    assert_snapshot!("help", help);
}

#[test]
fn init_makes_a_memory_once() {
    let base = TestBase::without_memory();
    base.write(".ralph/skills/tidy/SKILL.md", "x");
    assert_snapshot!(base.run(["init"]), @"");
    assert_snapshot!(base.run(["init"]), @"");
    assert_eq!(base.read(".claude/skills/tidy/SKILL.md"), "x");
    assert!(base.run(["init", "--json"]).json(0)["initialised"]["created"].as_array().unwrap().is_empty());
}

#[test]
fn add_writes_a_file() {
    let base = TestBase::new();
    let long = ["add", "--title", "WAL: why", "--tags", "SQLite, locking", "--category", "decision", "--feature", "db"];
    let rest =
        ["--scope", "task:t-1", "--importance", "70", "--source", "agent", "--file", "src/db.rs", "--file", "x.rs"];
    let last = ["--expires", "30d", "--task-id", "t-1", "--run-id", "run-1a2b3c4d", "--supersedes", "old"];
    assert_snapshot!(base.with([&long[..], &rest, &last].concat()).input("Readers go on.\n").run(), @"");
    assert_snapshot!(base.read(".ralph/knowledge/wal-why.md"), @"");
}

#[test]
fn add_updates_what_says_the_same_and_restore_brings_it_back() {
    let base = TestBase::new();
    let add = |body: &str| base.run(["add", "--title", "T", "--tags", "a", "--body", body]);
    assert_snapshot!(add("one"), @"");
    assert_snapshot!(add("one"), @"");
    assert_snapshot!(add("two"), @"");
    assert_snapshot!(base.files(".ralph/knowledge").join(" "), @"");
    assert!(base.read(".ralph/knowledge/t.md").ends_with("two\n"));
    // The live version changes places with the archived one, and again.
    assert_snapshot!(base.run(["restore", "t"]), @"");
    assert!(base.read(".ralph/knowledge/t.md").ends_with("one\n"));
    let _ = base.run(["restore", "knowledge/t.20261120T100000Z"]).json(0);
}

#[test]
fn add_refuses_what_no_entry_can_hold() {
    let base = TestBase::new();
    let add = |arguments: &[&str]| base.run([&["add"], arguments].concat());
    assert_snapshot!(add(&["--title", "T", "--body", "b"]), @"");
    assert_snapshot!(add(&["--title", " ", "--tags", "a", "--body", "b"]), @"");
    assert_snapshot!(add(&["--title", "T", "--tags", " , ", "--body", "b"]), @"");
    assert_snapshot!(add(&["--title", "T", "--tags", "a"]), @"");
    assert_snapshot!(add(&["--title", "T", "--tags", "a", "--body", "b", "--scope", "everyone"]), @"");
    assert_snapshot!(add(&["--title", "T", "--tags", "a", "--body", "b", "--importance", "101"]), @"");
    assert_snapshot!(add(&["--title", "T", "--tags", "a", "--body", "b", "--source", "cat"]), @"");
    assert_snapshot!(add(&["--title", "T", "--tags", "a", "--body", "b", "--expires", "soon"]), @"");
    assert_snapshot!(add(&["--title", "T", "--tags", "a", "--body", "b", "--supersedes", "journal/"]), @"");
    let from_input = |bytes: &[u8]| base.with(["add", "--title", "T", "--tags", "a"]).input(bytes).run();
    assert_snapshot!(from_input(&vec![b'x'; 1024 * 1024 + 1]), @"");
    assert_snapshot!(from_input(&vec![b'x'; 1024 * 1024 - 10]), @"");
    assert_snapshot!(from_input(b"caf\xe9"), @"");
    assert_snapshot!(base.files(".ralph/knowledge").join(" "), @"");
}

#[test]
fn expiry_is_a_date_a_time_or_a_while() {
    let base = TestBase::new();
    let check = |when: &str, expected: &str| {
        let title = format!("expires {when}");
        let added = base.run(["add", "--title", &title, "--tags", "a", "--body", &title, "--expires", when, "--json"]);
        let path = added.json(0)["path"].as_str().unwrap().to_owned();
        let file = base.read(&path);
        assert!(file.contains(&format!("expires_at: \"{expected}\"")), "{when}: {file}");
    };
    check("2027-01-31", "2027-01-31T00:00:00Z");
    check("2027-01-31T12:00:00+02:00", "2027-01-31T10:00:00Z");
    check("12h", "2026-11-20T22:00:00Z");
    check("30d", "2026-12-20T10:00:00Z");
    check("2w", "2026-12-04T10:00:00Z");
}

#[test]
fn search_finds_and_explains() {
    let base = sample();
    assert_snapshot!(base.run(["search", "nightly"]), @"");
    assert_snapshot!(base.run(["search", "readers", "of", "wal"]), @"");
    assert_snapshot!(base.run(["search", "nightly bench", "--explain"]), @"");
    assert_snapshot!(base.run(["search", "zebra"]), @"");
    assert_snapshot!(base.run(["search", "  "]), @"");
    assert_snapshot!(base.run(["search"]), @"");
}

#[test]
fn search_is_narrowed_and_widened() {
    let base = sample();
    base.entry("more", "Cargo caches", "cargo, ci", "Key the cache on the toolchain, cargo and all.");
    base.write(
        ".ralph/knowledge/scoped.md",
        "---\ntitle: Cargo for logins\ntags: [x]\nfeature: login\nscope: \"task:t-1\"\n---\n\ncargo\n",
    );
    let ids = |arguments: &[&str]| -> Vec<String> {
        let ran = base.run([&["search", "cargo", "--json"], arguments].concat());
        let code = i32::from(ran.code != Some(0));
        let hits = ran.json(code)["hits"].clone();
        hits.as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().replace("knowledge/", "")).collect()
    };
    let sorted = |arguments: &[&str]| {
        let mut ids = ids(arguments);
        ids.sort();
        ids
    };
    assert_eq!(sorted(&[]), ["bench", "more", "scoped"]);
    assert_eq!(sorted(&["--archived"]), ["bench", "more", "old", "scoped"]);
    assert_eq!(sorted(&["--tag", "cargo"]), ["bench", "more"]);
    assert_eq!(sorted(&["--tag", "cargo", "--tag", "CI"]), ["more"]);
    assert_eq!(sorted(&["--feature", "login"]), ["scoped"]);
    assert_eq!(sorted(&["--scope", "task:t-1"]), ["scoped"]);
    assert_eq!(sorted(&["--kind", "journal"]), [""; 0]);
    assert_eq!(sorted(&["--limit", "2"]).len(), 2);
    // What only raises scores hides nothing; without text, points for tags are all there is.
    assert_eq!(sorted(&["--for-feature", "ci", "--file", "src/nightly.rs"]).len(), 3);
    assert_eq!(ids(&["--text-weight", "0", "--for-feature", "ci"])[0], "more");
    assert_eq!(ids(&["--text-weight", "0", "--file", "src/nightly.rs"])[0], "bench");
    assert_eq!(sorted(&["--text-weight", "0"]), ["bench", "more"]);
    // Expired, and superseded.
    let logins = |arguments: &[&str]| base.run([&["search", "logins hour"], arguments].concat()).stdout;
    assert!(!logins(&[]).contains("knowledge/login"));
    assert!(logins(&["--archived"]).contains("knowledge/login"));
}

#[test]
fn scores_explain_themselves() {
    let base = sample();
    let found = base.run(["search", "nightly cargo bench", "--json", "--for-feature", "nightly"]).json(0);
    for hit in found["hits"].as_array().unwrap() {
        let parts = hit["explanation"].as_array().unwrap();
        let sum: f64 = parts.iter().map(|part| part["value"].as_f64().unwrap()).sum();
        assert!(!parts.is_empty() && (sum - hit["score"].as_f64().unwrap()).abs() < 1e-9, "{hit}");
    }
}

#[test]
fn odd_queries_are_words() {
    let base = sample();
    let many = "nightly ".repeat(10_000);
    let found: [&[&str]; 12] = [
        &["\"nightly\""],
        &["night*", "nightly"],
        &["AND", "OR", "NOT", "nightly"],
        &["title:nightly"],
        &["nightly'; DROP TABLE entries; --"],
        &["(nightly"],
        &["nightly\\"],
        &["🦀 nightly 日本語"],
        &[&many],
        &["--", "--nightly"],
        &["--", "-n", "nightly"],
        &["nightly^2~3 [a TO b]"],
    ];
    for query in found {
        let ran = base.run([&["search", "--json"], query].concat());
        assert_eq!(ran.json(0)["hits"][0]["id"], "knowledge/bench", "{query:.60?}");
    }
    for query in ["\"", "*", "!?…", "🦀", "'\"'", "\u{0}".trim_matches('\u{0}').to_owned().as_str(), "- -", "\u{202e}"]
    {
        if query.is_empty() {
            continue;
        }
        let ran = base.run(["search", "--", query]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{query:?}: {ran}");
    }
}

#[test]
fn show_shows_all_of_an_entry() {
    let base = sample();
    assert_snapshot!(base.run(["show", "wal"]), @"");
    assert_snapshot!(base.run(["show", ".ralph/knowledge/login.md"]), @"");
    assert_snapshot!(base.run(["show", "knowledge/bench"]), @"");
    assert_snapshot!(base.run(["show", "old"]), @"");
    assert_snapshot!(base.run(["show", "benhc"]), @"");
    assert_snapshot!(base.run(["show", "zzzzzzzzzz"]), @"");
}

#[test]
fn list_lists() {
    let base = sample();
    assert_snapshot!(base.run(["list"]), @"");
    assert_snapshot!(base.run(["list", "--archived", "--tag", "cargo"]), @"");
    assert_snapshot!(base.run(["list", "--tags"]), @"");
    assert_snapshot!(base.run(["list", "--category", "pitfall", "--feature", "login", "--scope", "feature:login"]), @"");
    assert_snapshot!(base.run(["list", "--kind", "journal"]), @"");
    assert_snapshot!(base.run(["list", "--kind", "diary"]), @"");
}

#[test]
fn context_is_for_an_agent() {
    let base = sample();
    let ran = base.run(["context", "--task", "run the benches"]);
    let (knowledge, instructions) = ran.stdout.split_once("## Memory\n").unwrap();
    assert_snapshot!(knowledge, @"");
    assert!(instructions.contains("<knowledge tags="));
    assert_eq!(base.run(["prime", "--task", "run the benches"]).answer(0), ran.stdout);
    // What is scoped is seen by its own tasks alone, and what has expired by none.
    let now = |time: &str, feature: &str| {
        base.with(["context", "--task", "logins", "--feature", feature, "--json"]).now(time).run().json(0)["entries"]
            .clone()
    };
    assert_eq!(now("2026-10-01", "login"), serde_json::json!(["knowledge/login"]));
    assert_eq!(now("2026-10-01", "logout"), serde_json::json!([]));
    assert_eq!(now("2026-12-01", "login"), serde_json::json!([]));
}

#[test]
fn context_keeps_its_budget() {
    let base = TestBase::new();
    for number in 0..20 {
        base.entry(&format!("e{number}"), &format!("Bench number {number}"), "bench", &"Many words here. ".repeat(40));
    }
    let least = base.run(["context", "--task", "bench", "--budget", "10"]);
    assert_snapshot!(least, @"");
    let told = base.run(["context", "--task", "bench", "--budget", "4000", "--json"]).json(0);
    assert!(told["context"].as_str().unwrap().chars().count() <= 4000);
    assert!(!told["entries"].as_array().unwrap().is_empty() && !told["left_out"].as_array().unwrap().is_empty());
    let told = base.run(["context", "--task", "bench", "--tokens", "1500", "--json"]).json(0);
    assert!(ralph_memory::text::estimate_tokens(told["context"].as_str().unwrap()) <= 1500);
    assert_snapshot!(base.run(["context", "--task", "x", "--tokens", "1500", "--budget", "1"]), @"");
    assert_snapshot!(base.run(["context", "--task", "\n"]), @"");
    assert_snapshot!(base.run(["context", "--task", "x", "--task-id", "../x"]), @"");
}

#[test]
fn context_knows_a_task_without_an_id_by_its_title() {
    let base = TestBase::new();
    let id = ralph_memory::Task::id_of_title("Fix the login");
    let scoped = format!("---\ntitle: Login\ntags: [login]\nscope: \"task:{id}\"\n---\n\nlogin\n");
    base.write(".ralph/knowledge/login.md", scoped);
    let entries = |title: &str| base.run(["context", "--task", title, "--json"]).json(0)["entries"].clone();
    assert_eq!(entries("Fix the  login"), serde_json::json!(["knowledge/login"]));
    assert_eq!(entries("Fix the login page"), serde_json::json!([]));
}

#[test]
fn status_counts() {
    let base = sample();
    base.write(".ralph/knowledge/odd.md", "no frontmatter\n");
    assert_snapshot!(base.run(["status"]), @"");
    assert_snapshot!(TestBase::new().run(["status"]), @"");
}

#[test]
fn supersede_hides_the_old() {
    let base = sample();
    assert_snapshot!(base.run(["supersede", "bench", "wal"]), @"");
    assert_snapshot!(base.run(["supersede", "bench", "wal"]), @"");
    assert!(base.read(".ralph/knowledge/wal.md").contains("supersedes: [knowledge/bench]\n"));
    assert_snapshot!(base.run(["search", "nightly"]), @"");
    assert_snapshot!(base.run(["supersede", "wal", "wal"]), @"");
    assert_snapshot!(base.run(["supersede", "wal", "wall"]), @"");
    assert_snapshot!(base.run(["supersede", "wal", "journal/run-1/0001"]), @"");
}

#[test]
fn restore_brings_an_entry_back() {
    let base = sample();
    assert_snapshot!(base.run(["restore", "old"]), @"");
    assert!(base.read(".ralph/knowledge/old.md").contains("Old text."));
    assert_snapshot!(base.run(["restore", "old"]), @"");
}

#[test]
fn index_is_made_and_kept() {
    let base = sample();
    assert_snapshot!(base.run(["index"]), @"");
    base.entry("new", "New", "x", "y");
    assert_snapshot!(base.run(["index"]), @"");
    assert_snapshot!(base.run(["index", "--rebuild"]), @"");
    let folders = fs::read_dir(base.at(".ralph/cache")).unwrap();
    let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with("index-")).count(), 1, "every process names it the same");
    assert_eq!(base.run(["status", "--json"]).json(0)["status"]["not_indexed"], 0);
}

#[test]
fn completions_are_scripts() {
    let base = TestBase::without_memory();
    for (shell, expected) in [
        ("bash", "complete -F _ralph-memory"),
        ("zsh", "#compdef ralph-memory"),
        ("fish", "complete -c ralph-memory"),
        ("elvish", "edit:completion:arg-completer[ralph-memory]"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = base.run(["completions", shell]).answer(0);
        assert!(script.contains(expected) && script.contains("supersede"), "{shell}: {script:.200}");
    }
    assert_snapshot!(base.run(["completions", "tcsh"]), @"");
}

#[test]
fn json_has_what_was_promised() {
    let base = sample();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    let answer = |arguments: &[&str]| base.run([arguments, &["--json"]].concat()).json(0);
    assert_eq!(keys(&answer(&["init"])), "initialised problems schema_version");
    assert_eq!(
        keys(&answer(&["add", "--title", "T", "--tags", "a", "--body", "b"])),
        "action archived id path problems schema_version"
    );
    let found = answer(&["search", "nightly"]);
    assert_eq!(keys(&found), "hits problems schema_version");
    assert_eq!(keys(&found["hits"][0]), "explanation id kind path score tags title");
    assert_eq!(keys(&found["hits"][0]["explanation"][0]), "part value");
    let shown = answer(&["show", "wal"]);
    assert_eq!(keys(&shown), "entry problems schema_version");
    assert_eq!(shown["entry"]["body"], "\nReaders go on in WAL mode.\n\nSee [[bench]] and [[nobody]].\n");
    assert_eq!(shown["entry"]["frontmatter"]["tags"], serde_json::json!(["sqlite"]));
    let listed = answer(&["list"]);
    assert_eq!(keys(&listed), "entries problems schema_version tags");
    assert_eq!(
        keys(&listed["entries"][0]),
        "archived category created_at expired feature id kind path scope superseded tags title updated_at"
    );
    assert_eq!(keys(&answer(&["context", "--task", "nightly"])), "context entries left_out problems schema_version");
    assert_eq!(keys(&answer(&["status"])), "problems schema_version status");
    assert_eq!(keys(&answer(&["index"])), "index problems schema_version");
    assert_eq!(keys(&answer(&["supersede", "bench", "wal"])["superseded"]), "changed new old");
    assert_eq!(keys(&answer(&["restore", "old"])["restored"]), "exchanged from id path");
    base.write(".ralph/knowledge/odd.md", "no frontmatter\n");
    assert_eq!(keys(&answer(&["list"])["problems"][0]), "code column hint line message path severity");
}

#[test]
fn errors_are_json_too() {
    let base = sample();
    assert_snapshot!(base.run(["show", "walk", "--json"]), @"");
    assert_snapshot!(base.run(["--json", "search"]), @"");
    assert_snapshot!(base.run(["search", "zebra", "--json"]), @"");
    assert_snapshot!(TestBase::without_memory().run(["--json", "list"]), @"");
    // Behind `--` it is a word.
    assert_eq!(base.run(["show", "--", "--json", "x"]).stdout, "");
}

#[test]
fn wrong_usage_is_2() {
    let base = sample();
    assert_eq!(base.run::<&str>([]).code, Some(2));
    assert_snapshot!(base.run(["serach", "x"]), @"");
    assert_snapshot!(base.run(["search", "x", "--limit", "0"]), @"");
    assert_snapshot!(base.run(["search", "x", "--text-weight", "-1"]), @"");
    assert_snapshot!(base.run(["show", ""]), @"");
    assert_snapshot!(base.run(["--now", "noon", "list"]), @"");
}

#[test]
fn the_version_is_the_packages() {
    let version = concat!("ralph-memory ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(TestBase::without_memory().run(["--version"]).answer(0), version);
}

#[test]
fn the_memory_is_the_nearest_one_upward() {
    let base = sample();
    fs::create_dir_all(base.at("src/deep")).unwrap();
    let here = base.with(["list"]).folder(base.at("src/deep")).run().answer(0);
    assert_eq!(here, base.run(["list"]).answer(0));
    let elsewhere = base.with(["list", "--root", "../project"]).folder(base.home()).run().answer(0);
    assert_eq!(elsewhere, here);
}

#[test]
fn without_a_memory_is_3() {
    let base = TestBase::without_memory();
    for arguments in COMPLETE.iter().filter(|arguments| arguments[0] != "init") {
        let ran = base.run(*arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{arguments:?}: {ran}");
    }
    assert_snapshot!(base.run(["list"]), @"");
    // An entry that is to be added is not read before it is known where it goes.
    assert_snapshot!(base.run(["add", "--title", "T", "--tags", "a"]), @"");
    assert_snapshot!(base.run(["list", "--root", "nowhere"]), @"");
}

#[test]
fn settings_come_in_layers() {
    let base = TestBase::new();
    for number in 0..6 {
        base.entry(&format!("e{number}"), &format!("Bench {number}"), "bench", "x");
    }
    let n_found = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut run = base.with([&["search", "bench", "--json"], arguments].concat());
        for (name, value) in variables {
            run = run.env(name, value);
        }
        run.run().json(0)["hits"].as_array().unwrap().len()
    };
    assert_eq!(n_found(&[], &[]), 6);
    let own = base.home().join(".config/ralph-memory/config.toml");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(own, "search.limit = 5\n").unwrap();
    assert_eq!(n_found(&[], &[]), 5);
    // A relative path there has to be ignored, says the specification.
    assert_eq!(n_found(&[("XDG_CONFIG_HOME", "relative")], &[]), 5);
    let xdg = base.home().join("xdg");
    fs::create_dir_all(xdg.join("ralph-memory")).unwrap();
    fs::write(xdg.join("ralph-memory/config.toml"), "[search]\nlimit = 4\n").unwrap();
    let xdg = xdg.to_str().unwrap();
    assert_eq!(n_found(&[("XDG_CONFIG_HOME", xdg)], &[]), 4);
    let named = base.home().join("named.toml");
    fs::write(&named, "search.limit = 3\n").unwrap();
    let named = ("RALPH_MEMORY_CONFIG", named.to_str().unwrap());
    assert_eq!(n_found(&[("XDG_CONFIG_HOME", xdg), named], &[]), 3);
    base.write(".ralph/config.toml", "format = 1\nsearch.limit = 2\n");
    assert_eq!(n_found(&[named], &[]), 2);
    assert_eq!(n_found(&[named, ("RALPH_MEMORY_SEARCH__LIMIT", "1")], &[]), 1);
    assert_eq!(n_found(&[named, ("RALPH_MEMORY_SEARCH__LIMIT", "1")], &["--limit", "6"]), 6);
}

#[test]
fn settings_that_make_no_sense_are_told() {
    let base = TestBase::new();
    assert_snapshot!(base.with(["list"]).env("RALPH_MEMORY_SEARCH__LIMIT", "many").run(), @"");
    base.write(".ralph/config.toml", "search.limits = 3\n");
    assert_snapshot!(base.run(["list"]), @"");
    base.write(".ralph/config.toml", "[search\n");
    assert_snapshot!(base.run(["list"]), @"");
    base.write(".ralph/config.toml", "format = 1\n");
    fs::create_dir_all(base.home().join(".config/ralph-memory")).unwrap();
    fs::write(base.home().join(".config/ralph-memory/config.toml"), "search.limit = true\n").unwrap();
    assert_snapshot!(base.run(["list"]), @"");
}

#[test]
fn what_was_written_by_hand_is_found_by_the_next_command() {
    let base = sample();
    let _ = base.run(["index", "--rebuild"]);
    let found = || base.run(["search", "zebra", "--json"]).json(0)["hits"][0]["id"].as_str().unwrap().to_owned();
    base.write(
        ".ralph/knowledge/team/hand.md",
        "---\ntags: a, b\nmine: 1\ncreated: 2026-01-01\ntitle: Zebra\n---\nx\n",
    );
    assert_eq!(found(), "knowledge/hand");
    // An editor that renames over it, with the same size and time.
    let file = base.at(".ralph/knowledge/bench.md");
    let before = fs::metadata(&file).unwrap();
    let text = base.read(".ralph/knowledge/bench.md").replace("nightly bench", "zebraaa bench");
    base.write("bench.tmp", &text);
    let new = fs::File::options().write(true).open(base.at("bench.tmp")).unwrap();
    new.set_modified(before.modified().unwrap()).unwrap();
    fs::rename(base.at("bench.tmp"), &file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().len(), before.len());
    fs::remove_file(base.at(".ralph/knowledge/team/hand.md")).unwrap();
    base.entry("z", "Zebra again", "zebra", "zebra");
    assert_eq!(found(), "knowledge/z");
    fs::remove_file(base.at(".ralph/knowledge/z.md")).unwrap();
    assert_eq!(base.run(["search", "zebraaa", "--json"]).json(0)["hits"][0]["id"], "knowledge/bench");
}

#[test]
fn problems_are_told_and_not_too_many() {
    let base = sample();
    for number in 0..4 {
        base.write(&format!(".ralph/knowledge/odd{number}.md"), "no frontmatter at all\n");
    }
    assert_snapshot!(base.run(["search", "nightly"]), @"");
    for number in 4..8 {
        base.write(&format!(".ralph/knowledge/odd{number}.md"), "no frontmatter at all\n");
    }
    assert_snapshot!(base.run(["list", "--tag", "sqlite"]), @"");
    assert_eq!(base.run(["list", "--json"]).json(0)["problems"].as_array().unwrap().len(), 8);
    assert_eq!(base.run(["list", "--json"]).stderr, "");
}

#[test]
fn no_entry_controls_the_terminal() {
    let base = TestBase::new();
    let odd = "\u{1b}]0;owned\u{7}\u{1b}[31m\r\u{8}\u{7f}\u{85}\u{9b}\u{200e}\u{202e}\u{2066}\u{2028}\nforged line";
    let escaped: String = odd.chars().map(|character| format!("\\u{:04x}", u32::from(character))).collect();
    base.write(
        ".ralph/knowledge/odd.md",
        format!(
            "---\ntitle: \"odd {escaped}\"\ntags: [\"odd{escaped}\"]\ncategory: \"{escaped}\"\nfeature: \"f{escaped}\"\n\
             files: [\"{escaped}\"]\ntask_id: \"{escaped}\"\n---\n\nodd \u{9b}31m \u{202e} \u{85} [[{escaped}]]\n"
        ),
    );
    let may_act = |character: char| {
        (character.is_control() && character != '\n') || "\u{200e}\u{202e}\u{2066}\u{2028}".contains(character)
    };
    for arguments in [
        &["search", "odd", "--explain"][..],
        &["show", "odd"],
        &["list"],
        &["list", "--tags"],
        &["status"],
        &["check"],
        &["check", "--format", "github"],
        &["context", "--task", "odd"],
        &["show", "odd\u{1b}[31m"],
        &["search", "--kind", "\u{9b}", "x"],
    ] {
        let ran = base.run(arguments);
        for text in [&ran.stdout, &ran.stderr] {
            assert_eq!(text.chars().find(|character| may_act(*character)), None, "{arguments:?}: {text:?}");
            assert!(!text.lines().any(|line| line.starts_with("forged")), "{arguments:?}: {text}");
        }
    }
    assert!(base.run(["show", "odd"]).stdout.contains("\\u{1b}]0;owned\\u{7}"));
    // Programs get it as it is.
    let title = base.run(["show", "odd", "--json"]).json(0)["entry"]["title"].as_str().unwrap().to_owned();
    assert!(title.contains("\u{1b}]0;owned\u{7}"), "{title:?}");
}

#[test]
fn nothing_is_coloured_that_is_not_read_on_a_terminal() {
    let base = sample();
    for arguments in COMPLETE {
        let ran = base.with(arguments).env("TERM", "xterm-256color").env("CLICOLOR", "1").run();
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{arguments:?}: {ran}");
    }
}

#[test]
fn the_same_time_gives_the_same_files() {
    let (one, other) = (sample(), sample());
    for base in [&one, &other] {
        for arguments in COMPLETE {
            let _ = base.run(arguments);
        }
    }
    for path in one.files(".ralph/knowledge") {
        assert_eq!(one.read(&path), other.read(&path));
    }
    assert!(one.read(".ralph/knowledge/t.md").contains(NOW));
}
