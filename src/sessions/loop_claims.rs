//! Decides whether a run records what a message of a session reports.
//!
//! While `run` works on a task, its agent's client may call hooks, but only the run knows the result of the
//! verification. So a message about that task waits until the run has recorded the attempt, and then counts as
//! recorded.

use crate::error::Result;
use crate::journal::{both_areas, summaries};
use crate::recording::{SessionMessage, held};
use crate::workspace::Workspace;

/// Whether a run records the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    None,
    /// The run is in progress.
    Open,
    /// The attempt is in the journal.
    Recorded,
}

/// Returns whether a run records what a message reports about a task.
///
/// # Errors
///
/// Those of [`held`].
pub(super) fn claim_of(workspace: &Workspace, message: &SessionMessage, task_id: &str) -> Result<Claim> {
    if held(workspace, task_id)?.is_some_and(|open| open.started_at <= message.at) {
        return Ok(Claim::Open);
    }
    let catalogs = both_areas(workspace);
    let of_task = || summaries(workspace.now(), &catalogs.each_ref(), |catalog| catalog.rows_of_task(task_id));
    let is_recorded = message.was_kept && of_task().iter().any(|attempt| attempt.covers(message.at));
    Ok(if is_recorded { Claim::Recorded } else { Claim::None })
}

/// Returns whether an import has already recorded a saved message: the session's first attempt is from that time.
pub(crate) fn is_imported(workspace: &Workspace, message: &SessionMessage) -> bool {
    let Some(run) = message.run.as_ref().filter(|_| message.was_kept) else { return false };
    let catalogs = both_areas(workspace);
    let of_run = summaries(workspace.now(), &catalogs.each_ref(), |catalog| catalog.rows_of_run(run));
    of_run.iter().any(|attempt| attempt.head.iteration == 1 && attempt.covers(message.at))
}
