//! The progress of a run: its attempts, its tasks, and what it spent.
//!
//! It only counts, and knows nothing about the memory.

use serde::Serialize;
use std::collections::BTreeMap;

use super::options::{RunLimit, RunOptions};
use crate::context::Task;
use crate::entry::attempt::{AttemptHead, Outcome};
use crate::error::Problem;
use crate::memory::{Recorded, Written};

/// The progress of a run.
///
/// ```
/// use ralph_memory::runner::RunProgress;
/// let progress = RunProgress::default();
/// assert!(progress.attempts.is_empty() && progress.tokens == 0);
/// ```
#[derive(Debug, Default, Clone, PartialEq)]
pub struct RunProgress {
    /// Its attempts; not those from before it was resumed.
    pub attempts: Vec<RunAttempt>,
    /// Its tasks, in the order in which they were begun.
    pub tasks: Vec<RunTask>,
    /// What its agents reported and the memory refused.
    pub refused: Vec<String>,
    /// What happened that a person should know about.
    pub problems: Vec<Problem>,
    /// What it cost in US dollars, also before it was resumed.
    pub cost_usd: f64,
    /// How many tokens it took, in and out, also before it was resumed.
    pub tokens: u64,
    /// How many attempts it made at each task before it was resumed, by the task's id.
    pub earlier_attempts: BTreeMap<String, u32>,
}

/// An attempt of a run.
///
/// ```
/// use ralph_memory::runner::{Assignment, CommandLine, RunEvent, RunOptions, RunProgress, Runner};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// # let agent = "sh -c 'cat > prompt.md; echo \"<task-done>$RALPH_TASK_ID</task-done>\"'";
/// # let options = RunOptions::new(CommandLine::parse("agent", agent)?);
/// let (task, mut progress) = (Assignment::Task(Task::new("Pin the tool versions")), RunProgress::default());
/// Runner::new(&memory, options).run(&task, &mut progress, &mut |_: RunEvent<'_>| ())?;
/// let attempt = &progress.attempts[0];
/// assert_eq!((attempt.number, attempt.outcome.as_str()), (1, "done"));
/// assert!(attempt.learned.is_empty() && attempt.cost_usd.is_none() && attempt.model.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunAttempt {
    /// Its number in the run.
    pub number: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Why its task is not done, in a few words and without secrets, where the outcome does not say it all.
    pub reason: Option<String>,
    /// The model that worked on it, where that is known.
    pub model: Option<String>,
    /// What it cost, in US dollars, where that is known.
    pub cost_usd: Option<f64>,
    /// How many tokens it took, in and out, where that is known.
    pub tokens: Option<u64>,
    /// How long the agent worked, in seconds.
    pub duration_secs: f64,
    /// The knowledge that it added.
    #[serde(skip)]
    pub learned: Vec<Written>,
}

/// A task of a run.
///
/// ```
/// use ralph_memory::runner::{Assignment, CommandLine, RunEvent, RunOptions, RunProgress, Runner};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// # let agent = "sh -c 'cat > prompt.md; echo \"<task-done>$RALPH_TASK_ID</task-done>\"'";
/// # let options = RunOptions::new(CommandLine::parse("agent", agent)?);
/// let path = root.join("tasks.md");
/// std::fs::write(&path, "- [x] Write the parser\n- [ ] Write the printer\n- [ ] Write the manual\n")?;
/// let mut progress = RunProgress::default();
/// let checklist = Assignment::Checklist { path, like: Task::default() };
/// Runner::new(&memory, options).run(&checklist, &mut progress, &mut |_: RunEvent<'_>| ())?;
/// let titles: Vec<&str> = progress.tasks.iter().filter(|task| task.done).map(|task| task.title.as_str()).collect();
/// assert_eq!(titles, ["Write the printer", "Write the manual"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunTask {
    /// Its id.
    pub id: String,
    /// Its title, without secrets.
    pub title: String,
    /// How many attempts at it the run made.
    pub attempts: u32,
    /// Whether it is done.
    pub done: bool,
}

impl RunTask {
    /// Another box of the title of one that is done begins again.
    fn is_of(&self, task: &Task) -> bool {
        !self.done && self.id == task.own_id()
    }
}

impl RunProgress {
    /// Returns the limit that keeps the next attempt from beginning.
    pub(super) fn limit_reached(&self, options: &RunOptions, task: &Task) -> Option<RunLimit> {
        let so_far = self.tasks.iter().find(|known| known.is_of(task)).map_or(0, |known| known.attempts);
        let earlier = task.id.as_ref().and_then(|id| self.earlier_attempts.get(id)).copied().unwrap_or(0);
        if options.max_attempts.is_some_and(|most| so_far.saturating_add(earlier) >= most) {
            return Some(RunLimit::Attempts);
        }
        if options.max_iterations.is_some_and(|most| self.attempts.len() >= most as usize) {
            return Some(RunLimit::Iterations);
        }
        let cost = options.max_cost.filter(|limit| self.cost_usd >= *limit);
        let cost = cost.map(|limit| RunLimit::Cost { spent: self.cost_usd, limit });
        let tokens = options.max_tokens.filter(|limit| self.tokens >= *limit);
        cost.or(tokens.map(|limit| RunLimit::Tokens { spent: self.tokens, limit }))
    }

    /// Counts an attempt at a task.
    pub(super) fn note(&mut self, task: &Task, attempt: RunAttempt, recorded: Recorded) {
        self.spend(&recorded.attempt.head);
        self.refused.extend(recorded.refused);
        let is_new = |problem: &Problem| !self.problems.contains(problem);
        let new: Vec<Problem> = recorded.problems.into_iter().filter(is_new).collect();
        self.problems.extend(new);
        let done = attempt.outcome == Outcome::Done;
        match self.tasks.iter_mut().find(|known| known.is_of(task)) {
            Some(known) => (known.attempts, known.done) = (known.attempts + 1, done),
            None => {
                self.tasks.push(RunTask { id: task.own_id(), title: task.title.clone(), attempts: 1, done });
            }
        }
        self.attempts.push(attempt);
    }

    /// Counts what an attempt spent. Unknown amounts count as nothing.
    pub(super) fn spend(&mut self, head: &AttemptHead) {
        // Sums of cents are not cents: they come out a little too low.
        self.cost_usd = ((self.cost_usd + head.cost_usd.unwrap_or_default()) * 1e6).round() / 1e6;
        self.tokens = self.tokens.saturating_add(head.tokens().unwrap_or_default());
    }
}
