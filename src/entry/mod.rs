//! The content of one file.
//!
//! Parsing never fails: it returns the readable parts and the [problems](crate::Problem). Everything here is pure: no file, clock or environment. `frontmatter` is the only file
//! that knows YAML.

pub(crate) mod attempt;
pub(crate) mod body;
pub(crate) mod conflict;
pub(crate) mod edit;
pub(crate) mod fields;
pub(crate) mod frontmatter;
pub(crate) mod guard;
mod head;
pub(crate) mod imported;
pub(crate) mod knowledge;
pub(crate) mod lead;
mod names;
pub(crate) mod outline;
pub(crate) mod path;
mod place;
pub(crate) mod read;
mod summary;
mod time;
pub(crate) mod written;

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::text::{choice, nfc};
use path::{COPIES, without_extension};

pub use attempt::{Attempt, AttemptHead, Difficulty, Files, Outcome, Sections, Validation};
pub(crate) use head::{Entry, Head, Link};
pub use knowledge::{EVENTS, Knowledge, LEARNINGS, MAX_QUESTIONS, MAX_SUMMARY};
pub(crate) use names::{EntryNames, NamedEntry};
pub use path::{EntryPath, is_pattern, without_line};
pub(crate) use place::{place, place_of_key};
pub(crate) use read::{body_fingerprint, read, said};
pub use summary::EntrySummary;
pub use time::{parse_time, timestamp};

/// The largest entry file that is read, in bytes.
pub const MAX_FILE_BYTES: usize = 1024 * 1024;
/// The largest frontmatter that is parsed, in bytes.
pub(crate) const MAX_FRONTMATTER_BYTES: usize = 16 * 1024;

choice! {
    /// The two kinds of entry.
    ///
    /// ```
    /// use ralph_memory::{Id, Kind};
    /// let kind = |id: &str| Id::parse(id).map(|id| id.kind());
    /// assert_eq!(kind("wal-mode"), Some(Kind::Knowledge));
    /// assert_eq!(kind(".ralph/journal/run-1a2b3c4d/0003.md"), Some(Kind::Journal));
    /// ```
    #[derive(Default, PartialOrd, Ord)]
    pub enum Kind {
        /// Something learned, under `knowledge/`.
        #[default]
        Knowledge = "knowledge",
        /// One attempt at a task, under `journal/`.
        Journal = "journal",
    }
}

/// How far ahead of the clock a time may be and still count as past: clocks of machines differ.
pub(crate) const AHEAD: TimeDelta = TimeDelta::minutes(10);

/// Returns whether a time is in the future by more than [`AHEAD`]. No entry can have been written then: a clock was
/// wrong, or the time was made up.
pub(crate) fn is_ahead(time: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    time.signed_duration_since(now) > AHEAD
}

/// The name of an entry: its path without `.md`, such as `knowledge/wal-mode`, `knowledge/team/wal-mode` or
/// `journal/run-1a2b3c4d/0003`. Events have that of the folder above theirs.
///
/// It does not change when a file moves to the archive, and is in the composed form (NFC), whichever form the file's name
/// has. Knowledge that moved into a folder is still found by its name alone, as long as no other entry has that name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(String);

impl Id {
    /// Returns the id of the entry file at `path`, which is relative to `.ralph/`.
    ///
    /// ```
    /// use ralph_memory::entry::Id;
    /// let id = |path| Id::of_path(path).map(|id| id.to_string());
    /// assert_eq!(id("knowledge/team/wal-mode.md").as_deref(), Some("knowledge/team/wal-mode"));
    /// assert_eq!(id("knowledge/events/2026-02-17-outage.md").as_deref(), Some("knowledge/2026-02-17-outage"));
    /// assert_eq!(id("archive/knowledge/wal-mode.md").as_deref(), Some("knowledge/wal-mode"));
    /// assert_eq!(id("journal/run-1a2b3c4d/0003.md").as_deref(), Some("journal/run-1a2b3c4d/0003"));
    /// assert_eq!(id("README.md"), None);
    /// ```
    pub fn of_path(path: &str) -> Option<Id> {
        let path = nfc(path.strip_prefix("archive/").unwrap_or(path));
        let (kind, rest) = path.split_once('/')?;
        let rest = without_extension(rest)?;
        let (folder, stem) = rest.rsplit_once('/').map_or((None, rest), |(folder, stem)| (Some(folder), stem));
        let is_wrong = |part: &str| matches!(part, "" | "." | "..");
        if is_wrong(stem) || folder.is_some_and(|folder| folder.split('/').any(is_wrong)) {
            return None;
        }
        match kind {
            "knowledge" => Some(Id(["knowledge/", rest.strip_prefix("events/").unwrap_or(rest)].concat())),
            "journal" | COPIES => {
                let run = folder.map(|folder| folder.rsplit('/').next().unwrap_or(folder));
                Some(Id(run.map_or_else(|| ["journal/", stem].concat(), |run| ["journal/", run, "/", stem].concat())))
            }
            _ => None,
        }
    }

    /// Reads an id as a person writes it: with or without `.md`, a path under `.ralph/`, or a path under
    /// `.ralph/knowledge/`.
    pub fn parse(text: &str) -> Option<Id> {
        let text = nfc(text.trim().trim_start_matches("./"));
        let text = text.strip_prefix(".ralph/").unwrap_or(&text);
        let text = without_extension(text).unwrap_or(text);
        if text.is_empty() || text.ends_with('/') {
            return None;
        }
        Id::of_path(&format!("{text}.md")).or_else(|| Id::of_path(&format!("knowledge/{text}.md")))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id as an entry of a layer is named here: after the layer's name.
    #[doc(hidden)]
    #[must_use]
    pub fn in_layer(&self, layer: &str) -> Id {
        Id(format!("{layer}:{self}"))
    }

    /// Returns whether it names an entry of a layer.
    pub(crate) fn is_in_layer(&self) -> bool {
        !["knowledge/", "journal/"].iter().any(|kind| self.0.starts_with(kind))
    }

    /// Returns the kind of entry that it names.
    pub fn kind(&self) -> Kind {
        if self.0.starts_with("journal/") { Kind::Journal } else { Kind::Knowledge }
    }

    /// Returns the part after the last `/`, the file's name without `.md`.
    pub fn stem(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the name of knowledge that is in no folder. Another entry's name alone means the same as this id, where
    /// nothing has it.
    pub(crate) fn bare(&self) -> Option<&str> {
        self.0.strip_prefix("knowledge/").filter(|stem| !stem.contains('/'))
    }

    /// Returns whether it is the id of knowledge in a folder.
    pub(crate) fn is_in_folder(&self) -> bool {
        self.kind() == Kind::Knowledge && self.bare().is_none()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Which tasks an entry concerns.
///
/// ```
/// use ralph_memory::{Scope, Task};
/// let task = Task { feature: Some("billing".into()), ..Task::new("Send reminders") };
/// assert!(task.sees(&Scope::Project) && task.sees(&Scope::from("feature:billing".to_owned())));
/// assert!(!task.sees(&Scope::Task("t-2".into())));
/// assert_eq!(Scope::from("team:x".to_owned()), Scope::Unknown("team:x".into()));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Scope {
    /// Everyone who works on the project.
    #[default]
    Project,
    /// Work on the feature of this name.
    Feature(String),
    /// Tasks of the section with this id.
    Section(String),
    /// The task with this id.
    Task(String),
    /// An unknown scope; kept as written and shown to no task.
    Unknown(String),
}

impl From<String> for Scope {
    fn from(text: String) -> Scope {
        let text = nfc(&text).into_owned();
        match text.split_once(':') {
            None if text == "project" => Scope::Project,
            Some(("feature", name)) if !name.trim().is_empty() => Scope::Feature(name.trim().to_owned()),
            Some(("section", id)) if !id.trim().is_empty() => Scope::Section(id.trim().to_owned()),
            Some(("task", id)) if !id.trim().is_empty() => Scope::Task(id.trim().to_owned()),
            _ => Scope::Unknown(text),
        }
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> String {
        scope.to_string()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Project => formatter.write_str("project"),
            Scope::Feature(name) => write!(formatter, "feature:{name}"),
            Scope::Section(id) => write!(formatter, "section:{id}"),
            Scope::Task(id) => write!(formatter, "task:{id}"),
            Scope::Unknown(text) => formatter.write_str(text),
        }
    }
}

/// The longest id of a task and the longest name of a run, in characters.
pub(crate) const MAX_NAME: usize = 64;

/// Returns whether a task can have this id: 1 to 64 letters, digits, `.`, `_` and `-`, of which the first is a letter,
/// a digit or `_`.
///
/// ```
/// use ralph_memory::entry::is_task_id;
/// assert!(is_task_id("t-12") && is_task_id("ABC_1.2"));
/// assert!(!is_task_id("fix the login") && !is_task_id("-x") && !is_task_id(""));
/// ```
pub fn is_task_id(text: &str) -> bool {
    let is_good = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-');
    (1..=MAX_NAME).contains(&text.len()) && text.chars().all(is_good) && !text.starts_with(['.', '-'])
}

choice! {
    /// Who wrote an entry.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Source};
    /// let knowledge = Knowledge::new("Freeze on Fridays", ["release"], "Nothing is deployed on a Friday.");
    /// assert_eq!(knowledge.source, Source::Human);
    /// let reviewed = Knowledge { source: Source::parse("reviewer").unwrap_or_default(), ..knowledge };
    /// assert_eq!(reviewed.source, Source::Reviewer);
    /// ```
    #[derive(Default, PartialOrd, Ord)]
    #[expect(missing_docs, reason = "the names say it")]
    pub enum Source {
        #[default]
        Human = "human",
        Agent = "agent",
        Coder = "coder",
        Reviewer = "reviewer",
        Orchestrator = "orchestrator",
        Coordinator = "coordinator",
    }
}

impl Source {
    /// Returns the source for a word in a file, in upper or lower case.
    pub(crate) fn in_file(word: &str) -> Option<Source> {
        Source::parse(&word.to_ascii_lowercase())
    }

    /// Returns whether it is a person, rather than one of the kinds of agent.
    pub fn is_person(self) -> bool {
        self == Source::Human
    }
}

/// Who changes a memory: a person, or a coding agent. An unknown program counts as a person.
///
/// ```
/// use ralph_memory::{Author, Knowledge, Memory, Source};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// let id = Memory::open(root)?.add(&Knowledge::new("Freeze", ["release"], "Nothing is deployed on a Friday."))?.id;
/// let of_agent = Memory::open(root)?.by(Author::Agent("claude".into()));
/// assert!(of_agent.archive(&[id]).is_err(), "a person wrote it");
/// let source = Source::Agent;
/// of_agent.add(&Knowledge { source, ..Knowledge::new("Slow linker", ["ci"], "It needs 8 GB.") })?;
/// assert_eq!(of_agent.operations()?[0].author, Author::Agent("claude".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Author {
    /// A person, at a terminal or on the page.
    #[default]
    Person,
    /// An agent of the client with this name.
    Agent(String),
}

impl Author {
    /// Returns whether it is a person.
    pub fn is_person(&self) -> bool {
        *self == Author::Person
    }

    /// Returns the source of what it writes.
    pub fn source(&self) -> Source {
        if self.is_person() { Source::Human } else { Source::Agent }
    }
}

impl From<String> for Author {
    fn from(name: String) -> Author {
        if name == Source::Human.as_str() { Author::Person } else { Author::Agent(name) }
    }
}

impl From<Author> for String {
    fn from(author: Author) -> String {
        match author {
            Author::Person => Source::Human.as_str().to_owned(),
            Author::Agent(client) => client,
        }
    }
}
