//! What git has to do with a memory: commits of its files, and files that knowledge speaks of.

use std::fs;
use std::process::Command;

use serde_json::json;

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

const SOME_DAY: &str = "2026-01-01T00:00:00Z";

#[test]
fn each_iteration_is_committed_and_nothing_else() {
    let project = Project::new();
    let base = &project.0;
    base.write("src/a.rs", "a\n").write("../home/agent.sh", "cat > /dev/null\necho x >> src/a.rs\n");
    project.commit_all(SOME_DAY);
    base.write("staged.rs", "s\n");
    project.git(&["add", "staged.rs"], SOME_DAY);
    let agent = format!("sh {}", base.home().join("agent.sh").display());
    let run = |task: &str| project.run(&["run", "--task", task, "--agent", &agent, "--max-iterations", "2"]);
    run("Never by itself").says(1, "--max-iterations N");
    assert_eq!(project.git(&["rev-list", "--count", "HEAD"], SOME_DAY), "1");
    base.write("../home/.config/ralph-memory/config.toml", "[git]\ncommit = \"each-iteration\"\n");
    let ran = run("Greet, and \"more\"");
    assert_eq!(ran.code, Some(1), "{ran}");
    let log = project.git(&["log", "--format=%s|%b"], SOME_DAY);
    let lines: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 3, "{log}");
    for (line, number) in lines.iter().zip([2, 1]) {
        assert!(line.starts_with(&format!("Iteration {number} of run-")), "{log}");
        assert!(line.ends_with(": blocked|Greet, and \"more\""), "{log}");
    }
    let names = project.git(&["log", "-2", "--name-only", "--format="], SOME_DAY);
    assert!(names.lines().all(|name| name.starts_with(".ralph/") && !name.starts_with(".ralph/state")), "{names}");
    // Changed and staged files stay so; nothing of the memory is left to commit.
    assert_eq!(project.git(&["status", "--porcelain"], SOME_DAY), "M src/a.rs\nA  staged.rs");
    // Where git does not want to, the iteration is recorded all the same.
    base.write(".git/MERGE_HEAD", project.git(&["rev-parse", "HEAD"], SOME_DAY));
    let recorded = project.run(&["record", "--task", "x", "--outcome", "failed", "--json"]).json(0);
    assert_eq!(recorded["problems"][0]["code"], json!("not-committed"));
    let message = recorded["problems"][0]["message"].as_str().unwrap();
    assert_eq!(message, "the memory is not committed: `git commit` failed: a merge is not finished");
    assert!(base.at(recorded["attempt"]["path"].as_str().unwrap()).exists());
    assert_eq!(project.git(&["rev-list", "--count", "HEAD"], SOME_DAY), "3");
}

/// Makes a pipe at which the editor of a commit waits, and a script that is this editor. Each end of the pipe blocks until
/// the other is open, so nobody needs to sleep.
fn waiting_editor(base: &TestBase) -> String {
    let (open, close) = (base.home().join("open"), base.home().join("close"));
    for pipe in [&open, &close] {
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }
    let script = base.home().join("editor.sh");
    let text = format!(
        "#!/bin/sh\necho > '{}'\ncat '{}' > /dev/null\nprintf 'By hand\\n' > \"$1\"\n",
        open.display(),
        close.display()
    );
    fs::write(&script, text).unwrap();
    format!("sh '{}'", script.display())
}

#[test]
fn a_run_commits_nothing_while_a_person_writes_the_message_of_a_commit() {
    let project = Project::new();
    let base = &project.0;
    base.write("src/a.rs", "a\n").write("../home/agent.sh", "cat > /dev/null\necho x >> src/a.rs\n");
    project.commit_all(SOME_DAY);
    base.write("../home/.config/ralph-memory/config.toml", "[git]\ncommit = \"each-iteration\"\n");
    // Another work tree has a HEAD of its own.
    project.git(&["worktree", "add", "--quiet", "../linked"], SOME_DAY);
    base.write("../linked/staged.rs", "s\n").write("staged.rs", "s\n");
    let agent = format!("sh {}", base.home().join("agent.sh").display());
    let run = |n: &str| project.run(&["run", "--task", "Greet", "--agent", &agent, "--max-iterations", n]);
    for (folder, arguments) in
        [("../linked", &["commit"][..]), (".", &["commit"]), (".", &["-C", "src", "commit", "--amend"])]
    {
        let in_folder = ["-C", base.at(folder).to_str().unwrap(), "add", "staged.rs"].map(str::to_owned);
        project.git(&in_folder.each_ref().map(String::as_str), SOME_DAY);
        let mut command = Command::new("git");
        command.args(arguments).current_dir(base.at(folder)).env_clear().env("PATH", path()).env("HOME", base.home());
        let _ = fs::remove_file(base.home().join("open"));
        let _ = fs::remove_file(base.home().join("close"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", waiting_editor(base));
        let commit = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        fs::read(base.home().join("open")).unwrap();

        let head = project.git(&["rev-parse", "HEAD"], SOME_DAY);
        let ran = run("2");
        assert_eq!(ran.code, Some(1), "{ran}");
        let is_own = folder == ".";
        let said = "the memory is not committed: `git commit` failed: another `git commit` is not finished";
        // Each distinct warning is told once while it works; the second time nothing is new.
        assert_eq!(ran.stderr.matches(said).count(), usize::from(is_own), "{ran}");
        assert_eq!(project.git(&["rev-parse", "HEAD"], SOME_DAY) == head, is_own, "{ran}");

        fs::write(base.home().join("close"), "").unwrap();
        let output = commit.wait_with_output().unwrap();
        assert!(output.status.success(), "the person's commit fails: {output:?}");
    }
    assert_eq!(project.git(&["log", "-1", "--format=%s"], SOME_DAY), "By hand");
    // Afterwards everything is committed, that of before as well.
    let ran = run("1");
    assert!(!ran.stderr.contains("not committed"), "{ran}");
    assert_eq!(project.git(&["status", "--porcelain", "--", ".ralph"], SOME_DAY), "");
    assert!(project.git(&["log", "-1", "--format=%s"], SOME_DAY).starts_with("Iteration "));
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
    let named = |names: [&str; 4]| names.map(|name| format!("knowledge/{name}"));
    assert_eq!(entries, named(["pitfall", "changed", "gone", "kept"]));
    project.run(&["check", "--strict"]).says(0, "no problems in ");

    base.write("src/kept.rs", lines(0, 44)).write("src/changed.rs", lines(20, 60));
    let changed = project.commit_all("2026-03-01T00:00:00Z");
    fs::remove_file(base.at("src/gone.rs")).unwrap();
    let gone = project.commit_all("2026-03-02T00:00:00Z");
    let (text, entries) = context();
    for (name, commit) in [("changed", &changed), ("gone", &gone)] {
        let expected = format!(
            "### The parser {name}\n_Tags: parser_ · `knowledge/{name}` · **unverified since `{}`**\n",
            &commit[..10]
        );
        assert!(text.contains(&expected), "{text}");
    }
    assert!(
        text.contains(&format!(
            "- **[pitfall]** (unverified since `{}`) A pitfall (`knowledge/pitfall`): Mind the parser.\n",
            &gone[..10]
        )),
        "{text}"
    );
    assert!(text.contains("`knowledge/kept`\n"), "{text}");
    // Current entries come first.
    assert_eq!(entries, named(["pitfall", "kept", "changed", "gone"]));

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
    let message = |commit: &str, name: &str, what: &str| {
        format!("unverified since {}: `src/{name}.rs`, which it names, {what} since it was written", &commit[..10])
    };
    assert_eq!(
        found,
        [
            (".ralph/knowledge/changed.md", message(&changed, "changed", "has changed much").as_str(), 5),
            (".ralph/knowledge/gone.md", message(&gone, "gone", "is gone").as_str(), 5),
            (".ralph/knowledge/pitfall.md", message(&gone, "gone", "is gone").as_str(), 6),
        ]
    );
    let strict = project.run(&["check", "--strict"]);
    assert_eq!(strict.code, Some(0), "{strict}");
    assert!(strict.stdout.ends_with("no problems in 4 files, 4 notices\n"), "{strict}");

    // A person confirmed it.
    let confirmed = base.read(".ralph/knowledge/changed.md").replace("---\n\n", "updated_at: \"2026-03-03\"\n---\n\n");
    base.write(".ralph/knowledge/changed.md", confirmed);
    assert!(!context().0.contains(&changed[..10]));
    // Without git nothing is doubted.
    fs::remove_dir_all(base.at(".git")).unwrap();
    assert!(!context().0.contains("unverified"));
}
