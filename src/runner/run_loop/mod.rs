//! The loop: one iteration after the other, until there is nothing left to do or somebody stops it.
//!
//! It runs no command itself, and writes to the memory through its [`Recorder`] alone.

use super::checklist::{self, ChecklistItem, NextItem, TickResult};
use super::io::{RunEvent, RunIo};
use super::iteration::RunningIteration;
use super::options::{Assignment, RunEnd, RunOptions};
use super::progress::RunProgress;
use super::reason::reason;
use super::recorder::Recorder;
use crate::context::Task;
use crate::entry::attempt::{AttemptHead, Outcome};
use crate::error::Result;
use crate::iterations::LiveWriter;
use crate::memory::Memory;
use crate::transcript::AgentSpending;

/// A run that goes on.
pub(super) struct RunLoop<'a> {
    memory: &'a Memory,
    options: &'a RunOptions,
    assignment: &'a Assignment,
    recorder: Recorder<'a>,
    live: LiveWriter<'a>,
    /// A box stays the one that is worked on until its task is done, whatever an agent does to the file.
    current: Option<(Task, Option<ChecklistItem>)>,
    /// The title that was reported last, until its box is done: the next one may have the same.
    titled: Option<String>,
    /// Whether it was reported that costs are unknown, and that tokens are.
    is_unknown: (bool, bool),
}

impl<'a> RunLoop<'a> {
    pub(super) fn new(memory: &'a Memory, options: &'a RunOptions, assignment: &'a Assignment) -> Result<RunLoop<'a>> {
        let recorder = Recorder::new(memory, options)?;
        let live = LiveWriter::new(memory, recorder.run_id());
        let (current, titled, is_unknown) = (None, None, (false, false));
        Ok(RunLoop { memory, options, assignment, recorder, live, current, titled, is_unknown })
    }

    /// Runs one iteration after the other.
    pub(super) fn run(&mut self, progress: &mut RunProgress, io: &mut dyn RunIo) -> Result<RunEnd> {
        loop {
            if self.options.interrupt.is_raised() {
                return Ok(RunEnd::Interrupted);
            }
            let Some((task, item)) = self.next_task(progress)? else { return Ok(RunEnd::Done) };
            if let Some(limit) = progress.limit_reached(self.options, &task) {
                return Ok(RunEnd::Limit(limit));
            }
            let Some(outcome) = self.iterate(&task, item.is_some(), progress, io)? else {
                // An agent that was stopped alone does not stop the run.
                return Ok(RunEnd::Interrupted);
            };
            let (Assignment::Checklist { path, .. }, Some(item)) = (self.assignment, item) else { continue };
            if outcome == Outcome::Done {
                self.titled = None;
                if let TickResult::Not(reason) = checklist::tick(path, &item)? {
                    return Ok(RunEnd::NotTicked(reason));
                }
            } else if checklist::untick(path, &item)? {
                self.current = Some((task, Some(item)));
            }
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
            Assignment::Checklist { path, like } => Ok(match checklist::next(path)? {
                NextItem::AllTicked(_) => None,
                NextItem::Open(item) => {
                    let Task { feature, section, files, .. } = like.clone();
                    Some((Task { feature, section, files, ..item.task() }, Some(item)))
                }
            }),
        }
    }

    /// Runs an iteration of the task, and returns how it ended; nothing where the run was interrupted.
    fn iterate(
        &mut self,
        task: &Task,
        has_box: bool,
        progress: &mut RunProgress,
        io: &mut dyn RunIo,
    ) -> Result<Option<Outcome>> {
        let mut iteration = self.recorder.begin(task)?;
        if let Some(warning) = self.recorder.warning(&iteration) {
            io.event(RunEvent::Warning(&warning));
        }
        if has_box && self.titled.as_ref() != Some(&task.title) {
            io.event(RunEvent::TaskStarted { title: &iteration.task.title });
            self.titled = Some(task.title.clone());
        }
        io.event(RunEvent::IterationStarted { iteration: &iteration, last: self.recorder.last() });
        self.live.begin(&iteration);
        let ended = RunningIteration {
            memory: self.memory,
            options: self.options,
            recorder: &self.recorder,
            live: &mut self.live,
            io,
            task,
            iteration: &mut iteration,
            spending: AgentSpending::default(),
        }
        .run();
        let (report, failed) = ended.inspect_err(|_| self.recorder.abandon(&iteration))?;
        self.live.write_rest();
        let recorded = self.recorder.finish(&iteration, &report)?;
        self.live.end();
        let reason = reason(&report, &recorded, &self.memory.settings().allowed_secrets);
        io.event(RunEvent::IterationEnded {
            duration: report.duration,
            recorded: &recorded,
            reason: reason.as_deref(),
        });
        // A problem that lasts is told once.
        for problem in recorded.problems.iter().filter(|problem| !progress.problems.contains(problem)) {
            io.event(RunEvent::Warning(&problem.to_string()));
        }
        self.report_unknown(iteration.number, &recorded.attempt.head, io);
        let outcome = recorded.outcome;
        progress.note(iteration, (report.duration, reason), recorded);
        if let Some(error) = failed {
            return Err(error);
        }
        Ok((report.outcome != Some(Outcome::Interrupted)).then_some(outcome))
    }

    /// Reports, once, a limit that an iteration does not count for.
    fn report_unknown(&mut self, number: u32, head: &AttemptHead, io: &mut dyn RunIo) {
        if self.options.max_cost.is_some() && head.cost_usd.is_none() && !self.is_unknown.0 {
            self.is_unknown.0 = true;
            io.event(RunEvent::CostUnknown { number });
        }
        if self.options.max_tokens.is_some() && head.tokens().is_none() && !self.is_unknown.1 {
            self.is_unknown.1 = true;
            io.event(RunEvent::TokensUnknown { number });
        }
    }
}

#[cfg(test)]
mod tests;
