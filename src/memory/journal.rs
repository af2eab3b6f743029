//! Queries of the journal.

use super::Memory;
use crate::entry::{Attempt, Id};
use crate::error::Result;
use crate::journal::history::TouchedFile;
use crate::journal::{self, AttemptView, Found, RecurringError};
use crate::recording::{self, LiveRun};
use crate::timeline::{self, Log, LogFilter, Overview, RunView, Stats, StatsFilter, TaskView};

impl Memory {
    /// Returns the number that the run's next iteration gets: the one after the highest that has room behind it. So a
    /// journal that came with the highest possible number does not prevent a run from continuing.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::error::Error::Io) where the file system does not say which are taken.
    pub fn next_number(&self, run_id: &str) -> Result<u32> {
        journal::next_number(&self.workspace, run_id)
    }

    /// Returns the run's attempts in the journal, oldest first, each with its whole content.
    pub fn attempts_of_run(&self, run_id: &str) -> Vec<(Id, Attempt)> {
        journal::attempts_of_run(&self.workspace, run_id)
    }

    /// Returns the task's iterations that are in the journal, as [`Memory::attempts_of_run`] does those of a run.
    pub fn attempts_of_task(&self, task_id: &str) -> Vec<(Id, Attempt)> {
        journal::attempts_of_task(&self.workspace, task_id)
    }

    /// Returns the last iterations of a feature's tasks, or of all, newest first, and at most `count`.
    pub fn recent_iterations(&self, feature: Option<&str>, count: usize) -> Found<AttemptView> {
        journal::recent_iterations(&self.workspace, feature, count)
    }

    /// Returns the last attempts that failed, newest first and at most `count`: of a feature or of all, and of one task or
    /// of all. Those that were interrupted or are done in part did not fail.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::error::Error::Invalid) where the task's id is not one.
    pub fn failed_attempts(
        &self,
        feature: Option<&str>,
        task_id: Option<&str>,
        count: usize,
    ) -> Result<Found<AttemptView>> {
        journal::failed_attempts(&self.workspace, feature, task_id, count)
    }

    /// Returns every file that an iteration of a feature's tasks, or of all, ever created, changed or read, those
    /// first that most of them touched. A file need not exist any more.
    pub fn feature_files(&self, feature: Option<&str>) -> Found<TouchedFile> {
        journal::feature_files(&self.workspace, feature)
    }

    /// Returns the errors that at least two iterations of a feature's tasks, or of all, failed with: the most
    /// frequent first. Errors that differ in paths, numbers and addresses alone are one.
    pub fn recurring_errors(&self, feature: Option<&str>) -> Found<RecurringError> {
        journal::recurring_errors(&self.workspace, feature)
    }

    /// Returns the attempts that the filter accepts, newest first, page by page. It opens only the files of the attempts
    /// that it returns.
    pub fn log(&self, filter: &LogFilter) -> Log {
        timeline::log(&self.workspace, filter)
    }

    /// Returns everything that the journal says about one attempt; `None` if there is no readable one with this id.
    pub fn attempt(&self, id: &Id) -> Option<AttemptView> {
        timeline::iteration(&self.workspace, id)
    }

    /// Returns the statistics of the attempts that the filter accepts: by feature, model and day, with recurring errors
    /// and the files touched most.
    pub fn stats(&self, filter: &StatsFilter) -> Stats {
        timeline::stats(&self.workspace, filter)
    }

    /// Returns the id of the task with this id or, if there is none, of the last task with this title. `None` if there was no
    /// attempt at either.
    ///
    /// ```
    /// use ralph_memory::entry::Outcome;
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::{Memory, Task};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let attempt = memory.begin(&Task::new("Retry the upload"), &memory.new_run())?;
    /// let recorded = memory.finish(&attempt, &Report { outcome: Some(Outcome::Done), ..Report::default() })?;
    /// assert_eq!(memory.task_id("retry the upload"), recorded.attempt.task_id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn task_id(&self, name: &str) -> Option<String> {
        journal::task_by_name(&self.workspace, name).map(|(id, _)| id)
    }

    /// Returns everything about a task: its state, and its attempts side by side. `None` if there was no attempt at it.
    pub fn task(&self, task_id: &str) -> Option<TaskView> {
        timeline::task(&self.workspace, task_id)
    }

    /// Returns all about a run: its iterations, its tasks, and the knowledge that it added. `None` if there is no
    /// iteration of it.
    pub fn run(&self, run_id: &str) -> Option<RunView> {
        timeline::run(&self.workspace, run_id)
    }

    /// Returns what goes on, what is stuck, and the last attempts, newest first and at most `limit`. It scans the files
    /// once, so it is faster than separate calls.
    pub fn overview(&self, limit: usize) -> Overview {
        timeline::overview(&self.workspace, limit)
    }

    /// Returns the runs and iterations in progress, by run and number, with what they do at the moment.
    pub fn live_runs(&self) -> Vec<LiveRun> {
        recording::live_runs(&self.workspace)
    }
}
