//! Keeps the table of hints up to date: each write of an entry adds to it, and it is rewritten when a session begins.

use std::time::Duration;

use xxhash_rust::xxh3::Xxh3;

use super::Workspace;
use crate::entry::path::COPIES;
use crate::entry::read;
use crate::error::Result;
use crate::index::catalog::{Area, Catalog};
use crate::index::hints::{self, Hint, HintTable};
use crate::store::{Lock, Store};

/// How many files with other names are kept, the newest ones.
const MAX_RENAMES: usize = 200;
/// The file, in `state/`, and that of the new attempts of all work trees, in the folder of the copies.
const HINTS: &str = "hints";
/// How many bytes this may have. A writer that exceeds it starts the file over: the tables of later sessions have the
/// attempts.
const MAX_TOLD: usize = 32 * 1024;

/// Adds to the table what the entry file at `path` says. If it cannot be written, the next session rewrites it.
pub(super) fn add(store: &Store, path: &str) {
    let Ok(file) = store.read(path) else { return };
    let rows = hints::rows_of(path, hints::hash_of(&file.bytes), &read(path, &file.bytes).head);
    if rows.is_empty() {
        return;
    }
    if let Some(table) = open(store).filter(|table| table.has_room) {
        append(store, &table, &rows);
    }
    if path.starts_with("journal/") {
        let copy = path.replacen("journal", COPIES, 1);
        tell(store, &rows.into_iter().map(|row| Hint { path: copy.clone(), ..row }).collect::<Vec<Hint>>());
    }
}

fn append(store: &Store, table: &HintTable, rows: &[Hint]) -> Option<()> {
    let frame = hints::frame(&rows, table.stamp(), &store.state_key().ok()??);
    store.folder("state").and_then(|state| state.append_file(HINTS, &frame)).ok()
}

/// Tells the other work trees of the clone about an attempt.
fn tell(store: &Store, rows: &[Hint]) -> Option<()> {
    let frame = hints::frame(&rows, 0, &store.copies_key()?);
    let copies = store.copies().ok().filter(|_| frame.len() <= MAX_TOLD)?;
    if copies.append_private(HINTS, &frame).ok()? > MAX_TOLD as u64 {
        copies.replace_file(HINTS, &frame).ok()?;
    }
    Some(())
}

fn open(store: &Store) -> Option<HintTable> {
    let file = store.folder("state").ok()?.open_file(HINTS).ok()?;
    HintTable::open(file, store.state_key().ok()??)
}

impl Workspace {
    /// Returns the table of hints; `None` if this program wrote none here, for this user.
    pub(crate) fn hints(&self) -> Option<HintTable> {
        let mut table = open(&self.store)?;
        if let Some(key) = self.store.copies_key()
            && let Ok(copies) = self.store.copies()
            && let Ok(told) = copies.read(HINTS, 2 * MAX_TOLD)
        {
            table.hear(&told, &key);
        }
        Some(table)
    }

    /// Rewrites the table if there is none, or no room in it. A call that a client waits for leaves that to others.
    pub(crate) fn renew_hints(&self, lock: &Lock) {
        let is_whole = !self.is_hurried && self.feature.is_none();
        if is_whole && self.hints().is_none_or(|table| !table.has_room) {
            // The hook is silent without it.
            let _ = self.write_hints(lock);
        }
    }

    /// Asks git, which gets this time for each answer, which files that the table names have other names since the last call.
    pub(crate) fn follow_renames(&self, patience: Duration) -> Option<()> {
        let table = self.hints().filter(|_| self.feature.is_none())?;
        let (before, mut known) = table.renames();
        let (head, new) = self.work_tree()?.renames_since(&before, patience).ok()?;
        if before == head {
            return None;
        }
        for (old, new) in new.into_iter().rev() {
            known.iter_mut().filter(|(_, last)| *last == old).for_each(|(_, last)| last.clone_from(&new));
            if !table.rows(hints::key_of_file(&old)).is_empty() {
                known.retain(|(known, _)| *known != old);
                known.push((old, new));
            }
        }
        known.drain(..known.len().saturating_sub(MAX_RENAMES));
        append(&self.store, &table, &[hints::renames_row((head, known), self.now().timestamp())])
    }

    /// Rewrites the table, if entries changed since it was written.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub(crate) fn write_hints(&self, lock: &Lock) -> Result<()> {
        let catalogs = [Area::Live, Area::Archive].map(|area| self.catalog(area));
        let stamp = stamp(&catalogs);
        if open(&self.store).is_some_and(|table| table.stamp() == stamp) {
            return Ok(());
        }
        let failed = |source| crate::error::Error::Io { action: "seal", path: self.store.state().join(HINTS), source };
        let key = self.store.make_state_key().map_err(failed)?;
        let rows_of = |catalog: &Catalog| -> Vec<Hint> {
            let rows = catalog.rows().filter(|row| catalog.is_indexable(*row));
            rows.flat_map(|row| hints::rows_of(&catalog.path(row), catalog.fingerprint(row), &catalog.head(row)))
                .collect()
        };
        let renames = open(&self.store).map(|table| hints::renames_row(table.renames(), self.now().timestamp()));
        let rows = catalogs.iter().flat_map(rows_of).chain(renames).collect();
        self.store.write_state(lock, HINTS, &hints::table(rows, stamp, &key))
    }
}

/// Returns a hash that differs if an entry file differs.
fn stamp(catalogs: &[Catalog]) -> u64 {
    let mut hash = Xxh3::new();
    for catalog in catalogs {
        for row in catalog.rows() {
            hash.update(catalog.path(row).as_bytes());
            hash.update(&catalog.fingerprint(row).to_le_bytes());
        }
    }
    hash.digest()
}
