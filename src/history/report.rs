//! What the caller of an iteration reports of it.
//!
//! Pure data. It is kept in files until the journal has the attempt, so no field is renamed.

use serde::{Deserialize, Serialize};

use crate::entry::{Files, Outcome, Validation};
use crate::secret::redact;
use crate::transcript::{Broken, Transcript};

/// How the command went that says whether a task is done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validated {
    /// The command line.
    pub command: String,
    /// Its exit status; 0 means that the task is done.
    pub exit_code: i32,
    /// What it printed: its standard output, or, where that is empty, its error output.
    pub output: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// What became of an iteration, as its caller knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What the agent wrote, from which sigils are read: its final text, or the events of Claude Code, Codex or
    /// opencode, which are recognised. Not looked at where there is a `transcript`.
    pub text: String,
    /// What the agent wrote, where it was read already by a [reader](crate::Memory::reader): an output of any length. What
    /// the other fields say counts over what it tells.
    pub transcript: Option<Transcript>,
    /// The agent's exit status, where it is known.
    pub agent_exit: Option<i32>,
    /// How it ended, where the caller knows better than the text.
    pub outcome: Option<Outcome>,
    /// The model that worked on it, where it was another than the iteration's.
    pub model: Option<String>,
    /// How verification went, where there was one.
    pub validation: Option<Validated>,
    /// How long it took, in seconds; without it, the time since it began.
    pub duration_secs: Option<f64>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How many tokens the model read.
    pub tokens_in: Option<u64>,
    /// How many tokens the model wrote.
    pub tokens_out: Option<u64>,
    /// The files that it had to do with; what the agent's tools tell and git saw change is added.
    pub files: Files,
    /// What was done, in a few words.
    pub summary: String,
    /// What was decided.
    pub decisions: String,
    /// The errors that were met.
    pub errors: String,
    /// A summary of the run so far.
    pub progress: String,
    /// What a person typed.
    pub feedback: String,
}

impl Validated {
    /// Returns what the frontmatter of a journal entry has of it: all but the output, which its body has.
    pub(crate) fn to_validation(&self) -> Validation {
        Validation { command: self.command.clone(), exit_code: self.exit_code, duration_ms: self.duration_ms }
    }
}

impl Report {
    /// Returns the same report without secrets, its text as the transcript has it.
    pub(crate) fn redacted(&self, transcript: &Transcript, allowed: &[String]) -> Report {
        let safe = |text: &String| redact(text, allowed);
        let list = |texts: &[String]| texts.iter().map(safe).collect::<Vec<_>>();
        let files = |files: &Files| {
            let Files { created, modified, read, relevant } = files;
            Files { created: list(created), modified: list(modified), read: list(read), relevant: list(relevant) }
        };
        let broken = |broken: &Broken| Broken { line: broken.line, reason: safe(&broken.reason) };
        // Each field by name: a new one that is forgotten here does not compile.
        Report {
            text: String::new(),
            transcript: Some(Transcript {
                format: transcript.format,
                text: safe(&transcript.text),
                n_dropped: transcript.n_dropped,
                files: files(&transcript.files),
                errors: list(&transcript.errors),
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
        }
    }
}
