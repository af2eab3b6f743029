//! Queries of the journal: the last attempts, failed attempts, the files that they touched, and recurring errors.
//!
//! One bad file never hides another: problems of files are reported beside the answer.

use chrono::{DateTime, Utc};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::names::check_name;
use super::read::{attempt_at, both_areas, error_line, latest_start, path_of, reason, summaries};
use crate::entry::knowledge::timestamp;
use crate::entry::path::display_path;
use crate::entry::{Attempt, Id};
use crate::error::{Problem, Result};
use crate::index::catalog::{Catalog, RowId};
use crate::journal::history::{self, AttemptSummary, TouchedFile};
use crate::open::Memory;
use crate::text::is_same_name;
use crate::workspace::Workspace;

/// How many of a feature's newest attempts are considered for a context: decoding a head takes five microseconds, and
/// errors that recurred only before that are over.
const MAX_RECENT: usize = 500;

/// An attempt, and where the journal has it. In JSON it is flat: the fields of the attempt, its head and its sections
/// are beside these.
///
/// ```
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let task = Task { feature: Some("search".into()), ..Task::new("Rank titles higher") };
/// let attempt = memory.begin(&task, &memory.new_run())?;
/// let text = "<journal>Titles count twice.</journal><difficulty-estimate>easy</difficulty-estimate>";
/// memory.finish(&attempt, &Report { text: text.into(), ..Report::default() })?;
/// let view = memory.recent_iterations(Some("search"), 1).items.remove(0);
/// assert_eq!(view.attempt.task_title, "Rank titles higher");
/// assert_eq!(view.attempt.head.outcome.as_str(), "blocked", "the agent said neither that it was done nor that it failed");
/// assert_eq!(serde_json::to_value(&view)?["notes"], "Titles count twice.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptView {
    /// The entry in the journal.
    pub id: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// Whether it is in the archive.
    pub archived: bool,
    /// Its content.
    #[serde(flatten, serialize_with = "flat")]
    pub attempt: Attempt,
    /// Why the task is not done, in one line; empty if it is done, or if that is unknown.
    pub reason: String,
}

impl AttemptView {
    /// Returns the view of the attempt whose file is `path`, relative to the folder that holds `.ralph/`.
    pub(crate) fn new(id: Id, path: String, attempt: Attempt) -> AttemptView {
        let reason = reason(&attempt);
        AttemptView { id, archived: path.starts_with(".ralph/archive/"), path, attempt, reason }
    }

    /// Reads the attempt with this id, without secrets that a person may have written into its file; `None` if there is
    /// no readable one.
    pub(crate) fn read(workspace: &Workspace, catalogs: &[&Catalog], id: &Id) -> Option<AttemptView> {
        let path = path_of(catalogs, id)?;
        let attempt = attempt_at(workspace, &path)?.prepared(&workspace.settings.allowed_secrets);
        Some(AttemptView::new(id.clone(), display_path(&path), attempt))
    }
}

/// Serialises an attempt without nesting, and without the measurements of its body, which only rankings need.
fn flat<S: Serializer>(attempt: &Attempt, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    let mut fields = serde_json::to_value(attempt).map_err(S::Error::custom)?;
    for part in ["head", "sections"] {
        let inner = fields[part].take();
        if let (Some(fields), Value::Object(inner)) = (fields.as_object_mut(), inner) {
            fields.remove(part);
            fields.extend(
                inner
                    .into_iter()
                    .filter(|(key, _)| !matches!(key.as_str(), "error_fingerprint" | "line_fingerprint" | "account")),
            );
        }
    }
    fields.serialize(serializer)
}

/// What a query of the journal found.
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
/// let run = memory.new_run();
/// for outcome in [Outcome::Failed, Outcome::Error, Outcome::Done] {
///     let attempt = memory.begin(&Task::new("Cut the release"), &run)?;
///     memory.finish(&attempt, &Report { outcome: Some(outcome), ..Report::default() })?;
/// }
/// let failed = memory.failed_attempts(None, None, 1)?;
/// assert_eq!((failed.items[0].attempt.head.outcome, failed.in_all), (Outcome::Error, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found<T> {
    /// The results: attempts newest first; files and errors most frequent first.
    pub items: Vec<T>,
    /// How many there are, including those that are not returned.
    pub in_all: usize,
    /// Problems of the files that were read.
    pub problems: Vec<Problem>,
}

impl<T> Found<T> {
    fn all(workspace: &Workspace, catalogs: &[&Catalog], items: Vec<T>) -> Found<T> {
        Found { in_all: items.len(), items, problems: problems_of(workspace, catalogs) }
    }
}

/// A recurring error.
///
/// ```
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let run = memory.new_run();
/// for line in [12, 40] {
///     let attempt = memory.begin(&Task::new("Store ranks as `u32`"), &run)?;
///     let trace = format!("error[E0308]: mismatched types at src/rank.rs:{line}");
///     let why = format!("what_tried: `as u32`\nwhy_failed: it is signed\nstack_trace: {trace}");
///     let text = format!("<failure-report>{why}</failure-report> <task-failed>{}</task-failed>", attempt.task_id());
///     memory.finish(&attempt, &Report { text, ..Report::default() })?;
/// }
/// let error = &memory.recurring_errors(None).items[0];
/// assert_eq!(error.attempts, 2, "the place in the file makes no other error of it");
/// assert_eq!(error.example, "error[E0308]: mismatched types at src/rank.rs:40");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecurringError {
    /// In how many attempts it occurred.
    pub attempts: usize,
    /// The first of them.
    pub first: Occurrence,
    /// The last of them.
    pub last: Occurrence,
    /// Its most telling line, from the last attempt with a readable file; empty if there is none.
    pub example: String,
}

/// An attempt in which an error occurred.
///
/// ```
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let run = memory.new_run();
/// for _ in 0..3 {
///     let attempt = memory.begin(&Task::new("Connect to the broker"), &run)?;
///     let id = attempt.task_id();
///     let why = "what_tried: port 5672\nwhy_failed: nobody listens\nstack_trace: connection refused";
///     let text = format!("<task-failed>{id}</task-failed>\n<failure-report>{why}</failure-report>");
///     memory.finish(&attempt, &Report { text, ..Report::default() })?;
/// }
/// let error = memory.recurring_errors(None).items.remove(0);
/// assert_eq!((error.first.iteration, error.last.iteration), (1, 3));
/// assert_eq!(memory.show(&error.last.id)?.entry.run_id, Some(error.last.run_id));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Occurrence {
    /// The entry in the journal.
    pub id: Id,
    /// The run.
    pub run_id: String,
    /// Its number in the run.
    pub iteration: u32,
    /// When it began, RFC 3339.
    pub started_at: String,
}

impl Memory {
    /// Returns the last iterations of a feature's tasks, or of all, newest first, and at most `count`.
    pub fn recent_iterations(&self, feature: Option<&str>, count: usize) -> Found<AttemptView> {
        let workspace = &self.workspace;
        let catalogs = both_areas(workspace);
        let catalogs = catalogs.each_ref();
        newest(workspace, &catalogs, &of_feature(workspace.now(), &catalogs, feature), count)
    }

    /// Returns the last attempts that failed, newest first and at most `count`: of a feature or of all, and of one task or
    /// of all. Those that were interrupted or are done in part did not fail.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::error::Error::Invalid) where the task's id is not one.
    pub fn failed_attempts(
        &self,
        feature: Option<&str>,
        task_id: Option<&str>,
        count: usize,
    ) -> Result<Found<AttemptView>> {
        let workspace = &self.workspace;
        task_id.map_or(Ok(()), |task_id| check_name("task id", task_id))?;
        let catalogs = both_areas(workspace);
        let catalogs = catalogs.each_ref();
        let mut failed = match task_id {
            Some(task_id) => {
                let mut attempts = summaries(workspace.now(), &catalogs, |catalog| catalog.rows_of_task(task_id));
                // An attempt that names no feature is an attempt at this task all the same.
                attempts.retain(|attempt| {
                    let named = attempt.feature.as_deref();
                    feature.is_none() || named.is_none() || is_same_name(named, feature)
                });
                attempts
            }
            None => of_feature(workspace.now(), &catalogs, feature),
        };
        failed.retain(|attempt| attempt.head.outcome.is_success() == Some(false));
        Ok(newest(workspace, &catalogs, &failed, count))
    }

    /// Returns every file that an iteration of a feature's tasks, or of all, ever created, changed or read, those
    /// first that most of them touched. A file need not exist any more.
    pub fn feature_files(&self, feature: Option<&str>) -> Found<TouchedFile> {
        found_in(&self.workspace, feature, |_, attempts| history::touched_files(attempts))
    }

    /// Returns the errors that at least two iterations of a feature's tasks, or of all, failed with: the most
    /// frequent first. Errors that differ in paths, numbers and addresses alone are one.
    pub fn recurring_errors(&self, feature: Option<&str>) -> Found<RecurringError> {
        found_in(&self.workspace, feature, |catalogs, attempts| {
            recurring(&self.workspace, catalogs, attempts, usize::MAX)
        })
    }
}

/// Returns what is found in the attempts at a feature's tasks, or in all attempts.
fn found_in<T>(
    workspace: &Workspace,
    feature: Option<&str>,
    find: impl FnOnce(&[&Catalog], &[AttemptSummary]) -> Vec<T>,
) -> Found<T> {
    let catalogs = both_areas(workspace);
    let catalogs = catalogs.each_ref();
    let found = find(&catalogs, &of_feature(workspace.now(), &catalogs, feature));
    Found::all(workspace, &catalogs, found)
}

/// Returns the errors of at least two of these attempts, which are given oldest first: the most frequent first, and at
/// most `count`.
pub(crate) fn recurring(
    workspace: &Workspace,
    catalogs: &[&Catalog],
    attempts: &[AttemptSummary],
    count: usize,
) -> Vec<RecurringError> {
    let errors = history::recurring_errors(attempts).into_iter().take(count).map(|error| RecurringError {
        attempts: error.count(),
        first: occurrence(error.first),
        last: occurrence(error.last()),
        example: error_line(workspace, catalogs, &error).unwrap_or_default(),
    });
    errors.collect()
}

/// Returns the newest of these attempts, which are given oldest first. It reads only as many files as it returns.
fn newest(
    workspace: &Workspace,
    catalogs: &[&Catalog],
    attempts: &[AttemptSummary],
    count: usize,
) -> Found<AttemptView> {
    // A file may have vanished since the scan.
    let views = attempts.iter().rev().filter_map(|attempt| AttemptView::read(workspace, catalogs, &attempt.id));
    Found { in_all: attempts.len(), ..Found::all(workspace, catalogs, views.take(count).collect()) }
}

pub(crate) fn problems_of(workspace: &Workspace, catalogs: &[&Catalog]) -> Vec<Problem> {
    let problems = catalogs.iter().flat_map(|catalog| catalog.problems());
    problems.chain(workspace.settings_problems.clone()).collect()
}

/// Returns the attempts at the tasks of a feature, or all attempts, oldest first.
pub(crate) fn of_feature(now: DateTime<Utc>, catalogs: &[&Catalog], feature: Option<&str>) -> Vec<AttemptSummary> {
    let Some(feature) = feature else { return summaries(now, catalogs, |catalog| catalog.journal_rows().collect()) };
    let mut attempts = summaries(now, catalogs, |catalog| catalog.rows_near_feature(feature));
    attempts.retain(|attempt| is_same_name(attempt.feature.as_deref(), Some(feature)));
    attempts
}

/// Returns the last [`MAX_RECENT`] attempts at the tasks of a feature, oldest first, and any others of the same time
/// as the first of these.
pub(crate) fn recent_attempts(now: DateTime<Utc>, catalogs: &[&Catalog], feature: &str) -> Vec<AttemptSummary> {
    let latest = latest_start(now);
    let times = |catalog: &&Catalog| -> Vec<i64> {
        let times = catalog.rows_near_feature(feature).into_iter().map(|row| catalog.recency(row));
        times.filter(|time| *time <= latest).collect()
    };
    let mut times: Vec<i64> = catalogs.iter().flat_map(times).collect();
    times.sort_unstable();
    let since = times.len().checked_sub(MAX_RECENT).map_or(i64::MIN, |first| times[first]);
    let is_late = |catalog: &Catalog, row: &RowId| catalog.recency(*row) >= since;
    let mut attempts = summaries(now, catalogs, |catalog| {
        catalog.rows_near_feature(feature).into_iter().filter(|row| is_late(catalog, row)).collect()
    });
    attempts.retain(|attempt| is_same_name(attempt.feature.as_deref(), Some(feature)));
    attempts
}

fn occurrence(attempt: &AttemptSummary) -> Occurrence {
    Occurrence {
        id: attempt.id.clone(),
        run_id: attempt.run_id.clone(),
        iteration: attempt.head.iteration,
        started_at: timestamp(attempt.started_at),
    }
}
