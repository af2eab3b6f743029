//! The content of a journal file: one attempt at a task.
//!
//! The frontmatter has values that programs compare, the body has text for people. An attempt is written once; a second
//! report of it may complete it.

mod file;
mod fingerprint;
mod sections;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Id, Source};
use crate::text::choice;
use crate::text::secret::redact;

pub(crate) use file::{MAX_LIST, MAX_SECTION_BYTES};
pub use fingerprint::line_fingerprint;
pub(crate) use fingerprint::{error_line, error_lines};
#[cfg(any(test, feature = "runner"))]
pub(crate) use {file::prepare_text, sections::Keep};

/// The category of the error of an attempt whose agent could not work because of its account.
pub(crate) const ACCOUNT: &str = "account";
/// The reason of a failure without a report.
pub(crate) const NO_REPORT: &str = "Task failed (no structured report)";

choice! {
    /// How an attempt ended.
    ///
    /// ```
    /// use ralph_memory::entry::Outcome;
    /// let outcome = Outcome::parse("retried");
    /// assert_eq!(outcome, Some(Outcome::Retried));
    /// assert!(Outcome::Retried.is_failure_of_task());
    /// assert_eq!(Outcome::Interrupted.is_success(), None, "it does not count for the run's success rate");
    /// ```
    #[derive(Default, PartialOrd, Ord)]
    pub enum Outcome {
        /// The agent reported success, and verification, if there was any, agreed.
        Done = "done",
        /// The agent reported failure.
        Failed = "failed",
        /// The agent reported neither.
        #[default]
        Blocked = "blocked",
        /// The agent reported success, and verification disagreed.
        Retried = "retried",
        /// The agent could not run, or crashed.
        Error = "error",
        /// Part of the task was done; only a caller says so.
        Partial = "partial",
        /// The run was stopped from outside.
        Interrupted = "interrupted",
    }
}

impl Outcome {
    /// Returns whether an agent worked on the task and did not finish it.
    pub fn is_failure_of_task(self) -> bool {
        matches!(self, Outcome::Failed | Outcome::Blocked | Outcome::Retried)
    }

    /// Returns whether it counts for the run's success rate: as a success, or as a failure. `None`
    /// where it does not count.
    pub fn is_success(self) -> Option<bool> {
        match self {
            Outcome::Done => Some(true),
            Outcome::Failed | Outcome::Blocked | Outcome::Retried | Outcome::Error => Some(false),
            Outcome::Partial | Outcome::Interrupted => None,
        }
    }

    /// Returns the outcome for a word in a file, other programs' words included.
    pub(crate) fn in_file(word: &str) -> Option<Outcome> {
        Outcome::parse(match word {
            "success" => "done",
            "failure" => "failed",
            "no_sigil" => "blocked",
            _ => word,
        })
    }
}

/// How much an attempt's entry says of how it went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Account {
    /// Nothing beside its outcome.
    #[default]
    Silent,
    /// What its agent or its client happened to print, or that it was done.
    Printed,
    /// What an agent, a person or verification says of its failure.
    Told,
}

choice! {
    /// How hard the agent found the task.
    ///
    /// ```
    /// use ralph_memory::entry::Difficulty;
    /// assert!(Difficulty::Easy < Difficulty::Hard);
    /// assert_eq!(Difficulty::WORDS, ["trivial", "easy", "moderate", "hard", "blocked"]);
    /// ```
    #[derive(PartialOrd, Ord)]
    #[expect(missing_docs, reason = "the names say it")]
    pub enum Difficulty {
        Trivial = "trivial",
        Easy = "easy",
        Moderate = "moderate",
        Hard = "hard",
        Blocked = "blocked",
    }
}
/// The project paths that an attempt touched, `/` between their parts.
///
/// ```
/// use ralph_memory::entry::Files;
/// let files = Files {
///     created: vec!["src/wal.rs".into()],
///     modified: vec!["src/lib.rs".into()],
///     relevant: vec!["src/lib.rs".into(), "tests/recovery.rs".into()],
///     ..Files::default()
/// };
/// assert_eq!(files.touched(), ["src/wal.rs", "src/lib.rs", "tests/recovery.rs"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Files {
    pub created: Vec<String>,
    pub modified: Vec<String>,
    pub read: Vec<String>,
    /// The paths that a failure report names.
    pub relevant: Vec<String>,
}

impl Files {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        [&self.created, &self.modified, &self.read, &self.relevant].into_iter().all(Vec::is_empty)
    }

    /// Returns its lists, in the order in which they are written.
    pub(crate) fn lists_mut(&mut self) -> [&mut Vec<String>; 4] {
        [&mut self.created, &mut self.modified, &mut self.read, &mut self.relevant]
    }

    /// Returns the paths that were written or are named in a failure report, each once.
    pub fn touched(&self) -> Vec<&str> {
        let mut touched: Vec<&str> = Vec::new();
        for path in [&self.created, &self.modified, &self.relevant].into_iter().flatten() {
            if !touched.contains(&path.as_str()) {
                touched.push(path);
            }
        }
        touched
    }
}

/// The result of the command that decides whether a task is done.
///
/// ```
/// use ralph_memory::entry::Validation;
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let attempt = memory.begin(&Task::new("Parse leap seconds"), &memory.new_run())?;
/// let validation = Validation { command: "cargo test -q".into(), exit_code: 0, duration_ms: 4_200 };
/// memory.finish(&attempt, &Report { validation: Some(validation), ..Report::default() })?;
///
/// let recorded = memory.recent_iterations(None, 1).items.remove(0).attempt.head.validation.ok_or("not verified")?;
/// assert_eq!((recorded.command.as_str(), recorded.exit_code, recorded.duration_ms), ("cargo test -q", 0, 4_200));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validation {
    /// The command line.
    pub command: String,
    /// Its exit status; 0 means that the task is done.
    pub exit_code: i32,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

impl Validation {
    /// Returns the command line as code, or what it did if nobody told it.
    pub(crate) fn named(&self) -> String {
        if self.command.is_empty() { "verification".to_owned() } else { format!("`{}`", self.command) }
    }
}

/// The values that only an attempt's frontmatter has, and measurements of its body.
///
/// ```
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let attempt = memory.begin(&Task::new("Pin the compiler"), &memory.new_run())?;
/// let report = Report { tokens_in: Some(900), tokens_out: Some(100), ..Report::default() };
/// let head = memory.finish(&attempt, &report)?.attempt.head;
/// assert_eq!((head.iteration, head.tokens()), (1, Some(1_000)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptHead {
    /// `iteration`: its number in the run, from 1.
    pub iteration: u32,
    /// `outcome`.
    pub outcome: Outcome,
    /// `context`: the knowledge that its context included.
    #[serde(default)]
    pub context: Vec<Id>,
    /// A hash of its error, equal for two attempts whose errors differ only in paths, numbers and addresses; `None` if
    /// there is no error text.
    pub error_fingerprint: Option<u64>,
    /// How much its body says.
    #[serde(default)]
    pub(crate) account: Account,
    /// `section`: the section that the task belongs to.
    pub section: Option<String>,
    /// `error_category`, such as `test_failure`.
    pub error_category: Option<String>,
    /// `model`: the language model that worked on it.
    pub model: Option<String>,
    /// `model_rationale`: why this model.
    pub model_rationale: Option<String>,
    /// `tree`: the git tree of the work tree after the attempt, without `.ralph/`.
    pub tree: Option<String>,
    /// `commit`: the commit that was checked out after the attempt.
    pub commit: Option<String>,
    /// `difficulty`.
    pub difficulty: Option<Difficulty>,
    /// `next_model`: the model that the run's next iteration should have.
    pub next_model: Option<String>,
    /// `duration_secs`; `None` if nobody measured it.
    pub duration_secs: Option<f64>,
    /// `cost_usd`, in US dollars.
    pub cost_usd: Option<f64>,
    /// `tokens_in`.
    pub tokens_in: Option<u64>,
    /// `tokens_out`.
    pub tokens_out: Option<u64>,
    /// `files`.
    #[serde(default)]
    pub files: Files,
    /// `validation`.
    pub validation: Option<Validation>,
    /// `refused`: the sigils of the agent that were refused.
    #[serde(default)]
    pub refused: Vec<String>,
    /// The same of the error's most telling line, which the output of another command may have; `None` if that line tells
    /// no error from others.
    #[serde(default)]
    pub(crate) line_fingerprint: Option<u64>,
}

impl AttemptHead {
    /// Returns a head with only these values.
    pub(crate) fn new(iteration: u32, outcome: Outcome) -> AttemptHead {
        AttemptHead { iteration, outcome, ..AttemptHead::default() }
    }

    /// Returns whether it lengthens the task's streak of failures. `Done` alone ends it.
    pub(crate) fn extends_streak(&self) -> bool {
        let is_of_account = self.error_category.as_deref() == Some(ACCOUNT);
        self.outcome.is_failure_of_task() || self.outcome == Outcome::Error && !is_of_account
    }

    /// Returns its tokens, in and out, if it reports them.
    pub fn tokens(&self) -> Option<u64> {
        let (read, written) = (self.tokens_in, self.tokens_out);
        let sum = read.unwrap_or_default().saturating_add(written.unwrap_or_default());
        (read.is_some() || written.is_some()).then_some(sum)
    }
}

/// The body of a journal file, part by part; empty parts are not written.
///
/// ```
/// use ralph_memory::entry::Sections;
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let attempt = memory.begin(&Task::new("Drop the old table"), &memory.new_run())?;
/// let (what_tried, why_failed) = ("A migration.".to_owned(), "A view uses it.".to_owned());
/// let report = Report { sections: Sections { what_tried, why_failed, ..Sections::default() }, ..Report::default() };
/// let sections = memory.finish(&attempt, &report)?.attempt.sections;
/// assert_eq!((sections.what_tried.as_str(), sections.why_failed.as_str()), ("A migration.", "A view uses it."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sections {
    /// The text before the first heading: the agent's notes.
    pub notes: String,
    /// `## Summary`.
    pub summary: String,
    /// `## What was tried`.
    pub what_tried: String,
    /// `## Why it failed`.
    pub why_failed: String,
    /// `## Error output`.
    pub error_output: String,
    /// `## Retry suggestion`.
    pub retry_suggestion: String,
    /// `## Decisions`.
    pub decisions: String,
    /// `## Errors`.
    pub errors: String,
    /// `## Validation output`.
    pub validation_output: String,
    /// `## Progress`: a summary of the run so far.
    pub progress: String,
    /// `## Feedback`: text from a person.
    pub feedback: String,
}

/// One attempt at a task, in the form of a journal file.
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
/// memory.finish(&attempt, &Report { outcome: Some(Outcome::Done), ..Report::default() })?;
/// let (id, attempt) = memory.attempts_of_task(&attempt.task_id()).remove(0);
/// assert_eq!((attempt.task_title.as_str(), attempt.head.outcome), ("Retry the upload", Outcome::Done));
/// assert!(id.as_str().starts_with(&format!("journal/{}/", attempt.run_id)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// `run_id`.
    pub run_id: String,
    /// `task_id`.
    pub task_id: Option<String>,
    /// `task_title`; empty when there is none.
    pub task_title: String,
    /// `feature`.
    pub feature: Option<String>,
    /// `source`.
    pub source: Source,
    /// `started_at`, in whole microseconds.
    pub started_at: DateTime<Utc>,
    /// The rest of the frontmatter.
    pub head: AttemptHead,
    /// The body.
    pub sections: Sections,
}

impl Sections {
    /// Returns why it failed, if anybody said so.
    pub fn told_why(&self) -> Option<&str> {
        Some(self.why_failed.trim()).filter(|why| !why.is_empty() && *why != NO_REPORT)
    }

    /// Returns whether its agent said what was tried or why it failed.
    pub fn has_report(&self) -> bool {
        !self.what_tried.trim().is_empty() || self.told_why().is_some()
    }
}

impl Attempt {
    /// Returns the most telling line of its error; see `error_line`.
    pub(crate) fn error_line(&self) -> Option<&str> {
        self.head.error(&self.sections).and_then(error_line)
    }

    /// Returns the same line for a list, without secrets: a file that a person wrote may have some. The whole text is
    /// redacted, since a secret may have several lines.
    pub(crate) fn redacted_error_line(&self, allowed: &[String]) -> Option<String> {
        error_line(&redact(self.head.error(&self.sections)?, allowed)).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests;
