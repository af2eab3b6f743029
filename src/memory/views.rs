//! What the journal tells when it is looked at from one side: the last iterations, those that failed, the files
//! that they touched, and the errors that came back. Archived attempts count like any other.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::Memory;
use super::anchors::is_plain;
use super::runs::{check_name, latest, pasts};
use crate::catalog::{Area, Catalog, RowId};
use crate::context::{Recurring, Task};
use crate::entry::knowledge::timestamp;
use crate::entry::path::{MEMORY_FOLDER, display_path};
use crate::entry::{Attempt, Files, Id, Outcome, Validation};
use crate::error::{Problem, Result};
use crate::history::{self, Past, Recurrence, TouchedFile};
use crate::text::is_same_name;
use crate::{context, entry, text};

/// How much of an error's line is kept, in characters: some programs write all of their output in one.
const LINE_CHARACTERS: usize = 300;
/// How many files are looked for to be suggested in a context: more than it has, since it names none twice.
const MAX_FILES: usize = 32;
/// How many of a feature's iterations are looked at for a context, the newest: each head that is decoded costs
/// five microseconds, and what came back only before that is over.
const MAX_LATELY: usize = 500;
/// How many errors are looked up for a context: more than it tells.
const MAX_ERRORS: usize = 4;

/// An iteration, as people and agents look at it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IterationView {
    /// The entry in the journal.
    pub id: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// Whether it lies in the archive.
    pub archived: bool,
    /// The run.
    pub run_id: String,
    /// Its number in the run, from 1.
    pub iteration: u32,
    /// The task.
    pub task_id: Option<String>,
    /// What was to be done; empty where nobody said.
    pub task_title: String,
    /// The feature that the task belongs to.
    pub feature: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// What kind of error it had.
    pub error_category: Option<String>,
    /// The language model that worked on it.
    pub model: Option<String>,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// How long it took, in seconds.
    pub duration_secs: Option<f64>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How many tokens the model read.
    pub tokens_in: Option<u64>,
    /// How many tokens the model wrote.
    pub tokens_out: Option<u64>,
    /// The git tree of the work tree when it ended, without `.ralph/`.
    pub tree: Option<String>,
    /// The files that it had to do with.
    pub files: Files,
    /// The agent's notes; here and below, empty where there is nothing.
    pub notes: String,
    /// What was done.
    pub summary: String,
    /// What was tried.
    pub what_was_tried: String,
    /// Why it failed.
    pub why_it_failed: String,
    /// What the agent reported of the error.
    pub error_output: String,
    /// What the agent suggests for the next attempt.
    pub retry_suggestion: String,
    /// What was decided.
    pub decisions: String,
    /// The errors that were met on the way.
    pub errors: String,
    /// The command that says whether the task is done, and how it went, where it was run.
    pub validation: Option<Validation>,
    /// What it printed.
    pub validation_output: String,
    /// What a person said who stopped it.
    pub feedback: String,
}

impl IterationView {
    /// Returns how the attempt is looked at whose file is `path`, relative to the folder that holds `.ralph/`.
    pub(super) fn new(id: Id, path: String, attempt: Attempt) -> IterationView {
        let Attempt { head, sections, .. } = attempt;
        IterationView {
            id,
            archived: path.starts_with(".ralph/archive/"),
            path,
            run_id: attempt.run_id,
            iteration: head.iteration,
            task_id: attempt.task_id,
            task_title: attempt.task_title,
            feature: attempt.feature,
            outcome: head.outcome,
            error_category: head.error_category,
            model: head.model,
            started_at: timestamp(attempt.started_at),
            duration_secs: head.duration_secs,
            cost_usd: head.cost_usd,
            tokens_in: head.tokens_in,
            tokens_out: head.tokens_out,
            tree: head.tree,
            files: head.files,
            notes: sections.notes,
            summary: sections.summary,
            what_was_tried: sections.tried,
            why_it_failed: sections.why,
            error_output: sections.error_output,
            retry_suggestion: sections.retry_suggestion,
            decisions: sections.decisions,
            errors: sections.errors,
            validation: head.validation,
            validation_output: sections.validation_output,
            feedback: sections.feedback,
        }
    }
}

/// What [`Memory::recent_iterations`] and [`Memory::failed_attempts`] return.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Iterations {
    /// The iterations, newest first.
    pub iterations: Vec<IterationView>,
    /// How many there are, those that are not given included.
    pub in_all: usize,
    /// What is wrong with files that were looked at.
    pub problems: Vec<Problem>,
}

/// What [`Memory::feature_files`] returns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureFiles {
    /// The files, those first that most iterations touched.
    pub files: Vec<TouchedFile>,
    /// What is wrong with entries that were looked at.
    pub problems: Vec<Problem>,
}

/// An error that came back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecurringError {
    /// In how many iterations it occurred.
    pub iterations: usize,
    /// The first of them.
    pub first: Occurrence,
    /// The last of them.
    pub last: Occurrence,
    /// The line that says most of it, from the last iteration whose file can be read; empty where none can.
    pub example: String,
}

/// An iteration in which an error occurred.
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

/// What [`Memory::recurring_errors`] returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecurringErrors {
    /// The errors, the most frequent first, then the one that occurred last.
    pub errors: Vec<RecurringError>,
    /// What is wrong with files that were looked at.
    pub problems: Vec<Problem>,
}

impl Memory {
    /// Returns the last iterations of a feature's tasks, or of all, newest first, and at most `count`.
    ///
    /// # Errors
    ///
    /// None at present; reading goes on past every file that is broken.
    pub fn recent_iterations(&self, feature: Option<&str>, count: usize) -> Result<Iterations> {
        let catalogs = self.both();
        let views = catalogs.each_ref();
        let all = of_feature(self.now(), &views, feature);
        let in_all = all.len();
        let newest_first = all.into_iter().rev();
        let iterations = newest_first.filter_map(|past| self.iteration_view(&views, &past.id)).take(count).collect();
        Ok(Iterations { iterations, in_all, problems: self.problems_of(&views) })
    }

    /// Returns the last attempts that failed, newest first and at most `count`: of a feature or of all, and of one task or
    /// of all. Those that were interrupted or are done in part did not fail.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::error::Error::Invalid) where the task's id is none.
    pub fn failed_attempts(&self, feature: Option<&str>, task_id: Option<&str>, count: usize) -> Result<Iterations> {
        task_id.map_or(Ok(()), |task_id| check_name("task id", task_id))?;
        let catalogs = self.both();
        let views = catalogs.each_ref();
        let attempts = match task_id {
            Some(task_id) => {
                let mut attempts = pasts(self.now(), &views, |catalog| catalog.rows_of_task(task_id));
                attempts.retain(|past| feature.is_none() || is_same_name(past.feature.as_deref(), feature));
                attempts
            }
            None => of_feature(self.now(), &views, feature),
        };
        let mut failed = attempts;
        failed.retain(|past| past.head.outcome.is_success() == Some(false));
        let in_all = failed.len();
        // Only what is shown is read.
        let iterations = failed.into_iter().rev().filter_map(|past| self.iteration_view(&views, &past.id)).take(count);
        Ok(Iterations { iterations: iterations.collect(), in_all, problems: self.problems_of(&views) })
    }

    /// Returns every file that an iteration of a feature's tasks, or of all, ever created, changed or read, those
    /// first that most of them touched. Whether it is still there is not asked.
    ///
    /// # Errors
    ///
    /// None at present; reading goes on past every file that is broken.
    pub fn feature_files(&self, feature: Option<&str>) -> Result<FeatureFiles> {
        let catalogs = self.both();
        let views = catalogs.each_ref();
        let files = history::touched_files(&of_feature(self.now(), &views, feature));
        Ok(FeatureFiles { files, problems: self.problems_of(&views) })
    }

    /// Returns the errors that at least two iterations of a feature's tasks, or of all, failed with: the most
    /// frequent first. Errors that differ in paths, numbers and addresses alone are one.
    ///
    /// # Errors
    ///
    /// None at present; reading goes on past every file that is broken.
    pub fn recurring_errors(&self, feature: Option<&str>) -> Result<RecurringErrors> {
        let catalogs = self.both();
        let views = catalogs.each_ref();
        let attempts = of_feature(self.now(), &views, feature);
        let errors = history::recurring_errors(&attempts).into_iter().map(|error| RecurringError {
            iterations: error.count(),
            first: occurrence(error.first),
            last: occurrence(error.last()),
            example: self.error_line(&views, &error).unwrap_or_default(),
        });
        Ok(RecurringErrors { errors: errors.collect(), problems: self.problems_of(&views) })
    }

    /// Returns what comes back, as the context of a task tells it: in the last iterations of its feature, or,
    /// where it has none, in its own attempts. Of these, `own`, errors alone are told: what they touched stands
    /// with them.
    pub(super) fn recurring(&self, catalogs: &[&Catalog], task: &Task, own: &[Past]) -> Recurring {
        let feature = task.feature.as_deref().filter(|feature| !feature.trim().is_empty());
        let of_feature = feature.map(|feature| lately(self.now(), catalogs, feature));
        let attempts = of_feature.as_deref().unwrap_or(own);
        let touched = of_feature.as_deref().map(history::touched_files).unwrap_or_default();
        let files = touched
            .into_iter()
            .filter(|file| file.suggested)
            .map(|file| file.path)
            .filter(|path| !task.files.contains(path) && self.has_file(path))
            .take(MAX_FILES)
            .collect();
        let errors = history::pressing_errors(attempts, own).into_iter().take(MAX_ERRORS);
        let errors = errors.map(|error| context::RecurringError {
            attempts: error.attempts().map(|past| past.id.clone()).collect(),
            line: self.error_line(catalogs, &error).unwrap_or_default(),
        });
        Recurring { files, errors: errors.collect() }
    }

    /// Returns whether something of the project is at `path`, other than a part of the memory.
    fn has_file(&self, path: &str) -> bool {
        is_plain(path) && !path.starts_with(MEMORY_FOLDER) && self.root().join(path).symlink_metadata().is_ok()
    }

    /// Returns the line that says most of an error, from the last attempt that still can be read.
    fn error_line(&self, catalogs: &[&Catalog], error: &Recurrence<'_>) -> Option<String> {
        let line = |past: &Past| self.attempt(catalogs, &past.id)?.error_line().map(str::to_owned);
        error.attempts().rev().find_map(line).map(|line| text::shorten(&line, LINE_CHARACTERS))
    }

    /// Returns all that there is to say of an iteration; `None` where its file vanished since the scan.
    fn iteration_view(&self, catalogs: &[&Catalog], id: &Id) -> Option<IterationView> {
        let path = catalogs.iter().find_map(|catalog| catalog.row_of_id(id).map(|row| catalog.path(row)))?;
        let attempt = Attempt::of(&entry::read(&path, &self.store.read(&path).ok()?.bytes))?;
        Some(IterationView::new(id.clone(), display_path(&path), attempt))
    }

    fn both(&self) -> [Catalog; 2] {
        [self.catalog(Area::Live), self.catalog(Area::Archive)]
    }

    fn problems_of(&self, catalogs: &[&Catalog]) -> Vec<Problem> {
        let problems = catalogs.iter().flat_map(|catalog| catalog.problems());
        problems.chain(self.settings_problems.clone()).collect()
    }
}

/// Returns the attempts at the tasks of a feature, or all, oldest first.
fn of_feature(now: DateTime<Utc>, catalogs: &[&Catalog], feature: Option<&str>) -> Vec<Past> {
    let Some(feature) = feature else { return pasts(now, catalogs, |catalog| catalog.journal_rows().collect()) };
    let mut attempts = pasts(now, catalogs, |catalog| catalog.rows_near_feature(feature));
    attempts.retain(|past| is_same_name(past.feature.as_deref(), Some(feature)));
    attempts
}

/// Returns the last attempts at the tasks of a feature, oldest first: [`MAX_LATELY`], and those of the same
/// second as the first of them.
fn lately(now: DateTime<Utc>, catalogs: &[&Catalog], feature: &str) -> Vec<Past> {
    let latest = latest(now);
    let times = |catalog: &&Catalog| -> Vec<i64> {
        let times = catalog.rows_near_feature(feature).into_iter().map(|row| catalog.recency(row));
        times.filter(|time| *time <= latest).collect()
    };
    let mut times: Vec<i64> = catalogs.iter().flat_map(times).collect();
    times.sort_unstable();
    let since = times.len().checked_sub(MAX_LATELY).map_or(i64::MIN, |first| times[first]);
    let is_late = |catalog: &Catalog, row: &RowId| catalog.recency(*row) >= since;
    let mut attempts = pasts(now, catalogs, |catalog| {
        catalog.rows_near_feature(feature).into_iter().filter(|row| is_late(catalog, row)).collect()
    });
    attempts.retain(|past| is_same_name(past.feature.as_deref(), Some(feature)));
    attempts
}

fn occurrence(past: &Past) -> Occurrence {
    Occurrence {
        id: past.id.clone(),
        run_id: past.run_id.clone(),
        iteration: past.head.iteration,
        started_at: timestamp(past.started_at),
    }
}
