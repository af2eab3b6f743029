//! `check` and `check --fix` where git left conflicts, and where an earlier version told git of its merge driver.

use serde_json::json;

use crate::support::{PROGRAM, Ran, TestBase, git, try_git};

const ENTRY: &str = ".ralph/knowledge/t.md";

fn run(base: &TestBase, arguments: &[&str]) -> Ran {
    base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).run()
}

fn file(head: &str, body: &str) -> String {
    format!("---\ntitle: T\n{head}---\n\n{body}\n")
}

fn between(ours: &str, theirs: &str) -> String {
    format!("<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> other\n")
}

/// Returns the messages of a kind of answer of `check`.
fn said(ran: &Ran, code: i32, kind: &str) -> Vec<String> {
    let answer = ran.json(code);
    let all = answer[kind].as_array().unwrap().iter();
    all.map(|one| format!("{} {}", one["message"].as_str().unwrap(), one["hint"].as_str().unwrap())).collect()
}

#[test]
fn a_conflict_is_named_with_its_lines_and_merged_on_request() {
    let base = TestBase::new();
    let text = file(&between("tags: [a, b]\n", "tags: [a, c]\n"), "A.");
    base.write(ENTRY, &text);
    let found = "git left a conflict: lines 3 to 7 `ralph-memory check --fix` merges these lines";
    assert_eq!(said(&run(&base, &["check", "--json"]), 1, "problems"), [found]);
    let fixed = said(&run(&base, &["check", "--fix", "--json"]), 0, "fixed");
    let expected = "merged the frontmatter of `.ralph/knowledge/t.md`; git counts it as unmerged until `git add \
                    .ralph/knowledge/t.md` ";
    assert_eq!(fixed, [expected]);
    assert_eq!(base.read(ENTRY), file("tags: [a, b, c]\n", "A."));
    assert_eq!(said(&run(&base, &["check", "--fix", "--json"]), 0, "fixed"), [""; 0]);
    run(&base, &["undo"]).says(0, "check --fix");
    assert_eq!(base.read(ENTRY), text);

    // What is left is named, also where the frontmatter was merged.
    let body = between("One.\n", "Two.\n");
    base.write(ENTRY, file(&between("tags: [a]\n", "tags: [b]\n"), body.trim_end()));
    let ran = run(&base, &["check", "--fix"]);
    let hint = "decide between the two versions, delete the marker lines, and `git add` the file; indent an example";
    ran.tells(1, &["`.ralph/knowledge/t.md`; its body still has a conflict", "lines 6 to 10", hint], &[]);
    let left = file("tags: [a, b]\n", body.trim_end());
    assert_eq!(base.read(ENTRY), left);
    base.run(["search", "Two"]).says(0, "knowledge/t");
}

#[test]
fn losing_values_are_reported_until_removed() {
    let base = TestBase::new();
    let head = "title: T\ntags: [a]\nfeature: x\n# merge-conflict feature: y\n";
    base.write(".ralph/knowledge/t.md", format!("---\n{head}---\n\nA.\n"));
    let ran = base.run(["check", "--strict", "--json"]);
    let problem = &ran.json(1)["problems"][0];
    assert_eq!((&problem["code"], &problem["line"]), (&json!("merge-conflict"), &json!(5)));
    base.run(["search", "A"]).says(0, "knowledge/t");
    base.write(
        ".ralph/knowledge/t.md",
        format!("---\n{}---\n\nA.\n", head.replace("# merge-conflict feature: y\n", "")),
    );
    base.run(["check", "--strict"]).says(0, "no problems in ");
}

#[test]
fn the_driver_of_an_earlier_version_is_named_and_removed() {
    let base = TestBase::new();
    git(&base, &["init", "--quiet", "--initial-branch", "main"]);
    let line = format!(
        "'{PROGRAM}' merge-driver --marker-size=%L --path=%P %O %A %B; case $? in 0) ;; 1) exit 1 ;; *) git \
                        merge-file -q --marker-size=%L -L ours -L base -L theirs %A %O %B ;; esac"
    );
    git(&base, &["config", "merge.ralph-memory.driver", &line]);
    git(&base, &["config", "merge.ralph-memory.name", "merges knowledge entries by key and by block"]);
    git(&base, &["config", "merge.other.driver", "true"]);
    let old = include_str!("../../fixtures/memory-0.1.0/.ralph/.gitattributes");
    base.write(".ralph/.gitattributes", format!("{old}*.png binary\n"));
    // Until then, git merges as text: the program knows the command no more.
    for (branch, text) in [("main", "Base."), ("other", "Theirs."), ("main", "Ours.")] {
        let _ = try_git(&base, &["checkout", "--quiet", "-B", branch]);
        if text == "Ours." {
            git(&base, &["reset", "--quiet", "--hard", "HEAD~1"]);
        }
        base.write(ENTRY, file("tags: [a]\n", text));
        git(&base, &["add", "--all"]);
        git(&base, &["commit", "--quiet", "--message", "m"]);
    }
    let (is_clean, _) = try_git(&base, &["merge", "other"]);
    let text = base.read(ENTRY);
    assert!(!is_clean && text.contains("Ours.\n=======\nTheirs.\n"), "{text}");
    base.write(ENTRY, file("tags: [a]\n", "Both."));

    let found = "`.ralph/.gitattributes` and `.git/config` still name the merge driver of an earlier version \
                 `ralph-memory check --fix` removes those lines";
    assert_eq!(said(&run(&base, &["check", "--json"]), 0, "problems"), [found]);
    let fixed = said(&run(&base, &["check", "--fix", "--json"]), 0, "fixed");
    let done = [
        "removed the merge driver from `.ralph/.gitattributes`: commit it ",
        "removed the merge driver from `.git/config` ",
    ];
    assert_eq!(fixed, done);
    assert_eq!(base.read(".ralph/.gitattributes"), "*.md -text -filter diff=markdown\n*.png binary\n");
    let config = base.read(".git/config");
    assert!(!config.contains("ralph-memory") && config.contains("[merge \"other\"]"), "{config}");
    assert_eq!(said(&run(&base, &["check", "--fix", "--json"]), 0, "fixed"), [""; 0]);
    // Settings of that name that the program never wrote stay.
    git(&base, &["config", "merge.ralph-memory.driver", "mine %O %A %B"]);
    git(&base, &["config", "merge.ralph-memory.recursive", "binary"]);
    run(&base, &["check", "--fix"]).says(0, "no problems in 1 file");
    assert!(base.read(".git/config").contains("mine %O") && base.read(".git/config").contains("recursive"));
}

/// Committed conflict markers end a job of continuous integration.
#[test]
fn conflict_markers_are_errors() {
    let attempt =
        "---\nrun_id: run-1\niteration: 1\noutcome: failed\nstarted_at: \"2026-11-20T09:00:00Z\"\n---\n\n> Told.\n";
    let entry = "---\ntitle: T\ntags: [a]\n---\n\nA.\n";
    let marked = |text: &str| format!("{text}\n<<<<<<< ours\n=======\nB.\n>>>>>>> theirs\n");
    for (path, text, code) in [
        ("knowledge/t.md", marked(entry), 1),
        ("archive/knowledge/t.md", marked(entry), 1),
        ("journal/run-1/0001.md", marked(attempt), 1),
        ("journal/run-1/0001.md", attempt.replace("run_id", "<<<<<<< ours\nrun_id"), 1),
        // Text of an agent is quoted, and an example may be indented.
        ("journal/run-1/0001.md", format!("{attempt}> <<<<<<< ours\n"), 0),
        ("knowledge/t.md", format!("{entry}\n    <<<<<<< ours\n"), 0),
    ] {
        let base = TestBase::new();
        base.write(&format!(".ralph/{path}"), &text);
        let ran = base.run(["check", "--json"]);
        let answer = ran.json(code);
        assert_eq!(answer["counts"]["errors"], json!(code), "{path}: {ran}");
        assert_eq!(ran.stdout.contains("\"merge-conflict\""), code == 1, "{path}: {ran}");
    }
}
