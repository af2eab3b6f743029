//! The operations of this process, and the file that each of them writes. It knows nothing about the folder layout.

pub(super) mod record;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use chrono::{DateTime, Utc};

use self::record::{LoggedChange, NetChanges, append};
use super::folder::Folder;
use super::name::cut;
use super::seal::{SUM_BYTES, SealKey};

/// How many operations are kept.
pub(super) const MAX_OPERATIONS: usize = 100;
/// How many bytes all of their files have at most, and so each of them.
pub(crate) const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// The longest name of a command, in bytes.
const MAX_COMMAND: usize = 60;
/// What an operation is called if its caller gave it no name.
const NAMELESS: &str = "change";

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
    /// Whether it puts its own changes back. That needs no records: after it, there is no change to undo.
    pub(super) puts_back: bool,
    /// Its file, from its first change on.
    pub(super) file: Option<OperationFile>,
}

#[derive(Debug)]
pub(super) struct OperationFile {
    pub(super) folder: Folder,
    pub(super) file: File,
    pub(super) number: u64,
    /// The length of the file, and that of its header.
    pub(super) size: u64,
    pub(super) head_size: u64,
    pub(super) key: SealKey,
    /// The checksums of the last part and of the header.
    pub(super) sum: [u8; SUM_BYTES],
    pub(super) head_sum: [u8; SUM_BYTES],
    pub(super) is_too_large: bool,
    pub(super) net: NetChanges,
}

/// Everything that its thread changes is one operation until this is dropped; inside of another one, until that is.
#[derive(Debug)]
pub struct OperationScope {
    log: Arc<UndoLog>,
    thread: ThreadId,
}

impl UndoLog {
    pub(super) fn threads(&self) -> MutexGuard<'_, HashMap<ThreadId, Current>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation of this thread, unless one has begun.
    pub(super) fn enter(self: &Arc<UndoLog>, command: &str, at: Option<DateTime<Utc>>) -> OperationScope {
        let thread = thread::current().id();
        let command = cut(command, MAX_COMMAND).to_owned();
        let mut threads = self.threads();
        threads
            .entry(thread)
            .or_insert(Current { depth: 0, command, at, undoes: None, puts_back: false, file: None })
            .depth += 1;
        OperationScope { log: Arc::clone(self), thread }
    }

    /// Does what [`UndoLog::enter`] does, for a caller that holds the lock and named no operation.
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

impl OperationFile {
    /// Writes a record down. Above the limit nothing of the operation is kept, or, with `must_fit`, the record is refused.
    pub(super) fn append(&mut self, change: &LoggedChange, raw: &[u8], must_fit: bool) -> io::Result<()> {
        if self.is_too_large {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let mut sum = append(&mut bytes, change, raw, (self.key, self.sum))?;
        if self.size + bytes.len() as u64 > MAX_BYTES {
            if must_fit {
                return Err(io::Error::other("an operation has more text than the log keeps, which is 32 MiB"));
            }
            self.is_too_large = true;
            bytes.clear();
            self.file.set_len(self.head_size)?;
            self.size = self.head_size;
            sum = append(&mut bytes, &LoggedChange::TooLarge, b"", (self.key, self.head_sum))?;
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
                let _ = self.folder.remove_any(&name);
            }
        }
    }
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
