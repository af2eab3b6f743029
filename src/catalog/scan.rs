//! A catalog between its two phases: it knows which files differ, as flags in its rows, and has opened none.

use super::Catalog;
use super::listing::Seen;
use super::table::{AGAIN, Code, GONE, IN_INDEX, Row, RowId, SHADOWED, UNREAD, fingerprint, is_racy};
use crate::store::{FileKind, FileStat, Store};

/// A catalog that knows which files it has to read, and has not read them.
#[derive(Debug)]
pub struct Scan {
    pub(super) catalog: Catalog,
    /// Hashes of the ids of files that are gone, or cannot be read any more.
    pub(super) touched: Vec<u32>,
    /// When the scan began, in nanoseconds since 1970.
    pub(super) start: i64,
}

impl Scan {
    /// Returns the maximum number of rows that phase 2 reports: those whose files changed, or may have, and those that
    /// are not in the committed index.
    pub fn n_pending(&self) -> usize {
        let rows = &self.catalog.table.rows;
        let n_due = rows.iter().filter(|row| row.has(UNREAD) || row.is_pending()).count();
        if n_due == 0 && self.touched.is_empty() {
            return 0;
        }
        // Any of them may be gone, and leave its id to another file.
        n_due + rows.iter().filter(|row| row.has(SHADOWED) && !row.has(UNREAD)).count()
    }

    /// Returns how many bytes of files phase 2 would read that the index lacks. It examines each of them.
    pub fn n_pending_bytes(&self, store: &Store) -> u64 {
        let table = &self.catalog.table;
        // What could not be read before is tried again, and so is what changed a moment before it was indexed.
        let is_new = |row: &Row| row.has(UNREAD) && row.code().is_none() && !(row.has(AGAIN) && row.has(IN_INDEX));
        let due = (0..).zip(&table.rows).filter(|(_, row)| is_new(row) || row.is_pending());
        let size = |path: &str| {
            let (folder, name) = path.rsplit_once('/')?;
            Some(store.folder(folder).ok()?.stat_of(name).ok()?.size)
        };
        due.filter_map(|(at, _)| size(&table.path(at))).sum()
    }

    /// Returns the value that [`Catalog::index_is_known`] will have, before any file is read.
    pub fn index_is_known(&self) -> bool {
        self.catalog.index_is_known()
    }

    /// Records the state of a file in its row.
    pub(super) fn note(&mut self, row: RowId, seen: Seen) {
        let before = self.catalog.table.rows[row as usize];
        match seen {
            // Its stat is taken again when it is read, from the open descriptor.
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

    /// Records why nothing of a row's file can be read.
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
