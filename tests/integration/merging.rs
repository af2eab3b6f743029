//! The merge driver: what git makes of two clones, and how it is registered.

use serde_json::json;

use crate::support::{PROGRAM, Ran, TestBase, git};

fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap()
}

fn driver(base: &TestBase, path: &str, versions: [&str; 3]) -> Ran {
    for (name, text) in ["base", "ours", "theirs"].iter().zip(versions) {
        base.write(name, text);
    }
    base.with(["merge-driver", "--path", path, "base", "ours", "theirs"]).env("PATH", self::path()).run()
}

#[test]
fn the_driver_answers_git() {
    let base = TestBase::new();
    let file = |title: &str, tags: &str, body: &str| format!("---\ntitle: {title}\ntags: [{tags}]\n---\n\n{body}\n");
    let old = file("T", "a", "A.");
    // Merged.
    let ran = driver(&base, ".ralph/knowledge/t.md", [&old, &file("T", "a, b", "A."), &file("T", "a, c", "A.\n\nB.")]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""), "{ran}");
    assert_eq!(base.read("ours"), file("T", "a, b, c", "A.\n\nB."));
    // A conflict, with markers as long as asked for.
    let versions = [&*old, &file("T", "a", "One."), &file("T", "a", "Two.")];
    let ran = driver(&base, ".ralph/knowledge/t.md", versions);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(1), ".ralph/knowledge/t.md: both changed the same part of its body\n")
    );
    assert_eq!(base.read("ours"), file("T", "a", "<<<<<<< ours\nOne.\n=======\nTwo.\n>>>>>>> theirs"));
    // What cannot be one entry: ours, and theirs at its end.
    let (one, two) = (file("One", "a", "A."), file("Two", "a", "A."));
    let broken = "---\ntitle: *x\n---\n";
    let end = "theirs is between conflict markers at the end of ours\n";
    for (base_text, theirs, reason) in [
        ("", two.as_str(), "these are two entries, with titles of their own"),
        (&old, broken, "the frontmatter of their version cannot be read"),
    ] {
        let before = base.files("");
        let ran = driver(&base, ".ralph/knowledge/sub/t.md", [base_text, &one, theirs]);
        assert_eq!((ran.code, ran.stderr), (Some(1), format!(".ralph/knowledge/sub/t.md: {reason}; {end}")));
        assert_eq!(base.read("ours"), format!("{one}\n<<<<<<< ours\n=======\n{theirs}>>>>>>> theirs\n"));
        // Git adds the result, and nothing else.
        assert_eq!(base.files(""), before);
    }
    // Wrong usage.
    for path in ["src/main.rs", "knowledge/t.md", ""] {
        driver(&base, path, [&old, &one, &old]).says(2, "`--path` names a file below `.ralph/`");
    }
    let ran = base.run(["merge-driver", "--path", ".ralph/knowledge/t.md", "base", "ours", "absent"]);
    ran.refuses(6, "cannot read `absent`");
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
fn check_registers_the_driver_on_request() {
    let base = TestBase::new();
    let check = |arguments: &[&str]| base.with([&["check"], arguments].concat()).env("PATH", path()).run();
    let ran = check(&["--register-merge-driver"]);
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("the memory is not in a work tree"), "{ran}");
    git(&base, &["init", "--quiet"]);
    let finding = || {
        let found = check(&["--json"]).json(0);
        let mut all = ["ok", "problems"].into_iter().flat_map(|key| found[key].as_array().unwrap());
        all.find(|finding| finding["code"] == "merge-driver").unwrap()["message"].as_str().unwrap().to_owned()
    };
    assert!(finding().starts_with("git merges entries as text, "));
    base.write(".ralph/.gitattributes", "*.md -text\n/journal/**/*.md merge=union");
    let registered = check(&["--register-merge-driver", "--json"]).json(0);
    let command = registered["command"].as_str().unwrap();
    assert!(
        command.starts_with(&format!("'{PROGRAM}' merge-driver --marker-size=%L --path=%P %O %A %B; ")),
        "{command}"
    );
    assert!(command.contains(" git merge-file -q --marker-size=%L "), "{command}");
    assert_eq!(
        registered,
        json!({
            "schema_version": 1,
            "action": "registered",
            "command": command,
            "attributes": ["/knowledge/**/*.md merge=ralph-memory", "/archive/**/*.md merge=ralph-memory"],
            "problems": [],
        })
    );
    assert_eq!(git(&base, &["config", "--local", "merge.ralph-memory.driver"]), command);
    let attributes = base.read(".ralph/.gitattributes");
    assert!(attributes.starts_with("*.md -text\n/journal/**/*.md merge=union\n/knowledge/"), "{attributes}");
    assert_eq!(finding(), "git merges entries by key and by block");
    let again = check(&["--register-merge-driver"]);
    assert_eq!(again.stdout, format!("registered already: {command}\n"));
    assert_eq!(base.read(".ralph/.gitattributes"), attributes);
    // It is for entries, wherever they lie, and for nothing else.
    let merge = |path: &str| git(&base, &["check-attr", "merge", path]);
    for path in [".ralph/knowledge/a.md", ".ralph/knowledge/x/y.md", ".ralph/archive/knowledge/a.md"] {
        assert!(merge(path).ends_with("merge: ralph-memory"), "{path}");
    }
    assert!(merge(".ralph/README.md").ends_with("merge: unspecified"));
}

#[test]
fn a_driver_that_may_drop_a_side_is_reported_and_replaced() {
    let base = TestBase::new();
    git(&base, &["init", "--quiet"]);
    let run = |arguments: &[&str]| base.with(arguments).env("PATH", path()).run();
    let key = "merge.ralph-memory.driver";
    let own = |program: &str| {
        run(&["check", "--register-merge-driver"]).says(0, "registered");
        let line = git(&base, &["config", key]);
        line.replace(PROGRAM, program)
    };
    let bare = "ralph-memory merge-driver --marker-size %L --path %P %O %A %B".to_owned();
    let unknown = "another merge driver than this version's is registered";
    let missing = "merges entries as text: the merge driver `/nowhere/ralph-memory` cannot be run";
    let not_executable = base.at(".ralph/README.md").display().to_string();
    let cannot = format!("merges entries as text: the merge driver `{not_executable}` cannot be run");
    for (line, message, code) in [
        (bare.clone(), unknown, 1),
        (format!("{PROGRAM} x; {}", own(PROGRAM)), unknown, 1),
        (String::new(), unknown, 1),
        (own("/nowhere/ralph-memory"), missing, 0),
        (own(&not_executable), &cannot, 0),
    ] {
        // As often as a person may have tried.
        git(&base, &["config", "--replace-all", key, &line]);
        git(&base, &["config", "--add", key, &line]);
        let ran = run(&["check"]);
        assert_eq!(ran.code, Some(code), "{ran}");
        assert!(ran.stdout.contains(message) && ran.stdout.contains("check --register-merge-driver"), "{ran}");
        let checked = run(&["check", "--json"]).json(code);
        let problem = &checked["problems"][0];
        let severity = if code == 1 { "error" } else { "warning" };
        assert_eq!((&problem["code"], &problem["severity"]), (&json!("merge-driver"), &json!(severity)), "{checked}");
        assert!(problem["message"].as_str().unwrap().contains(message), "{checked}");
        assert!(
            problem["hint"].as_str().unwrap().contains("`ralph-memory check --register-merge-driver`"),
            "{checked}"
        );
        run(&["check", "--register-merge-driver"]).says(0, "registered: ");
        assert_eq!(git(&base, &["config", "--get-all", key]), own(PROGRAM));
        run(&["check", "--strict"]).says(0, "no problems in ");
        assert!(run(&["check"]).stdout.contains("merges entries by key and by block"));
    }
    // Git merges nothing where there is a description alone.
    git(&base, &["config", "--unset", key]);
    assert!(run(&["check"]).stdout.contains(unknown));
    run(&["check", "--register-merge-driver"]).says(0, "registered: ");
    run(&["check", "--strict"]).says(0, "no problems in ");
    // What another file sets counts.
    git(&base, &["config", "extensions.worktreeConfig", "true"]);
    git(&base, &["config", "--worktree", key, &bare]);
    run(&["check", "--register-merge-driver"])
        .refuses(6, "another file than `.git/config` sets `merge.ralph-memory.driver`, too");
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
        assert_eq!(ran.stdout.contains("a merge left its conflict marker here"), code == 1, "{path}: {ran}");
    }
}

#[test]
fn the_driver_is_offered_where_git_shares_the_entries() {
    let base = TestBase::without_memory();
    git(&base, &["init", "--quiet"]);
    let run = |arguments: &[&str]| base.with(arguments).env("PATH", path()).run();
    let offer = "next: `ralph-memory check --register-merge-driver` lets git merge entries by key and by block";
    run(&["init"]).says(0, offer);
    let notice = "git merges entries as text, which may leave conflict markers in their frontmatter";
    run(&["check", "--strict"]).says(0, "no problems in 0 files, 1 notice");
    run(&["setup", "claude"]).says(0, offer);
    let answer = run(&["check", "--json"]).json(0);
    assert_eq!((&answer["counts"]["notices"], &answer["problems"][0]["message"]), (&json!(1), &json!(notice)));
    // Where entries stay in this clone, nothing is merged.
    base.write(".gitignore", "/.ralph/\n");
    assert_eq!(run(&["check", "--json"]).json(0)["counts"]["notices"], json!(0));
    base.write(".gitignore", "");
    run(&["check", "--register-merge-driver"]).says(0, "");
    assert_eq!(run(&["check", "--json"]).json(0)["counts"]["notices"], json!(0));
    let ran = run(&["setup", "codex"]);
    assert!(ran.code == Some(0) && !ran.stdout.contains(offer), "{ran}");
}
