//! The loop: one attempt after another, until there is nothing left to do or somebody stops it.
//!
//! It begins attempts and records their results. It runs no command itself.

use std::collections::BTreeSet;

use super::attempt::RunningAttempt;
use super::checklist::{self, ChecklistItem};
use super::io::{RunEvent, RunIo};
use super::options::{Assignment, RunEnd, RunOptions};
use super::progress::{RunAttempt, RunProgress};
use super::reason::reason;
use super::trouble::AgentTrouble;
use crate::agent_output::transcript::AgentSpending;
use crate::context::Task;
use crate::entry::attempt::Outcome;
use crate::error::Result;
use crate::journal::strategy::STUCK_AFTER;
use crate::memory::{Memory, OpenAttempt, Run};
use crate::recording::LiveWriter;
use crate::text::{self, printed_command};

/// A run that goes on.
pub(super) struct RunLoop<'a> {
    memory: &'a Memory,
    options: &'a RunOptions,
    assignment: &'a Assignment,
    run: Run,
    live: LiveWriter<'a>,
    /// A box stays the one that is worked on until its task is done, whatever an agent does to the file.
    current: Option<(Task, Option<ChecklistItem>)>,
    /// The title that was reported last, until its box is done: the next one may have the same.
    titled: Option<String>,
    /// What keeps the agent from working.
    trouble: AgentTrouble,
    /// What attempts did not say, as far as it was reported.
    reported_unknown: Vec<&'static str>,
}

impl<'a> RunLoop<'a> {
    pub(super) fn new(memory: &'a Memory, options: &'a RunOptions, assignment: &'a Assignment) -> Result<RunLoop<'a>> {
        let run = options.run.clone().unwrap_or_else(|| memory.new_run());
        let n_before = memory.next_number(&run.id)? - 1;
        let limit = options.max_iterations.map(|most| n_before.saturating_add(most));
        let has_own_model = !options.agent.passes_model(memory.root());
        for command in options.summarize.iter().chain(&options.verify).filter(|_| has_own_model) {
            command.refuse_model()?;
        }
        let run = Run { limit, has_own_model, ..run };
        let live = LiveWriter::new(&memory.workspace, &run.id);
        let (trouble, reported_unknown) = Default::default();
        let (current, titled) = (None, None);
        Ok(RunLoop { memory, options, assignment, run, live, current, titled, trouble, reported_unknown })
    }

    /// Runs one attempt after the other.
    pub(super) fn run(&mut self, progress: &mut RunProgress, io: &mut dyn RunIo) -> Result<RunEnd> {
        if let Assignment::Checklist { path, .. } = self.assignment {
            for odd in checklist::odd(path)? {
                io.event(RunEvent::Warning(&format!("this is neither an open nor a ticked box: {odd}")));
            }
        }
        loop {
            if self.options.interrupt.is_raised() {
                return Ok(RunEnd::Interrupted);
            }
            let Some((task, item)) = self.next_task(progress)? else { return Ok(RunEnd::Done) };
            if let Some(end) = self.trouble.end.take_if(|_| self.options.keep_going.is_none()) {
                return Ok(end);
            }
            if let Some(limit) = progress.limit_reached(self.options, &task) {
                return Ok(RunEnd::Limit(limit));
            }
            self.pause(io);
            if self.options.interrupt.is_raised() {
                return Ok(RunEnd::Interrupted);
            }
            let Some(outcome) = self.attempt(&task, item.is_some(), progress, io)? else {
                // An agent that was stopped alone does not stop the run.
                return Ok(RunEnd::Interrupted);
            };
            let (Assignment::Checklist { path, .. }, Some(item)) = (self.assignment, item) else { continue };
            if outcome == Outcome::Done {
                self.titled = None;
                if let Err(reason) = checklist::set_tick(path, &item, true)? {
                    return Ok(RunEnd::NotTicked(reason));
                }
            } else if checklist::set_tick(path, &item, false)?.is_ok() {
                self.current = Some((task, Some(item)));
            }
        }
    }

    /// Waits where the agent cannot work.
    fn pause(&self, io: &mut dyn RunIo) {
        if let (Some(RunEnd::Crashing(message) | RunEnd::UsageLimit(message)), Some(first)) =
            (&self.trouble.end, self.options.keep_going)
        {
            let pause = self.trouble.pause(first, self.memory.workspace.now());
            io.event(RunEvent::Warning(&format!("{message}; waiting {}", text::duration(pause))));
            self.options.interrupt.wait(pause);
        }
    }

    /// Returns the task that is next, with its box where it has one.
    fn next_task(&mut self, progress: &RunProgress) -> Result<Option<(Task, Option<ChecklistItem>)>> {
        if let Some(current) = self.current.take() {
            return Ok(Some(current));
        }
        match self.assignment {
            Assignment::Task(_) if progress.tasks.iter().any(|task| task.done) => Ok(None),
            Assignment::Task(task) => Ok(Some((task.clone(), None))),
            Assignment::Checklist { path, like } => Ok(checklist::next(path)?.map(|item| {
                let Task { feature, section, files, .. } = like.clone();
                (Task { feature, section, files, ..item.task() }, Some(item))
            })),
        }
    }

    /// Runs an attempt of the task, and returns how it ended; nothing where the run was interrupted.
    fn attempt(
        &mut self,
        task: &Task,
        has_box: bool,
        progress: &mut RunProgress,
        io: &mut dyn RunIo,
    ) -> Result<Option<Outcome>> {
        let mut attempt = {
            let _operation = self.memory.operation("run");
            self.memory.begin(task, &self.run)?
        };
        if self.options.verify.is_none() && progress.attempts.is_empty() {
            let told = "without `--verify COMMAND`, the agent's word decides whether a task is done";
            io.event(RunEvent::Warning(told));
        }
        if let Some(warning) = self.warning(&attempt) {
            io.event(RunEvent::Warning(&warning));
        }
        if has_box && self.titled.as_ref() != Some(&task.title) {
            io.event(RunEvent::TaskStarted { title: &attempt.task.title });
            self.titled = Some(task.title.clone());
        }
        io.event(RunEvent::AttemptStarted { attempt: &attempt, last: self.run.limit });
        self.live.begin(&attempt);
        let mut running = RunningAttempt {
            memory: self.memory,
            options: self.options,
            live: &mut self.live,
            io,
            task,
            attempt: &mut attempt,
            spending: AgentSpending::default(),
        };
        // An attempt in which nothing happened is given up. If it stays open, the next run takes it for interrupted.
        let ended = running.run().inspect_err(|_| drop(self.memory.cancel(running.attempt)));
        let (report, failed) = ended?;
        let report_with_summary = report.with_summary(running.summary(&report));
        let recorded = {
            let _operation = self.memory.operation("run");
            self.memory.finish(&attempt, &report_with_summary)?
        };
        self.live.end();
        let allowed = &self.memory.settings().allowed_secrets;
        let reason = reason(&report, &recorded, allowed);
        self.trouble.note(&report, (&recorded.attempt.head, reason.as_deref()), allowed, self.memory.workspace.now());
        let head = &recorded.attempt.head;
        let ended = RunAttempt {
            number: attempt.number,
            outcome: recorded.outcome,
            reason,
            model: head.model.clone(),
            cost_usd: head.cost_usd,
            tokens: head.tokens(),
            duration_secs: report.duration.as_secs_f64(),
            learned: recorded.knowledge.clone(),
        };
        io.event(RunEvent::AttemptEnded { attempt: &ended, recorded: &recorded });
        // A problem that lasts is told once.
        for problem in recorded.problems.iter().filter(|problem| !progress.problems.contains(problem)) {
            io.event(RunEvent::Warning(&problem.to_string()));
        }
        self.report_unknown(&ended, io);
        let outcome = recorded.outcome;
        progress.note(&attempt.task, ended, recorded);
        if let Some(error) = failed {
            return Err(error);
        }
        Ok((report.outcome != Some(Outcome::Interrupted)).then_some(outcome))
    }

    /// Returns what a person should know of a task that fails again and again.
    fn warning(&self, attempt: &OpenAttempt) -> Option<String> {
        if attempt.rung <= STUCK_AFTER {
            return None;
        }
        let attempts = self.memory.attempts_of_task(&attempt.task_id());
        let models: BTreeSet<&str> = attempts.iter().filter_map(|(_, attempt)| attempt.head.model.as_deref()).collect();
        let models = if models.len() > 1 { " with every model that was tried" } else { "" };
        let show = |id: &str| format!("see {}, ", printed_command("ralph-memory show ID", &[("ID", id)]));
        let show = attempts.last().map(|(id, _)| show(id.as_str())).unwrap_or_default();
        let title = &attempt.task.title;
        Some(format!("`{title}` keeps failing{models}; {show}split the task, or stop with Ctrl-C"))
    }

    /// Reports, once, a limit that an attempt does not count for, and that its model is unknown.
    fn report_unknown(&mut self, attempt: &RunAttempt, io: &mut dyn RunIo) {
        // An agent that did not work had no time to name its model.
        let worked = !matches!(attempt.outcome, Outcome::Error | Outcome::Interrupted);
        let unknown = [
            ("cost", self.options.max_cost.is_some() && attempt.cost_usd.is_none()),
            ("tokens", self.options.max_tokens.is_some() && attempt.tokens.is_none()),
            ("model", worked && attempt.model.is_none()),
        ];
        for (what, _) in unknown.into_iter().filter(|(_, is_unknown)| *is_unknown) {
            if !self.reported_unknown.contains(&what) {
                self.reported_unknown.push(what);
                io.event(RunEvent::Unknown { number: attempt.number, what });
            }
        }
    }
}

#[cfg(test)]
mod tests;
