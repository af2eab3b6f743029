//! Restoring: an entry of the archive becomes live again.
//!
//! A live entry at its path moves to the path of the archived one, so nothing is overwritten.

use serde::Serialize;

use crate::catalog::{Area, Catalog, RowId};
use crate::entry::Id;
use crate::entry::path::EntryPath;
use crate::error::{Error, Problem, Result};
use crate::store::version_of;
use crate::workspace::{Workspace, no_such_entry, only_one, unlisted};

/// The result of [`Memory::restore`](crate::Memory::restore).
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let id = memory.add(&Knowledge::new("Line length", ["style"], "100 characters."))?.id;
/// memory.add(&Knowledge::new("Line length", ["style"], "120 characters."))?;
/// let restored = memory.restore(&id)?;
/// assert!(restored.exchanged, "the archive has the version of 120 characters now");
/// assert!(memory.show(&restored.id)?.entry.body.contains("100 characters"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The entry that is live again.
    pub id: Id,
    /// Its file.
    pub path: EntryPath,
    /// Its path in the archive before.
    pub from: EntryPath,
    /// Whether a live entry was at its path, and is now at `from`.
    pub exchanged: bool,
    /// Problems on the way that a person should see.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Moves an archived entry back to its live path.
pub(crate) fn restore(workspace: &Workspace, id: &Id) -> Result<Restored> {
    let lock = workspace.lock_entries()?;
    let archive = workspace.catalog(Area::Archive);
    let live = workspace.catalog(Area::Live);
    // An entry in an unreadable folder may be a newer version, or be in the way.
    if let Some(error) = [&archive, &live].into_iter().find_map(|catalog| unlisted(&workspace.store, catalog)) {
        return Err(error);
    }
    let id = &current_id(&live, &archive, id)?;
    let row = archived_row(&archive, id).ok_or_else(|| match live.row_of_id(id) {
        Some(_) => Error::NotArchived { id: id.to_string() },
        None => no_such_entry(&workspace.store, &[&archive, &live], id),
    })?;
    let from = archive.path(row);
    let to = live_path(&from);
    let target = Id::of_path(&to).ok_or_else(|| no_such_entry(&workspace.store, &[&archive, &live], id))?;
    let in_the_way = live.row_of_id(&target).map(|row| live.path(row));
    let exchanged = in_the_way.is_some();
    let to = if let Some(path) = in_the_way {
        workspace.store.swap(&lock, &from, &path)?;
        path
    } else {
        workspace.store.move_to(&lock, &from, &to)?;
        to
    };
    workspace.commit_moved();
    let path = EntryPath::new(&to);
    let problems = lock.settled(&[workspace.root().join(&path)]).into_iter().collect();
    Ok(Restored { id: target, path, from: EntryPath::new(&from), exchanged, problems })
}

/// Returns the id that the entry with this one has since it was renamed, live or in the archive; the id itself if an entry
/// or a version has it.
fn current_id(live: &Catalog, archive: &Catalog, id: &Id) -> Result<Id> {
    if live.row_of_id(id).is_some() || archived_row(archive, id).is_some() {
        return Ok(id.clone());
    }
    // Versions of one entry are not several.
    let archived = archive.rows_of_name(id).into_iter().filter_map(|row| Id::of_path(&live_path(&archive.path(row))));
    let current = live.ids_of_name(id).into_iter().chain(archived).collect();
    Ok(only_one(id, current)?.unwrap_or_else(|| id.clone()))
}

/// Returns the row of the archived entry with this id, else that of its newest version.
fn archived_row(archive: &Catalog, id: &Id) -> Option<RowId> {
    archive.row_of_id(id).or_else(|| newest_version(archive, id))
}

/// Returns the path of an archived entry when it was live: with the file's own name, which may differ in form from its
/// id.
fn live_path(archived: &str) -> String {
    let path = archived.strip_prefix("archive/").and_then(|path| path.strip_suffix(".md")).unwrap_or(archived);
    let (folder, stem) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = version_of(stem).map_or(stem, |(stem, ..)| stem);
    format!("{folder}/{stem}.md")
}

/// Returns the row of the newest archived version of the entry with this id.
fn newest_version(archive: &Catalog, id: &Id) -> Option<RowId> {
    let versions = archive.rows().filter_map(|row| {
        let archived = archive.id(row)?;
        let (stem, time, number) = version_of(archived.stem())?;
        let is_of_it =
            stem == id.stem() && archived.as_str().strip_suffix(archived.stem()) == id.as_str().strip_suffix(id.stem());
        is_of_it.then(|| (time.to_owned(), number, row))
    });
    versions.max().map(|(_, _, row)| row)
}
