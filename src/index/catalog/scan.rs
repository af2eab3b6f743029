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
    /// Whether each file is as the catalog has it.
    pub(super) is_unchanged: bool,
}

impl Scan {
    /// Returns whether each file was as the catalog has it.
    pub fn is_unchanged(&self) -> bool {
        self.is_unchanged
    }

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
        // A file that could not be read before is tried again, and so is one that changed just before it was indexed.
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
                let code = if stat.kind == FileKind::Link { Code::Link } else { Code::NotAFile };
                self.refuse(row, Some(&stat), code);
            }
            Seen::Refused => self.refuse(row, None, Code::Unreadable),
            Seen::Gone => self.lose(row),
        }
        self.catalog.changed |= self.catalog.table.rows[row as usize].differs(&before);
    }

    /// Records that a row's file is gone.
    pub(super) fn lose(&mut self, row: RowId) {
        self.catalog.leave_index(row);
        self.catalog.changed = true;
        let row = &mut self.catalog.table.rows[row as usize];
        row.set(GONE, true);
        self.touched.push(row.id);
    }

    /// Records why nothing of a row's file can be read. A file without a stat is looked at again the next time.
    pub(super) fn refuse(&mut self, row: RowId, stat: Option<&FileStat>, code: Code) {
        self.catalog.leave_index(row);
        self.stamp(row, stat);
        let row = &mut self.catalog.table.rows[row as usize];
        self.touched.push(row.id);
        row.forget(row.flags & AGAIN);
        row.set_code(Some(code));
    }

    /// Records the stat of a row's file.
    pub(super) fn stamp(&mut self, row: RowId, stat: Option<&FileStat>) {
        let row = &mut self.catalog.table.rows[row as usize];
        row.stat = stat.map_or(0, fingerprint);
        row.set(AGAIN, stat.is_none_or(|stat| is_racy(stat, self.start)));
    }
}
