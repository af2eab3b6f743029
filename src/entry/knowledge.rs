//! Knowledge as a caller gives it, and the text of its file.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Map, Value};

use super::edit::{self, Change};
use super::fields::{self, FieldKind, KNOWLEDGE};
pub(crate) use super::time::timestamp;
use super::written::{FINGERPRINTS, is_same_body, signature};
use super::{Head, Id, MAX_FILE_BYTES, MAX_FRONTMATTER_BYTES, Scope, Source, frontmatter};
use crate::error::{Argument, Error, Result};
use crate::text::lines::each_once;
use crate::text::{comparable, first_sentence, fold, fold_tag, is_same_name, one_line, split_tags};

/// The categories of learnings.
pub const LEARNINGS: [&str; 7] =
    ["success_pattern", "pitfall", "tool_usage", "code_structure", "testing_strategy", "debugging_technique", "other"];
/// The categories of events.
pub const EVENTS: [&str; 7] = ["submission", "rejection", "approval", "decision", "follow_up", "hint", "dispute"];

/// The words of a status that say of an entry that it is not, or no longer, agreed.
const UNSETTLED: [&str; 14] = [
    "proposed",
    "draft",
    "provisional",
    "pending",
    "open",
    "experimental",
    "rejected",
    "declined",
    "withdrawn",
    "deprecated",
    "superseded",
    "retired",
    "obsolete",
    "stale",
];

/// The most questions that a writer may give for an entry. One to three are recommended.
pub const MAX_QUESTIONS: usize = 10;

/// The longest summary of an event, in characters (the seeds' limit).
pub const MAX_SUMMARY: usize = 800;
/// The length of a title that is made of the summary of an event, in characters.
const MAX_TITLE: usize = 80;

/// Returns the status of an entry that readers have to know, in lower case; `None` if it is settled.
pub(crate) fn unsettled(status: Option<&str>) -> Option<&'static str> {
    // People write behind it since when, or why.
    let first = status?.trim_start().split(|letter: char| !letter.is_alphanumeric()).next()?;
    UNSETTLED.into_iter().find(|word| first.eq_ignore_ascii_case(word))
}

/// The status of what an agent wrote and nobody is told until a person confirms it: it is near what a person rejected.
pub(crate) const PROPOSED: &str = "proposed";

/// Returns whether an entry is only proposed, by an agent.
pub(crate) fn is_proposed(head: &Head) -> bool {
    !head.source.is_person() && unsettled(head.status.as_deref()) == Some(PROPOSED)
}

/// The class of a category: it decides where an entry appears in a context, and how it is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Something learned at work, of one of [`LEARNINGS`].
    Learning,
    /// Something that happened, of one of [`EVENTS`].
    Event,
    /// Anything else.
    Plain,
}

/// Returns the class of a category.
pub(crate) fn class(category: Option<&str>) -> Class {
    match category {
        Some(category) if LEARNINGS.contains(&category) => Class::Learning,
        Some(category) if EVENTS.contains(&category) => Class::Event,
        _ => Class::Plain,
    }
}

/// The categories of what an agent must keep to.
const RULES: [&str; 4] = ["pitfall", "anti_pattern", "decision", "architecture_decision"];

/// Returns whether this is the category of what an agent must keep to: decisions and pitfalls.
pub(crate) fn is_rule(category: &str) -> bool {
    RULES.contains(&category)
}

/// Knowledge to be written.
///
/// ```
/// use ralph_memory::Knowledge;
/// let knowledge = Knowledge {
///     category: Some("pitfall".into()),
///     ..Knowledge::new("Cargo bench requires nightly", ["cargo", "nightly"], "Use `cargo +nightly bench`.")
/// };
/// assert_eq!(knowledge.tags, ["cargo", "nightly"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Knowledge {
    /// Short and descriptive, on one line.
    pub title: String,
    /// Keywords. Without any, an event gets its category, and any other new entry some from its title and from the entries
    /// nearest to it.
    pub tags: Vec<String>,
    /// Markdown.
    pub body: String,
    /// One of [`LEARNINGS`] or [`EVENTS`], any other word, or none.
    pub category: Option<String>,
    /// How far it holds, such as `accepted` or `deprecated`. Wherever the entry is listed, a status that says that it is not,
    /// or no longer, agreed is shown behind its title.
    pub status: Option<String>,
    /// Its feature: raises its score for tasks of that feature.
    pub feature: Option<String>,
    /// Who sees it.
    pub scope: Scope,
    /// From 0 to 100. The default is 50.
    pub importance: Option<u8>,
    /// Who wrote it.
    pub source: Source,
    /// The task during which it was learned.
    pub task_id: Option<String>,
    /// The run during which it was learned.
    pub run_id: Option<String>,
    /// When it stops being true.
    pub expires_at: Option<DateTime<Utc>>,
    /// The entries that it replaces.
    pub supersedes: Vec<Id>,
    /// Other names of it, by which searches and links find it.
    pub aliases: Vec<String>,
    /// The project paths that it is about, and patterns of them such as `src/**/*.ts`.
    pub files: Vec<String>,
    /// The questions that it answers, in the words of someone who has the problem; at most [`MAX_QUESTIONS`]. Searches
    /// match them like a title. They are shown only where the entry is shown whole.
    pub questions: Vec<String>,
    /// Data for programs; any mapping that YAML can represent.
    pub details: Option<Map<String, Value>>,
}

fn line(text: &str) -> String {
    one_line(&without_controls(text))
}

impl Knowledge {
    /// Returns knowledge of the project, written by a person, with only the required values.
    pub fn new<Tag: Into<String>>(
        title: impl Into<String>,
        tags: impl IntoIterator<Item = Tag>,
        body: impl Into<String>,
    ) -> Knowledge {
        let tags = tags.into_iter().map(Into::into).collect();
        Knowledge { title: title.into(), tags, body: body.into(), ..Knowledge::default() }
    }

    /// Returns an event of the project, noted by a person: knowledge of something that happened. Its title is the first
    /// sentence of the summary.
    ///
    /// ```
    /// use ralph_memory::Knowledge;
    /// let event = Knowledge::event("rejection", "The reviewer rejected the schema. It has no foreign keys.")?;
    /// assert_eq!((event.title.as_str(), event.category.as_deref()), ("The reviewer rejected the schema.", Some("rejection")));
    /// # Ok::<(), ralph_memory::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the category is not one of [`EVENTS`], or if the summary is empty or over [`MAX_SUMMARY`].
    pub fn event(category: impl AsRef<str>, summary: impl AsRef<str>) -> Result<Knowledge> {
        let (event, summary) = (fold(category.as_ref()).replace([' ', '-'], "_"), summary.as_ref().trim());
        if !EVENTS.contains(&event.as_str()) {
            let reason = format!("`{}` is not one of {}", category.as_ref(), EVENTS.join(", "));
            return Err(Error::invalid("event", reason));
        }
        let length = summary.chars().count();
        if length == 0 || length > MAX_SUMMARY {
            let too_long = || format!("it has {length} characters; the limit is {MAX_SUMMARY}");
            return Err(Error::invalid("summary", if length == 0 { "it is empty".to_owned() } else { too_long() }));
        }
        let line = summary.lines().next().unwrap_or_default().trim_start_matches(['#', '-', '*', '>', ' ']);
        let title = first_sentence(if line.is_empty() { summary } else { line }, MAX_TITLE);
        Ok(Knowledge { category: Some(event), ..Knowledge::new(title, [""; 0], summary) })
    }

    /// Returns the same knowledge in its written form: texts trimmed, the title on one line, tags in lower case and
    /// each once, control characters removed.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the title or the body is empty, a tag has a comma, the importance is over 100,
    /// the scope is unknown, the details cannot be stored in a file, or the file would be too large.
    pub fn normalised(&self) -> Result<Knowledge> {
        let some_line = |text: &Option<String>| text.as_deref().map(line).filter(|text| !text.is_empty());
        let title = line(&self.title);
        if title.is_empty() {
            return Err(Error::invalid("title", "it is empty"));
        }
        let category = some_line(&self.category);
        let tags = self.normalised_tags()?;
        let body = without_controls(&self.body.replace("\r\n", "\n")).trim_matches('\n').trim_end().to_owned();
        if body.is_empty() {
            return Err(Error::invalid(Argument::Body, "it is empty"));
        }
        let questions = self.normalised_questions()?;
        if self.importance.is_some_and(|importance| importance > 100) {
            return Err(Error::invalid("importance", "it is over 100"));
        }
        let scope = Scope::from(line(&self.scope.to_string()));
        if let Scope::Unknown(scope) = &scope {
            let reason = format!("`{scope}` is not one of `project`, `feature:NAME`, `section:ID` and `task:ID`");
            return Err(Error::invalid("scope", reason));
        }
        let normalised = Knowledge {
            title,
            tags,
            body,
            category,
            status: some_line(&self.status),
            aliases: self.aliases.iter().map(|alias| line(alias)).filter(|alias| !alias.is_empty()).collect(),
            feature: some_line(&self.feature),
            scope,
            task_id: some_line(&self.task_id),
            run_id: some_line(&self.run_id),
            files: self.files.iter().map(|file| line(file)).filter(|file| !file.is_empty()).collect(),
            questions,
            supersedes: self.supersedes.clone(),
            details: self.details.as_ref().filter(|details| !details.is_empty()).map(plain_mapping),
            ..*self
        };
        normalised.check_file()?;
        Ok(normalised)
    }

    fn normalised_tags(&self) -> Result<Vec<String>> {
        let tags = each_once(self.tags.iter().flat_map(|tag| split_tags(tag)), |tag| fold_tag(&line(tag)));
        if tags.iter().any(|tag| tag.contains(',')) {
            return Err(Error::invalid("tags", "a tag has a comma"));
        }
        Ok(tags)
    }

    fn normalised_questions(&self) -> Result<Vec<String>> {
        let mut questions: Vec<String> = Vec::new();
        for question in self.questions.iter().map(|question| line(question)).filter(|question| !question.is_empty()) {
            if !questions.iter().any(|other| comparable(other) == comparable(&question)) {
                questions.push(question);
            }
        }
        if questions.len() > MAX_QUESTIONS {
            let reason = "there are more than ten: keep the most likely ones";
            return Err(Error::invalid("questions", reason));
        }
        Ok(questions)
    }

    /// Refuses knowledge whose file could not be read back.
    fn check_file(&self) -> Result<()> {
        let text = self.to_file(DateTime::UNIX_EPOCH);
        let n_bytes = text.len();
        if n_bytes > MAX_FILE_BYTES {
            return Err(Error::invalid(Argument::Body, "with its frontmatter it is over the limit of 1 MiB"));
        }
        if n_bytes - self.body.len() > MAX_FRONTMATTER_BYTES {
            return Err(Error::invalid("frontmatter", "it would be over the limit of 16 KiB"));
        }
        if self.details.is_some() && self.details_change(&text).is_some() {
            return Err(Error::invalid(
                "details",
                "a file cannot represent them: numbers beyond 63 bits, or nesting over 32 levels",
            ));
        }
        Ok(())
    }

    /// Returns the change that sets the details of a file to these, if they differ.
    pub(crate) fn details_change(&self, text: &str) -> Option<Change> {
        let details = Value::Object(self.details.clone()?);
        let found = frontmatter::fields_of(text).and_then(|mut fields| fields.remove("details"));
        (found.as_ref() != Some(&details)).then_some(Change::Set("details", details))
    }

    /// Returns the text of a new file for this knowledge, which must be [`normalised`](Self::normalised).
    pub(crate) fn to_file(&self, now: DateTime<Utc>) -> String {
        let mut values = fields::object(self);
        if self.scope == Scope::Project {
            values.remove("scope");
        }
        values.insert("created_at".to_owned(), Value::from(now.timestamp_micros()));
        if !self.source.is_person() {
            values.insert(FINGERPRINTS.to_owned(), Value::from(vec![signature(&self.title, &self.body)]));
        }
        format!("---\n{}---\n\n{}\n", fields::frontmatter(&KNOWLEDGE, values), self.body)
    }

    /// Returns its texts, each with the name of its field.
    pub(crate) fn texts(&self) -> Vec<(&'static str, String)> {
        let text = |(field, value): (&fields::EntryField, Value)| match (field.kind, value) {
            (FieldKind::Time | FieldKind::Choice(..), _) | (_, Value::Number(_)) => None,
            (_, Value::String(text)) => Some((field.name, text)),
            (FieldKind::List | FieldKind::Ids, value) => Some((field.name, edit::list_items(Some(&value)).join("\n"))),
            (_, value) => Some((field.name, value.to_string())),
        };
        let of_fields = fields::values(&KNOWLEDGE, fields::object(self)).into_iter().filter_map(text);
        of_fields.chain([("body", self.body.clone())]).collect()
    }

    /// Returns the changes that update an existing entry to this knowledge: its title, if the words differ; new tags
    /// after its own; the body; and every other given key whose value differs. `updated_at` is not among them, and
    /// neither are [details](Self::details_change).
    pub(crate) fn changes_to(&self, existing: &Head, existing_body: &str) -> Vec<Change> {
        let is_new_text = !is_same_body(&self.body, existing_body);
        let mut known: HashMap<&str, Value> = fields::values(&KNOWLEDGE, fields::object(existing))
            .into_iter()
            .map(|(field, old)| (field.name, old))
            .collect();
        let mut changes = Vec::new();
        for (field, new) in fields::values(&KNOWLEDGE, fields::object(self)) {
            let old = known.remove(field.name);
            let is_kept = match field.name {
                "scope" | "source" | "details" => true,
                "title" => comparable(&self.title) == comparable(&existing.title),
                // An agent that repeats a text has not learned it at another task.
                "task_id" | "run_id" => !self.source.is_person() && !is_new_text && old.is_some(),
                _ => old.as_ref() == Some(&new),
            };
            match new {
                _ if is_kept => {}
                Value::Array(_) => {
                    let folded =
                        |item: &String| if field.name == "questions" { comparable(item) } else { item.clone() };
                    let old: Vec<String> = edit::list_items(old.as_ref()).iter().map(folded).collect();
                    let mut items = edit::list_items(Some(&new));
                    items.retain(|item| !old.contains(&folded(item)));
                    changes.extend((!items.is_empty()).then_some(Change::AddItems(field.name, items)));
                }
                Value::String(new) if is_same_name(Some(&new), old.as_ref().and_then(Value::as_str)) => {}
                new => changes.push(Change::Set(field.name, new)),
            }
        }
        if is_new_text {
            changes.push(Change::Body(self.body.clone()));
        }
        changes
    }
}

/// Returns a mapping without the control characters that entries may not have.
fn plain_mapping(mapping: &Map<String, Value>) -> Map<String, Value> {
    mapping.iter().map(|(key, value)| (without_controls(key), plain(value))).collect()
}

fn plain(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_controls(text)),
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        Value::Object(mapping) => Value::Object(plain_mapping(mapping)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Removes the control characters that entries may not have.
fn without_controls(text: &str) -> String {
    text.chars().filter(|character| !character.is_control() || matches!(character, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{parse_time, read};
    use super::*;

    fn full() -> Knowledge {
        Knowledge {
            category: Some("pitfall".into()),
            feature: Some("yes".into()),
            scope: Scope::Section("s-1: x".into()),
            importance: Some(70),
            source: Source::Agent,
            task_id: Some("1234567e8".into()),
            run_id: Some("run-1a2b3c4d".into()),
            expires_at: parse_time("2027-01-01"),
            supersedes: vec![Id::parse("old").unwrap()],
            files: vec!["src/a b.rs".into(), "#odd".into()],
            questions: vec![
                "Why: does \"it\"\nhang, at all? ".into(),
                "why: does \"it\" hang, at all?".into(),
                " ".into(),
            ],
            ..Knowledge::new("A \"title\": with\u{7} #signs\n", ["B", "b ", "two words"], "\n\nbody\u{1b}\r\nmore\n\n")
        }
    }

    #[test]
    fn an_event_is_knowledge_of_its_category() {
        let event = Knowledge::event("Follow-Up", " ## Do it. Then\n\nmore ").unwrap().normalised().unwrap();
        assert_eq!((event.category.as_deref(), event.tags), (Some("follow_up"), Vec::new()));
        assert_eq!((event.title.as_str(), event.body.as_str()), ("Do it.", "## Do it. Then\n\nmore"));
        let check = |event: &str, summary: &str, expected: &str| match Knowledge::event(event, summary) {
            Err(Error::Invalid { what, .. }) => assert_eq!(what.to_string(), expected),
            other => panic!("{other:?}"),
        };
        check("pitfall", "x", "event");
        check("hint", " \n", "summary");
        check("hint", &"é".repeat(801), "summary");
        assert!(Knowledge::event("hint", "é".repeat(800)).is_ok());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let knowledge = full().normalised().unwrap();
        let now = parse_time("2026-11-20T10:00:00Z").unwrap();
        let file = knowledge.to_file(now);
        let entry = read("knowledge/x.md", file.as_bytes());
        let head = entry.head;
        assert_eq!(head.problems, []);
        assert_eq!(head.title, "A \"title\": with #signs");
        assert_eq!(head.tags, ["b", "two words"]);
        assert_eq!((head.scope.to_string().as_str(), head.source), ("section:s-1: x", Source::Agent));
        assert_eq!((head.task_id.as_deref(), head.created_at), (Some("1234567e8"), Some(now)));
        assert_eq!(head.questions, ["Why: does \"it\" hang, at all?"]);
        assert_eq!(head.files, ["src/a b.rs", "#odd"]);
        assert_eq!(entry.body, "\nbody\nmore\n");
        // Nor does any other field differ.
        assert_eq!(knowledge.changes_to(&read("knowledge/x.md", file.as_bytes()).head, &entry.body), []);
    }

    #[test]
    fn invalid_knowledge_is_refused() {
        let what = |knowledge: Knowledge| match knowledge.normalised() {
            Err(Error::Invalid { what, .. }) => what.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(what(Knowledge::new(" \n", ["a"], "b")), "title");
        assert_eq!(Knowledge::new("t", [" "], "b").normalised().unwrap().tags, [""; 0]);
        assert_eq!(what(Knowledge::new("t", ["a,b"], "b")), "tags");
        assert_eq!(what(Knowledge::new("t", ["a"], " \n")), "body");
        assert_eq!(what(Knowledge { importance: Some(101), ..full() }), "importance");
        assert_eq!(what(Knowledge::new("t", ["a"], "b".repeat(MAX_FILE_BYTES - 20))), "body");
        assert_eq!(what(Knowledge::new("t", [&*"a".repeat(MAX_FRONTMATTER_BYTES)], "b")), "frontmatter");
        assert_eq!(what(Knowledge { scope: Scope::from("all".to_owned()), ..full() }), "scope");
    }

    #[test]
    fn only_differences_change() {
        let head = read("knowledge/x.md", b"---\ntitle: one title\ntags: [b]\nfeature: f\n---\nold\n").head;
        let knowledge = Knowledge { feature: Some("f".into()), ..Knowledge::new("One  Title.", ["a", "b"], "new") };
        let changes = knowledge.changes_to(&head, "old\n");
        assert_eq!(changes, [Change::AddItems("tags", vec!["a".into()]), Change::Body("new".into())]);
    }
}
