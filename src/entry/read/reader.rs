//! Reads values of frontmatter, and reports problems at their places.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeZone as _, Utc};
use serde_json::Value;

use crate::entry::frontmatter::Fields;
use crate::entry::guard::Key;
use crate::entry::path::display_path;
use crate::entry::place::place;
use crate::entry::{Head, Source};
use crate::error::{MAX_OF_FILE, Problem, Severity};

/// An entry that is being read.
pub(super) struct EntryReader<'a> {
    pub(super) path: &'a str,
    pub(super) head: Head,
    pub(super) keys: Vec<Key>,
    pub(super) head_start: usize,
    pub(super) text: &'a str,
}

impl EntryReader<'_> {
    /// Reports a problem; `offset` is in the file.
    pub(super) fn report(&mut self, severity: Severity, code: &str, offset: Option<usize>, message: &str, hint: &str) {
        // There are only a few errors; a list may have a warning for each item.
        if severity == Severity::Warning && self.head.problems.len() >= MAX_OF_FILE {
            self.head.more_warnings += 1;
            return;
        }
        let (line, column) = offset.map_or((None, None), |offset| {
            let (line, column) = place(self.text, offset);
            (Some(line), Some(column))
        });
        let problem = Problem::new(severity, display_path(self.path), code, message, hint);
        self.head.problems.push(Problem { line, column, ..problem });
    }

    /// Returns where the value of a key begins, as an offset in the file.
    pub(super) fn place_of(&self, key: &str) -> Option<usize> {
        let found = self.keys.iter().find(|known| known.name == key)?;
        Some(self.head_start + if found.value.is_empty() { found.start } else { found.value.start })
    }

    pub(super) fn bad_value(&mut self, key: &str, message: &str, hint: &str) {
        self.report(Severity::Warning, "bad-value", self.place_of(key), &format!("`{key}` {message}"), hint);
    }

    /// Returns a value that is a single text, trimmed and not empty.
    pub(super) fn text(&mut self, fields: &Fields, key: &str) -> Option<String> {
        let text = match fields.get(key)? {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            _ => {
                self.bad_value(
                    key,
                    "is not a single text, so it is ignored",
                    "write the value on one line, in double quotes",
                );
                return None;
            }
        };
        (!text.is_empty()).then_some(text)
    }

    /// Returns a list of text: a YAML list, or a string split at commas.
    pub(super) fn list(&mut self, fields: &Fields, key: &str) -> Vec<String> {
        let Some(value) = fields.get(key) else { return Vec::new() };
        let items: Vec<String> = match value {
            Value::String(text) => text.split(',').map(str::to_owned).collect(),
            Value::Number(_) | Value::Bool(_) => vec![value.to_string()],
            Value::Array(items) => {
                let mut texts = Vec::new();
                for item in items {
                    match item {
                        Value::String(text) => texts.push(text.clone()),
                        Value::Number(_) | Value::Bool(_) => texts.push(item.to_string()),
                        Value::Null => {}
                        _ => self.bad_value(
                            key,
                            "has an item that is not text, so that item is ignored",
                            "write a list of words, as in `[a, b]`",
                        ),
                    }
                }
                texts
            }
            _ => {
                self.bad_value(key, "is not a list, so it is ignored", "write a list of words, as in `[a, b]`");
                Vec::new()
            }
        };
        items.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
    }

    pub(super) fn time(&mut self, fields: &Fields, keys: &[&str]) -> Option<DateTime<Utc>> {
        let key = keys.iter().find(|key| fields.contains_key(**key))?;
        let text = self.text(fields, key)?;
        let time = parse_time(&text);
        if time.is_none() {
            self.bad_value(key, &format!("is not a time: `{text}`"), "write it as in `\"2026-02-17T12:00:00Z\"`");
        }
        time
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self, fields: &Fields, key: &str, what: &str) -> Option<T> {
        let text = self.text(fields, key)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.bad_value(key, &format!("is not {what}: `{text}`"), &format!("write {what}"));
        }
        number
    }

    pub(super) fn shared_fields(&mut self, fields: &Fields) {
        self.head.feature = self.text(fields, "feature");
        self.head.task_id = self.text(fields, "task_id");
        self.head.run_id = self.text(fields, "run_id");
        if let Some(source) = self.text(fields, "source") {
            match Source::parse(&source) {
                Some(source) => self.head.source = source,
                None => self.bad_value(
                    "source",
                    &format!("is unknown: `{source}`"),
                    "use one of human, agent, coder, reviewer, orchestrator, coordinator",
                ),
            }
        }
    }

    pub(super) fn missing(&mut self, key: &str, hint: &str) {
        let offset = self.place_of(key).unwrap_or(self.head_start.min(self.text.len()));
        let message =
            if self.place_of(key).is_some() { format!("`{key}` is empty") } else { format!("`{key}` is missing") };
        self.report(Severity::Error, &format!("missing-{key}"), Some(offset), &message, hint);
        self.head.valid = false;
    }
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
