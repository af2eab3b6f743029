//! What is known about an attempt when its agent has ended, in the form that the memory takes.

use std::time::Duration;

use super::command::CommandLine;
use super::process::ProcessOutput;
use crate::agent_output::account::account_trouble;
use crate::agent_output::transcript::Transcript;
use crate::entry::{Outcome, Sections, Validation};
use crate::error::Error;
use crate::memory::Report;
use crate::text;

/// The exit status of a verification that a time-out ended, as `timeout` reports it.
const TIMED_OUT: i32 = 124;

/// What happened in an attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AgentReport {
    /// What the agent wrote to its standard output.
    pub(super) transcript: Transcript,
    /// What it wrote to its error output, or why it could not be run.
    pub(super) errors: String,
    /// Its exit status; `None` where it could not be run.
    pub(super) agent_exit: Option<i32>,
    /// How long it took.
    pub(super) duration: Duration,
    /// The outcome, where it is not for the agent to say: `Error`, `Interrupted`, and `Blocked` where it took too long.
    pub(super) outcome: Option<Outcome>,
    /// The time-out that ended the agent, or its verification.
    pub(super) timed_out: Option<Duration>,
    /// How verification went.
    pub(super) validation: Option<Validation>,
    /// What the verification printed.
    pub(super) validation_output: String,
    /// What the person wrote who stopped it.
    pub(super) feedback: String,
}

impl AgentReport {
    /// Returns the report of an agent that ran.
    pub(super) fn of_agent(output: ProcessOutput, transcript: Transcript) -> AgentReport {
        AgentReport {
            agent_exit: Some(output.exit_code),
            duration: output.duration,
            outcome: match output.timed_out {
                Some(_) => Some(Outcome::Blocked),
                None => output.interrupted.then_some(Outcome::Interrupted),
            },
            timed_out: output.timed_out,
            transcript,
            errors: with_timeout(output.stderr, "the agent", output.timed_out),
            ..AgentReport::default()
        }
    }

    /// Returns the report of an agent that could not be run.
    pub(super) fn of_error(error: &Error) -> AgentReport {
        AgentReport { errors: error.with_causes(), outcome: Some(Outcome::Error), ..AgentReport::default() }
    }

    /// Takes note of an error that ends the run after the agent did its work.
    pub(super) fn fail(&mut self, error: &Error) {
        // What the agent did is not lost, and nobody knows whether it is right.
        self.outcome = Some(Outcome::Error);
        self.errors = error.with_causes();
    }

    /// Returns what is wrong with the agent's account, with the line that says so.
    pub(super) fn account_trouble(&self) -> Option<(&'static str, &str)> {
        let has_failed = self.agent_exit.is_some_and(|code| code != 0) || self.transcript.is_failed;
        account_trouble(&self.errors, &self.transcript, has_failed)
    }

    /// Returns it as the memory takes it, with a summary of the attempt.
    pub(super) fn with_summary(&self, progress: String) -> Report {
        // What the loop says of an agent that it ended counts, whatever exit status that one had.
        let is_crash =
            self.agent_exit != Some(0) || self.transcript.is_failed || self.outcome == Some(Outcome::Blocked);
        let is_crash = is_crash || self.account_trouble().is_some();
        let is_crash = is_crash && self.outcome != Some(Outcome::Interrupted);
        Report {
            transcript: Some(self.transcript.clone()),
            agent_exit: self.agent_exit,
            outcome: self.outcome,
            validation: self.validation.clone(),
            // Tenths of a second are exact enough for a journal.
            duration_secs: Some((self.duration.as_secs_f64() * 10.0).round() / 10.0),
            sections: Sections {
                // What an agent that works writes beside its answer is for people who watch it.
                errors: if is_crash { self.errors.clone() } else { String::new() },
                progress,
                feedback: self.feedback.clone(),
                // Of a verification that was cut short, nothing is kept.
                validation_output: self
                    .validation
                    .as_ref()
                    .map_or_else(String::new, |_| self.validation_output.clone()),
                ..Sections::default()
            },
            ..Report::default()
        }
    }
}

/// Returns how verification went.
pub(super) fn validated(verify: &CommandLine, output: ProcessOutput) -> (Option<Validation>, String) {
    let text = if output.stdout.trim().is_empty() { output.stderr } else { output.stdout };
    let validation = Validation {
        command: verify.to_string(),
        // Whatever its own exit status, it verified nothing.
        exit_code: output.timed_out.map_or(output.exit_code, |_| TIMED_OUT),
        duration_ms: u64::try_from(output.duration.as_millis()).unwrap_or(u64::MAX),
    };
    (Some(validation), with_timeout(text, "this", output.timed_out))
}

/// Returns what a command wrote, and that a time-out ended it where one did.
fn with_timeout(text: String, whom: &str, timed_out: Option<Duration>) -> String {
    let Some(limit) = timed_out else { return text };
    let line = format!("The time-out of {} ended {whom}.", text::duration(limit));
    if text.trim().is_empty() { line } else { format!("{}\n{line}", text.trim_end()) }
}
