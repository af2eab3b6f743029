//! The events of a watcher.

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
