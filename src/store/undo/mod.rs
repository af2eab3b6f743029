//! The log of changes in `state/undo/`, from which operations are taken back: one file for each operation.
//!
//! Every change of an entry file is written down before it is made, here and nowhere else, so no command can forget it.
//! The log is not synced: after a kill it has every change that was made, after a power cut perhaps not. A change that
//! cannot be written down is not made. It belongs to one machine and one folder, and is never committed.

mod record;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use chrono::{DateTime, Utc};
use rustix::fs::{Mode, OFlags, openat};
use xxhash_rust::xxh3::xxh3_64;

pub(crate) use self::record::{Change, LoggedOperation};
use self::record::{NetChanges, OperationHead, append, begins_with_head};
use super::folder::{FileKind, Folder, explain, is_outside};
use super::layout::{Store, is_missing};
use super::lock::{Guarded, Lock};
use super::read::{Unreadable, open_regular, read_all, read_below};
use crate::error::Result;

/// The folder below `state/`.
const FOLDER: &str = "undo";
/// How many operations are kept.
const MAX_OPERATIONS: usize = 100;
/// How many bytes all of their files have at most, and so each of them.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// How many bytes are read to find out whether a file was written here: a header has about 100.
const HEAD_BYTES: u64 = 4 * 1024;
/// The longest name of a command, in bytes.
const MAX_COMMAND: usize = 60;
/// The mode of a file: it may contain text of a private entry.
const PRIVATE: Mode = Mode::from_raw_mode(0o600);
/// What an operation is called if its caller gave it no name.
const NAMELESS: &str = "change";

/// The operations of this process, one for each thread that changes something.
#[derive(Debug, Default)]
pub(super) struct UndoLog(Mutex<HashMap<ThreadId, Current>>);

/// The operation of a thread.
#[derive(Debug)]
struct Current {
    /// How many scopes it is in.
    depth: usize,
    command: String,
    at: Option<DateTime<Utc>>,
    undoes: Option<u64>,
    /// Its file, from its first change on.
    file: Option<OperationFile>,
}

#[derive(Debug)]
struct OperationFile {
    folder: Folder,
    file: File,
    number: u64,
    /// The length of the file, and that of its header.
    size: u64,
    head_size: u64,
    /// The checksums of the last part and of the header.
    sum: u64,
    head_sum: u64,
    is_too_large: bool,
    net: NetChanges,
}

/// Everything that its thread changes is one operation until this is dropped; inside of another one, until that is.
#[derive(Debug)]
pub struct OperationScope {
    log: Arc<UndoLog>,
    thread: ThreadId,
}

impl UndoLog {
    fn threads(&self) -> MutexGuard<'_, HashMap<ThreadId, Current>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation of this thread, unless one has begun.
    fn enter(self: &Arc<UndoLog>, command: &str, at: Option<DateTime<Utc>>) -> OperationScope {
        let thread = thread::current().id();
        let command = super::name::cut(command, MAX_COMMAND).to_owned();
        let mut threads = self.threads();
        threads.entry(thread).or_insert(Current { depth: 0, command, at, undoes: None, file: None }).depth += 1;
        OperationScope { log: Arc::clone(self), thread }
    }

    /// Does what [`UndoLog::enter`] does for whoever holds the lock and named no operation.
    pub(super) fn enter_nameless(self: &Arc<UndoLog>) -> OperationScope {
        self.enter(NAMELESS, None)
    }
}

impl Drop for OperationScope {
    fn drop(&mut self) {
        let mut threads = self.log.threads();
        let Some(current) = threads.get_mut(&self.thread) else { return };
        current.depth -= 1;
        if current.depth > 0 {
            return;
        }
        let ended = threads.remove(&self.thread).and_then(|current| current.file);
        drop(threads);
        if let Some(ended) = ended {
            ended.close();
        }
    }
}

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

    /// Returns the number of this thread's operation, if it has changed anything.
    pub(crate) fn operation_number(&self) -> Option<u64> {
        let threads = self.undo_log.threads();
        threads.get(&thread::current().id())?.file.as_ref().map(|file| file.number)
    }

    /// Writes down a change that is about to be made, with the bytes that it would lose.
    pub(super) fn before(&self, change: &Change, raw: &[u8]) -> io::Result<()> {
        let mut threads = self.undo_log.threads();
        // Every change is made under the lock, which has a scope.
        let Some(current) = threads.get_mut(&thread::current().id()) else { return Ok(()) };
        if current.file.is_none() {
            current.file = Some(self.open_operation(current)?);
        }
        let Some(file) = &mut current.file else { return Ok(()) };
        file.append(change, raw)
    }

    /// Notes that the change that was written down last was made.
    pub(super) fn after(&self, change: &Change) {
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
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, name_of(number), flags, PRIVATE)?);
        let at = current.at.unwrap_or_else(Utc::now);
        let head = OperationHead { number, at, command: current.command.clone(), undoes: current.undoes };
        let mut bytes = Vec::new();
        let sum = append(&mut bytes, &head, b"", key)?;
        file.write_all(&bytes)?;
        let size = bytes.len() as u64;
        let net = NetChanges::default();
        let (head_size, head_sum) = (size, sum);
        Ok(OperationFile { folder, file, number, size, head_size, sum, head_sum, is_too_large: false, net })
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
    /// [`crate::error::Error::Io`] if the log cannot be read.
    pub(crate) fn operations(&self) -> Result<Vec<LoggedOperation>> {
        let read = || {
            let Some(key) = self.state_key()? else { return Ok(Vec::new()) };
            let folder = match self.folder(&format!("state/{FOLDER}")) {
                Err(error) if is_missing(&error) || is_outside(&error) => return Ok(Vec::new()),
                folder => folder?,
            };
            let mut found = numbers(&folder)?;
            found.reverse();
            let read = found.into_iter().take(MAX_OPERATIONS).filter_map(|(number, name)| {
                let (file, stat) = open_regular(&folder, &name).ok()?;
                let size = u64::try_from(stat.st_size).ok()?;
                let limit = usize::try_from(2 * MAX_BYTES).ok()?;
                LoggedOperation::read(read_all(&file, size, limit).ok()?, number, key)
            });
            Ok(read.collect())
        };
        read().map_err(|error| explain("read", self.state().join(FOLDER), error))
    }

    /// Removes all operations from the log, and returns how many there were.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Io`]. Operations that were removed before stay so.
    pub(crate) fn forget_operations(&self, lock: &Lock) -> Result<usize> {
        lock.assert_guards(Guarded::Entries);
        let clear = || {
            let folder = self.make_undo_folder()?;
            let n_operations = numbers(&folder)?.len();
            folder.clear()?;
            Ok(n_operations)
        };
        clear().map_err(|error| explain("clear", self.state().join(FOLDER), error))
    }

    /// Returns the fingerprint of the file at `path`: `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it is not a regular file, or cannot be read.
    pub(crate) fn fingerprint(&self, path: &str) -> std::result::Result<Option<u64>, Unreadable> {
        match self.open_parent(path).map_err(Unreadable::from).and_then(|(folder, name)| fingerprint(&folder, name)) {
            Err(Unreadable::Missing) => Ok(None),
            result => result.map(Some),
        }
    }
}

impl OperationFile {
    fn append(&mut self, change: &Change, raw: &[u8]) -> io::Result<()> {
        if self.is_too_large {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let mut sum = append(&mut bytes, change, raw, self.sum)?;
        if self.size + bytes.len() as u64 > MAX_BYTES {
            self.is_too_large = true;
            bytes.clear();
            self.file.set_len(self.head_size)?;
            self.size = self.head_size;
            sum = append(&mut bytes, &Change::TooLarge, b"", self.head_sum)?;
        }
        // A part that is written in part is not whole, and none after it would be read.
        self.file.write_all(&bytes).inspect_err(|_| {
            let _ = self.file.set_len(self.size);
        })?;
        (self.size, self.sum) = (self.size + bytes.len() as u64, sum);
        Ok(())
    }

    /// Removes the file if the operation changed nothing, else the oldest of the others that are over the limits. A
    /// failure only leaves more than there should be.
    fn close(self) {
        if self.net.is_empty() {
            let _ = self.folder.remove_file(&name_of(self.number));
            return;
        }
        let Ok(found) = numbers(&self.folder) else { return };
        let (mut n_kept, mut n_bytes) = (0, 0);
        for (number, name) in found.into_iter().rev() {
            n_bytes += self.folder.stat_of(&name).map_or(0, |stat| stat.size);
            n_kept += 1;
            if number < self.number && (n_kept > MAX_OPERATIONS || n_bytes > MAX_BYTES) {
                let _ = self.folder.remove_file(&name);
            }
        }
    }
}

/// Returns the fingerprint of a file's bytes. One that is too large to be an entry is not read: it is known by its size
/// and its stamps, which a rename keeps.
pub(super) fn fingerprint(folder: &Folder, name: &str) -> std::result::Result<u64, Unreadable> {
    match read_below(folder, name) {
        Ok(file) => Ok(xxh3_64(&file.bytes)),
        Err(Unreadable::TooLarge { size }) => {
            let stat = folder.stat_of(name)?;
            Ok(xxh3_64(format!("{size} {} {}", stat.ino, stat.mtime).as_bytes()))
        }
        Err(unreadable) => Err(unreadable),
    }
}

/// Returns the number after the newest operation. Files above it that were not written here are removed: their numbers
/// may be of any size.
fn next_number(folder: &Folder, key: u64) -> io::Result<u64> {
    let mut found = numbers(folder)?;
    while let Some((number, name)) = found.pop() {
        let mut head = Vec::new();
        let opened = open_regular(folder, &name);
        if opened.is_ok_and(|(file, _)| file.take(HEAD_BYTES).read_to_end(&mut head).is_ok())
            && begins_with_head(&head, number, key)
        {
            return Ok(number + 1);
        }
        folder.remove_file(&name)?;
    }
    Ok(1)
}

/// Returns the operations in the folder, the oldest first, with the names of their files.
fn numbers(folder: &Folder) -> io::Result<Vec<(u64, String)>> {
    let names = folder.listing()?.into_iter().filter(|(_, kind)| *kind != FileKind::Folder);
    let mut found: Vec<(u64, String)> = names
        .filter_map(|(name, _)| {
            let name = name.into_string().ok()?;
            let number = name.parse().ok()?;
            (name_of(number) == name).then_some((number, name))
        })
        .collect();
    found.sort_unstable();
    Ok(found)
}

fn name_of(number: u64) -> String {
    format!("{number:08}")
}
