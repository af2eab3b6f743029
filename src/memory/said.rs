//! What an agent's output tells of an iteration, beside what the caller knows of it.

use std::borrow::Cow;

use super::Memory;
use super::finish::Report;
use super::runs::Iteration;
use crate::entry::Outcome;
use crate::error::{Problem, Severity};
use crate::transcript::{Format, Options, Reader, Transcript};

/// Where problems of an output are said to be: it is no file of the memory.
const PLACE: &str = "agent output";

/// What is known of an iteration, from its caller and from its agent.
pub(super) struct Known {
    /// The report, with what the transcript tells where the caller says nothing.
    pub(super) report: Report,
    /// Whether the agent itself failed, by its own account.
    pub(super) is_failed: bool,
}

impl Memory {
    /// Returns a reader for an agent's output, which may be of any length. What it gives is for
    /// [`Report::transcript`].
    ///
    /// ```
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::transcript::Format;
    /// use ralph_memory::{Memory, Task};
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// Memory::init(root)?;
    /// let memory = Memory::open(root)?;
    /// let iteration = memory.begin(&Task::new("Add the lock"), &memory.new_run())?;
    /// let output = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s","total_cost_usd":0.5}"#;
    /// let transcript = memory.reader(Format::Auto).read(output.as_bytes())?;
    /// let recorded = memory.finish(&iteration, &Report { transcript: Some(transcript), ..Report::default() })?;
    /// assert_eq!((recorded.outcome.as_str(), recorded.attempt.head.cost_usd), ("error", Some(0.5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reader(&self, format: Format) -> Reader {
        // As the agent sees it, which may have been started with a path through links.
        let root = std::fs::canonicalize(self.root()).unwrap_or_else(|_| self.root().to_owned());
        Reader::new(Options {
            format,
            root: root.to_string_lossy().into_owned(),
            allowed_secrets: self.settings.allowed_secrets.clone(),
        })
    }

    /// Returns what the agent's output says.
    pub(super) fn transcript<'a>(&self, report: &'a Report) -> Cow<'a, Transcript> {
        if let Some(transcript) = &report.transcript {
            return Cow::Borrowed(transcript);
        }
        let mut reader = self.reader(Format::Auto);
        reader.push(report.text.as_bytes());
        Cow::Owned(reader.finish())
    }
}

/// Returns what is known: what the caller says, and what the agent's output tells of the rest.
pub(super) fn known(report: &Report, transcript: &Transcript, iteration: &Iteration) -> Known {
    let told = |own: &str, told: String| if own.is_empty() { told } else { own.to_owned() };
    let model = transcript.model.clone().filter(|model| !is_named(&iteration.model, model));
    let errors = [bullets(&transcript.errors), report.errors.clone()];
    let report = Report {
        // The transcript has it.
        text: String::new(),
        transcript: None,
        agent_exit: report.agent_exit,
        outcome: report.outcome,
        model: report.model.clone().or(model),
        validation: report.validation.clone(),
        duration_secs: report.duration_secs.or(transcript.duration_secs),
        cost_usd: report.cost_usd.or(transcript.cost_usd),
        tokens_in: report.tokens_in.or(transcript.tokens_in),
        tokens_out: report.tokens_out.or(transcript.tokens_out),
        files: report.files.clone(),
        summary: told(&report.summary, transcript.summary.clone()),
        decisions: told(&report.decisions, bullets(&transcript.decisions)),
        errors: errors.into_iter().filter(|errors| !errors.trim().is_empty()).collect::<Vec<_>>().join("\n\n"),
        progress: report.progress.clone(),
        feedback: report.feedback.clone(),
    };
    Known { report, is_failed: transcript.is_failed }
}

/// Returns whether a model's full name is that of the one that was chosen: `claude-sonnet-4-5` that of `sonnet`.
fn is_named(chosen: &str, full: &str) -> bool {
    !chosen.is_empty() && full.to_lowercase().contains(&chosen.to_lowercase())
}

fn bullets(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

/// Returns what a person should know of how the output could be read.
pub(super) fn transcript_problems(transcript: &Transcript, report: &Report, outcome: Outcome) -> Vec<Problem> {
    let name = transcript.format.name();
    let problem = |line: Option<u64>, code: &str, message: String, hint: &str| Problem {
        path: PLACE.to_owned(),
        line: line.map(|line| u32::try_from(line).unwrap_or(u32::MAX)),
        column: None,
        severity: Severity::Warning,
        code: code.to_owned(),
        message: message.into(),
        hint: hint.into(),
    };
    let hint = "the line was passed over, and the others were read; plain text is read with the format `text`";
    let mut problems: Vec<Problem> = transcript
        .broken
        .iter()
        .map(|broken| {
            let message = format!("this is no event of {name}: {}", broken.reason);
            problem(Some(broken.line), "transcript-line", message, hint)
        })
        .collect();
    if transcript.n_more_broken > 0 {
        let message = format!("{} more lines are no events of {name}", transcript.n_more_broken);
        problems.push(problem(None, "transcript-line", message, hint));
    }
    if transcript.n_dropped > 0 {
        let message =
            format!("the first {} bytes of the agent's text were not read: it is too long", transcript.n_dropped);
        problems.push(problem(None, "transcript-long", message, "what it said there is not in the memory; its end is"));
    }
    // Of an agent that was stopped or crashed everybody knows that already.
    let is_known = outcome == Outcome::Interrupted || report.agent_exit.is_some_and(|exit| exit != 0);
    if !transcript.is_complete && transcript.n_events > 0 && !is_known {
        let message = format!("the stream of {name} ends without its last event");
        problems.push(problem(
            None,
            "transcript-open",
            message,
            "the agent was stopped, or a part of its output is missing",
        ));
    }
    problems
}
