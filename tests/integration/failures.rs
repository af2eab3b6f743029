//! What the file system, another process or an odd file does to a command.

use std::fs::{self, File};
use std::io::Read as _;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::own_disk::NEEDED;
use crate::support::{NOW, PROGRAM, Ran, TestBase, without_scores};

const ADD: [&str; 6] = ["add", "T", "--tags", "a", "--body", "b"];
/// The commands that only read.
const READING: [&[&str]; 7] = [
    &["search", "nightly"],
    &["show", "bench"],
    &["list"],
    &["list", "--tags"],
    &["context", "--task", "bench"],
    &["check"],
    &["--quiet"],
];

fn sample() -> TestBase {
    let base = TestBase::new();
    base.entry("bench", "Cargo bench requires nightly", "cargo, nightly", "Use `cargo +nightly bench`.");
    base
}

/// Replaces the numbers before ` ms`: how long a run waited is not always the same.
fn without_times(ran: &Ran) -> String {
    let text = ran.to_string();
    let words = text.split_inclusive(' ').collect::<Vec<_>>();
    let is_time = |at: usize| {
        words.get(at + 1).is_some_and(|next| next.starts_with("ms")) && words[at].trim().parse::<u64>().is_ok()
    };
    words.iter().enumerate().map(|(at, word)| if is_time(at) { "[N] " } else { word }).collect()
}

/// Returns a full memory's answers to the reading commands, to compare others with.
fn answers(base: &TestBase) -> Vec<String> {
    READING.iter().take(7).map(|arguments| base.run(*arguments).to_string()).collect()
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let base = sample();
    for arguments in [
        READING[0],
        READING[1],
        READING[2],
        &["--quiet", "context", "--task", "bench"],
        &["--help"],
        &["completions", "zsh"],
        &["list", "--json"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = base.with(arguments).command();
        let output = command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), told.as_str()), (Some(0), ""), "{arguments:?}");
    }
    // The output of an error is closed: it stays an error.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = base.with(["show", "none"]).command().stdin(Stdio::null()).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_cache_that_cannot_be_written_only_costs_time() {
    let (whole, base) = (sample(), sample());
    base.write(".ralph/cache", "in the way");
    let (mut found, mut expected) = (answers(&base), answers(&whole));
    // What `check` says is its own.
    assert!(found.remove(5).contains("warning[cache]: `cache/` cannot be written, so every search reads all files"));
    assert!(expected.remove(5).contains("no problems in 1 file"));
    assert_eq!(found, expected);
    assert_eq!(base.run(ADD).answer(0), "created knowledge/t\n");
    assert!(base.run(["search", "T"]).answer(0).contains("knowledge/t"));
    assert_snapshot!(base.run(["index", "--rebuild"]), @"
    exit 6
    --- stderr
    error: cannot lock `[TEMP]/project/.ralph/cache/lock`
    caused by: Not a directory (os error 20)
    hint: a file is where a folder must be; move it away
    ");
    assert_snapshot!(base.run(["index"]), @"
    exit 6
    --- stderr
    error: cannot lock `[TEMP]/project/.ralph/cache/lock`
    caused by: Not a directory (os error 20)
    hint: a file is where a folder must be; move it away
    ");
    assert_eq!(base.read(".ralph/cache"), "in the way");
}

#[test]
fn a_folder_that_is_a_file_is_6() {
    let base = TestBase::new();
    fs::remove_dir_all(base.at(".ralph/knowledge")).unwrap();
    base.write(".ralph/knowledge", "in the way");
    assert_snapshot!(base.run(ADD), @"
    exit 6
    --- stderr
    error: cannot create `[TEMP]/project/.ralph/knowledge/t.md`
    caused by: Not a directory (os error 20)
    hint: a file is where a folder must be; move it away
    ");
    base.run(["search", "x"]).says(1, "nothing found");
    let base = TestBase::without_memory();
    base.write(".ralph", "in the way");
    assert_snapshot!(base.run(["init"]), @"
    exit 6
    --- stderr
    error: cannot create `[TEMP]/project/.ralph`
    caused by: Not a directory (os error 20)
    hint: a file is where a folder must be; move it away
    ");
    assert_snapshot!(base.run(["list"]), @"
    exit 3
    --- stderr
    error: no memory in `[TEMP]/project` or above it
    hint: `ralph-memory init` creates one here; `--root FOLDER` names another place
    ");
}

/// Runs a shell script in the base's folder `.ralph` with a file system of its own there, and returns its output.
/// `$0` is the program.
#[track_caller]
fn with_own_disk(base: &TestBase, script: &str) -> String {
    let mount = format!("mount -t tmpfs -o size=256k tmpfs .ralph || exit 125\n{script}");
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &mount, PROGRAM]).current_dir(base.root());
    command.env_clear().env("HOME", base.home()).env("PATH", std::env::var_os("PATH").unwrap());
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("cannot start `unshare`: {error}; {NEEDED}"));
    let text = String::from_utf8(output.stdout).unwrap();
    let rest = text.strip_prefix("mounted\n");
    rest.unwrap_or_else(|| panic!("{NEEDED}\n{text}{}", String::from_utf8_lossy(&output.stderr))).to_owned()
}

#[test]
fn a_full_disk_is_6_and_loses_nothing() {
    let base = TestBase::without_memory();
    fs::create_dir(base.at(".ralph")).unwrap();
    let script = format!(
        "echo mounted; p() {{ \"$0\" --now {NOW} \"$@\"; }}; p init > /dev/null\n\
         p add Kept --tags a --body first\n\
         head -c 1000000 /dev/zero > .ralph/state/filler 2> /dev/null\n\
         p add Kept --tags a --body other 2>&1; echo exit $?\n\
         p search first; echo exit $?; cat .ralph/knowledge/kept.md; find .ralph/knowledge .ralph/archive -type f"
    );
    let told = with_own_disk(&base, &script);
    assert_snapshot!(without_scores(&told.replace(base.root().to_str().unwrap(), "[ROOT]")), @r#"
    created knowledge/kept
    error: cannot replace `[ROOT]/.ralph/knowledge/kept.md`
    caused by: No space left on device (os error 28)
    hint: make room on the disk, and run the command again
    exit 6
    1. Kept  [SCORE]
       knowledge/kept  [a]
       first
    exit 0
    ---
    title: "Kept"
    tags: [a]
    source: human
    created_at: "2026-11-20T10:00:00Z"
    ---

    first
    .ralph/knowledge/kept.md
    "#);
}

#[test]
fn a_read_only_memory_is_read() {
    let base = TestBase::without_memory();
    fs::create_dir(base.at(".ralph")).unwrap();
    let script = format!(
        "echo mounted; p() {{ \"$0\" --now {NOW} \"$@\"; }}; p init > /dev/null\n\
         p add Kept --tags a --body kept > /dev/null; rm -r .ralph/cache; mount -o remount,ro .ralph\n\
         p search kept 2>&1; echo exit $?; p list 2>&1; echo exit $?; p check --quiet 2>&1; echo exit $?\n\
         p add Other --tags a --body other 2>&1; echo exit $?; p index --rebuild 2>&1; echo exit $?"
    );
    let told = with_own_disk(&base, &script);
    assert_snapshot!(without_scores(&told.replace(base.root().to_str().unwrap(), "[ROOT]")), @"
    1. Kept  [SCORE]
       knowledge/kept  [a]
       kept
    exit 0
    knowledge/kept  Kept  [a]
    exit 0
    warning[cache]: `cache/` cannot be written, so every search reads all files and indexes them in memory
    hint: make `.ralph/cache` a folder that you can write to

    warning[entries]: `knowledge/`, `journal/`, `archive/` cannot be written, so entries there can only be read
    hint: if that is not intended, check the owner of `.ralph/` and how it is mounted

    error[state]: `state/` cannot be written, so no command can change anything
    hint: make `.ralph/state` a folder that you can write to

    1 error, 2 warnings in 1 file
    exit 1
    error: cannot lock `[ROOT]/.ralph/state/lock`
    caused by: Read-only file system (os error 30)
    hint: the file system is mounted read-only; only reading commands work there
    exit 6
    error: cannot lock `[ROOT]/.ralph/cache/lock`
    caused by: Read-only file system (os error 30)
    hint: the file system is mounted read-only; only reading commands work there
    exit 6
    ");
}

/// Containers mount single files. A run that began would do the work of the box and could not tick it.
#[test]
fn a_checklist_that_cannot_be_replaced_is_refused_before_an_agent_works() {
    #[track_caller]
    fn check(mount: &str, reason: &str) {
        let base = TestBase::without_memory();
        fs::create_dir(base.at(".ralph")).unwrap();
        base.write("lists/tasks.md", "- [ ] One\n").write("elsewhere.md", "- [ ] Other\n");
        let script = format!(
            "echo mounted; \"$0\" init > /dev/null; {mount} || exit 125\n\
             \"$0\" run --task-file lists/tasks.md --agent 'touch ran' --max-iterations 1 2>&1; echo exit $?"
        );
        let told = with_own_disk(&base, &script);
        assert!(told.contains(reason) && told.ends_with("exit 2\n"), "{mount}: {told}");
        assert!(!base.at("ran").exists(), "{mount}: {told}");
        assert_eq!(base.read("elsewhere.md"), "- [ ] Other\n");
    }
    check("mount --bind elsewhere.md lists/tasks.md", "cannot be ticked: it is a mount of its own");
    check("mount --bind lists lists; mount -o remount,ro,bind lists", "cannot be ticked: it is read-only");
}

#[test]
fn a_lock_that_stays_taken_is_5() {
    let base = sample();
    base.run(ADD).says(0, "created knowledge/t");
    let lock = File::options().write(true).truncate(true).open(base.at(".ralph/state/lock")).unwrap();
    lock.lock().unwrap();
    fs::write(base.at(".ralph/state/lock"), "pid 4711 on somewhere (ralph-memory add)\n").unwrap();
    let run = |arguments: &[&str]| base.with(arguments).lock_timeout(1).run();
    assert_snapshot!(without_times(&run(&["add", "Other", "--tags", "a", "--body", "b"])), @"
    exit 5
    --- stderr
    error: `[TEMP]/project/.ralph/state/lock` was still locked after [N] ms by pid 4711 on somewhere (ralph-memory add)
    hint: another command is writing; wait for it, and run the command again
    ");
    run(&["edit", "t", "--supersedes", "bench"]).says(5, "state/lock");
    run(&["restore", "bench"]).says(5, "state/lock");
    // Reading does not wait.
    run(&["search", "nightly"]).says(0, "knowledge/bench");
    lock.unlock().unwrap();
    run(&["add", "Other", "--tags", "a", "--body", "b"]).says(0, "created knowledge/other");
}

#[test]
fn a_cache_that_stays_locked_stops_only_the_index() {
    let base = sample();
    base.run(["index"]).says(0, "the index has ");
    let lock = File::options().write(true).open(base.at(".ralph/cache/lock")).unwrap();
    lock.lock().unwrap();
    let run = |arguments: &[&str]| base.with(arguments).lock_timeout(1).run();
    run(&["index", "--rebuild"]).says(5, "cache/lock");
    assert_eq!(run(&ADD).answer(0), "created knowledge/t\n");
    assert!(run(&["search", "T"]).answer(0).contains("knowledge/t"));
}

#[test]
fn a_newer_format_is_refused() {
    let base = sample();
    base.write(".ralph/config.toml", "format = 2\n");
    for arguments in READING.iter().copied().chain([&ADD[..], &["index", "--rebuild"], &["restore", "x"]]) {
        base.run(arguments).refuses(4, "`.ralph/config.toml` has format 2, and this program knows formats up to 1");
    }
    assert_snapshot!(base.run(ADD), @"
    exit 4
    --- stderr
    error: `.ralph/config.toml` has format 2, and this program knows formats up to 1
    hint: install a newer ralph-memory
    ");
    assert_eq!(base.files(".ralph/knowledge"), [".ralph/knowledge/bench.md"]);
}

#[test]
fn files_that_cannot_be_edited_are_left_alone() {
    let base = sample();
    // Nothing can be appended to a list of mappings.
    let file = "---\ntitle: T\ntags: [a]\nsupersedes: {a: b}\n---\n\nx\n";
    base.write(".ralph/knowledge/t.md", file);
    let ran = base.run(["edit", "t", "--supersedes", "bench"]);
    assert_snapshot!(ran, @"
    exit 4
    --- stderr
    error: cannot edit `.ralph/knowledge/t.md`: `supersedes` is not a list
    hint: fix the file by hand; `ralph-memory check` says where
    ");
    assert_eq!(base.read(".ralph/knowledge/t.md"), file);
}

#[test]
fn late_input_is_awaited_and_read_once() {
    let base = TestBase::new();
    let mut command = base.with(["add", "T", "--tags", "a"]).command();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdin.take());
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!((child.wait().unwrap().code(), told.as_str()), (Some(2), ""));
}

#[test]
fn a_file_over_the_limit_of_the_shell_is_6_and_no_kill() {
    let base = sample();
    // The cache is over it as well, which only costs time.
    let script = "ulimit -f 8; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, PROGRAM, "--now", NOW, "add", "T", "--tags", "a", "--body", &"long ".repeat(4_000)]);
    command.current_dir(base.root()).env_clear().env("HOME", base.home());
    let output = command.env("PATH", std::env::var_os("PATH").unwrap()).stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(6), "{:?}: {told}", output.status);
    assert_eq!(
        told.replace(base.root().to_str().unwrap(), "[ROOT]"),
        "error: cannot create `[ROOT]/.ralph/knowledge/t.md`\ncaused by: File too large (os error 27)\n\
         hint: a file is over the size limit of this process; raise the limit (`ulimit -f`)\n"
    );
    assert_eq!(base.files(".ralph/knowledge"), [".ralph/knowledge/bench.md"]);
    // What is started has the limit's own signal again.
    let verify = "sh -c 'ulimit -f 0; head -c 9 /dev/zero > big; echo $?'";
    let run = base.with(["run", "--task", "x", "--max-iterations", "1", "--agent", "true", "--verify", verify]);
    run.env("PATH", std::env::var_os("PATH").unwrap()).run().says(1, "--max-iterations N");
    let journal: String = base.files(".ralph/journal").iter().map(|path| base.read(path)).collect();
    assert!(journal.contains("> 153"), "{journal}");
}
