//! When the limit of an account ends, according to the line of a client.
//!
//! Pure. Claude Code and Codex name a Unix time, a length of time, or a time of day. A time of day means the next such
//! time on this machine, where the client runs; a date beside it is ignored.

use chrono::{DateTime, Days, NaiveTime, TimeDelta, TimeZone, Utc};

/// The digits of a Unix time in seconds, and in milliseconds.
const UNIX_DIGITS: [usize; 2] = [10, 13];

/// Returns when the limit of a line ends, where the line says it.
pub(super) fn reset_time<Zone: TimeZone>(line: &str, now: &DateTime<Zone>) -> Option<DateTime<Utc>> {
    let line = line.to_lowercase();
    // `2:30pm` is a number and a word.
    let parts = line.split(|next: char| !next.is_ascii_alphanumeric() && next != ':').flat_map(|word| {
        let word = word.trim_matches(':');
        let (number, unit) = word.split_at(word.find(|next: char| next.is_ascii_alphabetic()).unwrap_or(word.len()));
        [number, unit]
    });
    let words: Vec<&str> = parts.filter(|word| !word.is_empty()).collect();
    let mut unix = words.iter().filter(|word| UNIX_DIGITS.contains(&word.len()));
    let unix = unix.find_map(|word| word[..UNIX_DIGITS[0]].parse().ok());
    if let Some(seconds) = unix {
        return DateTime::from_timestamp(seconds, 0);
    }
    let mut lengths = words.iter().enumerate().filter(|(_, word)| **word == "in");
    if let Some(length) = lengths.find_map(|(at, _)| length(&words[at + 1..])) {
        return now.to_utc().checked_add_signed(length);
    }
    let half = words.iter().position(|word| ["am", "pm"].contains(word))?;
    let time = words.get(half.checked_sub(1)?)?;
    let (hour, minute) = time.split_once(':').unwrap_or((time, "0"));
    let hour = hour.parse::<u32>().ok()? % 12 + if words[half] == "pm" { 12 } else { 0 };
    let time = NaiveTime::from_hms_opt(hour, minute.parse().ok()?, 0)?;
    let days = [0, 1].into_iter().filter_map(|days| now.date_naive().checked_add_days(Days::new(days)));
    let times = days.filter_map(|day| now.timezone().from_local_datetime(&day.and_time(time)).earliest());
    times.map(|time| time.to_utc()).find(|time| *time > now.to_utc())
}

/// Returns the length of time that words begin with: `2 days 17 hours 14 minutes`.
fn length(words: &[&str]) -> Option<TimeDelta> {
    let part = |part: &[&str]| {
        let unit = match part.get(1)?.chars().next()? {
            'd' => 86_400,
            'h' => 3_600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        part[0].parse::<i64>().ok()?.checked_mul(unit)
    };
    let seconds: Vec<i64> = words.chunks(2).map_while(part).collect();
    TimeDelta::try_seconds(seconds.iter().try_fold(0_i64, |sum, part| sum.checked_add(*part))?)
        .filter(|_| !seconds.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_name_the_end_of_a_limit_in_many_forms() {
        #[track_caller]
        fn check(line: &str, expected: Option<&str>) {
            let now = DateTime::parse_from_rfc3339("2026-11-20T14:00:00+01:00").unwrap();
            let found = reset_time(line, &now).map(|time| time.format("%Y-%m-%d %H:%M").to_string());
            assert_eq!(found.as_deref(), expected, "{line}");
        }
        check("Claude AI usage limit reached|4070908800", Some("2099-01-01 00:00"));
        check(
            r#"{"type":"usage_limit_reached","resets_at":4070908800,"resets_in_seconds":13872}"#,
            Some("2099-01-01 00:00"),
        );
        check(r#"{"error":"The usage limit has been reached","resetsAt":4070908800000}"#, Some("2099-01-01 00:00"));
        check("usage limit reached (request 20261120140000), try again in 5m", Some("2026-11-20 13:05"));
        check("You've hit your session limit · resets 3pm (Europe/Berlin)", Some("2026-11-20 14:00"));
        check("You've hit your session limit · resets 12:50am (America/Los_Angeles)", Some("2026-11-20 23:50"));
        check("5-hour limit reached ∙ resets 2PM", Some("2026-11-21 13:00"));
        check("Your limit will reset at 12pm.", Some("2026-11-21 11:00"));
        check("You've hit your weekly limit · resets Nov 22, 5:30pm", Some("2026-11-20 16:30"));
        check("You've hit your usage limit. Try again at Feb 22nd, 2027 1:37 PM.", Some("2026-11-21 12:37"));
        check(
            "You've hit your usage limit. Upgrade to Pro or try again in 2 days 17 hours 14 minutes.",
            Some("2026-11-23 06:14"),
        );
        check("You've hit your usage limit in this plan, try again in 5m", Some("2026-11-20 13:05"));
        check("You’ve hit your usage limit. Purchase more credits or try again later.", None);
        check("usage limit: 99:99 pm", None);
        check("usage limit: try again in 9223372036854775807 days", None);
        check("usage limit pm", None);
    }
}
