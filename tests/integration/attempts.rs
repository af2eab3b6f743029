//! An attempt costs money and time: whatever fails behind its agent, what the agent said is kept.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

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
    assert!(ran.stdout.starts_with("recorded journal/run-1/0001 (done)\ncreated knowledge/"), "{ran}");
    assert!(ran.stderr.contains("line 4: <knowledge>") && ran.stderr.contains(reason), "{ran}");
    assert_eq!(fs::read(base.at(path)).unwrap(), before);
    let journal = base.read(".ralph/journal/run-1/0001.md");
    assert!(!journal.contains(base.root().to_str().unwrap()), "{journal}");
    for part in ["The greeting is printed.", "Greetings are short", "folded, fresh", "At most five letters.", reason] {
        assert!(journal.contains(part), "{part} is not in\n{journal}");
    }
    // The next attempt is told of it, and the search finds it.
    let next = base.run(["context", "--task", "Write the greeting", "--task-id", TASK, "--run", "run-1"]).stdout;
    assert!(next.contains("last iteration:** line 4: &lt;knowledge>") && next.contains("At most five letters."), "{next}");
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
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran}");
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
    check_refused(&base, ".ralph/knowledge/greetings-are-short.md", "larger than an entry");
}

#[test]
fn a_fact_whose_entry_became_a_link_is_refused_alone() {
    let base = TestBase::new();
    greeting(&base, "title: Greetings are short\ntags: [greeting]\nsource: agent\n");
    // The version that is replaced would have to lie where a link leads away.
    fs::create_dir_all(base.at(".ralph/archive")).unwrap();
    let _ = fs::remove_dir_all(base.at(".ralph/archive/knowledge"));
    std::os::unix::fs::symlink(base.home(), base.at(".ralph/archive/knowledge")).unwrap();
    check_refused(&base, ".ralph/knowledge/greetings-are-short.md", "outside");
    assert_eq!(fs::read_dir(base.home()).unwrap().count(), 0);
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

/// Starts a run whose agent beats until it is ended, and kills it. The agent's process is noted in `pid`.
fn killed_run(base: &TestBase, agent: &str) {
    let arguments = ["run", "--task", "Write the greeting", "--task-id", TASK, "--agent", agent];
    let mut command = base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).command();
    let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    beats(base, &mut run, 0);
    run.kill().unwrap();
    run.wait().unwrap();
}

/// Returns whether a process is at work; one that nobody waited for is not.
fn is_at_work(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ") && !stat.contains(") X ")
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_ends_with_a_run_that_is_killed() {
    let base = TestBase::new();
    let home = base.home();
    // It has a child, which would go on without it.
    let script = format!(
        "echo $$ > {0}/pid\nsh -c 'echo $$ > {0}/child; while [ -e {0}/child ]; do sleep 0.01; done' &\n\
         while [ -e {0}/pid ]; do printf . >> {0}/beats; sleep 0.01; done\n",
        home.display()
    );
    base.write("../home/agent.sh", script);
    killed_run(&base, &format!("sh {}", home.join("agent.sh").display()));
    let until = Instant::now() + Duration::from_secs(30);
    for name in ["pid", "child"] {
        let pid = fs::read_to_string(home.join(name)).unwrap();
        while is_at_work(pid.trim()) {
            assert!(Instant::now() < until, "{name} goes on without its run");
            std::thread::yield_now();
        }
    }
    // The run goes on with an agent of its own.
    let agent = "sh -c 'echo \"<task-done>$RALPH_TASK_ID</task-done>\"'";
    let ran = base.with(["run", "--resume", "--agent", agent]).env("PATH", std::env::var_os("PATH").unwrap()).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    let journal: String = base.files(".ralph/journal").iter().map(|path| base.read(path)).collect();
    assert!(journal.contains("outcome: interrupted") && journal.contains("outcome: done"), "{journal}");
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_begun_beside_an_agent_that_outlived_its_run() {
    let base = TestBase::new();
    let home = base.home();
    let script = format!(
        "echo $$ > {0}/pid\nwhile [ -e {0}/pid ]; do printf . >> {0}/beats; sleep 0.01; done\n",
        home.display()
    );
    base.write("../home/agent.sh", script);
    // In a session of its own, where nobody finds it.
    let agent = format!("setsid sh {}", home.join("agent.sh").display());
    killed_run(&base, &agent);
    let pid = fs::read_to_string(home.join("pid")).unwrap().trim().to_owned();
    assert!(is_at_work(&pid), "it left its group");
    let path = std::env::var_os("PATH").unwrap();
    let ran = base.with(["run", "--resume", "--agent", "true"]).env("PATH", &path).run();
    assert_eq!(ran.code, Some(4), "{ran}");
    let told = format!("is still at work, as process {pid}");
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
