//! The dates that people write into their notes: in the lines at the beginning, and in the names of files.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use super::decision_words::RecordPart;
use crate::entry::{is_ahead, parse_time};

/// How many lines of a text are examined.
const MAX_LINES: usize = 30;
/// What the date of the last change is called.
const CHANGED: [&str; 7] =
    ["last updated", "updated", "last modified", "modified", "zuletzt geändert", "aktualisiert", "更新日"];
/// What other dates are called, beside [`RecordPart::Date`].
const BEGUN: [&str; 5] = ["created", "created at", "created on", "started", "作成日"];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Returns the date that a line at the beginning of a text says, such as `**Date**: November 25, 2025` or
/// `*Created: 2026-06-26 13:21*`.
pub(super) fn date_in_lines(text: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let lines = || {
        text.lines().take(MAX_LINES).filter_map(|line| {
            let plain: String = line.chars().filter(|letter| !matches!(letter, '*' | '_' | '`' | '>')).collect();
            let (name, value) = plain.split_once([':', '：'])?;
            Some((name.trim_start_matches(['-', ' ', '#']).trim().to_lowercase(), value.to_owned()))
        })
    };
    let of = |is_it: &dyn Fn(&str) -> bool| {
        let mut dates = lines().filter(|(name, _)| is_it(name));
        dates.find_map(|(_, value)| date_in(&value)).filter(|date| !is_ahead(*date, now))
    };
    of(&|name| CHANGED.contains(&name))
        .or_else(|| of(&|name| RecordPart::of(name) == Some(RecordPart::Date) || BEGUN.contains(&name)))
}

/// Returns the date with which the name of a file begins: `2025_11_24_plan.md`, `2026-06-25-edits.md`.
pub(super) fn date_of_name(name: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let (day, rest) = name.split_at_checked(10)?;
    let is_whole = rest.chars().next().is_none_or(|next| !next.is_alphanumeric());
    parse_time(&day.replace('_', "-")).filter(|date| is_whole && !is_ahead(*date, now))
}

/// Returns the date with which a text begins: as [`parse_time`] reads it, `November 25, 2025`, `25 November 2025`,
/// `25.11.2025` or `2025年11月25日`. What follows the day, except a time, says nothing about it.
pub(super) fn date_in(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    if let Some(time) = parse_time(text) {
        return Some(time);
    }
    let words: Vec<&str> = text.split(|letter: char| letter.is_whitespace() || letter == ',').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).take(4).collect();
    let (day, n_used) = day_of(&words)?;
    let time = words
        .get(n_used)
        .and_then(|word| ["%H:%M:%S", "%H:%M"].iter().find_map(|format| NaiveTime::parse_from_str(word, format).ok()));
    Some(day.and_time(time.unwrap_or_default()).and_utc())
}

/// Returns the day that the first of these words say, and how many they are.
pub(super) fn day_of(words: &[&str]) -> Option<(NaiveDate, usize)> {
    let number = |word: &str| -> Option<u32> {
        let digits = word.trim_end_matches(|letter: char| letter.is_alphabetic() || letter == '.');
        digits.parse().ok()
    };
    let day = |year: u32, month: u32, day: u32| {
        NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day).filter(|_| year > 1_900)
    };
    let first = words.first()?;
    let parts: Vec<u32> = first
        .split(|letter: char| !letter.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .map_while(|part| part.parse().ok())
        .collect();
    let of_parts = match parts.as_slice() {
        [year, month, of_month, ..] if *year > 31 => day(*year, *month, *of_month),
        [of_month, month, year] if first.contains('.') => day(*year, *month, *of_month),
        _ => None,
    };
    if let Some(found) = of_parts {
        return Some((found, 1));
    }
    let [one, two, year, ..] = words else { return None };
    let month_of = |word: &str| -> Option<u32> {
        let start = word.get(..3)?.to_lowercase();
        u32::try_from(MONTHS.iter().position(|month| *month == start)? + 1).ok()
    };
    let (month, of_month) = month_of(one).zip(number(two)).or_else(|| month_of(two).zip(number(one)))?;
    Some((day(number(year)?, month, of_month)?, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_people_write_them() {
        let now = parse_time("2027-01-01").unwrap();
        let lines = |text: &str| date_in_lines(text, now);
        let name = |text: &str| date_of_name(text, now);
        for (found, expected) in [
            (lines("# Notes\n\n**Date**: November 25, 2025\n"), Some("2025-11-25")),
            (lines("*Created: 2026-06-26 13:21*\n"), Some("2026-06-26 13:21")),
            (lines("*Created: 2026-06-26 13:21:04 IST*\n"), Some("2026-06-26 13:21:04")),
            (lines("- Date: 3 Mar 2026\n"), Some("2026-03-03")),
            (lines("* Datum: 24.12.2025\n"), Some("2025-12-24")),
            (lines("日付：2025年1月31日\n"), Some("2025-01-31")),
            (lines("**Fecha:** 2026/01/31 (jueves)\n"), Some("2026-01-31")),
            (lines("Created: 2026-01-01\nLast Updated: 2026-02-01\n"), Some("2026-02-01")),
            (lines("Date: some day in May\n"), None),
            (lines("Date: 2099-01-01\n"), None),
            (lines("The date: 2026-01-01\n"), None),
            (lines("Data: 5 GB\n"), None),
            (name("2025_11_24_plan"), Some("2025-11-24")),
            (name("2026-06-25-edits"), Some("2026-06-25")),
            (name("2026-06-25"), Some("2026-06-25")),
            (name("2026-06-251"), None),
            (name("2026-13-25-x"), None),
            (name("日本語のメモです"), None),
        ] {
            assert_eq!(found, expected.and_then(parse_time), "{expected:?}");
        }
    }
}
