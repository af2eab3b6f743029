//! What is written outside of `.ralph/`, and what is not: nothing goes through a link, a pipe or a folder. Standard output
//! that takes nothing, and a system that has too little of something, are errors.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::{Ran, TestBase, git};

/// What is in the place of a file that a command writes.
const OBSTACLES: [&str; 6] =
    ["a link", "a dangling link", "a link to a folder", "a pipe", "a folder", "a read-only file"];
/// The text of the file outside.
const OUTSIDE: &str = "{}\n";

fn put(base: &TestBase, path: &str, obstacle: &str) {
    let (path, outside) = (base.at(path), base.home().join("outside"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&outside, OUTSIDE).unwrap();
    match obstacle {
        "a link" => symlink(outside, path).unwrap(),
        "a dangling link" => symlink(base.home().join("absent"), path).unwrap(),
        "a link to a folder" => symlink(base.home(), path).unwrap(),
        "a pipe" => mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap(),
        "a folder" => fs::create_dir(path).unwrap(),
        _ => {
            fs::write(&path, OUTSIDE).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
        }
    }
}

/// Returns how many files are in the home, beside the folder that has the user's key.
fn n_in_home(base: &TestBase) -> usize {
    fs::read_dir(base.home()).unwrap().filter(|found| found.as_ref().unwrap().file_name() != ".local").count()
}

/// Runs a command with each obstacle in the place of the file that it writes: it names the file, and the obstacle stays.
#[track_caller]
fn check(path: &str, code: i32, run: impl Fn(&TestBase) -> Ran) {
    for obstacle in OBSTACLES {
        let base = TestBase::new();
        put(&base, path, obstacle);
        let before = fs::symlink_metadata(base.at(path)).unwrap();
        let in_home = n_in_home(&base);
        let ran = run(&base);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        let name = path.rsplit('/').next().unwrap();
        assert!(ran.code == Some(code) && told.contains(name), "{obstacle}: {ran}");
        let reasons = ["link", "not a regular file", "not a file", "read-only", "leads outside"];
        assert!(reasons.iter().any(|reason| told.contains(reason)), "{obstacle}: {ran}");
        let after = fs::symlink_metadata(base.at(path)).unwrap();
        // The mode has the type of the file in it.
        assert_eq!(before.mode(), after.mode(), "{obstacle}");
        assert_eq!(fs::read_to_string(base.home().join("outside")).unwrap(), OUTSIDE, "{obstacle}");
        assert_eq!(n_in_home(&base), in_home, "{obstacle}");
    }
}

#[test]
fn man_pages_are_written_through_nothing() {
    check("man/ralph-memory.1", 2, |base| base.run(["man", "man"]));
    check("man/ralph-memory-add.1", 2, |base| base.run(["man", "man"]));
}

#[test]
fn a_checklist_is_ticked_through_nothing() {
    let arguments =
        ["run", "--task-file", "tasks.md", "--agent", "echo '<task-done>T</task-done>'", "--max-iterations", "1"];
    check("tasks.md", 2, |base| base.run(arguments));
}

#[test]
fn a_link_of_the_project_leads_no_output_of_agents_out_of_it() {
    let base = TestBase::new();
    let elsewhere = base.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, base.at("logs")).unwrap();
    for folder in ["logs", "logs/new"] {
        let arguments = ["run", "--task", "T", "--agent", "echo x", "--max-iterations", "1", "--log", folder];
        base.run(arguments).refuses(2, "a link leads the folder for agents' outputs out of the project");
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    // A person may name the folder itself.
    let folder = elsewhere.to_str().unwrap();
    let ran = base.run(["run", "--task", "T", "--agent", "echo x", "--max-iterations", "1", "--log", folder]);
    assert!(ran.code == Some(1) || ran.code == Some(0), "{ran}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}

#[test]
fn a_client_is_connected_through_nothing() {
    check(".cursor/mcp.json", 4, |base| base.run(["setup", "cursor"]));
}

#[test]
fn git_follows_no_links_in_the_memory() {
    let base = TestBase::new();
    let path = std::env::var_os("PATH").unwrap();
    git(&base, &["init", "--quiet"]);
    for link in ["state/git", "state/git/objects", "state/git/objects/pack"] {
        let (link, outside) = (base.at(".ralph").join(link), base.home().join(link.replace('/', "-")));
        let _ = fs::remove_dir_all(base.at(".ralph/state"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, &link).unwrap();
        let run = |arguments: &[&str]| base.with(arguments).env("PATH", &path).input("<journal>x</journal>").run();
        assert_eq!(run(&["context", "--task", "t", "--run", "run-0000000a"]).code, Some(0));
        let recorded = run(&["record", "--json"]).json(0);
        assert!(recorded["attempt"]["tree"].is_string(), "{recorded}");
        assert_eq!(fs::read_dir(outside).unwrap().count(), 0, "{}", link.display());
    }
}

/// What the program did that a shell ran.
#[derive(Debug)]
struct ShellRan {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs the program through a shell, with what the shell does to it first.
fn shell(base: &TestBase, before: &str, arguments: &str, after: &str) -> ShellRan {
    let line = format!("{before} exec \"$0\" {arguments} {after}");
    let program = env!("CARGO_BIN_EXE_ralph-memory");
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).arg(program).current_dir(base.root()).env_clear().stdin(Stdio::null());
    command.env("HOME", base.home()).env("PATH", "/usr/bin:/bin");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    ShellRan { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let base = TestBase::new();
    base.entry("wal", "WAL mode", "db", "Readers do not block writers.");
    let commands = ["search wal", "search wal --json", "list", "show wal", "check", "--quiet", "completions bash"];
    for command in commands.into_iter().chain(["--help", "help search", "--version", "check --json", "context"]) {
        if !Path::new("/dev/full").exists() {
            return;
        }
        let ran = shell(&base, "", command, "> /dev/full");
        assert_eq!(ran.code, Some(6), "{command}: {ran:?}");
        assert!(ran.stderr.contains("error: cannot write the answer"), "{command}: {ran:?}");
        // A reader that has read enough is no error.
        let ran = shell(&base, "", command, "| true");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command}");
    }
}

/// Each number of files that may be open gives the whole answer or an error, and never a part of the answer.
#[test]
fn a_lack_of_open_files_is_never_taken_for_a_lack_of_entries() {
    let base = TestBase::new();
    base.entry("wal", "WAL mode", "db", "Readers do not block writers.");
    base.entry("vacuum", "Vacuum", "db", "It rewrites the file.");
    base.write(".ralph/journal/run-1/0001.md", "---\nrun_id: run-1\niteration: 1\noutcome: done\nstarted_at: 2026-02-01T10:00:00Z\ntask_id: t-1\ntask_title: T\n---\n");
    let commands = [
        "search wal",
        "list",
        "list --json",
        "log",
        "stats --json",
        "--quiet",
        "check",
        "show wal",
        "show task:t-1",
        "context",
        "tidy --dry-run",
    ];
    for command in commands {
        let whole = shell(&base, "", command, "");
        assert_eq!(whole.code, Some(0), "{command}: {whole:?}");
        let mut n_errors = 0;
        for limit in 4..14 {
            let ran = shell(&base, &format!("ulimit -n {limit};"), command, "");
            match ran.code {
                Some(6) => {
                    n_errors += 1;
                    assert!(ran.stderr.contains("Too many open files"), "{limit} {command}: {ran:?}");
                    assert!(ran.stdout.is_empty() || ran.stdout.contains("\"error\""), "{limit} {command}: {ran:?}");
                }
                // The loader could not open a library.
                Some(127) => {}
                // It also says what else it could not open.
                _ if command == "check" => assert!(ran.stdout.contains(" in 3 files"), "{limit}: {ran:?}"),
                _ => assert_eq!((ran.code, lines(&ran)), (whole.code, lines(&whole)), "{limit} {command}: {ran:?}"),
            }
        }
        assert!(n_errors > 0, "{command}: no limit was too low");
    }
}

/// Returns how many lines an answer has; scores and times differ.
fn lines(ran: &ShellRan) -> usize {
    ran.stdout.lines().count()
}
