//! Everything about one run: its attempts and tasks, and the knowledge that it added.

use serde::Serialize;

use super::log::views;
use super::task::knowledge;
use super::totals::AttemptTotals;
use crate::entry::knowledge::timestamp;
use crate::entry::{EntrySummary, Outcome};
use crate::error::Problem;
use crate::journal::history::AttemptSummary;
use crate::journal::{self, AttemptView, both_areas, problems_of};
use crate::open::Memory;
use crate::recording::{LiveRun, is_session, unfinished_runs};
use crate::text::is_same_name;

/// How many of the newest attempts are returned.
const MAX_ITERATIONS: usize = 1_000;

/// What [`Memory::run`](crate::Memory::run) returns.
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
/// let run = memory.new_run();
/// for title in ["Add the route", "Test the route"] {
///     let report = Report { outcome: Some(Outcome::Done), cost_usd: Some(0.25), ..Report::default() };
///     memory.finish(&memory.begin(&Task::new(title), &run)?, &report)?;
/// }
/// let view = memory.run(&run.id).ok_or("no such run")?;
/// assert_eq!((view.tasks.len(), view.totals.cost_usd), (2, Some(0.5)));
/// assert!(view.live.is_empty(), "it is not in progress");
/// assert!(memory.run("run-unknown").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunView {
    /// Its name.
    pub id: String,
    /// Whether it holds the attempts of a session that has no loop.
    pub is_session: bool,
    /// What it does now; empty if it is not in progress. An attempt whose process is lost also counts as open.
    pub live: Vec<LiveRun>,
    /// When its first attempt began, RFC 3339.
    pub started_at: Option<String>,
    /// When its last attempt ended, RFC 3339.
    pub ended_at: Option<String>,
    /// The sums over its attempts.
    pub totals: AttemptTotals,
    /// Its tasks, in the order in which they were first worked on.
    pub tasks: Vec<TaskInRun>,
    /// Its attempts, oldest first: the last thousand.
    pub attempts: Vec<AttemptView>,
    /// What was learned in it.
    pub knowledge: Vec<EntrySummary>,
    /// Problems of the files that were read.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// A task that a run worked on.
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
/// let run = memory.new_run();
/// for outcome in [Outcome::Failed, Outcome::Done] {
///     let report = Report { outcome: Some(outcome), ..Report::default() };
///     memory.finish(&memory.begin(&Task::new("Add the route"), &run)?, &report)?;
/// }
/// let task = memory.run(&run.id).ok_or("no such run")?.tasks.remove(0);
/// assert_eq!((task.title.as_str(), task.attempts, task.outcome), ("Add the route", 2, Outcome::Done));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskInRun {
    /// Its id.
    pub id: Option<String>,
    /// Its title; empty if it has none.
    pub title: String,
    /// How many attempts worked on it.
    #[serde(rename = "attempt_count")]
    pub attempts: usize,
    /// How the last of them ended.
    pub outcome: Outcome,
}

impl Memory {
    /// Returns all about a run: its iterations, its tasks, and the knowledge that it added. `None` if there is no
    /// iteration of it.
    pub fn run(&self, run_id: &str) -> Option<RunView> {
        let workspace = &self.workspace;
        let catalogs = both_areas(workspace);
        let catalogs = catalogs.each_ref();
        let heads = journal::summaries(workspace.now(), &catalogs, |catalog| catalog.rows_of_run(run_id));
        let mut live = unfinished_runs(workspace);
        live.retain(|run| run.run_id == run_id);
        if heads.is_empty() && live.is_empty() {
            return None;
        }
        let attempts = views(workspace, &catalogs, &heads[heads.len().saturating_sub(MAX_ITERATIONS)..]);
        Some(RunView {
            id: run_id.to_owned(),
            is_session: is_session(run_id),
            live,
            started_at: heads.iter().map(|attempt| attempt.began_at).min().map(timestamp),
            ended_at: heads.iter().map(AttemptSummary::ended_at).max().map(timestamp),
            totals: AttemptTotals::of(heads.iter().map(|attempt| &*attempt.head)),
            tasks: tasks(&heads),
            attempts,
            knowledge: knowledge(self, catalogs[0], catalogs[0].knowledge_of_run(run_id).into_iter()),
            problems: problems_of(workspace, &catalogs),
        })
    }
}

/// Returns the tasks of these attempts, which are given oldest first.
fn tasks(attempts: &[AttemptSummary]) -> Vec<TaskInRun> {
    let mut tasks: Vec<TaskInRun> = Vec::new();
    for AttemptSummary { task_id, task_title, head, .. } in attempts {
        let at = tasks.iter().position(|task| match &task.id {
            Some(id) => is_same_name(Some(id), task_id.as_deref()),
            None => task_id.is_none() && task.title == *task_title,
        });
        let at = at.unwrap_or_else(|| {
            let (id, title) = (task_id.clone(), task_title.clone());
            tasks.push(TaskInRun { id, title, attempts: 0, outcome: head.outcome });
            tasks.len() - 1
        });
        let task = &mut tasks[at];
        task.attempts += 1;
        task.outcome = head.outcome;
        if !task_title.is_empty() {
            task.title.clone_from(task_title);
        }
    }
    tasks
}
