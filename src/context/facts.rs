//! What an attempt says, in the words of both sections that show attempts.

use super::foreign;
use crate::entry::attempt::{Attempt, Outcome};

/// How much of a command line is shown, in characters.
const COMMAND_CHARACTERS: usize = 100;
/// How many files are named.
const MAX_FILES: usize = 10;

/// Returns how it ended, and after how long.
pub(super) fn outcome(attempt: &Attempt) -> String {
    let outcome = attempt.head.outcome.as_str();
    match duration_secs(attempt) {
        Some(seconds) => format!("{outcome} after {:.0}ms", seconds * 1000.0),
        None => outcome.to_owned(),
    }
}

/// Returns how long it took, in seconds; `None` where that is no duration.
pub(super) fn duration_secs(attempt: &Attempt) -> Option<f64> {
    attempt.head.duration_secs.filter(|seconds| (0.0..1e12).contains(seconds))
}

/// Returns what it cost, in US dollars; `None` where nothing is known, or it was nothing.
pub(super) fn cost_usd(attempt: &Attempt) -> Option<f64> {
    attempt.head.cost_usd.filter(|cost| *cost > 0.0 && *cost < 1e12)
}

/// Says what the agent claimed, and what verification said to it, where that is why it failed.
pub(super) fn verification(attempt: &Attempt) -> Option<String> {
    if attempt.head.outcome != Outcome::Retried {
        return None;
    }
    let disagreed = attempt.head.validation.as_ref().map_or("verification failed".to_owned(), |validation| {
        let command = foreign::code(&validation.command, COMMAND_CHARACTERS);
        format!("{command} failed with exit code {}", validation.exit_code)
    });
    Some(format!("The agent said that it was done, but {disagreed}."))
}

/// Returns the files that its failure report names, else those that it wrote, in one line.
pub(super) fn files(attempt: &Attempt) -> String {
    let files = &attempt.head.files;
    let relevant: Vec<&str> = files.relevant.iter().map(String::as_str).collect();
    foreign::list(&if relevant.is_empty() { files.touched() } else { relevant }, MAX_FILES)
}

/// Returns what the client and the tools of one that failed told of errors, a line each; not what its last output says too.
pub(super) fn errors(attempt: &Attempt) -> String {
    if attempt.head.outcome.is_success() != Some(false) {
        return String::new();
    }
    let sections = &attempt.sections;
    let lines = sections.errors.lines().map(|line| line.strip_prefix("- ").unwrap_or(line).trim());
    let told = lines.filter(|line| !line.is_empty() && !sections.error_output.contains(line));
    told.collect::<Vec<_>>().join("\n")
}

/// Returns the agent's notes, else a summary of what it did; not of one that was refuted, whose summary claims that all
/// is well.
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
