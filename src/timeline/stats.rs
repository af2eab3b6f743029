//! Statistics of the journal: by feature, by model and by day, with recurring errors and the files touched most.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, NaiveDate, Utc};
use serde::Serialize;

use super::reuse::{ReuseStats, reuse_of};
use super::task::{TaskState, state};
use super::totals::AttemptTotals;
use crate::entry::is_ahead;
use crate::entry::knowledge::timestamp;
use crate::error::Problem;
use crate::journal::history::{self, AttemptSummary, TaskRecord, TouchedFile};
use crate::journal::{RecurringError, both_areas, of_feature, problems_of, recurring};
use crate::open::Memory;
use crate::text::{is_same_name, nfc};

/// How many of the most frequent errors and files are returned.
const MAX_LISTED: usize = 50;

/// The attempts that statistics are about.
///
/// ```
/// use ralph_memory::memory::{Report, StatsFilter};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let task = Task { feature: Some("login".into()), ..Task::new("Hash passwords") };
/// memory.finish(&memory.begin(&task, &memory.new_run())?, &Report::default())?;
/// let of_feature = |name: &str| StatsFilter { feature: Some(name.into()), ..StatsFilter::default() };
/// assert_eq!(memory.stats(&of_feature("login")).total.totals.attempts, 1);
/// assert_eq!(memory.stats(&of_feature("search")).total.totals.attempts, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatsFilter {
    /// Only attempts at tasks of this feature.
    pub feature: Option<String>,
    /// Only attempts that began at this time or later. Whether a task is done or stuck depends on all attempts at it.
    pub since: Option<DateTime<Utc>>,
}

impl StatsFilter {
    pub(super) fn accepts(&self, attempt: &AttemptSummary) -> bool {
        let is_of_feature = |wanted: &String| is_same_name(attempt.feature.as_deref(), Some(wanted));
        self.feature.as_ref().is_none_or(is_of_feature) && self.since.is_none_or(|since| attempt.began_at >= since)
    }
}

/// The result of [`Memory::stats`](crate::Memory::stats).
///
/// ```
/// use ralph_memory::entry::{Files, Outcome};
/// use ralph_memory::memory::{Report, StatsFilter};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let task = Task { feature: Some("login".into()), ..Task::new("Hash passwords") };
/// let files = Files { modified: vec!["src/login.rs".into()], ..Files::default() };
/// let report = Report { outcome: Some(Outcome::Done), files, ..Report::default() };
/// memory.finish(&memory.begin(&task, &memory.new_run())?, &report)?;
/// let stats = memory.stats(&StatsFilter::default());
/// assert_eq!(stats.features[0].feature.as_deref(), Some("login"));
/// assert_eq!((stats.features[0].tasks.done, stats.files[0].path.as_str()), (1, "src/login.rs"));
/// assert_eq!(stats.days.values().next().map(|day| day.succeeded), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// All of them.
    pub total: FeatureStats,
    /// The features, the one with the newest attempt first. Attempts without a feature form one of them.
    pub features: Vec<FeatureStats>,
    /// The errors that occurred in at least two attempts, most frequent first; at most fifty.
    pub errors: Vec<RecurringError>,
    /// The files that attempts touched, the most frequent first; at most fifty.
    pub files: Vec<TouchedFile>,
    /// The sums over the attempts that began on each day, in UTC, without attempts whose time is in the future.
    pub days: BTreeMap<NaiveDate, AttemptTotals>,
    /// What the memory was good for.
    pub reuse: ReuseStats,
    /// Problems of the files that were read.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// The attempts at the tasks of a feature.
///
/// ```
/// use ralph_memory::entry::Outcome;
/// use ralph_memory::memory::{Report, StatsFilter};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let task = Task { feature: Some("export".into()), ..Task::new("Write CSV") };
/// for _ in 0..2 {
///     let attempt = memory.begin(&task, &memory.new_run())?;
///     memory.finish(&attempt, &Report { outcome: Some(Outcome::Failed), ..Report::default() })?;
/// }
/// let feature = memory.stats(&StatsFilter::default()).features.remove(0);
/// assert_eq!((feature.streak, feature.tasks.open, feature.totals.success_rate), (2, 1, Some(0.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FeatureStats {
    /// The feature; `None` for tasks without one, and for the total.
    pub feature: Option<String>,
    /// The sums over its attempts.
    #[serde(flatten)]
    pub totals: AttemptTotals,
    /// Its tasks.
    pub tasks: TaskCounts,
    /// The longest current failure streak of a task.
    pub streak: u32,
    /// The models that worked on it, the one with most attempts first.
    pub models: Vec<ModelStats>,
    /// When the last attempt began, RFC 3339.
    pub last_started_at: Option<String>,
}

/// How many tasks are in each state.
///
/// ```
/// use ralph_memory::memory::{Report, StatsFilter};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// for _ in 0..3 {
///     let attempt = memory.begin(&Task::new("Boot from the network"), &memory.new_run())?;
///     let text = format!("<task-failed>{}</task-failed>", attempt.task_id());
///     memory.finish(&attempt, &Report { text, ..Report::default() })?;
/// }
/// let tasks = memory.stats(&StatsFilter::default()).total.tasks;
/// assert_eq!((tasks.done, tasks.open, tasks.stuck), (0, 0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    /// Those that are done.
    pub done: usize,
    /// Those that are neither done nor stuck.
    pub open: usize,
    /// Those that are stuck.
    pub stuck: usize,
}

/// The attempts of a model.
///
/// ```
/// use ralph_memory::memory::{Report, StatsFilter};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.finish(&memory.begin(&Task::new("Trim the log"), &memory.new_run())?, &Report::default())?;
/// let models = memory.stats(&StatsFilter::default()).total.models;
/// assert_eq!((models[0].model.as_str(), models[0].totals.attempts), ("sonnet", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelStats {
    /// The model. Attempts whose model is unknown are not listed.
    pub model: String,
    /// The sums over its attempts.
    #[serde(flatten)]
    pub totals: AttemptTotals,
}

impl Memory {
    /// Returns the statistics of the attempts that the filter accepts: by feature, model and day, with recurring errors
    /// and the files touched most.
    pub fn stats(&self, filter: &StatsFilter) -> Stats {
        let workspace = &self.workspace;
        let catalogs = both_areas(workspace);
        let catalogs = catalogs.each_ref();
        // All attempts decide the state of a task: two features may have tasks with the same title, which are one task.
        let mut attempts = of_feature(workspace.now(), &catalogs, None);
        let tasks = task_states(&attempts);
        let reuse = reuse_of(&attempts, |attempt| filter.accepts(attempt));
        attempts.retain(|attempt| filter.accepts(attempt));
        let mut by_feature: HashMap<Option<Cow<'_, str>>, Vec<&AttemptSummary>> = HashMap::new();
        for attempt in &attempts {
            by_feature.entry(key(attempt.feature.as_deref())).or_default().push(attempt);
        }
        let mut features: Vec<FeatureStats> =
            by_feature.into_values().map(|attempts| feature(&tasks, &attempts)).collect();
        features.sort_by(|one, other| {
            let key = |stats: &FeatureStats| (Reverse(stats.last_started_at.clone()), stats.feature.clone());
            key(one).cmp(&key(other))
        });
        let mut files = history::touched_files(&attempts);
        files.truncate(MAX_LISTED);
        Stats {
            total: FeatureStats { feature: None, ..feature(&tasks, &attempts.iter().collect::<Vec<_>>()) },
            features,
            errors: recurring(workspace, &catalogs, &attempts, MAX_LISTED),
            files,
            days: days(&attempts, workspace.now()),
            reuse,
            problems: problems_of(workspace, &catalogs),
        }
    }
}

/// Returns a name in the form in which names are compared.
pub(super) fn key(name: Option<&str>) -> Option<Cow<'_, str>> {
    name.map(nfc)
}

fn days(attempts: &[AttemptSummary], now: DateTime<Utc>) -> BTreeMap<NaiveDate, AttemptTotals> {
    let mut days = BTreeMap::<NaiveDate, AttemptTotals>::new();
    for attempt in attempts.iter().filter(|attempt| !is_ahead(attempt.began_at, now)) {
        days.entry(attempt.began_at.date_naive()).or_default().add(&attempt.head);
    }
    days
}

/// Returns the states of the tasks of these attempts, which are given oldest first, with their streaks, by id.
fn task_states(attempts: &[AttemptSummary]) -> HashMap<String, (TaskState, u32)> {
    let mut by_task: HashMap<Cow<'_, str>, Vec<&AttemptSummary>> = HashMap::new();
    for attempt in attempts {
        if let Some(task) = key(attempt.task_id.as_deref()) {
            by_task.entry(task).or_default().push(attempt);
        }
    }
    let of_task = |(task, attempts): (Cow<'_, str>, Vec<&AttemptSummary>)| {
        let record = TaskRecord::of(&attempts);
        (task.into_owned(), (state(&record), record.streak))
    };
    by_task.into_iter().map(of_task).collect()
}

/// Returns the statistics of these attempts, which are given oldest first.
fn feature(states: &HashMap<String, (TaskState, u32)>, attempts: &[&AttemptSummary]) -> FeatureStats {
    // Case does not distinguish models; the most frequent spelling is shown.
    let mut models: HashMap<String, (AttemptTotals, BTreeMap<&str, usize>)> = HashMap::new();
    for attempt in attempts {
        let Some(model) = attempt.head.model.as_deref() else { continue };
        let (totals, spellings) = models.entry(model.to_ascii_lowercase()).or_default();
        totals.add(&attempt.head);
        *spellings.entry(model).or_default() += 1;
    }
    let of_model = |(totals, spellings): (AttemptTotals, BTreeMap<&str, usize>)| {
        let (spelling, _) = spellings.into_iter().rev().max_by_key(|(_, count)| *count)?;
        Some(ModelStats { model: spelling.to_owned(), totals })
    };
    let mut models: Vec<ModelStats> = models.into_values().filter_map(of_model).collect();
    models.sort_by(|one, other| (other.totals.attempts, &one.model).cmp(&(one.totals.attempts, &other.model)));
    let tasks: HashSet<Cow<'_, str>> = attempts.iter().filter_map(|attempt| key(attempt.task_id.as_deref())).collect();
    let states: Vec<&(TaskState, u32)> = tasks.iter().filter_map(|task| states.get(&**task)).collect();
    let count = |is_so: &dyn Fn(TaskState) -> bool| states.iter().filter(|(state, _)| is_so(*state)).count();
    FeatureStats {
        feature: attempts.last().and_then(|attempt| attempt.feature.clone()),
        totals: AttemptTotals::of(attempts.iter().map(|attempt| &*attempt.head)),
        tasks: TaskCounts {
            done: count(&|state| state == TaskState::Done),
            open: count(&|state| matches!(state, TaskState::Open | TaskState::Failing)),
            stuck: count(&|state| state == TaskState::Stuck),
        },
        streak: states.iter().map(|(_, streak)| *streak).max().unwrap_or_default(),
        models,
        last_started_at: attempts.last().map(|attempt| timestamp(attempt.began_at)),
    }
}
