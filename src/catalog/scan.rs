//! Phase 1: looks at every file, and opens none.
//!
//! A known file is asked for by its name, through the descriptor of its folder. A folder is listed
//! only when its stat says that a name in it came, went or was given to another file. What differs
//! is left in the rows as flags for phase 2. This file knows nothing of what entries say.

use std::ffi::OsStr;
use std::io;
use std::ops::Range;

use rustix::io::Errno;

use super::table::{
    AGAIN, Code, FolderRow, GONE, Row, RowId, SHADOWED, Table, UNREAD, fingerprint, id_hash, is_racy, number,
};
use super::{Area, Catalog, merge};
use crate::error::Problem;
use crate::store::{FileKind, FileStat, Folder, Store};

/// How many folders may lie in each other below the area's first ones.
const MAX_DEPTH: usize = 32;
/// From how many files on a second thread helps: below, starting it takes longer than it saves.
const PARALLEL: usize = 5_000;

/// A catalog that knows which files it has to read, and has not read them.
#[derive(Debug)]
pub struct Scan {
    pub(super) catalog: Catalog,
    /// Hashes of the ids for which a file is gone, or cannot be read any more.
    pub(super) touched: Vec<u32>,
    /// When the scan began, in nanoseconds since 1970.
    pub(super) start: i64,
}

/// What a file is like.
#[derive(Debug, Clone, Copy)]
pub(super) enum Seen {
    Stat(FileStat),
    Gone,
    Refused,
}

/// What is in a folder.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// What the table keeps of the folder, but for its path and first row.
    pub(super) row: FolderRow,
    /// The files that have an entry's name, by name.
    pub(super) files: Vec<(String, Seen)>,
    /// The folders to look into, by name.
    pub(super) folders: Vec<String>,
    /// What is a problem and no entry, by name.
    pub(super) odd: Vec<(String, Code)>,
}

/// What differs from the table.
#[derive(Debug, Default)]
struct FolderListing {
    files: Vec<(RowId, Seen)>,
    /// Folders to list: what is in them, or nothing when they could not be opened.
    folders: Vec<(usize, Option<Listing>)>,
}

/// Compares the files with what the catalog knows of them.
pub(super) fn run(catalog: Catalog, store: &Store, start: i64) -> Scan {
    let found = look_at_all(store, &catalog.table, catalog.area, start);
    let mut scan = Scan { catalog, touched: Vec::new(), start };
    let is_any_gone = found.files.iter().any(|(_, seen)| matches!(seen, Seen::Gone));
    for (row, seen) in found.files {
        scan.note(row, seen);
    }
    let table = &scan.catalog.table;
    let is_new_root =
        |root: &&str| table.folder_at(root).is_none() && !store.folder(root).is_err_and(|error| is_no_folder(&error));
    if !found.folders.is_empty() || scan.catalog.area.roots().iter().any(is_new_root) {
        merge::rebuild(&mut scan, store, found.folders);
    } else if is_any_gone {
        scan.catalog.table.compact();
    }
    scan
}

/// Compares one file with what the catalog knows of it. The stat of its folder stays the old one, so
/// the next scan lists the folder.
pub(super) fn run_at(mut catalog: Catalog, store: &Store, start: i64, folder: usize, name: &str) -> Scan {
    let path = format!("{}/{name}", catalog.table.folder_path(folder));
    let stat = store.folder(catalog.table.folder_path(folder)).and_then(|folder| folder.stat_of(name));
    let row = catalog.table.row_at(&path).or_else(|| {
        catalog.changed = true;
        catalog.table.insert(folder, name, id_hash(&path))
    });
    let mut scan = Scan { catalog, touched: Vec::new(), start };
    if let Some(row) = row {
        match stat {
            Ok(stat) => scan.note(row, Seen::Stat(stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                scan.note(row, Seen::Gone);
                scan.catalog.table.compact();
            }
            Err(_) => scan.note(row, Seen::Refused),
        }
    }
    scan
}

impl Scan {
    /// Returns for how many rows at most phase 2 has something to tell: those whose files changed,
    /// or may have, and those that are not in the committed index.
    pub fn n_pending(&self) -> usize {
        let rows = &self.catalog.table.rows;
        let n_due = rows.iter().filter(|row| row.has(UNREAD) || row.is_pending()).count();
        if n_due == 0 && self.touched.is_empty() {
            return 0;
        }
        // Any of them may turn out to be gone, and leave its id to a file that has waited for it.
        n_due + rows.iter().filter(|row| row.has(SHADOWED) && !row.has(UNREAD)).count()
    }

    /// Returns what [`Catalog::index_is_known`] will, before any file is read.
    pub fn index_is_known(&self) -> bool {
        self.catalog.index_is_known()
    }

    /// Puts what was seen of a file into its row.
    pub(super) fn note(&mut self, row: RowId, seen: Seen) {
        let before = self.catalog.table.rows[row as usize];
        match seen {
            // Its stat is taken anew when it is read, from the descriptor that is read.
            Seen::Stat(FileStat { kind: FileKind::File, .. }) => {
                self.catalog.table.rows[row as usize].set(UNREAD, true);
            }
            Seen::Stat(stat) => {
                let noted = &mut self.catalog.table.rows[row as usize];
                noted.stat = fingerprint(&stat);
                noted.set(AGAIN, is_racy(&stat, self.start));
                self.refuse(row, if stat.kind == FileKind::Link { Code::Link } else { Code::NotAFile });
            }
            Seen::Refused => {
                let noted = &mut self.catalog.table.rows[row as usize];
                noted.stat = 0;
                noted.set(AGAIN, true);
                self.refuse(row, Code::Unreadable);
            }
            Seen::Gone => {
                self.catalog.leave_index(row);
                self.touched.push(before.id);
                self.catalog.table.rows[row as usize].set(GONE, true);
                self.catalog.changed = true;
            }
        }
        self.catalog.changed |= self.catalog.table.rows[row as usize].differs(&before);
    }

    /// Lets the row say why nothing of its file can be read.
    pub(super) fn refuse(&mut self, row: RowId, code: Code) {
        self.catalog.leave_index(row);
        let row = &mut self.catalog.table.rows[row as usize];
        self.touched.push(row.id);
        let Row { stat, name, id, name_len, .. } = *row;
        let flags = row.flags & AGAIN;
        *row = Row { stat, recency: i64::MIN, name, id, name_len, flags, ..Row::default() };
        row.set_code(Some(code));
    }
}

/// Returns what stands in the place of the area's folders, where it is something else. That there
/// is nothing is no problem.
pub(super) fn root_problems(store: &Store, area: Area) -> Vec<Problem> {
    let mut problems = Vec::new();
    for root in area.roots() {
        if store.folder(root).is_ok() {
            continue;
        }
        let mut above = String::new();
        for part in root.split('/') {
            let stat = store.folder(&above).and_then(|folder| folder.stat_of(part));
            above = if above.is_empty() { part.to_owned() } else { format!("{above}/{part}") };
            let code = match stat {
                Ok(stat) if stat.kind == FileKind::Folder => continue,
                Ok(stat) if stat.kind == FileKind::Link => Code::Link,
                Ok(_) => Code::NotAFolder,
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(_) => Code::Unreadable,
            };
            problems.push(code.problem(&above));
            break;
        }
    }
    problems
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
    for number in folders {
        let path = table.folder_path(number);
        let opened = store.folder(path).and_then(|folder| Ok((folder.stat()?, folder)));
        let Ok((stat, folder)) = opened else {
            found.folders.push((number, None));
            continue;
        };
        let known = &table.folders[number];
        if known.again || known.stat != fingerprint(&stat) {
            found.folders.push((number, Some(list(&folder, stat, path, area, start))));
            continue;
        }
        for row in table.rows_of(number) {
            let known = &table.rows[row];
            let seen = match folder.stat_of(table.name(known)) {
                Ok(stat) if known.stat == fingerprint(&stat) && !known.has(AGAIN) => continue,
                Ok(stat) => Seen::Stat(stat),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Seen::Gone,
                Err(_) => Seen::Refused,
            };
            found.files.push((super::table::number(row), seen));
        }
    }
    found
}

/// Opens and lists a folder; `None` when there is no folder at `path`.
pub(super) fn open_and_list(store: &Store, path: &str, area: Area, start: i64) -> Option<Listing> {
    match store.folder(path).and_then(|folder| Ok((folder.stat()?, folder))) {
        Ok((stat, folder)) => Some(list(&folder, stat, path, area, start)),
        Err(error) if is_no_folder(&error) => None,
        Err(error) => Some(Listing {
            row: FolderRow { again: true, unreadable: os_number(&error), ..FolderRow::default() },
            ..Listing::default()
        }),
    }
}

/// The number of an I/O error, the same on every Unix.
const EIO: u8 = 5;

/// Returns the number of an error of the system; that of an I/O error where it has none.
fn os_number(error: &io::Error) -> u8 {
    let number = error.raw_os_error().and_then(|number| u8::try_from(number).ok()).filter(|number| *number > 0);
    number.unwrap_or(EIO)
}

fn is_no_folder(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// Lists a folder. Its stat was taken before, so that what comes while it is listed shows as a
/// difference the next time.
fn list(folder: &Folder, stat: FileStat, path: &str, area: Area, start: i64) -> Listing {
    let row = FolderRow { stat: fingerprint(&stat), again: is_racy(&stat, start), ..FolderRow::default() };
    let mut listing = Listing { row, ..Listing::default() };
    let is_deepest = path.matches('/').count() - area.depth() >= MAX_DEPTH;
    // In the folder that is open: by now another one may stand at its path.
    let found = match folder.listing() {
        Ok(found) => found,
        Err(error) => {
            (listing.row.again, listing.row.unreadable) = (true, os_number(&error));
            return listing;
        }
    };
    for (name, kind) in found {
        let (is_folder, is_link) = (kind == FileKind::Folder, kind == FileKind::Link);
        let is_entry = is_entry_name(&name);
        if is_hidden(&name) || !is_entry && !is_folder && !is_link {
            continue;
        }
        let Some(name) = name.to_str() else {
            if is_entry || is_folder {
                listing.odd.push((name.to_string_lossy().into_owned(), Code::NameNotUtf8));
            }
            continue;
        };
        if !is_entry && is_link {
            // Where a link leads is never looked at. One whose name could be a folder's is told of,
            // since a folder's worth of entries may be missing; other files are nobody's business.
            if !name.contains(['.', '#', '~']) {
                listing.odd.push((name.to_owned(), Code::Link));
            }
            continue;
        }
        let seen = if is_entry { folder.stat_of(name).map(Some) } else { Ok(None) };
        match seen {
            Ok(Some(stat)) if stat.kind != FileKind::Folder => listing.files.push((name.to_owned(), Seen::Stat(stat))),
            Ok(_) if is_deepest => listing.odd.push((name.to_owned(), Code::TooDeep)),
            Ok(_) => listing.folders.push(name.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => listing.row.again = true,
            Err(_) => listing.files.push((name.to_owned(), Seen::Refused)),
        }
    }
    listing.files.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    listing.folders.sort_unstable();
    listing.odd.sort_unstable();
    listing
}

/// Returns whether a file of this name is an entry: editors' copies and locks are not.
fn is_entry_name(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.ends_with(b".md") && !name.starts_with(b".") && !name.starts_with(b"#")
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}
