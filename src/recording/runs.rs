//! Names runs, and finds the active one and the tasks that the journal knows.
//!
//! Journal entries from the [future](crate::entry::is_ahead) do not count.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::time::SystemTime;

use chrono::TimeDelta;

use super::begun::begun;
use super::notes::told_here;
use super::session_run::{SESSION, is_session};
use crate::context::{Run, Task};
use crate::entry::is_ahead;
use crate::index::catalog::{Area, Catalog, RowId};
use crate::journal::history::AttemptSummary;
use crate::journal::{self, both_areas, latest_start, run_of};
use crate::open::Memory;
use crate::workspace::Workspace;

/// How long a run stays active after its last iteration ended, in hours.
const ACTIVE_HOURS: i64 = 2;
/// How much earlier an iteration that ended in that time may have begun, in hours.
const LONGEST_HOURS: i64 = 24;
/// The beginning of the name of a loop's run.
const RUN: &str = "run-";

impl Memory {
    /// Returns a new run with a unique name: `run-` and eight random hexadecimal digits.
    pub fn new_run(&self) -> Run {
        new_run(&self.workspace)
    }

    /// Returns a new run for the attempts of a session that has no loop, with a name that no other has: `session-` and
    /// eight random hexadecimal digits. [`Memory::recent_run`] and [`Memory::newest_run`] never return it, so no loop
    /// continues it.
    ///
    /// ```
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::{Memory, Task};
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let session = memory.new_session();
    /// let text = "<task-failed>Fix the login</task-failed>".to_owned();
    /// memory.record(Some(&Task::new("Fix the login")), Some(&session.id), &Report { text, ..Report::default() })?;
    /// assert_eq!(memory.recent_run(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new_session(&self) -> Run {
        new_name(&self.workspace, SESSION)
    }

    /// Returns the name of the run that was active last, if that was within two hours: one that ended an
    /// iteration, or began one. What the journal says of the future does not count, and neither do sessions.
    pub fn recent_run(&self) -> Option<String> {
        recent_run(&self.workspace)
    }

    /// Returns the name of the run that began an iteration last, however long ago. What the journal says of the
    /// future does not count, and neither do sessions.
    pub fn newest_run(&self) -> Option<String> {
        let workspace = &self.workspace;
        let catalog = workspace.catalog(Area::Live);
        let now = workspace.now();
        let latest = latest_start(now);
        let in_time = catalog.own_journal_rows().filter(|row| catalog.recency(*row) <= latest);
        let finished = in_time.filter_map(|row| Some((catalog.recency(row), run_of(&catalog.id(row)?)?)));
        let begun = begun(workspace).unwrap_or_default().into_iter();
        let begun = begun.map(|iteration| (iteration.started_at.min(now).timestamp_micros(), iteration.run_id));
        newest(workspace, finished.chain(begun))
    }
}

/// Does what [`Memory::new_run`] does.
pub(crate) fn new_run(workspace: &Workspace) -> Run {
    new_name(workspace, RUN)
}

fn new_name(workspace: &Workspace, prefix: &str) -> Run {
    loop {
        // Hash keys come from the system's randomness; the rest distinguishes two of one process.
        let random = RandomState::new().hash_one((SystemTime::now(), std::process::id()));
        let id = format!("{prefix}{:08x}", random >> 32);
        if !journal::has_attempts(workspace, &id).unwrap_or_default() {
            return Run::named(id);
        }
    }
}

/// Does what [`Memory::recent_run`] does.
pub(crate) fn recent_run(workspace: &Workspace) -> Option<String> {
    recent_run_in(workspace, &workspace.catalog(Area::Live))
}

/// Does what [`recent_run`] does, with the live entries at hand.
pub(super) fn recent_run_in(workspace: &Workspace, catalog: &Catalog) -> Option<String> {
    let now = workspace.now();
    let since = now - TimeDelta::hours(ACTIVE_HOURS);
    let first = (since - TimeDelta::hours(LONGEST_HOURS)).timestamp_micros();
    let in_time = first..=latest_start(now);
    let recent: Vec<RowId> =
        catalog.own_journal_rows().filter(|row| in_time.contains(&catalog.recency(*row))).collect();
    // A run of somebody else, which came with a merge or a clone, goes on where it began.
    let told = if recent.is_empty() { HashSet::new() } else { told_here(workspace) };
    let recent = recent.into_iter().filter(|row| told.contains(&catalog.path(*row)));
    let finished = recent.filter_map(|row| {
        let run = run_of(&catalog.id(row)?)?;
        Some((AttemptSummary::new(catalog.id(row)?, catalog.head(row))?.ended_at(), run))
    });
    // An attempt that was begun here counts, whatever the clock said.
    let begun = begun(workspace).unwrap_or_default().into_iter();
    let begun = begun.map(|iteration| (iteration.started_at.min(now), iteration.run_id));
    newest(workspace, finished.chain(begun).filter(|(at, _)| *at >= since && !is_ahead(*at, now)))
}

/// Returns the run of a loop with the latest time. Of several runs with one, as in journals with whole seconds, the folder shows
/// which was written last.
fn newest<T: Ord>(workspace: &Workspace, runs: impl Iterator<Item = (T, String)>) -> Option<String> {
    let written = |run: &str| {
        let folder = workspace.store.folder(&format!("journal/{run}")).and_then(|folder| folder.stat());
        folder.map_or(i64::MAX, |stat| stat.mtime)
    };
    let mut latest: Vec<(T, String)> = Vec::new();
    for (at, run) in runs.filter(|(_, run)| !is_session(run)) {
        match latest.first().map(|(newest, _)| at.cmp(newest)) {
            Some(std::cmp::Ordering::Less) => continue,
            Some(std::cmp::Ordering::Equal) => {}
            Some(std::cmp::Ordering::Greater) | None => latest.clear(),
        }
        if latest.iter().all(|(_, known)| *known != run) {
            latest.push((at, run));
        }
    }
    latest.into_iter().map(|(_, run)| (written(&run), run)).max().map(|(_, run)| run)
}

/// Returns the task with this id from the last attempt at it, and the number of attempts.
pub(super) fn known_task(workspace: &Workspace, task_id: &str) -> (Task, usize) {
    let catalogs = both_areas(workspace);
    let catalogs = catalogs.each_ref();
    let known = journal::summaries(workspace.now(), &catalogs, |catalog| catalog.rows_of_task(task_id));
    let newest = known.last().and_then(|newest| journal::attempt(workspace, &catalogs, &newest.id));
    let task = Task {
        id: Some(task_id.to_owned()),
        feature: newest.as_ref().and_then(|attempt| attempt.feature.clone()),
        section: newest.as_ref().and_then(|attempt| attempt.head.section.clone()),
        // A task without a title is named by its id.
        ..Task::new(
            newest
                .map(|attempt| attempt.task_title)
                .filter(|title| !title.is_empty())
                .unwrap_or_else(|| task_id.to_owned()),
        )
    };
    (task, known.len())
}
