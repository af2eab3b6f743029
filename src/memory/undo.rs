//! Operations, their authors, and taking them back.

use super::Memory;
use crate::entry::Author;
use crate::error::Result;
use crate::knowledge::undo::{self, Operation, Undone};
use crate::store::OperationScope;

impl Memory {
    /// Makes what follows an act of this author, who decides what may be done to whose text. Without this, it is a person.
    #[must_use]
    pub fn by(mut self, author: Author) -> Memory {
        self.workspace.store.author = author;
        self
    }

    /// Makes everything that this thread changes one operation, until the result is dropped. Without this, each call
    /// that changes something is an operation of its own.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let operation = memory.operation("my-importer");
    /// for port in [80, 443] {
    ///     memory.add(&Knowledge::new(format!("Port {port}"), ["ports"], "It is open."))?;
    /// }
    /// drop(operation);
    /// let undone = memory.undo(None, false)?;
    /// assert_eq!((undone.operation.command.as_str(), undone.files.len()), ("my-importer", 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn operation(&self, command: &str) -> OperationScope {
        self.workspace.store.operation(command, self.workspace.now())
    }

    /// Returns the operations that can be taken back, the newest first: at most 300, with at most 32 MiB of text that
    /// they replaced or removed. (Older texts stay: see [`Memory::versions`].) The log is in `state/undo/`; what was written
    /// elsewhere is ignored.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io).
    pub fn operations(&self) -> Result<Vec<Operation>> {
        undo::operations(&self.workspace)
    }

    /// Takes back the newest operation that is in effect, or the one with this number: each file of it gets the bytes
    /// and the path that it had before. A second call without a number goes further back. With `dry_run` it only
    /// reports what it would do.
    ///
    /// If one of the files changed since, nothing is done. Files in `state/` are not restored.
    /// Taking back is an operation as well, which [`Memory::redo`] takes back.
    ///
    /// # Errors
    ///
    /// * [`Error::NoOperation`](crate::Error::NoOperation) where nothing in the log holds, or it has no such number. The
    ///   log lacks what [`Memory::init`] made, and what was changed before there was a log.
    /// * [`Error::ChangedSince`](crate::Error::ChangedSince) where a file changed since, and
    ///   [`Error::NotUndoable`](crate::Error::NotUndoable) where the operation, or taking it back, is too large for the
    ///   log, it is taken back already, nothing is left of it, or the last call was cut off.
    /// * [`Error::Locked`](crate::Error::Locked), and [`Error::Conflict`](crate::Error::Conflict) or
    ///   [`Error::Io`](crate::Error::Io) where an editor or the disk interfered: then nothing was done.
    /// * [`Error::HalfUndone`](crate::Error::HalfUndone) where what was done could not be put back:
    ///   [`Memory::redo`] takes it back.
    pub fn undo(&self, number: Option<u64>, dry_run: bool) -> Result<Undone> {
        let _operation = self.operation("undo");
        undo::undo(&self.workspace, number, dry_run)
    }

    /// Brings back what [`Memory::undo`] took back last, as long as nothing else was changed through this program since. A
    /// second call goes further forward.
    ///
    /// # Errors
    ///
    /// [`Error::NothingToRedo`](crate::Error::NothingToRedo), and those of [`Memory::undo`].
    pub fn redo(&self, dry_run: bool) -> Result<Undone> {
        let _operation = self.operation("redo");
        undo::redo(&self.workspace, dry_run)
    }

    /// Removes all operations from the log, with the old texts in it, and returns how many there were. Later operations go
    /// on with the numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`](crate::Error::Locked) and [`Error::Io`](crate::Error::Io).
    pub fn forget_operations(&self) -> Result<usize> {
        undo::forget_operations(&self.workspace)
    }
}
