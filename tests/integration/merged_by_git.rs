//! What real git makes of two branches that changed one entry, without any driver: the words of both are in files and are
//! found, `check` names the lines of each conflict, and `check --fix` merges what needs no decision.

use std::fs;

use crate::support::{TestBase, git, try_git};

const ENTRY: &str = ".ralph/knowledge/entry.md";

/// What a branch does to the entry, with a word of its own.
const CHANGES: [&str; 4] = ["retitle", "edit", "tags", "body"];
const OPERATIONS: [&str; 3] = ["merge", "rebase", "cherry-pick"];

/// What comes of each pair of changes, ours and theirs, with each of [`OPERATIONS`]: the conflicts that `check` names, and after
/// `=>` those that `check --fix` leaves. The base ends in the paragraphs `First.`, `Middle.` and `Last.`; `edit` changes the first of
/// them on our side and the last on theirs, `body` the one in the middle on both.
const EXPECTED: &str = "\
retitle/retitle: ourword.md: lines 2 to 6; theirword.md: lines 2 to 6 => ourword.md: lines 2 to 6; theirword.md: lines 2 to 6
retitle/edit: ourword.md: lines 6 to 11 => nothing
retitle/tags: ourword.md: lines 2 to 8 => ourword.md: lines 2 to 8
retitle/body: ourword.md: lines 6 to 11 => nothing
edit/edit: entry.md: lines 6 to 10 => nothing
edit/tags: clean
edit/body: entry.md: lines 6 to 10 => nothing
tags/tags: entry.md: lines 3 to 7 => nothing
tags/body: clean
body/body: entry.md: lines 6 to 10; entry.md: lines 16 to 20 => entry.md: lines 12 to 16
";

fn repository() -> TestBase {
    let base = TestBase::new();
    git(&base, &["init", "--quiet", "--initial-branch", "main"]);
    base
}

fn commit(base: &TestBase) {
    git(base, &["add", "--all"]);
    git(base, &["commit", "--quiet", "--allow-empty", "--message", "m"]);
}

fn entry(title: &str, more: &str, body: &str) -> Vec<u8> {
    format!("---\ntitle: {title}\ntags: [a]\n{more}---\n\nFirst.\n\n{body}\n\nLast.\n").into_bytes()
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

/// Diverges in the bytes of the entry: the base, ours and theirs. Without bytes, there is another file.
fn branches(base: &TestBase, [old, ours, theirs]: &[Vec<u8>; 3]) {
    let put = |version: &[u8]| {
        if version.is_empty() {
            base.write(".ralph/knowledge/other.md", "---\ntitle: Another\ntags: [b]\n---\n\nQuite different.\n");
            let _ = fs::remove_file(base.at(ENTRY));
        } else {
            base.write(ENTRY, version);
        }
    };
    diverge(base, [&|| put(old), &|| put(theirs), &|| put(ours)]);
}

/// Replaces a text in the entry, as a person does with `edit`.
fn edit(base: &TestBase, old: &str, new: &str, now: &str) {
    let editor = format!("sed -i 's/{old}/{new}/'");
    let path = std::env::var_os("PATH").unwrap();
    base.with(["edit", "entry"]).env("EDITOR", editor).env("PATH", path).now(now).run().says(0, "updated");
}

fn change(base: &TestBase, what: &str, word: &str, now: &str) {
    let run = |arguments: &[&str]| base.with(arguments).now(now).run().says(0, "updated");
    let paragraph = if word == "OURWORD" { "First." } else { "Last." };
    match what {
        "retitle" => run(&["edit", "entry", "--title", word]),
        "edit" => edit(base, paragraph, word, now),
        "tags" => run(&["edit", "entry", "--tags", &format!("a,{word}")]),
        _ => edit(base, "Middle.", word, now),
    }
}

/// Returns the texts of all live entries, each after its path.
fn texts(base: &TestBase) -> String {
    base.files(".ralph/knowledge").iter().flat_map(|path| [path.clone(), "\n".to_owned(), base.read(path)]).collect()
}

/// Returns the errors of `check` with these arguments: code, path and line.
fn errors(base: &TestBase, arguments: &[&str]) -> Vec<String> {
    let ran =
        base.with([&["check", "--json"], arguments].concat()).env("PATH", std::env::var_os("PATH").unwrap()).run();
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let problems = answer["problems"].as_array().unwrap().iter();
    let errors = problems.filter(|problem| problem["severity"] == "error");
    errors.map(|error| format!("{} {}", error["path"].as_str().unwrap(), error["message"].as_str().unwrap())).collect()
}

/// Returns what is said of a pair of changes, and asserts what holds for each.
#[track_caller]
fn cell(operation: &str, ours: &str, theirs: &str) -> String {
    let base = repository();
    let of_base = || {
        let body = "First.\n\nMiddle.\n\nLast.";
        base.with(["add", "Entry", "--tags", "a", "--body", body]).now("2026-11-20T08:00:00Z").run().says(0, "created");
    };
    let their_change = || change(&base, theirs, "THEIRWORD", "2026-11-20T10:00:00Z");
    diverge(&base, [&of_base, &their_change, &|| change(&base, ours, "OURWORD", "2026-11-20T09:00:00Z")]);
    let (is_clean, said) = try_git(&base, &[operation, "other"]);
    let place = |text: &str| format!("{operation}, {ours}, {theirs}: {said}\n{text}");
    let hold = || {
        let text = texts(&base);
        for word in ["OURWORD", "THEIRWORD"] {
            assert!(text.to_uppercase().contains(word), "`{word}` is lost: {}", place(&text));
            base.run(["search", word]).says(0, "knowledge/");
        }
        text
    };
    let text = hold();
    let found = errors(&base, &[]);
    assert_eq!(found.is_empty(), !text.contains("<<<<<<<"), "{found:?} {}", place(&text));
    assert_eq!(is_clean, found.is_empty(), "{}", place(&text));
    if is_clean {
        return "clean".to_owned();
    }
    let left = errors(&base, &["--fix"]);
    let text = hold();
    assert_eq!(left.is_empty(), !text.contains("<<<<<<<"), "{left:?} {}", place(&text));
    if left.is_empty() {
        let shown = base.run(["show", "Entry"]).answer(0).to_uppercase();
        assert!(shown.contains("OURWORD") && shown.contains("THEIRWORD"), "{}", place(&shown));
    }
    let lines = |errors: Vec<String>| match &*errors
        .join("; ")
        .replace(".ralph/knowledge/", "")
        .replace(" git left a conflict", "")
    {
        "" => "nothing".to_owned(),
        some => some.to_owned(),
    };
    format!("{} => {}", lines(found), lines(left))
}

#[test]
fn no_text_of_two_branches_is_lost() {
    let mut table = String::new();
    for (at, ours) in CHANGES.into_iter().enumerate() {
        for theirs in &CHANGES[at..] {
            let [merged, rebased, picked] = OPERATIONS.map(|operation| cell(operation, ours, theirs));
            assert_eq!((&rebased, &picked), (&merged, &merged), "{ours}/{theirs}");
            table.push_str(&format!("{ours}/{theirs}: {merged}\n"));
        }
    }
    assert_eq!(table, EXPECTED, "{table}");
}

/// Every other way in which two sides disagree about an entry. Each side's last version has a word of its own, and what is
/// left after `check --fix` is a decision.
fn disagreements() -> Vec<(&'static str, [Vec<u8>; 3])> {
    let base = entry("Entry", "", "Middle.");
    let both = |ours, theirs| [base.clone(), ours, theirs];
    let not_utf8 = b"---\ntitle: Entry\ntags: [a]\n---\n\n\xe9\xff THEIRWORD\n".to_vec();
    vec![
        (
            "one key",
            both(entry("Entry", "feature: OURWORD\n", "Middle."), entry("Entry", "feature: THEIRWORD\n", "Middle.")),
        ),
        ("two titles and texts", both(entry("One", "", "OURWORD."), entry("Two", "", "THEIRWORD."))),
        ("one name", [Vec::new(), entry("OURWORD", "", "x"), entry("THEIRWORD", "", "x")]),
        ("unreadable", both(entry("OURWORD", "", "x"), b"---\ntitle: *x\n---\nTHEIRWORD\n".to_vec())),
        ("not UTF-8", both(entry("Entry", "", "OURWORD."), not_utf8)),
        ("comments", both(entry("Entry", "# OURWORD\n", "x"), entry("Entry", "# THEIRWORD\n", "Middle."))),
        (
            "the first paragraph",
            both(
                b"---\ntitle: Entry\ntags: [a, b]\n---\nOURWORD.\n".to_vec(),
                b"---\ntitle: Entry\ntags: [a, c]\n---\nTHEIRWORD.\n".to_vec(),
            ),
        ),
    ]
}

#[test]
fn what_git_cannot_merge_stays_to_the_byte() {
    for (name, versions) in disagreements() {
        for operation in ["merge", "rebase", "cherry-pick", "merge -s recursive", "stash pop"] {
            let base = repository();
            let (is_clean, said) = if operation == "stash pop" {
                base.write(ENTRY, &versions[0]);
                commit(&base);
                base.write(ENTRY, &versions[2]);
                git(&base, &["stash", "--quiet", "--include-untracked"]);
                base.write(ENTRY, &versions[1]);
                commit(&base);
                try_git(&base, &["stash", "pop"])
            } else {
                branches(&base, &versions);
                try_git(&base, &operation.split(' ').chain(["other"]).collect::<Vec<_>>())
            };
            let before = fs::read(base.at(ENTRY)).unwrap();
            let text = String::from_utf8_lossy(&before);
            assert!(!is_clean && text.contains("OURWORD") && text.contains("THEIRWORD"), "{name}: {said}\n{text}");
            assert!(!errors(&base, &["--fix"]).is_empty(), "{name}");
            assert_eq!(fs::read(base.at(ENTRY)).unwrap(), before, "{name}");
        }
    }
}

#[test]
fn neighbouring_paragraphs_and_another_name_merge() {
    let base = repository();
    let text = |first: &str, last: &str| entry("Entry", "", &format!("{first}\n\n{last}"));
    branches(&base, &[text("A.", "B."), text("OURWORD.", "B."), text("A.", "THEIRWORD.")]);
    git(&base, &["checkout", "--quiet", "other"]);
    git(&base, &["mv", ENTRY, ".ralph/knowledge/renamed.md"]);
    commit(&base);
    git(&base, &["checkout", "--quiet", "main"]);
    let (is_clean, said) = try_git(&base, &["merge", "--no-edit", "other"]);
    assert!(is_clean, "{said}");
    let merged = base.read(".ralph/knowledge/renamed.md");
    assert_eq!(merged.into_bytes(), text("OURWORD.", "THEIRWORD."));
}

#[test]
fn an_edit_of_an_entry_that_the_other_side_removed_stays() {
    let base = repository();
    branches(&base, &[entry("Entry", "", "x"), entry("Entry", "", "OURWORD"), Vec::new()]);
    let (is_clean, said) = try_git(&base, &["merge", "--no-edit", "other"]);
    assert!(!is_clean && said.contains("CONFLICT (modify/delete)"), "{said}");
    assert!(base.read(ENTRY).contains("OURWORD"));
}

/// Writes a learning in a run, as an agent does.
fn learn(base: &TestBase, body: &str, run: &str, now: &str) {
    let arguments = ["add", "Entry", "--tags", "a", "--body", body, "--source", "agent"];
    let origin = ["--task-id", &format!("t-{run}"), "--run-id", run];
    base.with([&arguments[..], &origin[..]].concat()).now(now).run().says(0, "knowledge/entry");
}

#[test]
fn the_origin_of_what_two_work_trees_learned_is_a_decision() {
    for operation in OPERATIONS {
        let base = repository();
        let early = || learn(&base, "It listens on 5433.", "run-early", "2026-11-20T09:00:00Z");
        let late = || learn(&base, "It listens on 5433.", "run-late", "2026-11-20T10:00:00Z");
        let before = || {
            base.write("README", "x");
        };
        diverge(&base, [&before, &early, &late]);
        let (is_clean, _) = try_git(&base, &[operation, "other"]);
        let text = base.read(ENTRY);
        let conflicting = text.split("<<<<<<<").nth(1).unwrap().split(">>>>>>>").next().unwrap();
        let keys: Vec<&str> =
            conflicting.lines().filter_map(|line| line.split_once(": ")).map(|(key, _)| key).collect();
        assert_eq!(keys, ["task_id", "run_id", "created_at", "task_id", "run_id", "created_at"], "{text}");
        let left = errors(&base, &["--fix"]);
        assert!(!is_clean && left.len() == 1 && left[0].contains("lines 5 to 13"), "{left:?}\n{text}");
        assert_eq!(base.read(ENTRY), text);
    }
}

#[test]
fn what_agents_wrote_on_both_sides_stays_the_agents_and_a_correction_a_persons() {
    let base = repository();
    let before = || learn(&base, "One.\n\nTwo.", "run-1", "2026-11-20T08:00:00Z");
    let theirs = || learn(&base, "One.\n\nTwo of theirs.", "run-1", "2026-11-20T09:00:00Z");
    diverge(&base, [&before, &theirs, &|| learn(&base, "One of ours.\n\nTwo.", "run-1", "2026-11-20T10:00:00Z")]);
    let merge = |branch: &str| {
        let (_, said) = try_git(&base, &["merge", "--no-edit", branch]);
        assert_eq!(errors(&base, &["--fix"]), [""; 0], "{said}");
        commit(&base);
    };
    let source = || base.run(["show", "entry", "--json"]).json(0)["entry"]["source"].as_str().unwrap().to_owned();
    merge("other");
    assert!(base.read(ENTRY).contains("One of ours.\n\nTwo of theirs."), "{}", base.read(ENTRY));
    assert_eq!(source(), "agent");
    // A person's change on one branch, an agent's on the other.
    git(&base, &["checkout", "--quiet", "-b", "third"]);
    base.write(ENTRY, base.read(ENTRY).replace("Two of theirs.", "Two, corrected."));
    commit(&base);
    git(&base, &["checkout", "--quiet", "main"]);
    learn(&base, "One again.\n\nTwo of theirs.", "run-1", "2026-11-20T11:00:00Z");
    commit(&base);
    merge("third");
    assert!(base.read(ENTRY).contains("One again.\n\nTwo, corrected."), "{}", base.read(ENTRY));
    assert_eq!(source(), "human");
    let arguments = ["add", "Entry", "--tags", "a", "--source", "agent", "--body"];
    base.run([&arguments[..], &["One again.\n\nTwo of theirs."]].concat()).refuses(4, "a person corrected it");
}
