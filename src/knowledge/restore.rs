//! Restoring: an entry of the archive is live again.
//!
//! A live entry in its place goes where it came from, so nothing is overwritten.

use serde::Serialize;

use crate::catalog::{Area, Catalog, RowId};
use crate::entry::Id;
use crate::entry::path::EntryPath;
use crate::error::{Error, Problem, Result};
use crate::store::version_of;
use crate::workspace::{Workspace, no_such_entry, unlisted};

/// What [`Memory::restore`](crate::Memory::restore) did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The entry that is live again.
    pub id: Id,
    /// Its file.
    pub path: EntryPath,
    /// Where it came from.
    pub from: EntryPath,
    /// Whether a live entry was in its place and is now where it came from.
    pub exchanged: bool,
    /// What happened on the way that a person should look at.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Moves an archived entry back to its place among the live ones.
pub(crate) fn restore(workspace: &Workspace, id: &Id) -> Result<Restored> {
    let lock = workspace.lock_entries()?;
    let archive = workspace.catalog(Area::Archive);
    let live = workspace.catalog(Area::Live);
    // An entry in a folder that cannot be listed may be a newer version, or be in the way.
    if let Some(error) = [&archive, &live].into_iter().find_map(|catalog| unlisted(&workspace.store, catalog)) {
        return Err(error);
    }
    let row = archive.row_of_id(id).or_else(|| newest_version(&archive, id));
    let row = row.ok_or_else(|| match live.row_of_id(id) {
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

/// Returns where an archived entry was when it was live: under the file's own name, which may be in another form than
/// its id.
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
