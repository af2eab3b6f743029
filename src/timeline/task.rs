//! Everything about one task: its state, and its attempts side by side.

use serde::Serialize;

use super::log::views;
use super::totals::AttemptTotals;
use crate::context::choose_model;
use crate::entry::{Difficulty, EntrySummary, Id};
use crate::error::Problem;
use crate::index::catalog::{Catalog, RowId};
use crate::journal::history::{RunRecord, TaskRecord};
use crate::journal::strategy::STUCK_AFTER;
use crate::journal::{self, AttemptView, both_areas, problems_of};
use crate::open::Memory;
use crate::recording::{LiveRun, unfinished_runs};
use crate::text::{choice, is_same_name};
use crate::workspace::Workspace;

/// How many of the newest attempts are read.
const MAX_ATTEMPTS: usize = 200;

choice! {
    /// The state of a task, according to its attempts.
    ///
    /// ```
    /// use ralph_memory::memory::{Report, TaskState};
    /// use ralph_memory::{Memory, Task};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let iteration = memory.begin(&Task::new("Sign the release"), &memory.new_run())?;
    /// let text = format!("<task-failed>{}</task-failed>", iteration.task_id());
    /// memory.finish(&iteration, &Report { text, ..Report::default() })?;
    /// let task = memory.task(&iteration.task_id()).ok_or("no such task")?;
    /// assert_eq!((task.state, task.state.as_str()), (TaskState::Failing, "failing"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(PartialOrd, Ord)]
    pub enum TaskState {
        /// An attempt succeeded, and none has failed since.
        Done = "done",
        /// No attempt has succeeded, and none that counts has failed.
        Open = "open",
        /// It has failed since it was last done.
        Failing = "failing",
        /// It has failed so often in a row that agents are warned.
        Stuck = "stuck",
    }
}

/// The model that would work on a task next.
///
/// ```
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// for _ in 0..2 {
///     let attempt = memory.begin(&Task::new("Sign the release"), &memory.new_run())?;
///     let text = format!("<task-failed>{}</task-failed>", attempt.task_id());
///     memory.finish(&attempt, &Report { text, ..Report::default() })?;
/// }
/// let task = memory.task(&Task::id_of_title("Sign the release")).ok_or("no such task")?;
/// let next = task.next_model.ok_or("no model")?;
/// assert_eq!((next.model.as_str(), next.rationale.as_str()), ("opus", "escalated after 2 attempts without success"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NextModel {
    /// The model.
    pub model: String,
    /// Why this model.
    pub rationale: String,
}

/// What [`Memory::task`](crate::Memory::task) returns.
///
/// ```
/// use ralph_memory::memory::{Report, TaskState};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let attempt = memory.begin(&Task::new("Draw the legend"), &memory.new_run())?;
/// let text = format!("<task-done>{}</task-done>", attempt.task_id());
/// memory.finish(&attempt, &Report { text, ..Report::default() })?;
/// let task = memory.task(&attempt.task_id()).ok_or("no such task")?;
/// assert_eq!((task.title.as_str(), task.state, task.attempts.len()), ("Draw the legend", TaskState::Done, 1));
/// assert!(memory.task("t-unknown").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskView {
    /// Its id.
    pub id: String,
    /// Its title, according to the last attempt; empty if it has none.
    pub title: String,
    /// The feature that it belongs to.
    pub feature: Option<String>,
    /// The section that it belongs to.
    pub section: Option<String>,
    /// Its state.
    pub state: TaskState,
    /// How often it has failed since it was last done.
    pub streak: u32,
    /// The last estimate of its difficulty.
    pub difficulty: Option<Difficulty>,
    /// The model that would work on it next, outside of a run; `None` if it is done.
    pub next_model: Option<NextModel>,
    /// The sums over all attempts.
    pub totals: AttemptTotals,
    /// The attempts, oldest first: the last two hundred.
    pub attempts: Vec<AttemptView>,
    /// What was learned during it.
    pub knowledge: Vec<EntrySummary>,
    /// The attempts that work on it now, and open ones whose process is lost.
    pub live: Vec<LiveRun>,
    /// Problems of the files that were read.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Returns the state of a task.
pub(super) fn state(record: &TaskRecord) -> TaskState {
    match record.streak {
        0 if record.done_at > 0 => TaskState::Done,
        0 => TaskState::Open,
        _ if record.rung >= STUCK_AFTER => TaskState::Stuck,
        _ => TaskState::Failing,
    }
}

/// Returns the model that would work on a task next.
pub(super) fn next_model(workspace: &Workspace, record: &TaskRecord) -> Option<NextModel> {
    let choice = choose_model(workspace, None, record, &RunRecord::default(), &[]).ok()?;
    Some(NextModel { model: choice.model, rationale: choice.rationale })
}

impl Memory {
    /// Returns everything about a task: its state, and its attempts side by side. `None` if there was no attempt at it.
    pub fn task(&self, task_id: &str) -> Option<TaskView> {
        let workspace = &self.workspace;
        let catalogs = both_areas(workspace);
        let catalogs = catalogs.each_ref();
        let heads = journal::summaries(workspace.now(), &catalogs, |catalog| catalog.rows_of_task(task_id));
        let mut live = unfinished_runs(workspace);
        live.retain(|run| is_same_name(run.task_id.as_deref(), Some(task_id)));
        if heads.is_empty() && live.is_empty() {
            return None;
        }
        let record = TaskRecord::of(&heads);
        let state = state(&record);
        let attempts = views(workspace, &catalogs, &heads[heads.len().saturating_sub(MAX_ATTEMPTS)..]);
        let title = heads.iter().rev().map(|attempt| &attempt.task_title).find(|title| !title.is_empty());
        let title = title.or(live.first().map(|run| &run.task_title)).cloned().unwrap_or_default();
        Some(TaskView {
            id: task_id.to_owned(),
            title,
            feature: heads
                .iter()
                .rev()
                .find_map(|attempt| attempt.feature.clone())
                .or_else(|| live.first()?.feature.clone()),
            section: heads.iter().rev().find_map(|attempt| attempt.head.section.clone()),
            state,
            streak: record.streak,
            difficulty: record.difficulty,
            next_model: next_model(workspace, &record).filter(|_| state != TaskState::Done),
            totals: AttemptTotals::of(heads.iter().map(|attempt| &*attempt.head)),
            attempts,
            knowledge: knowledge(self, catalogs[0], catalogs[0].knowledge_of_task(task_id).into_iter()),
            live,
            problems: problems_of(workspace, &catalogs),
        })
    }
}

/// Returns the readable entries of these rows.
pub(super) fn knowledge(memory: &Memory, live: &Catalog, rows: impl Iterator<Item = RowId>) -> Vec<EntrySummary> {
    let ids: Vec<Id> = rows.filter(|row| live.is_indexable(*row)).filter_map(|row| live.id(row)).collect();
    memory.summaries(&ids)
}
