//! The loop: one iteration after the other, until there is nothing left to do or somebody says stop.
//!
//! It knows no memory. Whoever keeps the journal is a parameter, so that it can be tried without one.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use ralph_memory::entry::attempt::Outcome;
use ralph_memory::transcript::{Format, Reader, UNKNOWN_FORMAT};
use ralph_memory::{Problem, Task};

use super::attempt::{Begun, Keeper, Recorded, Report, Spent, Validated};
use super::command::{CommandLine, Values};
use super::interrupt::Interrupt;
use super::live::{self, Ended, Live};
use super::log::{Log, Logged};
use super::one_line;
use super::process::{self, Job, Patience, Ran, Seen};
use super::prompt::{Parts, PromptFile, Template};
use super::setup::{no_command, not_found};
use super::summary::{Iteration, Worked};
use super::task_file::{self, Item, Next, Ticked};
use crate::error::Usage;

/// The exit status of a verification that a time-out ended, as `timeout` reports it.
const TIMED_OUT: i32 = 124;

/// Where tasks come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work<'a> {
    /// This is the task.
    One(&'a Task),
    /// The open boxes of this file are, one after the other. Feature, section and paths are those of
    /// the task beside it.
    Checklist(&'a Path, &'a Task),
}

/// What is to be run, and how often.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    /// The tasks.
    pub(crate) work: Work<'a>,
    /// The agent.
    pub(crate) agent: &'a CommandLine,
    /// What says whether a task is done.
    pub(crate) verify: Option<&'a CommandLine>,
    /// What the prompt is made with.
    pub(crate) template: Option<&'a Template>,
    /// How many iterations at most; `None` where there is no limit.
    pub(crate) max_iterations: Option<u32>,
    /// How many attempts at one task at most.
    pub(crate) max_attempts: Option<u32>,
    /// How many US dollars the run may cost.
    pub(crate) max_cost: Option<f64>,
    /// How many tokens it may take.
    pub(crate) max_tokens: Option<u64>,
    /// How many attempts the run made at tasks before it was resumed, by the task's id.
    pub(crate) earlier: &'a BTreeMap<String, u32>,
    /// Where commands are run.
    pub(crate) folder: &'a Path,
    /// How long is waited for them.
    pub(crate) patience: Patience,
    /// How long the agent may take.
    pub(crate) timeout: Option<Duration>,
    /// How long verification may take.
    pub(crate) verify_timeout: Option<Duration>,
    /// What keeps the agent's output.
    pub(crate) log: Option<&'a Log>,
    /// Makes what reads the agent's output.
    pub(crate) reader: &'a dyn Fn() -> Reader,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All that was asked for is done.
    Done,
    /// It had all its iterations.
    Iterations,
    /// The task had all its attempts.
    Attempts,
    /// It has spent what it may: by which option, and how much of how much.
    Spent(&'static str, String),
    /// A task is done, and its box could not be ticked, for this reason. What follows it is not begun:
    /// it would be the same task again.
    NotTicked(String),
    /// Somebody stopped it.
    Interrupted,
}

/// A run as far as it came.
#[derive(Debug, Default)]
pub(crate) struct Driven {
    /// Its iterations.
    pub(crate) iterations: Vec<Iteration>,
    /// Its tasks, in the order in which they were begun.
    pub(crate) tasks: Vec<Worked>,
    /// What its agents said in a way that could not be taken over.
    pub(crate) refused: Vec<String>,
    /// What happened on the way that a person should look at.
    pub(crate) problems: Vec<Problem>,
    /// What it has spent, also before it was resumed.
    pub(crate) spent: Spent,
}

/// The outside of a run.
pub(crate) struct Around<'a> {
    /// Whether it is to stop.
    pub(crate) interrupt: &'a Interrupt,
    /// What is shown of it.
    pub(crate) live: &'a mut Live,
    /// Where that is shown.
    pub(crate) err: &'a mut dyn Write,
    /// Asks whoever stopped it.
    pub(crate) ask: &'a mut dyn FnMut(&mut dyn Write) -> String,
}

/// Runs one iteration after the other. `driven` says how far it came, also where an error ends it.
pub(crate) fn drive(
    plan: &Plan<'_>,
    keeper: &mut dyn Keeper,
    around: &mut Around<'_>,
    driven: &mut Driven,
) -> anyhow::Result<Stop> {
    let mut last = None;
    // Limits of which somebody was told that they do not hold.
    let mut unsaid: Vec<&str> = Vec::new();
    // The title that stands above what is shown, until its box is done: the next one may have the same.
    let mut titled: Option<String> = None;
    // A box stays the one that is worked on until its task is done, whatever an agent does to the file.
    let mut current: Option<(Task, Option<Item>)> = None;
    loop {
        if around.interrupt.is_raised() {
            return Ok(Stop::Interrupted);
        }
        let Some((task, item)) =
            current.take().map_or_else(|| next_task(plan.work, driven), |current| Ok(Some(current)))?
        else {
            return Ok(Stop::Done);
        };
        let worked = driven.tasks.iter().find(|worked| worked.is_of(&task));
        let earlier = task.id.as_ref().and_then(|id| plan.earlier.get(id)).copied().unwrap_or(0);
        let n_attempts = worked.map_or(0, |worked| worked.iterations).saturating_add(earlier);
        if plan.max_attempts.is_some_and(|most| n_attempts >= most) {
            return Ok(Stop::Attempts);
        }
        if plan.max_iterations.is_some_and(|most| driven.iterations.len() >= most as usize) {
            return Ok(Stop::Iterations);
        }
        if let Some(stop) = spent(plan, driven.spent) {
            return Ok(stop);
        }
        let begun = keeper.begin(&task)?;
        // A resumed run does not begin at 1.
        let last = *last.get_or_insert(plan.max_iterations.map(|most| begun.number.saturating_add(most - 1)));
        if let Some(warning) = &begun.warning {
            let _ = writeln!(around.err, "warning: {}", one_line(warning));
        }
        if item.is_some() && titled.as_ref() != Some(&task.title) {
            around.live.task(around.err, &task.title);
            titled = Some(task.title.clone());
        }
        around.live.begin(around.err, begun.number, last, &begun.model);
        let (report, failed) = match iterate(plan, keeper, around, &task, &begun) {
            Ok(iterated) => iterated,
            Err(error) => {
                around.live.clear();
                keeper.abandon();
                return Err(error);
            }
        };
        let recorded = keeper.finish(&report)?;
        let Recorded { outcome, cost_usd, tokens, .. } = recorded;
        let refused = recorded.refused.len();
        around.live.end(around.err, &Ended { outcome, duration: report.duration, cost_usd, tokens, refused });
        for problem in &recorded.problems {
            let _ = writeln!(around.err, "warning: {}", one_line(&problem.to_string()));
        }
        for (most, told, option) in [
            (plan.max_cost.is_some(), cost_usd.is_some(), "--max-cost"),
            (plan.max_tokens.is_some(), tokens.is_some(), "--max-tokens"),
        ] {
            if most && !told && !unsaid.contains(&option) {
                unsaid.push(option);
                let _ = writeln!(around.err, "warning: {}", uncounted(begun.number, option));
            }
        }
        driven.spent.add(cost_usd, tokens);
        driven.note(&task, begun, report.duration, recorded);
        if let Some(error) = failed {
            return Err(error);
        }
        // An agent that was stopped alone does not stop the run.
        if report.outcome == Some(Outcome::Interrupted) {
            return Ok(Stop::Interrupted);
        }
        let (Work::Checklist(path, _), Some(item)) = (plan.work, item) else { continue };
        if outcome == Outcome::Done {
            titled = None;
            if let Ticked::Not(reason) = task_file::tick(path, &item)? {
                return Ok(Stop::NotTicked(reason));
            }
        } else if task_file::untick(path, &item)? {
            current = Some((task, Some(item)));
        }
    }
}

/// Returns why no further iteration begins, where the run has spent what it may.
fn spent(plan: &Plan<'_>, spent: Spent) -> Option<Stop> {
    let cost = plan.max_cost.filter(|most| spent.cost_usd >= *most);
    let tokens = plan.max_tokens.filter(|most| spent.tokens >= *most);
    cost.map(|most| Stop::Spent("--max-cost", format!("{} of {}", live::dollars(spent.cost_usd), live::dollars(most))))
        .or(tokens.map(|most| Stop::Spent("--max-tokens", format!("{} of {most} tokens", spent.tokens))))
}

/// Says that an iteration counts nothing for a limit.
fn uncounted(number: u32, option: &str) -> String {
    let what = if option == "--max-cost" { "cost" } else { "tokens" };
    format!("iteration {number} says nothing of its {what}, so `{option}` cannot count it; event streams say it")
}

/// Returns the task that is next, with its box where it has one.
fn next_task(work: Work<'_>, driven: &Driven) -> anyhow::Result<Option<(Task, Option<Item>)>> {
    match work {
        Work::One(_) if driven.tasks.iter().any(|worked| worked.done) => Ok(None),
        Work::One(task) => Ok(Some((task.clone(), None))),
        Work::Checklist(path, like) => Ok(match task_file::next(path)? {
            Next::AllTicked(_) => None,
            Next::Open(item) => {
                let Task { feature, section, files, .. } = like.clone();
                Some((Task { feature, section, files, ..item.task() }, Some(item)))
            }
        }),
    }
}

/// Runs the agent and what verifies it. An error beside a report is one that stops the run once the iteration is
/// written down.
///
/// # Errors
///
/// Those of a command line or a template that is wrong, so that no agent ever worked: nothing is to be written down.
fn iterate(
    plan: &Plan<'_>,
    keeper: &mut dyn Keeper,
    around: &mut Around<'_>,
    task: &Task,
    begun: &Begun,
) -> anyhow::Result<(Report, Option<anyhow::Error>)> {
    let mut reader = (plan.reader)();
    let mut report = match agent(plan, keeper, around, task, begun, &mut reader) {
        Ok(ran) => Report {
            agent_exit: Some(ran.exit_code),
            duration: ran.duration,
            outcome: match ran.timed_out {
                Some(_) => Some(Outcome::Blocked),
                None => ran.interrupted.then_some(Outcome::Interrupted),
            },
            said: reader.finish(),
            errors: with_timeout(ran.stderr.text, "the agent", ran.timed_out),
            ..Report::default()
        },
        Err(error) if error.is::<Usage>() => return Err(error),
        Err(error) => {
            let report = Report { errors: format!("{error:#}"), outcome: Some(Outcome::Error), ..Report::default() };
            return Ok((report, Some(error)));
        }
    };
    let is_silent = report.said.text.trim().is_empty() && report.said.n_events == 0;
    if is_silent && let Some(line) = not_found(report.agent_exit, &report.errors) {
        return Err(no_command("--agent", line).into());
    }
    let mut failed = None;
    if report.said.format == Format::Unknown {
        // The next iteration's output would not be read, either.
        let message = format!("cannot read what `{}` prints: {UNKNOWN_FORMAT}", plan.agent);
        let hint = "let it print one of these, or, where it prints its own words alone, say `--format text`".to_owned();
        failed = Some(Usage { message, hint }.into());
    }
    if let Some(verify) = plan.verify
        && failed.is_none()
        && !around.interrupt.is_raised()
        && keeper.wants_verification(&report)
    {
        around.live.line("verifying");
        match run(plan, around, verify, begun, &Fed::default(), None) {
            Ok(ran) => match not_found(Some(ran.exit_code), &ran.stderr.text) {
                Some(line) => failed = Some(no_command("--verify", line).into()),
                None => report.validation = Some(validated(verify, ran)),
            },
            Err(error) => failed = Some(error),
        }
        if let Some(error) = &failed {
            // What the agent did is not lost, and nobody knows whether it is right.
            report.outcome = Some(Outcome::Error);
            report.errors = format!("{error:#}");
        }
    }
    if around.interrupt.is_raised() {
        // What a verification says that was cut short is not true.
        report.outcome = Some(Outcome::Interrupted);
        report.validation = None;
        around.live.clear();
        if !around.interrupt.is_impatient() {
            keeper.keep(&report);
            report.feedback = around.interrupt.asking(|| (around.ask)(around.err));
        }
    }
    Ok((report, failed))
}

/// Returns how verification went.
fn validated(verify: &CommandLine, ran: Ran) -> Validated {
    let text = if ran.stdout.text.trim().is_empty() { ran.stderr.text } else { ran.stdout.text };
    Validated {
        command: verify.to_string(),
        // Whatever it says of itself, it verified nothing.
        exit_code: ran.timed_out.map_or(ran.exit_code, |_| TIMED_OUT),
        duration: ran.duration,
        output: with_timeout(text, "this", ran.timed_out),
    }
}

/// Returns what a command wrote, and that a time-out ended it where one did.
fn with_timeout(text: String, whom: &str, timed_out: Option<Duration>) -> String {
    let Some(limit) = timed_out else { return text };
    let line = format!("The time-out of {} ended {whom}.", live::duration(limit));
    if text.trim().is_empty() { line } else { format!("{}\n{line}", text.trim_end()) }
}

fn agent(
    plan: &Plan<'_>,
    keeper: &mut dyn Keeper,
    around: &mut Around<'_>,
    task: &Task,
    begun: &Begun,
    reader: &mut Reader,
) -> anyhow::Result<Ran> {
    let parts = Parts {
        task,
        task_id: &begun.task_id,
        context: &begun.context,
        progress: &begun.progress,
        model: &begun.model,
        iteration: begun.number,
        run_id: &begun.run_id,
    };
    let prompt = match plan.template {
        Some(template) => template.prompt(&parts)?,
        None => parts.prompt(),
    };
    let mut logged = plan.log.map(|log| log.begin(&begun.run_id, begun.number)).transpose()?;
    let told = Some(Told { reader, keeper, logged: logged.as_mut() });
    let ran = if plan.agent.wants_prompt_file() {
        let file = PromptFile::write(&prompt)?;
        run(plan, around, plan.agent, begun, &Fed { prompt_file: Some(file.path()?), stdin: b"" }, told)
    } else {
        run(plan, around, plan.agent, begun, &Fed { prompt_file: None, stdin: prompt.as_bytes() }, told)
    };
    if let Some(warning) = logged.and_then(|logged| logged.warning()) {
        around.live.clear();
        let _ = writeln!(around.err, "warning: {}", one_line(&warning));
    }
    ran
}

/// What a command is given.
#[derive(Debug, Default)]
struct Fed<'a> {
    prompt_file: Option<&'a str>,
    stdin: &'a [u8],
}

/// Who is told of an agent.
struct Told<'a> {
    reader: &'a mut Reader,
    keeper: &'a mut dyn Keeper,
    logged: Option<&'a mut Logged>,
}

/// Runs a command. What an agent writes goes to its reader as well, so that no length of it is too long.
fn run(
    plan: &Plan<'_>,
    around: &mut Around<'_>,
    command: &CommandLine,
    begun: &Begun,
    fed: &Fed<'_>,
    mut agent: Option<Told<'_>>,
) -> anyhow::Result<Ran> {
    let Begun { run_id, task_id, model, number, .. } = begun;
    let prompt_file = fed.prompt_file;
    let arguments = command.arguments(&Values { model, prompt_file, task_id, run_id, iteration: *number });
    let iteration = number.to_string();
    let environment: [(&str, &str); 4] =
        [("RALPH_MODEL", model), ("RALPH_RUN_ID", run_id), ("RALPH_ITERATION", &iteration), ("RALPH_TASK_ID", task_id)];
    let job = Job {
        program: command.program(),
        arguments: &arguments,
        stdin: fed.stdin,
        environment: &environment,
        folder: plan.folder,
    };
    let limit = if agent.is_some() { plan.timeout } else { plan.verify_timeout };
    let live = &*around.live;
    process::run(&job, around.interrupt, Patience { limit, ..plan.patience }, &mut |seen| match seen {
        Seen::Started(pid) => {
            if let Some(told) = &mut agent {
                told.keeper.started(pid);
            }
        }
        Seen::Bytes(bytes) => {
            let Some(Told { reader, logged, .. }) = &mut agent else { return };
            reader.push(bytes);
            if let Some(logged) = logged {
                logged.push(bytes);
            }
            while let Some(event) = reader.take_event() {
                live.event(&event);
            }
        }
        Seen::Line(line) => {
            if agent.as_ref().is_none_or(|told| is_shown(told.reader.format(), line)) {
                live.line(line);
            }
        }
        Seen::AsideBytes(bytes) => {
            if let Some(Told { logged: Some(logged), .. }) = &mut agent {
                logged.push(bytes);
            }
        }
        Seen::Aside(line) => live.line(line),
        Seen::Stopping => live.line("stopping; Ctrl-C again ends everything at once"),
        Seen::TooLong => live.line("stopping: its time is up"),
    })
}

/// Returns whether a line that an agent wrote is shown as it is: not an event, of which its text is shown.
fn is_shown(format: Option<Format>, line: &str) -> bool {
    match format {
        Some(format) => format == Format::Text,
        None => !line.trim_start().starts_with('{'),
    }
}

impl Worked {
    /// Another box of the title of one that is done begins anew.
    fn is_of(&self, task: &Task) -> bool {
        !self.done && self.title == task.title
    }
}

impl Driven {
    fn note(&mut self, task: &Task, begun: Begun, duration: Duration, recorded: Recorded) {
        let Recorded { outcome, cost_usd, learned, refused, problems, .. } = recorded;
        self.refused.extend(refused);
        self.problems.extend(problems);
        let done = outcome == Outcome::Done;
        match self.tasks.iter_mut().find(|worked| worked.is_of(task)) {
            Some(worked) => (worked.iterations, worked.done) = (worked.iterations + 1, done),
            None => {
                self.tasks.push(Worked { id: begun.task_id, title: task.title.clone(), iterations: 1, done });
            }
        }
        self.iterations.push(Iteration {
            number: begun.number,
            outcome,
            model: begun.model,
            cost_usd,
            duration,
            learned,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ralph_memory::transcript::Options;

    use super::super::live::Shown;
    use super::*;

    /// A keeper without a memory: the outcome is what the text says, unless verification disagrees.
    struct Fake {
        n_begun: u32,
        reports: Vec<Report>,
        kept: Vec<Report>,
        titles: Vec<String>,
        is_broken: bool,
    }

    impl Keeper for Fake {
        fn begin(&mut self, task: &Task) -> anyhow::Result<Begun> {
            anyhow::ensure!(!self.is_broken, "the disk is full");
            self.n_begun += 1;
            self.titles.push(task.title.clone());
            Ok(Begun {
                run_id: "run-1".into(),
                number: self.n_begun + 4,
                task_id: "t-1".into(),
                model: "sonnet".into(),
                context: "What is known.".into(),
                progress: "Step 1.".into(),
                warning: None,
            })
        }

        fn started(&mut self, _: u32) {}

        fn abandon(&mut self) {
            self.n_begun -= 1;
        }

        fn wants_verification(&mut self, report: &Report) -> bool {
            report.said.text.contains("DONE")
        }

        fn keep(&mut self, report: &Report) {
            self.kept.push(report.clone());
        }

        fn finish(&mut self, report: &Report) -> anyhow::Result<Recorded> {
            self.reports.push(report.clone());
            let said = if report.said.text.contains("DONE") { Outcome::Done } else { Outcome::Blocked };
            let is_refuted = report.validation.as_ref().is_some_and(|validated| validated.exit_code != 0);
            let outcome = report.outcome.unwrap_or(if is_refuted { Outcome::Retried } else { said });
            Ok(Recorded {
                outcome,
                cost_usd: None,
                tokens: None,
                learned: Vec::new(),
                refused: Vec::new(),
                problems: Vec::new(),
            })
        }
    }

    /// A run in a folder of its own, and what came of it.
    struct Trial {
        folder: tempfile::TempDir,
        agent: String,
        verify: Option<String>,
        template: Option<String>,
        checklist: Option<&'static str>,
        max_attempts: Option<u32>,
        earlier: BTreeMap<String, u32>,
        is_broken: bool,
        /// Whether it is interrupted when there is a file `ready`.
        is_interrupted: bool,
    }

    struct Came {
        stop: anyhow::Result<Stop>,
        driven: Driven,
        fake: Fake,
        err: String,
    }

    impl Trial {
        fn new(agent: &str) -> Trial {
            Trial {
                folder: tempfile::tempdir().unwrap(),
                agent: format!("sh -c {}", shlex::try_quote(agent).unwrap()),
                verify: None,
                template: None,
                checklist: None,
                max_attempts: None,
                earlier: BTreeMap::new(),
                is_broken: false,
                is_interrupted: false,
            }
        }

        fn file(&self, name: &str) -> String {
            fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
        }

        fn run(&self) -> Came {
            let agent = CommandLine::parse("--agent", &self.agent).unwrap();
            let verify = self.verify.as_ref().map(|verify| CommandLine::parse("--verify", verify).unwrap());
            let path = self.folder.path().join("tasks.md");
            let task = Task { feature: Some("f".into()), ..Task::new("Add the tables") };
            if let Some(text) = self.checklist {
                fs::write(&path, text).unwrap();
            }
            let template = self.template.as_ref().map(|text| {
                let path = self.folder.path().join("prompt.md");
                fs::write(&path, text).unwrap();
                Template::read(&path).unwrap()
            });
            let plan = Plan {
                work: if self.checklist.is_some() { Work::Checklist(&path, &task) } else { Work::One(&task) },
                agent: &agent,
                verify: verify.as_ref(),
                template: template.as_ref(),
                max_iterations: Some(4),
                max_attempts: self.max_attempts,
                max_cost: None,
                max_tokens: None,
                earlier: &self.earlier,
                folder: self.folder.path(),
                patience: Patience { interrupted: Duration::from_millis(20), ..Patience::default() },
                timeout: None,
                verify_timeout: None,
                log: None,
                reader: &|| Reader::new(Options::default()),
            };
            let (reports, kept, titles) = (Vec::new(), Vec::new(), Vec::new());
            let mut fake = Fake { n_begun: 0, reports, kept, titles, is_broken: self.is_broken };
            let (interrupt, mut live, mut err) = (Interrupt::default(), Live::new(Shown::Iterations, &[]), Vec::new());
            if self.is_interrupted {
                let (interrupt, ready) = (interrupt.clone(), self.folder.path().join("ready"));
                std::thread::spawn(move || {
                    while !ready.exists() {
                        std::thread::yield_now();
                    }
                    interrupt.raise();
                });
            }
            let mut around = Around {
                interrupt: &interrupt,
                live: &mut live,
                err: &mut err,
                ask: &mut |_| "Use the lock.".to_owned(),
            };
            let mut driven = Driven::default();
            let stop = drive(&plan, &mut fake, &mut around, &mut driven);
            Came { stop, driven, fake, err: String::from_utf8(err).unwrap() }
        }
    }

    fn outcomes(came: &Came) -> Vec<&str> {
        came.driven.iterations.iter().map(|iteration| iteration.outcome.as_str()).collect()
    }

    #[test]
    fn a_run_ends_when_the_task_is_done() {
        let trial =
            Trial::new("cat > prompt.txt; echo $RALPH_MODEL $RALPH_RUN_ID $RALPH_ITERATION $RALPH_TASK_ID; echo DONE");
        let came = trial.run();
        assert_eq!(came.stop.as_ref().unwrap(), &Stop::Done);
        assert_eq!(outcomes(&came), ["done"]);
        assert_eq!(came.fake.reports[0].said.text, "sonnet run-1 5 t-1\nDONE\n");
        assert!(
            trial
                .file("prompt.txt")
                .contains("**Title:** Add the tables\n\nWhat is known.\n\n## Progress\n\nStep 1.\n")
        );
        assert_eq!(came.err.lines().next(), Some("iteration 5 of 8 · sonnet"));
        assert!(came.err.lines().nth(1).unwrap().starts_with("iteration 5 of 8 · sonnet · done · "));
    }

    #[test]
    fn of_a_stream_no_line_is_shown_as_it_came() {
        let check = |format, line: &str, expected| assert_eq!(is_shown(format, line), expected, "{format:?} {line}");
        check(Some(Format::Text), "{\"a\": 1}", true);
        check(Some(Format::Claude), "{\"type\": \"user\"}", false);
        check(Some(Format::Codex), "{\"type\": \"turn.started\"}", false);
        check(None, "starting", true);
        check(None, "  {\"type\": \"system\"", false);
        let said = r#"{"type":"item.completed","item":{"type":"agent_message","text":"DONE \u001b[31m"}}"#;
        let turn = r#"{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":1}}"#;
        let came = Trial::new(&format!("echo '{}'; echo '{turn}'", said.replace('\\', "\\\\"))).run();
        assert_eq!(outcomes(&came), ["done"]);
        assert_eq!(
            (came.fake.reports[0].said.text.as_str(), came.fake.reports[0].said.tokens_in),
            ("DONE \u{1b}[31m", Some(5))
        );
    }

    #[test]
    fn what_is_not_verified_is_not_done() {
        let mut trial = Trial::new("echo DONE");
        // The third time it is there.
        trial.verify = Some("sh -c 'echo x >> count; echo checked; test $(wc -l < count) -gt 2'".into());
        let came = trial.run();
        assert_eq!(came.stop.as_ref().unwrap(), &Stop::Done);
        assert_eq!(outcomes(&came), ["retried", "retried", "done"]);
        let validated = came.fake.reports[0].validation.as_ref().unwrap();
        assert_eq!((validated.exit_code, validated.output.as_str()), (1, "checked\n"));
        assert_eq!(validated.command, trial.verify.clone().unwrap());
        let mut trial = Trial::new("echo hm");
        trial.verify = Some("touch verified".into());
        trial.run();
        assert!(!trial.folder.path().join("verified").exists());
    }

    #[test]
    fn iterations_and_attempts_have_their_limits() {
        let mut trial = Trial::new("echo hm");
        let came = trial.run();
        assert_eq!(came.stop.as_ref().unwrap(), &Stop::Iterations);
        assert_eq!((outcomes(&came).len(), came.driven.tasks[0].iterations, came.driven.tasks[0].done), (4, 4, false));
        trial.max_attempts = Some(2);
        let came = trial.run();
        assert_eq!(came.stop.as_ref().unwrap(), &Stop::Attempts);
        assert_eq!(outcomes(&came).len(), 2);
    }

    #[test]
    fn a_prompt_comes_in_a_file_where_that_is_wanted() {
        let mut trial = Trial::new("cat \"$1\"; cat; echo DONE; echo \"$1\" > where");
        trial.agent.push_str(" sh {prompt_file}");
        trial.template = Some("{{task_title}}|{{context}}|{{iteration}}\n".into());
        let came = trial.run();
        assert_eq!(came.fake.reports[0].said.text, "Add the tables|What is known.|5\nDONE\n");
        assert!(!Path::new(trial.file("where").trim()).exists());
    }

    #[test]
    fn a_checklist_is_worked_off() {
        let mut trial =
            Trial::new("case $(cat) in *Second*) test -e once && echo DONE; touch once;; *) echo DONE;; esac");
        trial.checklist = Some("- [ ] First\n  - [ ] Same\n- [x] Zeroth\n- [ ] Same\n- [ ] Second\n");
        trial.max_attempts = Some(1);
        let came = trial.run();
        assert_eq!(came.stop.as_ref().unwrap(), &Stop::Attempts);
        assert_eq!(came.fake.titles, ["Same", "First", "Same", "Second"]);
        let shown: Vec<&str> = came.err.lines().filter(|line| !line.contains("·")).collect();
        assert_eq!(shown, ["Same", "First", "Same", "Second"]);
        assert_eq!(outcomes(&came), ["done", "done", "done", "blocked"]);
        assert_eq!(trial.file("tasks.md"), "- [x] First\n  - [x] Same\n- [x] Zeroth\n- [x] Same\n- [ ] Second\n");
        let tasks: Vec<(&str, bool)> = came.driven.tasks.iter().map(|task| (task.title.as_str(), task.done)).collect();
        assert_eq!(tasks, [("Same", true), ("First", true), ("Same", true), ("Second", false)]);
        trial.checklist = Some("- [x] First\n");
        let came = trial.run();
        assert_eq!((came.stop.unwrap(), came.driven.iterations.len()), (Stop::Done, 0));
    }

    #[test]
    fn a_box_that_cannot_be_ticked_ends_the_run() {
        let mut trial = Trial::new("echo '- [ ] Other' > tasks.md; echo DONE");
        trial.checklist = Some("- [ ] First\n");
        let came = trial.run();
        assert!(matches!(came.stop, Ok(Stop::NotTicked(_))), "{:?}", came.stop);
        assert_eq!((outcomes(&came), trial.file("tasks.md").as_str()), (vec!["done"], "- [ ] Other\n"));
    }

    #[test]
    fn an_interrupt_is_written_down_with_what_was_said() {
        let mut trial = Trial::new("echo DONE; touch ready; sleep 1000");
        trial.is_interrupted = true;
        let came = trial.run();
        assert_eq!(came.stop.as_ref().unwrap(), &Stop::Interrupted);
        assert_eq!(outcomes(&came), ["interrupted"]);
        assert_eq!(came.fake.reports[0].feedback, "Use the lock.");
        assert_eq!(came.fake.reports[0].said.text, "DONE\n");
        // Whoever does not answer but interrupts once more loses nothing.
        assert_eq!(came.fake.kept, [Report { feedback: String::new(), ..came.fake.reports[0].clone() }]);
        let mut trial = Trial::new("echo DONE");
        trial.verify = Some("sh -c 'touch ready; sleep 1000'".into());
        trial.is_interrupted = true;
        let came = trial.run();
        assert_eq!(outcomes(&came), ["interrupted"]);
        assert_eq!(came.fake.reports[0].validation, None);
    }

    #[test]
    fn a_command_that_is_not_there_ends_the_run_and_is_no_attempt() {
        for agent in ["./absent", "sh -c 'exec ./absent'", "sh -c 'true; no-such-command'"] {
            let mut trial = Trial::new("");
            trial.agent = agent.into();
            let came = trial.run();
            assert!(came.stop.as_ref().unwrap_err().is::<Usage>(), "{agent}");
            assert_eq!(
                (came.fake.n_begun, came.fake.reports.len(), came.driven.iterations.len()),
                (0, 0, 0),
                "{agent}"
            );
        }
        // What the agent did is not lost, and is not held against it.
        for verify in ["./absent", "sh -c 'true; no-such-command'"] {
            let mut trial = Trial::new("echo DONE");
            trial.verify = Some(verify.into());
            let came = trial.run();
            assert!(came.stop.as_ref().unwrap_err().is::<Usage>(), "{verify}");
            assert_eq!((outcomes(&came), &came.fake.reports[0].validation), (vec!["error"], &None));
        }
        // One that says something and then has this exit status worked.
        let came = Trial::new("echo hm; no-such-command").run();
        assert_eq!(outcomes(&came).len(), 4);
    }

    #[test]
    fn an_error_of_the_memory_ends_the_run() {
        let mut trial = Trial::new("touch started");
        trial.is_broken = true;
        let came = trial.run();
        assert_eq!(came.stop.unwrap_err().to_string(), "the disk is full");
        assert!(came.driven.iterations.is_empty() && !trial.folder.path().join("started").exists());
    }
}
