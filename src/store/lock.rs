//! Locks between processes.
//!
//! A lock is held on a file that is never removed: the existence of the file means nothing. The system releases the
//! lock when the process ends, however it ends. Only this user can open the file, and so hold the lock. The text that a holder writes into the file is only for messages.

use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::time::{Duration, Instant};

use super::folder::{FileStat, Folder, explain};
use super::layout::Store;
use super::operation_log::{NAMELESS, OperationScope};
use super::private::make_private;
use crate::error::{Error, Result};
use crate::system::posix::FileExt as _;
use crate::system::posix::fd::AsFd as _;
use crate::system::posix::fs::{Mode, Stat, fstat};
use crate::system::posix::host;

/// The name of a lock file, in its folder.
pub(super) const LOCK: &str = "lock";
/// How long to wait between two tries: the same for all, so that no newer process overtakes the older ones again and again.
const PAUSE: Duration = Duration::from_millis(2);
/// How long a command waits for the lock of the cache, which it can do without.
const CACHE_TIMEOUT: Duration = Duration::from_millis(250);
/// The longest text of a holder that is read, in bytes.
const MAX_HOLDER_BYTES: usize = 200;

/// What a lock protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guarded {
    /// Entry files and `state/`.
    Entries,
    /// `cache/`.
    Cache,
}

impl Guarded {
    pub(super) fn folder(self) -> &'static str {
        match self {
            Guarded::Entries => "state",
            Guarded::Cache => "cache",
        }
    }
}

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    guarded: Guarded,
    was_abandoned: bool,
    /// Every change made under the entry lock is an operation, unless it is part of a longer one.
    _operation: Option<OperationScope>,
}

impl Store {
    /// Takes the lock of the entry files, `state/lock`, which every writing call needs. With a timeout of zero it tries
    /// once.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`], with the holder's text about itself, if it did not become free in time; [`Error::Io`] if the
    /// lock file cannot be created or opened.
    pub fn lock(&self, timeout: Duration) -> Result<Lock> {
        self.take_lock(Guarded::Entries, timeout, &mut || {})
    }

    /// Takes the lock of `cache/`, under which the catalog is saved and the index committed.
    ///
    /// `None` means that another process held it for 250 ms, or that the cache cannot be written; the caller then
    /// continues without saving.
    pub fn cache_lock(&self) -> Option<Lock> {
        self.take_lock(Guarded::Cache, CACHE_TIMEOUT, &mut || {}).ok()
    }

    /// Takes the lock of `cache/`, for a caller that cannot continue without it.
    ///
    /// # Errors
    ///
    /// Those of [`Store::lock`].
    pub fn wait_for_cache_lock(&self, timeout: Duration) -> Result<Lock> {
        self.take_lock(Guarded::Cache, timeout, &mut || {})
    }

    /// Takes a lock, and calls `interrupt` whenever the file is open and not yet locked, so that tests can interfere
    /// there.
    pub(super) fn take_lock(&self, guarded: Guarded, timeout: Duration, interrupt: &mut dyn FnMut()) -> Result<Lock> {
        let file = self.lock_file(guarded.folder(), timeout, interrupt)?;
        // A holder removes its text when it releases the lock.
        let was_abandoned = holder(&file).is_some();
        if was_abandoned && guarded == Guarded::Cache {
            self.sweep_cache();
        }
        let operation = (guarded == Guarded::Entries).then(|| self.undo_log.enter(NAMELESS, None));
        introduce(&file);
        Ok(Lock { file, guarded, was_abandoned, _operation: operation })
    }

    /// Locks [`LOCK`] in a folder below `.ralph/`, which nobody else can read from then on. Creates both if they are
    /// missing.
    fn lock_file(&self, folder: &str, timeout: Duration, interrupt: &mut dyn FnMut()) -> Result<File> {
        let path = self.full_path(folder).join(LOCK);
        let started = Instant::now();
        loop {
            let open = || {
                let folder = self.make_folders(folder)?;
                make_private(folder.as_fd(), Mode::RWXU)?;
                Ok((folder.open_lock_file(LOCK)?, folder))
            };
            let (file, folder) = open().map_err(|error| explain("lock", &path, error))?;
            interrupt();
            match file.try_lock() {
                // The folder may have been removed while this process waited, and with it the file: another process then
                // locks another file of the same name.
                Ok(()) if is_removed(&folder, LOCK, &file) => continue,
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(explain("lock", path, error)),
            }
            let waited = started.elapsed();
            if waited >= timeout {
                let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
                return Err(Error::Locked { path, waited_ms, holder: holder(&file) });
            }
            std::thread::sleep(PAUSE.min(timeout.saturating_sub(waited)));
        }
    }
}

impl Lock {
    /// Fails in tests if a call gets the wrong lock.
    pub(super) fn assert_guards(&self, guarded: Guarded) {
        debug_assert_eq!(self.guarded, guarded, "this call needs the other lock");
    }

    /// Returns whether the previous holder ended without releasing the lock: it may have left temporary files.
    pub fn was_abandoned(&self) -> bool {
        self.was_abandoned
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The next holder then knows that nothing was left half-done. If this fails, it checks all files.
        let _ = self.file.set_len(0);
        // A child that is being started shares the open file until it runs its own program, so closing this end alone
        // would not always release the lock.
        let _ = self.file.unlock();
    }
}

/// Writes the holder's text. A failure is harmless: a message then names no holder.
fn introduce(file: &File) {
    let message = format!("pid {} on {} ({})\n", std::process::id(), host(), command());
    let _ = file.set_len(0);
    let _ = file.write_all_at(message.as_bytes(), 0);
}

/// Returns whether the open file is deleted. Both signs are checked, because some file systems count no links, and some
/// have no stable numbers.
fn is_removed(folder: &Folder, name: &str, file: &File) -> bool {
    let is_other = |open: &Stat| folder.stat_of(name).map_or(true, |named| named.ino != FileStat::from_raw(open).ino);
    fstat(file).is_ok_and(|open| open.st_nlink == 0 && is_other(&open))
}

/// Returns the program's name and its command, without other arguments: those may contain anything.
fn command() -> String {
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let program = std::path::Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_command = |word: &String| word.len() <= 20 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    match arguments.next().and_then(|word| word.into_string().ok()).filter(is_command) {
        Some(word) => format!("{program} {word}"),
        None => program,
    }
}

/// Reads the holder's text. The file may come from anywhere, so only one short line of it is read, and control
/// characters are dropped.
pub(super) fn holder(file: &File) -> Option<String> {
    let mut bytes = [0; MAX_HOLDER_BYTES];
    let n_bytes = file.read_at(&mut bytes, 0).ok()?;
    let text = String::from_utf8_lossy(&bytes[..n_bytes]);
    let line: String = text.lines().next()?.chars().filter(|character| !character.is_control()).collect();
    (!line.trim().is_empty()).then(|| line.trim().to_owned())
}
