//! The fields of an entry's frontmatter: how each is written, read, checked and merged.
//!
//! A new field is a row here, and a field of the structs that hold it.

use chrono::DateTime;
use serde::Serialize;
use serde_json::{Map, Value};

use super::edit::{list, list_items, rendered};
use super::frontmatter::quote;
use super::time::{parse_time, timestamp};
use super::{Difficulty, Outcome, Source};

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FieldKind {
    /// A text on one line, in double quotes.
    Text,
    /// A text on one line, without quotes where that is safe.
    Word,
    /// Who sees the entry.
    Scope,
    /// One of these words: the function returns it for a word in a file.
    Choice(fn(&str) -> Option<&'static str>, &'static [&'static str]),
    /// A time.
    Time,
    /// A whole number from 0 to this one.
    Whole(u64),
    /// A number from 0 on.
    Amount,
    /// A list of texts.
    List,
    /// A list of ids of entries.
    Ids,
    /// Lists of paths.
    Files,
    /// The result of a verification.
    Validation,
    /// Any mapping.
    Mapping,
}

/// A field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryField {
    /// Its key.
    pub(crate) name: &'static str,
    /// Other programs' key for it.
    pub(crate) other_name: Option<&'static str>,
    pub(crate) kind: FieldKind,
    /// The hint where it is missing, if no entry is without it.
    pub(crate) required: Option<&'static str>,
}

const fn field(name: &'static str, kind: FieldKind) -> EntryField {
    EntryField { name, other_name: None, kind, required: None }
}

impl EntryField {
    const fn or(self, name: &'static str) -> EntryField {
        EntryField { other_name: Some(name), ..self }
    }

    const fn required(self, hint: &'static str) -> EntryField {
        EntryField { required: Some(hint), ..self }
    }

    /// Returns its keys.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        [self.name].into_iter().chain(self.other_name)
    }
}

const SOURCE: FieldKind = FieldKind::Choice(|word| Source::in_file(word).map(Source::as_str), Source::WORDS);
const OUTCOME: FieldKind = FieldKind::Choice(|word| Outcome::in_file(word).map(Outcome::as_str), Outcome::WORDS);
const DIFFICULTY: FieldKind =
    FieldKind::Choice(|word| Difficulty::parse(word).map(Difficulty::as_str), Difficulty::WORDS);

/// The fields of knowledge, in the order in which they are written.
pub(crate) static KNOWLEDGE: [EntryField; 19] = [
    field("title", FieldKind::Text),
    field("tags", FieldKind::List),
    field("category", FieldKind::Word),
    field("status", FieldKind::Word),
    field("feature", FieldKind::Word),
    field("scope", FieldKind::Scope),
    field("importance", FieldKind::Whole(100)),
    field("source", SOURCE),
    field("task_id", FieldKind::Word),
    field("run_id", FieldKind::Word),
    field("created_at", FieldKind::Time).or("created"),
    field("updated_at", FieldKind::Time).or("modified"),
    field("expires_at", FieldKind::Time),
    field("supersedes", FieldKind::Ids),
    field("aliases", FieldKind::List),
    field("files", FieldKind::List),
    field("questions", FieldKind::List),
    field("details", FieldKind::Mapping),
    field("fingerprints", FieldKind::List),
];

/// The hint where an attempt lacks a field.
const RESTORE: &str = "journal files are written by the program; restore it from version control";

/// The fields of an attempt, in the order in which they are written.
pub(crate) static ATTEMPT: [EntryField; 24] = [
    field("run_id", FieldKind::Word).required(RESTORE),
    field("iteration", FieldKind::Whole(u32::MAX as u64)).required(RESTORE),
    field("task_id", FieldKind::Word),
    field("task_title", FieldKind::Text),
    field("feature", FieldKind::Word),
    field("section", FieldKind::Word),
    field("outcome", OUTCOME).required(RESTORE),
    field("error_category", FieldKind::Word),
    field("model", FieldKind::Word),
    field("model_rationale", FieldKind::Text),
    field("tree", FieldKind::Word),
    field("commit", FieldKind::Word),
    field("difficulty", DIFFICULTY),
    field("next_model", FieldKind::Word),
    field("source", SOURCE),
    field("started_at", FieldKind::Time).required(RESTORE),
    field("duration_secs", FieldKind::Amount),
    field("cost_usd", FieldKind::Amount),
    field("tokens_in", FieldKind::Whole(u64::MAX)),
    field("tokens_out", FieldKind::Whole(u64::MAX)),
    field("files", FieldKind::Files),
    field("validation", FieldKind::Validation),
    field("context", FieldKind::Ids),
    field("refused", FieldKind::List),
];

/// Returns the field of knowledge that has this key.
pub(crate) fn find(key: &str) -> Option<&'static EntryField> {
    KNOWLEDGE.iter().find(|field| field.names().any(|name| name == key))
}

/// Returns the values of a struct by the names of its fields; those that it lacks are left out.
pub(crate) fn object(of: &impl Serialize) -> Map<String, Value> {
    let Ok(Value::Object(mut values)) = serde_json::to_value(of) else { return Map::new() };
    values.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(mapping) => !mapping.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    });
    values
}

/// Returns those of the values that are fields of a table, in its order, times as they are written.
pub(crate) fn values(
    table: &'static [EntryField],
    mut values: Map<String, Value>,
) -> Vec<(&'static EntryField, Value)> {
    let as_written = |field: &EntryField, value: Value| match field.kind {
        FieldKind::Time => {
            let time = value.as_i64().and_then(DateTime::from_timestamp_micros);
            time.or_else(|| parse_time(value.as_str()?)).map(|time| Value::from(timestamp(time)))
        }
        _ => Some(value),
    };
    let of_table = table.iter().filter_map(|field| values.remove(field.name).map(|value| (field, value)));
    of_table.filter_map(|(field, value)| Some((field, as_written(field, value)?))).collect()
}

/// Returns the frontmatter that has these values.
pub(crate) fn frontmatter(table: &'static [EntryField], all: Map<String, Value>) -> String {
    let line =
        |(field, value): (&EntryField, Value)| Some([field.name, ": ", &written(field.kind, &value)?, "\n"].concat());
    values(table, all).into_iter().filter_map(line).collect()
}

/// Returns a value in its written form; `None` where nothing is in it.
fn written(kind: FieldKind, value: &Value) -> Option<String> {
    let mapping = |keys: &[&str]| {
        let value = |key: &&str| {
            Some(value.get(key)?).filter(|value| !matches!(value, Value::Array(items) if items.is_empty()))
        };
        let parts: Vec<String> =
            keys.iter().filter_map(|key| Some(format!("{key}: {}", rendered(value(key)?)))).collect();
        (!parts.is_empty()).then(|| format!("{{{}}}", parts.join(", ")))
    };
    match kind {
        FieldKind::Word | FieldKind::Choice(..) => value.as_str().map(quote),
        FieldKind::List | FieldKind::Ids => Some(list(&list_items(Some(value)))),
        FieldKind::Files => mapping(&["created", "modified", "read", "relevant"]),
        FieldKind::Validation => mapping(&["command", "exit_code", "duration_ms"]),
        FieldKind::Text
        | FieldKind::Scope
        | FieldKind::Time
        | FieldKind::Whole(_)
        | FieldKind::Amount
        | FieldKind::Mapping => Some(rendered(value)),
    }
}
