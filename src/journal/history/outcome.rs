//! The outcome of an attempt, and the text of its journal entry.
//!
//! Pure. Its input no longer has secrets, so it may cut texts. An agent's claim that a task is done never overrides a
//! failed verification. A remark of the agent is never an error. An error is what a program printed, or what the agent
//! reports as one.

use super::agent_output::{ClientEnding, joined};
use super::report::Report;
use crate::agent_output::elements::{ParsedSigils, section_of, without_sigils};
use crate::agent_output::transcript::{Format, Transcript};
use crate::entry::attempt::{ACCOUNT, NO_REPORT};
use crate::entry::{Outcome, Sections};

/// The category of the error in that case.
pub(crate) const UNKNOWN: &str = "unknown";
/// How much of the end of the text is kept in that case, in characters.
const LAST_WORDS: usize = 500;
/// How much of a reported stack trace is kept, in characters.
const STACK_TRACE: usize = 500;

/// Returns the outcome: the caller's, otherwise what the agent reported, otherwise the client's. The exit status comes
/// last, because a client at its limit also exits with another status than 0.
pub(crate) fn outcome(told: Option<Outcome>, report: &Report, ended: ClientEnding) -> Outcome {
    let is_verified = report.validation.as_ref().is_none_or(|validated| validated.exit_code == 0);
    match (report.outcome, told) {
        (None, Some(Outcome::Done)) if !is_verified => Outcome::Retried,
        (Some(outcome), _) | (None, Some(outcome)) => outcome,
        (None, None) => ended.outcome.unwrap_or(match report.agent_exit {
            None | Some(0) => Outcome::Blocked,
            Some(_) => Outcome::Error,
        }),
    }
}

/// Returns the category of an attempt's error, as its agent reports it; `None` if it did not fail. That an account kept
/// the agent from working only the client says.
pub(crate) fn error_category(output: &ParsedSigils, outcome: Outcome, ended: ClientEnding) -> Option<String> {
    if outcome == Outcome::Error && ended.is_of_account {
        return Some(ACCOUNT.to_owned());
    }
    let reported = output.failure.as_ref().map(|report| report.category.clone());
    reported.or_else(|| (outcome.is_success() == Some(false)).then(|| UNKNOWN.to_owned()))
}

/// Returns the body of an attempt's journal entry.
pub(crate) fn sections(output: ParsedSigils, report: &Report, transcript: &Transcript, outcome: Outcome) -> Sections {
    let or = |own: &str, other: String| if own.trim().is_empty() { other } else { own.to_owned() };
    let is_silent = output.failure.is_none() && outcome.is_success() == Some(false);
    // What was verified says why its attempt is to be retried.
    let untold = if is_silent && outcome != Outcome::Retried { NO_REPORT } else { "" };
    let failure = output.failure.unwrap_or_default();
    // A stream names the agent's last words and the client's errors. The end of a plain text may be either.
    let is_text = matches!(transcript.format, Format::Text | Format::Unknown);
    let has_words = is_text && (is_silent || outcome == Outcome::Interrupted);
    let mut last_words = if has_words { last_words(&transcript.text) } else { String::new() };
    let printed = if outcome == Outcome::Error {
        let of_client = transcript.errors.last().filter(|_| is_silent && !is_text).cloned();
        let of_text = std::mem::take(&mut last_words);
        of_client.unwrap_or(of_text)
    } else {
        String::new()
    };
    let trace = failure.stack_trace.map_or(printed, |trace| trace.chars().take(STACK_TRACE).collect());
    let own = &report.sections;
    let mut sections = Sections {
        notes: joined([output.notes.unwrap_or_default(), failure.other], "\n\n"),
        summary: or(&own.summary, last_words),
        what_tried: or(&own.what_tried, failure.tried),
        why_failed: or(&own.why_failed, if is_silent { untold.to_owned() } else { failure.why }),
        error_output: joined([or(&own.error_output, trace), ended_by(report).unwrap_or_default()], "\n"),
        errors: errors_of(report, outcome),
        ..own.clone()
    };
    for (element, text) in output.sections {
        let part = section_of(element).and_then(|heading| sections.part(heading));
        if let Some(part) = part.filter(|part| part.trim().is_empty()) {
            *part = text;
        }
    }
    sections
}

/// Returns the known errors. If an agent crashed or was cut off without an error, returns the exit status.
fn errors_of(report: &Report, outcome: Outcome) -> String {
    match report.agent_exit {
        Some(code)
            if code != 0
                && matches!(outcome, Outcome::Error | Outcome::Blocked)
                && report.sections.errors.trim().is_empty() =>
        {
            format!("- the agent ended with exit code {code}")
        }
        _ => report.sections.errors.clone(),
    }
}

/// Returns why the caller ended the agent, which is the last line of the errors: the context of the next attempt shows
/// it.
fn ended_by(report: &Report) -> Option<String> {
    let line = report.sections.errors.trim_end().lines().next_back();
    line.filter(|_| report.outcome == Some(Outcome::Blocked)).map(str::to_owned)
}

/// Returns the end of a text, without report elements, which have their own places in entries.
fn last_words(text: &str) -> String {
    let text = without_sigils(text);
    let start = text.char_indices().rev().nth(LAST_WORDS - 1).map_or(0, |(at, _)| at);
    text[start..].trim_start().to_owned()
}
