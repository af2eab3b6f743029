//! The context for an agent: sections, each within its budget.
//!
//! Text from entries is folded to one line, quoted, or put in a fence that it cannot forge. Its sigils are defused, and
//! it is marked as reference, not as instructions. A context never exceeds its budget, and lists what it left out and
//! how to get it.
//!
//! This file has the types. `gather` collects the material of contexts, briefings and reminders, and chooses the model.
//! `write` turns material into text, and is pure.

mod gather;
pub(crate) mod write;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::entry::attempt::Attempt;
use crate::entry::{Id, Scope, Source};
use crate::error::Problem;
use crate::journal::strategy::Strategy;
use crate::knowledge::Staleness;
use crate::text::secret::redact;
use crate::text::{is_same_name, task_form};

pub use crate::agent_output::elements::defuse;
pub(crate) use gather::{
    briefing, check_task, choose_model, configured_models, context_budget, gather, hints, instructions, reminder,
};
pub use write::{Briefing, BriefingRequest, Budget, reference};

/// A task that an agent is about to begin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The work, in one line.
    pub title: String,
    /// The work, in detail.
    pub description: String,
    /// Its id: the task sees entries of scope `task:ID`.
    pub id: Option<String>,
    /// The feature it belongs to: the task sees entries of scope `feature:NAME`.
    pub feature: Option<String>,
    /// The section it belongs to: the task sees entries of scope `section:ID`.
    pub section: Option<String>,
    /// Project paths that the task touches, or that were touched recently.
    pub files: Vec<String>,
}

impl Task {
    /// Returns a task with only a title.
    pub fn new(title: impl Into<String>) -> Task {
        Task { title: title.into(), ..Task::default() }
    }

    /// Returns the id of a task with this title alone: `t-` and ten hexadecimal digits.
    ///
    /// ```
    /// use ralph_memory::Task;
    /// assert_eq!(Task::id_of_title("Add the memory tables"), Task::id_of_title(" add the memory  tables"));
    /// assert_eq!(Task::id_of_title("x").len(), 12);
    /// ```
    pub fn id_of_title(title: &str) -> String {
        format!("t-{:010x}", xxhash_rust::xxh3::xxh3_64(task_form(title).as_bytes()) >> 24)
    }

    /// Returns its id, or the one derived from its title.
    pub fn own_id(&self) -> String {
        self.id.clone().unwrap_or_else(|| Task::id_of_title(&self.title))
    }

    /// Returns whether it has a name. The task of an attempt may be unknown.
    pub(crate) fn is_named(&self) -> bool {
        self.id.is_some() || !self.title.trim().is_empty()
    }

    /// Returns the task, if it is named; else the other one, in its feature and section.
    pub(crate) fn or_named(self, other: impl FnOnce() -> Option<Task>) -> Option<Task> {
        if self.is_named() {
            return Some(self);
        }
        let other = other()?;
        Some(Task { feature: self.feature.or(other.feature), section: self.section.or(other.section), ..other })
    }

    /// Returns whether what is known about a task with its id, in this feature, is about this task.
    pub(crate) fn may_be_of_feature(&self, feature: Option<&str>) -> bool {
        self.feature.is_none() || feature.is_none() || self.feature.as_deref() == feature
    }

    /// Returns the task of the same id without secrets, except those with an allowed fingerprint.
    pub(crate) fn without_secrets(&self, allowed: &[String]) -> Task {
        let safe = |text: &String| redact(text, allowed);
        Task {
            title: safe(&self.title),
            description: safe(&self.description),
            id: self.is_named().then(|| self.own_id()),
            feature: self.feature.as_ref().map(safe),
            section: self.section.as_ref().map(safe),
            files: self.files.iter().map(safe).collect(),
        }
    }

    /// Returns the task as the section of a prompt that assigns it.
    ///
    /// ```
    /// use ralph_memory::Task;
    /// let section = Task { id: Some("t-1".into()), ..Task::new("Add the tables") }.assignment();
    /// assert_eq!(section, "## Assigned Task\n\n**ID:** t-1\n**Title:** Add the tables\n");
    /// ```
    pub fn assignment(&self) -> String {
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut text = format!("## Assigned Task\n\n**ID:** {}\n**Title:** {title}\n", self.own_id());
        let description = self.description.trim();
        if !description.is_empty() {
            text.push_str(&format!("\n### Description\n\n{description}\n"));
        }
        text
    }

    /// Returns the title, and the description below it.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.title.trim(), self.description.trim()).trim().to_owned()
    }

    /// Returns whether entries of this scope concern the task.
    pub fn sees(&self, scope: &Scope) -> bool {
        match scope {
            Scope::Project => true,
            Scope::Feature(name) => is_same_name(self.feature.as_deref(), Some(name)),
            Scope::Section(id) => is_same_name(self.section.as_deref(), Some(id)),
            Scope::Task(id) => is_same_name(self.id.as_deref(), Some(id)),
            Scope::Unknown(_) => false,
        }
    }
}

/// One start of a loop.
///
/// ```
/// use ralph_memory::memory::Run;
/// use ralph_memory::settings::Strategy;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let run = Run { strategy: Some(Strategy::Escalate), ..Run::named("nightly-7") };
/// memory.cancel(&memory.begin(&Task::new("Update the lock file"), &run)?)?;
/// let attempt = memory.begin(&Task::new("Update the changelog"), &run)?;
/// assert_eq!(attempt.id(), "journal/nightly-7/0001", "an iteration that was cancelled leaves its number free");
/// assert_eq!(attempt.model, "haiku", "the cheapest one works first");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// Its name: letters, digits, `.`, `_` and `-`, at most 64, not beginning with `.`, and not a reserved name of
    /// Windows.
    pub id: String,
    /// How models are chosen; the default is in the settings.
    pub strategy: Option<Strategy>,
    /// The limit of attempts. The context mentions it; the caller enforces it.
    pub limit: Option<u32>,
    /// The maximum size of a context; the default is in the settings.
    pub budget: Option<Budget>,
    /// Whether its agent works with its own model. If so, no model is chosen, contexts name none, and an attempt has
    /// the model that the agent's output names, if any.
    pub has_own_model: bool,
}

impl Run {
    /// Returns a run with this name and the defaults of the settings.
    pub fn named(id: impl Into<String>) -> Run {
        Run { id: id.into(), ..Run::default() }
    }
}

/// A request for a context.
///
/// ```
/// use ralph_memory::context::Request;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let task = Task { feature: Some("storage".into()), ..Task::new("Add the write-ahead log") };
/// let context = memory.context(&Request { task, by_tools: true, ..Request::default() })?;
/// assert!(context.text.contains("`add_knowledge`") && !context.text.contains("<task-done>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The task.
    pub task: Task,
    /// The maximum size of the text; the default is in the settings.
    pub budget: Option<Budget>,
    /// The run whose state the text describes; the default is the one that was active in the last two hours.
    pub run: Option<String>,
    /// How the model is chosen; the default is in the settings.
    pub strategy: Option<Strategy>,
    /// The limit of attempts that the text mentions; the caller enforces it.
    pub limit: Option<u32>,
    /// Whether the agent reports with the tools of the server, instead of elements in its output.
    pub by_tools: bool,
}

/// All material of a context, gathered by the caller.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Material {
    /// The variable parts of the instructions.
    pub instructions: write::Instructions,
    /// How many attempts there were at this task.
    pub n_attempts: usize,
    /// These attempts, oldest first. If there are too many, these are the ones that say most and, of equal ones, the
    /// newest.
    pub attempts: Vec<NumberedAttempt>,
    /// Learnings from other tasks, best first: more than are shown, because one of two similar ones is left out.
    pub learnings: Vec<Reference>,
    /// The state of the run and the task; `None` if there is nothing to report.
    pub status: Option<Status>,
    /// Recurring errors and files of the task's feature.
    pub recurring: Recurring,
    /// The last attempts of this run, oldest first. Attempts at the task are left out.
    pub journal: Vec<NumberedAttempt>,
    /// Matching attempts of other runs, best first. Attempts that are shown above are left out.
    pub matching: Vec<NumberedAttempt>,
    /// Matching plain knowledge, best first. Learnings that are shown are left out.
    pub knowledge: Vec<Reference>,
    /// The events that the task may see, in any order.
    pub events: Vec<ShownEvent>,
    /// Those over the limits of a context.
    pub more_events: Vec<Id>,
}

/// An attempt in the form for a context.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberedAttempt {
    /// Its id.
    pub id: Id,
    /// Its number among the attempts of its task, from 1.
    pub number: usize,
    /// How many earlier attempts at the task ended like this one, with as little to say. This one represents them.
    pub n_alike: usize,
    /// Its content.
    pub attempt: Attempt,
}

/// Knowledge in the form for a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Its id.
    pub id: Id,
    /// Its title.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its category.
    pub category: Option<String>,
    /// The entries that contradict it.
    pub contradicts: Vec<Id>,
    /// Its body, as in the file.
    pub body: String,
    /// What may have made it outdated. In a briefing, that is a file that is gone, and no commit is known.
    pub unverified: Option<Staleness>,
}

/// An event in the form for a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownEvent {
    /// Its id.
    pub id: Id,
    /// The kind of event.
    pub category: String,
    /// Its scope.
    pub scope: Scope,
    /// Who recorded it.
    pub source: Source,
    /// Whether the task is about it.
    pub is_relevant: bool,
    /// From 0 to 100.
    pub importance: u8,
    /// When it was recorded.
    pub recency: Option<DateTime<Utc>>,
    /// Its title, as in the file; empty if it has none.
    pub title: String,
    /// What happened, as in the file.
    pub summary: String,
}

/// The state of the run and the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    /// The number of the attempt in the run that begins, from 1.
    pub iteration: u32,
    /// The limit of attempts; `None` if there is none.
    pub limit: Option<u32>,
    /// The number of the task's attempt that begins, from 1.
    pub attempt: usize,
    /// How often the task has failed in a row.
    pub streak: u32,
    /// How many of the run's attempts succeeded.
    pub succeeded: usize,
    /// Of how many that count.
    pub counted: usize,
    /// The model that will work on the task; empty if none was chosen.
    pub model: String,
    /// Why this model.
    pub rationale: String,
    /// The warning, if the task is stuck.
    pub stuck: Option<Stuck>,
    /// What was refused or malformed in the last report about the task and in the run's last report.
    pub refused: Vec<String>,
}

/// Recurring errors and files in the attempts at the task's feature, or at the task if it has no feature.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Recurring {
    /// Existing files that at least three attempts at the feature touched, in the order of suggestion: more than are
    /// shown, because files that are shown above are left out.
    pub files: Vec<String>,
    /// Recurring errors, the most important first.
    pub errors: Vec<ErrorLine>,
}

/// A recurring error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ErrorLine {
    /// The attempts that failed with it.
    pub attempts: Vec<Id>,
    /// Its most telling line.
    pub line: String,
}

/// Why a task counts as stuck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stuck {
    /// The number of failures in a row.
    pub threshold: u32,
    /// Whether the last two failed with the same error.
    pub same_error: bool,
    /// Whether the work tree is in an earlier state of this task.
    pub tree_seen: bool,
    /// The categories of its failures, and how often each occurred.
    pub failed_with: Vec<(String, usize)>,
    /// Whether a person should look at it.
    pub tell_person: bool,
}

/// How many attempts of a run succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[doc(hidden)]
pub struct SuccessRate {
    /// How many succeeded.
    pub succeeded: usize,
    /// Of how many that count.
    pub counted: usize,
}

/// A context, ready for an agent.
///
/// ```
/// use ralph_memory::context::Request;
/// use ralph_memory::{Knowledge, Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Scans stat every file", ["scan", "catalog"], "It calls `stat` once a file."))?;
/// let context = memory.context(&Request { task: Task::new("Speed up the catalog scan"), ..Request::default() })?;
/// assert_eq!(context.entries[0].as_str(), "knowledge/scans-stat-every-file");
/// let (notes, instructions) = context.text.split_at(context.notes_end);
/// assert!(notes.contains("calls `stat` once a file") && instructions.contains("<task-done>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Context {
    /// The whole prompt, markdown: the task, the notes on it, and how to report.
    #[serde(rename = "prompt")]
    pub text: String,
    /// Where the task ends and the notes begin in the text, in bytes.
    #[serde(skip)]
    pub notes_start: usize,
    /// Where the notes end and the fixed instructions begin in the text, in bytes.
    #[serde(skip)]
    pub notes_end: usize,
    /// The id of the task.
    pub task_id: String,
    /// The number of the attempt at the task that is about to begin, from 1.
    pub attempt: usize,
    /// How often the task failed in a row, plus one if an error or a state recurs.
    #[serde(skip)]
    pub rung: u32,
    /// The model that should work on it.
    pub model: String,
    /// Why this model.
    pub rationale: String,
    /// How many of the run's attempts succeeded, and of how many.
    pub success_rate: SuccessRate,
    /// The knowledge that it shows, in order.
    pub entries: Vec<Id>,
    /// The attempts that it shows, in order.
    pub attempts: Vec<Id>,
    /// The entries that matched but did not fit, section by section.
    pub left_out: Vec<Id>,
    /// Problems of the files that were read.
    pub problems: Vec<Problem>,
}
