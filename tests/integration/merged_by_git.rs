//! What real git makes of two versions of an entry, with the merge driver in all states: whatever came of it, the words of
//! both sides are in files that git tracks.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::{PROGRAM, TestBase, git, try_git};

const ENTRY: &str = ".ralph/knowledge/entry.md";

/// What became of the program since it was registered.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Registered {
    Works,
    Missing,
    NotExecutable,
    Killed,
    NoInterpreter,
    Fails,
}

use Registered::{Fails, Killed, Missing, NoInterpreter, NotExecutable, Works};

/// A project whose merge driver was registered by a program in a folder with an odd name.
fn repository(registered: Registered) -> TestBase {
    let base = TestBase::new();
    git(&base, &["init", "--quiet", "--initial-branch", "main"]);
    let program = program(&base);
    fs::create_dir(program.parent().unwrap()).unwrap();
    symlink(PROGRAM, &program).unwrap();
    let mut register = Command::new(&program);
    register.args(["check", "--register-merge-driver"]).current_dir(base.root()).env_clear();
    register.env("HOME", base.home()).env("PATH", std::env::var_os("PATH").unwrap()).stdout(Stdio::null());
    assert!(register.status().unwrap().success());
    if registered != Works {
        fs::remove_file(&program).unwrap();
    }
    let script = match registered {
        Works | Missing => return base,
        NotExecutable => "#!/bin/sh\n",
        Killed => "#!/bin/sh\nkill -9 $$\n",
        NoInterpreter => "#!/nowhere/sh\n",
        Fails => "#!/bin/sh\nexit 2\n",
    };
    fs::write(&program, script).unwrap();
    let mode = if registered == NotExecutable { 0o644 } else { 0o755 };
    fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
    base
}

fn program(base: &TestBase) -> PathBuf {
    base.home().join("it's 100% \"$(odd)\" %O\\/ralph-memory")
}

fn commit(base: &TestBase) {
    git(base, &["add", "--all"]);
    git(base, &["commit", "--quiet", "--message", "m"]);
}

/// The versions of an entry: the base, ours and theirs. An empty one is no file.
type Versions = [Vec<u8>; 3];

fn entry(title: &str, more: &str, body: &str) -> Vec<u8> {
    format!("---\ntitle: {title}\ntags: [a]\n{more}---\n\nFirst.\n\n{body}\n\nLast.\n").into_bytes()
}

/// Every way in which two sides disagree about an entry. Each side's last version has a word of its own.
fn disagreements() -> Vec<(&'static str, Versions)> {
    let base = entry("Entry", "", "Middle.");
    let both = |ours, theirs| [base.clone(), ours, theirs];
    let not_utf8 = [b"---\ntitle: Entry\ntags: [a]\n---\n\n\xe9\xff THEIRWORD\n".to_vec()].concat();
    vec![
        ("one paragraph", both(entry("Entry", "", "OURWORD."), entry("Entry", "", "THEIRWORD."))),
        (
            "one key",
            both(entry("Entry", "feature: OURWORD\n", "Middle."), entry("Entry", "feature: THEIRWORD\n", "Middle.")),
        ),
        ("two titles", both(entry("OURWORD", "", "Middle."), entry("THEIRWORD", "", "Middle."))),
        ("two titles and texts", both(entry("One", "", "OURWORD."), entry("Two", "", "THEIRWORD."))),
        ("one name", [Vec::new(), entry("OURWORD", "", "x"), entry("THEIRWORD", "", "x")]),
        ("one new title", [Vec::new(), entry("Entry", "", "OURWORD."), entry("Entry", "", "THEIRWORD.")]),
        ("unreadable", both(entry("OURWORD", "", "x"), b"---\ntitle: *x\n---\nTHEIRWORD\n".to_vec())),
        ("not UTF-8", both(entry("Entry", "", "OURWORD."), not_utf8)),
        (
            "comments in a value",
            both(
                entry("Entry", "files:\n  - a # OURWORD\n", "Middle."),
                entry("Entry", "files:\n  # THEIRWORD\n  - b\n", "Middle."),
            ),
        ),
        ("comments", both(entry("Entry", "# OURWORD\n", "x"), entry("Entry", "# THEIRWORD\n", "Middle.\n\nMore."))),
    ]
}

fn put(base: &TestBase, version: &[u8]) {
    if version.is_empty() {
        base.write(".ralph/knowledge/other.md", "---\ntitle: Another\ntags: [b]\n---\n\nQuite different.\n");
        let _ = fs::remove_file(base.at(ENTRY));
    } else {
        base.write(ENTRY, version);
    }
}

/// Commits a version on `main`, another one on the branch `other`, and a third one on `main`, which is then checked out.
fn diverge(base: &TestBase, versions: [&dyn Fn(); 3]) {
    for (make, branch) in versions.into_iter().zip([&[][..], &["-b", "other"], &["main"]]) {
        if !branch.is_empty() {
            git(base, &[&["checkout", "--quiet"], branch].concat());
        }
        make();
        commit(base);
    }
}

/// Makes git merge: with `main` checked out, ours committed there and theirs on the branch `other`.
fn branches(base: &TestBase, versions: &Versions) {
    diverge(base, [&|| put(base, &versions[0]), &|| put(base, &versions[2]), &|| put(base, &versions[1])]);
}

/// Returns whether git ended with 0, and what it said.
fn operate(base: &TestBase, operation: &str, versions: &Versions) -> (bool, String) {
    match operation {
        "stash pop" => {
            put(base, &versions[0]);
            commit(base);
            put(base, &versions[2]);
            git(base, &["stash", "--quiet"]);
            put(base, &versions[1]);
            commit(base);
            try_git(base, &["stash", "pop"])
        }
        "checkout -m" => {
            branches(base, versions);
            git(base, &["checkout", "--quiet", "--detach", "main~1"]);
            put(base, &versions[2]);
            let (_, said) = try_git(base, &["checkout", "-m", "main"]);
            // It ends with 0 whatever comes of it.
            (git(base, &["ls-files", "--unmerged"]).is_empty(), said)
        }
        "revert" => {
            for version in [&versions[2], &versions[0], &versions[1]] {
                put(base, version);
                commit(base);
            }
            try_git(base, &["revert", "--no-edit", "HEAD~1"])
        }
        _ => {
            branches(base, versions);
            let words: Vec<&str> = operation.split(' ').chain(["other"]).collect();
            try_git(base, &words)
        }
    }
}

/// Returns everything that git would commit with `git commit -a`, after `git clean`.
fn committed(base: &TestBase) -> String {
    git(base, &["add", "--update"]);
    git(base, &["clean", "--quiet", "-fd", "--", ".ralph"]);
    git(base, &["grep", "--cached", "--text", "-h", "-e", "", "--", ".ralph/knowledge", ".ralph/archive"])
}

#[track_caller]
fn check(registered: Registered, operation: &str, name: &str, versions: &Versions) {
    let base = repository(registered);
    let (is_clean, said) = operate(&base, operation, versions);
    let place = format!("{registered:?}, {operation}, {name}: clean {is_clean}, {said}");
    let text = committed(&base);
    assert!(text.contains("OURWORD"), "our word is lost: {place}\n{text}");
    assert!(text.contains("THEIRWORD"), "their word is lost: {place}\n{text}");
    // What a person has to decide is a conflict, and what is between markers is one.
    assert_eq!(text.contains("<<<<<<< "), !is_clean, "{place}\n{text}");
    let is_decided = ["one key", "one new title", "comments", "comments in a value"].contains(&name);
    assert!(registered != Works || is_clean == is_decided, "{place}\n{text}");
    assert_eq!(said.contains("git merged this entry as text"), registered != Works, "{place}");
}

/// The ways to merge other than `git merge`.
const OPERATIONS: [&str; 7] =
    ["merge --no-commit", "merge -s recursive", "rebase", "cherry-pick", "revert", "stash pop", "checkout -m"];

#[test]
fn no_merge_drops_a_side() {
    for (at, (name, versions)) in disagreements().iter().enumerate() {
        let operations = if at == 0 || *name == "two titles" { &OPERATIONS[..] } else { &[] };
        for operation in ["merge"].iter().chain(operations) {
            check(Works, operation, name, versions);
        }
    }
}

#[test]
fn no_merge_drops_a_side_where_the_driver_cannot_run() {
    for (name, versions) in disagreements() {
        check(Missing, "merge", name, &versions);
    }
    let (name, versions) = disagreements().remove(0);
    for registered in [NotExecutable, Killed, NoInterpreter, Fails] {
        check(registered, "merge", name, &versions);
    }
    for operation in OPERATIONS {
        check(Missing, operation, name, &versions);
    }
}

#[test]
fn a_path_that_looks_like_an_option_is_merged_by_key() {
    let base = repository(Works);
    base.write(".gitattributes", "*.md merge=ralph-memory\n");
    let path = "-h/.ralph/knowledge/entry.md";
    let put = |more: &str| {
        base.write(path, entry("Entry", more, "Middle."));
    };
    diverge(&base, [&|| put(""), &|| put("files: [b]\n"), &|| put("files: [a]\n")]);
    let (is_clean, said) = try_git(&base, &["merge", "other"]);
    assert!(is_clean, "{said}");
    assert_eq!(fs::read(base.at(path)).unwrap(), entry("Entry", "files: [a, b]\n", "Middle."));
}

#[test]
fn separate_changes_are_merged_without_the_driver() {
    let base = repository(Missing);
    let text = |first: &str, last: &str| entry("Entry", "", &format!("{first}\n\nB.\n\nC.\n\nD.\n\n{last}"));
    branches(&base, &[text("A.", "E."), text("OURWORD.", "E."), text("A.", "THEIRWORD.")]);
    // Theirs has another name besides.
    git(&base, &["checkout", "--quiet", "other"]);
    git(&base, &["mv", ENTRY, ".ralph/knowledge/renamed.md"]);
    commit(&base);
    git(&base, &["checkout", "--quiet", "main"]);
    let (is_clean, said) = try_git(&base, &["merge", "-s", "ort", "--no-edit", "other"]);
    assert!(is_clean && said.contains("git merged this entry as text"), "{said}");
    let merged = base.read(".ralph/knowledge/renamed.md");
    assert_eq!(merged.into_bytes(), text("OURWORD.", "THEIRWORD."));
}

#[test]
fn what_git_cannot_merge_as_text_is_not_merged() {
    let base = repository(Missing);
    let versions = [entry("Entry", "", "x"), entry("Entry", "", "OURWORD"), b"\0THEIRWORD".to_vec()];
    branches(&base, &versions);
    let (is_clean, said) = try_git(&base, &["merge", "other"]);
    assert!(!is_clean && said.contains("failed to execute internal merge"), "{said}");
    assert_eq!(
        (base.read(ENTRY).into_bytes(), git(&base, &["status", "--porcelain"])),
        (versions[1].clone(), String::new())
    );
    // With the driver it is a conflict like any other.
    check(Works, "merge", "a zero byte", &versions);
}

#[test]
fn an_abandoned_merge_leaves_nothing_behind() {
    let base = repository(Works);
    branches(&base, &[entry("Zero", "", "x"), entry("One", "", "x"), entry("Two", "", "x")]);
    // A merge that nobody asked to keep.
    let (is_clean, _) = try_git(&base, &["merge-tree", "--write-tree", "main", "other"]);
    assert!(!is_clean);
    for _ in 0..2 {
        let (is_clean, said) = try_git(&base, &["merge", "other"]);
        assert!(!is_clean && said.contains("these are two entries"), "{said}");
        git(&base, &["merge", "--abort"]);
        assert_eq!(git(&base, &["status", "--porcelain", "--ignored=no"]), "");
    }
    assert_eq!(base.read(ENTRY).into_bytes(), entry("One", "", "x"));
}

#[test]
fn both_titles_of_an_entry_that_both_branches_renamed_stay() {
    let rename = |base: &TestBase, title: &str| base.run(["edit", "entry", "--title", title]).says(0, "updated");
    for (ours, theirs) in [("Our title", "Their title"), ("Same title", "Same title")] {
        let base = repository(Works);
        let old = entry("Entry", "", "A long enough text, so that git finds the renamed file.");
        diverge(&base, [&|| put(&base, &old), &|| rename(&base, theirs), &|| rename(&base, ours)]);
        let (is_clean, said) = try_git(&base, &["merge", "--no-edit", "other"]);
        assert_eq!(is_clean, ours == theirs, "{said}");
        let text = committed(&base);
        assert!(text.contains(ours) && text.contains(theirs), "{text}");
    }
}

#[test]
fn an_edit_of_an_entry_that_the_other_side_removed_stays() {
    let base = repository(Works);
    branches(&base, &[entry("Entry", "", "x"), entry("Entry", "", "OURWORD"), Vec::new()]);
    let (is_clean, said) = try_git(&base, &["merge", "--no-edit", "other"]);
    assert!(!is_clean && said.contains("CONFLICT (modify/delete)"), "{said}");
    assert!(committed(&base).contains("OURWORD"));
}

/// Writes a learning in a run, as an agent does.
fn learn(base: &TestBase, body: &str, run: &str, now: &str) {
    let arguments = ["add", "Entry", "--tags", "a", "--body", body, "--source", "agent"];
    let origin = ["--task-id", &format!("t-{run}"), "--run-id", run];
    base.with([&arguments[..], &origin[..]].concat()).now(now).run().says(0, "knowledge/entry");
}

/// Two work trees learn the same, the second one earlier; `old` is what both have before.
fn learned_twice(base: &TestBase, old: Option<&str>, new: &str) {
    base.write("README", "x");
    let before = || old.into_iter().for_each(|old| learn(base, old, "run-old", "2026-11-20T08:00:00Z"));
    let early = || learn(base, new, "run-early", "2026-11-20T09:00:00Z");
    diverge(base, [&before, &early, &|| learn(base, new, "run-late", "2026-11-20T10:00:00Z")]);
}

/// What was seen in 0.1.0: `run_id` and `created_at` conflicted.
#[test]
fn what_two_work_trees_learned_is_the_earlier_ones() {
    for old in [None, Some("Something else.")] {
        for operation in ["merge", "rebase", "cherry-pick", "merge into other"] {
            let base = repository(Works);
            learned_twice(&base, old, "It listens on 5433.");
            let (is_clean, said) = if operation == "merge into other" {
                git(&base, &["checkout", "--quiet", "other"]);
                try_git(&base, &["merge", "main"])
            } else {
                try_git(&base, &[operation, "other"])
            };
            // Theirs may be the whole result, and a pick that changes nothing asks what to do.
            let is_empty_pick = operation == "cherry-pick" && said.contains("cherry-pick is now empty");
            assert!(is_clean || is_empty_pick, "{operation}, {old:?}: {said}");
            let text = base.read(ENTRY);
            assert!(text.contains("task_id: t-run-early") || text.contains("task_id: \"t-run-early\""), "{text}");
            assert!(text.contains("run-early") && !text.contains("run-late"), "{operation}, {old:?}: {text}");
            assert!(!text.contains("merge-conflict") && !text.contains("<<<<"), "{operation}, {old:?}: {text}");
            assert_eq!(old.is_none(), text.contains("created_at: \"2026-11-20T09:00:00Z\""), "{text}");
            // Both sides are of agents, so agents may go on.
            assert_eq!(base.run(["show", "entry", "--json"]).json(0)["entry"]["source"], "agent", "{text}");
        }
    }
}

#[test]
fn without_the_driver_only_the_origin_of_one_learning_conflicts() {
    for operation in ["merge", "rebase", "cherry-pick"] {
        let base = TestBase::new();
        git(&base, &["init", "--quiet", "--initial-branch", "main"]);
        learned_twice(&base, None, "It listens on 5433.");
        let (is_clean, _) = try_git(&base, &[operation, "other"]);
        assert!(!is_clean);
        let text = base.read(ENTRY);
        let conflicting = text.split("<<<<<<<").nth(1).unwrap().split(">>>>>>>").next().unwrap();
        let keys: Vec<&str> =
            conflicting.lines().filter_map(|line| line.split_once(": ")).map(|(key, _)| key).collect();
        assert_eq!(keys, ["task_id", "run_id", "created_at", "task_id", "run_id", "created_at"], "{text}");
        assert_eq!(text.matches("<<<<<<<").count(), 1, "{text}");
        let ran = base.run(["check"]);
        ran.says(1, "a merge left its conflict marker here");
    }
}

#[test]
fn what_agents_wrote_on_both_sides_stays_the_agents_and_a_correction_a_persons() {
    let base = repository(Works);
    let before = || learn(&base, "One.\n\nTwo.", "run-1", "2026-11-20T08:00:00Z");
    let theirs = || learn(&base, "One.\n\nTwo of theirs.", "run-2", "2026-11-20T09:00:00Z");
    diverge(&base, [&before, &theirs, &|| learn(&base, "One of ours.\n\nTwo.", "run-3", "2026-11-20T10:00:00Z")]);
    git(&base, &["merge", "--quiet", "--no-edit", "other"]);
    let source = || base.run(["show", "entry", "--json"]).json(0)["entry"]["source"].as_str().unwrap().to_owned();
    assert!(base.read(ENTRY).contains("One of ours.\n\nTwo of theirs."), "{}", base.read(ENTRY));
    assert_eq!(source(), "agent");
    // A person's change on one branch, an agent's on the other.
    git(&base, &["checkout", "--quiet", "-b", "third"]);
    base.write(ENTRY, base.read(ENTRY).replace("Two of theirs.", "Two, corrected."));
    commit(&base);
    git(&base, &["checkout", "--quiet", "main"]);
    learn(&base, "One again.\n\nTwo of theirs.", "run-4", "2026-11-20T11:00:00Z");
    commit(&base);
    git(&base, &["merge", "--quiet", "--no-edit", "third"]);
    assert!(base.read(ENTRY).contains("One again.\n\nTwo, corrected."), "{}", base.read(ENTRY));
    assert_eq!(source(), "human");
    let arguments = ["add", "Entry", "--tags", "a", "--source", "agent", "--body"];
    base.run([&arguments[..], &["One again.\n\nTwo of theirs."]].concat()).refuses(4, "a person corrected it");
}
