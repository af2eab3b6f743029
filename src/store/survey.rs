//! Looks at the state of the folder without changing anything: who holds the locks, what can be
//! written, what a crash left.

use std::fs::{File, TryLockError};
use std::io;

use rustix::fs::{Access, AtFlags, OFlags, accessat};

use super::folder::{FileKind, Folder, is_outside};
use super::layout::{MEMORY, Store, is_missing};
use super::lock::{Guarded, LOCK, holder};
use super::name::is_conflict;
use super::sweep::is_alive;
use super::temp::Leftover;

/// How many folders deep is looked; no entry is deeper.
const MAX_DEPTH: usize = 32;
/// How many paths of a kind are named; the rest is counted.
const MAX_NAMED: usize = 20;
/// Where entries and temporary files are.
const FOLDERS: [&str; 5] = ["knowledge", "journal", "archive", "state", "cache"];

/// What can be done with a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderState {
    /// There is none, and it is made when it is needed.
    Missing,
    /// Files can be made in it.
    Writable,
    /// It can be read alone.
    ReadOnly,
    /// It cannot be looked into.
    Closed,
    /// A link or a file stands in its place.
    Blocked,
}

/// Who has a lock in this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockState {
    /// Nobody.
    Free,
    /// Another process, with what it wrote about itself.
    Held(Option<String>),
    /// The system does not say.
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

/// What a walk over all files showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// How many folders with entries there are.
    pub folders: usize,
    /// Temporary files of processes that have ended.
    pub leftovers: Paths,
    /// Versions that another program saved while this one wrote, kept in the archive for a person to look at.
    pub conflicts: Paths,
    /// Entry files that were changed after the given time.
    pub changed_later: Paths,
    /// Folders that could not be listed.
    pub closed: Paths,
}

impl Store {
    /// Returns what can be done with a folder of `.ralph/`; the empty name is `.ralph/` itself.
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

    /// Returns who has the lock of the entry files.
    pub fn lock_state(&self) -> LockState {
        self.state_of(Guarded::Entries)
    }

    /// Returns who has the lock of `cache/`.
    pub fn cache_lock_state(&self) -> LockState {
        self.state_of(Guarded::Cache)
    }

    /// Tries to share the lock for a moment, on a file that is there: nothing is made or written.
    fn state_of(&self, guarded: Guarded) -> LockState {
        let path = format!("{MEMORY}/{}/{LOCK}", guarded.folder());
        let file = match self.root_folder.open_below(&path, OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(descriptor) => File::from(descriptor),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return LockState::Free,
            Err(error) => return LockState::Unknown(error.to_string()),
        };
        match file.try_lock_shared() {
            Ok(()) => {
                // Closing it does the same, unless a child is being started in this moment.
                let _ = file.unlock();
                LockState::Free
            }
            Err(TryLockError::WouldBlock) => LockState::Held(holder(&file)),
            Err(TryLockError::Error(error)) => LockState::Unknown(error.to_string()),
        }
    }

    /// Looks at every file, and opens none. `latest`, in nanoseconds since 1970, is the time after
    /// which none should have changed.
    pub fn survey(&self, latest: i64) -> Survey {
        let mut survey = Survey::default();
        if let Ok(memory) = self.folder("") {
            survey.look_at(&memory, "", 0, latest);
        }
        for name in FOLDERS {
            if let Ok(folder) = self.folder(name) {
                survey.look_at(&folder, name, MAX_DEPTH, latest);
            }
        }
        survey
    }
}

impl Survey {
    /// Looks at a folder and `depth` folders deeper.
    fn look_at(&mut self, folder: &Folder, path: &str, depth: usize, latest: i64) {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        let holds_entries = !matches!(path.split('/').next(), Some("" | "state" | "cache"));
        self.folders += usize::from(holds_entries);
        let Ok(listing) = folder.listing() else {
            self.closed.add(path.to_owned());
            return;
        };
        for (name, kind) in listing {
            // Nothing of ours has a name that is not UTF-8, and the check tells of those.
            let Some(name_text) = name.to_str() else { continue };
            match kind {
                FileKind::Folder if depth > 0 => match folder.enter(&name) {
                    Ok(inner) => self.look_at(&inner, &below(name_text), depth - 1, latest),
                    Err(error) if is_missing(&error) => {}
                    Err(_) => self.closed.add(below(name_text)),
                },
                FileKind::File => {
                    if Leftover::parse(name_text).is_some_and(|leftover| !is_alive(leftover.process)) {
                        self.leftovers.add(below(name_text));
                        continue;
                    }
                    if is_conflict(name_text) {
                        self.conflicts.add(below(name_text));
                    }
                    if holds_entries
                        && name_text.strip_suffix(".md").is_some()
                        && folder.stat_of_os(&name).is_ok_and(|stat| stat.mtime > latest)
                    {
                        self.changed_later.add(below(name_text));
                    }
                }
                _ => {}
            }
        }
    }
}
