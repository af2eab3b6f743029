//! Adds the agent's output to the caller's report of an attempt, and reports unreadable parts.
//!
//! Pure. The caller's values always win over those of the output.

use super::report::Report;
use crate::agent_output::account::account_trouble;
use crate::agent_output::transcript::{Format, Transcript, UNKNOWN_FORMAT};
use crate::entry::{Outcome, Sections};
use crate::error::Problem;
use crate::text::words;

/// The path in problems of an output. An output is not a file of the memory.
const PLACE: &str = "agent output";

/// How an attempt ended according to the client.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClientEnding {
    /// The outcome, if it reports one.
    pub(crate) outcome: Option<Outcome>,
    /// Whether the agent's account kept it from working.
    pub(crate) is_of_account: bool,
}

/// Returns the report with the values of the agent's output where the caller gives none, and how the attempt ended
/// according to the client. If the output's model is only the full name of `chosen_model`, it is ignored.
pub(crate) fn completed_report(report: &Report, transcript: &Transcript, chosen_model: &str) -> (Report, ClientEnding) {
    let has_failed = report.agent_exit.is_some_and(|code| code != 0) || transcript.is_failed;
    let is_of_account = account_trouble(&report.sections.errors, transcript, has_failed).is_some();
    let model = transcript.model.clone().filter(|model| !is_named(chosen_model, model));
    let mut report = report.clone();
    report.model = report.model.or(model);
    report.duration_secs = report.duration_secs.or(transcript.duration_secs);
    report.cost_usd = report.cost_usd.or(transcript.cost_usd);
    report.tokens_in = report.tokens_in.or(transcript.tokens_in);
    report.tokens_out = report.tokens_out.or(transcript.tokens_out);
    let Sections { summary, decisions, errors, .. } = &mut report.sections;
    if summary.is_empty() {
        summary.clone_from(&transcript.summary);
    }
    if decisions.is_empty() {
        *decisions = bullets(&transcript.decisions);
    }
    *errors = joined([bullets(&transcript.errors), std::mem::take(errors)], "\n\n");
    // The stream was cut off in the middle of its work.
    let is_cut = transcript.n_events > 0 && !transcript.is_complete;
    let ways = [
        (transcript.is_interrupted, Outcome::Interrupted),
        (is_of_account, Outcome::Error),
        (transcript.is_blocked, Outcome::Blocked),
        (transcript.is_failed, Outcome::Error),
        (is_cut && report.agent_exit.is_some_and(|exit| killed_by(exit).is_some()), Outcome::Error),
        (is_cut, Outcome::Blocked),
    ];
    let outcome = ways.into_iter().find_map(|(is_so, outcome)| is_so.then_some(outcome));
    (report, ClientEnding { outcome, is_of_account })
}

/// Joins two texts, without those that are empty.
pub(super) fn joined(texts: [String; 2], between: &str) -> String {
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join(between)
}

/// Returns the number of the signal that killed a program, according to the exit status that a shell reports.
pub(crate) fn killed_by(exit: i32) -> Option<i32> {
    Some(exit - 128).filter(|signal| (1..=64).contains(signal))
}

/// Returns whether a model's full name belongs to the chosen one: `claude-sonnet-4-5` to `sonnet`. It contains all
/// words of the chosen name in a row. After these it may only have a date, `latest`, and a version, if the chosen name
/// does not itself end in a number. Any other word makes it another model.
pub(crate) fn is_named(chosen: &str, full: &str) -> bool {
    let (chosen, full) = (words(chosen), words(full));
    let is_number = |word: &String| word.bytes().all(|digit| digit.is_ascii_digit());
    let is_version = |word: &String| word.trim_start_matches('v').starts_with(|digit: char| digit.is_ascii_digit());
    let is_behind = |behind: &[String]| {
        // `gpt-5-2025-08-07` is `gpt-5`, and `gpt-5.1` is not.
        let is_other = chosen.last().is_some_and(is_number)
            && behind.first().is_some_and(|next| is_number(next) && next.len() < 4);
        let is_stage = |word: &String| ["latest", "preview", "beta", "exp"].contains(&word.as_str());
        !is_other && behind.iter().all(|word| is_version(word) || is_stage(word))
    };
    !chosen.is_empty() && (0..full.len()).any(|start| full[start..].strip_prefix(&chosen[..]).is_some_and(is_behind))
}

fn bullets(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

/// Returns problems of reading the output, for a person.
pub(crate) fn transcript_problems(transcript: &Transcript, report: &Report, outcome: Outcome) -> Vec<Problem> {
    let name = transcript.format.name();
    let problem = |line: Option<u64>, code: &str, message: String, hint: &str| {
        Problem::warning(PLACE, code, message, hint).at_line(line.map(|line| u32::try_from(line).unwrap_or(u32::MAX)))
    };
    if transcript.format == Format::Unknown {
        let hint = "plain text is read with the format `text`";
        return vec![problem(None, "transcript-format", format!("this was not read: {UNKNOWN_FORMAT}"), hint)];
    }
    let hint = "the line was skipped, and the others were read; plain text is read with the format `text`";
    let mut problems: Vec<Problem> = transcript
        .broken
        .iter()
        .map(|broken| {
            let message = format!("this is not an event of {name}: {}", broken.reason);
            problem(Some(broken.line), "transcript-line", message, hint)
        })
        .collect();
    if transcript.n_more_broken > 0 {
        let message = format!("{} more lines are not events of {name}", transcript.n_more_broken);
        problems.push(problem(None, "transcript-line", message, hint));
    }
    if transcript.n_dropped > 0 {
        let message =
            format!("the first {} bytes of the agent's text were not read: it is too long", transcript.n_dropped);
        problems.push(problem(None, "transcript-long", message, "that part is not in the memory; its end is"));
    }
    // If an agent was stopped or crashed, this is no surprise.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_name_belongs_only_to_its_short_name() {
        let check =
            |chosen: &str, full: &str, expected: bool| assert_eq!(is_named(chosen, full), expected, "{chosen} {full}");
        check("sonnet", "claude-sonnet-4-5", true);
        check("Sonnet", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", true);
        check("sonnet", "claude-3-5-sonnet@20241022", true);
        check("sonnet", "claude-sonnet-4-5[1m]", true);
        check("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", true);
        check("flash-lite", "gemini-flash-lite-latest", true);
        check("flash", "gemini-2.5-flash-preview-05-20", true);
        check("gpt-5", "gpt-5", true);
        check("gpt-5", "gpt-5-2025-08-07", true);
        check("gpt-5", "openai/gpt-5-latest", true);
        check("sonnet", "my-sonnet-mini-9", false);
        check("sonnet", "sonnets", false);
        check("flash", "gemini-2.5-flash-lite", false);
        check("flash", "gemini-flash-lite-latest", false);
        check("gpt-5", "gpt-5-mini", false);
        check("gpt-5", "gpt-5.1", false);
        check("gpt-5", "gpt-5.1-codex", false);
        check("gpt-4", "gpt-4o", false);
        check("claude-sonnet-4", "claude-sonnet-4-5-20250929", false);
        check("", "gpt-5", false);
        check("-", "gpt-5", false);
        check("gpt-5", "", false);
    }
}
