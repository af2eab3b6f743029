//! Brings the catalog and the index up to date at the start of a call.

use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::activity::Work;
use super::{Workspace, hints};
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::index::catalog::{Area, Catalog, Scan};
use crate::index::{self, Committed, Document, Failure, Overlay, OverlayBuilder, Snapshot, Writer, guarded};
use crate::store::Lock;
use crate::system;

/// A reading call commits when more entries than this are not in the index.
const COMMIT_WHEN_OVER: usize = 500;
/// If there is no index at all, a reading call builds one from this many entries on: below, reading them is cheaper.
const BUILD_FROM: usize = 32;
/// A reading call also commits when these entries have more bytes than this: reading them takes a hundredth of a second.
const COMMIT_WHEN_OVER_BYTES: u64 = 256 * 1024;
/// A reading call saves its results about files while there are at most this many: writing the list then takes less
/// than a millisecond.
const SAVE_UP_TO: usize = 20_000;
/// With more files it saves them if it read more than this share: reading took as long.
const SAVE_FROM_ONE_IN: usize = 64;

/// The attempted action when an index fails.
const USE_INDEX: &str = "use the search index in";

/// The entries of one area, and their state in the index.
pub(crate) struct View {
    pub(crate) catalog: Catalog,
    committed: Option<Committed>,
    overlay: Overlay,
}

/// The entries of some areas, and the data for a search among them.
pub(crate) type Opened = (Vec<View>, Snapshot);

/// The live entries at the time of a writing call, and the lock under which it will commit; none if another process has
/// it, or the cache cannot be written.
pub(crate) struct Pending {
    pub(crate) catalog: Catalog,
    pub(crate) lock: Option<Lock>,
}

/// The result of [`Memory::rebuild_index`](crate::Memory::rebuild_index).
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Seed data", ["demo"], "`just seed` fills the demo shop."))?;
/// let rebuilt = memory.rebuild_index()?;
/// assert_eq!(rebuilt.entries, 1);
/// assert!(rebuilt.path.starts_with(root.join(".ralph/cache")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rebuilt {
    /// How many entries the index has.
    pub entries: usize,
    /// Where it is.
    pub path: PathBuf,
}

impl Workspace {
    /// Writes the index of both areas; with `anew`, of all entries.
    pub(crate) fn write_index(&self, anew: bool) -> Result<Rebuilt> {
        let lock = self.wait_for_cache()?;
        let mut entries = 0;
        for area in [Area::Archive, Area::Live] {
            let view = self.commit(&lock, area, anew).map_err(|source| self.index_error(area, source))?;
            entries = view.catalog.rows().filter(|row| view.catalog.is_indexable(*row)).count();
        }
        Ok(Rebuilt { entries, path: self.index_folder(Area::Live) })
    }

    /// Returns the current entries of an area, with the data for a search.
    pub(crate) fn view(&self, area: Area) -> Result<View> {
        let committed = self.committed(area);
        let scan = self.scan(area, committed.as_ref());
        if self.should_commit(&scan, committed.is_none()) {
            // A failure to commit only makes this call slower.
            if let Some(view) = self.store.cache_lock().and_then(|lock| self.commit(&lock, area, false).ok()) {
                return Ok(view);
            }
        }
        let (mut catalog, overlay) = self.overlay(area, scan)?;
        if let Some(committed) = &committed
            && catalog.changed_since_manifest()
            && (catalog.len() <= SAVE_UP_TO || catalog.n_reread() * SAVE_FROM_ONE_IN > catalog.len())
            && let Ok(_lock) = self.store.wait_for_cache_lock(Duration::ZERO)
            && self.committed(area).is_some_and(|current| current.id() == committed.id())
        {
            // The cache may not be writable; the next call then reads the same files again.
            let _ = catalog.save(&self.store, committed.id(), false);
        }
        Ok(View { catalog, committed, overlay })
    }

    /// Returns whether a call commits what it reads. Otherwise each call would read it again.
    fn should_commit(&self, scan: &Scan, is_first: bool) -> bool {
        let n_pending = scan.n_pending();
        n_pending > COMMIT_WHEN_OVER
            || is_first && n_pending >= BUILD_FROM
            || n_pending > 0 && scan.n_pending_bytes(&self.store) > COMMIT_WHEN_OVER_BYTES
    }

    /// Commits what the indexes of these areas lack, if that is so much that a call should, until the time `is_over`. What
    /// is read by then is kept. Returns whether other calls may go on: nothing is left, or the cache cannot be written.
    pub(crate) fn catch_up(&self, areas: &[Area], is_over: &dyn Fn() -> bool) -> bool {
        let has_left = |area: Area| {
            let committed = self.committed(area);
            if !self.should_commit(&self.scan(area, committed.as_ref()), committed.is_none()) {
                return false;
            }
            let Ok(lock) = self.store.wait_for_cache_lock(Duration::ZERO) else { return false };
            let view = guarded(|| self.commit_until(&lock, area, false, is_over));
            matches!(view, Ok(Ok(view)) if view.catalog.n_left() > 0)
        };
        !areas.iter().any(|area| has_left(*area))
    }

    /// Answers from the entries of these areas. If the content of the cache makes that fail or panic, the index is
    /// rebuilt, and the answer comes from the files.
    pub(crate) fn answer<T>(&self, areas: &[Area], answer: impl Fn(&[View], &Snapshot) -> Result<T>) -> Result<T> {
        self.answer_from(&mut None, areas, answer)
    }

    /// Does the same from what an earlier call `opened`, and leaves there what it opened itself.
    pub(crate) fn answer_from<T>(
        &self,
        opened: &mut Option<Opened>,
        areas: &[Area],
        answer: impl Fn(&[View], &Snapshot) -> Result<T>,
    ) -> Result<T> {
        let open = |view: &dyn Fn(Area) -> Result<View>| -> Result<Opened> {
            let mut views = areas.iter().map(|area| view(*area)).collect::<Result<Vec<_>>>()?;
            for view in &mut views {
                self.narrow(&mut view.catalog);
            }
            let snapshot = Workspace::snapshot(&views).map_err(|source| self.index_error(areas[0], source))?;
            Ok((views, snapshot))
        };
        let with_cache = || {
            let known = opened.take().map_or_else(|| open(&|area| self.view(area)), Ok)?;
            let (views, snapshot) = opened.insert(known);
            answer(views, snapshot)
        };
        match guarded(with_cache) {
            Ok(Err(error)) if is_damage(&error) => {}
            Ok(answered) => return answered,
            Err(_) => {}
        }
        // A failure or panic here is not caused by the cache.
        let (views, snapshot) = opened.insert(open(&|area| self.view_anew(area))?);
        answer(views, snapshot)
    }

    fn view_anew(&self, area: Area) -> Result<View> {
        if let Some(view) = self.store.cache_lock().and_then(|lock| self.commit(&lock, area, true).ok()) {
            return Ok(view);
        }
        let (catalog, overlay) = self.overlay(area, self.scan(area, None))?;
        Ok(View { catalog, committed: None, overlay })
    }

    /// Reads the changed files of a scan into a small index.
    fn overlay(&self, area: Area, scan: Scan) -> Result<(Catalog, Overlay)> {
        let mut builder = OverlayBuilder::default();
        let mut failure = None;
        let catalog = self.read(Work::Reading, scan, &|| false, &mut |path, entry| {
            failure = failure.take().or(builder.add(document(path, entry)).err());
        });
        self.check_whole(&catalog)?;
        let overlay = failure.map_or_else(|| builder.finish(), Err).map_err(|source| self.index_error(area, source))?;
        Ok((catalog, overlay))
    }

    /// Answers from the live entries if that is quick: without building, extending or repairing an index. `None` if too
    /// many entries are not indexed, or the index cannot be used.
    pub(crate) fn quick_answer<T>(&self, answer: impl Fn(&[View], &Snapshot) -> Result<T>) -> Option<T> {
        let answered = guarded(|| {
            let committed = self.committed(Area::Live);
            let scan = self.scan(Area::Live, committed.as_ref());
            if scan.n_pending() > COMMIT_WHEN_OVER {
                return None;
            }
            let (mut catalog, overlay) = self.overlay(Area::Live, scan).ok()?;
            self.narrow(&mut catalog);
            let views = [View { catalog, committed, overlay }];
            answer(&views, &Workspace::snapshot(&views).ok()?).ok()
        });
        answered.ok().flatten()
    }

    /// Returns the entries of an area, without the data for a search.
    pub(crate) fn catalog(&self, area: Area) -> Catalog {
        let committed = self.committed(area);
        let mut catalog = self.read(Work::Reading, self.scan(area, committed.as_ref()), &|| false, &mut |_, _| {});
        self.narrow(&mut catalog);
        catalog
    }

    /// Fails if entries are missing from a catalog that are there: an answer from it would be wrong, and not only lack what
    /// is broken.
    pub(crate) fn check_whole(&self, catalog: &Catalog) -> Result<()> {
        let failed = |source| Error::Io { action: "read all of", path: self.store.memory().to_owned(), source };
        catalog.shortage().map_or(Ok(()), |source| Err(failed(source)))
    }

    /// Checks every file of an area, and opens none.
    fn scan(&self, area: Area, committed: Option<&Committed>) -> Scan {
        let _scanning = self.doing(Work::Scanning, None);
        let (store, id, now) = (&self.store, committed.map(Committed::id), SystemTime::now());
        let Some(unchanged) = self.unchanged.as_ref().map(|unchanged| &unchanged[area as usize]) else {
            return Catalog::scan(store, area, id, now);
        };
        let n_changes = store.n_changes();
        if unchanged.load(Ordering::Relaxed) == n_changes {
            return Catalog::scanned(store, area, id, now);
        }
        let scan = Catalog::scan(store, area, id, now);
        if scan.is_unchanged() {
            unchanged.store(n_changes, Ordering::Relaxed);
        }
        scan
    }

    /// Reads the changed files of a scan, as this work, until the time `is_over`.
    fn read(&self, work: Work, scan: Scan, is_over: &dyn Fn() -> bool, each: &mut dyn FnMut(&str, &Entry)) -> Catalog {
        let mut reading = self.doing(work, self.observer.as_ref().map(|_| scan.n_pending()));
        scan.read_until(&self.store, is_over, &mut |path, entry| {
            each(path, entry);
            reading.advance(1);
        })
    }

    /// Returns the fingerprint of a file when a call last examined all of them, if one has saved it.
    pub(crate) fn last_known(&self, path: &str) -> Option<u64> {
        let area = if path.starts_with("archive/") { Area::Archive } else { Area::Live };
        let committed = self.committed(area);
        Catalog::saved_fingerprint(&self.store, area, committed.as_ref().map(Committed::id), path)
    }

    /// Lists the live entries for a call that will write one, and takes the cache lock for it: the commit after the
    /// write starts from this list.
    pub(crate) fn begin_write(&self) -> Pending {
        let lock = if self.is_hurried { None } else { self.store.cache_lock() };
        let committed = self.committed(Area::Live);
        let scan = self.scan(Area::Live, committed.as_ref());
        if scan.n_pending() > COMMIT_WHEN_OVER
            && let Some(held) = &lock
            && let Ok(view) = self.commit(held, Area::Live, false)
        {
            return Pending { catalog: view.catalog, lock };
        }
        Pending { catalog: self.read(Work::Reading, scan, &|| false, &mut |_, _| {}), lock }
    }

    /// Updates the index after the entry at `path` was written. A failure is left to the next call: a write is complete
    /// when its file is.
    pub(crate) fn commit_written(&self, pending: Pending, path: &str) {
        hints::add(&self.store, path);
        let Pending { catalog, lock: Some(lock) } = pending else { return };
        let started = SystemTime::now();
        match self.committed(Area::Live).filter(|_| catalog.index_is_known()) {
            Some(committed) => {
                let scan = catalog.rescan_path(&self.store, path, started);
                let _ = guarded(|| self.commit_scan(&lock, Area::Live, Some(&committed), scan, &|| false).map(drop));
            }
            None => {
                let _ = self.commit(&lock, Area::Live, false);
            }
        }
    }

    /// Updates the index after several entries were written, as [`Workspace::commit_written`] does after one.
    pub(crate) fn commit_batch(&self, lock: Option<Lock>) {
        if let Some(lock) = lock {
            let _ = guarded(|| self.commit(&lock, Area::Live, false).map(drop));
        }
    }

    /// Updates the indexes after a file was moved from one area to the other.
    pub(crate) fn commit_moved(&self) {
        let Some(lock) = self.store.cache_lock() else { return };
        for area in [Area::Live, Area::Archive] {
            let _ = self.commit(&lock, area, false);
        }
    }

    /// Commits everything that an area's index lacks; with `anew`, all entries.
    pub(crate) fn commit(&self, lock: &Lock, area: Area, anew: bool) -> std::result::Result<View, Failure> {
        self.commit_until(lock, area, anew, &|| false)
    }

    /// Does the same for what is read until the time `is_over`.
    fn commit_until(
        &self,
        lock: &Lock,
        area: Area,
        anew: bool,
        is_over: &dyn Fn() -> bool,
    ) -> std::result::Result<View, Failure> {
        let committed = if anew { None } else { self.committed(area) };
        let scan = self.scan(area, committed.as_ref());
        if committed.is_some() && !scan.index_is_known() {
            // The content of this index is unknown.
            return self.commit_until(lock, area, true, is_over);
        }
        let catalog = match &committed {
            None => self.commit_scan(lock, area, None, scan, is_over)?,
            Some(_) => match guarded(|| self.commit_scan(lock, area, committed.as_ref(), scan, is_over)) {
                Ok(Ok(catalog)) => catalog,
                // An index that can be read and not extended is rebuilt.
                Ok(Err(_)) | Err(_) => return self.commit_until(lock, area, true, is_over),
            },
        };
        let committed = self.committed_or_why(area)?;
        Ok(View { catalog, committed: Some(committed), overlay: OverlayBuilder::default().finish()? })
    }

    /// Commits the entries of a scan that the index lacks; all entries if there is no index.
    fn commit_scan(
        &self,
        _lock: &Lock,
        area: Area,
        committed: Option<&Committed>,
        scan: Scan,
        is_over: &dyn Fn() -> bool,
    ) -> std::result::Result<Catalog, Failure> {
        let fresh = committed.is_none();
        let folder = self.store.make_cache_folder(&index_name(area))?;
        let mut writer = Writer::begin(folder, self.store.make_cache_key()?, &system::boot(), fresh, scan.n_pending())?;
        let mut added = Vec::new();
        let mut catalog = self.read(Work::Indexing, scan, is_over, &mut |path, entry| {
            if !fresh {
                writer.remove(path);
                added.push(path.to_owned());
            }
            writer.add(document(path, entry));
        });
        if let Some(error) = catalog.shortage() {
            return Err(error.into());
        }
        added.sort_unstable();
        for path in catalog.stale_paths() {
            if added.binary_search(&path).is_err() {
                writer.remove(&path);
            }
        }
        let id = format!("{:016x}", RandomState::new().hash_one((SystemTime::now(), std::process::id())));
        let _writing = self.doing(Work::WritingIndex, None);
        // The manifest first: the index takes effect with its commit, and then finds it.
        catalog.save(&self.store, &id, true)?;
        writer.commit(&id)?;
        Ok(catalog)
    }

    pub(crate) fn committed(&self, area: Area) -> Option<Committed> {
        self.committed_or_why(area).ok()
    }

    fn committed_or_why(&self, area: Area) -> std::result::Result<Committed, Failure> {
        // A repository can contain `cache` as a link to anywhere; the store checks every part.
        let folder = self.store.folder(&format!("cache/{}", index_name(area)))?;
        let key = self.store.cache_key()?;
        Committed::open(folder, key, &system::boot())
    }

    pub(crate) fn index_folder(&self, area: Area) -> PathBuf {
        self.store.cache().join(index_name(area))
    }

    pub(crate) fn index_error(&self, area: Area, source: Failure) -> Error {
        let path = self.index_folder(area);
        match index::io_cause(&source) {
            Some(source) => Error::Io { action: USE_INDEX, path, source },
            None => Error::Index { path, source: Box::new(source) },
        }
    }

    /// Returns the searched documents: the live ones of the views.
    pub(crate) fn snapshot(views: &[View]) -> std::result::Result<Snapshot, Failure> {
        let mut snapshot = Snapshot::default();
        for view in views {
            // Nothing in an unknown index may answer: all entries are in the overlay.
            if let Some(committed) = view.committed.as_ref().filter(|_| view.catalog.index_is_known()) {
                snapshot.add_committed(committed, &view.catalog.stale_paths())?;
            }
            snapshot.add_overlay(&view.overlay)?;
        }
        Ok(snapshot)
    }
}

fn index_name(area: Area) -> String {
    format!("{}/{}", index::folder_name(), area.name())
}

fn document<'a>(path: &'a str, entry: &'a Entry) -> Document<'a> {
    Document { path, head: &entry.head, body: &entry.body, text: &entry.text }
}

/// Returns whether an error means that the index is damaged, and not that the system refused.
fn is_damage(error: &Error) -> bool {
    match error {
        Error::Index { .. } => true,
        Error::Io { action: USE_INDEX, source, .. } => source.raw_os_error().is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::context::{Request, Task};
    use crate::entry::Knowledge;
    use crate::memory::Memory;
    use crate::search::retrieve::Query;

    fn memory() -> (tempfile::TempDir, Memory) {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        for number in 0..40 {
            let word = if number == 7 { "walrus" } else { "nightly" };
            let text = format!("---\ntitle: Entry {number}\ntags: [x]\n---\n\nIt is about the {word}.\n");
            fs::write(folder.path().join(format!(".ralph/knowledge/e{number}.md")), text).unwrap();
        }
        let memory = Memory::open(folder.path()).unwrap();
        memory.update_index().unwrap();
        (folder, memory)
    }

    fn found(memory: &Memory) -> Vec<String> {
        let query = Query { text: "walrus".into(), ..Query::default() };
        memory.search(&query, 10).unwrap().hits.into_iter().map(|hit| hit.entry.id.to_string()).collect()
    }

    #[test]
    fn a_process_that_gives_one_answer_examines_the_files_again_after_a_change_of_its_own() {
        let (folder, memory) = memory();
        let memory = memory.for_one_answer();
        let workspace = &memory.workspace;
        // Files that were written just now are examined each time.
        while !workspace.scan(Area::Live, workspace.committed(Area::Live).as_ref()).is_unchanged() {
            found(&memory);
        }
        fs::write(folder.path().join(".ralph/knowledge/other.md"), "---\ntitle: Other\ntags: [x]\n---\nx\n").unwrap();
        assert_eq!(memory.workspace.catalog(Area::Live).len(), 40);
        memory.add(&Knowledge::new("Own", ["x"], "Own.")).unwrap();
        assert_eq!(memory.workspace.catalog(Area::Live).len(), 42);
        // Another process that answers sees everything.
        assert_eq!(Memory::open(folder.path()).unwrap().workspace.catalog(Area::Live).len(), 42);
    }

    /// A disk changed a file without a change of its stat: nothing shows that it is damaged.
    fn damage(memory: &Memory, extension: &str) {
        let folder = memory.workspace.index_folder(Area::Live);
        let is_it = |path: &Path| path.extension().is_some_and(|own| own == extension);
        let path = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).find(|path| is_it(path)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let end = bytes.len() - 8;
        let footer = u32::from_le_bytes(*bytes[end..].first_chunk().unwrap()) as usize;
        bytes[..end - footer].fill(0xff);
        fs::write(path, bytes).unwrap();
        index::reseal(&memory.workspace.store, &index_name(Area::Live));
    }

    #[test]
    fn an_index_that_makes_its_reader_panic_or_fail_is_rebuilt() {
        for extension in ["term", "idx", "pos", "fieldnorm", "store", "fast"] {
            let (_folder, memory) = memory();
            damage(&memory, extension);
            assert_eq!(found(&memory), ["knowledge/e7"], "{extension}");
            // It was rebuilt, not bypassed: it can answer alone.
            assert!(memory.workspace.committed(Area::Live).is_some(), "{extension}");
            damage(&memory, extension);
            let context = memory.context(&Request { task: Task::new("Look for the walrus"), ..Request::default() });
            assert!(context.unwrap().text.contains("e7"), "{extension}");
            damage(&memory, extension);
            // If another process has the lock, the answer comes from the files.
            let lock = memory.workspace.store.wait_for_cache_lock(Duration::ZERO);
            assert!(lock.is_ok() && found(&memory) == ["knowledge/e7"], "{extension}");
            drop(lock);
            let added = crate::Knowledge::new("More", ["y"], "Nothing about it.");
            memory.add(&added).unwrap();
            assert_eq!(found(&memory), ["knowledge/e7"], "{extension}");
            memory.update_index().unwrap();
            assert_eq!(found(&memory), ["knowledge/e7"], "{extension}");
        }
    }

    #[test]
    fn a_panic_that_the_cache_did_not_cause_ends_the_call() {
        let (_folder, memory) = memory();
        let calls = std::cell::Cell::new(0);
        let answer = || {
            memory.workspace.answer(&[Area::Live], |_, _| -> Result<()> {
                calls.set(calls.get() + 1);
                panic!("a bug")
            })
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(answer)).is_err());
        assert_eq!((calls.get(), index::is_guarded()), (2, false));
    }
}
