//! What prevents an agent from working at all: repeated crashes, or its account's limit.
//!
//! It does not wait itself: it says whether the run ends or, if the run continues, how long to pause.

use std::time::Duration;

use chrono::{DateTime, Local, Utc};

use super::options::RunEnd;
use super::report::AgentReport;
use super::usage_limit::{has_limit, reset_time};
use crate::entry::attempt::Outcome;
use crate::text::secret::redact;
use crate::text::shorten;

/// How many crashes in a row are a loop of them.
const MAX_CRASHES: u32 = 3;
/// An agent that ends with an error in less than this crashed before it worked, in seconds.
const QUICK_SECONDS: u64 = 10;
/// The longest pause after crashes.
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);
/// In how many lines at the end a client says that its account is at its limit.
const LAST_LINES: usize = 5;
/// The longest line that is shown, in characters.
const MAX_LINE: usize = 160;

/// The trouble of a run's agent.
#[derive(Debug, Default)]
pub(super) struct AgentTrouble {
    /// How many attempts in a row were crashes.
    n_crashes: u32,
    /// How the run ends, unless it is to keep going.
    pub(super) end: Option<RunEnd>,
    /// When the limit of the account ends, if a line names a time.
    resets_at: Option<DateTime<Utc>>,
}

impl AgentTrouble {
    /// Takes note of an attempt that ended at `now`.
    pub(super) fn note(
        &mut self,
        report: &AgentReport,
        (outcome, reason): (Outcome, Option<&str>),
        allowed: &[String],
        now: DateTime<Utc>,
    ) {
        let is_error = outcome == Outcome::Error;
        let is_crash = is_error && report.duration.as_secs() < QUICK_SECONDS;
        self.n_crashes = if is_crash { self.n_crashes + 1 } else { 0 };
        let limit = limit(report).filter(|_| is_error);
        self.resets_at = limit.and_then(|line| reset_time(line, &now.with_timezone(&Local)));
        self.end = match limit {
            Some(line) => {
                // A Unix time says nothing to a person.
                let unix = self.resets_at.filter(|at| line.contains(&at.timestamp().to_string()));
                let at = unix.map(|at| at.format(" (%Y-%m-%d %H:%M UTC)").to_string()).unwrap_or_default();
                let line = shorten(&redact(line, allowed), MAX_LINE);
                Some(RunEnd::UsageLimit(format!("the agent is at its usage limit: {line}{at}")))
            }
            None if self.n_crashes >= MAX_CRASHES => {
                // The reason has a line of the error output, where there is any.
                let is_silent = report.errors.trim().is_empty() && report.transcript.errors.is_empty();
                let said = report.transcript.text.lines().map(str::trim).rfind(|line| !line.is_empty() && is_silent);
                let said = said.map(|line| shorten(&redact(line, allowed), MAX_LINE));
                let printed: Vec<&str> = reason.into_iter().chain(said.as_deref()).collect();
                Some(RunEnd::Crashing(format!(
                    "the agent ended with an error {} times in a row, within {QUICK_SECONDS} s each: {}",
                    self.n_crashes,
                    printed.join(": ")
                )))
            }
            None => None,
        };
    }

    /// Returns how long to pause, where `first` is the first pause after crashes: each one more doubles it. The end of a
    /// limit is waited for.
    pub(super) fn pause(&self, first: Duration, now: DateTime<Utc>) -> Duration {
        let doublings = self.n_crashes.saturating_sub(MAX_CRASHES).min(16);
        let pause = first.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
        pause.max(self.resets_at.and_then(|at| (at - now).to_std().ok()).unwrap_or_default())
    }
}

/// Returns the last line that says that an account is at its limit. A client says it at the end; an agent may work on
/// limits before.
fn limit(report: &AgentReport) -> Option<&str> {
    let (text, errors) = (report.transcript.text.as_str(), report.transcript.errors.iter().map(String::as_str));
    let texts = [report.errors.as_str()].into_iter().chain(errors.rev()).chain([text]);
    let lines =
        texts.flat_map(|text| text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(LAST_LINES));
    lines.into_iter().find(|line| has_limit(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_limits_are_waited_for() {
        let now = DateTime::from_timestamp(4_070_905_200, 0).unwrap();
        let mut trouble = AgentTrouble::default();
        let mut crash = |seconds, errors: &str| {
            let (duration, errors) = (Duration::from_secs(seconds), errors.to_owned());
            let report = AgentReport { errors, duration, ..AgentReport::default() };
            trouble.note(&report, (Outcome::Error, Some("exit code 1")), &[], now);
            trouble.end.is_some().then(|| trouble.pause(Duration::from_secs(10), now).as_secs())
        };
        let pauses: Vec<Option<u64>> = (0..10).map(|_| crash(0, "")).collect();
        let expected = [0, 0, 10, 20, 40, 80, 160, 320, 640, 900];
        assert_eq!(pauses, expected.map(|pause| Some(pause).filter(|pause| *pause > 0)));
        // An agent that works for a while is another thing.
        assert_eq!([crash(10, ""), crash(0, ""), crash(0, "")], [None; 3]);
        assert_eq!(crash(10, "Claude AI usage limit reached|4070908800"), Some(3600));
        // The time is over, and the client still says so.
        assert_eq!(crash(10, "Claude AI usage limit reached|1755615600"), Some(10));
        // An agent that works on limits may end for another reason.
        assert_eq!(crash(10, "The usage limit is tested.\n\n1\n2\n3\n4\nKilled"), None);
        assert_eq!(crash(10, "You've hit your usage limit.\n\nSee the page.\ntokens used: 9\n"), Some(10));
    }
}
