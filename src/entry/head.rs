//! What is read from one file.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::knowledge::unsettled;
use super::lead::described;
use super::{AttemptHead, Id, Kind, Scope, Source, is_ahead};
use crate::error::Problem;

/// A `[[…]]` in a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The text between the brackets: an id or a title.
    pub target: String,
    /// The line in the file, counted from 1.
    pub line: u32,
}

/// The part of an entry that lists, scopes, deduplication and checks need: its frontmatter, and measurements of its
/// body. The catalog keeps one for each file, and reads the fields up to `imported`, or up to
/// those of an attempt's context, alone where it needs no other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Head {
    /// Knowledge or journal, by its folder.
    pub kind: Kind,
    /// Whether the frontmatter is readable and has the required values. Without that, searches find the entry by its
    /// body, and no context includes it.
    pub valid: bool,
    /// `title`, or an attempt's `task_title`; empty when there is none.
    pub title: String,
    /// A hash of the body's words (XXH3, 64 bits), equal for bodies that differ only in white space.
    pub body_fingerprint: u64,
    /// `created_at`, or an attempt's `started_at`.
    #[serde(with = "chrono::serde::ts_microseconds_option")]
    pub created_at: Option<DateTime<Utc>>,
    /// `updated_at`.
    #[serde(with = "chrono::serde::ts_microseconds_option")]
    pub updated_at: Option<DateTime<Utc>>,
    /// `expires_at`.
    #[serde(with = "chrono::serde::ts_microseconds_option")]
    pub expires_at: Option<DateTime<Utc>>,
    /// `files`: the project paths that it is about.
    pub files: Vec<String>,
    /// The key of what it was imported from; `None` for one that was not.
    pub imported: Option<String>,
    /// `scope`.
    pub scope: Scope,
    /// `source`; a person, where the text is not the one that an agent wrote.
    pub source: Source,
    /// `aliases`: the ids and titles that the entry had before it was renamed, and other names that links to it may use.
    pub aliases: Vec<String>,
    /// The `[[…]]` links of its body.
    pub links: Vec<Link>,
    /// `supersedes`: the ids that this entry replaces.
    pub supersedes: Vec<Id>,
    /// `feature`.
    pub feature: Option<String>,
    /// `task_id`.
    pub task_id: Option<String>,
    /// `run_id`.
    pub run_id: Option<String>,
    /// `tags`: trimmed, lowercase, each once, in the file's order.
    pub tags: Vec<String>,
    /// `category`, as written.
    pub category: Option<String>,
    /// `status`, as written.
    pub status: Option<String>,
    /// `importance`, from 0 to 100.
    #[serde(default = "usual_importance")]
    pub importance: u8,
    /// The values that only an attempt has.
    pub attempt: Option<Box<AttemptHead>>,
    /// `questions`: the questions that it answers, in the words of someone who has the problem.
    pub questions: Vec<String>,
    /// `fingerprints`: of the texts that it had, the newest last.
    pub fingerprints: Vec<String>,
    /// How many words the body has.
    pub body_words: u32,
    /// The problems of the file: of warnings the first [`MAX_OF_FILE`](crate::error::MAX_OF_FILE).
    pub problems: Vec<Problem>,
    /// How many more warnings there were.
    pub more_warnings: usize,
}

fn usual_importance() -> u8 {
    50
}

impl Head {
    /// Returns an empty head, for a file of this kind that could not be read.
    pub fn unreadable(kind: Kind, problem: Problem) -> Head {
        Head { problems: vec![problem], ..Head::empty(kind) }
    }

    /// Returns a head with every field at its default.
    pub fn empty(kind: Kind) -> Head {
        Head { kind, importance: usual_importance(), ..Head::default() }
    }

    /// Returns the title with a status that says that the entry is not, or no longer, agreed.
    pub(crate) fn title_with_status(&self) -> String {
        match unsettled(self.status.as_deref()) {
            Some(status) => format!("{} ({status})", self.title),
            None => self.title.clone(),
        }
    }

    /// Returns the ids among the aliases, which name a folder; any other alias is a title.
    pub fn old_ids(&self) -> impl Iterator<Item = Id> {
        self.aliases.iter().filter(|alias| alias.contains('/')).filter_map(|alias| Id::parse(alias))
    }

    /// Returns when the content of the entry last changed: `updated_at`, else `created_at`.
    pub fn recency(&self) -> Option<DateTime<Utc>> {
        self.updated_at.max(self.created_at)
    }

    /// Returns the head without times in the future. The newest entries are shown first and kept, and an entry from the
    /// future would be the newest for years.
    #[must_use]
    pub fn without_future(self, now: DateTime<Utc>) -> Head {
        let come = |time: Option<DateTime<Utc>>| time.filter(|time| !is_ahead(*time, now));
        Head { created_at: come(self.created_at), updated_at: come(self.updated_at), ..self }
    }

    /// Returns how important it is where readers compare it with others: of its own, an agent says no more than is usual.
    pub(crate) fn weight(&self) -> u8 {
        if self.source.is_person() { self.importance } else { self.importance.min(usual_importance()) }
    }

    /// Returns whether the entry has expired at `now`.
    pub fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Returns whether it is knowledge that holds, and of which no person has said so: an agent wrote it.
    pub fn is_unreviewed(&self, now: DateTime<Utc>) -> bool {
        self.kind == Kind::Knowledge && !self.source.is_person() && !self.is_expired(now)
    }
}

/// The content of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The frontmatter, and measurements of the body.
    pub head: Head,
    /// Everything after the frontmatter, as in the file.
    pub body: String,
    /// What the note says of itself in a sentence: `description`, or another program's `summary`.
    pub description: Option<String>,
    /// The words of the description and of the body without markup, for the index.
    pub text: String,
}

impl Entry {
    /// Returns what there is to say of it: its description, then its body.
    pub(crate) fn said(&self) -> String {
        self.description.as_ref().map_or_else(|| self.body.clone(), |text| described(text, &self.body))
    }
}
