//! Runs with scripts as agents, each in its own memory.

use std::fs;
use std::time::Duration;

use super::*;
use crate::agent_output::transcript::AgentEvent;
use crate::entry::Attempt;
use crate::error::Error;
use crate::memory::StateFolders;
use crate::runner::{CommandLine, Interrupt, PromptTemplate, RunAttempt, RunLimit};

/// What an agent runs that says that its task is done.
const DONE: &str = "echo \"<task-done>$RALPH_TASK_ID</task-done>\"";

/// Runs in one folder.
struct Trial {
    folder: tempfile::TempDir,
    agent: String,
    verify: Option<String>,
    template: Option<String>,
    checklist: Option<&'static str>,
    max_attempts: Option<u32>,
    /// Whether it is interrupted when there is a file `ready`.
    is_interrupted: bool,
    keep_going: Option<Duration>,
}

/// What came of a run.
struct Came {
    end: Result<RunEnd>,
    progress: RunProgress,
    attempts: Vec<Attempt>,
    io: Notes,
}

/// Writes down what happens, in a line each.
#[derive(Default)]
struct Notes {
    lines: Vec<String>,
    /// What the agent printed, and what it did by its event stream.
    agent: Vec<String>,
    state: std::path::PathBuf,
    /// What was kept of the attempt when somebody was asked.
    kept: String,
}

impl RunIo for Notes {
    fn event(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::TaskStarted { title } => self.lines.push(title.to_owned()),
            RunEvent::AttemptStarted { attempt, last } => {
                self.lines.push(format!("attempt {} of {last:?}", attempt.number));
            }
            RunEvent::AttemptEnded { recorded, .. } => {
                self.lines.push(format!("attempt {}", recorded.outcome.as_str()));
            }
            RunEvent::Agent(event) => self.agent.push(format!("{event:?}")),
            RunEvent::Line(line) => self.agent.push(line.to_owned()),
            RunEvent::Warning(text) if text.contains("waiting") => self.lines.push(text.to_owned()),
            _ => {}
        }
    }

    fn feedback(&mut self) -> String {
        let files = fs::read_dir(&self.state).unwrap().map(|file| file.unwrap().path());
        for file in files.filter(|file| file.extension().is_some_and(|end| end == "json")) {
            self.kept.push_str(&fs::read_to_string(file).unwrap());
        }
        "Use the lock.".to_owned()
    }
}

impl Trial {
    fn new(agent: &str) -> Trial {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        Trial {
            folder,
            agent: format!("sh -c {}", shlex::try_quote(agent).unwrap()),
            verify: None,
            template: None,
            checklist: None,
            max_attempts: None,
            is_interrupted: false,
            keep_going: None,
        }
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    fn run(&self) -> Came {
        let root = self.folder.path();
        let state = root.join("state");
        let memory = Memory::open(root).unwrap().keeping_in(StateFolders::new([state.clone()]));
        let task = Task { feature: Some("f".into()), ..Task::new("Add the tables") };
        let assignment = match self.checklist {
            None => Assignment::Task(task),
            Some(text) => {
                fs::write(root.join("tasks.md"), text).unwrap();
                Assignment::Checklist { path: root.join("tasks.md"), like: task }
            }
        };
        let template = self.template.as_ref().map(|text| {
            fs::write(root.join("prompt.md"), text).unwrap();
            PromptTemplate::read(&root.join("prompt.md")).unwrap()
        });
        let interrupt = Interrupt::default();
        if self.is_interrupted {
            let (interrupt, ready) = (interrupt.clone(), root.join("ready"));
            std::thread::spawn(move || {
                while !ready.exists() {
                    std::thread::yield_now();
                }
                interrupt.raise();
            });
        }
        let options = RunOptions {
            verify: self.verify.as_ref().map(|verify| CommandLine::parse("--verify", verify).unwrap()),
            template,
            run: Some(Run::named("run-1")),
            max_iterations: Some(4),
            max_attempts: self.max_attempts,
            reports_agent: true,
            keep_going: self.keep_going,
            grace: Duration::from_millis(20),
            interrupt,
            ..RunOptions::new(CommandLine::parse("--agent", &self.agent).unwrap())
        };
        let mut progress = RunProgress::default();
        let mut io = Notes { state, ..Notes::default() };
        let end = RunLoop::new(&memory, &options, &assignment).and_then(|mut run| run.run(&mut progress, &mut io));
        let attempts = memory.attempts_of_run("run-1").into_iter().map(|(_, attempt)| attempt).collect();
        Came { end, progress, attempts, io }
    }
}

impl Came {
    fn outcomes(&self) -> Vec<&str> {
        self.progress.attempts.iter().map(|RunAttempt { outcome, .. }| outcome.as_str()).collect()
    }
}

#[test]
fn a_run_ends_when_the_task_is_done() {
    let variables = "echo $RALPH_MODEL $RALPH_RUN_ID $RALPH_ATTEMPT $RALPH_TASK_ID > variables.txt";
    let trial = Trial::new(&format!("cat > prompt.txt; {variables}; echo starting; {DONE}"));
    let came = trial.run();
    assert_eq!(came.end.as_ref().unwrap(), &RunEnd::Done);
    assert_eq!(came.outcomes(), ["done"]);
    let id = Task::id_of_title("Add the tables");
    assert_eq!(trial.file("variables.txt"), format!("sonnet run-1 1 {id}\n"));
    assert!(trial.file("prompt.txt").contains(&format!("**ID:** {id}\n**Title:** Add the tables\n\n")));
    assert_eq!(came.io.lines, ["attempt 1 of Some(4)", "attempt done"]);
    // Lines that are no events are passed on.
    assert_eq!(came.io.agent, ["starting".to_owned(), format!("<task-done>{id}</task-done>")]);
}

#[test]
fn a_stream_is_read() {
    let id = Task::id_of_title("Add the tables");
    let said = format!(
        r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"<task-done>{id}</task-done> \u001b[31m"}}}}"#
    );
    let turn = r#"{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":1}}"#;
    let begun = r#"{"type":"thread.started","thread_id":"00000000-0000-7000-8000-000000000001"}"#;
    let came = Trial::new(&format!("echo '{begun}'; echo '{}'; echo '{turn}'", said.replace('\\', "\\\\"))).run();
    assert_eq!(came.outcomes(), ["done"]);
    assert_eq!((came.attempts[0].head.tokens_in, came.progress.tokens), (Some(5), 6));
    // No line of it is passed on as it came. The text is as the agent said it: whoever prints it escapes it.
    let message = AgentEvent::Message(format!("<task-done>{id}</task-done> \u{1b}[31m"));
    assert_eq!(came.io.agent, [format!("{message:?}")]);
}

#[test]
fn what_is_not_verified_is_not_done() {
    let mut trial = Trial::new(DONE);
    // The third time it is there.
    trial.verify = Some("sh -c 'echo x >> count; echo checked; test $(wc -l < count) -gt 2'".into());
    let came = trial.run();
    assert_eq!(came.end.as_ref().unwrap(), &RunEnd::Done);
    assert_eq!(came.outcomes(), ["retried", "retried", "done"]);
    let validation = came.attempts[0].head.validation.as_ref().unwrap();
    assert_eq!((validation.exit_code, came.attempts[0].sections.validation_output.trim()), (1, "checked"));
    assert_eq!(validation.command, trial.verify.clone().unwrap());
    // An agent that was ended is not verified.
    let mut trial = Trial::new("touch ready; sleep 1000");
    trial.verify = Some("touch verified".into());
    trial.is_interrupted = true;
    trial.run();
    assert!(!trial.folder.path().join("verified").exists());
}

#[test]
fn runs_and_tasks_have_their_limits() {
    let mut trial = Trial::new("echo hm");
    let came = trial.run();
    assert_eq!(came.end.as_ref().unwrap(), &RunEnd::Limit(RunLimit::Iterations));
    let task = &came.progress.tasks[0];
    assert_eq!((came.outcomes().len(), task.attempts, task.done), (4, 4, false));
    trial.max_attempts = Some(2);
    let came = trial.run();
    assert_eq!(came.end.as_ref().unwrap(), &RunEnd::Limit(RunLimit::Attempts));
    assert_eq!(came.outcomes().len(), 2);
    // A run that goes on does not begin at 1.
    assert_eq!(came.io.lines[0], "attempt 5 of Some(8)");
}

#[test]
fn a_prompt_comes_in_a_file_where_that_is_wanted() {
    let mut trial = Trial::new(&format!("cat \"$1\" > prompt.txt; cat >> prompt.txt; {DONE}; echo \"$1\" > where"));
    trial.agent.push_str(" sh {prompt_file}");
    trial.template = Some("{{task_title}}|{{#if context}}context{{/if}}|{{attempt}}\n".into());
    trial.run();
    assert_eq!(trial.file("prompt.txt"), "Add the tables|context|1\n");
    assert!(!std::path::Path::new(trial.file("where").trim()).exists());
}

#[test]
fn a_checklist_is_worked_off() {
    let agent = format!("case $(cat) in *'Title:** Second'*) test -e once && {DONE}; touch once;; *) {DONE};; esac");
    let mut trial = Trial::new(&agent);
    trial.checklist = Some("- [ ] First\n  - [ ] Same\n- [x] Zeroth\n- [ ] Same\n- [ ] Second\n");
    trial.max_attempts = Some(1);
    let came = trial.run();
    assert_eq!(came.end.as_ref().unwrap(), &RunEnd::Limit(RunLimit::Attempts));
    let shown: Vec<&String> = came.io.lines.iter().filter(|line| !line.starts_with("attempt")).collect();
    assert_eq!(shown, ["Same", "First", "Same", "Second"]);
    assert_eq!(came.outcomes(), ["done", "done", "done", "blocked"]);
    let titles: Vec<&str> = came.attempts.iter().map(|attempt| attempt.task_title.as_str()).collect();
    assert_eq!(titles, ["Same", "First", "Same", "Second"]);
    assert_eq!(trial.file("tasks.md"), "- [x] First\n  - [x] Same\n- [x] Zeroth\n- [x] Same\n- [ ] Second\n");
    let tasks: Vec<(&str, bool)> = came.progress.tasks.iter().map(|task| (task.title.as_str(), task.done)).collect();
    assert_eq!(tasks, [("Same", true), ("First", true), ("Same", true), ("Second", false)]);
    trial.checklist = Some("- [x] First\n");
    let came = trial.run();
    assert_eq!((came.end.unwrap(), came.progress.attempts.len()), (RunEnd::Done, 0));
}

#[test]
fn a_box_that_cannot_be_ticked_ends_the_run() {
    let mut trial = Trial::new(&format!("echo '- [ ] Other' > tasks.md; {DONE}"));
    trial.checklist = Some("- [ ] First\n");
    let came = trial.run();
    assert!(matches!(came.end, Ok(RunEnd::NotTicked(_))), "{:?}", came.end);
    assert_eq!((came.outcomes(), trial.file("tasks.md").as_str()), (vec!["done"], "- [ ] Other\n"));
}

#[test]
fn a_run_that_keeps_going_pauses_and_heeds_its_limits() {
    let mut trial = Trial::new("echo 'no route' >&2; exit 1");
    trial.keep_going = Some(Duration::ZERO);
    let came = trial.run();
    assert_eq!(came.end.as_ref().unwrap(), &RunEnd::Limit(RunLimit::Iterations));
    assert_eq!(came.outcomes(), ["error"; 4]);
    // It does not wait for an attempt that never begins.
    let pauses: Vec<&String> = came.io.lines.iter().filter(|line| line.contains("waiting")).collect();
    let told = "the agent ended with an error 3 times in a row, within 10 s each: exit code 1: no route; waiting 0 s";
    assert_eq!(pauses, [told]);
    let mut trial = Trial::new("echo 'Claude AI usage limit reached|1755615600'; touch ready; exit 1");
    trial.keep_going = Some(Duration::from_secs(1_000_000));
    trial.is_interrupted = true;
    let came = trial.run();
    assert_eq!((came.end.as_ref().unwrap(), came.outcomes().len()), (&RunEnd::Interrupted, 1));
    // Without it, the run is over.
    trial.keep_going = None;
    trial.is_interrupted = false;
    let told =
        "the agent's account is at its usage limit: Claude AI usage limit reached|1755615600 (2025-08-19 15:00 UTC)";
    assert_eq!(trial.run().end.unwrap(), RunEnd::UsageLimit(told.into()));
}

#[test]
fn an_interrupt_is_written_down_with_what_was_said() {
    let mut trial = Trial::new("echo '<journal>Half of it.</journal>'; touch ready; sleep 1000");
    trial.is_interrupted = true;
    let came = trial.run();
    assert_eq!(came.end.as_ref().unwrap(), &RunEnd::Interrupted);
    assert_eq!(came.outcomes(), ["interrupted"]);
    assert_eq!(came.attempts[0].sections.feedback.trim(), "Use the lock.");
    assert_eq!(came.attempts[0].sections.notes.trim(), "Half of it.");
    // Whoever does not answer but interrupts once more loses nothing.
    assert!(came.io.kept.contains("Half of it.") && !came.io.kept.contains("Use the lock."), "{}", came.io.kept);
    let mut trial = Trial::new(DONE);
    trial.verify = Some("sh -c 'touch ready; sleep 1000'".into());
    trial.is_interrupted = true;
    let came = trial.run();
    assert_eq!(came.outcomes(), ["interrupted"]);
    assert_eq!(came.attempts[0].head.validation, None);
}

#[test]
fn a_command_that_does_not_exist_ends_the_run_and_is_not_an_attempt() {
    for agent in ["./absent", "sh -c 'exec ./absent'", "sh -c 'true; no-such-command'"] {
        let mut trial = Trial::new("");
        trial.agent = agent.into();
        let came = trial.run();
        assert!(matches!(came.end, Err(Error::Unusable { .. })), "{agent}");
        assert_eq!((came.attempts.len(), came.progress.attempts.len()), (0, 0), "{agent}");
        assert_eq!(Memory::open(trial.folder.path()).unwrap().open_attempts(), [], "{agent}");
    }
    // What the agent did is not lost, and is not held against it.
    for verify in ["./absent", "sh -c 'true; no-such-command'"] {
        let mut trial = Trial::new(DONE);
        trial.verify = Some(verify.into());
        let came = trial.run();
        assert!(matches!(came.end, Err(Error::Unusable { .. })), "{verify}");
        assert_eq!((came.outcomes(), &came.attempts[0].head.validation), (vec!["error"], &None));
    }
    // One that says something and then has this exit status worked.
    let came = Trial::new("echo hm; no-such-command").run();
    assert_eq!((came.outcomes().len(), matches!(came.end, Ok(RunEnd::Crashing(_)))), (3, true));
}

#[test]
fn an_error_of_the_memory_ends_the_run() {
    let trial = Trial::new("touch started");
    fs::write(trial.folder.path().join(".ralph/state"), "no folder").unwrap();
    let came = trial.run();
    assert!(matches!(came.end, Err(Error::Io { .. })), "{:?}", came.end);
    assert!(came.progress.attempts.is_empty() && !trial.folder.path().join("started").exists());
}
