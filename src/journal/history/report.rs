//! The caller's report of an attempt.
//!
//! Pure data. It is kept in files until the journal has the attempt, so no field is renamed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent_output::transcript::Transcript;
use crate::entry::{Files, Outcome, Sections, Validation};
use crate::error::{Error, Result};
use crate::text::secret::redact;

/// How an attempt went, according to its caller.
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
/// let attempt = memory.begin(&Task::new("Rename the config keys"), &memory.new_run())?;
/// let report = Report {
///     text: format!("All renamed. <task-done>{}</task-done>", attempt.task_id()),
///     cost_usd: Some(0.12),
///     sections: Sections { summary: "Renamed nine keys.".into(), ..Sections::default() },
///     ..Report::default()
/// };
/// let attempt = memory.finish(&attempt, &report)?.attempt;
/// assert_eq!((attempt.sections.summary.as_str(), attempt.head.cost_usd), ("Renamed nine keys.", Some(0.12)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The agent's output, which may have sigils: its final text, or the events of Claude Code, Codex or opencode,
    /// which are detected. Ignored if there is a `transcript`.
    pub text: String,
    /// The agent's output, of any length, if a [reader](crate::Memory::reader) has read it already. The other fields
    /// override its values.
    pub transcript: Option<Transcript>,
    /// The agent's exit status, if known.
    pub agent_exit: Option<i32>,
    /// The outcome, if the caller knows better than the text.
    pub outcome: Option<Outcome>,
    /// The model that worked on it, if it is not the attempt's.
    pub model: Option<String>,
    /// The result of verification, if there was one; its output is in the sections.
    pub validation: Option<Validation>,
    /// The duration in seconds. The default is the time since the attempt began; there is none if nobody began it.
    pub duration_secs: Option<f64>,
    /// The cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How many tokens the model read.
    pub tokens_in: Option<u64>,
    /// How many tokens the model wrote.
    pub tokens_out: Option<u64>,
    /// The files that it touched; files from the agent's tools and from git are added.
    pub files: Files,
    /// Sections of the attempt's entry that the caller knows. Their text is never read for elements. They override what
    /// the output reports; `errors` are added to it.
    pub sections: Sections,
}

/// A report without secrets. This is the only form in which a report is recorded or saved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedactedReport {
    /// The report, without `text` and `transcript`.
    pub report: Report,
    /// The agent's output.
    pub transcript: Transcript,
    /// Whether a secret was removed from the output.
    pub is_redacted: bool,
}

impl Report {
    /// Returns the same report without secrets. Every text is redacted, also in fields that are added later. Redaction
    /// comes before all cuts, because a cut could leave half a secret.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], which a report of this type cannot cause.
    pub(crate) fn redacted(&self, transcript: &Transcript, allowed: &[String]) -> Result<RedactedReport> {
        let report = Report { text: String::new(), transcript: None, ..self.clone() };
        let safe = || {
            let mut value = serde_json::to_value((report, transcript))?;
            redact_texts(&mut value, allowed);
            serde_json::from_value(value)
        };
        let (report, safe): (Report, Transcript) =
            safe().map_err(|error| Error::invalid("report", error.to_string()))?;
        Ok(RedactedReport { report, is_redacted: safe.text != transcript.text, transcript: safe })
    }
}

fn redact_texts(value: &mut Value, allowed: &[String]) {
    match value {
        Value::String(text) => *text = redact(text, allowed),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_texts(item, allowed)),
        Value::Object(fields) => fields.values_mut().for_each(|field| redact_texts(field, allowed)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
