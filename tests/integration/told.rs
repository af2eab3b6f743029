//! Each attempt that is told is in the journal once, whoever tells it and whatever was read before.

use std::fs;
use std::process::Stdio;

use ralph_memory::Task;
use ralph_memory::entry::{Attempt, Outcome};
use ralph_memory::memory::Report;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::random::Random;
use crate::support::TestBase;

const TASKS: [&str; 3] = ["Fix the login", "Speed up the scan", "Rename the field"];
const SESSIONS: [&str; 2] = ["0199c0de-0000-7000-8000-00000000000a", "0199c0de-0000-7000-8000-00000000000b"];

/// Which way an attempt is told.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Record,
    Tool,
    Message,
}

/// An attempt as the journal must have it.
#[derive(Debug, Clone, PartialEq)]
struct Expected {
    task: usize,
    is_done: bool,
    text: String,
    session: Option<usize>,
    /// The ways by which it was told; none if a run made it.
    ways: Vec<Way>,
}

/// A memory, two sessions of Claude Code, and what must be in the journal.
struct Trial {
    base: TestBase,
    servers: [Agent; 2],
    expected: Vec<Expected>,
    /// The tasks of contexts that nothing was recorded for, and their sessions.
    contexts: Vec<(usize, Option<usize>)>,
    /// What the sessions said last at a stop.
    said: Vec<(usize, String)>,
    /// The tasks of runs that were killed.
    killed: Vec<usize>,
}

fn output(task: usize, is_done: bool, text: &str) -> String {
    let id = Task::id_of_title(TASKS[task]);
    match (is_done, text) {
        (true, "") => format!("<task-done>{id}</task-done>"),
        (true, text) => format!("<task-done>{id}</task-done>\n<journal>{text}</journal>"),
        (false, "") => format!("<task-failed>{id}</task-failed>"),
        (false, text) => format!(
            "<task-failed>{id}</task-failed>\n<failure-report>\nwhat_tried: {text}\nwhy_failed: why {text}\n</failure-report>"
        ),
    }
}

impl Trial {
    fn new() -> Trial {
        let base = TestBase::new();
        let server =
            |session: &str| Agent::greeted(base.with(["mcp"]).env("CLAUDE_CODE_SESSION_ID", session).command());
        let servers = SESSIONS.map(server);
        Trial { base, servers, expected: Vec::new(), contexts: Vec::new(), said: Vec::new(), killed: Vec::new() }
    }

    fn hook(&mut self, event: &str, session: usize, more: &Value) {
        let mut input = json!({"session_id": SESSIONS[session]});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let ran = self.base.with(["hook", event]).input(input.to_string()).run();
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{event}: {ran}");
    }

    fn cli(&self, session: Option<usize>, arguments: &[&str], input: &str) {
        let ran = self.base.with(arguments).input(input);
        let ran = match session {
            Some(session) => ran.env("CLAUDE_CODE_SESSION_ID", SESSIONS[session]).run(),
            None => ran.run(),
        };
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran}");
    }

    fn note(&mut self, task: usize, session: Option<usize>) {
        self.contexts.retain(|known| *known != (task, session));
        self.contexts.push((task, session));
    }

    /// Says what the journal must have after an attempt was told.
    fn expect(&mut self, way: Way, session: Option<usize>, (task, is_done, text): (usize, bool, &str)) {
        let of_task: Vec<usize> = (0..self.contexts.len()).filter(|at| self.contexts[*at].0 == task).collect();
        let own = of_task.iter().find(|at| session.is_some() && self.contexts[**at].1 == session);
        let taken = own.or(of_task.first().filter(|_| of_task.len() == 1));
        let run =
            taken.map(|at| self.contexts.remove(*at)).and_then(|(_, session)| session).filter(|_| session.is_none());
        let is_it = |known: &&mut Expected| {
            !known.ways.is_empty()
                && !known.ways.contains(&way)
                && (session.is_none() || known.session == session)
                && (known.task, known.is_done) == (task, is_done)
                && (known.text == text || known.text.is_empty() || text.is_empty())
        };
        match self.expected.iter_mut().rev().find(is_it) {
            Some(known) => {
                known.ways.push(way);
                if known.text.is_empty() {
                    text.clone_into(&mut known.text);
                }
            }
            None => self.expected.push(Expected {
                task,
                is_done,
                text: text.to_owned(),
                session: session.or(run),
                ways: vec![way],
            }),
        }
    }

    /// Starts a run whose agent goes on until it is killed, and kills both.
    fn kill_run(&mut self, task: usize) {
        let (script, mark) = (self.base.home().join("agent.sh"), self.base.home().join("mark"));
        fs::write(&script, format!("echo x > {0}\nwhile [ -e {0} ]; do :; done\n", mark.display())).unwrap();
        let agent = format!("sh {}", script.display());
        let arguments = ["run", "--task", TASKS[task], "--agent", &agent];
        let mut command = self.base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).command();
        let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !mark.exists() {
            assert!(run.try_wait().unwrap().is_none(), "it runs until it is killed");
            std::thread::yield_now();
        }
        let agent = || self.base.memory().open_attempts().into_iter().find_map(|open| open.agent);
        while agent().is_none() {
            std::thread::yield_now();
        }
        let pid = agent().unwrap().pid();
        run.kill().unwrap();
        run.wait().unwrap();
        fs::remove_file(mark).unwrap();
        let is_there = || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        while is_there() {
            std::thread::yield_now();
        }
        self.killed.push(task);
    }

    fn step(&mut self, random: &mut Random, number: usize) {
        let (task, session, is_done) = (random.below(3), random.below(2), random.below(3) == 0);
        let text = match random.below(4) {
            0 => String::new(),
            // The same words again, perhaps by another way.
            1 => format!("text {}", number.saturating_sub(1)),
            _ => format!("text {number}"),
        };
        let maybe = Some(session).filter(|_| random.below(2) == 0);
        let told = (task, is_done, text.as_str());
        match random.below(12) {
            0 | 1 => {
                self.cli(maybe, &["context", TASKS[task]], "");
                self.note(task, maybe);
            }
            2 => {
                // It may leave a note, so it is of a task of its own.
                let mut command = self.base.with(["context", "Look around"]).command();
                let mut child =
                    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                child.kill().unwrap();
                child.wait().unwrap();
            }
            3 => {
                let answer = self.servers[session].call("build_context", &json!({"task": TASKS[task]}));
                assert_ne!(answer["isError"], true, "{answer}");
                self.note(task, Some(session));
            }
            4..=6 => {
                self.cli(maybe, &["record", "--task", TASKS[task]], &output(task, is_done, &text));
                self.expect(Way::Record, maybe, told);
            }
            7 | 8 => {
                let text = if text.is_empty() && !is_done { "something".to_owned() } else { text };
                let mut attempt = json!({"task": TASKS[task], "outcome": if is_done { "done" } else { "failed" }});
                if is_done {
                    attempt["notes"] = text.as_str().into();
                } else {
                    attempt["what_tried"] = text.as_str().into();
                    attempt["why_failed"] = format!("why {text}").into();
                }
                let answer = self.servers[session].call("record_attempt", &attempt);
                assert_ne!(answer["isError"], true, "{answer}");
                self.expect(Way::Tool, Some(session), (task, is_done, &text));
            }
            9 => {
                let message = output(task, is_done, &text);
                self.hook("session-start", session, &json!({"source": "startup"}));
                self.hook("stop", session, &json!({"last_assistant_message": message}));
                // The clock stands still, so the same words are the same event.
                if !self.said.contains(&(session, message.clone())) {
                    self.said.push((session, message));
                    self.expect(Way::Message, Some(session), told);
                }
            }
            10 => self.run(told),
            _ => self.kill_run(task),
        }
    }

    fn run(&mut self, (task, is_done, text): (usize, bool, &str)) {
        let said = self.base.home().join("said");
        fs::write(&said, output(task, is_done, text)).unwrap();
        let agent = format!("cat {}", said.display());
        let arguments = ["run", "--task", TASKS[task], "--max-iterations", "1", "--agent", &agent];
        let ran = self.base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).run();
        assert_eq!(ran.code, Some(i32::from(!is_done)), "{ran}");
        self.expected.push(Expected { task, is_done, text: text.to_owned(), session: None, ways: Vec::new() });
    }

    fn check(mut self) {
        // The next run records what was cut off.
        self.run((0, true, "the end"));
        let mut expected: Vec<(usize, &str, String)> = self
            .expected
            .iter()
            .map(|known| (known.task, if known.is_done { "done" } else { "failed" }, known.text.clone()))
            .chain(self.killed.iter().map(|task| (*task, "interrupted", String::new())))
            .collect();
        let memory = self.base.memory();
        let mut found: Vec<(usize, &str, String)> = Vec::new();
        for (task, title) in TASKS.iter().enumerate() {
            for (_, attempt) in memory.attempts_of_task(&Task::id_of_title(title)) {
                // A message names the id alone.
                assert!([title, Task::id_of_title(title).as_str()].contains(&attempt.task_title.as_str()));
                let sections = attempt.sections;
                let text = if attempt.head.outcome == Outcome::Failed { sections.what_tried } else { sections.notes };
                found.push((task, attempt.head.outcome.as_str(), text.trim_start_matches("> ").to_owned()));
            }
        }
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        assert_eq!(self.base.files(".ralph/journal").len(), expected.len());
        assert!(memory.open_attempts().is_empty() && self.base.kept().is_empty());
    }
}

#[test]
fn what_is_told_is_recorded_once_in_any_order() {
    for seed in 0..12 {
        let mut random = Random(seed);
        let mut trial = Trial::new();
        for number in 1..=14 {
            trial.step(&mut random, number);
        }
        trial.check();
    }
}

/// A session of Claude Code, with its server.
fn session(base: &TestBase, number: usize) -> Agent {
    Agent::greeted(base.with(["mcp"]).env("CLAUDE_CODE_SESSION_ID", SESSIONS[number]).command())
}

/// Returns the outcomes of the attempts at a task, with what was tried.
fn outcomes(base: &TestBase, title: &str) -> Vec<String> {
    let attempts = base.memory().attempts_of_task(&Task::id_of_title(title)).into_iter();
    let shown = |attempt: Attempt| {
        let (outcome, tried) = (attempt.head.outcome.as_str(), attempt.sections.what_tried);
        format!("{outcome} {}", tried.trim_start_matches("> ")).trim().to_owned()
    };
    attempts.map(|(_, attempt)| shown(attempt)).collect()
}

#[test]
fn an_output_that_claims_nothing_keeps_what_its_agent_told_by_a_tool() {
    let check = |tool: Value, said: &str, more: &[&str], expected: &[&str]| {
        let base = TestBase::new();
        let mut server = session(&base, 0);
        assert_ne!(server.call("record_attempt", &tool)["isError"], true);
        let arguments = [&["record", "--task", TASKS[0]], more].concat();
        base.with(arguments).env("CLAUDE_CODE_SESSION_ID", SESSIONS[0]).input(said).run().says(0, "");
        assert_eq!(outcomes(&base, TASKS[0]), expected, "{tool} {said} {more:?}");
    };
    let done = json!({"task": TASKS[0], "outcome": "done"});
    let failed = json!({"task": TASKS[0], "outcome": "failed", "what_tried": "a", "why_failed": "b"});
    let (passed, refuted) = (["--verify-exit", "0"], ["--verify-exit", "1"]);
    check(done.clone(), "All is well.", &[], &["done"]);
    check(done.clone(), "All is well.", &passed, &["done"]);
    check(done.clone(), "All is well.", &refuted, &["retried"]);
    check(done.clone(), &output(0, true, ""), &refuted, &["retried"]);
    check(failed.clone(), "It does not work.", &[], &["failed a"]);
    // An approach that was given up, and then another that worked.
    check(failed.clone(), &output(0, true, ""), &passed, &["failed a", "done"]);
    check(done, &output(0, false, "c"), &[], &["done", "failed c"]);
}

#[test]
fn attempts_that_wait_for_the_lock_do_not_replace_each_other() {
    let base = TestBase::new();
    base.run(["record", "--task", "Take the lock", "--outcome", "failed"]).says(0, "recorded");
    let lock = fs::File::open(base.at(".ralph/state/lock")).unwrap();
    lock.lock().unwrap();
    let mut server = Agent::greeted(base.with(["mcp"]).lock_timeout(1).command());
    for tried in ["a", "b", "b"] {
        let attempt = json!({"task": TASKS[0], "outcome": "failed", "what_tried": tried, "why_failed": "c"});
        assert_eq!(server.call("record_attempt", &attempt)["isError"], true);
    }
    assert_eq!(base.kept().len(), 2);
    drop(lock);
    for kept in base.kept() {
        base.run([std::ffi::OsStr::new("record"), kept.as_os_str()]).says(0, "recorded");
    }
    assert_eq!(outcomes(&base, TASKS[0]).len(), 2);
    // The same words about different tasks, of a memory that cannot be opened.
    for title in TASKS {
        base.with(["record", "--root", "missing", "--task", title]).input("I cannot.").run().refuses(2, "missing");
    }
    assert_eq!(base.kept().len(), TASKS.len());
}

#[test]
fn a_message_that_completed_an_attempt_is_not_recorded_again_after_a_kill() {
    let base = TestBase::new();
    let mut server = session(&base, 0);
    let attempt = json!({"task": TASKS[0], "outcome": "failed", "what_tried": "a", "why_failed": "why a"});
    assert_ne!(server.call("record_attempt", &attempt)["isError"], true);
    let lock = fs::File::open(base.at(".ralph/state/lock")).unwrap();
    lock.lock().unwrap();
    let later = "2026-11-20T10:05:00Z";
    let stop = |message: Value| base.with(["hook", "stop"]).now(later).input(message.to_string()).run();
    let message = json!({"session_id": SESSIONS[0], "last_assistant_message": output(0, false, "a")});
    assert_eq!(stop(message).code, Some(0));
    drop(lock);
    let kept = base.kept().remove(0);
    let copy = base.home().join("copy");
    fs::copy(&kept, &copy).unwrap();
    for _ in 0..2 {
        let ran = stop(json!({"session_id": SESSIONS[0]}));
        assert_eq!((ran.code, base.kept().len()), (Some(0), 0), "{ran}");
        assert_eq!(outcomes(&base, TASKS[0]), ["failed a"]);
        // The file is there again, as after a kill before it was removed.
        fs::copy(&copy, &kept).unwrap();
    }
}

#[test]
fn a_note_is_forgotten_after_a_week() {
    let base = TestBase::new();
    base.with(["context", TASKS[0]]).now("2026-11-10T10:00:00Z").run().says(0, "attempt 1");
    base.with(["record"]).input("prose").run().refuses(2, "cannot tell which task it is about");
    base.with(["context", TASKS[0]]).now("2026-11-19T10:00:00Z").run().says(0, "attempt 1");
    base.with(["record"]).input("prose").run().says(0, "recorded");
    assert_eq!(outcomes(&base, TASKS[0]), ["blocked"]);
}

#[test]
fn long_titles_displace_no_note() {
    let base = TestBase::new();
    let mut server = session(&base, 0);
    let attempt = json!({"task": TASKS[0], "outcome": "failed", "what_tried": "a", "why_failed": "why a"});
    assert_ne!(server.call("record_attempt", &attempt)["isError"], true);
    let long = " \u{1f98a}\"".repeat(700);
    for number in 0..25 {
        let title = format!("{number} {long}");
        base.run(["context", &title, "--feature", &long, "--section", &long]).says(0, "");
    }
    let ran = base.with(["record"]).env("CLAUDE_CODE_SESSION_ID", SESSIONS[0]).input(output(0, false, "a")).run();
    assert_eq!((ran.code, outcomes(&base, TASKS[0]).len()), (Some(0), 1), "{ran}");
}

#[test]
fn an_attempt_at_another_task_does_not_join_a_run_at_work() {
    let base = TestBase::new();
    let memory = base.memory();
    let run = memory.new_run();
    let open = memory.begin(&Task::new(TASKS[0]), &run).unwrap();
    base.with(["record", "--task", TASKS[1]]).input("prose").run().says(0, "recorded");
    assert!(memory.attempts_of_run(&run.id).is_empty());
    memory.finish(&open, &Report::default()).unwrap();
    assert_eq!(memory.attempts_of_run(&run.id).len(), 1);
}

#[test]
fn a_context_that_is_noted_at_the_same_time_hides_no_attempt() {
    let base = TestBase::new();
    let memory = base.memory();
    let run = memory.new_run().id;
    let looks_around = ralph_memory::Request { task: Task::new("Look around"), ..Default::default() };
    let context = memory.context(&looks_around).unwrap();
    let tell_each_twice = || {
        for number in 0..30 {
            let task = Task::new(format!("Task {number}"));
            let by_tool = Report { outcome: Some(Outcome::Done), ..Report::default() };
            memory.record(Some(&task), Some(&run), &by_tool).unwrap();
            let text = format!("<task-done>{}</task-done>", task.own_id());
            memory.record(Some(&task), Some(&run), &Report { text, ..Report::default() }).unwrap();
        }
    };
    std::thread::scope(|scope| {
        let telling = scope.spawn(tell_each_twice);
        while !telling.is_finished() {
            base.memory().note_context(&looks_around.task, None, &context);
        }
    });
    assert_eq!(memory.attempts_of_run(&run).len(), 30);
}

/// On a busy machine a process may stand still while it has the lock of the notes.
#[test]
fn a_record_waits_for_the_notes_of_another_process() {
    let base = TestBase::new();
    let memory = base.memory();
    let (run, task) = (memory.new_run().id, Task::new("Look around"));
    let by_tool = Report { outcome: Some(Outcome::Done), ..Report::default() };
    memory.record(Some(&task), Some(&run), &by_tool).unwrap();
    let notes = std::fs::File::open(base.at(".ralph/state/sessions/attempts.json")).unwrap();
    notes.lock().unwrap();
    let text = format!("<task-done>{}</task-done>", task.own_id());
    let again = Report { text, ..Report::default() };
    std::thread::scope(|scope| {
        let telling = scope.spawn(|| memory.record(Some(&task), Some(&run), &again).map(drop));
        let started = std::time::Instant::now();
        while started.elapsed().as_millis() < 100 {
            std::thread::yield_now();
        }
        notes.unlock().unwrap();
        telling.join().unwrap().unwrap();
    });
    assert_eq!(memory.attempts_of_run(&run).len(), 1);
}

#[test]
fn a_failure_without_an_id_among_several_open_tasks_is_at_no_task() {
    let base = TestBase::new();
    let mut server = session(&base, 0);
    for title in TASKS {
        assert_ne!(server.call("build_context", &json!({"task": title}))["isError"], true);
    }
    let report = "<failure-report>\nwhat_tried: a\nwhy_failed: b\n</failure-report>";
    let message = json!({"session_id": SESSIONS[0], "last_assistant_message": report});
    let ran = base.with(["hook", "stop"]).input(message.to_string()).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran}");
    let run = format!("claude-{}", SESSIONS[0]);
    let attempts = base.memory().attempts_of_run(&run);
    let told: Vec<_> = attempts.iter().map(|(_, attempt)| (&attempt.task_id, &*attempt.task_title)).collect();
    assert_eq!(told, [(&None, "")]);
}

#[test]
fn an_attempt_takes_nothing_of_another_feature() {
    let base = TestBase::new();
    base.entry("ports", "Login ports", "login", "Fix the login on port 5433.");
    let mut servers =
        ["billing", "auth"].map(|feature| Agent::greeted(base.with(["mcp", "--feature", feature]).command()));
    let asked = servers[0].call("build_context", &json!({"task": TASKS[0], "section": "invoices"}));
    assert!(asked.to_string().contains("5433"), "{asked}");
    for server in servers.iter_mut().rev() {
        assert_ne!(server.call("record_attempt", &json!({"task": TASKS[0], "outcome": "done"}))["isError"], true);
    }
    let attempts = base.memory().attempts_of_task(&Task::id_of_title(TASKS[0]));
    let found: Vec<_> = attempts
        .into_iter()
        .map(|(_, attempt)| (attempt.feature.unwrap(), attempt.head.section, attempt.head.context.len()))
        .collect();
    let expected = [("auth", None, 0), ("billing", Some("invoices"), 1)];
    let expected = expected.map(|(feature, section, n)| (feature.to_owned(), section.map(str::to_owned), n));
    assert_eq!(found.len(), 2);
    assert!(expected.iter().all(|one| found.contains(one)), "{found:?}");
}

/// Seen by new users: two clones of a team both wrote the second attempt of one run, and git could not merge them.
#[test]
fn a_run_that_came_with_a_merge_goes_on_where_it_began() {
    let (base, clone) = (TestBase::new(), TestBase::new());
    let run_of = |base: &TestBase, task: &str| {
        let recorded = base.run(["record", "--task", task, "--outcome", "failed", "--json"]).json(0);
        recorded["attempt"]["run_id"].as_str().unwrap().to_owned()
    };
    let theirs = run_of(&base, "Fix the login");
    crate::broken::copy(&base.at(".ralph/journal"), &clone.at(".ralph/journal"));
    assert_eq!(run_of(&base, "Fix the login"), theirs);
    let own = run_of(&clone, "Fix the login");
    assert_ne!(own, theirs);
    assert_eq!(run_of(&clone, "Fix the login"), own);
    let shown = clone.run(["context", "Fix the login"]).stdout;
    assert!(shown.contains("This task has been attempted 3 times before") && !shown.contains("Iteration 4"), "{shown}");
}
