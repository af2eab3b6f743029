//! Arguments and variables that are wrong: what each message says, and that nothing is written.

use crate::support::{NOW, TestBase};

/// Runs a command that must be refused, and checks what it says.
#[track_caller]
fn check(base: &TestBase, arguments: &[&str], code: i32, expected: &str) {
    let before = base.files(".ralph/knowledge");
    let ran = base.run(arguments);
    assert_eq!(ran.code, Some(code), "{arguments:?}: {ran}");
    assert!(ran.stderr.contains(expected), "{arguments:?}: {ran}");
    assert_eq!(base.files(".ralph/knowledge"), before, "{arguments:?}");
}

/// The start of a command line that adds an entry.
const ADD: [&str; 6] = ["add", "T", "--tags", "a", "--body", "b"];

/// Seen in 0.1.0: these were written, and no task was ever shown the entries.
#[test]
fn an_id_that_no_task_can_have_is_refused() {
    let base = TestBase::new();
    base.entry("wal", "WAL mode", "sqlite", "Readers go on.");
    let id = "an id has 1 to 64 letters, digits, `.`, `_` and `-`, and begins with a letter, a digit or `_`";
    let of_scope = format!("not the scope of a task: {id}");
    let note = ["add", "--event", "hint", "s"];
    check(&base, &["edit", "wal", "--scope", "task:a b"], 2, &of_scope);
    check(&base, &[&note[..], &["--scope", "task:a b"]].concat(), 2, &of_scope);
    for start in [&ADD[..], &note] {
        check(&base, &[start, &["--task-id", "a b"]].concat(), 2, id);
        check(&base, &[start, &["--run-id=-x"]].concat(), 2, id);
    }
    // An id that begins with `-` could begin an iteration, and not end it.
    check(&base, &["context", "--task", "x", "--task-id=-x"], 2, id);
}

#[test]
fn check_reports_an_id_that_no_task_can_have() {
    let base = TestBase::new();
    let entry = |head: &str| format!("---\ntitle: t\ntags: [a]\n{head}\n---\n\nb\n");
    base.write(".ralph/knowledge/scope.md", entry("scope: \"task:a b\""));
    base.write(".ralph/knowledge/task.md", entry("task_id: \"../x\""));
    base.write(".ralph/knowledge/fine.md", entry("scope: \"section:the login\"\ntask_id: t-1"));
    let found = base.run(["check", "--json"]).json(0);
    let found: Vec<_> = found["problems"].as_array().unwrap().iter().map(|problem| &problem["message"]).collect();
    assert_eq!(
        found,
        [
            "`scope` names `a b`, which no task can have as its id, so no task is shown the entry",
            "`task_id` cannot be the id of a task: `../x`"
        ]
    );
}

/// Seen in 0.1.0: both were silent, and the settings had no effect.
#[test]
fn a_misspelt_variable_and_a_missing_settings_file_are_reported() {
    let base = TestBase::new();
    let list = |name: &str, value: &str| base.with(["list"]).env(name, value).run();
    let misspelt = list("RALPH_MEMORY_SERCH__LIMIT", "3");
    misspelt.says(0, "hint: did you mean `RALPH_MEMORY_SEARCH__LIMIT`?");
    list("RALPH_MEMORY_ZZZ__QQQ", "3").says(0, "there is no such setting");
    let of_script = list("RALPH_MEMORY_BIN", "x");
    assert_eq!((of_script.code, of_script.stderr.as_str()), (Some(0), "no entries\n"));
    let named = "RALPH_MEMORY_CONFIG";
    list(named, "nowhere.toml").says(2, "`nowhere.toml`, which `RALPH_MEMORY_CONFIG` names, does not exist");
    list(named, ".ralph").says(2, "`.ralph`, which `RALPH_MEMORY_CONFIG` names, is a folder");
    list(named, "").says(0, "no entries");
    // A setting that is gone is not a misspelt one.
    list("RALPH_MEMORY_GIT__COMMIT", "auto").says(0, "lists them all; unset the variable");
    base.write(".ralph/config.toml", "[git]\ncommit = \"auto\"\n");
    base.run(["list"]).says(0, "there is no setting `git.commit`\nhint: delete the line");
}

/// Seen in 0.1.0: "move it away" for `/etc/passwd` and `/tmp`, and exit code 6 without a hint.
#[test]
fn an_argument_that_names_no_file_or_no_folder_is_wrong_usage() {
    let base = TestBase::new();
    base.write("file.txt", "x").write("folder/x", "");
    let (not_there, a_folder) =
        ("does not exist\nhint: check the spelling", "is a folder\nhint: name a file, not a folder");
    for (path, expected) in [("nowhere", not_there), ("folder", a_folder)] {
        check(&base, &["record", path], 2, expected);
        check(&base, &["record", "file.txt", "--verify-exit", "0", "--verify-output", path], 2, expected);
        check(&base, &["run", "--task", "x", "--agent", "true", "--prompt", path], 2, expected);
    }
    check(&base, &["import", "nowhere"], 2, not_there);
    check(&base, &["import", "transcripts", "nowhere"], 2, not_there);
    for command in ["init", "list"] {
        check(&base, &[command, "--root", "nowhere"], 2, "`nowhere` does not exist\nhint: check the spelling");
        check(&base, &[command, "--root", "file.txt"], 2, "`file.txt` is not a folder\nhint: name the folder");
    }
}

#[test]
fn numbers_are_refused_in_words() {
    let base = TestBase::new();
    let add = |option: &'static str| [&ADD[..], &["--importance", option]].concat();
    for number in ["-1", "101", "300", "x"] {
        check(&base, &add(number), 2, "for '--importance <N>': not a whole number from 0 to 100");
    }
    check(&base, &["search", "x", "--limit", "-1"], 2, "for '--limit <N>': not a whole number over 0");
    check(&base, &["search", "x", "--limit", "99999999999999999999"], 2, "for '--limit <N>': too large");
    check(&base, &["context", "--tokens", "many"], 2, "not a whole number from 0 on");
    check(&base, &["context", "--task", "x", "--limit", "0"], 2, "not a whole number over 0");
    let run = |option: &'static str, value: &'static str| ["run", "--task", "x", option, value];
    check(&base, &run("--max-iterations", "-1"), 2, "not a whole number from 0 on");
    check(&base, &run("--max-tokens", "0"), 2, "not a whole number over 0");
    check(&base, &run("--max-cost", "-1"), 2, "not an amount of US dollars (2.50) over 0");
    check(&base, &["record", "--agent-exit", "x"], 2, "not an exit status: a whole number, such as 0 or 101");
    let details = |value: &'static str| ["add", "--event", "hint", "s", "--details", value];
    check(&base, &details("[1]"), 2, "not a JSON object, such as `{\"ticket\": 12}`");
    check(&base, &details("{"), 2, "not JSON: ");
}

/// Seen in 0.1.0: `add` was silent, and every later command warned of the category.
#[test]
fn what_was_probably_not_meant_is_a_warning_at_once_and_a_notice_of_check() {
    let base = TestBase::new();
    let added = base.run([&ADD[..], &["--category", "pitfal", "--expires", "2020-01-01"]].concat());
    assert_eq!(added.code, Some(0), "{added}");
    assert!(added.stderr.contains("`pitfal` is not a known category\nhint: did you mean `pitfall`?"), "{added}");
    assert!(added.stderr.contains("it expired at 2020-01-01T00:00:00Z"), "{added}");
    base.run(["list"]).answer(0);
    let checked = base.run(["check"]).answer(0);
    assert!(checked.contains("notice[unknown-category]") && checked.ends_with("1 file, 1 notice\n"), "{checked}");
    base.run(["add", "--event", "hint", "s", "--expires", NOW]).says(0, "it expired at");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let base = TestBase::new();
    base.entry("2026-11-20-x", "X", "a", "b");
    check(&base, &[&ADD[..], &["--supersedes", "nowhere"]].concat(), 1, "there is no entry `knowledge/nowhere`");
    check(&base, &[&ADD[..], &["--question", " "]].concat(), 2, "for '--question <TEXT>': it is empty");
    check(&base, &[&ADD[..], &["--allow-secret", "zz"]].concat(), 2, "`zz` is not eight hexadecimal digits");
    // Only entries of the same kind resemble it, and an archived one may be meant.
    let all = "hint: `ralph-memory list --archived` shows all entries";
    check(&base, &["show", "journal/run-00000000/2"], 1, all);
    check(&base, &["restore", "x.20260101T000000Z"], 1, all);
}

/// A line that a terminal of 80 columns wraps cannot be copied.
#[test]
fn examples_fit_into_a_terminal() {
    let base = TestBase::without_memory();
    let reference = include_str!("../../docs/src/reference/commands.md");
    let commands = reference.lines().filter_map(|line| line.strip_prefix("## ")).filter(|name| !name.contains(' '));
    let mut n_lines = 0;
    for command in commands {
        let help = base.run([command, "--help"]).answer(0);
        let Some((_, examples)) = help.split_once("Examples:\n") else { continue };
        for line in examples.lines().take_while(|line| !line.is_empty()) {
            assert!(line.starts_with("  ") && line.len() <= 80, "{command}: {line}");
            n_lines += 1;
        }
    }
    assert!(n_lines > 40, "{n_lines}");
}
