//! The events of a watcher, and the combining of changes that were not received yet.
//!
//! Pure bookkeeping: it knows paths and problems, and neither files nor threads. A receiver of the combined changes
//! knows the same files as a receiver of each change.

use std::collections::BTreeMap;

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

/// What became of a file since the receiver was last told of it.
#[derive(Debug)]
struct FileChange {
    /// Whether the receiver knows the file.
    was_known: bool,
    /// The problems of the file as it is now; `None` if it is gone.
    now: Option<Vec<Problem>>,
}

/// Changes that no receiver has taken yet, by the paths of the files.
#[derive(Debug, Default)]
pub(super) struct PendingChanges(BTreeMap<String, FileChange>);

impl PendingChanges {
    /// Notes what a scan found at a path: a file with these problems, or that it is gone. `was_known` says whether the scan
    /// before found the file.
    pub(super) fn put(&mut self, path: String, was_known: bool, now: Option<Vec<Problem>>) {
        self.0.entry(path).or_insert(FileChange { was_known, now: None }).now = now;
    }

    /// Returns the changes as one event; `None` where there are none. A file that came and went in between is not reported.
    pub(super) fn combined(&self, entries: usize) -> Option<FileChanges> {
        let mut changes = FileChanges { entries, ..FileChanges::default() };
        for (path, change) in &self.0 {
            match &change.now {
                Some(problems) => {
                    changes.indexed.push(path.clone());
                    changes.problems.extend(problems.iter().cloned());
                }
                None if change.was_known => changes.removed.push(path.clone()),
                None => {}
            }
        }
        changes.problems.sort();
        Some(changes).filter(|changes| !changes.indexed.is_empty() || !changes.removed.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A receiver of combined changes knows which files exist, whatever happens in between.
    #[test]
    fn combined_changes_lead_to_the_files_that_exist() {
        const STEPS: u32 = 7;
        // Three files, of which the receiver knows the first; each step changes one of them.
        for course in 0..3u32.pow(STEPS) {
            let mut there = BTreeSet::from(["a"]);
            let mut known: BTreeSet<String> = there.iter().map(|path| (*path).to_owned()).collect();
            let mut pending = PendingChanges::default();
            for step in 0..STEPS {
                let path = ["a", "b", "c"][(course / 3u32.pow(step) % 3) as usize];
                let was_there = there.remove(path);
                if !was_there {
                    there.insert(path);
                }
                pending.put(path.to_owned(), was_there, (!was_there).then(Vec::new));
            }
            let FileChanges { indexed, removed, .. } = pending.combined(there.len()).unwrap_or_default();
            assert!(indexed.iter().all(|path| !removed.contains(path)), "{course}");
            for path in &removed {
                assert!(known.remove(path), "{course}: nobody knew {path}");
            }
            known.extend(indexed);
            assert!(known.iter().map(String::as_str).eq(there), "{course}");
        }
    }
}
