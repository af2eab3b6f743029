//! The outcome of an attempt, and the text of its journal entry.
//!
//! Pure. An agent's claim that a task is done never overrides a failed verification.

use super::report::Report;
pub(crate) use crate::entry::attempt::NO_REPORT;
use crate::entry::{Outcome, Sections};
use crate::secret::redact;
use crate::sigil::{FailureReport, ParsedSigils};
use crate::text::floor;
use crate::transcript::without_sigils;

/// The category of its error then.
const UNKNOWN: &str = "unknown";
/// How much of the text's end becomes its error output then, in characters.
const ERROR_OUTPUT: usize = 500;
/// How much of a reported stack trace is kept, in characters.
const STACK_TRACE: usize = 500;
/// How much of a trace is redacted before it is cut, in bytes.
const MAX_TRACE_BYTES: usize = 64 * 1024;

/// Returns the outcome: that of the caller, else of the agent, else of its client. The exit status comes last: a client
/// at its limit also has one that is not 0.
pub(crate) fn outcome(output: &ParsedSigils, report: &Report, ended: Option<Outcome>) -> Outcome {
    let is_verified = report.validation.as_ref().is_none_or(|validated| validated.exit_code == 0);
    match (report.outcome, output.outcome) {
        (None, Some(Outcome::Done)) if !is_verified => Outcome::Retried,
        (Some(outcome), _) | (None, Some(outcome)) => outcome,
        (None, None) => ended.unwrap_or(match report.agent_exit {
            None | Some(0) => Outcome::Blocked,
            Some(_) => Outcome::Error,
        }),
    }
}

/// Returns the category of an attempt's error, as its agent reports it; `None` if it did not fail.
pub(crate) fn error_category(output: &ParsedSigils, outcome: Outcome) -> Option<String> {
    let reported = output.failure.as_ref().map(|report| report.category.clone());
    reported.or_else(|| (outcome.is_success() == Some(false)).then(|| UNKNOWN.to_owned()))
}

/// Returns the body of an attempt's journal entry. `text` is the agent's output, and `allowed` the fingerprints of
/// false secrets that may stay.
pub(crate) fn sections(
    output: ParsedSigils,
    report: &Report,
    text: &str,
    outcome: Outcome,
    allowed: &[String],
) -> Sections {
    let or = |own: &str, other: String| if own.trim().is_empty() { other } else { own.to_owned() };
    let failure = output.failure.unwrap_or_else(|| minimal_report(text, outcome, allowed));
    // Redaction comes before the cut, which could leave half a secret.
    let trace = failure.stack_trace.map(|trace| redact(&trace[..floor(&trace, MAX_TRACE_BYTES)], allowed));
    let trace = trace.map(|trace| trace.chars().take(STACK_TRACE).collect()).unwrap_or_default();
    Sections {
        notes: output.notes.unwrap_or_default(),
        summary: report.summary.clone(),
        tried: or(&report.tried, failure.tried),
        why: or(&report.why, failure.why),
        error_output: [Some(or(&report.error_output, trace)), ended_by(report)]
            .into_iter()
            .flatten()
            .filter(|part: &String| !part.trim().is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
        retry_suggestion: or(&report.retry_suggestion, output.retry_suggestion.unwrap_or_default()),
        decisions: report.decisions.clone(),
        errors: errors_of(report, outcome),
        validation_output: report.validation.as_ref().map(|validated| validated.output.clone()).unwrap_or_default(),
        progress: report.progress.clone(),
        feedback: report.feedback.clone(),
    }
}

/// Returns the known errors; the exit status, if an agent crashed or was cut off without an error.
fn errors_of(report: &Report, outcome: Outcome) -> String {
    match report.agent_exit {
        Some(code)
            if code != 0 && matches!(outcome, Outcome::Error | Outcome::Blocked) && report.errors.trim().is_empty() =>
        {
            format!("- the agent ended with exit code {code}")
        }
        _ => report.errors.clone(),
    }
}

/// Returns why the caller ended the agent, which is the last line of the errors: the context of the next attempt shows
/// it.
fn ended_by(report: &Report) -> Option<String> {
    let line = report.errors.trim_end().lines().next_back();
    line.filter(|_| report.outcome == Some(Outcome::Blocked)).map(str::to_owned)
}

/// Returns the known facts about a failure without a report.
fn minimal_report(text: &str, outcome: Outcome, allowed: &[String]) -> FailureReport {
    let mut report = FailureReport {
        tried: String::new(),
        why: String::new(),
        category: UNKNOWN.to_owned(),
        files: Vec::new(),
        stack_trace: None,
    };
    if outcome.is_success() == Some(false) {
        NO_REPORT.clone_into(&mut report.why);
        // Sigils have their own places in entries.
        let text = &without_sigils(text);
        let text = redact(&text[floor(text, text.len().saturating_sub(MAX_TRACE_BYTES))..], allowed);
        let start = text.char_indices().rev().nth(ERROR_OUTPUT - 1).map_or(0, |(at, _)| at);
        report.stack_trace = Some(text[start..].to_owned());
    }
    report
}
