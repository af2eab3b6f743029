//! What became of an import.

use serde::Serialize;

use crate::entry::Id;
use crate::error::{Message, Problem};
use crate::store::Unreadable;
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
        /// Its source changed and nobody edited the entry, which has the new text.
        Updated = "updated",
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
/// let origin = ImportOrigin { path: "CLAUDE.md".into(), line: Some(7) };
/// assert_eq!(origin.to_string(), "CLAUDE.md:7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportOrigin {
    /// The file: relative to the project if it is in it, else to the folder that was read.
    pub path: String,
    /// The line, from 1.
    pub line: Option<usize>,
}

impl ImportOrigin {
    /// Returns the origin of a whole file.
    pub(super) fn file(path: impl Into<String>) -> ImportOrigin {
        ImportOrigin { path: path.into(), line: None }
    }
}

impl std::fmt::Display for ImportOrigin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.path)?;
        self.line.map_or(Ok(()), |line| write!(formatter, ":{line}"))
    }
}

/// What became of one item. Texts have no secrets.
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
/// use ralph_memory::memory::{ImportAction, ImportInput, ImportRequest};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let lines = b"{\"title\":\"Page size\",\"body\":\"50 rows.\"}\n{\"title\":\"Empty\"}\n".to_vec();
/// let report = memory.import(&ImportRequest::new(ImportInput::Text(lines)))?;
/// assert_eq!((report.count(ImportAction::Added), report.count(ImportAction::Skipped)), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// The files that were read.
    pub read: Vec<String>,
    /// What became of each item, in the order of the files.
    pub items: Vec<ImportedItem>,
    /// Problems on the way that a person should see.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

impl ImportReport {
    /// Adds an item that is skipped.
    pub(super) fn skip(&mut self, from: ImportOrigin, title: &str, reason: impl Into<Message>) {
        self.items.push(ImportedItem::new(ImportAction::Skipped, from, title).because(reason));
    }

    /// Returns of how many items this became.
    pub fn count(&self, action: ImportAction) -> usize {
        self.items.iter().filter(|item| item.action == action).count()
    }
}

/// Returns why a file cannot be read.
pub(super) fn reason_of(unreadable: &Unreadable) -> String {
    match unreadable {
        Unreadable::Missing => "it is gone".to_owned(),
        Unreadable::Link => "it is a link, and links are not followed".to_owned(),
        Unreadable::NotAFile => "it is not a regular file".to_owned(),
        Unreadable::TooLarge { size } => format!("it has {size} bytes, and the limit is 4 MiB; split it"),
        Unreadable::Io(error) => format!("it cannot be read: {error}"),
    }
}
