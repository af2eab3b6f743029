//! How far a resumed run has come.

use std::collections::BTreeMap;

use ralph_memory::entry::Outcome;
use ralph_memory::memory::Run;
use ralph_memory::{Memory, Task};

use super::attempt::{Spent, tokens};
use crate::error::Usage;

/// How far a run has come.
#[derive(Debug, Default)]
pub(crate) struct Last {
    /// The number of its last iteration.
    pub(crate) number: u32,
    /// Its task.
    pub(crate) task: Option<Task>,
    /// Whether that is done.
    pub(crate) is_done: bool,
    /// How many attempts it made at each task since that was last done, by the task's id.
    pub(crate) attempts: BTreeMap<String, u32>,
    /// What the run has spent.
    pub(crate) spent: Spent,
}

/// Returns the run that is resumed, or a new one.
pub(crate) fn begin(memory: &Memory, resume: bool) -> anyhow::Result<(Run, Last)> {
    if !resume {
        return Ok((memory.new_run(), Last::default()));
    }
    let id = memory.newest_run().ok_or_else(|| Usage {
        message: "there is no run to resume".to_owned(),
        hint: "without `--resume` one begins".to_owned(),
    })?;
    let mut last = Last::default();
    for (_, attempt) in memory.attempts_of_run(&id) {
        let is_done = attempt.head.outcome == Outcome::Done;
        last.spent.add(attempt.head.cost_usd, tokens(&attempt.head));
        if let Some(id) = &attempt.task_id {
            let count = last.attempts.entry(id.clone()).or_default();
            *count = if is_done { 0 } else { count.saturating_add(1) };
        }
        let task = Task {
            id: attempt.task_id,
            feature: attempt.feature,
            section: attempt.head.section,
            ..Task::new(attempt.task_title)
        };
        last = Last { number: attempt.head.iteration, task: Some(task), is_done, ..last };
    }
    for open in memory.open_iterations().into_iter().filter(|open| open.run_id == id) {
        if open.number > last.number {
            last = Last { number: open.number, task: Some(open.task), is_done: false, ..last };
        }
    }
    Ok((Run::named(id), last))
}
