//! The circuit breaker of the servers: after a time-out, requests are suspended for 60 s, and each warning is shown
//! once.
//!
//! The suspension is also a file of the cache, so that the next process does not wait for the same server. The file has
//! the seal of the cache's anchor: one that came with a repository has no effect.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::FOLDER;
use super::failure::{EmbedStop, ServerFailure};
use super::http::RequestError;
use super::report::EmbedReport;
use super::sealed_list::SealedList;
use crate::error::{Problem, Result};
use crate::workspace::Workspace;

/// How long requests are suspended after a server did not answer in time.
const SUSPENSION: Duration = Duration::seconds(60);
/// A failure that took longer than this suspends requests, whatever it is.
const SLOW_FAILURE: std::time::Duration = std::time::Duration::from_millis(500);
/// The longest file of a suspension, in bytes.
const MAX_FILE: u64 = 4_096;

/// Suspends requests to servers that failed slowly, and remembers what was reported.
#[derive(Debug)]
pub(super) struct CircuitBreaker {
    /// The servers of the settings. A suspension of other servers has no effect.
    addresses: Vec<String>,
    /// The warnings that were shown.
    reported: Mutex<BTreeSet<String>>,
    suspension: Mutex<Option<Suspension>>,
    /// The suspension that a process left in the cache.
    file: SealedList,
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
        let file = SealedList::new(format!("{FOLDER}/pause.json"), MAX_FILE);
        CircuitBreaker { addresses, reported: Mutex::default(), suspension: Mutex::default(), file }
    }

    /// Returns why requests are suspended, if they are.
    fn suspended(&self, workspace: &Workspace) -> Option<Problem> {
        let now = workspace.now();
        let effective = |suspension: Suspension| {
            let left = suspension.until - now;
            // A clock that was set back would prolong it.
            let holds = left > Duration::zero() && left <= SUSPENSION && self.addresses.contains(&suspension.address);
            holds.then_some((suspension, left))
        };
        // Another process may have waited for a server in the meantime.
        let own = self.suspension.lock().unwrap_or_else(PoisonError::into_inner).clone().and_then(effective);
        let (suspension, left) = own.or_else(|| self.file.read(workspace).pop().and_then(effective))?;
        let (reason, left) = (suspension.message, left.num_seconds());
        Some(Problem::warning(
            suspension.address,
            "semantic-paused",
            format!("{reason}; requests are suspended for {left} s, and words alone count"),
            "run `ralph-memory check`, which asks it again",
        ))
    }

    /// Makes a call with requests, unless they are suspended. Returns its result, unless a server fails, and the
    /// problems that were not shown before.
    pub(super) fn guard<T>(
        &self,
        workspace: &Workspace,
        call: impl FnOnce(&mut Vec<Problem>) -> Result<T, ServerFailure>,
    ) -> (Option<T>, Vec<Problem>) {
        if let Some(problem) = self.suspended(workspace) {
            return (None, self.warn_once(vec![problem]));
        }
        let (started, mut problems) = (Instant::now(), Vec::new());
        let result = call(&mut problems).map_err(|failure| {
            self.trip(workspace, &failure, started.elapsed());
            problems.push(failure.problem());
        });
        (result.ok(), self.warn_once(problems))
    }

    /// Suspends requests after a failure that took this long.
    fn trip(&self, workspace: &Workspace, failure: &ServerFailure, waited: std::time::Duration) {
        if !matches!(failure.error, RequestError::TimedOut(_)) && waited <= SLOW_FAILURE {
            return;
        }
        let suspension = Suspension {
            until: workspace.now() + SUSPENSION,
            address: failure.address.clone(),
            message: failure.error.to_string(),
        };
        // If the cache cannot be written, the next process waits for the server again.
        self.file.replace(workspace, std::slice::from_ref(&suspension));
        self.suspend(Some(suspension));
    }

    /// Ends a suspension: the server answers.
    pub(super) fn reset(&self, workspace: &Workspace) {
        self.suspend(None);
        self.file.remove(workspace);
    }

    fn suspend(&self, suspension: Option<Suspension>) {
        *self.suspension.lock().unwrap_or_else(PoisonError::into_inner) = suspension;
    }

    /// Makes a call for vectors, and reports why it ended early, if it did.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`](crate::error::Error::Locked) and [`Error::Io`](crate::error::Error::Io) where the cache cannot
    /// be written.
    pub(super) fn conclude(
        &self,
        workspace: &Workspace,
        call: impl FnOnce(&mut EmbedReport) -> Result<(), EmbedStop>,
    ) -> Result<EmbedReport> {
        let mut report = EmbedReport::default();
        match call(&mut report) {
            Ok(()) => {}
            Err(EmbedStop::Server(failure)) => report.problems.extend(self.report(workspace, &failure)),
            Err(EmbedStop::Cache(error)) => return Err(error),
        }
        Ok(report.bounded())
    }

    /// Suspends requests after a time-out, and returns the warning, unless it was shown.
    pub(super) fn report(&self, workspace: &Workspace, failure: &ServerFailure) -> Vec<Problem> {
        self.trip(workspace, failure, std::time::Duration::ZERO);
        self.warn_once(vec![failure.problem()])
    }

    /// Returns the problems that were not shown yet. The same server with another hint is another problem.
    fn warn_once(&self, problems: Vec<Problem>) -> Vec<Problem> {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let key = |problem: &Problem| format!("{} {} {}", problem.code, problem.path, problem.hint);
        problems.into_iter().filter(|problem| reported.insert(key(problem))).collect()
    }
}
