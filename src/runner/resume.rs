//! The progress of an earlier run, for a run that continues it.

use super::progress::RunProgress;
use crate::context::Task;
use crate::entry::attempt::Outcome;
use crate::memory::{Memory, Run};

/// A run, to be continued.
///
/// ```
/// use ralph_memory::memory::Report;
/// use ralph_memory::runner::ResumedRun;
/// use ralph_memory::{Memory, Task};
/// # let folder = tempfile::tempdir()?;
/// Memory::init(folder.path())?;
/// let memory = Memory::open(folder.path())?;
/// assert!(ResumedRun::newest(&memory).is_none());
/// let attempt = memory.begin(&Task::new("Draw the architecture"), &memory.new_run())?;
/// let report = Report { cost_usd: Some(0.25), tokens_in: Some(9_000), tokens_out: Some(800), ..Report::default() };
/// memory.finish(&attempt, &report)?;
/// let progress = ResumedRun::newest(&memory).ok_or("no run")?.progress;
/// assert_eq!((progress.cost_usd, progress.tokens), (0.25, 9_800));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ResumedRun {
    /// The run.
    pub run: Run,
    /// Its last task.
    pub task: Task,
    /// Whether that is done.
    pub is_done: bool,
    /// What it spent, and how many attempts it made at each task since that was last done.
    pub progress: RunProgress,
}

impl ResumedRun {
    /// Returns the newest run, by the journal and the attempts that are open.
    pub fn newest(memory: &Memory) -> Option<ResumedRun> {
        ResumedRun::of(memory, &memory.newest_run()?)
    }

    /// Returns the run of this name; nothing if it has no attempt.
    pub fn of(memory: &Memory, id: &str) -> Option<ResumedRun> {
        let (mut number, mut task, mut is_done) = (0, None, false);
        let mut progress = RunProgress::default();
        for (_, attempt) in memory.attempts_of_run(id) {
            is_done = attempt.head.outcome == Outcome::Done;
            number = attempt.head.iteration;
            progress.spend(&attempt.head);
            if let Some(id) = &attempt.task_id {
                let count = progress.earlier_attempts.entry(id.clone()).or_default();
                *count = if is_done { 0 } else { count.saturating_add(1) };
            }
            task = Some(Task {
                id: attempt.task_id,
                feature: attempt.feature,
                section: attempt.head.section,
                ..Task::new(attempt.task_title)
            });
        }
        for open in memory.open_attempts().into_iter().filter(|open| open.run_id == id) {
            if open.number > number {
                (number, task, is_done) = (open.number, Some(open.task), false);
            }
        }
        Some(ResumedRun { run: Run::named(id), task: task?, is_done, progress })
    }
}
