//! When each client's hooks last acted, and their last errors, for `check`.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::recording::sealed;
use crate::text::{for_terminal, shorten};
use crate::workspace::Workspace;

/// The file, below `state/sessions/`.
const NAME: &str = "log";
/// How many errors are kept.
const MAX_ERRORS: usize = 20;
/// How many clients are kept, which is more than there are.
const MAX_CLIENTS: usize = 32;
/// The longest message that is kept, in characters.
const MAX_MESSAGE: usize = 300;

/// The log of hooks in one memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct HookLog {
    /// The last action for each client: the event, and when.
    pub acted: BTreeMap<String, (String, DateTime<Utc>)>,
    /// The last errors, the oldest first.
    pub errors: Vec<HookError>,
}

/// An error of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HookError {
    pub at: DateTime<Utc>,
    pub client: String,
    pub event: String,
    pub message: String,
}

/// Returns the log of this memory.
pub(crate) fn hook_log(workspace: &Workspace) -> HookLog {
    let mut log: HookLog = sealed::read_locked(workspace, NAME);
    log.errors.truncate(MAX_ERRORS);
    log
}

/// Adds an action of a client's hook, with its errors. If the log cannot be written, the hook does not fail.
pub(super) fn add(workspace: &Workspace, client: &str, event: &str, errors: &[String]) {
    let now = workspace.now();
    let _ = sealed::update(workspace, NAME, |log: &mut HookLog, _| {
        if log.acted.len() < MAX_CLIENTS || log.acted.contains_key(client) {
            log.acted.insert(client.to_owned(), (event.to_owned(), now));
        }
        log.errors.extend(errors.iter().map(|message| HookError {
            at: now,
            client: client.to_owned(),
            event: event.to_owned(),
            message: shorten(&for_terminal(&message.replace(['\n', '\t'], " ")), MAX_MESSAGE),
        }));
        let n_over = log.errors.len().saturating_sub(MAX_ERRORS);
        log.errors.drain(..n_over);
    });
}
