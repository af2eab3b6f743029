//! An attempt costs money and time: the agent's output is kept, whatever fails after its end.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use ralph_memory::entry::{Outcome, Sections};
use ralph_memory::memory::{Report, Run, StateFolders};
use ralph_memory::{Error, Memory, Task};

use crate::support::TestBase;

/// The task of these tests.
const TASK: &str = "t-greeting";
/// What an agent says in the end; `TITLE` is that of a fact that is known already.
const SAID: &str = "<journal>\nThe greeting is printed.\n</journal>\n\
                    <knowledge tags=\"folded, fresh\" title=\"Greetings are short\">\nAt most five letters.\n</knowledge>\n\
                    <learning category=\"pitfall\" tags=\"shell\">\nUse printf instead of echo.\n</learning>\n\
                    <task-done>t-greeting</task-done>\n";

/// Begins an iteration of the run `run-1`.
fn begin(base: &TestBase) {
    let ran = base.run(["context", "--task", "Write the greeting", "--task-id", TASK, "--run", "run-1"]);
    assert_eq!(ran.code, Some(0), "{ran}");
}

/// Checks that the attempt is in the journal with all that its agent said, though the entry at `path`, which the
/// agent has something to add to, stays as it is.
#[track_caller]
fn check_refused(base: &TestBase, path: &str, reason: &str) {
    begin(base);
    let before = fs::read(base.at(path)).unwrap();
    let ran = base.with(["record"]).input(SAID).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(
        ran.stdout.starts_with("recorded journal/run-1/0001 (done): Write the greeting\ncreated knowledge/"),
        "{ran}"
    );
    assert!(ran.stderr.contains("line 4: <knowledge>") && ran.stderr.contains(reason), "{ran}");
    assert_eq!(fs::read(base.at(path)).unwrap(), before);
    let journal = base.read(".ralph/journal/run-1/0001.md");
    assert!(!journal.contains(base.root().to_str().unwrap()), "{journal}");
    for part in ["The greeting is printed.", "Greetings are short", "folded, fresh", "At most five letters.", reason] {
        assert!(journal.contains(part), "{part} is not in\n{journal}");
    }
    // The next context shows it, and the search finds it.
    let next = base.run(["context", "--task", "Write the greeting", "--task-id", TASK, "--run", "run-1"]).stdout;
    assert!(next.contains("last report:** line 4: &lt;knowledge>") && next.contains("At most five letters."), "{next}");
    assert!(base.run(["search", "letters", "--kind", "journal"]).answer(0).contains("journal/run-1/0001"));
}

fn greeting(base: &TestBase, head: &str) {
    base.write(".ralph/knowledge/greetings-are-short.md", format!("---\n{head}---\n\nFew letters.\n"));
}

#[test]
fn an_entry_with_folded_tags_gets_another_tag() {
    let base = TestBase::new();
    greeting(&base, "title: Greetings are short\ntags: >-\n  folded,\n  greeting\nsource: agent\n");
    begin(&base);
    let ran = base.with(["record"]).input(SAID).run();
    let said = "1 line is gone; `ralph-memory undo` brings back what was there:\n- Few letters.\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), said), "{ran}");
    assert!(ran.stdout.contains("updated knowledge/greetings-are-short\n"), "{ran}");
    let entry = base.read(".ralph/knowledge/greetings-are-short.md");
    assert!(entry.contains("\ntags: [folded, greeting, fresh]\nsource: agent\n"), "{entry}");
}

#[test]
fn a_fact_whose_entry_cannot_be_edited_is_refused_alone() {
    let base = TestBase::new();
    greeting(&base, "{title: Greetings are short, tags: [greeting], source: agent}\n");
    check_refused(&base, ".ralph/knowledge/greetings-are-short.md", "cannot edit");
}

#[test]
fn a_fact_whose_entry_would_grow_too_large_is_refused_alone() {
    let base = TestBase::new();
    let note = "x".repeat(16 * 1024 - 100);
    greeting(&base, &format!("title: Greetings are short\ntags: [greeting]\nsource: agent\nnote: {note}\n"));
    check_refused(&base, ".ralph/knowledge/greetings-are-short.md", "over the size limit of an entry");
}

#[test]
fn an_event_that_cannot_be_written_is_refused_alone() {
    let base = TestBase::new();
    fs::remove_dir_all(base.at(".ralph/knowledge/events")).ok();
    std::os::unix::fs::symlink(base.home(), base.at(".ralph/knowledge/events")).unwrap();
    begin(&base);
    let said = format!(
        "{SAID}\n## MEMORY_SUGGESTIONS\n```json\n[{{\"event_type\": \"decision\", \"summary\": \"We print.\", \"scope\": \"project\"}}]\n```\n"
    );
    let ran = base.with(["record"]).env("RALPH_MEMORY_EVENTS__FROM_OUTPUT", "true").input(said).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stderr.contains("MEMORY_SUGGESTIONS entry 1"), "{ran}");
    let journal = base.read(".ralph/journal/run-1/0001.md");
    assert!(journal.contains("outcome: done") && journal.contains("We print."), "{journal}");
}

/// Returns the files that are kept outside of the project, below this folder.
fn kept_in(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten();
    found.map(|found| found.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "json")).collect()
}

/// Returns the one that is kept in the user's state folder.
#[track_caller]
fn kept(base: &TestBase) -> PathBuf {
    let mut kept = kept_in(&base.home().join(".local/state/ralph-memory"));
    assert_eq!(kept.len(), 1, "{kept:?}");
    kept.pop().unwrap()
}

/// Returns the content of the memory, by path.
fn entries(base: &TestBase) -> Vec<(String, String)> {
    let folders = ["knowledge", "journal", "archive"];
    let is_entry = |path: &String| folders.iter().any(|folder| path.starts_with(&format!(".ralph/{folder}/")));
    base.files(".ralph").into_iter().filter(is_entry).map(|path| (path.clone(), base.read(&path))).collect()
}

/// Takes the lock of the entries.
fn locked(base: &TestBase) -> File {
    let lock = File::options().write(true).open(base.at(".ralph/state/lock")).unwrap();
    lock.lock().unwrap();
    lock
}

#[test]
fn an_attempt_blocked_by_a_lock_is_kept_and_recorded_later() {
    let (base, whole) = (TestBase::new(), TestBase::new());
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let said = format!(
        "{SAID}\n<knowledge tags=\"key\" title=\"The key\">\nIt is {secret}.\n</knowledge>\nI used {secret} here.\n"
    );
    let more = ["--agent-exit", "0", "--verify-exit", "3", "--verify-command", "make check", "--verify-ms", "7"];
    let record = |base: &TestBase| base.with([&["record"][..], &more].concat()).lock_timeout(1).input(&said).run();
    begin(&whole);
    record(&whole).says(0, "recorded journal/");
    begin(&base);
    let lock = locked(&base);
    let ran = record(&base);
    let path = kept(&base);
    assert_eq!(ran.code, Some(5), "{ran}");
    let command = format!("ralph-memory --root {} record {}", base.root().display(), path.display());
    assert!(ran.stderr.contains("was still locked after") && ran.stderr.contains(&command), "{ran}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("At most five letters.") && text.contains("[redacted: github-token]"), "{text}");
    assert!(!text.contains(&secret), "a secret is kept");
    // Another try finds the lock as well, and keeps the same attempt once.
    assert_eq!((record(&base).code, kept(&base)), (Some(5), path.clone()));
    drop(lock);
    // Commands report it.
    let told = base.run(["check"]);
    assert!(told.stdout.contains("warning[not-recorded]: ") && told.stdout.contains(path.to_str().unwrap()), "{told}");
    let told = base.run(["context", "--task", "Another", "--run", "run-2"]);
    assert!(told.stderr.contains("attempt 1 of run-1 is not in the journal"), "{told}");
    begin(&base);
    assert!(base.files(".ralph/journal").is_empty());
    let by_agent = base.with(["record", path.to_str().unwrap()]).env("CLAUDECODE", "1").run();
    by_agent.refuses(2, "and a coding agent (claude) may not record that");
    let recorded = base.run(["record", path.to_str().unwrap()]);
    assert_eq!(recorded.code, Some(0), "{recorded}");
    assert!(kept_in(path.parent().unwrap()).is_empty());
    assert_eq!(
        entries(&base).iter().map(|(path, _)| path).collect::<Vec<_>>(),
        entries(&whole).iter().map(|(path, _)| path).collect::<Vec<_>>()
    );
    for ((path, found), (_, expected)) in entries(&base).iter().zip(&entries(&whole)) {
        let same = |text: &str| {
            text.lines().filter(|line| !line.contains("looks like a secret")).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(same(found), same(expected), "{path}");
    }
    assert!(
        base.read(".ralph/journal/run-1/0001.md").contains("<knowledge>: body, line 1: this looks like a secret: ")
    );
}

#[test]
fn an_attempt_whose_memory_the_agent_removed_is_kept() {
    let base = TestBase::new();
    base.write("../home/said", SAID);
    let script = format!("rm -rf .ralph; cat {}", base.home().join("said").display());
    let agent = format!("sh -c '{script}'");
    let arguments = ["run", "--task", "Write the greeting", "--task-id", TASK, "--agent", &agent, "--verify", "true"];
    let ran = base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).run();
    assert_eq!(ran.code, Some(6), "{ran}");
    let path = kept(&base);
    for part in [path.to_str().unwrap(), "git checkout .ralph", "ralph-memory init"] {
        assert!(ran.stderr.contains(part), "{ran}");
    }
    base.run(["init"]).says(0, "created .ralph/knowledge/");
    let recorded = base.run(["record", path.to_str().unwrap()]);
    assert_eq!(recorded.code, Some(0), "{recorded}");
    let all: String = entries(&base).into_iter().map(|(_, text)| text).collect();
    for part in
        ["The greeting is printed.", "At most five letters.", "Use printf", "outcome: done", "command: \"true\""]
    {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn an_answer_without_a_memory_is_kept() {
    let base = TestBase::new();
    begin(&base);
    fs::rename(base.at(".ralph"), base.at("away")).unwrap();
    let ran = base.with(["record", "--agent-exit", "0"]).env("RALPH_RUN_ID", "run-1").input(SAID).run();
    assert_eq!(ran.code, Some(3), "{ran}");
    let path = kept(&base);
    assert!(ran.stderr.contains(path.to_str().unwrap()), "{ran}");
    fs::rename(base.at("away"), base.at(".ralph")).unwrap();
    let told = base.run(["check"]);
    assert!(told.stdout.contains(path.to_str().unwrap()), "{told}");
    let recorded = base.run(["record", path.to_str().unwrap()]);
    assert!(recorded.stdout.starts_with("recorded journal/run-1/0001 (done): Write the greeting\n"), "{recorded}");
    assert!(base.read(".ralph/journal/run-1/0001.md").contains("The greeting is printed."));
    // The same if the task is unknown.
    let ran = base.with(["record"]).input("<journal>\nMore.\n</journal>\n").run();
    let path = kept(&base);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains(path.to_str().unwrap()), "{ran}");
    base.run(["record", path.to_str().unwrap()]).says(2, "names no task");
    let recorded = base.run(["record", path.to_str().unwrap(), "--task-id", TASK]);
    assert!(recorded.stdout.starts_with("recorded journal/run-1/0002 (blocked)\n"), "{recorded}");
    assert!(base.read(".ralph/journal/run-1/0002.md").contains("> More."));
    // The agent's text names the task.
    let _ = base.with(["record", "--oops"]).input(SAID.replace("is printed", "is shouted")).run();
    let recorded = base.run(["record", kept(&base).to_str().unwrap()]);
    assert!(recorded.stdout.starts_with("recorded journal/run-1/0003 (done): Write the greeting\n"), "{recorded}");
    assert!(kept_in(path.parent().unwrap()).is_empty());
}

#[test]
fn an_attempt_is_kept_in_the_temporary_folder_if_the_user_folder_is_read_only() {
    let base = TestBase::new();
    fs::write(base.home().join("state"), "in the way").unwrap();
    let temporary = base.home().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let with = |arguments: &[&str]| {
        let ran = base.with(arguments).lock_timeout(1).env("TMPDIR", &temporary);
        ran.env("XDG_STATE_HOME", base.home().join("state")).input(SAID).run()
    };
    with(&["context", "--task", "Write the greeting", "--task-id", TASK, "--run", "run-1"])
        .says(0, "attempt 1 at t-greeting");
    let lock = locked(&base);
    let ran = with(&["record"]);
    let folder = fs::read_dir(&temporary).unwrap().next().unwrap().unwrap().path();
    let kept = kept_in(&folder).pop().unwrap();
    assert!(ran.code == Some(5) && ran.stderr.contains(kept.to_str().unwrap()), "{ran}");
    // No folder is writable: the attempt is printed in full, as a file that can be recorded.
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "in the way").unwrap();
    let ran = with(&["record", "--task-id", TASK, "--run", "run-1"]);
    assert_eq!(ran.code, Some(5), "{ran}");
    let text = ran.stderr.lines().find(|line| line.starts_with("{\"ralph_memory_kept\":")).unwrap();
    drop(lock);
    base.write("kept.json", text);
    // An agent could have written it: it is only accepted with an option.
    let ran = base.run(["record", "kept.json"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("`--kept` accepts it"), "{ran}");
    base.run(["record", "--kept", "kept.json"]).says(0, "recorded journal/");
    let [attempt] = &base.files(".ralph/journal/run-1")[..] else { panic!("one attempt") };
    assert!(base.read(attempt).contains("The greeting is printed."));
}

#[test]
fn a_custom_loop_gets_its_attempt_back() {
    let base = TestBase::new();
    let state = base.home().join("state");
    let open = || {
        let memory = Memory::open(&base.root()).unwrap().with_lock_timeout(Duration::from_millis(1));
        memory.keeping_in(StateFolders::new([state.clone()]))
    };
    let task = Task { id: Some(TASK.to_owned()), ..Task::new("Write the greeting") };
    let memory = open();
    let iteration = memory.begin(&task, &Run::named("run-1")).unwrap();
    let sections = Sections { feedback: "Well.".to_owned(), ..Sections::default() };
    let report = Report { text: SAID.to_owned(), cost_usd: Some(0.5), sections, ..Report::default() };
    // A bug in it, which an absurd clock provokes.
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let broken = open().with_clock(move || {
        assert!(counted.fetch_add(1, Ordering::SeqCst) < 2, "the clock is broken");
        SystemTime::now()
    });
    let error = broken.finish(&iteration, &report).unwrap_err();
    let Error::NotRecorded { kept, source, .. } = &error else { panic!("{error:?}") };
    assert!(source.to_string().contains("the clock is broken"), "{source}");
    let lock = locked(&base);
    let error = memory.finish(&iteration, &report).unwrap_err();
    assert!(
        matches!(&error, Error::NotRecorded { source, .. } if matches!(**source, Error::Locked { .. })),
        "{error:?}"
    );
    let without = Memory::open(&base.root()).unwrap().with_lock_timeout(Duration::from_millis(1));
    assert!(matches!(without.finish(&iteration, &report), Err(Error::Locked { .. })));
    drop(lock);
    let waiting = memory.kept_attempts();
    assert_eq!((waiting.len(), waiting[0].path()), (1, kept.as_path()));
    let recorded = memory.record_kept(&waiting[0]).unwrap();
    assert_eq!((recorded.outcome, recorded.attempt.head.cost_usd), (Outcome::Done, Some(0.5)));
    assert_eq!(recorded.attempt.sections.feedback, "Well.");
    assert!(!kept.exists() && memory.kept_attempts().is_empty() && memory.open_attempts().is_empty());
    // A leftover file is not written again.
    assert_eq!(memory.record_kept(&waiting[0]).unwrap().id, recorded.id);
    assert_eq!(base.files(".ralph/journal").len(), 1);
}

#[test]
fn other_files_are_not_mistaken_for_saved_attempts() {
    let base = TestBase::new();
    begin(&base);
    let lock = locked(&base);
    let ran = base.with(["record"]).lock_timeout(1).input(SAID).run();
    assert_eq!(ran.code, Some(5), "{ran}");
    drop(lock);
    let text = fs::read_to_string(kept(&base)).unwrap();
    let tree = "\"--output=/tmp/x\"";
    let check = |text: &str, code: i32, reason: &str| {
        base.write("kept.json", text);
        let ran = base.run(["record", "--kept", "kept.json"]);
        assert_eq!(ran.code, Some(code), "{ran}");
        assert!(ran.stderr.contains(reason), "{ran}");
        assert!(base.files(".ralph/journal").is_empty(), "{reason}");
    };
    check(&text.replace("{\"ralph_memory_kept\":1,", "{\"ralph_memory_kept\":2,"), 4, "format 2");
    check(&text[..text.len() / 2], 2, "it is damaged");
    check(&text.replacen("\"root\":", "\"more\":1,\"root\":", 1), 2, "unknown field `more`");
    check(&text.replace(base.root().to_str().unwrap(), "/elsewhere"), 2, "it belongs to the memory in `/elsewhere`");
    check(&text.replace("\"run_id\":\"run-1\"", "\"run_id\":\"../run-1\""), 2, "run id");
    check(
        &text.replace("\"changes\":{\"tree\":null", &format!("\"changes\":{{\"tree\":{tree}")),
        2,
        "not a git object",
    );
    for text in ["", "garbage", "{\"ralph_memory", &text[1..]] {
        check(text, 2, "`kept.json` is not a saved attempt");
    }
    let empty = kept(&base).with_file_name("empty.json");
    fs::write(&empty, "").unwrap();
    base.run(["record", empty.to_str().unwrap()]).says(2, "is not a saved attempt");
    fs::remove_file(empty).unwrap();
    let ran = base.run(["record", kept(&base).to_str().unwrap(), "--outcome", "done"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("leave the other options out"), "{ran}");
    // Sigils are not confused with similar text.
    base.write("said.txt", format!("No: {text}").replace("task-done", "nothing"));
    let recorded = base.run(["record", "said.txt"]);
    assert_eq!(
        recorded.stdout.lines().next(),
        Some("recorded journal/run-1/0001 (blocked): Write the greeting"),
        "{recorded}"
    );
    assert!(kept(&base).exists());
}

/// Returns once the run's agent has beaten so often, which is more often than `before`.
fn beats(base: &TestBase, child: &mut Child, before: usize) -> usize {
    loop {
        let beaten = fs::read_to_string(base.home().join("beats")).unwrap_or_default().len();
        if beaten > before + 2 {
            return beaten;
        }
        assert!(child.try_wait().unwrap().is_none(), "it runs until it is killed");
        std::thread::yield_now();
    }
}

/// Returns the processes that a process started.
fn children(of: u32) -> impl Iterator<Item = String> {
    let all = fs::read_dir("/proc").unwrap().filter_map(|found| found.ok()?.file_name().into_string().ok());
    all.filter(move |pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)) == Some(&of.to_string())
    })
}

/// Starts a run whose agent beats until it is ended, and kills it behind what is to be done before. The agent's process
/// is noted in `pid`.
fn killed_run(base: &TestBase, agent: &str, before: impl FnOnce(u32)) {
    let arguments = ["run", "--task", "Write the greeting", "--task-id", TASK, "--agent", agent];
    let mut command = base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).command();
    let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    beats(base, &mut run, 0);
    before(run.id());
    run.kill().unwrap();
    run.wait().unwrap();
}

/// Returns whether a process is at work; a zombie is not.
fn is_at_work(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ") && !stat.contains(") X ")
}

#[test]
fn an_answer_outlives_a_run_that_is_killed_while_it_verifies() {
    let base = TestBase::new();
    let home = base.home();
    base.write("../home/said", SAID);
    let agent = format!("cat {}", home.join("said").display());
    base.write("../home/verify.sh", format!("while :; do printf x >> {}; done\n", home.join("beats").display()));
    let verify = format!("sh {}", home.join("verify.sh").display());
    let arguments = ["run", "--task", "Write the greeting", "--task-id", TASK, "--agent", &agent, "--verify", &verify];
    let mut command = base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).command();
    let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    beats(&base, &mut run, 0);
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(base.files(".ralph").iter().all(|path| !path.contains("journal")), "{:?}", base.files(".ralph"));
    let kept = kept(&base);
    let recorded = base.run(["record", kept.to_str().unwrap()]);
    // It was never verified, so it is not done, whatever its agent says.
    assert!(
        recorded.stdout.starts_with("recorded journal/run-") && recorded.stdout.contains("(interrupted)"),
        "{recorded}"
    );
    let journal = base.files(".ralph/journal").pop().unwrap();
    assert!(base.read(&journal).contains("The greeting is printed.") && !kept.exists(), "{recorded}");
}

#[test]
fn an_agent_that_stops_its_own_group_does_not_block_the_end_of_a_run() {
    let base = TestBase::new();
    base.write("../home/said", SAID);
    let script =
        format!("cat > /dev/null\nkill -STOP $(ps -o pgid= -p $$)\ncat {}\n", base.home().join("said").display());
    base.write("../home/agent.sh", script);
    let agent = format!("sh {}", base.home().join("agent.sh").display());
    let arguments = ["run", "--task", "Write the greeting", "--task-id", TASK, "--agent", &agent];
    let ran = base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    let journal = base.files(".ralph/journal").pop().unwrap();
    assert!(base.read(&journal).contains("The greeting is printed."));
}

// Without `/proc`, a process that nobody waited for counts as running.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[test]
fn an_agent_ends_with_a_run_that_is_killed() {
    let base = TestBase::new();
    let home = base.home();
    // It has a child, which would continue without it.
    let script = format!(
        "echo $$ > {0}/pid\nsh -c 'echo $$ > {0}/child; while [ -e {0}/child ]; do sleep 0.01; done' &\n\
         while [ -e {0}/pid ]; do printf . >> {0}/beats; sleep 0.01; done\n",
        home.display()
    );
    base.write("../home/agent.sh", script);
    killed_run(&base, &format!("sh {}", home.join("agent.sh").display()), |_| {});
    let until = Instant::now() + Duration::from_secs(30);
    for name in ["pid", "child"] {
        let pid = fs::read_to_string(home.join(name)).unwrap();
        while is_at_work(pid.trim()) {
            assert!(Instant::now() < until, "{name} goes on without its run");
            std::thread::yield_now();
        }
    }
    // The run continues with an agent of its own.
    let agent = "sh -c 'echo \"<task-done>$RALPH_TASK_ID</task-done>\"'";
    let ran = base.with(["run", "--resume", "--agent", agent]).env("PATH", std::env::var_os("PATH").unwrap()).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    let journal: String = base.files(".ralph/journal").iter().map(|path| base.read(path)).collect();
    assert!(journal.contains("outcome: interrupted") && journal.contains("outcome: done"), "{journal}");
}

// Without `/proc`, a process that nobody waited for counts as running.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[test]
fn no_iteration_begins_while_an_agent_outlives_its_run() {
    let base = TestBase::new();
    let home = base.home();
    base.write("../home/agent.sh", beating(&home));
    let agent = format!("sh {}", home.join("agent.sh").display());
    killed_run(&base, &agent, |run| {
        // The guard that would end the agent is ended first.
        let guard = children(run).find(|pid| {
            fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("read -r command"))
        });
        let guard = rustix::process::Pid::from_raw(guard.unwrap().parse().unwrap()).unwrap();
        rustix::process::kill_process(guard, rustix::process::Signal::KILL).unwrap();
    });
    let pid = fs::read_to_string(home.join("pid")).unwrap().trim().to_owned();
    assert!(is_at_work(&pid), "nobody ended it");
    let path = std::env::var_os("PATH").unwrap();
    let ran = base.with(["run", "--resume", "--agent", "true"]).env("PATH", &path).run();
    assert_eq!(ran.code, Some(4), "{ran}");
    let told = format!("is still running as process {pid}");
    assert!(ran.stderr.contains(&told) && ran.stderr.contains(&format!("`kill {pid}`")), "{ran}");
    assert!(base.files(".ralph/journal").is_empty());
    fs::remove_file(home.join("pid")).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while is_at_work(&pid) {
        assert!(Instant::now() < until, "it ends when it is told to");
        std::thread::yield_now();
    }
    let ran = base.with(["run", "--resume", "--agent", "true", "--max-iterations", "1"]).env("PATH", &path).run();
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(base.files(".ralph/journal").iter().any(|path| base.read(path).contains("outcome: interrupted")));
}

#[test]
fn refused_sigils_are_kept_in_the_notes() {
    let base = TestBase::new();
    begin(&base);
    fs::remove_dir_all(base.at(".ralph/knowledge")).unwrap();
    std::os::unix::fs::symlink(base.home(), base.at(".ralph/knowledge")).unwrap();
    let words = |start: &str, n: usize| (0..n).map(|at| format!("{start}{at:05}")).collect::<Vec<_>>().join(" ");
    let fact = |at: usize| {
        format!("<knowledge title=\"Fact {at}\" tags=\"x\">\n{}\n</knowledge>\n", words(&format!("f{at}x"), 400))
    };
    let said = format!("<journal>\n{}\n</journal>\n", words("j", 3_000)) + &(0..8).map(fact).collect::<String>();
    let ran = base.with(["record"]).input(&said).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    let journal = base.read(".ralph/journal/run-1/0001.md");
    let missing: Vec<&str> =
        said.split_whitespace().filter(|word| !word.contains(['<', '>', '"']) && !journal.contains(word)).collect();
    assert_eq!(missing, [""; 0]);
    assert_eq!(kept_in(&base.home().join(".local/state/ralph-memory")), [""; 0].map(PathBuf::from));
    // The part that is too large for a journal entry stays in a file that is named.
    begin(&base);
    let said = format!("<journal>\n{}\n</journal>\n", words("k", 60_000));
    let ran = base.with(["record", "--json"]).input(&said).run().json(0);
    let problem = ran["problems"].as_array().unwrap().iter().find(|problem| problem["code"] == "notes-cut");
    let whole = problem.unwrap_or_else(|| panic!("{ran}"))["path"].as_str().unwrap();
    assert!(fs::read_to_string(whole).unwrap().contains("k59999"), "{whole}");
    // It is in the journal, so nothing reports it as missing.
    assert!(!base.run(["check"]).stdout.contains(whole));
}

#[test]
fn input_with_an_invalid_option_is_kept() {
    let base = TestBase::new();
    begin(&base);
    for wrong in
        [&["--agent-exit", ""][..], &["--outcome", "finished"], &["--verify-command", "x"], &["--task-id", "a/b"]]
    {
        let arguments = [&["record"], wrong].concat();
        let ran = base.with(&arguments).input(SAID).run();
        assert_eq!(ran.code, Some(2), "{ran}");
        let path = kept(&base);
        assert!(ran.stderr.contains(path.to_str().unwrap()), "{ran}");
        assert!(fs::read_to_string(&path).unwrap().contains("Use printf instead of echo."));
    }
    let ran = base.run(["record", kept(&base).to_str().unwrap()]);
    assert!(ran.stdout.starts_with("recorded journal/run-1/0001 (done): Write the greeting\n"), "{ran}");
    // Other commands ignore their input, whatever their arguments are.
    for other in [&["search", "record", "--oops"][..], &["help", "record"], &["--root", "record", "list", "--oops"]] {
        let ran = base.with(other).input(SAID).run();
        assert!(!ran.stderr.contains("the input"), "{ran}");
    }
    // A request for help, or a file name, comes without input.
    let _ = base.with(["record", "--help"]).input(SAID).run();
    base.write("said", SAID);
    let _ = base.with(["record", "said", "--outcome", "finished"]).input(SAID).run();
    // The task that the options name is that of the saved text.
    for task in [&["--task", "Sow"][..], &["--task=Sow"]] {
        let _ = base.with([&["record", "--oops"], task].concat()).input("It is sown.").run();
        base.run(["record", kept(&base).to_str().unwrap()]).says(0, "(blocked): Sow");
    }
    assert_eq!(kept_in(&base.home().join(".local/state/ralph-memory")).len(), 0);
}

#[test]
fn an_answer_that_cannot_be_kept_is_printed() {
    let base = TestBase::new();
    begin(&base);
    base.write("../home/file", "");
    let nowhere = base.home().join("file/x");
    let ran = base.with(["record", "--oops"]).env("HOME", &nowhere).env("TMPDIR", &nowhere).input(SAID).run();
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("Use printf instead of echo."), "{ran}");
}

#[test]
fn a_saved_attempt_names_its_memory() {
    let base = TestBase::new();
    // A memory in a folder of a repository, and one that is named from outside of it.
    fs::create_dir(base.at(".git")).unwrap();
    fs::create_dir(base.at("sub")).unwrap();
    base.with(["init", "--here"]).folder(base.at("sub")).run().says(0, "created .ralph/");
    let inside = base.with(["record", "--oops"]).folder(base.at("sub")).input(SAID).run();
    let path = kept(&base);
    let root = base.at("sub").canonicalize().unwrap();
    assert!(inside.stderr.contains(&format!("--root {} record {}", root.display(), path.display())), "{inside}");
    let ran = base.with(["record", path.to_str().unwrap(), "--task-id", "t-1"]).folder(base.at("sub")).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    let outside = base.with(["--root", "sub", "record", "--oops"]).input(SAID).run();
    assert!(
        outside.stderr.contains(&format!("--root {} record {}", root.display(), kept(&base).display())),
        "{outside}"
    );
}

#[test]
fn a_kept_answer_is_about_the_task_that_it_names() {
    let base = TestBase::new();
    for (task, id) in [("first", "t-1"), ("second", "t-2")] {
        base.run(["context", "--task", task, "--task-id", id, "--run", "run-1"]).says(0, "attempt 1 at ");
    }
    base.with(["record"]).input("It is the first.").run().says(2, "cannot tell which task it is about");
    fs::remove_file(kept(&base)).unwrap();
    let said = "<journal>It is the first.</journal><task-done>t-1</task-done>";
    base.with(["record", "--oops"]).input(said).run().says(2, "--oops");
    let path = kept(&base);
    let other = base.with(["record", "--task-id", "t-1"]).input("<task-failed>t-1</task-failed>").run();
    assert_eq!(other.code, Some(0), "{other}");
    let ran = base.run(["record", path.to_str().unwrap()]);
    assert!(ran.stdout.contains("(done)"), "{ran}");
    let journal = base.read(".ralph/journal/run-1/0002.md");
    assert!(journal.contains("task_id: t-1") && journal.contains("It is the first."), "{journal}");
    // The context of the second one is still known.
    base.with(["record"]).input("It is the second.").run().says(0, "recorded journal/run-1/0003 (blocked)");
    assert!(base.read(".ralph/journal/run-1/0003.md").contains("task_title: \"second\""));
}

#[test]
fn a_saved_answer_without_a_task_is_of_no_later_context() {
    let base = TestBase::new();
    let saved = base.with(["record"]).input("hi").run();
    let path = kept(&base);
    let command = format!("record {} --task-id '<ID-OF-ITS-TASK>'`", path.display());
    let discard = "delete the file to discard it";
    assert!(saved.code == Some(2) && saved.stderr.contains(&command) && saved.stderr.contains(discard), "{saved}");
    // A later context is not what it belongs to.
    let told = base.run(["context", "--task", "z"]);
    let reason = "an agent's output is not in the journal: it was saved at 2026-11-20T10:00:00Z";
    assert!(told.stderr.contains(reason) && told.stderr.contains(&command), "{told}");
    for more in [&[][..], &["--run", "run-1"]] {
        let ran = base.run([&["record", path.to_str().unwrap()], more].concat());
        assert!(ran.code == Some(2) && ran.stderr.contains("names no task") && ran.stderr.contains(&command), "{ran}");
    }
    assert!(base.files(".ralph/journal").is_empty() && path.exists());
    base.run(["record", path.to_str().unwrap(), "--task-id", "other"]).says(0, "recorded journal/");
    assert!(!path.exists());
    // With a wrong option it is saved in the same way.
    let wrong = base.with(["record", "--oops"]).input("hi").run();
    assert!(wrong.code == Some(2) && wrong.stderr.contains(&command) && wrong.stderr.contains(discard), "{wrong}");
}

#[test]
fn a_saved_answer_without_an_iteration_is_recorded_once() {
    let base = TestBase::new();
    base.with(["record", "--run", "run-1"])
        .input("<journal>Once.</journal>")
        .run()
        .says(2, "cannot tell which task it is about");
    let path = kept(&base);
    let copy = base.home().join("copy.json");
    fs::copy(&path, &copy).unwrap();
    let record = |arguments: &[&str], now: &str| {
        let ran = base.with(arguments).now(now).run();
        assert!(ran.stdout.starts_with("recorded journal/run-1/0001 "), "{ran}");
    };
    record(&["record", path.to_str().unwrap(), "--task-id", "t-1"], "2026-11-20T11:00:00Z");
    record(&["record", copy.to_str().unwrap(), "--kept", "--task-id", "t-1"], "2026-11-20T12:00:00Z");
    assert_eq!(base.files(".ralph/journal").len(), 1);
}

/// Returns the script of an agent that beats until it is ended, and notes its process in `pid`.
#[cfg(target_os = "linux")]
fn beating(home: &Path) -> String {
    let home = home.display();
    format!("echo $$ > {home}/pid\nwhile [ -e {home}/pid ]; do printf . >> {home}/beats; sleep 0.01; done\n")
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_in_a_group_of_its_own_ends_with_its_run() {
    for leads in ["timeout 600 sh AGENT", "sh -c 'setsid sh AGENT & wait'"] {
        let base = TestBase::new();
        let home = base.home();
        base.write("../home/agent.sh", beating(&home));
        let agent = leads.replace("AGENT", &home.join("agent.sh").display().to_string());
        let arguments = ["run", "--task", "Write the greeting", "--task-id", TASK, "--agent", &agent];
        let mut command = base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).command();
        let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        beats(&base, &mut run, 0);
        let pid = rustix::process::Pid::from_child(&run);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(130), "{leads}");
        let agent = fs::read_to_string(home.join("pid")).unwrap();
        assert!(!is_at_work(agent.trim()), "{leads}");
    }
    // The same if the run is killed.
    let base = TestBase::new();
    let home = base.home();
    base.write("../home/agent.sh", beating(&home));
    killed_run(&base, &format!("timeout 600 sh {}", home.join("agent.sh").display()), |_| {});
    let pid = fs::read_to_string(home.join("pid")).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while is_at_work(pid.trim()) {
        assert!(Instant::now() < until, "the agent goes on without its run");
        std::thread::yield_now();
    }
}

#[test]
fn an_agent_that_said_nothing_hides_no_reason_of_an_attempt_before() {
    const NOTHING: [&str; 0] = [];
    const SILENCE: &str = "the agent reported neither success nor failure";
    let base = TestBase::new();
    let record = |text: &str| base.with(["record", "--task", "Sort the list", "--run", "run-1"]).input(text).run();
    record("I looked around.").says(0, "(blocked)");
    base.run(["log"]).says(0, SILENCE);
    record("I looked into it.").says(0, "(blocked)");
    record("I looked at it.").says(0, "(blocked)");
    base.run(NOTHING).says(0, SILENCE);
    record("<task-failed>Sort the list</task-failed>\n<failure-report>\nwhy: the list is a lake\n</failure-report>")
        .says(0, "(failed)");
    record("I looked around again.").says(0, "(blocked)");
    let status = base.run(NOTHING).answer(0);
    assert!(status.contains("the list is a lake") && !status.contains(SILENCE), "{status}");
}

#[test]
fn whoever_says_why_they_failed_says_that_they_failed() {
    let base = TestBase::new();
    let text = "<failure-report>\nwhat_tried: a bridge\nwhy_failed: the river is too wide\n</failure-report>";
    let record = ["record", "--task", "Cross the river", "--run", "run-1"];
    base.with(record).input(text).run().says(0, "run-1/0001 (failed)");
    base.with(record).input(format!("{text}\n<task-done>Cross the river</task-done>")).run().says(0, "(done)");
}

#[test]
fn a_task_is_found_by_its_title() {
    let base = TestBase::new();
    base.run(["record", "--task", "Cross the river", "--outcome", "failed"]).says(0, "recorded");
    base.run(["record", "--task", "Buy a boat", "--outcome", "done"]).says(0, "recorded");
    // One at no known task has the title, too.
    base.write(
        ".ralph/journal/run-9/0001.md",
        "---\nrun_id: run-9\niteration: 1\ntask_title: Cross the river\noutcome: done\nstarted_at: \"2026-12-24T08:00:00Z\"\n---\n",
    );
    for title in ["Cross the river", "cross THE river", "task:Cross the river"] {
        base.run(["show", title]).says(0, "Cross the river");
    }
    let log = base.run(["log", "--task", "Cross the river"]).answer(0);
    assert!(log.contains("Cross the river") && !log.contains("boat"), "{log}");
    base.run(["log", "--task", "Cross the sea"]).tells(0, &[], &["no attempts"]);
    base.run(["show", "Cross the sea"]).refuses(1, "there is no entry, task or run `Cross the sea`");
}

/// Seen by a new user: the list had no reason where the client had printed one.
#[test]
fn what_a_crashed_agent_printed_is_the_reason() {
    let base = TestBase::new();
    let agent = "sh -c 'cat > /dev/null; echo ouch >&2; exit 7'";
    base.run(["run", "--task", "Crash", "--max-iterations", "1", "--agent", agent]).says(1, "exit code 7: ouch");
    base.run(["log"]).says(0, "ouch");
}
