//! The circuit breaker of the servers: after a time-out, requests are suspended for 60 s, and each warning is shown
//! once.
//!
//! The suspension is also a file of the cache, so that the next process does not wait for the same server. The file has
//! the seal of the cache's anchor: one that came with a repository has no effect.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::FOLDER;
use super::failure::ServerFailure;
use super::http::RequestError;
use crate::error::Problem;
use crate::workspace::Workspace;

/// How long requests are suspended after a server did not answer in time.
const SUSPENSION: Duration = Duration::seconds(60);
/// A failure that took longer than this suspends requests, whatever it is.
const SLOW_FAILURE: std::time::Duration = std::time::Duration::from_millis(500);
/// The longest file of a suspension, in bytes.
const MAX_FILE: u64 = 4_096;

/// Suspends requests to servers that failed slowly, and remembers what was reported.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker {
    /// The servers of the settings: a suspension of others has no effect.
    addresses: Vec<String>,
    state: Mutex<BreakerState>,
}

#[derive(Debug, Default)]
struct BreakerState {
    /// The warnings that were shown.
    reported: BTreeSet<String>,
    suspension: Option<Suspension>,
}

/// Until when no request is made, and why.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Suspension {
    until: DateTime<Utc>,
    address: String,
    message: String,
}

impl CircuitBreaker {
    /// Returns the breaker of the servers at these addresses.
    pub(super) fn new(addresses: Vec<String>) -> CircuitBreaker {
        CircuitBreaker { addresses, ..CircuitBreaker::default() }
    }

    /// Returns why requests are suspended, if they are.
    pub(super) fn suspended(&self, workspace: &Workspace) -> Option<Problem> {
        let now = workspace.now();
        let effective = |suspension: Suspension| {
            let left = suspension.until - now;
            // A clock that was set back would prolong it.
            let holds = left > Duration::zero() && left <= SUSPENSION && self.addresses.contains(&suspension.address);
            holds.then_some((suspension, left))
        };
        // Another process may have waited for a server since this one did.
        let own = self.state().suspension.clone().and_then(effective);
        let (suspension, left) = own.or_else(|| read(workspace).and_then(effective))?;
        let (reason, left) = (suspension.message, left.num_seconds());
        Some(Problem::warning(
            suspension.address,
            "semantic-paused",
            format!("{reason}; requests are suspended for {left} s, and words alone count"),
            "run `ralph-memory check`, which asks it again",
        ))
    }

    /// Suspends requests after a failure that took this long.
    pub(super) fn trip(&self, workspace: &Workspace, failure: &ServerFailure, waited: std::time::Duration) {
        if !matches!(failure.error, RequestError::TimedOut(_)) && waited <= SLOW_FAILURE {
            return;
        }
        let suspension = Suspension {
            until: workspace.now() + SUSPENSION,
            address: failure.address.clone(),
            message: failure.error.to_string(),
        };
        // If the cache cannot be written, the next process waits for the server itself.
        let text = serde_json::to_string(&suspension).unwrap_or_default();
        if let Ok(anchor) = workspace.store.make_anchor() {
            let _ = workspace.store.write_cache(&file_name(), anchor.sealed_line(&text).as_bytes());
        }
        self.state().suspension = Some(suspension);
    }

    /// Ends a suspension: the server answers.
    pub(super) fn reset(&self, workspace: &Workspace) {
        self.state().suspension = None;
        let _ = workspace.store.remove_cache(&file_name());
    }

    /// Suspends requests after a time-out, and returns the warning, unless it was shown.
    pub(super) fn report(&self, workspace: &Workspace, failure: &ServerFailure) -> Vec<Problem> {
        self.trip(workspace, failure, std::time::Duration::ZERO);
        self.warn_once(vec![failure.problem()])
    }

    /// Returns the problems that were not shown yet. The same server with another hint is another problem.
    pub(super) fn warn_once(&self, problems: Vec<Problem>) -> Vec<Problem> {
        let mut state = self.state();
        let key = |problem: &Problem| format!("{} {} {}", problem.code, problem.path, problem.hint);
        problems.into_iter().filter(|problem| state.reported.insert(key(problem))).collect()
    }

    fn state(&self) -> MutexGuard<'_, BreakerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the suspension that a process left in the cache.
fn read(workspace: &Workspace) -> Option<Suspension> {
    let mut text = String::new();
    let file = workspace.store.open_cache(&file_name()).ok()?;
    file.take(MAX_FILE).read_to_string(&mut text).ok()?;
    serde_json::from_str(workspace.store.anchor()?.unsealed_line(text.trim_end())?).ok()
}

fn file_name() -> String {
    format!("{FOLDER}/pause.json")
}
