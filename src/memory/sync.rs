//! Brings the catalog and the index up to date at the start of a call.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::time::SystemTime;

use serde::Serialize;

use super::Memory;
use crate::catalog::{Area, Catalog, Scan};
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::index::{self, Committed, Document, Failure, Overlay, OverlayBuilder, Snapshot, Writer};
use crate::store::Lock;

/// A reading call commits when more entries than this are not in the index.
const COMMIT_WHEN_OVER: usize = 500;
/// Where there is no index at all, a reading call makes one from this many entries on: until then
/// reading them costs less.
const BUILD_FROM: usize = 32;
/// A reading call keeps what it learned of the files while there are at most so many of them: writing
/// the list down then costs less than a millisecond.
const SAVE_UP_TO: usize = 20_000;
/// With more files it does when it read more than this share of them: that costs as much.
const SAVE_FROM_ONE_IN: usize = 64;

/// The entries of one area, and what the index has of them.
pub(super) struct View {
    pub(super) catalog: Catalog,
    committed: Option<Committed>,
    overlay: Overlay,
}

/// The live entries as a writing call found them, and the lock under which it will commit; none where
/// another process has it, or the cache cannot be written.
pub(super) struct Pending {
    pub(super) catalog: Catalog,
    lock: Option<Lock>,
}

/// What [`Memory::rebuild_index`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rebuilt {
    /// How many entries the index has.
    pub entries: usize,
    /// Where it is.
    pub path: PathBuf,
}

impl Memory {
    /// Makes the index anew from the files, and the catalog with it.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] when another process writes the index, and those of writing it.
    pub fn rebuild_index(&self) -> Result<Rebuilt> {
        self.write_index(true)
    }

    /// Brings the index up to date with the files, so that the next call has less to read.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::rebuild_index`].
    pub fn update_index(&self) -> Result<Rebuilt> {
        self.write_index(false)
    }

    fn write_index(&self, anew: bool) -> Result<Rebuilt> {
        let lock = self.store.wait_for_cache_lock(self.lock_timeout())?;
        let mut entries = 0;
        for area in [Area::Archive, Area::Live] {
            let view = self.commit(&lock, area, anew).map_err(|source| self.index_error(area, source))?;
            entries = view.catalog.rows().filter(|row| view.catalog.is_indexable(*row)).count();
        }
        Ok(Rebuilt { entries, path: self.index_folder(Area::Live) })
    }

    /// Returns the entries of an area as they are now, with what a search needs of them.
    pub(super) fn view(&self, area: Area) -> Result<View> {
        let started = SystemTime::now();
        let committed = self.committed(area);
        let scan = Catalog::scan(&self.store, area, committed.as_ref().map(Committed::id), started);
        let n_pending = scan.n_pending();
        let is_first = committed.is_none();
        if n_pending > COMMIT_WHEN_OVER || (is_first && n_pending >= BUILD_FROM) {
            // Whatever stands in the way of committing only makes this call slower.
            if let Some(view) = self.store.cache_lock().and_then(|lock| self.commit(&lock, area, false).ok()) {
                return Ok(view);
            }
        }
        let mut builder = OverlayBuilder::new();
        let mut failure = None;
        let mut catalog = scan.read(&self.store, &mut |path, entry| {
            if let Err(error) = builder.add(document(path, entry)) {
                failure = Some(error);
            }
        });
        let overlay = failure.map_or_else(|| builder.finish(), Err).map_err(|source| self.index_error(area, source))?;
        if let Some(committed) = &committed
            && catalog.changed_since_manifest()
            && (catalog.len() <= SAVE_UP_TO || catalog.n_reread() * SAVE_FROM_ONE_IN > catalog.len())
            && let Some(_lock) = self.store.try_cache_lock()
            && self.committed(area).is_some_and(|current| current.id() == committed.id())
        {
            // The cache may not be writable; the next call then reads the same files again.
            let _ = catalog.save(&self.store, committed.id(), false);
        }
        Ok(View { catalog, committed, overlay })
    }

    /// Returns the entries of an area without what a search needs of them.
    pub(super) fn catalog(&self, area: Area) -> Catalog {
        let started = SystemTime::now();
        let committed = self.committed(area);
        let scan = Catalog::scan(&self.store, area, committed.as_ref().map(Committed::id), started);
        scan.read(&self.store, &mut |_, _| {})
    }

    /// Lists the live entries for a call that will write one, and takes the cache lock for it: the
    /// commit behind the write begins from what is listed here.
    pub(super) fn begin_write(&self) -> Pending {
        let lock = self.store.cache_lock();
        let started = SystemTime::now();
        let committed = self.committed(Area::Live);
        let scan = Catalog::scan(&self.store, Area::Live, committed.as_ref().map(Committed::id), started);
        if scan.n_pending() > COMMIT_WHEN_OVER
            && let Some(held) = &lock
            && let Ok(view) = self.commit(held, Area::Live, false)
        {
            return Pending { catalog: view.catalog, lock };
        }
        Pending { catalog: scan.read(&self.store, &mut |_, _| {}), lock }
    }

    /// Brings the index up to date after the entry at `path` was written. What stands in the way is
    /// left to the next call: a write is done when its file is.
    pub(super) fn commit_written(&self, pending: Pending, path: &str) {
        let Pending { catalog, lock: Some(lock) } = pending else { return };
        let started = SystemTime::now();
        match self.committed(Area::Live).filter(|_| catalog.index_is_known()) {
            Some(committed) => {
                let scan = catalog.rescan_path(&self.store, path, started);
                let _ = self.commit_scan(&lock, Area::Live, Some(&committed), scan);
            }
            None => {
                let _ = self.commit(&lock, Area::Live, false);
            }
        }
    }

    /// Brings the indexes up to date after a file was moved from one area to the other.
    pub(super) fn commit_moved(&self) {
        let Some(lock) = self.store.cache_lock() else { return };
        for area in [Area::Live, Area::Archive] {
            let _ = self.commit(&lock, area, false);
        }
    }

    /// Commits everything that an area's index lacks; with `anew`, everything there is.
    pub(super) fn commit(&self, lock: &Lock, area: Area, anew: bool) -> std::result::Result<View, Failure> {
        let started = SystemTime::now();
        let committed = if anew { None } else { self.committed(area) };
        let scan = Catalog::scan(&self.store, area, committed.as_ref().map(Committed::id), started);
        if committed.is_some() && !scan.index_is_known() {
            // Nobody knows what this index holds.
            return self.commit(lock, area, true);
        }
        let catalog = match self.commit_scan(lock, area, committed.as_ref(), scan) {
            // What can be read and not written to is made anew.
            Err(_) if committed.is_some() => return self.commit(lock, area, true),
            result => result?,
        };
        let committed = self.committed_or_why(area)?;
        Ok(View { catalog, committed: Some(committed), overlay: OverlayBuilder::new().finish()? })
    }

    /// Commits what a scan found that the index does not hold; where there is no index, all.
    fn commit_scan(
        &self,
        _lock: &Lock,
        area: Area,
        committed: Option<&Committed>,
        scan: Scan,
    ) -> std::result::Result<Catalog, Failure> {
        let fresh = committed.is_none();
        let folder = self.store.make_cache_folder(&index_name(area))?;
        let mut writer = Writer::begin(folder, fresh, scan.n_pending())?;
        let mut added = Vec::new();
        let mut catalog = scan.read(&self.store, &mut |path, entry| {
            if !fresh {
                writer.remove(path);
                added.push(path.to_owned());
            }
            writer.add(document(path, entry));
        });
        added.sort_unstable();
        for path in catalog.stale_paths() {
            if added.binary_search(&path).is_err() {
                writer.remove(&path);
            }
        }
        let id = format!("{:016x}", RandomState::new().hash_one((SystemTime::now(), std::process::id())));
        // The manifest first: the index takes effect with its commit, and then finds it.
        catalog.save(&self.store, &id, true)?;
        writer.commit(&id, &boot())?;
        Ok(catalog)
    }

    pub(super) fn committed(&self, area: Area) -> Option<Committed> {
        self.committed_or_why(area).ok()
    }

    fn committed_or_why(&self, area: Area) -> std::result::Result<Committed, Failure> {
        // A repository can come with `cache` as a link to anywhere; the store looks at every part.
        let folder = self.store.folder(&format!("cache/{}", index_name(area)))?;
        Committed::open_or_why(folder, &boot())
    }

    pub(super) fn index_folder(&self, area: Area) -> PathBuf {
        self.store.cache().join(index_name(area))
    }

    pub(super) fn index_error(&self, area: Area, source: Failure) -> Error {
        let path = self.index_folder(area);
        match index::io_cause(&source) {
            Some(source) => Error::Io { action: "use the search index in", path, source },
            None => Error::Index { path, source: Box::new(source) },
        }
    }

    /// Returns what is searched: the live documents of the views.
    pub(super) fn snapshot(views: &[View]) -> std::result::Result<Snapshot, Failure> {
        let mut snapshot = Snapshot::new();
        for view in views {
            // Of an index that nobody knows nothing may answer: all entries are in the overlay.
            if let Some(committed) = view.committed.as_ref().filter(|_| view.catalog.index_is_known()) {
                snapshot.add_committed(committed, &view.catalog.stale_paths())?;
            }
            snapshot.add_overlay(&view.overlay)?;
        }
        Ok(snapshot)
    }
}

fn index_name(area: Area) -> String {
    let area = match area {
        Area::Live => "live",
        Area::Archive => "archive",
    };
    format!("{}/{area}", index::folder_name())
}

fn document<'a>(path: &'a str, entry: &'a Entry) -> Document<'a> {
    Document { path, head: &entry.head, body: &entry.body, text: &entry.text }
}

/// Returns a word that changes when the machine starts anew, or nothing where the system has none.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
