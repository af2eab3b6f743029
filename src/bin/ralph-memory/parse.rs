//! Parsers for the values of options.

use chrono::{DateTime, Duration, Utc};
use clap::ValueEnum;
use ralph_memory::entry::{Outcome, parse_time};
use ralph_memory::settings::ProgressKind;
use ralph_memory::settings::Strategy;
use ralph_memory::transcript;
use ralph_memory::{Id, Scope, Source};

/// Reads a point in time: a date or RFC 3339.
pub(crate) fn time(text: &str) -> Result<DateTime<Utc>, String> {
    parse_time(text).ok_or_else(|| "neither a date (2027-01-31) nor a time (2027-01-31T12:00:00Z)".to_owned())
}

/// Reads an entry's id, as a person writes it.
pub(crate) fn id(text: &str) -> Result<Id, String> {
    Id::parse(text).ok_or_else(|| "not the id of an entry, such as `knowledge/cargo-bench-requires-nightly`".to_owned())
}

/// Reads a scope.
pub(crate) fn scope(text: &str) -> Result<Scope, String> {
    match Scope::from(text.trim().to_owned()) {
        Scope::Unknown(_) => Err("not one of `project`, `feature:NAME`, `section:ID` and `task:ID`".to_owned()),
        scope => Ok(scope),
    }
}

/// Reads the kind of an entry.
pub(crate) fn kind(text: &str) -> Result<ralph_memory::Kind, String> {
    [ralph_memory::Kind::Knowledge, ralph_memory::Kind::Journal]
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| "neither `knowledge` nor `journal`".to_owned())
}

/// Reads who wrote an entry.
pub(crate) fn source(text: &str) -> Result<Source, String> {
    let names: Vec<&str> = Source::ALL.iter().map(|source| source.as_str()).collect();
    Source::parse(text).ok_or_else(|| format!("not one of {}", names.join(", ")))
}

/// Reads a strategy.
pub(crate) fn strategy(text: &str) -> Result<Strategy, String> {
    let names: Vec<&str> = Strategy::ALL.iter().map(|strategy| strategy.as_str()).collect();
    Strategy::parse(text).ok_or_else(|| format!("not one of {}", names.join(", ")))
}

/// Reads a way to report progress.
pub(crate) fn progress(text: &str) -> Result<ProgressKind, String> {
    let names: Vec<&str> = ProgressKind::ALL.iter().map(|kind| kind.as_str()).collect();
    ProgressKind::parse(text).ok_or_else(|| format!("not one of {}", names.join(", ")))
}

/// Reads how an attempt ended.
pub(crate) fn outcome(text: &str) -> Result<Outcome, String> {
    let names: Vec<&str> = Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect();
    Outcome::parse(text).ok_or_else(|| format!("not one of {}", names.join(", ")))
}

/// The format of an agent's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Whatever the first lines look like
    Auto,
    /// Plain text
    Text,
    /// What `claude -p --output-format stream-json --verbose` prints, or a session file of Claude Code
    Claude,
    /// What `codex exec --json` prints, or a rollout file of Codex
    Codex,
    /// What `opencode run --format json` or `opencode export` prints
    Opencode,
}

impl From<OutputFormat> for transcript::Format {
    fn from(format: OutputFormat) -> transcript::Format {
        match format {
            OutputFormat::Auto => transcript::Format::Auto,
            OutputFormat::Text => transcript::Format::Text,
            OutputFormat::Claude => transcript::Format::Claude,
            OutputFormat::Codex => transcript::Format::Codex,
            OutputFormat::Opencode => transcript::Format::Opencode,
        }
    }
}

/// When an entry stops being true: at a time, or after a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// At this time.
    At(DateTime<Utc>),
    /// This long from now.
    In(Duration),
}

impl Expiry {
    /// Returns the time.
    pub(crate) fn from(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Expiry::At(time) => time,
            // An expiry past the last day of the calendar never comes.
            Expiry::In(duration) => now.checked_add_signed(duration).unwrap_or(DateTime::<Utc>::MAX_UTC),
        }
    }
}

/// Reads an expiry.
pub(crate) fn expiry(text: &str) -> Result<Expiry, String> {
    let text = text.trim();
    match amount(text, &[('h', 1), ('d', 24), ('w', 24 * 7)]) {
        Some(hours) => Ok(Expiry::In(Duration::hours(hours.into()))),
        None => parse_time(text).map(Expiry::At).ok_or_else(|| {
            "no date (2027-01-31), time (2027-01-31T12:00:00Z) or number of hours, days or weeks (12h, 30d, 8w)"
                .to_owned()
        }),
    }
}

/// Reads a duration.
pub(crate) fn duration(text: &str) -> Result<std::time::Duration, String> {
    let seconds = amount(text.trim(), &[('s', 1), ('m', 60), ('h', 3600)]).filter(|seconds| *seconds > 0);
    let seconds =
        seconds.ok_or_else(|| "not a number of seconds, minutes or hours (90s, 30m, 2h) over 0".to_owned())?;
    Ok(std::time::Duration::from_secs(seconds.into()))
}

/// Reads a whole number and its unit, and returns the number of the smallest unit.
fn amount(text: &str, units: &[(char, u32)]) -> Option<u32> {
    let (at, unit) = text.char_indices().last()?;
    let (_, size) = units.iter().find(|(name, _)| *name == unit)?;
    // Five digits of weeks are 2,000 years, which every calendar here can represent.
    let number = text[..at].parse::<u32>().ok().filter(|number| *number < 100_000)?;
    number.checked_mul(*size)
}

/// Reads a limit.
pub(crate) fn limit(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|limit| *limit > 0).ok_or_else(|| "not a whole number over 0".to_owned())
}

/// Reads an amount of money.
pub(crate) fn dollars(text: &str) -> Result<f64, String> {
    let amount: Option<f64> = text.strip_prefix('$').unwrap_or(text).parse().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount > 0.0)
        .ok_or_else(|| "not an amount of US dollars (2.50) over 0".to_owned())
}

/// Reads a weight.
pub(crate) fn weight(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|weight| (0.0..=100.0).contains(weight))
        .ok_or_else(|| "not a number from 0 to 100".to_owned())
}

/// Reads the share of semantic similarity in a score.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=0.99).contains(share));
    share.ok_or_else(|| "not a number from 0 to 0.99".to_owned())
}

/// Reads the id of a task.
pub(crate) fn task_id(text: &str) -> Result<String, String> {
    let is_plain =
        text.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-'));
    if is_plain && (1..=64).contains(&text.len()) {
        Ok(text.to_owned())
    } else {
        Err("an id has 1 to 64 letters, digits, `.`, `_` and `-`".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiries_are_times_or_durations() {
        let check = |text: &str, expected: Option<Expiry>| assert_eq!(expiry(text).ok(), expected, "{text}");
        check("12h", Some(Expiry::In(Duration::hours(12))));
        check("30d", Some(Expiry::In(Duration::days(30))));
        check(" 8w ", Some(Expiry::In(Duration::weeks(8))));
        check("99999w", Some(Expiry::In(Duration::weeks(99_999))));
        check("2027-01-31", Some(Expiry::At(time("2027-01-31T00:00:00Z").unwrap())));
        for text in ["", "d", "-1d", "1.5d", "100000w", "3m", "3", "30 days", "é", "2027-13-01"] {
            check(text, None);
        }
        assert!(Expiry::In(Duration::weeks(99_999)).from(time("2026-01-01").unwrap()) > time("3000-01-01").unwrap());
    }

    #[test]
    fn durations_are_seconds_minutes_or_hours() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(duration(text).ok().map(|duration| duration.as_secs()), expected, "{text}");
        };
        check("90s", Some(90));
        check(" 30m ", Some(1800));
        check("2h", Some(7200));
        check("99999h", Some(359_996_400));
        for text in ["", "s", "0s", "-1s", "1.5h", "90", "1d", "100000s", "2 h", "é"] {
            check(text, None);
        }
    }

    #[test]
    fn invalid_values_are_refused() {
        assert!(task_id("t-1.a_B").is_ok() && task_id(&"x".repeat(64)).is_ok());
        for text in ["", "a b", "../x", "é", &"x".repeat(65)] {
            assert!(task_id(text).is_err(), "{text}");
        }
        assert!(limit("1").is_ok() && limit("0").is_err() && limit("-1").is_err() && limit("x").is_err());
        assert!(weight("0").is_ok() && weight("100").is_ok() && weight("-0.1").is_err() && weight("NaN").is_err());
        assert!(scope("task:t-1").is_ok() && scope("task:").is_err() && scope("all").is_err());
        assert!(kind("journal").is_ok() && kind("Journal").is_err());
        assert!(source("coder").is_ok() && source("nobody").is_err());
        assert!(id("x").is_ok() && id("knowledge/").is_err());
    }
}
