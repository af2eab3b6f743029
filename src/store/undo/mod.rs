//! The log of changes in `state/undo/`, with one file for each operation that can be taken back.
//!
//! Every change of an entry file is logged before it is made, only here, so that no command can forget it. A change
//! that cannot be logged is not made. A replaced or removed text exists nowhere else, so its record is on disk before
//! the file changes. Other records may be lost in a power cut. Older operations cannot be taken back, but are kept for
//! their texts. The log belongs to one user, machine and folder, and is never committed. A record that came with the
//! memory, or that another user wrote, is never read. It is removed once it is older than the records that are kept.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use chrono::{DateTime, Utc};
use xxhash_rust::xxh3::xxh3_64;

use super::folder::{FileKind, Folder, explain, is_missing, is_outside};
use super::layout::Store;
use super::lock::{Guarded, Lock};
use crate::system::posix::fs::Mode;

use super::operation_log::record::{LoggedChange, LoggedOperation, OperationHead};
use super::operation_log::{
    Current, MAX_OPERATIONS, OperationFile, OperationScope, is_own, numbers, older_name, read_operation,
};
use super::read::Unreadable;
use super::seal::SealKey;
use super::temp::Durability;
use crate::error::Result;

/// The folder below `state/`.
const FOLDER: &str = "undo";
/// How many bytes of a file that a person edits are logged and taken back, in bytes: more than an entry may have, so that what
/// is refused for its length is not lost.
pub(crate) const MAX_EDITED_BYTES: usize = 16 * 1024 * 1024;
/// The highest number that a file from elsewhere may have. Such a file is skipped; one with a higher number is removed,
/// because it could leave no number free.
const MAX_FOREIGN: u64 = 99_999_999;

impl Store {
    /// Makes everything that this thread changes one operation, until the result is dropped.
    pub(crate) fn operation(&self, command: &str, at: DateTime<Utc>) -> OperationScope {
        self.undo_log.enter(command, Some(at))
    }

    /// Notes that this thread's operation, which has changed nothing yet, takes back the one with this number.
    pub(crate) fn takes_back(&self, number: u64) {
        self.undo_log.with_current(|current| current.undoes = Some(number));
    }

    /// Returns whether this thread's operation takes back another.
    pub(super) fn is_taking_back(&self) -> bool {
        self.undo_log.with_current(|current| current.undoes.is_some()).unwrap_or_default()
    }

    /// Notes that this thread's operation reverts its own changes from now on.
    pub(crate) fn puts_back(&self) {
        self.undo_log.with_current(|current| current.puts_back = true);
    }

    /// Returns the number of this thread's operation, if it has changed anything.
    pub(crate) fn operation_number(&self) -> Option<u64> {
        self.undo_log.with_current(|current| current.file.as_ref().map(|file| file.number)).flatten()
    }

    /// Logs a change that is about to be made, with the bytes that it would lose.
    pub(super) fn before(&self, change: &LoggedChange, raw: &[u8]) -> io::Result<()> {
        self.n_changes.fetch_add(1, Ordering::Relaxed);
        let write_down = |current: &mut Current| {
            if current.puts_back {
                return Ok(());
            }
            let mut file = match current.file.take() {
                Some(file) if file.has_room(raw) => file,
                // An operation that takes back another must itself fit into the log, so that it can be taken back.
                Some(file) if current.undoes.is_some() => {
                    current.file = Some(file);
                    return Err(io::Error::other("an operation has more text than the log keeps, which is 32 MiB"));
                }
                // Its further changes go to another file. It cannot be taken back, but its texts are kept.
                Some(mut full) => {
                    full.append(&LoggedChange::TooLarge, b"")?;
                    full.close();
                    self.open_operation(current, &[LoggedChange::TooLarge])?
                }
                None => self.open_operation(current, &[])?,
            };
            let appended = file.append(change, raw);
            current.file = Some(file);
            appended
        };
        // Every change is made under the lock, which has a scope.
        self.undo_log.with_current(write_down).unwrap_or(Ok(())).map_err(|source| {
            let path = self.state().join(FOLDER);
            io::Error::new(source.kind(), UnwritableLog { path, source })
        })
    }

    /// Notes that the last logged change was made.
    pub(super) fn after(&self, change: &LoggedChange) {
        self.undo_log.with_current(|current| current.file.iter_mut().for_each(|file| file.net.add(change)));
    }

    /// Logs what another program, such as an editor, did with a file: it replaced these bytes with others, or removed them.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Io`].
    pub(crate) fn log_replaced(&self, lock: &Lock, path: &str, before: &[u8], after: Option<&[u8]>) -> Result<()> {
        lock.assert_guards(Guarded::Entries);
        let (path, fingerprint) = (path.to_owned(), xxh3_64(before));
        let change = match after {
            Some(after) => LoggedChange::Replace { path, before: fingerprint, after: xxh3_64(after) },
            None => LoggedChange::Remove { path, before: fingerprint, mode: None },
        };
        self.before(&change, before).map_err(|error| explain("log", self.state().join(FOLDER), error))?;
        self.after(&change);
        Ok(())
    }

    /// Logs the text of a file that a person is about to edit, as an operation of its own: it stays if the process is killed.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Io`].
    pub(crate) fn keep_text(&self, lock: &Lock, path: &str, text: &[u8], at: DateTime<Utc>) -> Result<KeptText> {
        lock.assert_guards(Guarded::Entries);
        let change = LoggedChange::Replace { path: path.to_owned(), before: xxh3_64(text), after: 0 };
        let kept = || {
            let mut file = self.open_operation(&Current::new("edit", Some(at)), &[])?;
            file.append(&change, text).inspect_err(|_| file.remove())?;
            Ok(KeptText(file))
        };
        kept().map_err(|error| explain("log", self.state().join(FOLDER), error))
    }

    /// Creates the file of an operation, with its header and these records.
    fn open_operation(&self, current: &Current, changes: &[LoggedChange]) -> io::Result<OperationFile> {
        let key = self.make_state_key()?;
        let folder = self.make_undo_folder()?;
        let (number, at) = (next_number(&folder, key)?, current.at.unwrap_or_else(Utc::now));
        let (command, author) = (current.command.clone(), self.author.clone());
        let head = OperationHead { number, at, command, undoes: current.undoes, author };
        OperationFile::create(folder, &head, changes, key)
    }

    /// Opens the folder, and creates it if it is missing. Anything else with its name came with the memory, and is
    /// removed.
    fn make_undo_folder(&self) -> io::Result<Folder> {
        let state = self.folder("state")?;
        match state.stat_of(FOLDER) {
            Ok(stat) if stat.kind == FileKind::Folder => return self.folder(&format!("state/{FOLDER}")),
            Ok(_) => state.remove_file(FOLDER)?,
            Err(_) => {}
        }
        let folder = state.make_folders(FOLDER, Mode::RWXU, Durability::Synced, &mut |_| Ok(()))?;
        // Something else may have created `state/`.
        self.folder("")?.sync()?;
        Ok(folder)
    }

    /// Returns the operations that were written here and can be taken back, the newest first.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Io`] if the log or one of its files cannot be read: the operation before that file would
    /// not be the newest one. Files of another user are left out, because this one may not read them.
    pub(crate) fn operations(&self) -> Result<Vec<LoggedOperation>> {
        let Some(key) = self.log_key()? else { return Ok(Vec::new()) };
        let mut operations = Vec::new();
        self.visit_log(FOLDER, key, &mut |operation| {
            operations.push(operation);
            operations.len() < MAX_OPERATIONS
        })?;
        operations.retain(|operation| !operation.is_forgotten());
        Ok(operations)
    }

    /// Calls `visit` with each operation that was written here, the newest first, including the older ones, which are
    /// kept for their texts.
    ///
    /// # Errors
    ///
    /// Those of [`Store::operations`].
    pub(crate) fn visit_operations(&self, visit: &mut dyn FnMut(&LoggedOperation)) -> Result<()> {
        let Some(key) = self.log_key()? else { return Ok(()) };
        for folder in [FOLDER.to_owned(), format!("{FOLDER}/{}", older_name(key))] {
            self.visit_log(&folder, key, &mut |operation| {
                visit(&operation);
                true
            })?;
        }
        Ok(())
    }

    fn log_key(&self) -> Result<Option<SealKey>> {
        self.state_key().map_err(|error| explain("read", self.state().join(FOLDER), error))
    }

    /// Calls `visit` with each operation in a folder below `state/`, the newest first, as long as it returns true.
    fn visit_log(&self, folder: &str, key: SealKey, visit: &mut dyn FnMut(LoggedOperation) -> bool) -> Result<()> {
        let path = self.state().join(folder);
        let failed = |error| explain("read", &path, error);
        let folder = match self.folder(&format!("state/{folder}")) {
            Err(error) if is_missing(&error) || is_outside(&error) => return Ok(()),
            folder => folder.map_err(failed)?,
        };
        for (number, name) in numbers(&folder).map_err(failed)?.into_iter().rev() {
            match read_operation(&folder, &name, number, key) {
                Ok(Some(operation)) => {
                    if !visit(operation) {
                        return Ok(());
                    }
                }
                Err(Unreadable::Io(error)) if !folder.is_of_other_user(&name) => {
                    return Err(explain("read", path.join(name), error));
                }
                Ok(None) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Removes all operations from the log, and returns how many there were. Their numbers are not reused, because a
    /// person may still name one.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Io`]. Operations that were removed before stay removed.
    pub(crate) fn forget_operations(&self, lock: &Lock) -> Result<usize> {
        lock.assert_guards(Guarded::Entries);
        let n_operations = self.operations()?.len();
        let clear = || {
            let key = self.make_state_key()?;
            let folder = self.make_undo_folder()?;
            let number = next_number(&folder, key)?.saturating_sub(1);
            folder.clear()?;
            if number > 0 {
                let author = self.author.clone();
                let head = OperationHead { number, at: Utc::now(), command: String::new(), undoes: None, author };
                OperationFile::create(folder, &head, &[LoggedChange::Forgotten], key)?;
            }
            Ok(n_operations)
        };
        clear().map_err(|error| explain("clear", self.state().join(FOLDER), error))
    }
}

/// A text that the log keeps while a person edits its file.
#[derive(Debug)]
pub struct KeptText(OperationFile);

impl KeptText {
    /// Returns the number of its operation.
    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// Removes it from the log, which has it as part of the edit by now, or the file has it.
    pub fn remove(self) {
        self.0.remove();
    }
}

/// Why the log could not be written, and so the change was not made.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the undo log in `{}`", path.display())]
struct UnwritableLog {
    path: PathBuf,
    source: io::Error,
}

/// Returns a number higher than all taken ones, whatever took them.
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
            // If it stays, it does no harm: no operation gets its number.
            _ => drop(folder.remove_any(&name)),
        }
    }
    Ok(1)
}

#[cfg(test)]
mod tests;
