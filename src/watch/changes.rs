//! The events of a watcher, and the combining of changes that were not received yet.
//!
//! Pure bookkeeping: it knows paths and problems, and neither files nor threads. A receiver of the combined changes
//! knows the same files as a receiver of each change.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::error::Problem;

/// A message of a watcher.
///
/// ```
/// use std::sync::Arc;
/// use ralph_memory::Memory;
/// use ralph_memory::memory::{WatchEvent, WatchMode};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let watcher = Arc::new(memory).watch(WatchMode::Native)?;
/// let line = match watcher.events().recv()? {
///     WatchEvent::Ready { entries, .. } => format!("watching {entries} entries"),
///     WatchEvent::Changed(changes) => format!("{} files changed", changes.indexed.len() + changes.removed.len()),
///     WatchEvent::Notice { message } => message,
/// };
/// assert_eq!(line, "watching 0 entries");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum WatchEvent {
    /// The watcher is ready: every change from now on is reported.
    Ready {
        /// The number of entry files.
        entries: usize,
        /// The number of folders that hold them.
        folders: usize,
        /// Whether the files are checked every second, since the system sends no notifications.
        polling: bool,
    },
    /// Files have changed, and the index has them as they are now.
    Changed(FileChanges),
    /// The watcher works, but not as well as it should.
    Notice {
        /// The reason, in one line without a final period.
        message: String,
    },
}

/// The changes since the last [`WatchEvent`].
///
/// ```
/// use std::sync::Arc;
/// use ralph_memory::memory::{FileChanges, WatchEvent, WatchMode};
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let added = memory.add(&Knowledge::new("Old proxy", ["proxy"], "Port 3128."))?;
/// let watcher = Arc::new(memory).watch(WatchMode::Native)?;
/// watcher.events().recv()?; // it is ready
/// std::fs::remove_file(root.join(&added.path))?;
/// let WatchEvent::Changed(changes) = watcher.events().recv()? else { panic!("a notice") };
/// let FileChanges { removed, entries, .. } = changes;
/// assert_eq!((removed[0].as_str(), entries), (added.path.as_str(), 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FileChanges {
    /// Entry files that are new or have other bytes, relative to the folder that holds `.ralph/`, sorted.
    pub indexed: Vec<String>,
    /// Entry files that are gone, in the same form.
    pub removed: Vec<String>,
    /// The number of entry files that exist now.
    pub entries: usize,
    /// The problems of the changed files.
    pub problems: Vec<Problem>,
}

impl FileChanges {
    fn is_empty(&self) -> bool {
        self.indexed.is_empty() && self.removed.is_empty()
    }

    /// Appends later changes. For each file the last change counts.
    fn append(&mut self, later: FileChanges) {
        let has = |list: &[String], path: &String| list.binary_search(path).is_ok();
        self.indexed.retain(|path| !has(&later.indexed, path) && !has(&later.removed, path));
        self.removed.retain(|path| !has(&later.indexed, path) && !has(&later.removed, path));
        let is_news = |problem: &Problem| !has(&later.indexed, &problem.path) && !has(&later.removed, &problem.path);
        self.problems.retain(is_news);
        self.indexed.extend(later.indexed);
        self.removed.extend(later.removed);
        self.problems.extend(later.problems);
        self.indexed.sort_unstable();
        self.removed.sort_unstable();
        self.problems.sort();
        self.entries = later.entries;
    }
}

/// Changes that no receiver has taken yet.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    changes: FileChanges,
    /// The files among them that the receiver does not know of.
    unknown: BTreeSet<String>,
}

impl PendingChanges {
    /// Adds the changes that a scan found; `new` names the files that the scan before did not find.
    pub(super) fn put(&mut self, changes: FileChanges, new: Vec<String>) {
        // A receiver that does not know yet that a file was removed still knows the file.
        let is_known = |path: &String| self.changes.removed.binary_search(path).is_ok();
        self.unknown.extend(new.into_iter().filter(|path| !is_known(path)));
        self.changes.append(changes);
        // A file that came and went in between is not reported.
        let unknown = &mut self.unknown;
        self.changes.removed.retain(|path| !unknown.remove(path));
    }

    /// Takes the changes for sending; `None` where there are none.
    pub(super) fn take(&mut self) -> Option<FileChanges> {
        if self.changes.is_empty() {
            self.unknown.clear();
            return None;
        }
        Some(std::mem::take(&mut self.changes))
    }

    /// Notes that the changes of [`take`](Self::take) were received.
    pub(super) fn sent(&mut self) {
        self.unknown.clear();
    }

    /// Puts back the changes of [`take`](Self::take), which could not be sent.
    pub(super) fn put_back(&mut self, changes: FileChanges) {
        self.changes = changes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A receiver of combined changes knows which files exist, whatever happens in between.
    #[test]
    fn combined_changes_lead_to_the_files_that_exist() {
        const STEPS: u32 = 7;
        // Three files, of which the listener knows the first; each step changes one of them.
        for course in 0..3u32.pow(STEPS) {
            let mut there = BTreeSet::from(["a"]);
            let mut told: BTreeSet<String> = there.iter().map(|path| (*path).to_owned()).collect();
            let mut pending = PendingChanges::default();
            for step in 0..STEPS {
                let path = ["a", "b", "c"][(course / 3u32.pow(step) % 3) as usize];
                let mut changes = FileChanges::default();
                let mut new = Vec::new();
                if there.remove(path) {
                    changes.removed.push(path.to_owned());
                } else {
                    there.insert(path);
                    changes.indexed.push(path.to_owned());
                    new.push(path.to_owned());
                }
                pending.put(changes, new);
            }
            let FileChanges { indexed, removed, .. } = pending.changes;
            assert!(indexed.iter().all(|path| !removed.contains(path)), "{course}");
            for path in &removed {
                assert!(told.remove(path), "{course}: nobody knew {path}");
            }
            told.extend(indexed);
            assert!(told.iter().map(String::as_str).eq(there), "{course}");
        }
    }
}
