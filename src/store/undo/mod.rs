//! The log of changes in `state/undo/`, from which operations are taken back: one file for each operation.
//!
//! Every change of an entry file is written down before it is made, here and nowhere else, so no command can forget it.
//! The log is not synced: after a kill it has every change that was made, after a power cut perhaps not. A change that
//! cannot be written down is not made. It belongs to one user, machine and folder, and is never committed. What came with
//! the memory, or another user wrote, is never read; it goes when it is older than what is kept.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::thread;

use chrono::{DateTime, Utc};
use rustix::fs::OFlags;

use super::folder::{FileKind, Folder, explain, is_missing, is_outside};
use super::layout::Store;
use super::lock::{Guarded, Lock};

use super::operation_log::record::{
    FIRST, LoggedChange, LoggedOperation, NetChanges, OperationHead, append, begins_with_head,
};
use super::operation_log::{Current, MAX_BYTES, MAX_OPERATIONS, OperationFile, OperationScope, name_of, numbers};
use super::read::Unreadable;
use super::seal::SealKey;
use crate::error::Result;

/// The folder below `state/`.
const FOLDER: &str = "undo";
/// How many bytes are read to find out whether a file was written here: a header has about 100.
const HEAD_BYTES: u64 = 4 * 1024;
/// The highest number that a file from elsewhere may have. It is passed over, and one with a higher number is removed: no
/// number would be left.
const MAX_FOREIGN: u64 = 99_999_999;

impl Store {
    /// Makes everything that this thread changes one operation, until the result is dropped.
    pub(crate) fn operation(&self, command: &str, at: DateTime<Utc>) -> OperationScope {
        self.undo_log.enter(command, Some(at))
    }

    /// Notes that this thread's operation, which has changed nothing yet, takes back the one with this number.
    pub(crate) fn takes_back(&self, number: u64) {
        if let Some(current) = self.undo_log.threads().get_mut(&thread::current().id()) {
            current.undoes = Some(number);
        }
    }

    /// Notes that this thread's operation puts back its own changes from now on.
    pub(crate) fn puts_back(&self) {
        if let Some(current) = self.undo_log.threads().get_mut(&thread::current().id()) {
            current.puts_back = true;
        }
    }

    /// Returns the number of this thread's operation, if it has changed anything.
    pub(crate) fn operation_number(&self) -> Option<u64> {
        let threads = self.undo_log.threads();
        threads.get(&thread::current().id())?.file.as_ref().map(|file| file.number)
    }

    /// Writes down a change that is about to be made, with the bytes that it would lose.
    pub(super) fn before(&self, change: &LoggedChange, raw: &[u8]) -> io::Result<()> {
        let mut threads = self.undo_log.threads();
        // Every change is made under the lock, which has a scope.
        let Some(current) = threads.get_mut(&thread::current().id()) else { return Ok(()) };
        if current.puts_back {
            return Ok(());
        }
        let mut write_down = || {
            if current.file.is_none() {
                current.file = Some(self.open_operation(current)?);
            }
            // What takes back an operation can be taken back itself: nothing else has the texts that it removes.
            current.file.as_mut().map_or(Ok(()), |file| file.append(change, raw, current.undoes.is_some()))
        };
        write_down().map_err(|source| {
            let path = self.state().join(FOLDER);
            io::Error::new(source.kind(), UnwritableLog { path, source })
        })
    }

    /// Notes that the change that was written down last was made.
    pub(super) fn after(&self, change: &LoggedChange) {
        if let Some(current) = self.undo_log.threads().get_mut(&thread::current().id())
            && let Some(file) = &mut current.file
        {
            file.net.add(change);
        }
    }

    /// Creates the file of an operation, with its header.
    fn open_operation(&self, current: &Current) -> io::Result<OperationFile> {
        let key = self.make_state_key()?;
        let folder = self.make_undo_folder()?;
        let number = next_number(&folder, key)?;
        let at = current.at.unwrap_or_else(Utc::now);
        let head = OperationHead { number, at, command: current.command.clone(), undoes: current.undoes };
        let mut bytes = Vec::new();
        let sum = append(&mut bytes, &head, b"", (key, FIRST))?;
        let file = create_file(&folder, number, &bytes)?;
        let size = bytes.len() as u64;
        let net = NetChanges::default();
        let (head_size, head_sum) = (size, sum);
        Ok(OperationFile { folder, file, number, size, head_size, key, sum, head_sum, is_too_large: false, net })
    }

    /// Opens the folder, and creates it if it is missing. Something else of its name came with the memory: it is
    /// removed.
    fn make_undo_folder(&self) -> io::Result<Folder> {
        let state = self.folder("state")?;
        if state.stat_of(FOLDER).is_ok_and(|stat| stat.kind != FileKind::Folder) {
            state.remove_file(FOLDER)?;
        }
        self.make_state_folder(FOLDER)
    }

    /// Returns the operations that were written here, the newest first.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Io`] if the log, or a file of it, cannot be read: the operation before that is not the
    /// newest one. What another user wrote is left out, since this one may not read it.
    pub(crate) fn operations(&self) -> Result<Vec<LoggedOperation>> {
        let path = self.state().join(FOLDER);
        let failed = |error| explain("read", &path, error);
        let Some(key) = self.state_key().map_err(failed)? else { return Ok(Vec::new()) };
        let folder = match self.folder(&format!("state/{FOLDER}")) {
            Err(error) if is_missing(&error) || is_outside(&error) => return Ok(Vec::new()),
            folder => folder.map_err(failed)?,
        };
        let newest = numbers(&folder).map_err(failed)?.into_iter().rev();
        let read = newest.map(|(number, name)| match read_operation(&folder, &name, number, key) {
            Ok(operation) => Ok(operation),
            Err(Unreadable::Io(error)) if !folder.is_of_other_user(&name) => {
                Err(explain("read", path.join(name), error))
            }
            Err(_) => Ok(None),
        });
        let own = read.filter_map(Result::transpose).take(MAX_OPERATIONS);
        own.filter(|operation| !matches!(operation, Ok(operation) if operation.is_forgotten())).collect()
    }

    /// Removes all operations from the log, and returns how many there were. Their numbers are not used again: a person may
    /// still name one.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Io`]. Operations that were removed before stay so.
    pub(crate) fn forget_operations(&self, lock: &Lock) -> Result<usize> {
        lock.assert_guards(Guarded::Entries);
        let n_operations = self.operations()?.len();
        let clear = || {
            let key = self.make_state_key()?;
            let folder = self.make_undo_folder()?;
            let number = next_number(&folder, key)?.saturating_sub(1);
            folder.clear()?;
            if number > 0 {
                let head = OperationHead { number, at: Utc::now(), command: String::new(), undoes: None };
                let mut bytes = Vec::new();
                let sum = append(&mut bytes, &head, b"", (key, FIRST))?;
                append(&mut bytes, &LoggedChange::Forgotten, b"", (key, sum))?;
                create_file(&folder, number, &bytes)?;
            }
            Ok(n_operations)
        };
        clear().map_err(|error| explain("clear", self.state().join(FOLDER), error))
    }
}

/// Why the log could not be written, and so the change was not made.
#[derive(Debug)]
struct UnwritableLog {
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for UnwritableLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cannot write the undo log in `{}`", self.path.display())
    }
}

impl std::error::Error for UnwritableLog {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Creates the file of an operation with these bytes.
fn create_file(folder: &Folder, number: u64, bytes: &[u8]) -> io::Result<File> {
    let mut file = folder.open_private(&name_of(number), OFlags::WRONLY | OFlags::EXCL | OFlags::APPEND)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Reads an operation; `None` if it was not written here. Of a file from elsewhere only the beginning is read.
fn read_operation(
    folder: &Folder,
    name: &str,
    number: u64,
    key: SealKey,
) -> std::result::Result<Option<LoggedOperation>, Unreadable> {
    if !is_own(folder, name, number, key)? {
        return Ok(None);
    }
    let limit = usize::try_from(2 * MAX_BYTES).unwrap_or(usize::MAX);
    let bytes = folder.read(name, limit)?;
    Ok(LoggedOperation::read(bytes, number, key))
}

/// Returns whether a file begins with the header of the operation of this number, written here.
fn is_own(folder: &Folder, name: &str, number: u64, key: SealKey) -> std::result::Result<bool, Unreadable> {
    let mut head = Vec::new();
    folder.open_file(name)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(begins_with_head(&head, number, key))
}

/// Returns a number after all that are taken, whatever has them.
fn next_number(folder: &Folder, key: SealKey) -> io::Result<u64> {
    let mut found = numbers(folder)?;
    while let Some((number, name)) = found.pop() {
        if number <= MAX_FOREIGN {
            return Ok(number + 1);
        }
        match is_own(folder, &name, number, key) {
            Ok(true) => return Ok(number + 1),
            // It may be the newest operation.
            Err(Unreadable::Io(error)) if !folder.is_of_other_user(&name) => return Err(error),
            // One that stays does no harm: no operation gets its number.
            _ => drop(folder.remove_any(&name)),
        }
    }
    Ok(1)
}
