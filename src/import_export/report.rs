//! What became of an import.

use serde::Serialize;

use crate::entry::Id;
use crate::error::{Message, Problem};
use crate::text::choice;

choice! {
    /// What became of one item.
    ///
    /// ```
    /// use ralph_memory::memory::ImportAction;
    /// assert_eq!(ImportAction::Refused.as_str(), "refused");
    /// assert!(ImportAction::Refused.needs_a_person() && !ImportAction::Skipped.needs_a_person());
    /// ```
    #[derive(PartialOrd, Ord)]
    pub enum ImportAction {
        /// There is a new entry.
        Added = "added",
        /// Its source changed, and the entry was not edited: it has the new text, and its old version is in the archive.
        Updated = "updated",
        /// The source no longer has it, and the entry was not edited: it is in the archive.
        Archived = "archived",
        /// The source has it again, and an import archived it: the entry is live again, with the text of the source.
        Restored = "restored",
        /// The memory has it already.
        Unchanged = "unchanged",
        /// It is not imported, because of what it is.
        Skipped = "skipped",
        /// The memory has something else in its place, which is left alone.
        Conflict = "conflict",
        /// It looks like a secret, has invisible characters, or cannot be an entry.
        Refused = "refused",
    }
}

impl ImportAction {
    /// Returns whether the item is not in the memory, and a person has to decide about it.
    pub fn needs_a_person(self) -> bool {
        matches!(self, ImportAction::Conflict | ImportAction::Refused)
    }
}

/// Where an item comes from.
///
/// ```
/// use ralph_memory::memory::ImportOrigin;
/// let origin = ImportOrigin { path: "CLAUDE.md".into(), heading: Some("Tests".into()), line: Some(7) };
/// assert_eq!(origin.to_string(), "CLAUDE.md:7 (Tests)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportOrigin {
    /// The file: relative to the project if it is in it, else to the folder that was read.
    pub path: String,
    /// The heading in it.
    pub heading: Option<Message>,
    /// The line, from 1.
    pub line: Option<u32>,
}

impl ImportOrigin {
    /// Returns the origin of a whole file.
    pub(super) fn file(path: impl Into<String>) -> ImportOrigin {
        ImportOrigin { path: path.into(), heading: None, line: None }
    }
}

impl std::fmt::Display for ImportOrigin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        self.heading.as_ref().map_or(Ok(()), |heading| write!(formatter, " ({heading})"))
    }
}

/// What became of one item of a source. Texts have no secrets.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::{ImportAction, ImportInput, ImportRequest, ImportSource};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let lines = b"{\"title\":\"Retries\",\"body\":\"Three.\"}\n{\"title\":\"Empty\"}\n";
/// let report = memory.import(&ImportRequest::new(ImportSource::Jsonl, ImportInput::Text(lines.to_vec())))?;
/// let skipped = report.items.iter().find(|item| item.action == ImportAction::Skipped).ok_or("nothing")?;
/// assert_eq!(skipped.from.line, Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedItem {
    /// What became of it.
    pub action: ImportAction,
    /// The entry; none for what a dry run would add, and for what is not imported.
    pub id: Option<Id>,
    /// Its title.
    pub title: Message,
    /// Where it comes from.
    pub from: ImportOrigin,
    /// Why, if there is something to say.
    pub reason: Option<Message>,
}

impl ImportedItem {
    /// Returns an item without an entry.
    pub(super) fn new(action: ImportAction, from: ImportOrigin, title: &str) -> ImportedItem {
        ImportedItem { action, id: None, title: title.into(), from, reason: None }
    }

    /// Returns the item with its entry.
    pub(super) fn with_id(self, id: Option<Id>) -> ImportedItem {
        ImportedItem { id, ..self }
    }

    /// Returns the item with a reason.
    pub(super) fn because(self, reason: impl Into<Message>) -> ImportedItem {
        ImportedItem { reason: Some(reason.into()), ..self }
    }
}

/// What became of an import.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::{ImportAction, ImportInput, ImportRequest, ImportSource};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let line = b"{\"title\":\"Page size\",\"body\":\"50 rows.\"}".to_vec();
/// let report = memory.import(&ImportRequest::new(ImportSource::Jsonl, ImportInput::Text(line)))?;
/// assert_eq!((report.count(ImportAction::Added), report.items[0].title.as_str()), (1, "Page size"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Where the source was looked for, if nobody named a place.
    pub searched: Vec<String>,
    /// The files that were read.
    pub read: Vec<String>,
    /// What became of each item, in the order of the source.
    pub items: Vec<ImportedItem>,
    /// Problems on the way that a person should see.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

impl ImportReport {
    /// Adds an item that is skipped.
    pub(super) fn skip(&mut self, from: ImportOrigin, reason: impl Into<Message>) {
        self.skip_titled(from, "", reason);
    }

    /// Adds an item with a title that is skipped.
    pub(super) fn skip_titled(&mut self, from: ImportOrigin, title: &str, reason: impl Into<Message>) {
        self.items.push(ImportedItem::new(ImportAction::Skipped, from, title).because(reason));
    }

    /// Returns of how many items this became.
    pub fn count(&self, action: ImportAction) -> usize {
        self.items.iter().filter(|item| item.action == action).count()
    }
}
