//! The outcome of an attempt, and the text of its journal entry.
//!
//! Pure. An agent's claim that a task is done never overrides a failed verification. What an agent says in passing is never
//! an error: that is what a program printed, or what the agent reports as such.

use super::report::Report;
use crate::entry::attempt::NO_REPORT;
use crate::entry::{Outcome, Sections};
use crate::secret::redact;
use crate::sigil::{ParsedSigils, section_of};
use crate::text::floor;
use crate::transcript::{Format, Transcript, without_sigils};

/// The category of its error then.
pub(crate) const UNKNOWN: &str = "unknown";
/// How much of the text's end is kept then, in characters.
const LAST_WORDS: usize = 500;
/// How much of a reported stack trace is kept, in characters.
const STACK_TRACE: usize = 500;
/// How much of a trace is redacted before it is cut, in bytes.
const MAX_TRACE_BYTES: usize = 64 * 1024;

/// Returns the outcome: that of the caller, else what the agent told, else that of its client. The exit status comes last: a client
/// at its limit also has one that is not 0.
pub(crate) fn outcome(told: Option<Outcome>, report: &Report, ended: Option<Outcome>) -> Outcome {
    let is_verified = report.validation.as_ref().is_none_or(|validated| validated.exit_code == 0);
    match (report.outcome, told) {
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

/// Returns the body of an attempt's journal entry. `allowed` has the fingerprints of false secrets that may stay.
pub(crate) fn sections(
    output: ParsedSigils,
    report: &Report,
    transcript: &Transcript,
    outcome: Outcome,
    allowed: &[String],
) -> Sections {
    let or = |own: &str, other: String| if own.trim().is_empty() { other } else { own.to_owned() };
    let has_failed = outcome.is_success() == Some(false);
    let is_silent = output.failure.is_none() && has_failed;
    let failure = output.failure.unwrap_or_default();
    // A stream names its agent's last words and its client's errors; of plain text, the end is either.
    let is_text = matches!(transcript.format, Format::Text | Format::Unknown);
    let last_words = if is_silent && is_text { last_words(&transcript.text, allowed) } else { String::new() };
    let (last_words, printed) = if outcome == Outcome::Error {
        let of_client = transcript.errors.last().filter(|_| is_silent && !is_text).cloned();
        (String::new(), of_client.unwrap_or(last_words))
    } else {
        (last_words, String::new())
    };
    // Redaction comes before the cut, which could leave half a secret.
    let trace = failure.stack_trace.map(|trace| redact(&trace[..floor(&trace, MAX_TRACE_BYTES)], allowed));
    let trace = trace.map_or(printed, |trace| trace.chars().take(STACK_TRACE).collect());
    let why = if is_silent { NO_REPORT.to_owned() } else { failure.why };
    let mut sections = Sections {
        notes: joined([output.notes.unwrap_or_default(), failure.other], "\n\n"),
        summary: or(&report.summary, last_words),
        tried: or(&report.tried, failure.tried),
        why: or(&report.why, why),
        error_output: joined([or(&report.error_output, trace), ended_by(report).unwrap_or_default()], "\n"),
        retry_suggestion: report.retry_suggestion.clone(),
        decisions: report.decisions.clone(),
        errors: errors_of(report, outcome),
        validation_output: report.validation.as_ref().map(|validated| validated.output.clone()).unwrap_or_default(),
        progress: report.progress.clone(),
        feedback: report.feedback.clone(),
    };
    for (element, text) in output.sections {
        let part = section_of(element).and_then(|heading| sections.part(heading));
        if let Some(part) = part.filter(|part| part.trim().is_empty()) {
            *part = text;
        }
    }
    sections
}

fn joined(texts: [String; 2], between: &str) -> String {
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join(between)
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

/// Returns the end of a text, without sigils, which have their own places in entries.
fn last_words(text: &str, allowed: &[String]) -> String {
    let text = &without_sigils(text);
    let text = redact(&text[floor(text, text.len().saturating_sub(MAX_TRACE_BYTES))..], allowed);
    let start = text.char_indices().rev().nth(LAST_WORDS - 1).map_or(0, |(at, _)| at);
    text[start..].trim_start().to_owned()
}
