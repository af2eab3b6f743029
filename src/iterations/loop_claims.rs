//! Decides whether a loop records what a message of a session reports.
//!
//! Your own loop calls `context`, an agent, and `record`. The agent's client may fire hooks meanwhile, but only the
//! loop knows what the verification says. So a message about an iteration that was open before the session began waits
//! until the iteration is in the journal, and then counts as recorded. If that does not happen within some hours, the loop
//! is gone, and the message is recorded as an attempt of the session.

use chrono::TimeDelta;

use super::begun::begun;
use super::iteration::Iteration;
use super::session_message::SessionMessage;
use crate::error::Result;
use crate::journal::{attempt, both_areas, summaries};
use crate::workspace::Workspace;

/// How long a message waits for a loop, in hours: longer than any verification.
const WAIT_HOURS: i64 = 6;
/// How much later than the end of an attempt its agent's last hook may run.
const APART: TimeDelta = TimeDelta::minutes(2);
/// How long an attempt may have lasted, in seconds, of which the text is compared.
const LONGEST_SECS: i64 = 24 * 60 * 60;

/// What a message reports.
#[derive(Debug, Clone, Copy)]
pub(super) enum Claimed<'a> {
    /// The end of the task with this id.
    Task(&'a str),
    /// A failure of no named task, by what was tried.
    Failure(&'a str),
}

/// Whether a loop records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    None,
    /// Its iteration is open.
    Open,
    /// It is in the journal.
    Recorded,
}

/// Returns whether the session of a message began an iteration itself, so that no loop will end it.
pub(super) fn is_own(open: &Iteration, message: &SessionMessage) -> bool {
    let began = message.session.as_ref().map(|(_, began)| *began);
    is_free(open) && began.is_some_and(|began| began <= open.started_at)
}

/// Returns whether a loop records what a message reports.
///
/// # Errors
///
/// Those of [`begun`].
pub(super) fn claim_of(workspace: &Workspace, message: &SessionMessage, claimed: Claimed<'_>) -> Result<Claim> {
    let waits = (workspace.now() - message.at).num_hours() < WAIT_HOURS;
    let is_meant = |open: &Iteration| match claimed {
        Claimed::Task(id) => open.task_id() == id,
        Claimed::Failure(_) => (message.at - open.started_at).num_hours() < WAIT_HOURS,
    };
    let is_of_loop = |open: &Iteration| open.started_at <= message.at && is_meant(open) && !is_own(open, message);
    if waits && begun(workspace)?.iter().any(is_of_loop) {
        return Ok(Claim::Open);
    }
    Ok(if message.was_kept && is_recorded(workspace, message, claimed) { Claim::Recorded } else { Claim::None })
}

/// Returns whether an attempt in the journal was going on when the message was written, and is about the same.
fn is_recorded(workspace: &Workspace, message: &SessionMessage, claimed: Claimed<'_>) -> bool {
    let catalogs = both_areas(workspace);
    let catalogs = catalogs.each_ref();
    let at = message.at;
    let candidates = summaries(workspace.now(), &catalogs, |catalog| match claimed {
        Claimed::Task(id) => catalog.rows_of_task(id),
        Claimed::Failure(_) => {
            let in_time = at.timestamp() - LONGEST_SECS..=at.timestamp();
            catalog.journal_rows().filter(|row| in_time.contains(&catalog.recency(*row))).collect()
        }
    });
    candidates.iter().filter(|summary| summary.head.duration_secs.is_some()).any(|summary| {
        let lasted = summary.started_at..=summary.ended_at().checked_add_signed(APART).unwrap_or(at);
        let is_same = || match claimed {
            Claimed::Task(_) => true,
            Claimed::Failure("") => false,
            Claimed::Failure(tried) => attempt(workspace, &catalogs, &summary.id)
                .is_some_and(|attempt| attempt.sections.tried.trim() == tried.trim()),
        };
        lasted.contains(&at) && is_same()
    })
}

/// Returns whether no process holds an iteration.
fn is_free(open: &Iteration) -> bool {
    open.holder.is_none() && open.agent.is_none()
}
