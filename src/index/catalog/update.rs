//! Phase 2: reads the changed files, and decides which file an id belongs to.
//!
//! A file with the same bytes only gets a new stat. Entries are passed on as they are read, one at a time; none is
//! kept. Files with a common id are read one after the other in the order of their paths, so that each one's precedence
//! is known when it is read. This file knows nothing about folders.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

use super::Catalog;
use super::listing::{is_shortage, os_number};
use super::scan::Scan;
use super::table::{
    AGAIN, ALIASES, Code, ERROR, EVENT, IN_INDEX, LINKS, NOT_TEXT, PROBLEM, RowId, SHADOWED, SUPERSEDES, UNREAD,
    hash_of_name,
};
use crate::entry::knowledge::{Class, class};
use crate::entry::{self, Entry, Head, Id};
use crate::error::Severity;
use crate::store::{Store, Unreadable};

impl Scan {
    /// Reads the changed files.
    ///
    /// Calls `on_pending` once for every row whose content is not in the committed index: changed rows, and rows that
    /// earlier calls left pending. A file that cannot be read, is not UTF-8 or has an id that belongs to a file before
    /// it is never passed to `on_pending`.
    pub fn read(self, store: &Store, on_pending: &mut dyn FnMut(&str, &Entry)) -> Catalog {
        self.read_until(store, &|| false, on_pending)
    }

    /// Does the same until the time `is_over`, which is asked before each file. The next scan reads what is left: see [`Catalog::n_left`].
    pub fn read_until(
        mut self,
        store: &Store,
        is_over: &dyn Fn() -> bool,
        on_pending: &mut dyn FnMut(&str, &Entry),
    ) -> Catalog {
        let rows = &self.catalog.table.rows;
        let due: Vec<RowId> =
            (0..).zip(rows).filter(|(_, row)| row.has(UNREAD) || row.is_pending()).map(|(at, _)| at).collect();
        self.touched.extend(due.iter().map(|&row| rows[row as usize].id));
        let groups = self.groups();
        let grouped: HashSet<RowId> = groups.iter().flatten().copied().collect();
        for row in due.into_iter().filter(|row| !grouped.contains(row)) {
            self.settle(store, &[row], is_over, on_pending);
        }
        for group in groups {
            self.settle(store, &group, is_over, on_pending);
        }
        self.catalog.table.compact();
        self.catalog
    }

    /// Returns the rows that share an id with another one, or did, if one of them changed; each group in the order of
    /// the paths.
    fn groups(&mut self) -> Vec<Vec<RowId>> {
        let table = &self.catalog.table;
        self.touched.sort_unstable();
        let rows = (0_u32..).zip(&table.rows).filter(|(_, row)| self.touched.binary_search(&row.id).is_ok());
        let mut near: Vec<(u32, RowId)> = rows.map(|(at, row)| (row.id, at)).collect();
        near.sort_unstable();
        let mut groups = Vec::new();
        for chunk in near.chunk_by(|one, other| one.0 == other.0) {
            if let [(_, row)] = chunk
                && !table.rows[*row as usize].has(SHADOWED)
            {
                continue;
            }
            // Ids with equal hashes are distinguished here.
            let mut named: Vec<(Option<Id>, String, RowId)> = Vec::with_capacity(chunk.len());
            for &(_, row) in chunk {
                let path = table.path(row);
                named.push((Id::of_path(&path), path, row));
            }
            named.sort_unstable();
            let same_id = named.chunk_by(|one, other| one.0 == other.0);
            groups.extend(same_id.map(|group| group.iter().map(|(_, _, row)| *row).collect::<Vec<_>>()));
        }
        groups.sort_unstable();
        groups
    }

    /// Reads those of the rows that must be read, and gives the shared id to the first readable one.
    fn settle(
        &mut self,
        store: &Store,
        rows: &[RowId],
        is_over: &dyn Fn() -> bool,
        on_pending: &mut dyn FnMut(&str, &Entry),
    ) {
        let mut is_taken = false;
        for &row in rows {
            let before = self.catalog.table.rows[row as usize];
            let path = self.catalog.table.path(row);
            let mut entry = None;
            if before.has(UNREAD) || !is_taken && before.competes() && !self.is_in_index(row, &path) {
                if is_over() {
                    self.postpone(row);
                } else {
                    entry = self.read_row(store, row, &path, !is_taken);
                }
            }
            let competes = self.catalog.table.rows[row as usize].competes();
            let counts = competes && !is_taken;
            if !counts {
                self.catalog.leave_index(row);
            }
            self.catalog.table.rows[row as usize].set(SHADOWED, competes && !counts);
            if let Some(entry) = entry.filter(|_| counts && !self.catalog.table.rows[row as usize].has(IN_INDEX)) {
                on_pending(&path, &entry);
            }
            is_taken |= counts;
            self.catalog.changed |= self.catalog.table.rows[row as usize].differs(&before);
        }
    }

    /// Reads the file of a row. Returns the entry when the index needs it, if the row counts.
    fn read_row(&mut self, store: &Store, row: RowId, path: &str, may_count: bool) -> Option<Entry> {
        self.catalog.n_reread += 1;
        self.catalog.table.rows[row as usize].set(UNREAD, false);
        let file = match store.read(path) {
            Ok(file) => file,
            Err(error) => {
                let code = match error {
                    Unreadable::Missing => {
                        self.lose(row);
                        return None;
                    }
                    Unreadable::Link => Code::Link,
                    Unreadable::NotAFile => Code::NotAFile,
                    Unreadable::TooLarge { .. } => Code::TooLarge,
                    Unreadable::Io(error) => {
                        let number = os_number(&error);
                        if is_shortage(number) {
                            self.catalog.shortage = number;
                        }
                        Code::Unreadable
                    }
                };
                // The stat of this file is unknown, and reading it again does no harm.
                self.refuse(row, None, code);
                return None;
            }
        };
        let hash = xxh3_64(&file.bytes);
        let old = self.catalog.table.rows[row as usize];
        if old.hash != hash {
            self.catalog.leave_index(row);
        }
        self.stamp(row, Some(&file.stat));
        let known = &mut self.catalog.table.rows[row as usize];
        let is_same = old.code().is_none() && old.hash == hash && old.head_len > 0;
        known.hash = hash;
        known.set_code(None);
        known.set(NOT_TEXT, std::str::from_utf8(&file.bytes).is_err());
        let is_wanted = may_count && known.competes() && !self.is_in_index(row, path);
        if is_same && !is_wanted {
            return None;
        }
        let entry = entry::read(path, &file.bytes);
        if !is_same {
            self.catalog.set_head(row, path, &entry.head);
        }
        is_wanted.then_some(entry)
    }

    /// Leaves a row to the next scan. Until then it has no head, and the index lacks it.
    fn postpone(&mut self, row: RowId) {
        self.catalog.n_left += 1;
        self.catalog.leave_index(row);
        self.catalog.table.rows[row as usize].forget(AGAIN | NOT_TEXT);
    }

    /// Returns whether the index contains the row's content, and records it if it does so again, as after a branch was
    /// checked out and left.
    fn is_in_index(&mut self, row: RowId, path: &str) -> bool {
        let known = &mut self.catalog.table.rows[row as usize];
        if self.catalog.stale.get(path) == Some(&known.hash) {
            self.catalog.stale.remove(path);
            known.set(IN_INDEX, true);
        }
        known.has(IN_INDEX)
    }
}

impl Catalog {
    /// Records that the index lacks the row, if it had it.
    pub(super) fn leave_index(&mut self, row: RowId) {
        if self.table.rows[row as usize].has(IN_INDEX) {
            self.table.rows[row as usize].set(IN_INDEX, false);
            self.stale.insert(self.table.path(row), self.table.rows[row as usize].hash);
            self.changed = true;
        }
    }

    /// Keeps a head, and the flags that queries need without decoding it.
    fn set_head(&mut self, row: RowId, path: &str, head: &Head) {
        let row = &mut self.table.rows[row as usize];
        row.recency = head.recency().map_or(i64::MIN, |at| at.timestamp_micros());
        row.task = hash_of_name(head.task_id.as_deref());
        row.feature = hash_of_name(head.feature.as_deref());
        row.section = hash_of_name(head.attempt.as_ref().and_then(|attempt| attempt.section.as_deref()));
        row.set(PROBLEM, !head.problems.is_empty());
        row.set(ERROR, head.problems.iter().any(|problem| problem.severity == Severity::Error));
        row.set(ALIASES, !head.aliases.is_empty());
        row.set(SUPERSEDES, !head.supersedes.is_empty());
        row.set(LINKS, !head.links.is_empty());
        row.set(EVENT, class(head.category.as_deref()) == Class::Event);
        self.heads.put(row, path, head);
    }
}
