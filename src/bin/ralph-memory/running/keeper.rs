//! The memory as the loop sees it: it begins iterations, and writes down what came of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ralph_memory::entry::attempt::{Keep, Outcome, prepare_text};
use ralph_memory::memory::{self, Iteration, Run};
use ralph_memory::progress::{self, Finished, ProgressStrategy};
use ralph_memory::{Memory, Task};

use super::attempt::{Begun, Keeper, Recorded, Report, tokens};
use super::command::{CommandLine, Values};
use super::interrupt::Interrupt;
use super::process::{self, Job, Patience};

/// The memory, one run of it, and how that is getting on.
pub(crate) struct Journal<'a> {
    memory: &'a Memory,
    run: Run,
    open: Option<Iteration>,
    progress: Box<dyn ProgressStrategy>,
    summarize: Option<Summarize<'a>>,
}

/// The command that sums up an iteration.
pub(crate) struct Summarize<'a> {
    /// Its command line.
    pub(crate) command: &'a CommandLine,
    /// Whether the run is to stop.
    pub(crate) interrupt: &'a Interrupt,
    /// Where it is run.
    pub(crate) folder: &'a Path,
}

impl<'a> Journal<'a> {
    /// Returns the journal of a run, with the progress that it has made so far.
    pub(crate) fn new(
        memory: &'a Memory,
        run: Run,
        kind: progress::ProgressKind,
        summarize: Option<Summarize<'a>>,
    ) -> Journal<'a> {
        let settings = memory.settings();
        let limits = progress::Limits { entries: settings.progress_entries, characters: settings.progress_characters };
        // What is summed up is in the journal by the time that it is recorded here.
        let mut progress = progress::strategy(kind, limits, Box::new(|_| None));
        for (_, attempt) in memory.attempts_of_run(&run.id) {
            if let Some(finished) = Finished::of(&attempt) {
                progress.record(&finished);
            }
        }
        let summarize = summarize.filter(|_| kind.needs_summary());
        Journal { memory, run, open: None, progress, summarize }
    }

    /// Returns a summary of the iteration, where one is wanted and could be made.
    fn summary(&self, iteration: &Iteration, report: &Report) -> String {
        let (Some(summarize), Some(validated)) = (&self.summarize, &report.validation) else { return String::new() };
        let finished = Finished {
            iteration: iteration.number,
            command: validated.command.clone(),
            exit_code: validated.exit_code,
            output: prepare_text(&validated.output, Keep::End, &self.memory.settings().allowed_secrets),
            duration_ms: milliseconds(validated.duration),
            files_changed: self.memory.changed_files(iteration, &told(report, String::new())),
            summary: None,
        };
        let prompt = progress::summary_prompt(&finished);
        let task_id = iteration.task_id();
        let values = Values {
            model: &iteration.model,
            prompt_file: None,
            task_id: &task_id,
            run_id: &iteration.run_id,
            iteration: iteration.number,
        };
        let arguments = summarize.command.arguments(&values);
        let job = Job {
            program: summarize.command.program(),
            arguments: &arguments,
            stdin: prompt.as_bytes(),
            environment: &[],
            folder: summarize.folder,
        };
        let ran = process::run(&job, summarize.interrupt, Patience::default(), &mut |_| {});
        // What cannot be summed up is told in the words of the command that verified it.
        ran.ok().filter(|ran| ran.exit_code == 0 && !ran.interrupted).map(|ran| ran.stdout.text).unwrap_or_default()
    }
}

impl Journal<'_> {
    /// Says to a person that a task does not get on, and where to look.
    fn warning(&self, iteration: &Iteration) -> String {
        let attempts = self.memory.attempts_of_task(&iteration.task_id());
        let models: BTreeSet<&str> = attempts.iter().filter_map(|(_, attempt)| attempt.head.model.as_deref()).collect();
        let models = if models.len() > 1 { " with every model that was tried" } else { "" };
        let look = attempts.last().map(|(id, _)| format!("have a look at `ralph-memory show {id}`, "));
        let title = &iteration.task.title;
        format!("`{title}` keeps failing{models}; {}split the task, or stop with Ctrl-C", look.unwrap_or_default())
    }
}

impl Keeper for Journal<'_> {
    fn begin(&mut self, task: &Task) -> anyhow::Result<Begun> {
        let iteration = self.memory.begin(task, &self.run)?;
        let warning = (iteration.rung > self.memory.settings().stuck_after).then(|| self.warning(&iteration));
        let begun = Begun {
            run_id: iteration.run_id.clone(),
            number: iteration.number,
            task_id: iteration.task_id(),
            model: iteration.model.clone(),
            context: iteration.context.clone(),
            progress: self.progress.text(),
            warning,
        };
        self.open = Some(iteration);
        Ok(begun)
    }

    fn started(&mut self, pid: u32) {
        if let Some(iteration) = &mut self.open {
            self.memory.note_agent(iteration, pid);
        }
    }

    /// Verification says how things are, whatever the agent says of them; but nothing of an agent that
    /// could not be run.
    fn wants_verification(&mut self, report: &Report) -> bool {
        let is_wanted = report.outcome.is_none();
        if is_wanted {
            // Whoever is killed meanwhile has verified nothing.
            self.keep(&Report { outcome: Some(Outcome::Interrupted), ..report.clone() });
        }
        is_wanted
    }

    fn abandon(&mut self) {
        if let Some(iteration) = self.open.take() {
            // What stays is told as an iteration that was begun, and taken for interrupted later.
            let _ = self.memory.cancel(&iteration);
        }
    }

    fn keep(&mut self, report: &Report) {
        if let Some(iteration) = &self.open {
            let _ = self.memory.keep(iteration, &told(report, String::new()));
        }
    }

    fn finish(&mut self, report: &Report) -> anyhow::Result<Recorded> {
        let iteration = self.open.take().ok_or_else(|| anyhow::anyhow!("an iteration ends that never began"))?;
        if self.summarize.is_some() {
            // A summary may take minutes, too.
            let _ = self.memory.keep(&iteration, &told(report, String::new()));
        }
        let progress = self.summary(&iteration, report);
        let recorded = self.memory.finish(&iteration, &told(report, progress))?;
        if let Some(finished) = Finished::of(&recorded.attempt) {
            self.progress.record(&finished);
        }
        Ok(Recorded {
            outcome: recorded.outcome,
            cost_usd: recorded.attempt.head.cost_usd,
            tokens: tokens(&recorded.attempt.head),
            learned: recorded.knowledge,
            refused: recorded.refused,
            problems: recorded.problems,
        })
    }
}

/// Returns what the memory is told of an attempt.
fn told(report: &Report, progress: String) -> memory::Report {
    // What the loop says of an agent that it ended counts, whatever exit status that one had.
    let is_crash = report.agent_exit != Some(0) || report.said.is_failed || report.outcome == Some(Outcome::Blocked);
    let is_crash = is_crash && report.outcome != Some(Outcome::Interrupted);
    memory::Report {
        transcript: Some(report.said.clone()),
        agent_exit: report.agent_exit,
        outcome: report.outcome,
        validation: report.validation.as_ref().map(|validated| memory::Validated {
            command: validated.command.clone(),
            exit_code: validated.exit_code,
            output: validated.output.clone(),
            duration_ms: milliseconds(validated.duration),
        }),
        duration_secs: Some(seconds(report.duration)),
        // What an agent that goes well says beside its answer is for people who watch it.
        errors: if is_crash { report.errors.clone() } else { String::new() },
        progress,
        feedback: report.feedback.clone(),
        ..memory::Report::default()
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a duration in seconds, in tenths of which a journal is exact enough.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10.0).round() / 10.0
}
