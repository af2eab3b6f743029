//! What somebody else committed to `.ralph/state/` and `.ralph/cache/` is not believed, and neither are times that
//! have not come yet.

use std::fs;
use std::path::Path;
use std::process::Command;

use ralph_memory::Memory;
use serde_json::{Value, json};

use crate::support::{Ran, TestBase};

fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap()
}

/// Runs `git` in a folder with nobody's settings.
#[track_caller]
fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments).current_dir(folder);
    command.env_clear().env("PATH", path()).env("HOME", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
}

/// Commits all of the project, ignored files too, and returns a fresh clone of it.
fn cloned(base: &TestBase) -> TestBase {
    let clone = TestBase::without_memory();
    git(&base.root(), &["init", "--quiet"]);
    git(&base.root(), &["add", "--all", "--force"]);
    git(&base.root(), &["commit", "--quiet", "--message", "m"]);
    fs::remove_dir(clone.root()).unwrap();
    let from = base.root().display().to_string();
    git(&clone.home(), &["clone", "--quiet", &from, &clone.root().display().to_string()]);
    clone
}

fn run(base: &TestBase, arguments: &[&str], input: &str) -> Ran {
    base.with(arguments).env("PATH", path()).env("GIT_CONFIG_NOSYSTEM", "1").input(input).run()
}

/// An iteration as the program keeps it, begun shortly before the time of every run.
fn iteration() -> Value {
    json!({
        "run_id": "run-1", "number": 1, "attempt": 1, "model": "opus", "rationale": "why", "rung": 0,
        "task": {
            "title": "A task", "description": "", "id": "t-1", "feature": null, "section": null, "files": []
        },
        "started_at": "2026-11-20T09:59:00Z", "entries": ["knowledge/a"], "left_out": [],
        "tree": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    })
}

const ITERATION: &str = ".ralph/state/iterations/run-1-0001.json";

#[test]
fn a_tree_that_is_an_option_empties_no_file() {
    let base = TestBase::new();
    let target = base.home().join("precious");
    fs::write(&target, "kept").unwrap();
    let tree = json!(format!("--output={}", target.display()));
    base.write("src/a.rs", "a\n").write(ITERATION, with(iteration(), "tree", tree).to_string());
    let clone = cloned(&base);
    for arguments in [&["record"][..], &["record", "--run", "run-1", "--iteration", "1"]] {
        let ran = run(&clone, arguments, "hi");
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept", "{ran}");
        assert_eq!(ran.code, Some(2), "{ran}");
    }
    let checked = run(&clone, &["check", "--json"], "").json(1);
    let codes: Vec<&str> =
        checked["problems"].as_array().unwrap().iter().map(|p| p["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["bad-iteration", "tracked-state"], "{checked}");
}

/// Returns the iteration with something else at a path of keys.
fn with(mut value: Value, at: &str, new: Value) -> Value {
    *value.pointer_mut(&format!("/{at}")).unwrap() = new;
    value
}

#[test]
fn an_iteration_that_git_tracks_is_not_gone_on_with() {
    let base = TestBase::new();
    base.write(ITERATION, iteration().to_string());
    let clone = cloned(&base);
    let open = |base: &TestBase| Memory::open(&base.root()).unwrap().open_iterations().len();
    assert_eq!(open(&clone), 0);
    let ran = run(&clone, &["record", "--run", "run-1"], "hi");
    assert!(ran.stderr.contains("none is begun that could be meant"), "{ran}");
    let doctor = run(&clone, &["doctor", "--json"], "").json(1);
    let finding = doctor["findings"].as_array().unwrap().iter().find(|finding| finding["state"] == "error").unwrap();
    assert_eq!(finding["what"], "git-ignore", "{finding}");
    let mend = finding["mend"].as_str().unwrap();
    assert!(mend.contains("`git rm -r --cached --ignore-unmatch .ralph/cache .ralph/state`"), "{finding}");
    let checked = run(&clone, &["check", "--json"], "").json(1);
    assert_eq!(checked["problems"][0]["code"], "tracked-state", "{checked}");
    assert_eq!(checked["problems"][0]["path"], ITERATION);
    assert!(checked["problems"][0]["hint"].as_str().unwrap().contains("git rm -r --cached"), "{checked}");
    // What it says itself is believed, and so is what is there when git tracks nothing of it any more.
    assert_eq!(run(&clone, &["context", "--task", "Mine", "--run", "run-2"], "").code, Some(0));
    assert_eq!(open(&clone), 1);
    git(&clone.root(), &["rm", "-r", "--quiet", "--cached", ".ralph/state"]);
    assert_eq!(open(&clone), 2);
    assert_eq!(run(&clone, &["check", "--json"], "").json(0)["problems"], json!([]));
}

#[test]
fn what_no_program_wrote_into_the_state_is_reported_and_not_believed() {
    let refused = |name: &str, text: &str, what: &str| {
        let base = TestBase::new();
        base.write(&format!(".ralph/state/iterations/{name}"), text);
        let open = Memory::open(&base.root()).unwrap().open_iterations();
        assert_eq!(open, [], "{name} {text}");
        let checked = base.run(["check", "--json"]);
        let problems = checked.json(1)["problems"].clone();
        assert_eq!(problems[0]["code"], "bad-iteration", "{name}: {checked}");
        assert!(problems[0]["message"].as_str().unwrap().contains(what), "{name} {what}: {checked}");
        assert_eq!(problems.as_array().unwrap().len(), 1, "{checked}");
        // It is in nobody's way.
        let begun = base.run(["context", "--task", "A task", "--task-id", "t-1", "--run", "run-1"]);
        assert_eq!(begun.code, Some(0), "{name} {text}: {begun}");
        let recorded = base.with(["record", "--run", "run-1", "--task-id", "t-1"]).input("hi").run();
        assert_eq!(recorded.code, Some(0), "{name} {text}: {recorded}");
    };
    let long = "x".repeat(100_000);
    for (at, new, what) in [
        ("run_id", json!("../../x"), "`run_id`"),
        ("run_id", json!("run-2"), "its name"),
        ("number", json!(0), "`number`"),
        ("number", json!(2), "its name"),
        ("number", json!(10_000_000), "`number`"),
        ("task/id", json!("a b"), "`task.id`"),
        ("task/id", json!("../x"), "`task.id`"),
        ("task/title", json!(" "), "title"),
        ("task/title", json!("a\u{1b}[31mb"), "title"),
        ("task/title", json!(long), "title"),
        ("task/feature", json!("a\nb"), "feature"),
        ("task/files", json!(["a\u{0}"]), "files"),
        ("model", json!("--model\nx"), "model"),
        ("model", json!(long), "model"),
        ("rationale", json!("\u{9b}31m"), "rationale"),
        ("tree", json!("--output=/tmp/x"), "tree"),
        ("tree", json!("HEAD"), "tree"),
        ("tree", json!("4b825dc642cb6eb9a060e54bf8d69288fbee490"), "tree"),
        ("tree", json!("4B825DC642CB6EB9A060E54BF8D69288FBEE4904"), "tree"),
        ("entries", json!(["../x"]), "entries"),
        ("entries", json!(["knowledge/a\u{1b}"]), "entries"),
        ("left_out", json!(["config.toml"]), "left_out"),
        ("started_at", json!("2099-01-01T00:00:00Z"), "started_at"),
        ("started_at", json!("yesterday"), "column"),
        ("attempt", json!(-1), "column"),
    ] {
        refused("run-1-0001.json", &with(iteration(), at, new).to_string(), what);
    }
    let mut held = iteration();
    held["holder"] = json!({"pid": 0, "started": 1});
    refused("run-1-0001.json", &held.to_string(), "holder");
    refused("run-1-1.json", &iteration().to_string(), "its name");
    refused("run-1-0001.json", "", "line 1, column 0");
    refused("run-1-0001.json", "[1]", "line 1, column");
    refused("run-1-0001.json", &" ".repeat(2 << 20), "2097152 bytes");
}

#[test]
fn links_folders_and_pipes_in_the_state_are_reported_and_in_nobodys_way() {
    for kind in ["folder", "link", "pipe", "private"] {
        let base = TestBase::new();
        base.write("elsewhere.json", iteration().to_string());
        let at = base.at(ITERATION);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        match kind {
            "folder" => fs::create_dir(&at).unwrap(),
            "link" => std::os::unix::fs::symlink(base.at("elsewhere.json"), &at).unwrap(),
            _ => assert!(Command::new("mkfifo").arg(&at).env("PATH", path()).status().unwrap().success()),
        }
        let checked = base.run(["check", "--json"]);
        assert_eq!(checked.json(1)["problems"][0]["code"], "bad-iteration", "{kind}: {checked}");
        assert_eq!(Memory::open(&base.root()).unwrap().open_iterations(), []);
        let begun = base.run(["context", "--task", "A task", "--task-id", "t-1", "--run", "run-1"]);
        assert_eq!(begun.code, Some(0), "{kind}: {begun}");
        let recorded = base.with(["record", "--run", "run-1", "--task-id", "t-1"]).input("hi").run();
        assert_eq!(recorded.code, Some(0), "{kind}: {recorded}");
        // Number 1 is taken by what lies there.
        assert!(base.at(".ralph/journal/run-1/0002.md").exists(), "{kind}");
    }
}

#[test]
fn what_a_task_says_is_kept_in_a_form_that_can_be_read_again() {
    let base = TestBase::new();
    let title = format!("A task \u{1b}[31m {}", "long ".repeat(5_000));
    let description = "More.\n".repeat(200_000);
    let arguments = ["context", "--task", &title, "--task-id", "t-1", "--run", "run-1", "--feature", "a\tb"];
    base.write("task.json", json!({}).to_string());
    let memory = Memory::open(&base.root()).unwrap();
    let task = ralph_memory::Task {
        description,
        id: Some("t-2".to_owned()),
        files: (0..5_000).map(|number| format!("src/{number}")).collect(),
        ..ralph_memory::Task::new(title.clone())
    };
    let begun = memory.begin(&task, &ralph_memory::memory::Run::named("run-2")).unwrap();
    assert_eq!(base.run(arguments).code, Some(0));
    let open = memory.open_iterations();
    assert_eq!(open.iter().map(|open| open.task_id()).collect::<Vec<_>>(), ["t-1", "t-2"]);
    assert_eq!(memory.resume(Some("run-2"), None, None).unwrap().number, begun.number);
    let recorded = base.with(["record", "--run", "run-1"]).input("hi").run();
    assert_eq!(recorded.code, Some(0), "{recorded}");
}
