//! The block in which an agent suggests events: a heading, then a fenced JSON list.

use serde_json::{Map, Value};

use super::values::is_placeholder;
use super::{Refused, SUGGESTIONS_HEADING};
use crate::entry::MAX_SUMMARY;
use crate::entry::knowledge::EVENTS;
use crate::text::choice;

/// An event that an agent suggests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The line that its block begins in, from 1.
    pub line: u32,
    /// Its position in the block's list, from 1.
    pub number: usize,
    /// Its scope.
    pub scope: SuggestedScope,
    /// The kind of event, one of [`EVENTS`].
    pub event: String,
    /// What happened, in at most [`MAX_SUMMARY`] characters.
    pub summary: String,
    /// From 0 to 100.
    pub importance: Option<u8>,
    /// Keywords.
    pub tags: Vec<String>,
    /// Data for programs.
    pub details: Option<Map<String, Value>>,
}

choice! {
    /// The scope of a suggestion. The reader knows which task or section it is.
    pub enum SuggestedScope {
        Task = "task",
        Section = "section",
        Feature = "feature",
        Project = "project",
    }
}

/// Reads the content of a block. Invalid entries are refused one by one.
pub(super) fn read(content: &str, line: u32) -> (Vec<Suggestion>, Vec<Refused>) {
    let refused = |reason: String| Refused { line, name: SUGGESTIONS_HEADING, reason };
    let list: Vec<Value> = match serde_json::from_str(content) {
        Ok(Value::Array(list)) => list,
        Ok(_) => return (Vec::new(), vec![refused("is not a JSON list".to_owned())]),
        Err(error) => return (Vec::new(), vec![refused(format!("is not JSON: {error}"))]),
    };
    let (mut suggestions, mut problems) = (Vec::new(), Vec::new());
    for (at, value) in list.iter().enumerate() {
        match suggestion(value, line, at + 1) {
            Ok(Some(suggestion)) => suggestions.push(suggestion),
            // The example in the instructions, repeated.
            Ok(None) => {}
            Err(reason) => problems.push(refused(format!("entry {}: {reason}", at + 1))),
        }
    }
    (suggestions, problems)
}

fn suggestion(value: &Value, line: u32, number: usize) -> Result<Option<Suggestion>, String> {
    let Value::Object(fields) = value else { return Err("it is not an object".to_owned()) };
    let text = |name: &str| match fields.get(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.trim()),
        Some(_) => Err(format!("`{name}` is not a text")),
        None => Err(format!("without `{name}`")),
    };
    let summary = text("summary")?;
    if is_placeholder(summary) {
        return Ok(None);
    }
    let length = summary.chars().count();
    if length > MAX_SUMMARY {
        return Err(format!("`summary` has {length} characters; the limit is {MAX_SUMMARY}"));
    }
    let event = text("event_type")?;
    if !EVENTS.contains(&event) {
        return Err(format!("`event_type` is not one of {}", EVENTS.join(", ")));
    }
    let scope = text("scope")?.parse().map_err(|reason| format!("`scope` is {reason}"))?;
    let importance = match fields.get("importance") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let number = value.as_u64().and_then(|number| u8::try_from(number).ok()).filter(|number| *number <= 100);
            Some(number.ok_or("`importance` is not a whole number from 0 to 100")?)
        }
    };
    let tags = match fields.get("tags") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(tags)) => {
            let tags: Option<Vec<String>> = tags.iter().map(|tag| tag.as_str().map(str::to_owned)).collect();
            tags.ok_or("`tags` is not a list of texts")?
        }
        Some(_) => return Err("`tags` is not a list of texts".to_owned()),
    };
    let details = match fields.get("details") {
        None | Some(Value::Null) => None,
        Some(Value::Object(details)) => Some(details.clone()),
        Some(_) => return Err("`details` is not an object".to_owned()),
    };
    let (event, summary) = (event.to_owned(), summary.to_owned());
    Ok(Some(Suggestion { line, number, scope, event, summary, importance, tags, details }))
}
