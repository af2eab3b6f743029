//! When each client's hooks last acted, and their last errors, for `check`.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::recording::sealed;
use crate::system::posix::FileExt as _;
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

/// The file with the times of calls of tools, below `state/`: four bytes each, in microseconds, the oldest first.
const TIMES: &str = "tool-times";
/// How many of these times `check` shows the median of, and at how many of them the file is cut to that.
const MAX_TIMES: u64 = 100;
const CUT_AT: u64 = 1_000;

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

/// Adds how long the hook at a call of a tool took. Agents wait for it, so this is one write, without a lock or a seal: of two
/// that cut the file at once, one may lose the other's time.
pub(super) fn add_time(workspace: &Workspace, took: Duration) {
    let took = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
    let Ok(state) = workspace.store.folder("state") else { return };
    if state.append_private(TIMES, &took.to_le_bytes()).is_ok_and(|length| length >= CUT_AT * 4) {
        let times: Vec<u8> = last_times(workspace).into_iter().flat_map(u32::to_le_bytes).collect();
        let _ = state.replace_file(TIMES, &times);
    }
}

/// Returns the median of the last times of the hook at calls of tools, and how many these are.
pub(crate) fn tool_time(workspace: &Workspace) -> Option<(Duration, usize)> {
    let mut times = last_times(workspace);
    times.sort_unstable();
    let median = times.get(times.len() / 2)?;
    Some((Duration::from_micros(u64::from(*median)), times.len()))
}

fn last_times(workspace: &Workspace) -> Vec<u32> {
    let read = || {
        let file = workspace.store.folder("state").ok()?.open_file(TIMES).ok()?;
        let n_times = file.metadata().ok()?.len() / 4;
        let first = n_times.saturating_sub(MAX_TIMES);
        let mut bytes = vec![0; usize::try_from((n_times - first) * 4).ok()?];
        file.read_exact_at(&mut bytes, first * 4).ok()?;
        Some(bytes.as_chunks::<4>().0.iter().map(|time| u32::from_le_bytes(*time)).collect())
    };
    read().unwrap_or_default()
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
