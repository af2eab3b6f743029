//! How git is called: a repository and the user's settings cannot change the calls, and nothing is left behind.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use ralph_memory::memory::{OpenAttempt, Report, Run};
use ralph_memory::{Memory, Task};
use serde_json::Value;

use crate::support::{Ran, TestBase, write_program};

fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap()
}

/// Runs a query of git in a folder, without settings.
#[track_caller]
fn git(base: &TestBase, folder: &Path, arguments: &[&str]) -> String {
    git_at(base, folder, arguments, "2026-03-01T00:00:00Z")
}

#[track_caller]
fn git_at(base: &TestBase, folder: &Path, arguments: &[&str], at: &str) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]);
    command.args(arguments).current_dir(folder).env_clear().env("PATH", path()).env("HOME", base.home());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_COMMITTER_DATE", at).env("GIT_AUTHOR_DATE", at);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Begins an attempt in this process.
fn begin(base: &TestBase) -> OpenAttempt {
    base.memory().begin(&Task::new("more"), &Run::named("run-0000000b")).unwrap()
}

fn run(base: &TestBase, arguments: &[&str], input: &str) -> Ran {
    base.with(arguments).env("PATH", path()).env("GIT_CONFIG_NOSYSTEM", "1").input(input).run()
}

/// Runs every command that asks git something, and returns what each of them did.
fn run_all(base: &TestBase) -> Vec<Ran> {
    let all: [(&[&str], &str); 6] = [
        (&["context", "--task", "parser"], ""),
        (&["check"], ""),
        (&["check", "--diff"], ""),
        (&["context", "--task", "parser", "--task-id", "t-1", "--run", "run-0000000a"], ""),
        (&["record", "--task-id", "t-1"], "<journal>x</journal>"),
        (&["run", "--task", "other", "--agent", "cat", "--max-iterations", "1"], ""),
    ];
    all.into_iter().map(|(arguments, input)| run(base, arguments, input)).collect()
}

/// Writes a program that does nothing but to leave a trace of having been run.
fn trap(base: &TestBase) -> (PathBuf, PathBuf) {
    let (program, trace) = (base.home().join("trap.sh"), base.home().join("trace"));
    write_program(&program, format!("#!/bin/sh\ntouch '{}'\nexit 1\n", trace.display()));
    (program, trace)
}

/// Makes a folder look like a bare repository with this configuration, as a clone may bring one.
fn bare_repository(base: &TestBase, folder: &str, config: &str) {
    base.write(&format!("{folder}/HEAD"), "ref: refs/heads/main\n");
    base.write(&format!("{folder}/objects/x"), "").write(&format!("{folder}/refs/x"), "");
    base.write(&format!("{folder}/config"), format!("[core]\nrepositoryformatversion = 1\n{config}"));
}

/// Writes an entry that names a file, so that git is asked what became of it.
fn entry_of_a_file(base: &TestBase) {
    let head = "title: The parser\ntags: [parser]\ncreated_at: \"2026-02-01\"\nfiles: [src/a.rs]";
    base.write(".ralph/knowledge/parser.md", format!("---\n{head}\n---\n\nIt parses.\n")).write("src/a.rs", "a\n");
}

#[test]
fn a_repository_in_the_memory_runs_nothing() {
    for fetches in [false, true] {
        let base = TestBase::new();
        let (program, trace) = trap(&base);
        entry_of_a_file(&base);
        let config = if fetches {
            format!(
                "worktree = .\nbare = false\n[extensions]\npartialClone = origin\n[remote \"origin\"]\nurl = {}\n\
                 uploadpack = {}\npromisor = true\n",
                base.home().display(),
                program.display()
            )
        } else {
            format!(
                "worktree = .\nbare = false\nfsmonitor = {0}\n[filter \"x\"]\nclean = {0}\n[diff \"x\"]\ncommand = {0}\ntextconv = {0}\n",
                program.display()
            )
        };
        bare_repository(&base, ".ralph", &config);
        base.write(".ralph/.gitattributes", "* filter=x diff=x\n");
        if fetches {
            // A commit that the clone does not have.
            base.write(".ralph/refs/heads/main", "1234567890123456789012345678901234567890\n");
        }
        git(&base, &base.root(), &["init", "--quiet"]);
        git(&base, &base.root(), &["add", "--all"]);
        git(&base, &base.root(), &["commit", "--quiet", "--message", "m"]);
        for ran in run_all(&base) {
            assert!(!trace.exists(), "fetches: {fetches}, {ran}");
        }
        // It is the project's own repository that is asked.
        assert!(begin(&base).tree.is_some() && !trace.exists(), "fetches: {fetches}");
    }
}

#[test]
fn a_bare_repository_around_the_project_is_refused() {
    let base = TestBase::new();
    let (program, trace) = trap(&base);
    entry_of_a_file(&base);
    let config =
        format!("worktree = .\nbare = false\nfsmonitor = {0}\n[filter \"x\"]\nclean = {0}\n", program.display());
    bare_repository(&base, ".", &config);
    base.write(".gitattributes", "* filter=x\n");
    for ran in run_all(&base) {
        assert!(!trace.exists(), "{ran}");
    }
    let begun = begin(&base);
    assert_eq!((begun.tree, begun.problems[0].code.as_str()), (None, "no-tree"));
    let told = run(&base, &["check"], "").to_string();
    // Nobody is sent there to run git.
    assert!(told.contains("bare repository") && !told.contains("run `git"), "{told}");
    let checked = run(&base, &["check", "--json"], "").json(0);
    assert_eq!(checked["problems"][0]["code"], "repository-in-project", "{checked}");
}

/// Returns every file below a folder with what its content hashes to.
fn hashes_below(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let hash = |path: &Path| {
        let mut hasher = DefaultHasher::new();
        fs::read(path).unwrap().hash(&mut hasher);
        hasher.finish()
    };
    // The copies of attempts are the program's own.
    let is_gits = |path: &PathBuf| path.components().all(|part| part.as_os_str() != "ralph-memory");
    crate::program::files(folder).into_iter().filter(is_gits).map(|path| (path.clone(), hash(&path))).collect()
}

/// Makes two attempts at a task, in each of which a file changes, and returns their trees and files with what `check` says.
fn two_attempts(base: &TestBase) -> (Vec<Value>, Value) {
    let before = hashes_below(&base.at(".git"));
    let mut trees = Vec::new();
    for number in 0..2 {
        run(base, &["context", "--task", "parser", "--task-id", "t-1"], "").says(0, "**ID:** t-1");
        base.write("src/new.rs", number.to_string());
        let recorded = run(base, &["record", "--task-id", "t-1", "--json"], "<journal>x</journal>").json(0);
        let attempt = &recorded["attempt"];
        assert!(attempt["tree"].is_string() && attempt["files"].to_string().contains("src/new.rs"), "{recorded}");
        trees.extend([attempt["tree"].clone(), attempt["files"].clone()]);
    }
    let checked = run(base, &["check", "--json"], "").json(0);
    assert_eq!(hashes_below(&base.at(".git")), before);
    (trees, checked["problems"].clone())
}

/// Makes a repository in which the first commit adds a file, and the second makes another of it after the entry was written.
fn repository() -> TestBase {
    let base = TestBase::new();
    entry_of_a_file(&base);
    let lines = |from: usize| (from..from + 40).map(|line| line.to_string() + "\n").collect::<String>();
    git(&base, &base.root(), &["init", "--quiet"]);
    base.write(".gitignore", "/.ralph/\n");
    for (from, at) in [(0, "2026-01-01T00:00:00Z"), (40, "2026-03-01T00:00:00Z")] {
        base.write("src/a.rs", lines(from));
        git(&base, &base.root(), &["add", "--all"]);
        git_at(&base, &base.root(), &["commit", "--quiet", "--message", "m"], at);
    }
    base
}

#[test]
fn no_user_setting_changes_the_answers_of_git() {
    let expected = two_attempts(&repository());
    assert_eq!(expected.1[0]["code"], "unverified", "{expected:?}");
    for setting in ["core.splitIndex=true", "color.ui=always", "log.showRoot=false", "submodule.recurse=true"] {
        let base = repository();
        let (name, value) = setting.split_once('=').unwrap();
        git(&base, &base.root(), &["config", name, value]);
        git(&base, &base.root(), &["update-index", "--refresh"]);
        assert_eq!(two_attempts(&base).0, expected.0, "{setting}");
        let messages = |problems: &Value| problems[0]["message"].clone();
        let found = run(&base, &["check", "--json"], "").json(0);
        assert_eq!(messages(&found["problems"]), messages(&expected.1), "{setting}");
    }
}

fn add(base: &TestBase, title: &str) -> Value {
    run(base, &["add", title, "--tags", "x", "--body", title, "--json"], "").json(0)
}

#[test]
fn a_write_waits_while_git_changes_the_files() {
    let (base, other) = (repository(), repository());
    // On a machine that stalls for seconds the write gives up first, and nothing is shown.
    let has_waited = (0..5).any(|number| {
        let (title, stem) = (format!("Note {number}"), format!("note-{number}"));
        base.write(".git/index.lock", "");
        let mut child = base.with(["add", &title, "--tags", "x", "--body", "b", "--json"]).command();
        let mut child = child.env("PATH", path()).stdout(Stdio::piped()).spawn().unwrap();
        // It says who it is once it has the memory's own lock.
        while fs::read(base.at(".ralph/state/lock")).map_or(true, |text| text.is_empty())
            && child.try_wait().unwrap().is_none()
        {
            std::thread::yield_now();
        }
        // Whoever does not wait for git is done before others have begun and ended.
        for turn in 0..2 {
            add(&other, &format!("{title} {turn}"));
        }
        let is_written = base.at(&format!(".ralph/knowledge/{stem}.md")).exists();
        fs::remove_file(base.at(".git/index.lock")).unwrap();
        let answer: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
        assert!(base.at(&format!(".ralph/knowledge/{stem}.md")).exists(), "{answer}");
        !is_written && answer["problems"] == serde_json::json!([])
    });
    assert!(has_waited);
}

#[test]
fn a_stale_git_lock_is_reported_and_stops_no_write() {
    let base = repository();
    // One that was created just now, and one of yesterday, which is ignored.
    for (number, age) in [0, 24 * 60 * 60].into_iter().enumerate() {
        base.write(".git/index.lock", "");
        let made = SystemTime::now() - Duration::from_secs(age);
        fs::File::options().write(true).open(base.at(".git/index.lock")).unwrap().set_modified(made).unwrap();
        let added = add(&base, &format!("Note {number}"));
        assert_eq!(added["problems"][0]["code"], "git-busy", "{added}");
        assert!(added["problems"][0]["message"].as_str().unwrap().contains("/.git/index.lock`"), "{added}");
        assert!(base.at(&format!(".ralph/knowledge/note-{number}.md")).exists());
    }
    // Everything that writes says so, and nothing that only reads.
    let of =
        |ran: &Ran| ran.json(0)["problems"].as_array().unwrap().iter().any(|problem| problem["code"] == "git-busy");
    assert!(of(&run(&base, &["edit", "knowledge/note-1", "--supersedes", "knowledge/note-0", "--json"], "")));
    assert!(!of(&run(&base, &["search", "note", "--json"], "")));
    assert!(!of(&run(&base, &["list", "--json"], "")));
    run(&base, &["context", "--task", "t", "--task-id", "t-1"], "").says(0, "**ID:** t-1");
    assert!(of(&run(&base, &["record", "--task-id", "t-1", "--json"], "<journal>x</journal>")));
    // Without the lock nothing waits.
    fs::remove_file(base.at(".git/index.lock")).unwrap();
    assert_eq!(add(&base, "Other")["problems"], serde_json::json!([]));
}

#[test]
fn an_attempt_without_a_tree_is_still_recorded() {
    let base = repository();
    let index = fs::read(base.at(".git/index")).unwrap();
    let recorded = |begun: &OpenAttempt| {
        let recorded = base.memory().finish(begun, &Report::default()).unwrap();
        assert!(base.at(&recorded.path).exists());
        recorded.problems
    };
    // Before it, and while it was at work.
    base.write(".git/index", "broken");
    let begun = begin(&base);
    assert_eq!((&begun.tree, begun.problems[0].code.as_str()), (&None, "no-tree"));
    assert_eq!(recorded(&begun), []);
    base.write(".git/index", &index);
    let begun = begin(&base);
    assert_eq!(begun.problems, []);
    run(&base, &["context", "--task", "t"], "").says(0, "What to Report");
    base.write(".git/index", "broken");
    assert_eq!(recorded(&begun)[0].code, "no-tree");
    // What a context saw of the files was noted.
    let told = run(&base, &["record", "--task", "t", "--json"], "<journal>x</journal>").json(0);
    assert_eq!(told["problems"][0]["code"], "no-tree", "{told}");
    assert!(base.at(told["attempt"]["path"].as_str().unwrap()).exists());
    // Without git there is nothing to report.
    fs::remove_dir_all(base.at(".git")).unwrap();
    assert_eq!(begin(&base).problems, []);
}

#[test]
fn nothing_is_fetched_in_a_partial_clone() {
    let remote = repository();
    git(&remote, &remote.root(), &["config", "uploadpack.allowFilter", "true"]);
    let full = remote.root().display().to_string();
    for filter in ["blob:none", "tree:0"] {
        let base = TestBase::new();
        let (program, trace) = trap(&base);
        fs::remove_dir_all(base.root()).unwrap();
        let arguments =
            ["clone", "--quiet", "--no-checkout", &format!("--filter={filter}"), &format!("file://{full}"), "project"];
        git(&base, base.root().parent().unwrap(), &arguments);
        git(&base, &base.root(), &["reset", "--quiet"]);
        git(&base, &base.root(), &["config", "remote.origin.uploadpack", program.to_str().unwrap()]);
        Memory::init(&base.root()).unwrap();
        entry_of_a_file(&base);
        let before = hashes_below(&base.at(".git"));
        for ran in run_all(&base) {
            // Files that are not there cannot be compared.
            let is_refused = ran.stderr.contains("`git diff-index` failed: warning: lazy fetching disabled");
            assert!(ran.code.is_some_and(|code| code < 2) || is_refused, "{ran}");
            assert!(!trace.exists(), "{filter}: {ran}");
        }
        assert_eq!(hashes_below(&base.at(".git")), before, "{filter}");
    }
}

/// A commit in the past has a tree that contains itself ten times, nine levels deep; the work tree does not.
#[test]
fn an_endless_git_history_hits_the_deadline() {
    let base = repository();
    base.write(
        ".ralph/knowledge/e.md",
        "---\ntitle: Parser facts\ntags: [parser]\nsource: human\ncreated_at: \"2020-01-01T00:00:00Z\"\nfiles: [d]\n---\n\nThey hold.\n",
    );
    let root = base.root();
    git(&base, &root, &["config", "user.name", "t"]);
    git(&base, &root, &["config", "user.email", "t@example.org"]);
    let fed = |arguments: &[&str], input: &str| {
        base.write("../home/input", input);
        let mut command = Command::new("git");
        command.args(arguments).current_dir(&root).env_clear().env("PATH", path()).env("HOME", base.home());
        let output = command.stdin(fs::File::open(base.home().join("input")).unwrap()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let blob = fed(&["hash-object", "-w", "--stdin"], "x");
    let mut tree = fed(&["mktree"], &format!("100644 blob {blob}\tf\n"));
    for _ in 0..9 {
        tree = fed(
            &["mktree"],
            &(0..10).flat_map(|at| ["040000 tree ".to_owned(), format!("{tree}\td{at}\n")]).collect::<String>(),
        );
    }
    let listed = git(&base, &root, &["ls-tree", "HEAD"]);
    let whole = fed(&["mktree"], &format!("{listed}\n040000 tree {tree}\td\n"));
    let there = git(&base, &root, &["commit-tree", &whole, "-p", "HEAD", "-m", "b"]);
    let back = git(&base, &root, &["commit-tree", "HEAD^{tree}", "-p", &there, "-m", "back"]);
    git(&base, &root, &["update-ref", "HEAD", &back]);
    let found = run(&base, &["context", "--task", "parser"], "");
    assert!(found.code == Some(0) && found.stdout.contains("They hold."), "{found}");
    assert_eq!(run(&base, &["check", "--json"], "").json(0)["problems"], serde_json::json!([]));
}

/// Git waits for a writer of the pipe, which never comes.
#[test]
fn a_pipe_that_git_reads_hits_the_deadline() {
    let base = repository();
    let pipe = base.at(".gitignore");
    let _ = fs::remove_file(&pipe);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    let problem = &begin(&base).problems[0];
    assert!(problem.code == "no-tree" && problem.message.contains("it took over 10 s"), "{problem:?}");
}
