//! What git says of the files that knowledge speaks of.

use std::fs;
use std::process::Command;

use crate::support::{Ran, TestBase, ids};

fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap()
}

/// A project in a repository without settings.
struct Project(TestBase);

impl Project {
    fn new() -> Project {
        let project = Project(TestBase::new());
        project.git(&["init", "--quiet"], "2026-01-01T00:00:00Z");
        project.git(&["config", "user.name", "t"], "2026-01-01T00:00:00Z");
        project.git(&["config", "user.email", "t@example.org"], "2026-01-01T00:00:00Z");
        project
    }

    /// Asks git something, with its commits made at this time.
    fn git(&self, arguments: &[&str], at: &str) -> String {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(self.0.root()).env_clear().env("PATH", path()).env("HOME", self.0.home());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_COMMITTER_DATE", at);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?} {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit_all(&self, at: &str) -> String {
        self.git(&["add", "--all"], at);
        self.git(&["commit", "--quiet", "--message", "m"], at);
        self.git(&["rev-parse", "HEAD"], at)
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.0.with(arguments).env("PATH", path()).env("GIT_CONFIG_NOSYSTEM", "1").run()
    }
}

#[test]
fn knowledge_about_changed_files_is_marked_as_unverified() {
    let project = Project::new();
    let base = &project.0;
    let lines = |from: usize, to: usize| (from..to).map(|line| line.to_string() + "\n").collect::<String>();
    for name in ["kept", "changed", "gone"] {
        base.write(&format!("src/{name}.rs"), lines(0, 40));
        let head =
            format!("title: \"The parser {name}\"\ntags: [parser]\ncreated_at: \"2026-02-01\"\nfiles: [src/{name}.rs]");
        base.write(&format!(".ralph/knowledge/{name}.md"), format!("---\n{head}\n---\n\nThe parser is {name}.\n"));
    }
    let pitfall = "---\ntitle: A pitfall\ntags: [parser]\ncategory: pitfall\ncreated_at: 2026-02-01\nfiles: [src/gone.rs]\n---\n\nMind the parser.\n";
    base.write(".ralph/knowledge/pitfall.md", pitfall);
    project.commit_all("2026-01-20T00:00:00Z");
    let context = || {
        let answer = project.run(&["context", "--task", "parser", "--json"]).json(0);
        (answer["prompt"].as_str().unwrap().to_owned(), ids(&answer["entries"]))
    };
    let (text, entries) = context();
    assert!(!text.contains("unverified"), "{text}");
    project.run(&["check", "--strict"]).says(0, "no problems in ");

    base.write("src/kept.rs", lines(0, 44)).write("src/changed.rs", lines(20, 60));
    project.commit_all("2026-03-01T00:00:00Z");
    fs::remove_file(base.at("src/gone.rs")).unwrap();
    project.commit_all("2026-03-02T00:00:00Z");
    let (text, doubted) = context();
    let (changed, gone) =
        ("unverified: `src/changed.rs` changed much after this was written", "unverified: `src/gone.rs` is gone");
    for (name, doubt) in [("changed", changed), ("gone", gone)] {
        let expected = format!("### The parser {name}\n_Tags: parser_ · `knowledge/{name}` · **{doubt}**\n");
        assert!(text.contains(&expected), "{text}");
    }
    let pitfall = format!("- **[pitfall]** ({gone}) A pitfall (`knowledge/pitfall`): Mind the parser.\n");
    assert!(text.contains(&pitfall), "{text}");
    assert!(text.contains("`knowledge/kept`\n"), "{text}");
    assert_eq!(doubted, entries);

    let checked = project.run(&["check", "--json"]).json(0);
    let found: Vec<(&str, &str, u64)> = checked["problems"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|problem| problem["code"] == "unverified")
        .map(|problem| {
            assert_eq!(problem["severity"], "notice");
            (problem["path"].as_str().unwrap(), problem["message"].as_str().unwrap(), problem["line"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(
        found,
        [
            (".ralph/knowledge/changed.md", changed, 5),
            (".ralph/knowledge/gone.md", gone, 5),
            (".ralph/knowledge/pitfall.md", gone, 6),
        ]
    );
    let strict = project.run(&["check", "--strict"]);
    assert_eq!(strict.code, Some(0), "{strict}");
    assert!(strict.stdout.ends_with("no problems in 4 files, 3 notices\n"), "{strict}");

    // A person confirmed it.
    let confirmed = base.read(".ralph/knowledge/changed.md").replace("---\n\n", "updated_at: \"2026-03-03\"\n---\n\n");
    base.write(".ralph/knowledge/changed.md", confirmed);
    assert!(!context().0.contains(changed));
    // Without git nothing is doubted.
    fs::remove_dir_all(base.at(".git")).unwrap();
    assert!(!context().0.contains("unverified"));
}

/// A rule of the project for other things can hide an entry: it is named, at once and by `check`.
#[test]
fn entries_that_git_ignores_are_named() {
    for (rule, path) in [
        ("build/", "knowledge/build/facts.md"),
        ("[Dd]ebug*", "knowledge/debug-the-parser.md"),
        ("core", "journal/core/0001.md"),
        ("*.md", "knowledge/debug-the-parser.md"),
        ("*.md\n!README.md", "archive/knowledge/old.md"),
        ("/.ralph/knowledge/", "knowledge/debug-the-parser.md"),
        ("tmp*/", "knowledge/tmp/deep/er.md"),
    ] {
        let project = Project::new();
        project.0.write(".gitignore", format!("{rule}\n"));
        let is_written = ["debug-the-parser.md", "core/0001.md"].iter().any(|written| path.ends_with(written));
        if !is_written {
            project.0.write(&format!(".ralph/{path}"), "---\ntitle: \"T\"\ntags: [a]\n---\nturnip\n");
        }
        let added = project.run(&["add", "Debug the parser", "--tags", "p", "--body", "Use the flag."]);
        let recorded =
            project.0.with(["record", "--task", "x", "--run", "core"]).input("<task-done>x</task-done>").run();
        for (written, ran) in [("debug-the-parser", &added), ("core/0001", &recorded)] {
            let is_named = ran.stderr.contains("git ignores 1 entry");
            assert_eq!(is_named, path.contains(written) || rule.starts_with("*.md"), "{rule}: {ran}");
        }
        let checked = project.run(&["check"]);
        let named = format!("`.ralph/{path}`");
        let is_named = |ran: &Ran| {
            ran.stdout
                .lines()
                .any(|line| line.starts_with("warning[git-ignore]: git ignores ") && line.contains(&named))
        };
        assert!(is_named(&checked) && !checked.stdout.contains("not the entries"), "{rule}: {checked}");
        // What the hint says helps.
        let area = path.split('/').next().unwrap();
        let rules = project.0.read(".ralph/.gitignore");
        project.0.write(".ralph/.gitignore", format!("{rules}!/{area}/\n!/{area}/**\n"));
        let checked = project.run(&["check"]);
        assert!(!is_named(&checked), "{rule}: {checked}");
    }
    // So are those that other commands write.
    let project = Project::new();
    project.0.write(".gitignore", "*.md\n").write("notes/a.md", "# A\n\nOne.\n").write("notes/b.md", "# B\n\nTwo.\n");
    project.run(&["import", "notes"]).says(0, "git ignores 2 entries");
    project.run(&["edit", "a", "--title", "C"]).says(0, "git ignores 1 entry");
    // Not the temporary files, and not a memory that is meant to be private.
    let project = Project::new();
    project
        .0
        .write(".ralph/knowledge/.tmp-1-x", "x")
        .write(".gitignore", "*.bak\n")
        .write(".ralph/knowledge/a.bak", "x");
    project.run(&["check"]).says(0, "ignores `cache/` and `state/`, and not the entries");
    project.run(&["init", "--private"]).says(0, "");
    let added = project.run(&["add", "Debug the parser", "--tags", "p", "--body", "Use the flag."]);
    assert!(!added.stderr.contains("git ignores"), "{added}");
    project.run(&["check"]).says(0, "git ignores the entries, so they are neither shared");
    // Of very many, the first are named.
    let project = Project::new();
    for number in 0..30 {
        project.0.write(&format!(".ralph/knowledge/core/e-{number}.md"), "---\ntitle: E\ntags: [a]\n---\nx\n");
    }
    project.0.write(".gitignore", "core\n");
    let checked = project.run(&["check"]).stdout;
    let line = checked.lines().find(|line| line.contains("git ignores 30 entries")).unwrap_or_default();
    assert!(line.matches("/core/e-").count() == 10 && line.ends_with("`, …"), "{checked}");
}
