//! Facts about attempts, worded for both sections that show attempts.

use std::time::Duration;

use super::escape;
use crate::entry::attempt::{Attempt, Outcome};
use crate::text::duration;

/// How much of a command line is shown, in characters.
const COMMAND_CHARACTERS: usize = 100;
/// How many files are listed.
const MAX_FILES: usize = 10;

/// Returns the outcome and the duration.
pub(super) fn outcome(attempt: &Attempt) -> String {
    let outcome = attempt.head.outcome.as_str();
    match duration_secs(attempt) {
        Some(seconds) => format!("{outcome} after {}", duration(Duration::from_secs_f64(seconds))),
        None => outcome.to_owned(),
    }
}

/// Returns the duration in seconds; `None` if it is invalid.
pub(super) fn duration_secs(attempt: &Attempt) -> Option<f64> {
    attempt.head.duration_secs.filter(|seconds| (0.0..1e12).contains(seconds))
}

/// Returns the cost in US dollars; `None` if it is unknown or zero.
pub(super) fn cost_usd(attempt: &Attempt) -> Option<f64> {
    attempt.head.cost_usd.filter(|cost| *cost > 0.0 && *cost < 1e12)
}

/// Returns the contradiction between the agent's claim and verification, if that is why the attempt failed.
pub(super) fn verification(attempt: &Attempt) -> Option<String> {
    if attempt.head.outcome != Outcome::Retried {
        return None;
    }
    let disagreed = attempt.head.validation.as_ref().map_or("verification failed".to_owned(), |validation| {
        let command = match validation.command.as_str() {
            "" => validation.named(),
            command => escape::code(command, COMMAND_CHARACTERS),
        };
        format!("{command} failed with exit code {}", validation.exit_code)
    });
    Some(format!("The agent said that it was done, but {disagreed}."))
}

/// Returns the files in its failure report, or else those that it wrote, in one line.
pub(super) fn files(attempt: &Attempt) -> String {
    let files = &attempt.head.files;
    let relevant: Vec<&str> = files.relevant.iter().map(String::as_str).collect();
    escape::list(&if relevant.is_empty() { files.touched() } else { relevant }, MAX_FILES)
}

/// Returns the errors that the client and the tools of a failed attempt reported, one line each, without those in its
/// last output.
pub(super) fn errors(attempt: &Attempt) -> String {
    if attempt.head.outcome.is_success() != Some(false) {
        return String::new();
    }
    let sections = &attempt.sections;
    let lines = sections.errors.lines().map(|line| line.strip_prefix("- ").unwrap_or(line).trim());
    let told = lines.filter(|line| !line.is_empty() && !sections.error_output.contains(line));
    told.collect::<Vec<_>>().join("\n")
}

/// Returns the agent's notes, or else its summary. The summary of a refuted attempt is left out, because it claims
/// success.
pub(super) fn notes(attempt: &Attempt) -> &str {
    let sections = &attempt.sections;
    let n_texts = if attempt.head.outcome == Outcome::Retried { 1 } else { 2 };
    [&sections.notes, &sections.summary]
        .into_iter()
        .take(n_texts)
        .map(|text| text.trim())
        .find(|text| !text.is_empty())
        .unwrap_or("")
}
