//! The log: attempts, newest first, page by page.
//!
//! Rows are sorted by their times alone, and only the heads that a filter, a page or a tie needs are decoded. So a page
//! of a long journal costs no more than a page of a short one.

use std::cmp::Reverse;

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::entry::{Id, Outcome};
use crate::error::Problem;
use crate::index::catalog::{Catalog, RowId};
use crate::journal::history::AttemptSummary;
use crate::journal::{AttemptView, both_areas, latest_start, problems_of};
use crate::open::Memory;
use crate::text::is_same_name;
use crate::workspace::Workspace;

/// The conditions of a log, and the part of it to return. An attempt must meet all conditions.
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
///     let attempt = memory.begin(&Task::new("Sort the index"), &run)?;
///     memory.finish(&attempt, &Report { outcome: Some(outcome), ..Report::default() })?;
/// }
/// let failed = LogFilter { outcomes: vec![Outcome::Failed], limit: Some(1), ..LogFilter::default() };
/// let log = memory.log(&failed);
/// assert_eq!((log.attempts[0].attempt.head.iteration, log.in_all), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Only these attempts; empty for all.
    pub ids: Vec<Id>,
    /// Only attempts at this task.
    pub task_id: Option<String>,
    /// Only attempts of this run.
    pub run_id: Option<String>,
    /// Only attempts at tasks of this feature.
    pub feature: Option<String>,
    /// Only attempts with one of these outcomes; empty for all.
    pub outcomes: Vec<Outcome>,
    /// Only attempts of this model; case is ignored.
    pub model: Option<String>,
    /// Only attempts whose contexts had this entry of knowledge.
    pub fact: Option<Id>,
    /// Only attempts that began at this time or later.
    pub since: Option<DateTime<Utc>>,
    /// Only attempts that began before this time.
    pub until: Option<DateTime<Utc>>,
    /// How many attempts to skip before the first one that is returned.
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
    pub attempts: Vec<AttemptView>,
    /// How many there are, including those that are not returned.
    #[serde(rename = "attempt_count")]
    pub in_all: usize,
    /// Problems of the files that were read.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// A row of one of the catalogs. Rows compare in the order of a log, newest first: a row that comes later is greater.
struct LogRow<'a> {
    /// Whether its time is not in the future, and the time in seconds since 1970.
    at: (bool, i64),
    catalog: &'a Catalog,
    row: RowId,
}

impl Memory {
    /// Returns the attempts that the filter accepts, newest first, page by page. It opens only the files of the attempts
    /// that it returns.
    pub fn log(&self, filter: &LogFilter) -> Log {
        let workspace = &self.workspace;
        let catalogs = both_areas(workspace);
        let (attempts, in_all) = page(workspace, &catalogs, filter);
        let catalogs = catalogs.each_ref();
        let attempts = views(workspace, &catalogs, &attempts);
        Log { attempts, in_all, problems: problems_of(workspace, &catalogs) }
    }

    /// Returns everything that the journal says about one attempt; `None` if there is no readable one with this id.
    pub fn attempt(&self, id: &Id) -> Option<AttemptView> {
        AttemptView::read(&self.workspace, &both_areas(&self.workspace).each_ref(), id)
    }
}

/// Reads these attempts, in their order.
pub(super) fn views(workspace: &Workspace, catalogs: &[&Catalog], attempts: &[AttemptSummary]) -> Vec<AttemptView> {
    attempts.iter().filter_map(|attempt| AttemptView::read(workspace, catalogs, &attempt.id)).collect()
}

/// Returns the attempts in these catalogs that the filter accepts, newest first, and how many there are, including
/// those that its limits leave out. The live catalog comes first.
pub(super) fn page(workspace: &Workspace, catalogs: &[Catalog; 2], filter: &LogFilter) -> (Vec<AttemptSummary>, usize) {
    let rows = rows(workspace, catalogs, filter);
    let page = filter.offset..filter.limit.map_or(usize::MAX, |limit| filter.offset.saturating_add(limit));
    let (mut attempts, mut in_all) = (Vec::new(), 0);
    // Attempts of the same time are sorted by their numbers, which only their heads have.
    for group in rows.chunk_by(|one, other| one.at == other.at) {
        let is_shown = in_all < page.end && in_all + group.len() > page.start;
        let is_counted = |row: &LogRow<'_>| !filter.needs_head() && !row.catalog.has_problem(row.row);
        if !is_shown && group.iter().all(is_counted) {
            in_all += group.len();
            continue;
        }
        let decoded = group
            .iter()
            .filter_map(|LogRow { catalog, row, .. }| AttemptSummary::new(catalog.id(*row)?, catalog.head(*row)));
        let mut accepted: Vec<AttemptSummary> = decoded.filter(|attempt| filter.accepts(attempt)).collect();
        accepted.sort_by(|one, other| (other.head.iteration, &other.id).cmp(&(one.head.iteration, &one.id)));
        for attempt in accepted {
            if page.contains(&in_all) {
                attempts.push(attempt);
            }
            in_all += 1;
        }
    }
    (attempts, in_all)
}

impl LogFilter {
    /// Returns the rows that match the first name in the filter, before any head is decoded.
    fn rows_of(&self, catalog: &Catalog) -> Vec<RowId> {
        match self {
            LogFilter { ids, .. } if !ids.is_empty() => ids.iter().filter_map(|id| catalog.row_of_id(id)).collect(),
            LogFilter { task_id: Some(task), .. } => catalog.rows_of_task(task),
            LogFilter { run_id: Some(run), .. } => catalog.rows_of_run(run),
            LogFilter { feature: Some(feature), .. } => catalog.rows_near_feature(feature),
            _ => catalog.journal_rows().collect(),
        }
    }

    fn needs_head(&self) -> bool {
        let n_names = [&self.task_id, &self.run_id, &self.feature].into_iter().flatten().count();
        // Not all rows near a feature belong to it.
        let is_chosen = n_names == 0 || n_names == 1 && self.ids.is_empty() && self.feature.is_none();
        !is_chosen || self.model.is_some() || self.fact.is_some() || !self.outcomes.is_empty()
    }

    fn accepts(&self, attempt: &AttemptSummary) -> bool {
        // The folder decides which run a file belongs to.
        let is_of_run = self.ids.is_empty() && self.task_id.is_none();
        self.accepts_names(
            attempt.task_id.as_deref(),
            (!is_of_run).then_some(&attempt.run_id),
            attempt.feature.as_deref(),
            attempt.head.model.as_deref(),
        ) && (self.outcomes.is_empty() || self.outcomes.contains(&attempt.head.outcome))
            && self.fact.as_ref().is_none_or(|fact| attempt.head.context.contains(fact))
    }

    /// Returns whether the filter accepts an attempt with these names. Without a `run`, the run is already known to
    /// match.
    fn accepts_names(
        &self,
        task: Option<&str>,
        run: Option<&String>,
        feature: Option<&str>,
        model: Option<&str>,
    ) -> bool {
        let is_named =
            |own: Option<&str>, wanted: &Option<String>| wanted.is_none() || is_same_name(own, wanted.as_deref());
        let is_model = |wanted: &String| model.is_some_and(|own| own.eq_ignore_ascii_case(wanted));
        is_named(task, &self.task_id)
            && is_named(feature, &self.feature)
            && run.is_none_or(|run| is_named(Some(run), &self.run_id))
            && self.model.as_ref().is_none_or(is_model)
    }
}

/// Returns the rows that the filter may accept, newest first. Only the heads show which ones it does accept.
fn rows<'a>(workspace: &Workspace, catalogs: &'a [Catalog; 2], filter: &LogFilter) -> Vec<LogRow<'a>> {
    let latest = latest_start(workspace.now());
    let [live, archive] = catalogs;
    let is_live = |id: &Id| live.row_of_id(id).is_some_and(|row| live.is_indexable(row));
    let mut rows = Vec::new();
    for catalog in [live, archive] {
        for row in filter.rows_of(catalog) {
            let time = catalog.recency(row);
            let is_in_time = filter.since.is_none_or(|since| time >= since.timestamp_micros())
                && filter.until.is_none_or(|until| time < until.timestamp_micros());
            let is_first = || std::ptr::eq(catalog, live) || catalog.id(row).is_some_and(|id| !is_live(&id));
            if is_in_time && catalog.is_indexable(row) && is_first() {
                rows.push(LogRow { at: (time <= latest, time), catalog, row });
            }
        }
    }
    rows.sort_by_key(|row| Reverse(row.at));
    rows
}
