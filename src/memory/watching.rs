//! Keeps the index up to date while files change, and tells of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::Memory;
use crate::catalog::{Area, Catalog};
use crate::entry::path::display_path;
use crate::error::{Error, Problem, Result};
use crate::store::LockState;
use crate::watch::{Mode, RECONCILE, Stopper, Watcher, Woken};

/// How soon it is tried again to tell what nobody took.
const AGAIN: Duration = Duration::from_millis(500);
/// How soon it is looked again when the index was being written by another process.
const BUSY: Duration = Duration::from_secs(2);
/// Longer than any wait lasts.
const FOREVER: Duration = Duration::from_secs(3_600);
/// How often the folders are asked for until no new one has come: each time watches what came in between.
const ROUNDS: usize = 8;
/// How many changes wait for whoever watches; later ones are put together.
const WAITING: usize = 16;

/// What a watcher tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Watched {
    /// From now on every change is told.
    Ready {
        /// How many files with entries there are.
        entries: usize,
        /// In how many folders.
        folders: usize,
        /// Whether files are looked at every second, instead of being told of by the system.
        polling: bool,
    },
    /// Files have changed, and the index has them as they are now.
    Changed(Changes),
    /// It goes on, but something is not as it should be; in one line without a final period.
    Notice {
        /// What.
        message: String,
    },
}

/// What is different from what was told before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Entry files that are new or have other bytes, relative to the folder that holds `.ralph/`, in order.
    pub indexed: Vec<String>,
    /// Entry files that are gone.
    pub removed: Vec<String>,
    /// How many there are.
    pub entries: usize,
    /// What is wrong with those that changed.
    pub problems: Vec<Problem>,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.indexed.is_empty() && self.removed.is_empty()
    }

    /// Puts later changes behind these: of a file the last word counts.
    fn then(&mut self, later: Changes) {
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

/// A watcher at work, until this is dropped.
#[derive(Debug)]
pub struct Watching {
    told: Receiver<Watched>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    /// Returns where it tells what it sees. That nobody listens keeps it from nothing: what is not taken is put
    /// together, and told when there is room.
    pub fn told(&self) -> &Receiver<Watched> {
        &self.told
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            // It has nothing to say but that it panicked, which it has said.
            let _ = thread.join();
        }
    }
}

impl Memory {
    /// Watches the files in a thread of its own, keeps the index up to date with them, and tells of every change.
    ///
    /// Calls need no watcher: each of them looks at every file itself. A watcher has what changed read and indexed
    /// before anyone asks. What the system tells it is no more than a hint to look again, which it does all the
    /// same every 30 seconds. Where the system cannot watch, or has no more watches, it looks every second
    /// ([`Mode::Poll`]).
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where no thread can be started.
    pub fn watch(self: &Arc<Memory>, mode: Mode) -> Result<Watching> {
        let memory = Arc::clone(self);
        let partly = vec![
            (memory.store.root().to_owned(), vec![".ralph"]),
            (memory.store.memory().to_owned(), vec!["knowledge", "journal", "archive"]),
        ];
        let watcher = Watcher::new(mode, partly);
        let stopper = watcher.stopper();
        let (sender, told) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("watch".to_owned());
        let failed = |source| Error::Io { action: "watch", path: self.store.memory().to_owned(), source };
        let thread = thread.spawn(move || Work::new(memory, watcher, sender).run()).map_err(failed)?;
        Ok(Watching { told, stopper, thread: Some(thread) })
    }
}

/// What there was no room to tell.
#[derive(Debug, Default)]
struct Untold {
    changes: Changes,
    /// What of it whoever is told has never heard of.
    fresh: BTreeSet<String>,
}

impl Untold {
    /// Puts what a look showed behind what waits; `new` names those files that were not there at the look before.
    fn put(&mut self, changes: Changes, new: Vec<String>) {
        // Whoever was not yet told that a file is gone still knows it.
        let is_known = |path: &String| self.changes.removed.binary_search(path).is_ok();
        self.fresh.extend(new.into_iter().filter(|path| !is_known(path)));
        self.changes.then(changes);
        // Of what came and went while nobody listened there is nothing to tell.
        let fresh = &mut self.fresh;
        self.changes.removed.retain(|path| !fresh.remove(path));
    }
}

/// What the thread does.
struct Work {
    memory: Arc<Memory>,
    watcher: Watcher,
    sender: SyncSender<Watched>,
    /// Fingerprints of the files as they were told of, by path.
    known: BTreeMap<String, u64>,
    untold: Untold,
    notices: Vec<String>,
    /// The last thing that stood in the way of keeping the index, which is told once.
    trouble: Option<String>,
    is_ready: bool,
}

impl Work {
    fn new(memory: Arc<Memory>, watcher: Watcher, sender: SyncSender<Watched>) -> Work {
        Work {
            memory,
            watcher,
            sender,
            known: BTreeMap::new(),
            untold: Untold::default(),
            notices: Vec::new(),
            trouble: None,
            is_ready: false,
        }
    }

    fn run(mut self) {
        let (mut anew, mut must_look, mut is_kept, mut looked) = (false, true, false, Instant::now());
        loop {
            if must_look {
                looked = Instant::now();
                is_kept = self.look(anew);
            }
            let Ok(is_told) = self.tell() else { return };
            // A look at everything costs something; a try to tell costs nothing.
            let longest = if !is_told {
                AGAIN
            } else if is_kept {
                FOREVER
            } else {
                BUSY
            };
            (must_look, anew) = match self.watcher.wait(longest) {
                Woken::Look => (true, false),
                Woken::LookAtFolders => (true, true),
                // What the system did not tell may be a folder as well.
                Woken::Time => {
                    let is_due = looked.elapsed() >= RECONCILE || self.watcher.mode() == Mode::Poll;
                    (is_due || !is_kept && looked.elapsed() >= BUSY, is_due)
                }
                Woken::Stopped => return,
            };
        }
    }

    /// Looks at every file, and returns whether the index has them all.
    fn look(&mut self, mut anew: bool) -> bool {
        let mut catalogs = self.catalogs();
        for _ in 0..ROUNDS {
            // A folder that is watched only now may hold what nobody told.
            if !self.watcher.follow(&self.folders(&catalogs), anew) {
                break;
            }
            anew = false;
            catalogs = self.catalogs();
        }
        if let Some(reason) = self.watcher.trouble() {
            self.notices.push(format!("files are looked at every second: {reason}"));
        }
        let (changes, new) = self.changes(&catalogs);
        let entries = self.known.len();
        if self.is_ready {
            self.untold.put(Changes { entries, ..changes }, new);
        } else {
            let folders = catalogs.iter().map(|catalog| catalog.folders().count()).sum();
            self.is_ready = true;
            let polling = self.watcher.mode() == Mode::Poll;
            // The channel is empty.
            let _ = self.sender.try_send(Watched::Ready { entries, folders, polling });
        }
        self.keep(&catalogs)
    }

    fn catalogs(&self) -> [Catalog; 2] {
        [Area::Live, Area::Archive].map(|area| self.memory.catalog(area))
    }

    /// Returns what is to be watched: the folders of entries, and those above, in which they come and go.
    fn folders(&self, catalogs: &[Catalog]) -> BTreeSet<PathBuf> {
        let store = &self.memory.store;
        let above = [store.root().to_owned(), store.memory().to_owned(), store.memory().join("archive")];
        let folders = catalogs.iter().flat_map(Catalog::folders).map(|path| store.memory().join(path));
        above.into_iter().chain(folders).collect()
    }

    /// Returns what is different from what was known, and which of it is new; and knows it from now on.
    fn changes(&mut self, catalogs: &[Catalog]) -> (Changes, Vec<String>) {
        let mut now = BTreeMap::new();
        let (mut changes, mut new) = (Changes::default(), Vec::new());
        for catalog in catalogs {
            for row in catalog.rows() {
                let (path, fingerprint) = (catalog.path(row), catalog.fingerprint(row));
                let before = self.known.get(&path);
                if before != Some(&fingerprint) {
                    changes.indexed.push(display_path(&path));
                    if before.is_none() {
                        new.push(display_path(&path));
                    }
                    if catalog.has_problem(row) {
                        changes.problems.extend(catalog.head(row).problems);
                    }
                }
                now.insert(path, fingerprint);
            }
        }
        changes.removed =
            self.known.keys().filter(|path| !now.contains_key(*path)).map(|path| display_path(path)).collect();
        changes.indexed.sort_unstable();
        changes.problems.sort();
        self.known = now;
        (changes, new)
    }

    /// Brings the index up to date, and returns whether it is.
    fn keep(&mut self, catalogs: &[Catalog; 2]) -> bool {
        let is_kept = |catalog: &Catalog| {
            let has_index = catalog.index_is_known() && catalog.index_id().is_some();
            (has_index || catalog.is_empty()) && catalog.n_pending() == 0 && catalog.stale_paths().is_empty()
        };
        if catalogs.iter().all(is_kept) {
            return true;
        }
        let Some(lock) = self.memory.store.try_cache_lock() else {
            if matches!(self.memory.store.cache_lock_state(), LockState::Held(_)) {
                // Another process writes. It may not have seen this.
                return false;
            }
            self.trouble("the cache cannot be written".to_owned());
            return true;
        };
        for area in [Area::Archive, Area::Live] {
            if let Err(failure) = self.memory.commit(&lock, area, false) {
                self.trouble(self.memory.index_error(area, failure).to_string());
                // It will not do better in half a second.
                return true;
            }
        }
        self.trouble = None;
        true
    }

    /// Tells once what stands in the way of keeping the index.
    fn trouble(&mut self, trouble: String) {
        if self.trouble.as_ref() != Some(&trouble) {
            self.notices.push(format!("the index is not kept up to date: {trouble}"));
            self.trouble = Some(trouble);
        }
    }

    /// Tells what there is room for, and returns whether that was all; an error where nobody listens any more.
    fn tell(&mut self) -> std::result::Result<bool, ()> {
        while let Some(message) = self.notices.first() {
            match self.sender.try_send(Watched::Notice { message: message.clone() }) {
                Ok(()) => drop(self.notices.remove(0)),
                Err(TrySendError::Full(_)) => return Ok(false),
                Err(TrySendError::Disconnected(_)) => return Err(()),
            }
        }
        if self.untold.changes.is_empty() {
            self.untold.fresh.clear();
            return Ok(true);
        }
        match self.sender.try_send(Watched::Changed(std::mem::take(&mut self.untold.changes))) {
            Ok(()) => {
                self.untold.fresh.clear();
                Ok(true)
            }
            Err(TrySendError::Full(Watched::Changed(changes))) => {
                self.untold.changes = changes;
                Ok(false)
            }
            Err(_) => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever comes and goes while nobody listens, whoever then hears all of it at once knows what is there.
    #[test]
    fn what_was_put_together_leads_to_what_is_there() {
        const STEPS: u32 = 7;
        // Three files, of which the listener knows the first; each step changes one of them.
        for course in 0..3u32.pow(STEPS) {
            let mut there = BTreeSet::from(["a"]);
            let mut told: BTreeSet<String> = there.iter().map(|path| (*path).to_owned()).collect();
            let mut untold = Untold::default();
            for step in 0..STEPS {
                let path = ["a", "b", "c"][(course / 3u32.pow(step) % 3) as usize];
                let mut changes = Changes::default();
                let mut new = Vec::new();
                if there.remove(path) {
                    changes.removed.push(path.to_owned());
                } else {
                    there.insert(path);
                    changes.indexed.push(path.to_owned());
                    new.push(path.to_owned());
                }
                untold.put(changes, new);
            }
            let Changes { indexed, removed, .. } = untold.changes;
            assert!(indexed.iter().all(|path| !removed.contains(path)), "{course}");
            for path in &removed {
                assert!(told.remove(path), "{course}: nobody knew {path}");
            }
            told.extend(indexed);
            assert!(told.iter().map(String::as_str).eq(there), "{course}");
        }
    }
}
