//! What callers see of operations, and of taking one back.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::history::{OperationHistory, OperationRole};
use crate::entry::Author;
use crate::entry::path::EntryPath;
use crate::error::Problem;
use crate::store::{LoggedChange, LoggedOperation};
use crate::text::choice;

/// How many paths of an operation are listed.
const MAX_FILES: usize = 20;

/// One operation in the log: what a command, a call of a tool or an attempt of a run changed.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Port of the proxy", ["proxy"], "It listens on 8443."))?;
/// let newest = &memory.operations()?[0];
/// assert_eq!((newest.number, newest.command.as_str(), newest.created), (1, "add", 1));
/// assert_eq!(newest.files[0].as_str(), ".ralph/knowledge/port-of-the-proxy.md");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// Its number; later operations have higher ones.
    pub number: u64,
    /// When it began.
    pub at: DateTime<Utc>,
    /// The command, the tool or the call of the library.
    pub command: String,
    /// Who asked for it.
    pub author: Author,
    /// The number of the operation that it took back, for an undo.
    pub undoes: Option<u64>,
    /// The number of the operation that it brought back, for a redo.
    pub redoes: Option<u64>,
    /// The number of the operation that took it back; `None` if it holds.
    pub taken_back_by: Option<u64>,
    /// How many files it created.
    pub created: usize,
    /// How often it changed a file.
    pub changed: usize,
    /// How often it moved a file.
    pub moved: usize,
    /// How many files it removed.
    pub removed: usize,
    /// The first 20 of its files.
    pub files: Vec<EntryPath>,
    /// Why it cannot be taken back whatever its files contain; `None` if it can be.
    pub refusal: Option<String>,
}

impl Operation {
    pub(super) fn of(logged: &LoggedOperation, history: &OperationHistory<'_>) -> Operation {
        let (undoes, redoes) = match history.role(logged) {
            OperationRole::Change => (None, None),
            OperationRole::Undo(number) => (Some(number), None),
            OperationRole::Redo(number) => (None, Some(number)),
        };
        let head = logged.head.clone();
        let count =
            |is_counted: fn(&LoggedChange) -> bool| logged.changes().filter(|(change, _)| is_counted(change)).count();
        let mut files: Vec<EntryPath> = Vec::new();
        for (path, ..) in logged.changes().flat_map(|(change, _)| change.files()) {
            if files.len() == MAX_FILES {
                break;
            }
            let path = EntryPath::new(path);
            if !files.contains(&path) {
                files.push(path);
            }
        }
        Operation {
            number: head.number,
            at: head.at,
            command: head.command,
            author: head.author,
            undoes,
            redoes,
            taken_back_by: history.taken_back_by(logged),
            created: count(|change| matches!(change, LoggedChange::Create { .. })),
            changed: count(|change| matches!(change, LoggedChange::Replace { .. })),
            moved: count(|change| matches!(change, LoggedChange::Move { .. })),
            removed: count(|change| matches!(change, LoggedChange::Remove { .. })),
            files,
            refusal: logged.is_too_large().then(|| "it changed more than the log keeps".to_owned()),
        }
    }
}

choice! {
    /// What taking back does to a file.
    ///
    /// ```
    /// use ralph_memory::memory::UndoAction;
    /// assert_eq!(UndoAction::Restored.as_str(), "restored");
    /// ```
    pub enum UndoAction {
        /// The operation created it; now it is gone.
        Removed = "removed",
        /// The operation removed it; now it is there again.
        Restored = "restored",
        /// The operation changed it; now it has its old bytes.
        Changed = "changed",
        /// The operation moved it; now it has its old path.
        Moved = "moved",
    }
}

/// A file that taking back changed, or would.
///
/// ```
/// use ralph_memory::memory::EntryChanges;
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let old = memory.add(&Knowledge::new("Colour of buttons", ["ui"], "Green."))?.id;
/// let new = memory.add(&Knowledge::new("Design system", ["ui"], "Use it."))?.id;
/// memory.change(&new, &EntryChanges::superseding([old]))?;
/// let planned = memory.undo(None, true)?.files.remove(0);
/// let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap_or_default());
/// assert!(text(planned.before)?.contains("supersedes:") && !text(planned.after)?.contains("supersedes:"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UndoneFile {
    /// What happens to it.
    pub action: UndoAction,
    /// Its path afterwards; for a removed one, its path before.
    pub path: EntryPath,
    /// Its path before, if it is moved.
    pub from: Option<EntryPath>,
    /// In a dry run, its bytes now, unless it is moved or does not exist.
    #[serde(skip)]
    pub before: Option<Vec<u8>>,
    /// In a dry run, its bytes afterwards, unless it is moved or there will be none.
    #[serde(skip)]
    pub after: Option<Vec<u8>>,
}

/// The result of [`Memory::undo`](crate::Memory::undo) and [`Memory::redo`](crate::Memory::redo).
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let id = memory.add(&Knowledge::new("Wrong port", ["proxy"], "It listens on 1."))?.id;
/// let undone = memory.undo(None, false)?;
/// assert_eq!((undone.operation.command.as_str(), undone.files.len()), ("add", 1));
/// assert!(memory.show(&id).is_err());
/// assert_eq!(memory.redo(false)?.operation.number, undone.operation.number);
/// assert!(memory.show(&id).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// The operation that was taken or brought back, or would be, as it was before.
    pub operation: Operation,
    /// The number of the operation that did that; `None` for a dry run.
    pub number: Option<u64>,
    /// What happened to each file, in order. A file that the operation changed several times is there as often.
    pub files: Vec<UndoneFile>,
    /// Problems on the way that a person should see.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}
