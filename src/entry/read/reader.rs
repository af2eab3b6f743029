//! Reads values of frontmatter, and reports problems at their places.

use std::cell::OnceCell;
use std::ops::Range;

use serde_json::{Map, Value, json};

use crate::entry::fields::{EntryField, FieldKind};
use crate::entry::frontmatter::Fields;
use crate::entry::guard::{self, Key};
use crate::entry::path::display_path;
use crate::entry::place::place;
use crate::entry::time::parse_time;
use crate::entry::{Head, Id};
use crate::error::{MAX_OF_FILE, Problem, Severity};
use crate::text::lines::{between_commas, scalar};

/// What to do where a merge left two attempts in one file.
const TWO_ATTEMPTS: &str = "two attempts have one name: move one of them to a file with the next number, with its `iteration` to \
                            match, and delete the marker lines";

/// An entry that is being read.
pub(super) struct EntryReader<'a> {
    pub(super) path: &'a str,
    pub(super) head: Head,
    pub(super) description: Option<String>,
    /// The place of the frontmatter.
    pub(super) frontmatter: Range<usize>,
    pub(super) text: &'a str,
    /// The keys of the frontmatter, once somebody asks for their places.
    pub(super) keys: OnceCell<Vec<Key>>,
}

impl EntryReader<'_> {
    /// Reports a problem; `offset` is in the file.
    pub(super) fn report(&mut self, severity: Severity, code: &str, offset: Option<usize>, message: &str, hint: &str) {
        // There are only a few errors; a list may have a warning for each item.
        if severity == Severity::Warning && self.head.problems.len() >= MAX_OF_FILE {
            self.head.more_warnings += 1;
            return;
        }
        let is_attempt = code == guard::CONFLICT && self.path.contains("journal/");
        let hint = if is_attempt { TWO_ATTEMPTS } else { hint };
        let problem = Problem::new(severity, display_path(self.path), code, message, hint);
        self.head.problems.push(match offset {
            Some(offset) => {
                let (line, column) = place(self.text, offset);
                problem.at(line, column)
            }
            None => problem,
        });
    }

    /// Returns the top-level keys.
    pub(super) fn keys(&self) -> &[Key] {
        self.keys.get_or_init(|| guard::scan(&self.text[self.frontmatter.clone()]).unwrap_or_default())
    }

    /// Returns where the value of a key begins, as an offset in the file.
    pub(super) fn place_of(&self, key: &str) -> Option<usize> {
        self.keys().iter().find(|known| known.name == key).map(|key| self.frontmatter.start + key.place())
    }

    pub(super) fn bad_value(&mut self, key: &str, message: &str, hint: &str) {
        self.report(Severity::Warning, "bad-value", self.place_of(key), &format!("`{key}` {message}"), hint);
    }

    /// Returns the values of the fields of a table, and reports those that no such field can have.
    pub(super) fn values(&mut self, fields: &Fields, table: &[EntryField]) -> Map<String, Value> {
        let mut values = Map::new();
        for field in table {
            let found = field.names().find_map(|name| Some((name, fields.get(name)?)));
            if let Some(value) = found.and_then(|(key, value)| self.value(field.kind, key, value)) {
                values.insert(field.name.to_owned(), value);
            }
        }
        values
    }

    /// Reports the required fields of a table that have no value.
    pub(super) fn require(&mut self, values: &Map<String, Value>, table: &[EntryField]) {
        for EntryField { name, required, .. } in table {
            let is_there = values.get(*name).is_some_and(|value| *value != json!([]));
            let Some(hint) = required.filter(|_| !is_there) else { continue };
            let place = self.place_of(name);
            let message = if place.is_some() { "is empty" } else { "is missing" };
            let offset = place.unwrap_or(self.frontmatter.start.min(self.text.len()));
            let (code, message) = (format!("missing-{name}"), format!("`{name}` {message}"));
            self.report(Severity::Error, &code, Some(offset), &message, hint);
            self.head.valid = false;
        }
    }

    /// Returns the value of a field, times in microseconds.
    fn value(&mut self, kind: FieldKind, key: &str, value: &Value) -> Option<Value> {
        match kind {
            FieldKind::Text | FieldKind::Word | FieldKind::Scope => self.text(key, value).map(Value::from),
            FieldKind::List => Some(Value::from(self.list(key, value))),
            FieldKind::Ids => Some(Value::from(self.ids(key, value))),
            FieldKind::Choice(parse, words) => {
                // Other programs have an address or a sentence there.
                if scalar(value).is_some_and(|text| text.contains([' ', '/', '.', ':'])) {
                    return None;
                }
                let hint = format!("use one of {}", words.join(", "));
                self.parsed(key, value, "is unknown", &hint, |word| parse(word).map(Value::from))
            }
            FieldKind::Time => {
                let hint = "write it as in `\"2026-02-17T12:00:00Z\"`";
                let time = |text: &str| parse_time(text).map(|time| Value::from(time.timestamp_micros()));
                self.parsed(key, value, "is not a time", hint, time)
            }
            FieldKind::Whole(most) => {
                let range = if most <= 100 { format!(" from 0 to {most}") } else { String::new() };
                let number = |text: &str| text.parse().ok().filter(|number: &u64| *number <= most).map(Value::from);
                let (message, hint) = (format!("is not a whole number{range}"), format!("write a whole number{range}"));
                self.parsed(key, value, &message, &hint, number)
            }
            FieldKind::Amount => {
                let is_good = |number: &f64| number.is_finite() && *number >= 0.0;
                let number = |text: &str| text.parse().ok().filter(is_good).map(Value::from);
                self.parsed(key, value, "is not a number from 0 on", "write a number from 0 on", number)
            }
            FieldKind::Files => {
                let files = self.mapping(key, value, "write it as in `{modified: [src/lib.rs]}`")?;
                let lists = ["created", "modified", "read", "relevant"].map(|name| {
                    (
                        name.to_owned(),
                        Value::from(files.get(name).map(|list| self.list(name, list)).unwrap_or_default()),
                    )
                });
                Some(Value::Object(lists.into_iter().collect()))
            }
            FieldKind::Validation => {
                let hint = "write it as in `{command: \"cargo test\", exit_code: 0, duration_ms: 12}`";
                let mapping = self.mapping(key, value, hint)?;
                let exit_code = mapping.get("exit_code").and_then(Value::as_i64);
                let Some(exit_code) = exit_code.and_then(|code| i32::try_from(code).ok()) else {
                    self.bad_value(key, "has no exit code", hint);
                    return None;
                };
                let command = mapping.get("command").and_then(Value::as_str).unwrap_or_default().trim();
                let duration_ms = mapping.get("duration_ms").and_then(Value::as_u64).unwrap_or_default();
                Some(json!({"command": command, "exit_code": exit_code, "duration_ms": duration_ms}))
            }
            FieldKind::Mapping => {
                self.mapping(key, value, "write keys and values below it, indented").cloned().map(Value::Object)
            }
        }
    }

    /// Returns what a function makes of a single text, and reports a text of which it makes nothing.
    fn parsed(
        &mut self,
        key: &str,
        value: &Value,
        message: &str,
        hint: &str,
        parse: impl FnOnce(&str) -> Option<Value>,
    ) -> Option<Value> {
        let text = self.text(key, value)?;
        let parsed = parse(&text);
        if parsed.is_none() {
            self.bad_value(key, &format!("{message}: `{text}`"), hint);
        }
        parsed
    }

    /// Returns a value that is a single text, trimmed and not empty.
    fn text(&mut self, key: &str, value: &Value) -> Option<String> {
        let text = scalar(value);
        if text.is_none() {
            let hint = "write the value on one line, in double quotes";
            self.bad_value(key, "is not a single text, so it is ignored", hint);
        }
        text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Returns a list of text: a YAML list, or a string split at its commas.
    fn list(&mut self, key: &str, value: &Value) -> Vec<String> {
        let hint = "write a list of words, as in `[a, b]`";
        let mut items: Vec<String> = Vec::new();
        match (value, scalar(value)) {
            (Value::String(text), _) => items.extend(between_commas(text)),
            (_, Some(one)) => items.push(one),
            (Value::Array(all), _) => {
                for item in all.iter().filter(|item| !item.is_null()) {
                    match scalar(item) {
                        Some(text) => items.push(text),
                        None => self.bad_value(key, "has an item that is not text, so that item is ignored", hint),
                    }
                }
            }
            _ => self.bad_value(key, "is not a list, so it is ignored", hint),
        }
        items.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
    }

    /// Returns a list of ids of entries, as text.
    fn ids(&mut self, key: &str, value: &Value) -> Vec<String> {
        let mut ids = Vec::new();
        for item in self.list(key, value) {
            match Id::parse(&item) {
                Some(id) => ids.push(id.to_string()),
                None => self.bad_value(
                    key,
                    &format!("is not the id of an entry: `{item}`"),
                    "write ids, as in `[knowledge/old-way]`",
                ),
            }
        }
        ids
    }

    fn mapping<'v>(&mut self, key: &str, value: &'v Value, hint: &str) -> Option<&'v Map<String, Value>> {
        if !value.is_object() {
            self.bad_value(key, "is not a mapping, so it is ignored", hint);
        }
        value.as_object()
    }
}
