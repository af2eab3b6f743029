//! What is in progress, what is stuck and what happened last, from one scan of the memory.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Serialize;

use super::log::{Log, LogFilter, page, views};
use super::task::{NextModel, TaskState, next_model, state};
use crate::entry::Outcome;
use crate::index::catalog::Catalog;
use crate::journal::history::{AttemptSummary, TaskRecord};
use crate::journal::{NO_RESULT, both_areas, problems_of, summaries};
use crate::open::Memory;
use crate::recording::LiveRun;
use crate::text::nfc;
use crate::workspace::Workspace;

/// How many of the newest attempts are searched for stuck tasks.
const MAX_SEARCHED: usize = 1_000;
/// How many attempts at a stuck task are read for why it failed.
const MAX_READ: usize = 5;

/// What [`Memory::overview`](crate::Memory::overview) returns.
///
/// ```
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// for title in ["Ship the beta", "Ship it"] {
///     memory.finish(&memory.begin(&Task::new(title), &memory.new_run())?, &Report::default())?;
/// }
/// let overview = memory.overview(1);
/// assert_eq!((overview.log.attempts.len(), overview.log.in_all), (1, 2));
/// assert!(overview.live.is_empty() && overview.stuck.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    /// The runs and attempts in progress, as [`Memory::live_runs`](crate::Memory::live_runs) returns them.
    pub live: Vec<LiveRun>,
    /// The stuck tasks among those of the last thousand attempts, the one with the newest attempt first.
    pub stuck: Vec<StuckTask>,
    /// The last attempts.
    #[serde(flatten)]
    pub log: Log,
}

/// A task that is stuck.
///
/// ```
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// for _ in 0..3 {
///     let attempt = memory.begin(&Task::new("Mirror the registry"), &memory.new_run())?;
///     let why = "<failure-report>what_tried: a proxy\nwhy_failed: it asks for a key</failure-report>";
///     let text = format!("{why} <task-failed>{}</task-failed>", attempt.task_id());
///     memory.finish(&attempt, &Report { text, ..Report::default() })?;
/// }
/// let stuck = memory.overview(0).stuck.remove(0);
/// assert_eq!((stuck.title.as_str(), stuck.streak), ("Mirror the registry", 3));
/// assert_eq!(stuck.reason, "it asks for a key");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StuckTask {
    /// Its id.
    pub id: String,
    /// Its title, according to the last attempt; empty if it has none.
    pub title: String,
    /// The feature that it belongs to.
    pub feature: Option<String>,
    /// How often it has failed since it was last done.
    pub streak: u32,
    /// Why the last attempt failed of which that is known, in one line; empty if it is known of none of the last ones.
    pub reason: String,
    /// The model that would work on it next, outside of a run.
    pub next_model: Option<NextModel>,
}

impl Memory {
    /// Returns what goes on, what is stuck, and the last attempts, newest first and at most `limit`. It scans the files
    /// once, so it is faster than separate calls.
    pub fn overview(&self, limit: usize) -> Overview {
        let workspace = &self.workspace;
        let live = self.live_runs();
        let catalogs = both_areas(workspace);
        let filter = LogFilter { limit: Some(limit.max(MAX_SEARCHED)), ..LogFilter::default() };
        let (attempts, in_all) = page(workspace, &catalogs, &filter);
        let catalogs = catalogs.each_ref();
        let problems = problems_of(workspace, &catalogs);
        let stuck = stuck(workspace, &catalogs, &attempts[..attempts.len().min(MAX_SEARCHED)]);
        let attempts = views(workspace, &catalogs, &attempts[..attempts.len().min(limit)]);
        Overview { live, stuck, log: Log { attempts, in_all, problems } }
    }
}

/// Returns the stuck tasks of these attempts, which are given newest first.
fn stuck(workspace: &Workspace, catalogs: &[&Catalog], attempts: &[AttemptSummary]) -> Vec<StuckTask> {
    let mut seen: HashSet<Cow<'_, str>> = HashSet::new();
    let mut stuck = Vec::new();
    for attempt in attempts {
        let Some(id) = attempt.task_id.as_deref().filter(|id| seen.insert(nfc(id))) else { continue };
        // A task that is done is not stuck, whatever came before.
        if attempt.head.outcome == Outcome::Done {
            continue;
        }
        let heads = summaries(workspace.now(), catalogs, |catalog| catalog.rows_of_task(id));
        let record = TaskRecord::of(&heads);
        if state(&record) == TaskState::Stuck {
            stuck.push(StuckTask {
                id: id.to_owned(),
                title: attempt.task_title.clone(),
                feature: attempt.feature.clone(),
                streak: record.streak,
                reason: reason(workspace, catalogs, &heads),
                next_model: next_model(workspace, &record),
            });
        }
    }
    stuck
}

/// Returns why the last of these attempts failed, which are given oldest first: an attempt that ended without a word hides none before it.
fn reason(workspace: &Workspace, catalogs: &[&Catalog], attempts: &[AttemptSummary]) -> String {
    let failed = attempts.iter().rev().take_while(|attempt| attempt.head.outcome != Outcome::Done).take(MAX_READ);
    let views = failed.flat_map(|attempt| views(workspace, catalogs, std::slice::from_ref(attempt)));
    let mut reason = String::new();
    for view in views {
        let is_told = !view.reason.is_empty() && view.reason != NO_RESULT;
        if is_told || reason.is_empty() {
            reason = view.reason;
        }
        if is_told {
            break;
        }
    }
    reason
}
