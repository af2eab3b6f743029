//! Events: occurrences that others should know about, such as a rejection or a decision.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::knowledge::{EVENTS, Knowledge};
use super::{Scope, Source};
use crate::error::{Error, Result};
use crate::text::{first_sentence, fold};

/// The longest summary, in characters (the seeds' limit).
pub const MAX_SUMMARY: usize = 800;
/// The length of a title that is made of the summary, in characters.
const MAX_TITLE: usize = 80;

/// Something that happened.
///
/// ```
/// use ralph_memory::entry::Event;
/// let event = Event::new("rejection", "The reviewer rejected the schema. It has no foreign keys.");
/// let knowledge = event.to_knowledge()?;
/// assert_eq!((knowledge.title.as_str(), knowledge.tags), ("The reviewer rejected the schema.", vec!["rejection".to_owned()]));
/// # Ok::<(), ralph_memory::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The kind of event, one of [`EVENTS`].
    pub event: String,
    /// What happened, in at most [`MAX_SUMMARY`] characters. Its first sentence becomes the title.
    pub summary: String,
    /// Keywords. The default is the kind of event.
    pub tags: Vec<String>,
    /// Its scope.
    pub scope: Scope,
    /// Who noted it.
    pub source: Source,
    /// From 0 to 100. The default is 50.
    pub importance: Option<u8>,
    /// Its feature.
    pub feature: Option<String>,
    /// The task during which it happened.
    pub task_id: Option<String>,
    /// The run during which it happened.
    pub run_id: Option<String>,
    /// When it stops being of interest.
    pub expires_at: Option<DateTime<Utc>>,
    /// The project paths that it is about.
    pub files: Vec<String>,
    /// Data for programs.
    pub details: Option<Map<String, Value>>,
}

impl Event {
    /// Returns an event of the project, noted by a person.
    pub fn new(event: impl Into<String>, summary: impl Into<String>) -> Event {
        Event {
            event: event.into(),
            summary: summary.into(),
            tags: Vec::new(),
            scope: Scope::Project,
            source: Source::Human,
            importance: None,
            feature: None,
            task_id: None,
            run_id: None,
            expires_at: None,
            files: Vec::new(),
            details: None,
        }
    }

    /// Returns the knowledge that stores it.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the event is not one of [`EVENTS`], or if the summary is empty or too long.
    pub fn to_knowledge(&self) -> Result<Knowledge> {
        let event = fold(&self.event).replace([' ', '-'], "_");
        if !EVENTS.contains(&event.as_str()) {
            return Err(Error::invalid("event", format!("`{}` is not one of {}", self.event, EVENTS.join(", "))));
        }
        let summary = self.summary.trim();
        if summary.is_empty() {
            return Err(Error::invalid("summary", "it is empty"));
        }
        let length = summary.chars().count();
        if length > MAX_SUMMARY {
            let reason = format!("it has {length} characters; the limit is {MAX_SUMMARY}");
            return Err(Error::invalid("summary", reason));
        }
        let line = summary.lines().next().unwrap_or_default().trim_start_matches(['#', '-', '*', '>', ' ']);
        let tags =
            if self.tags.iter().all(|tag| tag.trim().is_empty()) { vec![event.clone()] } else { self.tags.clone() };
        Ok(Knowledge {
            category: Some(event),
            feature: self.feature.clone(),
            scope: self.scope.clone(),
            importance: self.importance,
            source: self.source,
            task_id: self.task_id.clone(),
            run_id: self.run_id.clone(),
            expires_at: self.expires_at,
            files: self.files.clone(),
            details: self.details.clone(),
            ..Knowledge::new(first_sentence(if line.is_empty() { summary } else { line }, MAX_TITLE), tags, summary)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_knowledge_of_its_category() {
        let knowledge = Event { tags: vec!["B".into()], ..Event::new("Follow-Up", " ## Do it. Then\n\nmore ") };
        let knowledge = knowledge.to_knowledge().unwrap();
        assert_eq!(knowledge.category.as_deref(), Some("follow_up"));
        assert_eq!((knowledge.title.as_str(), knowledge.body.as_str()), ("Do it.", "## Do it. Then\n\nmore"));
        assert_eq!(knowledge.tags, ["B"]);
    }

    #[test]
    fn invalid_events_are_refused() {
        let what = |event: Event| match event.to_knowledge() {
            Err(Error::Invalid { what, .. }) => what.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(what(Event::new("pitfall", "x")), "event");
        assert_eq!(what(Event::new("hint", " \n")), "summary");
        assert_eq!(what(Event::new("hint", "é".repeat(801))), "summary");
        assert!(Event::new("hint", "é".repeat(800)).to_knowledge().is_ok());
    }
}
