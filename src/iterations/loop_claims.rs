//! Decides whether a run records what a message of a session reports.
//!
//! While `run` works on a task, its agent's client may fire hooks, but only the run knows what the verification says. So a
//! message about that task waits until the run has recorded it, and then counts as recorded.

use chrono::TimeDelta;

use super::session_message::SessionMessage;
use super::told::held;
use crate::error::Result;
use crate::journal::{both_areas, summaries};
use crate::workspace::Workspace;

/// How much later than the end of an attempt its agent's last hook may run.
const APART: TimeDelta = TimeDelta::minutes(2);

/// Whether a run records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    None,
    /// It is at work.
    Open,
    /// It is in the journal.
    Recorded,
}

/// Returns whether a run records what a message reports of a task.
///
/// # Errors
///
/// Those of [`held`].
pub(super) fn claim_of(workspace: &Workspace, message: &SessionMessage, task_id: &str) -> Result<Claim> {
    if held(workspace, task_id)?.is_some_and(|open| open.started_at <= message.at) {
        return Ok(Claim::Open);
    }
    Ok(if message.was_kept && is_recorded(workspace, message, task_id) { Claim::Recorded } else { Claim::None })
}

/// Returns whether an attempt at the task was going on when the message was written.
fn is_recorded(workspace: &Workspace, message: &SessionMessage, task_id: &str) -> bool {
    let catalogs = both_areas(workspace);
    let of_task = summaries(workspace.now(), &catalogs.each_ref(), |catalog| catalog.rows_of_task(task_id));
    of_task.iter().filter(|summary| summary.head.duration_secs.is_some()).any(|summary| {
        let ended = summary.ended_at().checked_add_signed(APART).unwrap_or(message.at);
        (summary.started_at..=ended).contains(&message.at)
    })
}
