//! The list of all entries, updated at the start of every call.
//!
//! For each file the catalog has its stat, a hash of its bytes and its head, and it knows what the committed index
//! lacks. A scan has two phases: [`Catalog::scan`] examines every file and opens none, [`Scan::read`] reads the changed
//! ones. The result is kept in the cache, under the id of the index commit that it describes; without it every file is
//! read. The catalog never writes an entry file, and knows nothing about the index format.
//!
//! The invariant is that nothing is ever stale: the result includes every change that was complete before the scan
//! began. A file counts as unchanged only if its `mtime`, `ctime`, inode, size and kind are the same as when it was
//! read, and were old enough then for any later change to show. The same holds for a folder, whose `mtime` and `ctime`
//! cover the names in it.
//!
//! These stamps miss one change: a write through `mmap` to a page that is already dirty. The kernel sets the times when
//! a clean page is written to, and not again before that page is on the disk. A file that is read between two such
//! writes counts as unchanged. `index --rebuild` reads every file.
//!
//! Rows are in the byte order of their folders' paths, then of their names. A catalog gives the same answers whether it
//! grew call by call or was built at once.

mod heads;
mod listing;
mod manifest;
mod merge;
mod problems;
mod renamed;
mod rows;
mod scan;
mod table;
mod update;
mod walk;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::entry::path::{ARCHIVED_COPIES, COPIES, is_copy};
use crate::entry::{self, Head, Id, Kind};
use crate::error::Problem;
use crate::store::Store;

use self::heads::Heads;
use self::manifest::{ManifestFile, StaleDocuments};
use self::table::{AGAIN, Code, EVENT, IN_INDEX, LINKS, PROBLEM, Row, SHADOWED, SUPERSEDES, Table};

/// The folder of the catalogs, below the cache folder.
pub(crate) const FOLDER: &str = "catalog-v2";

pub(crate) use self::heads::HeadStart;
pub(crate) use self::renamed::{add_archived, names};
pub(crate) use self::scan::Scan;
pub(crate) use self::table::RowId;

/// Which files a catalog lists. Each area has a manifest, heads and an index of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Area {
    /// `knowledge/` and `journal/`, and the copies of attempts that have no file there.
    #[default]
    Live,
    /// The same folders below `archive/`.
    Archive,
}

impl Area {
    fn roots(self) -> [&'static str; 3] {
        match self {
            Area::Live => ["journal", COPIES, "knowledge"],
            Area::Archive => ["archive/journal", ARCHIVED_COPIES, "archive/knowledge"],
        }
    }

    fn knowledge(self) -> &'static str {
        self.roots()[2]
    }

    /// Returns how many folders lie above those of [`Area::roots`].
    fn depth(self) -> usize {
        match self {
            Area::Live => 0,
            Area::Archive => 1,
        }
    }

    /// Returns its name in the cache.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Area::Live => "live",
            Area::Archive => "archive",
        }
    }

    /// Returns the folder of the area's manifests and heads, below the cache folder.
    fn cache(self) -> String {
        format!("{FOLDER}/{}", self.name())
    }
}

/// All entries of one [`Area`].
///
/// Functions that take a `RowId` panic if it is not below [`Catalog::len`].
#[derive(Debug, Default)]
pub struct Catalog {
    area: Area,
    /// The folder that holds `.ralph/`.
    root: PathBuf,
    table: Table,
    heads: Heads,
    stale: StaleDocuments,
    index_id: Option<String>,
    index_is_known: bool,
    /// Whether a manifest was loaded or saved under `index_id`.
    is_saved: bool,
    changed: bool,
    n_reread: usize,
    n_left: usize,
    root_problems: Vec<Problem>,
    /// The number of the error if the system lacked a resource to read a file; else 0.
    shortage: u8,
    by_id: RowsByHash,
    by_task: RowsByHash,
    renamed: OnceLock<HashMap<Id, Id>>,
}

/// Rows by hashes of something of theirs, sorted.
type RowsByHash = OnceLock<Vec<(u32, RowId)>>;

impl Catalog {
    /// Examines every file, and opens no entry.
    ///
    /// `index_id` is the id of the index commit that a search will use; it selects the manifest to start from. `now`
    /// must be taken before this call: a file that changed shortly before it or later is hashed again the next time.
    pub fn scan(store: &Store, area: Area, index_id: Option<&str>, now: SystemTime) -> Scan {
        let mut catalog = Catalog::load(store, area, index_id);
        catalog.root_problems = listing::root_problems(store, area);
        walk::run(catalog, store, nanoseconds(now))
    }

    /// Returns the catalog as it was saved, for a process that has just found each file as it says.
    pub fn scanned(store: &Store, area: Area, index_id: Option<&str>, now: SystemTime) -> Scan {
        let mut catalog = Catalog::load(store, area, index_id);
        catalog.root_problems = listing::root_problems(store, area);
        Scan { catalog, touched: Vec::new(), start: nanoseconds(now), is_unchanged: true }
    }

    /// Returns the fingerprint that the file at `path` had when the catalog was saved; no file is examined.
    pub fn saved_fingerprint(store: &Store, area: Area, index_id: Option<&str>, path: &str) -> Option<u64> {
        let catalog = Catalog::load(store, area, index_id);
        Some(catalog.fingerprint(catalog.row_of_path(path)?))
    }

    /// Examines one file again, which this process has just written, and keeps the rest.
    ///
    /// For a writing call, which has scanned already and still has the cache lock: other changes since then show in the
    /// next scan, which lists the file's folder again too. For a file in a folder that is unknown to this catalog,
    /// everything is examined.
    pub fn rescan_path(mut self, store: &Store, path: &str, now: SystemTime) -> Scan {
        let known = path.rsplit_once('/').and_then(|(folder, name)| Some((self.table.folder_at(folder)?, name)));
        let Some((folder, name)) = known else {
            return Catalog::scan(store, self.area, self.index_id.as_deref(), now);
        };
        self.forget_derived();
        (self.n_reread, self.n_left, self.shortage) = (0, 0, 0);
        walk::run_at(self, store, nanoseconds(now), folder, name)
    }

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.table.rows.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.table.rows.is_empty()
    }

    /// Returns the folders that hold entries, relative to `.ralph/`, in the order of their paths.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        (0..self.table.folders.len()).map(|folder| self.table.folder_path(folder))
    }

    /// Returns a fingerprint of the bytes of a row's file; 0 if they cannot be read.
    pub fn fingerprint(&self, row: RowId) -> u64 {
        if self.row(row).code().is_some() { 0 } else { self.row(row).hash }
    }

    /// Returns the path of a row's file, relative to `.ralph/`.
    pub fn path(&self, row: RowId) -> String {
        self.table.path(row)
    }

    /// Returns the id of a row.
    pub fn id(&self, row: RowId) -> Option<Id> {
        Id::of_path(&self.path(row))
    }

    /// Returns the row of the file at `path`, which is relative to `.ralph/`.
    pub fn row_of_path(&self, path: &str) -> Option<RowId> {
        self.table.row_at(path)
    }

    /// Returns the row that has an id: the first readable one by path, else the first by path.
    pub fn row_of_id(&self, id: &Id) -> Option<RowId> {
        let near = self.rows_by_hash(&self.by_id, table::hash_of_id(id), |row| row.id);
        let named = near.filter(|&row| self.id(row).as_ref() == Some(id));
        named.min_by_key(|&row| (!self.row(row).competes(), self.path(row)))
    }

    /// Returns the rows with a hash, in their order. `known` has all of them by their hashes, once it was asked.
    fn rows_by_hash(
        &self,
        known: &RowsByHash,
        hash: u32,
        hash_of: impl Fn(&Row) -> u32,
    ) -> impl Iterator<Item = RowId> {
        let by_hash = known.get_or_init(|| {
            let mut by_hash: Vec<(u32, RowId)> =
                (0..).zip(&self.table.rows).map(|(at, row)| (hash_of(row), at)).collect();
            by_hash.sort_unstable();
            by_hash
        });
        let first = by_hash.partition_point(|(other, _)| *other < hash);
        by_hash[first..].iter().take_while(move |(other, _)| *other == hash).map(|(_, row)| *row)
    }

    /// Forgets what was derived from the rows, which change.
    fn forget_derived(&mut self) {
        (self.by_id, self.by_task, self.renamed) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
    }

    /// Returns when the content of the entry last changed, in microseconds since 1970; `i64::MIN` if it is unknown.
    pub fn recency(&self, row: RowId) -> i64 {
        self.row(row).recency
    }

    /// Returns whether the index should contain the row: its file is readable and UTF-8, and no other file of its id
    /// comes first.
    pub fn is_indexable(&self, row: RowId) -> bool {
        self.row(row).is_indexable()
    }

    /// Returns whether the row should have vectors: the index should contain it, and it is of this work tree. What others
    /// recorded is not sent.
    pub fn is_embedded(&self, row: RowId) -> bool {
        self.is_indexable(row) && !is_copy(&self.path(row))
    }

    /// Returns whether the row has a problem.
    pub fn has_problem(&self, row: RowId) -> bool {
        self.row(row).has(PROBLEM) || self.is_duplicate(row) || self.row(row).code().is_some()
    }

    /// Returns whether another file has the id of a row by mistake. A copy of an attempt whose file was moved has it rightly.
    fn is_duplicate(&self, row: RowId) -> bool {
        self.row(row).has(SHADOWED) && !is_copy(&self.path(row))
    }

    /// Returns whether the entry replaces others.
    pub fn supersedes_any(&self, row: RowId) -> bool {
        self.row(row).has(SUPERSEDES)
    }

    /// Returns whether the body of a row's file has links.
    pub fn has_links(&self, row: RowId) -> bool {
        self.row(row).has(LINKS)
    }

    /// Returns whether the entry is an event.
    pub fn is_event(&self, row: RowId) -> bool {
        self.row(row).has(EVENT)
    }

    /// Returns the head of a row, decoded for this call. Reading all in turn is quick.
    ///
    /// A head that the cache lost is read from the entry file.
    pub fn head(&self, row: RowId) -> Head {
        let (path, is_duplicate) = (self.path(row), self.is_duplicate(row));
        let row = self.row(row);
        let kind = Id::of_path(&path).map_or(Kind::Knowledge, |id| id.kind());
        if let Some(code) = row.code() {
            return Head::unreadable(kind, code.problem(&path));
        }
        let head = self.heads.get(row, &path).or_else(|| {
            let file = Store::open(&self.root).ok()?.read(&path).ok()?;
            Some(entry::read(&path, &file.bytes).head)
        });
        let mut head = head.unwrap_or_else(|| Head::unreadable(kind, Code::Unreadable.problem(&path)));
        if is_duplicate {
            let first = Id::of_path(&path).and_then(|id| Some((self.path(self.row_of_id(&id)?), id)));
            head.problems.extend(first.map(|(first, id)| table::duplicate_id(&path, &id, &first)));
        }
        head
    }

    /// Returns the head of a row for lists: without its questions, fingerprints, problems and number of words, and with no more
    /// of an attempt than its iteration, its outcome, its context, its error and how much it says. Reading all in turn takes a
    /// third of the time for whole heads.
    pub fn light_head(&self, row: RowId) -> Head {
        self.heads.light(self.row(row), &self.path(row)).unwrap_or_else(|| self.head(row))
    }

    /// Returns the paths whose documents in the committed index are outdated: the file is gone, changed, or is not
    /// indexable any more.
    ///
    /// The list is complete only while [`Catalog::index_is_known`].
    pub fn stale_paths(&self) -> Vec<String> {
        self.stale.keys().cloned().collect()
    }

    /// Returns whether the catalog knows the content of the committed index. If not, there was no manifest for it, and
    /// nothing in that index may answer; every indexable row is pending.
    pub fn index_is_known(&self) -> bool {
        self.index_is_known
    }

    /// Returns the id of the known index commit; none if there is no index.
    pub fn index_id(&self) -> Option<&str> {
        self.index_id.as_deref()
    }

    /// Returns how many rows the committed index lacks.
    pub fn n_pending(&self) -> usize {
        self.table.rows.iter().filter(|row| row.is_pending()).count()
    }

    /// Returns how many files were opened.
    pub fn n_reread(&self) -> usize {
        self.n_reread
    }

    /// Returns how many files were not opened because the time was up.
    pub fn n_left(&self) -> usize {
        self.n_left
    }

    /// Returns whether saving would change the manifest.
    pub fn changed_since_manifest(&self) -> bool {
        self.changed || !self.is_saved || self.heads.is_damaged()
    }

    /// Returns a folder, relative to `.ralph/`, that could not be listed, so that its entries are unknown, and the
    /// reason.
    pub fn unlisted_folder(&self) -> Option<(&str, io::Error)> {
        let at = self.table.folders.iter().position(|folder| folder.unreadable > 0)?;
        let error = io::Error::from_raw_os_error(self.table.folders[at].unreadable.into());
        Some((self.table.folder_path(at), error))
    }

    /// Returns the error if entries that are there are missing from this catalog, since the system had too little of
    /// something to look: files that may be open, or memory. What cannot be read for a reason of its own is a problem of
    /// that file alone.
    pub fn shortage(&self) -> Option<io::Error> {
        let numbers = self.table.folders.iter().map(|folder| folder.unreadable).chain([self.shortage]);
        let number = numbers.into_iter().find(|number| listing::is_shortage(*number))?;
        Some(io::Error::from_raw_os_error(number.into()))
    }

    /// Keeps the catalog in the cache, for the index commit with this id.
    ///
    /// The caller has the cache lock, and after taking it has read the index's commit id and scanned. With
    /// `all_indexed` the index that will be committed with this id contains every indexable row and nothing else; save
    /// first, then commit. Otherwise the index is the one that the scan used, and only the result of reading files is
    /// kept.
    ///
    /// # Errors
    ///
    /// Those of the file system; the catalog stays usable.
    pub fn save(&mut self, store: &Store, index_id: &str, all_indexed: bool) -> io::Result<()> {
        if !manifest::is_valid_id(index_id) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the id of an index commit"));
        }
        let is_same_index = self.index_id.as_deref() == Some(index_id);
        let index_is_known = all_indexed || is_same_index && self.index_is_known;
        let is_news = all_indexed && !(self.index_is_known && self.stale.is_empty() && self.n_pending() == 0);
        if is_same_index && !is_news && !self.changed_since_manifest() {
            return Ok(());
        }
        let (old_heads, key) = (self.heads.number, store.make_cache_key()?);
        self.heads.save(store, self.area, &mut self.table, key)?;
        self.table.compact_names();
        let flags = |row: &Row| {
            let is_in_index = if all_indexed { row.is_indexable() } else { row.has(IN_INDEX) };
            row.stored_flags() & !IN_INDEX | if is_in_index { IN_INDEX } else { 0 }
        };
        let rows: Vec<Row> = self.table.rows.iter().map(|row| Row { flags: flags(row), ..*row }).collect();
        let stale = if all_indexed { &StaleDocuments::new() } else { &self.stale };
        let file = ManifestFile { store, area: self.area, index_id, key };
        file.save((self.heads.number, self.heads.len()), index_is_known, &self.table, &rows, stale)?;
        self.table.rows = rows;
        if all_indexed {
            self.stale.clear();
            // The previous one stays: it is needed until the index is committed.
            if let Some(before) = self.index_id.take() {
                manifest::sweep(store, self.area, &[index_id, &before], &[self.heads.number, old_heads]);
            }
        }
        self.index_id = Some(index_id.to_owned());
        (self.index_is_known, self.is_saved, self.changed) = (index_is_known, true, false);
        Ok(())
    }

    /// Starts from the manifest of an index commit, or from nothing.
    fn load(store: &Store, area: Area, index_id: Option<&str>) -> Catalog {
        let mut catalog = Catalog {
            area,
            root: store.root().to_owned(),
            index_id: index_id.map(str::to_owned),
            // Without an index, it is known to be empty.
            index_is_known: index_id.is_none(),
            ..Catalog::default()
        };
        let Ok(key) = store.cache_key() else { return catalog };
        let load = |index_id| ManifestFile { store, area, index_id, key }.load();
        let Some((header, table, stale)) = index_id.and_then(load) else { return catalog };
        (catalog.table, catalog.stale) = (table, stale);
        catalog.index_is_known = header.index_is_known > 0;
        catalog.is_saved = true;
        catalog.heads = Heads::open(store, area, header.heads, key);
        let heads_len = catalog.heads.len();
        if heads_len < header.heads_len {
            // Heads were cut off, or are missing: their files are read again.
            catalog.changed = true;
            let end = |row: &Row| u64::from(row.head_at) + u64::from(row.head_len) + 8;
            for row in catalog.table.rows.iter_mut().filter(|row| row.head_len > 0 && end(row) > heads_len) {
                row.head_len = 0;
                row.set(AGAIN, true);
            }
        }
        catalog
    }

    fn row(&self, row: RowId) -> &Row {
        &self.table.rows[row as usize]
    }
}

fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |since| -since),
    }
}

#[cfg(test)]
mod tests;
