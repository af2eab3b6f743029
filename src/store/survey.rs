//! Examines the state of the folder without changing anything: who holds the locks, which folders are writable, what a
//! crash left.

use std::fs::TryLockError;
use std::io;
use std::path::Path;

use walkdir::{DirEntry, WalkDir};

use super::folder::{is_missing, is_outside};
use super::layout::Store;
use super::lock::{Guarded, LOCK, holder};
use super::name::is_conflict;
use super::sweep::is_alive;
use super::temp::Leftover;
use crate::system::posix::fs::{Access, AtFlags, accessat};
use crate::system::posix::slashed;

/// How many folders deep the search goes; no entry is deeper.
const MAX_DEPTH: usize = 34;
/// How many paths of each kind are listed; the rest are only counted.
const MAX_NAMED: usize = 20;
/// Where entries and temporary files are.
const FOLDERS: [&str; 5] = ["knowledge", "journal", "archive", "state", "cache"];

/// The access to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderState {
    /// It does not exist; it is created when needed.
    Missing,
    /// Files can be created in it.
    Writable,
    /// It can only be read.
    ReadOnly,
    /// It cannot be read.
    Closed,
    /// A link or a file is in its place.
    Blocked,
}

/// The current holder of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockState {
    /// No process.
    Free,
    /// Another process, with its text about itself.
    Held(Option<String>),
    /// The system cannot tell.
    Unknown(String),
}

/// Some of many paths, in order, relative to `.ralph/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths {
    /// The first of them.
    pub named: Vec<String>,
    /// How many there are.
    pub count: usize,
}

impl Paths {
    fn add(&mut self, path: String) {
        self.count += 1;
        let at = self.named.partition_point(|known| *known < path);
        if at < MAX_NAMED {
            self.named.insert(at, path);
            self.named.truncate(MAX_NAMED);
        }
    }
}

/// The result of a walk over all files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// How many folders with entries there are.
    pub folders: usize,
    /// Temporary files of processes that have ended.
    pub leftovers: Paths,
    /// Versions that another program saved during a write, kept in the archive for a person to look at.
    pub conflicts: Paths,
    /// Folders that could not be listed.
    pub closed: Paths,
}

impl Store {
    /// Returns the access to a folder of `.ralph/`; the empty name is `.ralph/` itself.
    pub fn folder_state(&self, name: &str) -> FolderState {
        match self.folder(name) {
            Ok(folder) => match accessat(&folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
                Ok(()) => FolderState::Writable,
                Err(_) => FolderState::ReadOnly,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => FolderState::Missing,
            Err(error) if is_outside(&error) || is_missing(&error) => FolderState::Blocked,
            Err(_) => FolderState::Closed,
        }
    }

    /// Returns the holder of the lock of the entry files.
    pub fn lock_state(&self) -> LockState {
        self.state_of(Guarded::Entries)
    }

    /// Returns the holder of the lock of `cache/`.
    pub fn cache_lock_state(&self) -> LockState {
        self.state_of(Guarded::Cache)
    }

    /// Tries to take a shared lock for a moment on the existing file; nothing is created or written.
    fn state_of(&self, guarded: Guarded) -> LockState {
        let file = match self.folder(guarded.folder()).and_then(|folder| folder.open_file(LOCK)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return LockState::Free,
            Err(error) => return LockState::Unknown(error.to_string()),
            Ok(file) => file,
        };
        match file.try_lock_shared() {
            Ok(()) => {
                // Closing it does the same, unless a child is being started at that moment.
                let _ = file.unlock();
                LockState::Free
            }
            Err(TryLockError::WouldBlock) => LockState::Held(holder(&file)),
            Err(TryLockError::Error(error)) => LockState::Unknown(error.to_string()),
        }
    }

    /// Examines the name of every file, and opens none.
    pub fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        let walk = WalkDir::new(self.memory()).min_depth(1).max_depth(MAX_DEPTH).follow_root_links(false);
        let is_ours = |entry: &DirEntry| {
            let name = entry.file_name().to_str();
            entry.depth() != 1 || !entry.file_type().is_dir() || name.is_some_and(|name| FOLDERS.contains(&name))
        };
        for found in walk.into_iter().filter_entry(is_ours) {
            match found {
                Ok(found) => survey.look_at(self.memory(), &found),
                Err(error) if error.io_error().is_some_and(is_missing) => {}
                Err(error) => {
                    if let Some(path) = error.path().and_then(|path| below(self.memory(), path)) {
                        survey.closed.add(path);
                    }
                }
            }
        }
        survey
    }
}

/// Returns a path relative to `.ralph/`. Names that this program gives are UTF-8, and the check reports others.
fn below(memory: &Path, path: &Path) -> Option<String> {
    slashed(path.strip_prefix(memory).ok()?).filter(|path| !path.is_empty())
}

impl Survey {
    fn look_at(&mut self, memory: &Path, found: &DirEntry) {
        let holds_entries = |path: &str| !path.starts_with("state") && !path.starts_with("cache");
        let Some(path) = below(memory, found.path()) else {
            self.folders += usize::from(found.file_type().is_dir());
            return;
        };
        if found.file_type().is_dir() {
            self.folders += usize::from(holds_entries(&path));
            return;
        }
        let Some(name) = found.file_name().to_str().filter(|_| found.file_type().is_file()) else { return };
        if let Some(leftover) = Leftover::parse(name) {
            if !is_alive(leftover.process) {
                self.leftovers.add(path);
            }
            return;
        }
        if found.depth() > 1 && holds_entries(&path) && is_conflict(name) {
            self.conflicts.add(path);
        }
    }
}
