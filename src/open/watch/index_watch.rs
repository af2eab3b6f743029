//! The thread of a watcher: it scans the files, commits changes to the index, and sends them to a channel.
//!
//! [`Watcher`] tells it when to scan; it never decides from a notification what changed. A receiver that takes nothing
//! never blocks it: later changes are combined until there is room.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SendError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::changes::{FileChanges, WatchEvent};
use super::notifications::{RECONCILE, SharedHints, WakeReason, WatchMode, Watcher};
use crate::entry::path::display_path;
use crate::error::{Error, Result};
use crate::index::catalog::{Area, Catalog};
use crate::open::Memory;
use crate::store::LockState;

/// How soon an event that found no room in the channel is sent again.
const SEND_AGAIN: Duration = Duration::from_millis(500);
/// How soon the files are scanned again when another process was writing the index.
const BUSY: Duration = Duration::from_secs(2);
/// Longer than any wait lasts.
const FOREVER: Duration = Duration::from_secs(3_600);
/// How many events the channel holds; later changes are combined.
const CAPACITY: usize = 16;

/// A watcher at work. Dropping it ends the watcher.
///
/// ```
/// use std::sync::Arc;
/// use ralph_memory::Memory;
/// use ralph_memory::memory::WatchMode;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let memory = Arc::new(memory);
/// let watcher = memory.watch(WatchMode::Native)?;
/// assert_eq!(Arc::strong_count(&memory), 2, "the thread of the watcher has the other one");
/// drop(watcher);
/// assert_eq!(Arc::strong_count(&memory), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WatchHandle {
    events: Receiver<WatchEvent>,
    hints: Arc<SharedHints>,
    thread: Option<JoinHandle<()>>,
}

impl WatchHandle {
    /// Returns the channel of the watcher's events. The watcher works whether or not they are received: it combines
    /// changes until there is room for them.
    pub fn events(&self) -> &Receiver<WatchEvent> {
        &self.events
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        self.hints.stop();
        if let Some(thread) = self.thread.take() {
            // An error only means that it panicked, which was printed then.
            let _ = thread.join();
        }
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
    /// [`Error::Io`] where no thread can be started.
    pub fn watch(self: &Arc<Memory>, mode: WatchMode) -> Result<WatchHandle> {
        let folder = self.workspace.store.memory().to_owned();
        let folders = [folder.clone()].into_iter().chain(self.workspace.store.copies_path()).collect();
        let watcher = Watcher::new(mode, folders);
        let hints = watcher.hints();
        let (sender, events) = sync_channel(CAPACITY);
        let thread = std::thread::Builder::new().name("watch".to_owned());
        let failed = |source| Error::Io { action: "watch", path: folder, source };
        let watching = WatchLoop::new(Arc::clone(self), watcher, sender);
        let thread = thread.spawn(move || watching.run()).map_err(failed)?;
        Ok(WatchHandle { events, hints, thread: Some(thread) })
    }
}

/// The fingerprints of files, by path.
type Fingerprints = BTreeMap<String, u64>;

/// The state of the thread.
struct WatchLoop {
    memory: Arc<Memory>,
    watcher: Watcher,
    sender: SyncSender<WatchEvent>,
    /// The files that the receiver knows.
    told: Fingerprints,
    /// The files at the last scan, and how they differ from those; `None` where they do not.
    unsent: Option<(Fingerprints, FileChanges)>,
    notices: Vec<String>,
    /// The last reason why the index could not be kept up to date, which is reported once.
    index_failure: Option<String>,
    is_ready: bool,
}

impl WatchLoop {
    fn new(memory: Arc<Memory>, watcher: Watcher, sender: SyncSender<WatchEvent>) -> WatchLoop {
        WatchLoop {
            memory,
            watcher,
            sender,
            told: Fingerprints::new(),
            unsent: None,
            notices: Vec::new(),
            index_failure: None,
            is_ready: false,
        }
    }

    fn run(mut self) {
        let (mut must_scan, mut is_indexed, mut scanned) = (true, false, Instant::now());
        loop {
            if must_scan {
                scanned = Instant::now();
                is_indexed = self.scan();
            }
            let Ok(is_all_sent) = self.send() else { return };
            // A scan costs time; an attempt to send costs none.
            let longest = if !is_all_sent {
                SEND_AGAIN
            } else if is_indexed {
                FOREVER
            } else {
                BUSY
            };
            must_scan = match self.watcher.wait(longest) {
                WakeReason::Changed => true,
                WakeReason::Time => {
                    let is_due = scanned.elapsed() >= RECONCILE;
                    if is_due {
                        self.watcher.renew();
                    }
                    let is_polling = self.watcher.mode() == WatchMode::Poll;
                    is_due || is_polling || !is_indexed && scanned.elapsed() >= BUSY
                }
                WakeReason::Stopped => return,
            };
        }
    }

    /// Scans all files, and returns whether the index has them all.
    fn scan(&mut self) -> bool {
        let catalogs = self.catalogs();
        if let Some(reason) = self.watcher.take_failure() {
            self.notices.push(format!("the files are checked every second: {reason}"));
        }
        self.unsent = self.compare(&catalogs);
        if !self.is_ready {
            self.is_ready = true;
            self.told = self.unsent.take().unwrap_or_default().0;
            let folders = catalogs.iter().map(|catalog| catalog.folders().count()).sum();
            let entries = self.told.len();
            let polling = self.watcher.mode() == WatchMode::Poll;
            // The channel is empty.
            let _ = self.sender.try_send(WatchEvent::Ready { entries, folders, polling });
        }
        self.index(&catalogs)
    }

    fn catalogs(&self) -> [Catalog; 2] {
        [Area::Live, Area::Archive].map(|area| self.memory.workspace.catalog(area))
    }

    /// Returns the files of a scan, and how they differ from those that the receiver knows; `None` where they do not.
    fn compare(&self, catalogs: &[Catalog]) -> Option<(Fingerprints, FileChanges)> {
        let (mut now, mut changes) = (Fingerprints::new(), FileChanges::default());
        for catalog in catalogs {
            for row in catalog.rows() {
                let (path, fingerprint) = (catalog.path(row), catalog.fingerprint(row));
                if self.told.get(&path) != Some(&fingerprint) {
                    changes.indexed.push(display_path(&path));
                    if catalog.has_problem(row) {
                        changes.problems.extend(catalog.head(row).problems);
                    }
                }
                now.insert(path, fingerprint);
            }
        }
        let gone = self.told.keys().filter(|path| !now.contains_key(*path));
        changes.removed = gone.map(|path| display_path(path)).collect();
        changes.entries = now.len();
        changes.indexed.sort();
        changes.problems.sort();
        Some((now, changes)).filter(|(_, changes)| !changes.indexed.is_empty() || !changes.removed.is_empty())
    }

    /// Updates the index, and returns whether no further attempt is needed.
    fn index(&mut self, catalogs: &[Catalog; 2]) -> bool {
        let is_indexed = |catalog: &Catalog| {
            let has_index = catalog.index_is_known() && catalog.index_id().is_some();
            (has_index || catalog.is_empty()) && catalog.n_pending() == 0 && catalog.stale_paths().is_empty()
        };
        if catalogs.iter().all(is_indexed) {
            return true;
        }
        let Ok(lock) = self.memory.workspace.store.wait_for_cache_lock(Duration::ZERO) else {
            if matches!(self.memory.workspace.store.cache_lock_state(), LockState::Held(_)) {
                // Another process writes the index, perhaps without these changes.
                return false;
            }
            self.index_failed("the cache cannot be written".to_owned());
            return true;
        };
        for area in [Area::Archive, Area::Live] {
            if let Err(failure) = self.memory.workspace.commit(&lock, area, false) {
                self.index_failed(self.memory.workspace.index_error(area, failure).to_string());
                // It would fail again half a second later.
                return true;
            }
        }
        self.index_failure = None;
        true
    }

    /// Reports once why the index is not kept up to date.
    fn index_failed(&mut self, reason: String) {
        if self.index_failure.as_ref() != Some(&reason) {
            self.notices.push(format!("the index is not kept up to date: {reason}"));
            self.index_failure = Some(reason);
        }
    }

    /// Sends the events for which there is room, and returns whether those were all.
    ///
    /// # Errors
    ///
    /// That the receiver is gone.
    fn send(&mut self) -> std::result::Result<bool, SendError<()>> {
        while let Some(message) = self.notices.first() {
            if !self.offer(WatchEvent::Notice { message: message.clone() })? {
                return Ok(false);
            }
            self.notices.remove(0);
        }
        if let Some((files, changes)) = self.unsent.take() {
            if !self.offer(WatchEvent::Changed(changes.clone()))? {
                self.unsent = Some((files, changes));
                return Ok(false);
            }
            self.told = files;
        }
        Ok(true)
    }

    /// Sends an event if there is room for it, and returns whether there was.
    fn offer(&self, event: WatchEvent) -> std::result::Result<bool, SendError<()>> {
        match self.sender.try_send(event) {
            Ok(()) => Ok(true),
            Err(TrySendError::Full(_)) => Ok(false),
            Err(TrySendError::Disconnected(_)) => Err(SendError(())),
        }
    }
}
