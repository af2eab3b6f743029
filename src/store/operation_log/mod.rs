//! The operations of this process, and the file that each of them writes. It knows nothing about the folder layout.

pub(super) mod record;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use chrono::{DateTime, TimeDelta, Utc};

use self::record::{FIRST, LoggedChange, LoggedOperation, NetChanges, OperationHead, append, begins_with_head};
use super::folder::Folder;
use super::read::Unreadable;
use super::seal::{SUM_BYTES, SealKey, hex_digits};
use super::temp::{Durability, rename_new};
use crate::system::posix::fs::{Mode, OFlags};
use crate::text::floor;

/// How many operations can be taken back.
pub(super) const MAX_OPERATIONS: usize = 300;
/// The limit of all their files together, and so of each, in bytes. The older ones have the same limit.
pub(crate) const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// The limit of a record without its text, in bytes.
const MAX_RECORD: u64 = 16 * 1024;
/// The prefix of the folder of older operations, which are kept for the texts in them.
const OLDER: &str = "older-";
/// How many days they are kept.
const MAX_DAYS: i64 = 366;
/// How many are removed at once because of their age, so that a wrong clock costs no more.
const MAX_AGED: usize = 2;
/// How many bytes are read to find out whether a file was written here: a header has about 100.
const HEAD_BYTES: u64 = 4 * 1024;
/// The longest name of a command, in bytes.
const MAX_COMMAND: usize = 60;
/// What an operation is called if its caller gave it no name.
pub(super) const NAMELESS: &str = "change";

/// The operations of this process, one for each thread that changes something.
#[derive(Debug, Default)]
pub(super) struct UndoLog(Mutex<HashMap<ThreadId, Current>>);

/// The operation of a thread.
#[derive(Debug)]
pub(super) struct Current {
    /// How many scopes it is in.
    depth: usize,
    pub(super) command: String,
    pub(super) at: Option<DateTime<Utc>>,
    pub(super) undoes: Option<u64>,
    /// Whether it reverts its own changes. That needs no records, because no change is left to undo.
    pub(super) puts_back: bool,
    /// Its file, from its first change on.
    pub(super) file: Option<OperationFile>,
}

#[derive(Debug)]
pub(super) struct OperationFile {
    folder: Folder,
    pub(super) file: File,
    pub(super) number: u64,
    /// When the operation began.
    at: DateTime<Utc>,
    /// The length of the file.
    size: u64,
    key: SealKey,
    /// The checksum of the last part.
    sum: [u8; SUM_BYTES],
    /// Whether the name of the file is on the disk.
    is_durable: bool,
    pub(super) net: NetChanges,
}

/// Everything that its thread changes is one operation until this is dropped, or, inside another scope, until that one
/// is.
#[derive(Debug)]
pub struct OperationScope {
    log: Arc<UndoLog>,
    thread: ThreadId,
}

impl UndoLog {
    pub(super) fn threads(&self) -> MutexGuard<'_, HashMap<ThreadId, Current>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `to` with the operation of this thread, if one has begun.
    pub(super) fn with_current<T>(&self, to: impl FnOnce(&mut Current) -> T) -> Option<T> {
        self.threads().get_mut(&thread::current().id()).map(to)
    }

    /// Begins an operation of this thread, unless one has begun.
    pub(super) fn enter(self: &Arc<UndoLog>, command: &str, at: Option<DateTime<Utc>>) -> OperationScope {
        let thread = thread::current().id();
        self.threads().entry(thread).or_insert_with(|| Current::new(command, at)).depth += 1;
        OperationScope { log: Arc::clone(self), thread }
    }
}

impl Current {
    pub(super) fn new(command: &str, at: Option<DateTime<Utc>>) -> Current {
        let command = command[..floor(command, MAX_COMMAND)].to_owned();
        Current { depth: 0, command, at, undoes: None, puts_back: false, file: None }
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

impl OperationFile {
    /// Creates the file of an operation, with its header and these records.
    pub(super) fn create(
        folder: Folder,
        head: &OperationHead,
        changes: &[LoggedChange],
        key: SealKey,
    ) -> io::Result<OperationFile> {
        let mut bytes = Vec::new();
        let mut sum = append(&mut bytes, head, b"", (key, FIRST))?;
        for change in changes {
            sum = append(&mut bytes, change, b"", (key, sum))?;
        }
        let flags = OFlags::WRONLY | OFlags::EXCL | OFlags::APPEND;
        let mut file = folder.open_private(&name_of(head.number), flags)?;
        file.write_all(&bytes)?;
        let (number, at, size, net) = (head.number, head.at, bytes.len() as u64, NetChanges::default());
        Ok(OperationFile { folder, file, number, at, size, key, sum, is_durable: false, net })
    }

    /// Returns whether the file has room for a record with this text.
    pub(super) fn has_room(&self, text: &[u8]) -> bool {
        self.size + MAX_RECORD + text.len() as u64 <= MAX_BYTES
    }

    /// Writes a record. If it has a text, it is on disk when this returns, because the text will soon exist nowhere
    /// else.
    pub(super) fn append(&mut self, change: &LoggedChange, text: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let sum = append(&mut bytes, change, text, (self.key, self.sum))?;
        // After a part that was only half written, no further part would be read.
        let cut_back = |_: &io::Error| drop(self.file.set_len(self.size));
        (&self.file).write_all(&bytes).inspect_err(cut_back)?;
        if !text.is_empty() {
            self.file.sync_data().inspect_err(cut_back)?;
            if !self.is_durable {
                self.folder.sync().inspect_err(cut_back)?;
                self.is_durable = true;
            }
        }
        (self.size, self.sum) = (self.size + bytes.len() as u64, sum);
        Ok(())
    }

    /// Removes the file, as far as that is possible.
    pub(super) fn remove(&self) {
        let _ = self.folder.remove_file(&name_of(self.number));
    }

    /// Removes the file if the operation changed nothing. Otherwise, other operations over the limits are moved to the
    /// older ones if they have texts, and removed if not. A failure only leaves more files than there should be.
    pub(super) fn close(self) {
        if self.net.is_empty() {
            return self.remove();
        }
        let Ok(found) = numbers(&self.folder) else { return };
        let (mut n_kept, mut n_bytes, mut has_retired) = (0, 0, false);
        for (number, name) in found.into_iter().rev() {
            n_bytes += self.folder.stat_of(&name).map_or(0, |stat| stat.size);
            n_kept += 1;
            if number < self.number && (n_kept > MAX_OPERATIONS || n_bytes > MAX_BYTES) {
                has_retired |= self.retire(number, &name).unwrap_or_default();
            }
        }
        if has_retired {
            let _ = self.remove_oldest();
        }
    }

    /// Moves a file to the older operations if it has texts, and otherwise removes it. Returns whether it was moved.
    fn retire(&self, number: u64, name: &str) -> io::Result<bool> {
        match read_operation(&self.folder, name, number, self.key) {
            Ok(Some(operation)) if operation.has_text() => {
                rename_new((&self.folder, name), (&self.make_older()?, name))?;
                Ok(true)
            }
            Err(Unreadable::Io(error)) if !self.folder.is_of_other_user(name) => Err(error),
            _ => self.folder.remove_any(name).map(|()| false),
        }
    }

    /// Opens the folder of older operations, and creates it if it is missing. Such folders from other places are
    /// removed, because nothing reads them.
    fn make_older(&self) -> io::Result<Folder> {
        let own = older_name(self.key);
        if self.folder.stat_of(&own).is_err() {
            for name in self.folder.names()?.into_iter().filter_map(|name| name.into_string().ok()) {
                if name.starts_with(OLDER) {
                    self.folder.remove_any(&name)?;
                }
            }
        }
        self.folder.make_folders(&own, Mode::RWXU, Durability::Unsynced, &mut |_| Ok(()))
    }

    /// Removes the oldest operations beyond the size limit or the age limit.
    fn remove_oldest(&self) -> io::Result<()> {
        let older = self.make_older()?;
        let found = numbers(&older)?;
        let mut n_bytes = 0;
        for (_, name) in found.iter().rev() {
            n_bytes += older.stat_of(name).map_or(0, |stat| stat.size);
            if n_bytes > MAX_BYTES {
                older.remove_any(name)?;
            }
        }
        let is_aged = |(number, name): &&(u64, String)| {
            let operation = read_operation(&older, name, *number, self.key).ok().flatten();
            operation.is_some_and(|operation| operation.head.at < self.at - TimeDelta::days(MAX_DAYS))
        };
        found.iter().take(MAX_AGED).take_while(is_aged).try_for_each(|(_, name)| older.remove_any(name))
    }
}

/// Returns the name of the folder of older operations that were written here. Nobody else can guess it.
pub(super) fn older_name(key: SealKey) -> String {
    format!("{OLDER}{}", hex_digits(&key.derive("older operations", b"").sum(&[])[..8]))
}

/// Reads an operation; `None` if it was not written here. Only the beginning of a file from elsewhere is read.
pub(super) fn read_operation(
    folder: &Folder,
    name: &str,
    number: u64,
    key: SealKey,
) -> Result<Option<LoggedOperation>, Unreadable> {
    if !is_own(folder, name, number, key)? {
        return Ok(None);
    }
    let limit = usize::try_from(2 * MAX_BYTES).unwrap_or(usize::MAX);
    let bytes = folder.read(name, limit)?;
    Ok(LoggedOperation::read(bytes, number, key))
}

/// Returns whether a file begins with a header, written here, of the operation with this number.
pub(super) fn is_own(folder: &Folder, name: &str, number: u64, key: SealKey) -> Result<bool, Unreadable> {
    let mut head = Vec::new();
    folder.open_file(name)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(begins_with_head(&head, number, key))
}

/// Returns the numbers that are taken in the folder, the smallest first, with their names: those of operations, and of
/// whatever else came with the memory.
pub(super) fn numbers(folder: &Folder) -> io::Result<Vec<(u64, String)>> {
    let mut found: Vec<(u64, String)> = folder
        .names()?
        .into_iter()
        .filter_map(|name| {
            let name = name.into_string().ok()?;
            let number = name.parse().ok()?;
            (name_of(number) == name).then_some((number, name))
        })
        .collect();
    found.sort_unstable();
    Ok(found)
}

pub(super) fn name_of(number: u64) -> String {
    format!("{number:08}")
}
