//! For long-lived processes, which watch the files of a memory.

use std::ops::Deref;
use std::sync::Arc;

use super::Memory;
use crate::error::Result;
use crate::workspace::Workspace;
use crate::workspace::watch::{self, WatchHandle, WatchMode};

/// The workspace of a memory that a watcher's thread shares with its owner.
struct SharedWorkspace(Arc<Memory>);

impl Deref for SharedWorkspace {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.0.workspace
    }
}

impl Memory {
    /// Watches the files in a thread of its own, keeps the index up to date with them, and reports every change.
    ///
    /// No other call needs this: each of them checks every file itself. A watcher reads and indexes changed files before
    /// the next call. Notifications of the system only make it scan early; it scans every 30 seconds in any case.
    /// Where the system sends no notifications, or has run out of watches, it scans every second ([`WatchMode::Poll`]).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ralph_memory::memory::{WatchEvent, WatchMode};
    /// use ralph_memory::{Knowledge, Memory};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # Memory::init(folder.path())?;
    /// let memory = Arc::new(Memory::open(folder.path())?);
    /// let watcher = memory.watch(WatchMode::Native)?;
    /// assert!(matches!(watcher.events().recv()?, WatchEvent::Ready { entries: 0, .. }));
    /// memory.add(&Knowledge::new("Benches need nightly", ["cargo"], "Use `cargo +nightly bench`."))?;
    /// let WatchEvent::Changed(changes) = watcher.events().recv()? else { panic!("no change") };
    /// assert_eq!(changes.indexed, [".ralph/knowledge/benches-need-nightly.md"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) where no thread can be started.
    pub fn watch(self: &Arc<Memory>, mode: WatchMode) -> Result<WatchHandle> {
        watch::start(SharedWorkspace(Arc::clone(self)), mode)
    }
}
