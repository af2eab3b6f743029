//! For long-lived processes, which watch the files of a memory and serve its page.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use super::Memory;
use crate::error::Result;
use crate::recording::{self, PageServer};
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

    /// Notes that a server serves the page of this memory, for other processes to find. Returns the one that does so
    /// already, if there is one; then nothing is noted.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`](crate::Error::Locked) where another process kept writing, and [`Error::Io`](crate::Error::Io)
    /// where the state cannot be written.
    pub fn claim_page(&self, server: &PageServer) -> Result<Option<PageServer>> {
        recording::claim_page(&self.workspace, server)
    }

    /// Returns the server of the page of this memory that runs now, if there is one. What other machines or folders
    /// wrote is not believed.
    pub fn page_server(&self) -> Option<PageServer> {
        recording::page_server(&self.workspace)
    }

    /// Writes a file that leads a browser to the page of this server, readable for its user only, and returns its path.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::claim_page`].
    pub fn page_launcher(&self, server: &PageServer) -> Result<PathBuf> {
        recording::page_launcher(&self.workspace, server)
    }
}
