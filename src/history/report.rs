//! The caller's report of an iteration.
//!
//! Pure data. It is kept in files until the journal has the attempt, so no field is renamed.

use serde::{Deserialize, Serialize};

use crate::entry::{Files, Outcome, Validation};
use crate::secret::redact;
use crate::transcript::{Broken, Transcript};

/// The result of the command that decides whether a task is done.
///
/// ```
/// use ralph_memory::entry::Outcome;
/// use ralph_memory::memory::{Report, Validated};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let iteration = memory.begin(&Task::new("Fix the flaky login test"), &memory.new_run())?;
/// let output = "1 failed: login_expires".to_owned();
/// let validation = Validated { command: "pytest -q".into(), exit_code: 1, output, duration_ms: 900 };
/// let text = format!("<task-done>{}</task-done>", iteration.task_id());
/// let recorded = memory.finish(&iteration, &Report { text, validation: Some(validation), ..Report::default() })?;
/// assert_eq!(recorded.outcome, Outcome::Retried, "the agent said that it was done, and `pytest` disagrees");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validated {
    /// The command line.
    pub command: String,
    /// Its exit status; 0 means that the task is done.
    pub exit_code: i32,
    /// Its output: the standard output or, if that is empty, the error output.
    pub output: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// The result of an iteration, according to its caller.
///
/// ```
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let iteration = memory.begin(&Task::new("Rename the config keys"), &memory.new_run())?;
/// let report = Report {
///     text: format!("All renamed. <task-done>{}</task-done>", iteration.task_id()),
///     cost_usd: Some(0.12),
///     summary: "Renamed nine keys.".into(),
///     ..Report::default()
/// };
/// let view = memory.finish(&iteration, &report)?.view();
/// assert_eq!((view.summary.as_str(), view.cost_usd), ("Renamed nine keys.", Some(0.12)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The agent's output, which may have sigils: its final text, or the events of Claude Code, Codex or opencode,
    /// which are recognised. Ignored if there is a `transcript`.
    pub text: String,
    /// The agent's output, if a [reader](crate::Memory::reader) has read it already: of any length. The other fields
    /// win over its values.
    pub transcript: Option<Transcript>,
    /// The agent's exit status, if known.
    pub agent_exit: Option<i32>,
    /// The outcome, if the caller knows better than the text.
    pub outcome: Option<Outcome>,
    /// The model that worked on it, if it is another than the iteration's.
    pub model: Option<String>,
    /// The result of verification, if there was one.
    pub validation: Option<Validated>,
    /// The duration in seconds; the default is the time since it began, and none if nobody began it.
    pub duration_secs: Option<f64>,
    /// The cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How many tokens the model read.
    pub tokens_in: Option<u64>,
    /// How many tokens the model wrote.
    pub tokens_out: Option<u64>,
    /// The files that it touched; files from the agent's tools and from git are added.
    pub files: Files,
    /// A summary of the work.
    pub summary: String,
    /// The decisions.
    pub decisions: String,
    /// The errors on the way.
    pub errors: String,
    /// A summary of the run so far.
    pub progress: String,
    /// Feedback from a person.
    pub feedback: String,
    /// Notes for the next agent at the task. This and the following are taken as they are, in the place of what the
    /// output reports: no text in them is an element.
    #[serde(default)]
    pub notes: String,
    /// What was tried.
    #[serde(default)]
    pub tried: String,
    /// Why that failed.
    #[serde(default)]
    pub why: String,
    /// What the failed commands printed.
    #[serde(default)]
    pub error_output: String,
    /// What to do instead.
    #[serde(default)]
    pub retry_suggestion: String,
}

impl Validated {
    /// Returns its part of a journal entry's frontmatter: all but the output, which is in the body.
    pub(crate) fn to_validation(&self) -> Validation {
        Validation { command: self.command.clone(), exit_code: self.exit_code, duration_ms: self.duration_ms }
    }
}

impl Report {
    /// Returns the same report without secrets, with the transcript's text.
    pub(crate) fn redacted(&self, transcript: &Transcript, allowed: &[String]) -> Report {
        let safe = |text: &String| redact(text, allowed);
        let list = |texts: &[String]| texts.iter().map(safe).collect::<Vec<_>>();
        let files = |files: &Files| {
            let Files { created, modified, read, relevant } = files;
            Files { created: list(created), modified: list(modified), read: list(read), relevant: list(relevant) }
        };
        let broken = |broken: &Broken| Broken { line: broken.line, reason: safe(&broken.reason) };
        // Each field by name, so that a new one cannot be forgotten.
        Report {
            text: String::new(),
            transcript: Some(Transcript {
                format: transcript.format,
                text: safe(&transcript.text),
                n_dropped: transcript.n_dropped,
                files: files(&transcript.files),
                errors: list(&transcript.errors),
                commands: list(&transcript.commands),
                decisions: list(&transcript.decisions),
                summary: safe(&transcript.summary),
                cost_usd: transcript.cost_usd,
                tokens_in: transcript.tokens_in,
                tokens_out: transcript.tokens_out,
                model: transcript.model.as_ref().map(safe),
                duration_secs: transcript.duration_secs,
                is_failed: transcript.is_failed,
                is_blocked: transcript.is_blocked,
                is_interrupted: transcript.is_interrupted,
                is_complete: transcript.is_complete,
                n_events: transcript.n_events,
                broken: transcript.broken.iter().map(broken).collect(),
                n_more_broken: transcript.n_more_broken,
            }),
            agent_exit: self.agent_exit,
            outcome: self.outcome,
            model: self.model.as_ref().map(safe),
            validation: self.validation.as_ref().map(|validated| Validated {
                command: safe(&validated.command),
                exit_code: validated.exit_code,
                output: safe(&validated.output),
                duration_ms: validated.duration_ms,
            }),
            duration_secs: self.duration_secs,
            cost_usd: self.cost_usd,
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            files: files(&self.files),
            summary: safe(&self.summary),
            decisions: safe(&self.decisions),
            errors: safe(&self.errors),
            progress: safe(&self.progress),
            feedback: safe(&self.feedback),
            notes: safe(&self.notes),
            tried: safe(&self.tried),
            why: safe(&self.why),
            error_output: safe(&self.error_output),
            retry_suggestion: safe(&self.retry_suggestion),
        }
    }
}
