//! What prevents an agent from working at all: repeated crashes, or its account's limit.
//!
//! It does not wait itself: it says whether the run ends or, if the run continues, how long to pause.

use std::time::Duration;

use chrono::{DateTime, Local, Utc};

use super::options::RunEnd;
use super::report::AgentReport;
use super::usage_limit::reset_time;
use crate::entry::attempt::{ACCOUNT, AttemptHead, Outcome};
use crate::text::secret::redact;
use crate::text::shorten;

/// How many crashes in a row are a loop of them.
const MAX_CRASHES: u32 = 3;
/// How many errors in a row are one, however long each attempt took.
const MAX_ERRORS: u32 = 10;
/// An agent that ends with an error in less than this crashed before it worked, in seconds.
const QUICK_SECONDS: u64 = 10;
/// The longest pause after crashes.
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);
/// The longest line that is shown, in characters.
const MAX_LINE: usize = 160;

/// The trouble of a run's agent.
#[derive(Debug, Default)]
pub(super) struct AgentTrouble {
    /// How many attempts in a row were crashes.
    n_crashes: u32,
    /// How many in a row ended with an error.
    n_errors: u32,
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
        (head, reason): (&AttemptHead, Option<&str>),
        allowed: &[String],
        now: DateTime<Utc>,
    ) {
        let is_error = head.outcome == Outcome::Error;
        let is_crash = is_error && report.duration.as_secs() < QUICK_SECONDS;
        let more = |is_one: bool, n_before: u32| if is_one { n_before + 1 } else { 0 };
        let trouble = report.account_trouble().filter(|_| head.error_category.as_deref() == Some(ACCOUNT));
        self.n_crashes = more(is_crash, self.n_crashes);
        self.n_errors = more(is_error && trouble.is_none(), self.n_errors);
        self.resets_at = trouble.and_then(|(_, line)| reset_time(line, &now.with_timezone(&Local)));
        self.end = match trouble {
            Some((what, line)) => {
                // A Unix time says nothing to a person.
                let unix = self.resets_at.filter(|at| line.contains(&at.timestamp().to_string()));
                let at = unix.map(|at| at.format(" (%Y-%m-%d %H:%M UTC)").to_string()).unwrap_or_default();
                let line = shorten(&redact(line, allowed), MAX_LINE);
                Some(RunEnd::UsageLimit(format!("the agent's account {what}: {line}{at}")))
            }
            None if self.n_crashes >= MAX_CRASHES || self.n_errors >= MAX_ERRORS => {
                // The reason has a line of the error output, where there is any.
                let is_silent = report.errors.trim().is_empty() && report.transcript.errors.is_empty();
                let said = report.transcript.text.lines().map(str::trim).rfind(|line| !line.is_empty() && is_silent);
                let said = said.map(|line| shorten(&redact(line, allowed), MAX_LINE));
                let printed: Vec<&str> = reason.into_iter().chain(said.as_deref()).collect();
                let (n_times, quickly) = if self.n_crashes >= MAX_CRASHES {
                    (self.n_crashes, format!(", within {QUICK_SECONDS} s each"))
                } else {
                    (self.n_errors, String::new())
                };
                let printed = printed.join(": ");
                let message = format!("the agent ended with an error {n_times} times in a row{quickly}: {printed}");
                Some(RunEnd::Crashing(message))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_limits_are_waited_for() {
        let now = DateTime::from_timestamp(4_070_905_200, 0).unwrap();
        let mut trouble = AgentTrouble::default();
        let mut crash = |seconds, errors: &str| {
            let (duration, agent_exit, is_of_account) =
                (Duration::from_secs(seconds), Some(1), errors.contains("limit"));
            let report = AgentReport { errors: errors.to_owned(), duration, agent_exit, ..AgentReport::default() };
            let error_category = is_of_account.then(|| ACCOUNT.to_owned());
            let head = AttemptHead { error_category, ..AttemptHead::new(1, Outcome::Error) };
            trouble.note(&report, (&head, Some("exit code 1")), &[], now);
            trouble.end.is_some().then(|| trouble.pause(Duration::from_secs(10), now).as_secs())
        };
        let pauses: Vec<Option<u64>> = (0..10).map(|_| crash(0, "")).collect();
        let expected = [0, 0, 10, 20, 40, 80, 160, 320, 640, 900];
        assert_eq!(pauses, expected.map(|pause| Some(pause).filter(|pause| *pause > 0)));
        assert_eq!(crash(10, "Claude AI usage limit reached|4070908800"), Some(3600));
        // An agent that works for a while is another thing.
        assert_eq!([crash(10, ""), crash(0, ""), crash(0, "")], [None; 3]);
        // The time is over, and the client still says so.
        assert_eq!(crash(10, "Claude AI usage limit reached|1755615600"), Some(10));
        assert_eq!(crash(10, "You've hit your usage limit.\n\nSee the page.\ntokens used: 9\n"), Some(10));
        // However long each takes, ten errors in a row are a loop of them.
        let ends: Vec<bool> = (0..11).map(|_| crash(11, "").is_some()).collect();
        assert_eq!(ends, [[false; 9].as_slice(), &[true; 2]].concat());
    }
}
