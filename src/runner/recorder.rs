//! The journal of a run: begins attempts, and writes down what came of them.
//!
//! It runs one command, which sums up an attempt, and knows nothing about agents.

use std::collections::BTreeSet;

use super::command::CommandValues;
use super::options::RunOptions;
use super::process::{self, Invocation, ProcessTimeouts};
use super::report::AgentReport;
use crate::context::Task;
use crate::entry::attempt::{Keep, Outcome, prepare_text};
use crate::error::Result;
use crate::memory::{Iteration, Memory, Recorded, Run};
use crate::progress::{Finished, summary_prompt};
use crate::strategy::STUCK_AFTER;
use crate::text::printed_command;

/// The memory, and one run of it.
pub(super) struct Recorder<'a> {
    memory: &'a Memory,
    options: &'a RunOptions,
    run: Run,
}

impl<'a> Recorder<'a> {
    /// Returns the recorder of a run.
    pub(super) fn new(memory: &'a Memory, options: &'a RunOptions) -> Result<Recorder<'a>> {
        let run = options.run.clone().unwrap_or_else(|| memory.new_run());
        let n_before = memory.next_number(&run.id)? - 1;
        let limit = options.max_iterations.map(|most| n_before.saturating_add(most));
        let has_own_model = !options.agent.is_told_model(memory.root());
        for command in options.summarize.iter().chain(&options.verify).filter(|_| has_own_model) {
            command.refuse_model()?;
        }
        let run = Run { limit, has_own_model, ..run };
        Ok(Recorder { memory, options, run })
    }

    /// Returns the name of the run.
    pub(super) fn run_id(&self) -> &str {
        &self.run.id
    }

    /// Begins an attempt of the task.
    pub(super) fn begin(&self, task: &Task) -> Result<Iteration> {
        let _operation = self.memory.operation("run");
        self.memory.begin(task, &self.run)
    }

    /// Returns the number of the last attempt that the run may have.
    pub(super) fn last(&self) -> Option<u32> {
        self.run.limit
    }

    /// Returns what the attempts so far have come to; may be empty.
    pub(super) fn progress(&self) -> String {
        self.memory.progress(&self.run.id, self.options.progress)
    }

    /// Returns what a person should know of a task that fails again and again.
    pub(super) fn warning(&self, iteration: &Iteration) -> Option<String> {
        if iteration.rung <= STUCK_AFTER {
            return None;
        }
        let attempts = self.memory.attempts_of_task(&iteration.task_id());
        let models: BTreeSet<&str> = attempts.iter().filter_map(|(_, attempt)| attempt.head.model.as_deref()).collect();
        let models = if models.len() > 1 { " with every model that was tried" } else { "" };
        let show = |id: &str| format!("see {}, ", printed_command("ralph-memory show ID", &[("ID", id)]));
        let show = attempts.last().map(|(id, _)| show(id.as_str()));
        let title = &iteration.task.title;
        Some(format!(
            "`{title}` keeps failing{models}; {}split the task, or stop with Ctrl-C",
            show.unwrap_or_default()
        ))
    }

    /// Notes the process of the agent.
    pub(super) fn started(&self, iteration: &mut Iteration, pid: u32) {
        self.memory.note_agent(iteration, pid);
    }

    /// Gives up an attempt in which nothing happened.
    pub(super) fn abandon(&self, iteration: &Iteration) {
        // One that stays is an attempt that was begun, and taken for interrupted later.
        let _ = self.memory.cancel(iteration);
    }

    /// Keeps what came of the attempt, for the case that this process ends before it is written down.
    pub(super) fn keep(&self, iteration: &Iteration, report: &AgentReport) {
        let _ = self.memory.keep(iteration, &report.with_summary(String::new()));
    }

    /// Keeps it before verification: where this process is killed meanwhile, nothing was verified.
    pub(super) fn keep_unverified(&self, iteration: &Iteration, report: &AgentReport) {
        self.keep(iteration, &AgentReport { outcome: Some(Outcome::Interrupted), ..report.clone() });
    }

    /// Writes down what came of the iteration.
    pub(super) fn finish(&self, iteration: &Iteration, report: &AgentReport) -> Result<Recorded> {
        let summary = self.summary(iteration, report);
        let _operation = self.memory.operation("run");
        self.memory.finish(iteration, &report.with_summary(summary))
    }

    /// Returns a summary of the attempt, where one is wanted and could be made.
    fn summary(&self, iteration: &Iteration, report: &AgentReport) -> String {
        let Some(summarize) = self.options.summarize.as_ref().filter(|_| self.options.progress.needs_summary()) else {
            return String::new();
        };
        // A summary may take minutes, too.
        self.keep(iteration, report);
        let Some(validated) = &report.validation else { return String::new() };
        let finished = Finished {
            iteration: iteration.number,
            command: validated.command.clone(),
            exit_code: validated.exit_code,
            output: prepare_text(&report.validation_output, Keep::End, &self.memory.settings().allowed_secrets),
            duration_ms: validated.duration_ms,
            files_changed: self.memory.changed_files(iteration, &report.with_summary(String::new())),
            summary: None,
        };
        let prompt = summary_prompt(&finished);
        let task_id = iteration.task_id();
        let values = CommandValues {
            model: &iteration.model,
            prompt_file: None,
            task_id: &task_id,
            run_id: &iteration.run_id,
            iteration: iteration.number,
        };
        let invocation = Invocation {
            program: summarize.program(),
            arguments: &summarize.arguments(&values),
            stdin: prompt.as_bytes(),
            environment: &[],
            folder: self.memory.root(),
            limit: None,
        };
        let output = process::run(&invocation, &self.options.interrupt, ProcessTimeouts::default(), &mut |_| {});
        // What cannot be summed up is reported in the words of the command that verified it.
        let output = output.ok().filter(|output| output.exit_code == 0 && !output.interrupted);
        output.map(|output| output.stdout.text).unwrap_or_default()
    }
}
