//! The summary of an entry in lists: the same wherever entries are listed.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::knowledge::unsettled;
use super::time::timestamp;
use super::{EntryPath, Head, Id, Kind, Outcome, Scope, Source};

/// An entry without its body, as every list shows it.
///
/// ```
/// use ralph_memory::{Knowledge, Memory, Scope};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let scope = Scope::Feature("billing".into());
/// let added = memory.add(&Knowledge { scope, ..Knowledge::new("Round half to even", ["money"], "As banks do.") })?;
/// let summary = &memory.summaries(&[added.id])[0];
/// assert_eq!((summary.title.as_str(), summary.scope.to_string()), ("Round half to even", "feature:billing".into()));
/// assert!(!summary.archived && !summary.superseded);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EntrySummary {
    /// Its id.
    pub id: Id,
    /// Knowledge or journal.
    pub kind: Kind,
    /// Its file.
    pub path: EntryPath,
    /// Its title; empty when it has none.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its category.
    pub category: Option<String>,
    /// Its status, such as `accepted` or `deprecated`.
    pub status: Option<String>,
    /// Its outcome; only an attempt has one.
    pub outcome: Option<Outcome>,
    /// Its feature.
    pub feature: Option<String>,
    /// Its scope.
    pub scope: Scope,
    /// Who wrote it.
    pub source: Source,
    /// From 0 to 100.
    pub importance: u8,
    /// When it was created, or the attempt began, RFC 3339.
    pub created_at: Option<String>,
    /// When it was last changed, RFC 3339.
    pub updated_at: Option<String>,
    /// Whether it is in the archive.
    pub archived: bool,
    /// Whether it has expired.
    pub expired: bool,
    /// Whether a live entry that has not expired replaces it.
    pub superseded: bool,
    /// The layer that it is in: another memory that was searched with this one. Its id then begins with the layer's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
}

impl EntrySummary {
    /// Returns the status that says that the entry is not, or no longer, agreed, such as `proposed` or `deprecated`.
    pub fn unsettled(&self) -> Option<&'static str> {
        unsettled(self.status.as_deref())
    }

    /// Returns the summary of the entry with this head, whose file is `path` below `.ralph/`. `superseded` are the ids
    /// that live entries replace.
    pub(crate) fn new(id: Id, path: &str, head: Head, superseded: &HashSet<Id>, now: DateTime<Utc>) -> EntrySummary {
        let archived = path.starts_with("archive/");
        EntrySummary {
            expired: head.is_expired(now),
            superseded: superseded.contains(&id),
            id,
            kind: head.kind,
            path: EntryPath::new(path),
            title: head.title,
            tags: head.tags,
            category: head.category,
            status: head.status,
            outcome: head.attempt.map(|attempt| attempt.outcome),
            feature: head.feature,
            scope: head.scope,
            source: head.source,
            importance: head.importance,
            created_at: head.created_at.map(timestamp),
            updated_at: head.updated_at.map(timestamp),
            archived,
            layer: None,
        }
    }
}
