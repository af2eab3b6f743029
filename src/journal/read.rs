//! Reads attempts from the journal, summaries first.
//!
//! A summary comes from the catalog and opens no file. A whole attempt is read from its file; an unreadable one is left
//! out and never hides another.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::entry::path::{ARCHIVED_COPIES, COPIES, is_copy};
use crate::entry::{self, AHEAD, Attempt, Head, Id, Outcome};
use crate::error::Result;
use crate::index::catalog::{Area, Catalog, RowId};
use crate::journal::history::{self, AttemptSummary, Recurrence};
use crate::open::Memory;
use crate::text::{shorten, task_form};
use crate::workspace::Workspace;

/// How much of an error's line is kept, in characters: some programs write all their output in one line.
const LINE_CHARACTERS: usize = 300;
/// The longest reason, in characters.
const MAX_REASON: usize = 200;

/// Returns the catalogs of both areas, the live one first.
pub(crate) fn both_areas(workspace: &Workspace) -> [Catalog; 2] {
    [workspace.catalog(Area::Live), workspace.catalog(Area::Archive)]
}

/// Returns summaries of the attempts in these rows, oldest first. If several catalogs have an id, the first one counts.
pub(crate) fn summaries(
    now: DateTime<Utc>,
    catalogs: &[&Catalog],
    rows: impl Fn(&Catalog) -> Vec<RowId>,
) -> Vec<AttemptSummary> {
    summaries_of(now, catalogs, rows, Catalog::head)
}

/// Returns light summaries of all attempts: with no more of an attempt than [`Catalog::light_head`] has.
pub(crate) fn light_summaries(now: DateTime<Utc>, catalogs: &[&Catalog]) -> Vec<AttemptSummary> {
    summaries_of(now, catalogs, |catalog| catalog.journal_rows().collect(), Catalog::light_head)
}

fn summaries_of(
    now: DateTime<Utc>,
    catalogs: &[&Catalog],
    rows: impl Fn(&Catalog) -> Vec<RowId>,
    head: fn(&Catalog, RowId) -> Head,
) -> Vec<AttemptSummary> {
    let mut summaries: Vec<AttemptSummary> = Vec::new();
    let mut known: HashSet<Id> = HashSet::new();
    for catalog in catalogs {
        for row in rows(catalog) {
            let id = catalog.id(row).filter(|_| catalog.is_indexable(row));
            let mut summary = id.and_then(|id| AttemptSummary::new(id, head(catalog, row)));
            if let Some(summary) = summary.as_mut().filter(|_| is_copy(&catalog.path(row))) {
                // The state in which it left another work tree says nothing about this one.
                summary.head.tree = None;
            }
            summaries.extend(summary.filter(|summary| known.insert(summary.id.clone())));
        }
    }
    // A journal entry names an entry by the id that it had at the time.
    let mut renamed: HashMap<Id, Option<Id>> = HashMap::new();
    for id in summaries.iter_mut().flat_map(|summary| &mut summary.head.context) {
        let new = if let Some(new) = renamed.get(id) {
            new
        } else {
            let is_there = catalogs.iter().any(|catalog| catalog.row_of_id(id).is_some());
            let find = || catalogs.iter().find_map(|catalog| catalog.renamed(id)).cloned();
            renamed.entry(id.clone()).or_insert(if is_there { None } else { find() })
        };
        if let Some(new) = new {
            id.clone_from(new);
        }
    }
    history::sort(&mut summaries, now);
    summaries
}

/// Returns the latest time, in microseconds since 1970, at which an attempt can have begun by `now`.
pub(crate) fn latest_start(now: DateTime<Utc>) -> i64 {
    now.checked_add_signed(AHEAD).map_or(i64::MAX, |latest| latest.timestamp_micros())
}

/// Returns the whole content of a journal entry; `None` if its file vanished since the scan.
pub(crate) fn attempt(workspace: &Workspace, catalogs: &[&Catalog], id: &Id) -> Option<Attempt> {
    attempt_at(workspace, &path_of(catalogs, id)?)
}

/// Returns the path of an entry, relative to `.ralph/`.
pub(super) fn path_of(catalogs: &[&Catalog], id: &Id) -> Option<String> {
    catalogs.iter().find_map(|catalog| catalog.row_of_id(id).map(|row| catalog.path(row)))
}

/// Returns the whole content of the file at `path`, relative to `.ralph/`; `None` if it is not a readable attempt.
pub(crate) fn attempt_at(workspace: &Workspace, path: &str) -> Option<Attempt> {
    Attempt::of(&entry::read(path, &workspace.store.read(path).ok()?.bytes))
}

/// Returns whether a run has attempts, archived or not. It asks the file system, not the catalog.
///
/// # Errors
///
/// [`Error::Io`](crate::Error::Io).
pub(crate) fn has_attempts(workspace: &Workspace, run_id: &str) -> Result<bool> {
    let is_empty = |folder: &str| workspace.store.names(&format!("{folder}/{run_id}")).map(|names| names.is_empty());
    for folder in ["journal", "archive/journal", COPIES, ARCHIVED_COPIES] {
        if !is_empty(folder)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the id and the title of the task with this id or, if there is none, of the last task with this title.
pub(crate) fn task_by_name(workspace: &Workspace, name: &str) -> Option<(String, String)> {
    let catalogs = both_areas(workspace);
    let newest = |rows: &dyn Fn(&Catalog) -> Vec<RowId>, is_meant: &dyn Fn(&Head) -> bool| {
        let heads = |catalog: &Catalog| -> Vec<(i64, Head)> {
            rows(catalog).into_iter().map(|row| (catalog.recency(row), catalog.light_head(row))).collect()
        };
        let heads = catalogs.iter().flat_map(heads).filter(|(_, head)| head.valid && is_meant(head));
        let tasks = heads.filter_map(|(at, head)| Some((at, head.task_id?, head.title)));
        tasks.max_by_key(|(at, ..)| *at).map(|(_, id, title)| (id, title))
    };
    let title = task_form(name);
    let by_title = || newest(&|catalog| catalog.journal_rows().collect(), &|head| task_form(&head.title) == title);
    newest(&|catalog| catalog.rows_of_task(name), &|_| true).or_else(by_title)
}

impl Memory {
    /// Returns the run's attempts in the journal, oldest first, each with its whole content.
    pub fn attempts_of_run(&self, run_id: &str) -> Vec<(Id, Attempt)> {
        attempts_in(&self.workspace, |catalog| catalog.rows_of_run(run_id))
    }

    /// Returns the task's iterations that are in the journal, as [`Memory::attempts_of_run`] does those of a run.
    pub fn attempts_of_task(&self, task_id: &str) -> Vec<(Id, Attempt)> {
        attempts_in(&self.workspace, |catalog| catalog.rows_of_task(task_id))
    }

    /// Returns the id of the task with this id or, if there is none, of the last task with this title. `None` if there was no
    /// attempt at either.
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
    /// let attempt = memory.begin(&Task::new("Retry the upload"), &memory.new_run())?;
    /// let recorded = memory.finish(&attempt, &Report { outcome: Some(Outcome::Done), ..Report::default() })?;
    /// assert_eq!(memory.task_id("retry the upload"), recorded.attempt.task_id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn task_id(&self, name: &str) -> Option<String> {
        task_by_name(&self.workspace, name).map(|(id, _)| id)
    }
}

pub(super) fn attempts_in(workspace: &Workspace, rows: impl Fn(&Catalog) -> Vec<RowId>) -> Vec<(Id, Attempt)> {
    let catalogs = both_areas(workspace);
    let catalogs = catalogs.each_ref();
    let summaries = summaries(workspace.now(), &catalogs, rows);
    let with_attempt = |AttemptSummary { id, .. }: AttemptSummary| {
        let attempt = attempt(workspace, &catalogs, &id)?;
        Some((id, attempt))
    };
    summaries.into_iter().filter_map(with_attempt).collect()
}

/// Returns the most telling line of an error, without secrets, from the last readable attempt.
pub(crate) fn error_line(workspace: &Workspace, catalogs: &[&Catalog], error: &Recurrence<'_>) -> Option<String> {
    let allowed = &workspace.settings.allowed_secrets;
    let line = |summary: &AttemptSummary| attempt(workspace, catalogs, &summary.id)?.redacted_error_line(allowed);
    error.attempts().rev().find_map(line).map(|line| shorten(&line, LINE_CHARACTERS))
}

/// The reason of an attempt whose agent ended as it should, and said nothing.
pub(crate) const NO_RESULT: &str = "the agent reported neither success nor failure";

/// Returns why the task of an attempt is not done, in the words of the agent, or else of the verification, or else of
/// the error, or else in the last line that the client printed.
pub(super) fn reason(attempt: &Attempt) -> String {
    let verified = attempt.head.validation.as_ref().filter(|validation| validation.exit_code != 0);
    let verified =
        verified.map(|validation| format!("{} failed with exit code {}", validation.named(), validation.exit_code));
    let why = attempt.sections.told_why().and_then(|why| why.lines().next()).map(|line| line.trim().to_owned());
    let lines = attempt.sections.errors.lines().map(|line| line.trim().trim_start_matches("- "));
    let printed = || lines.rev().find(|line| !line.is_empty());
    let error = || attempt.error_line().or_else(printed).map(str::to_owned);
    let reason = match attempt.head.outcome {
        Outcome::Done => None,
        Outcome::Retried => verified.or(why).or_else(error),
        Outcome::Blocked => why.or(verified).or_else(error).or_else(|| Some(NO_RESULT.to_owned())),
        _ => why.or(verified).or_else(error),
    };
    shorten(&reason.unwrap_or_default(), MAX_REASON)
}
