//! The rows of the catalog in memory: one of a fixed size for each file, and one for each folder.
//!
//! This file knows nothing about the source of rows. Folders are in the byte order of their paths, and the rows of a
//! folder in the byte order of their names, one folder after the other.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::entry::Id;
use crate::entry::path::display_path;
use crate::error::Problem;
use crate::store::FileStat;
use crate::text::nfc;

/// The number of a row, valid only for its catalog.
pub(crate) type RowId = u32;

/// Read it again the next time, whatever its stat: the file changed so shortly before it was read that a later change
/// could leave the stat unchanged.
pub(super) const AGAIN: u16 = 1;
/// Its head has problems.
pub(super) const PROBLEM: u16 = 1 << 1;
/// Its head has aliases.
pub(super) const ALIASES: u16 = 1 << 2;
/// Its head supersedes entries.
pub(super) const SUPERSEDES: u16 = 1 << 3;
/// The committed index contains this path with the content of the row.
pub(super) const IN_INDEX: u16 = 1 << 4;
/// Another file, whose path comes first, has the same id.
pub(super) const SHADOWED: u16 = 1 << 5;
/// It is a file, and not UTF-8: its head has that problem, and it is never indexed.
pub(super) const NOT_TEXT: u16 = 1 << 6;
/// It is an event.
pub(super) const EVENT: u16 = 1 << 7;
/// One of its head's problems is an error.
pub(super) const ERROR: u16 = 1 << 11;
/// Its body has links.
pub(super) const LINKS: u16 = 1 << 15;
/// Where the number of a [`Code`] is kept.
const CODE_SHIFT: u16 = 8;
const CODE_MASK: u16 = 0b111 << CODE_SHIFT;
/// The content of the file has to be read in this call. This flag and the next two are never stored.
pub(super) const UNREAD: u16 = 1 << 12;
/// Its head is in memory, not in the heads file.
pub(super) const FRESH: u16 = 1 << 13;
/// The file existed and is gone.
pub(super) const GONE: u16 = 1 << 14;
/// The flags that are stored.
const STORED: u16 =
    AGAIN | PROBLEM | ALIASES | SUPERSEDES | IN_INDEX | SHADOWED | NOT_TEXT | EVENT | ERROR | CODE_MASK | LINKS;

/// One file. In the manifest a row has the same form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Row {
    /// [`fingerprint`] of its stat.
    pub(super) stat: u64,
    /// XXH3 of its bytes, when they were read.
    pub(super) hash: u64,
    /// Microseconds since 1970, or `i64::MIN`.
    pub(super) recency: i64,
    /// The offset of its head, in the heads file or among the new ones.
    pub(super) head_at: u32,
    /// The size of the head in bytes; 0 if there is none.
    pub(super) head_len: u32,
    /// Where its name begins in [`Table::names`].
    pub(super) name: u32,
    /// [`id_hash`] of its path.
    pub(super) id: u32,
    /// [`hash_of_name`] of the task that its head names.
    pub(super) task: u32,
    /// [`hash_of_name`] of the feature that its head names.
    pub(super) feature: u32,
    /// [`hash_of_name`] of the section that its attempt belongs to.
    pub(super) section: u32,
    /// How many bytes the name has.
    pub(super) name_len: u16,
    /// The flags above.
    pub(super) flags: u16,
}

impl Row {
    /// Returns the row of a file of which nothing but the name is known, as [`Table::add_text`] has it, and the id.
    pub(super) fn new((name, name_len): (u32, u16), id: u32) -> Row {
        Row { name, name_len, id, recency: i64::MIN, flags: AGAIN, ..Row::default() }
    }

    /// Forgets what was read of the file.
    pub(super) fn forget(&mut self, flags: u16) {
        *self = Row { stat: self.stat, flags, ..Row::new((self.name, self.name_len), self.id) };
    }

    /// Returns whether any of these flags is set.
    pub(super) fn has(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }

    /// Sets or clears these flags.
    pub(super) fn set(&mut self, flags: u16, on: bool) {
        if on {
            self.flags |= flags;
        } else {
            self.flags &= !flags;
        }
    }

    /// Returns why nothing of the file can be read, if so.
    pub(super) fn code(&self) -> Option<Code> {
        Code::from_number((self.flags & CODE_MASK) >> CODE_SHIFT)
    }

    /// Sets whether the file can be read, and if not, why.
    pub(super) fn set_code(&mut self, code: Option<Code>) {
        self.flags = self.flags & !CODE_MASK | code.map_or(0, |code| (code as u16) << CODE_SHIFT);
    }

    /// Returns whether it can have an id: a bad file never hides a good one of the same id.
    pub(super) fn competes(&self) -> bool {
        !self.has(NOT_TEXT | GONE | CODE_MASK)
    }

    /// Returns whether the index should contain it.
    pub(super) fn is_indexable(&self) -> bool {
        self.competes() && !self.has(SHADOWED)
    }

    /// Returns whether the index should contain it and does not.
    pub(super) fn is_pending(&self) -> bool {
        self.is_indexable() && !self.has(IN_INDEX)
    }

    /// Returns whether the two rows differ in the manifest.
    pub(super) fn differs(&self, other: &Row) -> bool {
        let stored = |row: &Row| Row { name: 0, name_len: 0, flags: row.flags & STORED, ..*row };
        stored(self) != stored(other) || self.has(FRESH) || other.has(FRESH)
    }

    /// Returns the flags that are stored.
    pub(super) fn stored_flags(&self) -> u16 {
        self.flags & STORED
    }
}

/// One folder. In the manifest it has the same form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct FolderRow {
    /// [`fingerprint`] of its stat, taken before it was listed.
    pub(super) stat: u64,
    /// The first of its rows.
    pub(super) first: u32,
    /// Where its path begins in [`Table::names`].
    pub(super) path: u32,
    /// How many bytes the path has.
    pub(super) path_len: u16,
    /// Whether it must be listed the next time, whatever its stat: 1 or 0.
    pub(super) again: u8,
    /// The number of the system's error if it could not be listed completely; else 0.
    pub(super) unreadable: u8,
    /// So that every byte has a value.
    pub(super) reserved: u32,
}

/// Something in a folder that is not an entry file, and a problem.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct NotAnEntry {
    /// Its path, with U+FFFD for invalid UTF-8.
    pub(super) path: String,
    /// The problem.
    pub(super) code: Code,
}

/// All rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    /// The names of the rows and the paths of the folders, and some that are not used any more.
    pub(super) names: String,
    /// By path.
    pub(super) folders: Vec<FolderRow>,
    /// By folder, then by name.
    pub(super) rows: Vec<Row>,
    /// By path.
    pub(super) not_entries: Vec<NotAnEntry>,
}

impl Table {
    /// Returns the path of a folder.
    pub(super) fn folder_path(&self, folder: usize) -> &str {
        self.folders.get(folder).map_or("", |row| self.folder_text(row))
    }

    /// Returns the path of a folder of this table, or of one that has the same names.
    pub(super) fn folder_text(&self, folder: &FolderRow) -> &str {
        self.text(folder.path, folder.path_len)
    }

    /// Returns the numbers of the rows of a folder.
    pub(super) fn rows_of(&self, folder: usize) -> Range<usize> {
        let first = |folder: usize| self.folders.get(folder).map_or(self.rows.len(), |row| row.first as usize);
        first(folder)..first(folder + 1)
    }

    /// Returns the name of the file of a row of this table, or of one that has the same names.
    pub(super) fn name(&self, row: &Row) -> &str {
        self.text(row.name, row.name_len)
    }

    /// Returns the path of a row's file.
    pub(super) fn path(&self, row: RowId) -> String {
        let folder = self.folders.partition_point(|folder| folder.first <= row).saturating_sub(1);
        let name = self.rows.get(row as usize).map_or("", |row| self.name(row));
        [self.folder_path(folder), "/", name].concat()
    }

    /// Returns the number of the folder at `path`.
    pub(super) fn folder_at(&self, path: &str) -> Option<usize> {
        self.folders.binary_search_by(|folder| self.folder_text(folder).cmp(path)).ok()
    }

    /// Returns the number of the row at `path`.
    pub(super) fn row_at(&self, path: &str) -> Option<RowId> {
        let (folder, name) = path.rsplit_once('/')?;
        let rows = self.rows_of(self.folder_at(folder)?);
        let first = rows.start;
        let row = self.rows.get(rows)?.binary_search_by(|row| self.name(row).cmp(name)).ok()?;
        u32::try_from(first + row).ok()
    }

    /// Adds text to the names, and returns its offset and length; `None` if there is no room, which is at 4 GiB of
    /// names.
    pub(super) fn add_text(&mut self, text: &str) -> Option<(u32, u16)> {
        let at = u32::try_from(self.names.len()).ok()?;
        let len = u16::try_from(text.len()).ok()?;
        self.names.push_str(text);
        Some((at, len))
    }

    /// Adds a row for a file of this name that the folder does not have yet, and returns its number; `None` if there is
    /// no room for names.
    pub(super) fn insert(&mut self, folder: usize, name: &str, id: u32) -> Option<RowId> {
        let rows = self.rows_of(folder);
        let at = rows.start + self.rows[rows].partition_point(|row| self.name(row) < name);
        let text = self.add_text(name)?;
        self.rows.insert(at, Row::new(text, id));
        for later in &mut self.folders[folder + 1..] {
            later.first += 1;
        }
        Some(number(at))
    }

    /// Removes the rows that are gone.
    pub(super) fn compact(&mut self) {
        if !self.rows.iter().any(|row| row.has(GONE)) {
            return;
        }
        let mut kept = 0;
        for folder in 0..self.folders.len() {
            let rows = self.rows_of(folder);
            self.folders[folder].first = number(kept);
            for row in rows {
                if !self.rows[row].has(GONE) {
                    self.rows[kept] = self.rows[row];
                    kept += 1;
                }
            }
        }
        self.rows.truncate(kept);
    }

    /// Removes the names that are not used any more.
    pub(super) fn compact_names(&mut self) {
        let mut names = String::with_capacity(self.names.len());
        let folders = self.folders.iter_mut().map(|folder| (&mut folder.path, folder.path_len));
        for (at, len) in folders.chain(self.rows.iter_mut().map(|row| (&mut row.name, row.name_len))) {
            let text = text_at(&self.names, *at, len);
            *at = number(names.len());
            names.push_str(text);
        }
        self.names = names;
    }

    fn text(&self, at: u32, len: u16) -> &str {
        text_at(&self.names, at, len)
    }
}

fn text_at(names: &str, at: u32, len: u16) -> &str {
    names.get(at as usize..at as usize + usize::from(len)).unwrap_or("")
}

/// Returns a row's number in its stored form. There is no room for 2^32 names, so for no more rows.
pub(super) fn number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}

/// Returns a hash of everything that distinguishes an unchanged file from a changed one.
pub(super) fn fingerprint(stat: &FileStat) -> u64 {
    let kind = stat.kind as u64;
    let numbers = [stat.mtime.cast_unsigned(), stat.ctime.cast_unsigned(), stat.ino, stat.size, kind];
    xxh3_64(numbers.as_bytes())
}

/// Returns whether a later change may leave the stat unchanged: if the last one was less than a tick before the scan
/// began, or after. Kernels tick at 10 ms or less; file systems with whole seconds have steps of one or two.
pub(super) fn is_racy(stat: &FileStat, start: i64) -> bool {
    const SECOND: i64 = 1_000_000_000;
    let last = stat.mtime.max(stat.ctime);
    let slack = if last % SECOND == 0 { 2 * SECOND } else { SECOND / 50 };
    last >= start.saturating_sub(slack)
}

/// Returns a hash of the id of the file at `path`.
pub(super) fn id_hash(path: &str) -> u32 {
    Id::of_path(path).map_or(0, |id| hash_of_id(&id))
}

/// Returns the hash that rows of this id have.
pub(super) fn hash_of_id(id: &Id) -> u32 {
    (xxh3_64(id.as_str().as_bytes()) >> 32) as u32
}

/// Returns the hash of rows that name this task, feature or section, in either form; 0 for rows without one.
pub(super) fn hash_of_name(name: Option<&str>) -> u32 {
    name.map_or(0, |name| (xxh3_64(nfc(name).as_bytes()) >> 32) as u32)
}

/// Why something that looks like an entry cannot be read as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u16)]
pub(super) enum Code {
    /// A link.
    Link = 1,
    /// A folder, a FIFO, a socket or a device.
    NotAFile = 2,
    /// A file larger than the largest entry.
    TooLarge = 3,
    /// The file system refused.
    Unreadable = 4,
    /// Its name is not UTF-8.
    NameNotUtf8 = 5,
    /// A folder below the depth limit.
    TooDeep = 6,
    /// A file where a folder must be.
    NotAFolder = 7,
}

impl Code {
    pub(super) fn from_number(number: u16) -> Option<Code> {
        use Code::{Link, NameNotUtf8, NotAFile, NotAFolder, TooDeep, TooLarge, Unreadable};
        [Link, NotAFile, TooLarge, Unreadable, NameNotUtf8, TooDeep, NotAFolder]
            .into_iter()
            .find(|&code| code as u16 == number)
    }

    /// Returns the problem of the file or folder at `path`, which is relative to `.ralph/`.
    pub(super) fn problem(self, path: &str) -> Problem {
        let (name, message, hint) = match self {
            Code::Link => {
                ("link", "is a link, and links are not followed", "put the file itself here, or remove the link")
            }
            Code::NotAFile => (
                "not-a-file",
                "has the name of an entry and is not a regular file",
                "rename it so that it does not end in `.md`",
            ),
            Code::TooLarge => {
                ("too-large", "is larger than 1 MiB", "split it into several entries, or move it elsewhere")
            }
            Code::Unreadable => {
                ("unreadable", "cannot be read", "check its permissions: `ls -ld` on it and on the folders above")
            }
            Code::NameNotUtf8 => ("name-not-utf8", "has a name that is not UTF-8", "rename it"),
            Code::TooDeep => ("too-deep", "is more than 32 folders deep", "move it up"),
            Code::NotAFolder => ("not-a-folder", "is not a folder", "remove it, so that entries can be kept here"),
        };
        Problem::error(display_path(path), name, message, hint)
    }
}

/// Returns the problem of an entry whose id belongs to the file `first`. Paths are relative to `.ralph/`.
pub(super) fn duplicate_id(path: &str, id: &Id, first: &str) -> Problem {
    let message = format!("has the same id `{id}` as `.ralph/{first}`, which has precedence");
    let hint = if nfc(path) == nfc(first) {
        "the names look the same, and differ in the form of their characters (NFC and NFD): merge the two files into one"
    } else {
        "rename one of the two files, or merge them"
    };
    Problem::error(display_path(path), "duplicate-id", message, hint)
}
