//! Times in files: how they are read and written.

use chrono::{DateTime, NaiveDate, NaiveDateTime, SecondsFormat, SubsecRound as _, TimeZone as _, Utc};

/// Returns a time in the form of files: RFC 3339, UTC, with microseconds where it has some, so that what was written in one
/// second has an order.
pub fn timestamp(time: DateTime<Utc>) -> String {
    time.trunc_subsecs(6).to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// Reads a time as people write it: RFC 3339, or a date with or without a time of day, taken as UTC.
///
/// ```
/// use ralph_memory::entry::parse_time;
/// let text = |time| parse_time(time).map(|time| time.to_rfc3339());
/// assert_eq!(text("2026-02-17T12:00:00+01:00").as_deref(), Some("2026-02-17T11:00:00+00:00"));
/// assert_eq!(text("2026-02-17 12:00").as_deref(), Some("2026-02-17T12:00:00+00:00"));
/// assert_eq!(text("2026-02-17").as_deref(), Some("2026-02-17T00:00:00+00:00"));
/// assert_eq!(text("yesterday"), None);
/// ```
pub fn parse_time(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.with_timezone(&Utc));
    }
    let without_zone = text.strip_suffix('Z').unwrap_or(text);
    for format in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"] {
        if let Ok(time) = NaiveDateTime::parse_from_str(without_zone, format) {
            return Some(Utc.from_utc_datetime(&time));
        }
    }
    let date = NaiveDate::parse_from_str(without_zone, "%Y-%m-%d").ok()?;
    Some(Utc.from_utc_datetime(&date.and_hms_opt(0, 0, 0)?))
}
