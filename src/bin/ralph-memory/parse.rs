//! Parsers for the values of options.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

use chrono::{DateTime, Duration, Months, NaiveTime, Utc};
use clap::ValueEnum;
use ralph_memory::agent_output::transcript;
use ralph_memory::entry::{is_task_id, parse_time};
use ralph_memory::memory::OWN;
use ralph_memory::{Id, Kind, Scope};

/// Reads a point in time: a date or RFC 3339.
pub(crate) fn time(text: &str) -> Result<DateTime<Utc>, String> {
    parse_time(text).ok_or_else(|| "neither a date (2027-01-31) nor a time (2027-01-31T12:00:00Z)".to_owned())
}

/// Reads `RUN/NUMBER`, also after `journal/`: the run, the number, and the id of its entry.
pub(crate) fn attempt(text: &str) -> Option<(&str, u32, Id)> {
    let (run, number) = text.strip_prefix("journal/").unwrap_or(text).split_once('/')?;
    let number = Some(number).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()?;
    let id = Id::parse(&format!("journal/{run}/{number:04}")).filter(|_| run != Kind::Knowledge.as_str())?;
    Some((run, number, id))
}

/// Reads an entry's id, as a person writes it. With `own:`, it is one of the person's own memory, and no name of an entry here.
pub(crate) fn id(text: &str) -> Result<Id, String> {
    let own = text.strip_prefix("own:").filter(|own| !own.starts_with(' '));
    let own = own.and_then(|own| Some(Id::parse(own)?.in_layer(OWN)));
    let id = own.or_else(|| attempt(text).map(|(.., id)| id)).or_else(|| Id::parse(text));
    id.ok_or_else(|| "not the id of an entry, such as `knowledge/cargo-bench-requires-nightly`".to_owned())
}

/// Reads a scope.
pub(crate) fn scope(text: &str) -> Result<Scope, String> {
    match Scope::from(text.trim().to_owned()) {
        Scope::Unknown(_) => Err("not one of `project`, `feature:NAME`, `section:ID` and `task:ID`".to_owned()),
        Scope::Task(id) if !is_task_id(&id) => Err(format!("not the scope of a task: {TASK_ID}")),
        scope => Ok(scope),
    }
}

/// The format of an agent's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
pub(crate) enum OutputFormat {
    /// Detected from the first lines
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

/// A time in the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// This time.
    At(DateTime<Utc>),
    /// So long ago.
    Ago(Duration),
    /// So many months ago.
    MonthsAgo(Months),
    /// The beginning of the day so many days ago, in UTC.
    Day(Duration),
}

impl Since {
    /// Returns the time.
    pub(crate) fn from(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Since::At(time) => Some(time),
            Since::Ago(duration) => now.checked_sub_signed(duration),
            Since::MonthsAgo(months) => now.checked_sub_months(months),
            Since::Day(duration) => {
                now.checked_sub_signed(duration).map(|time| time.date_naive().and_time(NaiveTime::MIN).and_utc())
            }
        }
        // Before the first day of the calendar nothing happened.
        .unwrap_or(DateTime::<Utc>::MIN_UTC)
    }
}

/// Reads a time in the past.
pub(crate) fn since(text: &str) -> Result<Since, String> {
    let text = text.trim().to_lowercase();
    let day = |days| Ok(Since::Day(Duration::days(days)));
    match text.as_str() {
        "today" => return day(0),
        "yesterday" => return day(1),
        _ => {}
    }
    let ago = text.strip_suffix("ago").unwrap_or(&text).trim_end();
    let unit = ago.trim_start_matches(|character: char| character.is_ascii_digit());
    let number = ago[..ago.len() - unit.len()].parse::<u32>().ok().filter(|number| *number < 100_000);
    let of_months = |number: u32| Some(Since::MonthsAgo(Months::new(number)));
    let of_hours = |hours: u32| Some(Since::Ago(Duration::hours(hours.into())));
    let found = number.and_then(|number| match unit.trim() {
        "min" | "minute" | "minutes" => Some(Since::Ago(Duration::minutes(number.into()))),
        "h" | "hour" | "hours" => of_hours(number),
        "d" | "day" | "days" => of_hours(number * 24),
        "w" | "week" | "weeks" => of_hours(number * 24 * 7),
        "month" | "months" => of_months(number),
        "y" | "year" | "years" => of_months(number * 12),
        _ => None,
    });
    found.or_else(|| parse_time(&text.to_uppercase()).map(Since::At)).ok_or_else(|| {
        "no date (2027-01-31), time (2027-01-31T12:00:00Z), `today`, `yesterday` or length of time (12h, 2d, \"3 weeks\")"
            .to_owned()
    })
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

/// A type of whole numbers.
pub(crate) trait WholeNumber: FromStr<Err = ParseIntError> + PartialOrd {}

impl<Number: FromStr<Err = ParseIntError> + PartialOrd> WholeNumber for Number {}

fn whole<Number: WholeNumber>(text: &str, fits: impl Fn(&Number) -> bool, what: &str) -> Result<Number, String> {
    match text.parse::<Number>() {
        Ok(number) if fits(&number) => Ok(number),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Err("too large".to_owned()),
        _ => Err(format!("not {what}")),
    }
}

/// Reads a whole number over 0, such as a limit.
pub(crate) fn positive<Number: WholeNumber + Default>(text: &str) -> Result<Number, String> {
    whole(text, |number| *number > Number::default(), "a whole number over 0")
}

/// Reads a whole number from 0 on.
pub(crate) fn count<Number: WholeNumber + Default>(text: &str) -> Result<Number, String> {
    whole(text, |number| *number >= Number::default(), "a whole number from 0 on")
}

/// Reads the importance of an entry.
pub(crate) fn importance(text: &str) -> Result<u8, String> {
    let number = count::<u32>(text).ok().and_then(|number| u8::try_from(number).ok());
    number.filter(|number| *number <= 100).ok_or_else(|| "not a whole number from 0 to 100".to_owned())
}

/// Reads the exit status of a process.
pub(crate) fn status(text: &str) -> Result<i32, String> {
    text.parse().map_err(|_| "not an exit status: a whole number, such as 0 or 101".to_owned())
}

/// Reads a question that an entry answers.
pub(crate) fn question(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// Reads an amount of money.
pub(crate) fn dollars(text: &str) -> Result<f64, String> {
    let amount: Option<f64> = text.strip_prefix('$').unwrap_or(text).parse().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount > 0.0)
        .ok_or_else(|| "not an amount of US dollars (2.50) over 0".to_owned())
}

/// How the id of a task is written.
const TASK_ID: &str = "an id has 1 to 64 letters, digits, `.`, `_` and `-`, and begins with a letter, a digit or `_`";

/// Reads the id of a task.
pub(crate) fn task_id(text: &str) -> Result<String, String> {
    if is_task_id(text) { Ok(text.to_owned()) } else { Err(TASK_ID.to_owned()) }
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
        check("2026-12-01T10:00:00+02:00", Some(Expiry::At(time("2026-12-01T08:00:00Z").unwrap())));
        for text in ["", "d", "-1d", "1.5d", "100000w", "3m", "3", "30 days", "é", "2027-13-01"] {
            check(text, None);
        }
        assert!(Expiry::In(Duration::weeks(99_999)).from(time("2026-01-01").unwrap()) > time("3000-01-01").unwrap());
    }

    #[test]
    fn past_times_are_dates_or_lengths_of_time() {
        let now = time("2026-03-31T12:30:00Z").unwrap();
        let check = |text: &str, expected: &str| {
            assert_eq!(since(text).unwrap().from(now), time(expected).unwrap(), "{text}");
        };
        check("2026-02-17", "2026-02-17");
        check(" 2026-02-17t10:00:00z ", "2026-02-17T10:00:00Z");
        check("today", "2026-03-31");
        check("Yesterday", "2026-03-30");
        check("2d", "2026-03-29T12:30:00Z");
        check("3 weeks", "2026-03-10T12:30:00Z");
        check("3 weeks ago", "2026-03-10T12:30:00Z");
        check("1week", "2026-03-24T12:30:00Z");
        check("90min", "2026-03-31T11:00:00Z");
        check("1 hour ago", "2026-03-31T11:30:00Z");
        // The last day of a shorter month.
        check("1 month", "2026-02-28T12:30:00Z");
        check("2y", "2024-03-31T12:30:00Z");
        check("0d", "2026-03-31T12:30:00Z");
        assert!(since("99999y").unwrap().from(now) < time("0001-01-01").unwrap());
        for text in ["", "d", "-1d", "1.5h", "2", "5m", "100000d", "ago", "tomorrow", "two days", "2 d x", "é"] {
            assert!(since(text).is_err(), "{text}");
        }
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
        for text in ["", "a b", "../x", "-x", ".x", "é", &"x".repeat(65)] {
            assert!(task_id(text).is_err(), "{text}");
        }
        let refused = |result: Result<u32, String>| result.unwrap_err();
        for text in ["0", "-1", "x", "1.5", ""] {
            assert_eq!(refused(positive(text)), "not a whole number over 0", "{text}");
        }
        assert_eq!(refused(positive("4294967296")), "too large");
        assert_eq!((positive("1"), count("0")), (Ok(1_u32), Ok(0_u32)));
        assert_eq!(refused(count("-1")), "not a whole number from 0 on");
        assert!(importance("100").is_ok() && importance("101").is_err() && importance("300").is_err());
        assert!(status("-1").is_ok() && status("x").is_err());
        assert!(question("How?").is_ok() && question(" ").is_err());
        assert!(scope("task:t-1").is_ok() && scope("section:the login").is_ok());
        assert!(scope("task:").is_err() && scope("task:a b").is_err() && scope("all").is_err());
        assert!(id("x").is_ok() && id("knowledge/").is_err());
    }
}
