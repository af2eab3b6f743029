//! Phase 1: compares every file with the catalog, and opens none.
//!
//! A known file is queried by its name, through the descriptor of its folder or of the one above. A folder is listed only
//! if its stat shows that a name in it was created, removed or given to another file. Differences become flags in the
//! rows for phase 2.
//! This file knows nothing about entries.

use std::io;
use std::ops::Range;

use super::listing::{Listing, OpenFolder, Seen, is_no_folder, list};
use super::scan::Scan;
use super::table::{AGAIN, RowId, Table, fingerprint, id_hash, number};
use super::{Area, Catalog, merge};
use crate::entry::path::is_copy;
use crate::store::{FileKind, FileStat, Folder, Store};

/// The number of files from which a second thread helps: below, starting it takes longer than it saves.
const PARALLEL: usize = 5_000;

/// The differences from the table.
#[derive(Debug, Default)]
struct FolderListing {
    files: Vec<(RowId, Seen)>,
    /// Folders to list: their content, or nothing if they could not be opened.
    folders: Vec<(usize, Option<Listing>)>,
}

/// Compares the files with the catalog.
pub(super) fn run(catalog: Catalog, store: &Store, start: i64) -> Scan {
    let found = look_at_all(store, &catalog.table, catalog.area, start);
    let mut scan = Scan { catalog, touched: Vec::new(), start, is_unchanged: false };
    let is_known = found.files.is_empty();
    for (row, seen) in found.files {
        scan.note(row, seen);
    }
    let table = &scan.catalog.table;
    let is_new_root =
        |root: &&str| table.folder_at(root).is_none() && !store.folder(root).is_err_and(|error| is_no_folder(&error));
    if !found.folders.is_empty() || scan.catalog.area.roots().iter().any(is_new_root) {
        merge::rebuild(&mut scan, store, found.folders);
    } else {
        scan.is_unchanged = is_known;
        scan.catalog.table.compact();
    }
    scan
}

/// Compares one file with the catalog. The stat of its folder stays the old one, so the next scan lists the folder.
pub(super) fn run_at(mut catalog: Catalog, store: &Store, start: i64, folder: usize, name: &str) -> Scan {
    let path = format!("{}/{name}", catalog.table.folder_path(folder));
    let stat = store.folder(catalog.table.folder_path(folder)).and_then(|folder| folder.stat_of(name));
    let row = catalog.table.row_at(&path).or_else(|| {
        catalog.changed = true;
        catalog.table.insert(folder, name, id_hash(&path))
    });
    let mut scan = Scan { catalog, touched: Vec::new(), start, is_unchanged: false };
    if let Some(row) = row {
        scan.note(row, Seen::of(stat));
    }
    scan.catalog.table.compact();
    scan
}

fn look_at_all(store: &Store, table: &Table, area: Area, start: i64) -> FolderListing {
    let all = 0..table.folders.len();
    let has_second_core = || std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    if table.rows.len() < PARALLEL || !has_second_core() {
        return look_at(store, table, area, start, all);
    }
    let middle = number(table.rows.len() / 2);
    let middle = table.folders.partition_point(|folder| folder.first < middle);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| look_at(store, table, area, start, middle..all.end));
        let mut found = look_at(store, table, area, start, 0..middle);
        let second = second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        found.files.extend(second.files);
        found.folders.extend(second.folders);
        found
    })
}

fn look_at(store: &Store, table: &Table, area: Area, start: i64, folders: Range<usize>) -> FolderListing {
    let mut found = FolderListing::default();
    let mut above = None;
    for at in folders {
        let (path, known) = (table.folder_path(at), &table.folders[at]);
        if known.again == 0
            && let Some((above, name)) = open_above(store, path, &mut above)
            && above.stat_of(name).is_ok_and(|stat| stat.kind == FileKind::Folder && fingerprint(&stat) == known.stat)
        {
            found.compare(table, at, |file| above.stat_in(name, file));
            continue;
        }
        let Ok(opened) = OpenFolder::open(store, path, start) else {
            found.folders.push((at, None));
            continue;
        };
        if known.again > 0 || known.stat != opened.stamp {
            found.folders.push((at, Some(list(&opened, path, area))));
        } else if is_copy(path) {
            // Only this program writes copies, and always to new files.
            let again = table.rows_of(at).filter(|row| table.rows[*row].has(AGAIN));
            found
                .files
                .extend(again.map(|row| (number(row), Seen::of(opened.folder.stat_of(table.name(&table.rows[row]))))));
        } else {
            found.compare(table, at, |file| opened.folder.stat_of(file));
        }
    }
    found
}

impl FolderListing {
    /// Compares the files of a folder.
    fn compare(&mut self, table: &Table, folder: usize, stat_of: impl Fn(&str) -> io::Result<FileStat>) {
        for row in table.rows_of(folder) {
            let known = &table.rows[row];
            let seen = Seen::of(stat_of(table.name(known)));
            if !seen.is_known(known) {
                self.files.push((number(row), seen));
            }
        }
    }
}

/// Opens the folder above the one at `path`, and returns it with that one's name. A folder that is unchanged need not be
/// opened itself, and its neighbours have the same one above. `None` for copies, which are compared with other folders.
fn open_above<'a>(
    store: &Store,
    path: &'a str,
    above: &'a mut Option<(String, Folder)>,
) -> Option<(&'a Folder, &'a str)> {
    let (parent, name) = path.rsplit_once('/').filter(|_| !is_copy(path))?;
    if above.as_ref().is_none_or(|(known, _)| known != parent) {
        *above = Some((parent.to_owned(), store.folder(parent).ok()?));
    }
    Some((&above.as_ref()?.1, name))
}
