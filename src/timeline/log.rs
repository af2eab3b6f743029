//! The log: attempts, newest first, page by page.
//!
//! Rows are put in order by their times alone, and only the heads that a filter, a page or a tie needs are decoded. So a
//! page of a long journal costs no more than one of a short one.

use std::cmp::Reverse;

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::catalog::{Catalog, RowId};
use crate::entry::knowledge::timestamp;
use crate::entry::path::display_path;
use crate::entry::{Attempt, AttemptHead, Head, Id, Outcome};
use crate::error::Problem;
use crate::iterations::LiveRun;
use crate::journal::{AttemptView, attempt_at, both_areas, latest_start, problems_of};
use crate::secret::redact;
use crate::text::{is_same_name, shorten};
use crate::workspace::Workspace;

/// The longest reason, in characters.
const MAX_REASON: usize = 200;
/// How much of a line is searched for secrets, in characters.
const MAX_LOOKED_AT: usize = 2_000;

/// The conditions of a log, and the part of it to return. All given conditions must be true.
///
/// ```
/// use ralph_memory::entry::Outcome;
/// use ralph_memory::memory::{LogFilter, Report};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let run = memory.new_run();
/// for outcome in [Outcome::Failed, Outcome::Failed, Outcome::Done] {
///     let iteration = memory.begin(&Task::new("Sort the index"), &run)?;
///     memory.finish(&iteration, &Report { outcome: Some(outcome), ..Report::default() })?;
/// }
/// let failed = LogFilter { outcomes: vec![Outcome::Failed], limit: Some(1), ..LogFilter::default() };
/// let log = memory.log(&failed);
/// assert_eq!((log.attempts[0].iteration, log.in_all), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Only these attempts; empty for all.
    pub ids: Vec<Id>,
    /// Only attempts at this task.
    pub task_id: Option<String>,
    /// Only iterations of this run.
    pub run_id: Option<String>,
    /// Only attempts at tasks of this feature.
    pub feature: Option<String>,
    /// Only attempts with one of these outcomes; empty for all.
    pub outcomes: Vec<Outcome>,
    /// Only attempts of this model, whatever its case.
    pub model: Option<String>,
    /// Only attempts that began at this time or later.
    pub since: Option<DateTime<Utc>>,
    /// Only attempts that began before this time.
    pub until: Option<DateTime<Utc>>,
    /// How many attempts are left out before the first one that is returned.
    pub offset: usize,
    /// How many are returned at most; all without a limit.
    pub limit: Option<usize>,
}

/// The result of [`Memory::log`](crate::Memory::log).
///
/// ```
/// use ralph_memory::memory::{LogFilter, Report};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// for title in ["Parse the header", "Parse the body"] {
///     memory.finish(&memory.begin(&Task::new(title), &memory.new_run())?, &Report::default())?;
/// }
/// let first = memory.log(&LogFilter { limit: Some(1), ..LogFilter::default() });
/// let second = memory.log(&LogFilter { limit: Some(1), offset: 1, ..LogFilter::default() });
/// assert_eq!((first.in_all, first.attempts.len(), second.attempts.len()), (2, 1, 1));
/// assert_ne!(first.attempts[0].id, second.attempts[0].id);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Log {
    /// The attempts, newest first. Those with a time in the future come last.
    pub attempts: Vec<LoggedAttempt>,
    /// How many there are, including those that are not returned.
    pub in_all: usize,
    /// Problems of the files that were read.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// An attempt, as a list of attempts shows it. [`Memory::iteration`](crate::Memory::iteration) returns all of it.
///
/// ```
/// use ralph_memory::memory::{LogFilter, Report};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let iteration = memory.begin(&Task::new("Pin the compiler"), &memory.new_run())?;
/// let why = "what_tried: a toolchain file\nwhy_failed: the image has no rustup";
/// let text = format!("<failure-report>{why}</failure-report> <task-failed>{}</task-failed>", iteration.task_id());
/// memory.finish(&iteration, &Report { text, ..Report::default() })?;
/// let attempt = memory.log(&LogFilter::default()).attempts.remove(0);
/// assert_eq!(attempt.task_title, "Pin the compiler");
/// assert_eq!(attempt.reason, "the image has no rustup");
/// assert_eq!(memory.iteration(&attempt.id).map(|view| view.attempt.sections.what_tried).as_deref(), Some("a toolchain file"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoggedAttempt {
    /// The entry in the journal.
    pub id: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// Whether it is in the archive.
    pub archived: bool,
    /// The run.
    pub run_id: String,
    /// Its number in the run, from 1.
    pub iteration: u32,
    /// The task.
    pub task_id: Option<String>,
    /// The title of the task; empty if it has none.
    pub task_title: String,
    /// The feature that the task belongs to.
    pub feature: Option<String>,
    /// Its outcome.
    pub outcome: Outcome,
    /// The category of its error.
    pub error_category: Option<String>,
    /// The language model that worked on it.
    pub model: Option<String>,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// Its duration, in seconds.
    pub duration_secs: Option<f64>,
    /// Its cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How many tokens the model read.
    pub tokens_in: Option<u64>,
    /// How many tokens the model wrote.
    pub tokens_out: Option<u64>,
    /// Why the task is not done, in a line; empty if it is done, or nobody knows.
    pub reason: String,
    /// The elements of the agent's report that were refused, or not written as they should be, and why.
    pub refused: Vec<String>,
}

/// The head of a readable attempt.
pub(super) struct DecodedAttempt {
    pub(super) path: String,
    pub(super) run_id: String,
    pub(super) started_at: DateTime<Utc>,
    pub(super) attempt: Box<AttemptHead>,
    pub(super) head: Head,
    id: Id,
}

impl DecodedAttempt {
    pub(super) fn of(catalog: &Catalog, row: RowId) -> Option<DecodedAttempt> {
        let id = catalog.id(row)?;
        let mut head = catalog.head(row);
        let attempt = head.attempt.take().filter(|_| head.valid)?;
        let (run_id, started_at) = (head.run_id.take()?, head.created_at?);
        Some(DecodedAttempt { path: catalog.path(row), run_id, started_at, attempt, head, id })
    }

    /// Returns why the task is not done, in a line, which it reads from the file.
    pub(super) fn reason(&self, workspace: &Workspace) -> String {
        let attempt = (self.attempt.outcome != Outcome::Done).then(|| attempt_at(workspace, &self.path)).flatten();
        attempt.map(|attempt| reason(workspace, &attempt)).unwrap_or_default()
    }

    /// Returns the attempt as a list shows it. It reads the file for the reason.
    pub(super) fn logged(self, workspace: &Workspace) -> LoggedAttempt {
        let reason = self.reason(workspace);
        let Head { task_id, title, feature, .. } = self.head;
        let head = *self.attempt;
        LoggedAttempt {
            id: self.id,
            archived: self.path.starts_with("archive/"),
            path: display_path(&self.path),
            run_id: self.run_id,
            iteration: head.iteration,
            task_id,
            task_title: title,
            feature,
            outcome: head.outcome,
            error_category: head.error_category,
            model: head.model,
            started_at: timestamp(self.started_at),
            duration_secs: head.duration_secs,
            cost_usd: head.cost_usd,
            tokens_in: head.tokens_in,
            tokens_out: head.tokens_out,
            reason,
            refused: head.refused,
        }
    }
}

/// Returns why the task of an attempt is not done: in the words of the agent, else of what verified it, else of the error.
fn reason(workspace: &Workspace, attempt: &Attempt) -> String {
    let verified = attempt.head.validation.as_ref().filter(|validation| validation.exit_code != 0);
    let verified =
        verified.map(|validation| format!("`{}` failed with exit code {}", validation.command, validation.exit_code));
    let why = attempt.sections.told_why().and_then(|why| why.lines().next()).map(|line| line.trim().to_owned());
    let error = || attempt.redacted_error_line(&workspace.settings.allowed_secrets);
    let reason = match attempt.head.outcome {
        Outcome::Done => None,
        Outcome::Retried => verified.or(why).or_else(error),
        _ => why.or(verified).or_else(error),
    };
    // Redaction comes before the cut, which could leave half a secret.
    let start: String = reason.unwrap_or_default().chars().take(MAX_LOOKED_AT).collect();
    shorten(&redact(&start, &workspace.settings.allowed_secrets), MAX_REASON)
}

/// A row of one of the catalogs. In the order of a log, which is newest first, later ones are greater.
struct LogRow<'a> {
    /// Whether its time is not in the future, and that time in seconds since 1970.
    at: (bool, i64),
    catalog: &'a Catalog,
    row: RowId,
}

/// Returns the attempts that the filter accepts, newest first.
pub(crate) fn log(workspace: &Workspace, filter: &LogFilter) -> Log {
    let catalogs = both_areas(workspace);
    let (attempts, in_all) = page(workspace, &catalogs, filter);
    let attempts = attempts.into_iter().map(|attempt| attempt.logged(workspace)).collect();
    Log { attempts, in_all, problems: problems_of(workspace, &catalogs.each_ref()) }
}

/// Returns the attempts of these catalogs, the live one first, that the filter accepts, newest first; and how many there
/// are, including those that its limits leave out.
pub(super) fn page(workspace: &Workspace, catalogs: &[Catalog; 2], filter: &LogFilter) -> (Vec<DecodedAttempt>, usize) {
    let rows = rows(workspace, catalogs, filter);
    let page = filter.offset..filter.limit.map_or(usize::MAX, |limit| filter.offset.saturating_add(limit));
    let (mut attempts, mut in_all) = (Vec::new(), 0);
    // Iterations of the same second are in the order of their numbers, which only their heads have.
    for group in rows.chunk_by(|one, other| one.at == other.at) {
        let is_shown = in_all < page.end && in_all + group.len() > page.start;
        let is_counted = |row: &LogRow<'_>| !filter.needs_head() && !row.catalog.has_problem(row.row);
        if !is_shown && group.iter().all(is_counted) {
            in_all += group.len();
            continue;
        }
        let decoded = group.iter().filter_map(|row| DecodedAttempt::of(row.catalog, row.row));
        let mut accepted: Vec<DecodedAttempt> = decoded.filter(|attempt| filter.accepts(attempt)).collect();
        accepted.sort_by(|one, other| (other.attempt.iteration, &other.id).cmp(&(one.attempt.iteration, &one.id)));
        for attempt in accepted {
            if page.contains(&in_all) {
                attempts.push(attempt);
            }
            in_all += 1;
        }
    }
    (attempts, in_all)
}

/// What the rows are chosen by, before any head is decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChosenBy {
    Id,
    Task,
    Run,
    Feature,
    All,
}

impl LogFilter {
    /// Returns whether the filter accepts an iteration in progress. That one has no outcome yet, so a filter with outcomes
    /// accepts none.
    pub fn accepts_live(&self, run: &LiveRun) -> bool {
        let is_named =
            |own: Option<&str>, wanted: &Option<String>| wanted.is_none() || is_same_name(own, wanted.as_deref());
        let is_model = |wanted: &String| run.model.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(wanted));
        is_named(Some(&run.run_id), &self.run_id)
            && is_named(run.task_id.as_deref(), &self.task_id)
            && is_named(run.feature.as_deref(), &self.feature)
            && self.outcomes.is_empty()
            && self.model.as_ref().is_none_or(is_model)
    }

    fn chosen_by(&self) -> ChosenBy {
        match self {
            LogFilter { ids, .. } if !ids.is_empty() => ChosenBy::Id,
            LogFilter { task_id: Some(_), .. } => ChosenBy::Task,
            LogFilter { run_id: Some(_), .. } => ChosenBy::Run,
            LogFilter { feature: Some(_), .. } => ChosenBy::Feature,
            _ => ChosenBy::All,
        }
    }

    fn rows_of(&self, catalog: &Catalog) -> Vec<RowId> {
        let name = |name: &Option<String>| name.clone().unwrap_or_default();
        match self.chosen_by() {
            ChosenBy::Id => self.ids.iter().filter_map(|id| catalog.row_of_id(id)).collect(),
            ChosenBy::Task => catalog.rows_of_task(&name(&self.task_id)),
            ChosenBy::Run => catalog.rows_of_run(&name(&self.run_id)),
            ChosenBy::Feature => catalog.rows_near_feature(&name(&self.feature)),
            ChosenBy::All => catalog.journal_rows().collect(),
        }
    }

    /// Returns whether a chosen row may still be refused, besides by its time.
    fn needs_head(&self) -> bool {
        let n_names = [&self.task_id, &self.run_id, &self.feature].into_iter().flatten().count();
        let is_chosen = match self.chosen_by() {
            ChosenBy::Task | ChosenBy::Run => n_names == 1,
            // Rows near a feature are not all of it.
            ChosenBy::Feature => false,
            ChosenBy::Id | ChosenBy::All => n_names == 0,
        };
        !is_chosen || self.model.is_some() || !self.outcomes.is_empty()
    }

    fn accepts(&self, attempt: &DecodedAttempt) -> bool {
        let is_named =
            |own: Option<&str>, wanted: &Option<String>| wanted.is_none() || is_same_name(own, wanted.as_deref());
        let is_model =
            |wanted: &String| attempt.attempt.model.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(wanted));
        is_named(attempt.head.task_id.as_deref(), &self.task_id)
            && is_named(attempt.head.feature.as_deref(), &self.feature)
            // The folder decides to which run a file belongs.
            && (self.chosen_by() == ChosenBy::Run || is_named(Some(&attempt.run_id), &self.run_id))
            && (self.outcomes.is_empty() || self.outcomes.contains(&attempt.attempt.outcome))
            && self.model.as_ref().is_none_or(is_model)
    }
}

/// Returns the rows that the filter may accept, the newest first; without the heads it is not known which it does.
fn rows<'a>(workspace: &Workspace, catalogs: &'a [Catalog; 2], filter: &LogFilter) -> Vec<LogRow<'a>> {
    let latest = latest_start(workspace.now());
    let [live, archive] = catalogs;
    let is_live = |id: &Id| live.row_of_id(id).is_some_and(|row| live.is_indexable(row));
    let mut rows = Vec::new();
    for catalog in [live, archive] {
        for row in filter.rows_of(catalog) {
            let time = catalog.recency(row);
            let is_in_time = filter.since.is_none_or(|since| time >= since.timestamp())
                && filter.until.is_none_or(|until| time < until.timestamp());
            let is_first = || std::ptr::eq(catalog, live) || catalog.id(row).is_some_and(|id| !is_live(&id));
            if is_in_time && catalog.is_indexable(row) && is_first() {
                rows.push(LogRow { at: (time <= latest, time), catalog, row });
            }
        }
    }
    rows.sort_by_key(|row| Reverse(row.at));
    rows
}

/// Returns these rows of attempts as a list shows them, in their order; each row is one of the catalog before it.
pub(super) fn logged<'a>(
    workspace: &Workspace,
    rows: impl Iterator<Item = (&'a Catalog, RowId)>,
) -> Vec<LoggedAttempt> {
    rows.filter_map(|(catalog, row)| Some(DecodedAttempt::of(catalog, row)?.logged(workspace))).collect()
}

/// Returns the whole content of an entry in the journal; `None` if there is no readable one.
pub(crate) fn iteration(workspace: &Workspace, id: &Id) -> Option<AttemptView> {
    let catalogs = both_areas(workspace);
    AttemptView::read(workspace, &catalogs.each_ref(), id)
}
