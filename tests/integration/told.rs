//! Each attempt that is told is in the journal once, whoever tells it and whatever was read before.

use std::fs;
use std::process::Stdio;

use ralph_memory::Task;
use ralph_memory::entry::Outcome;
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
        let agent = || self.base.memory().open_iterations().into_iter().find_map(|open| open.agent);
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
                    attempt["tried"] = text.as_str().into();
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
                let text = if attempt.head.outcome == Outcome::Failed { sections.tried } else { sections.notes };
                found.push((task, attempt.head.outcome.as_str(), text.trim_start_matches("> ").to_owned()));
            }
        }
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        assert_eq!(self.base.files(".ralph/journal").len(), expected.len());
        assert!(memory.open_iterations().is_empty() && self.base.kept().is_empty());
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
