//! Why an attempt did not finish its task, in a few words for a person who watches the run.
//!
//! Pure. It decides nothing: the outcome is known already.

use super::report::AgentReport;
use crate::entry::attempt::{Outcome, Sections};
use crate::journal::history::killed_by;
use crate::memory::Recorded;
use crate::text;
use crate::text::secret::redact;
use crate::text::shorten;

/// The longest reason, in characters.
const MAX_CHARACTERS: usize = 160;
/// How much of a line is searched for secrets, in characters.
const MAX_LOOKED_AT: usize = 2_000;

/// Returns the reason, without secrets but those with the `allowed` fingerprints; nothing for an outcome that says all.
pub(super) fn reason(report: &AgentReport, recorded: &Recorded, allowed: &[String]) -> Option<String> {
    let timed_out = report.timed_out.map(|limit| format!("timed out after {}", text::duration(limit)));
    let reason = match recorded.outcome {
        Outcome::Retried => {
            let validated = report.validation.as_ref()?;
            let failed = || format!("failed with exit code {}", validated.exit_code);
            format!("`{}` {}", validated.command, timed_out.unwrap_or_else(failed))
        }
        Outcome::Failed => said(&recorded.attempt.sections),
        Outcome::Blocked => timed_out.or_else(|| crash(report, allowed)).unwrap_or_else(|| silence(report, recorded)),
        Outcome::Error => crash(report, allowed)?,
        Outcome::Done | Outcome::Partial | Outcome::Interrupted => return None,
    };
    // Redaction comes before the cut, which could leave half a secret.
    let start: String = reason.trim().chars().take(MAX_LOOKED_AT).collect();
    Some(shorten(&redact(&start, allowed), MAX_CHARACTERS))
}

fn said(sections: &Sections) -> String {
    let why = sections.told_why().and_then(|why| why.lines().next());
    why.map_or_else(|| "the agent gave up without a report".to_owned(), str::to_owned)
}

/// Returns how the agent ended, if that was not as it should.
fn crash(report: &AgentReport, allowed: &[String]) -> Option<String> {
    let last = |text: &str| text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
    // A line of a key does not look like one.
    let line = last(&redact(&report.errors, allowed))
        .or_else(|| report.transcript.errors.last().and_then(|error| last(error)));
    // An error of the run itself, such as a verification that cannot be run, has no exit code.
    let exit = report.agent_exit.filter(|code| *code != 0 && report.outcome != Some(Outcome::Error));
    match (exit, line) {
        (Some(code), line) => {
            let how =
                killed_by(code).map_or(format!("exit code {code}"), |signal| format!("killed by signal {signal}"));
            Some(line.map_or(how.clone(), |line| format!("{how}: {line}")))
        }
        (None, line) => {
            let is_of_client = report.transcript.is_failed || report.transcript.is_blocked;
            line.filter(|_| is_of_client || report.outcome == Some(Outcome::Error))
        }
    }
}

/// Returns what is missing in the answer of an agent that ended as it should.
fn silence(report: &AgentReport, recorded: &Recorded) -> String {
    let refused = recorded.refused.iter().rfind(|refused| refused.contains(": <task-"));
    match refused {
        Some(refused) => refused.clone(),
        None if !report.transcript.is_complete => "its event stream was cut off".to_owned(),
        None if report.transcript.text.trim().is_empty() => "its answer is empty".to_owned(),
        None => "no <task-done> in its answer".to_owned(),
    }
}
