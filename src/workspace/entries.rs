//! Reads one entry's file, and replaces it if it is unchanged.

use strsim::levenshtein;

use super::Workspace;
use crate::entry::path::display_path;
use crate::entry::{self, Id};
use crate::error::{Error, Problem, Result};
use crate::index::catalog::{Area, Catalog, RowId, names};
use crate::store::{Lock, Store};

/// How many similar ids are listed for one that does not exist.
const MAX_SIMILAR: usize = 3;

/// How much of an entry's file is read to quote from it, in bytes: four times what a context has by default.
const MAX_QUOTED: usize = 128 * 1024;

impl Workspace {
    /// Replaces a file that contains `old`; reports where a version went that was saved meanwhile.
    pub(crate) fn replace<Bytes: AsRef<[u8]> + ?Sized>(
        &self,
        lock: &Lock,
        path: &str,
        old: &Bytes,
        new: &Bytes,
    ) -> Result<Vec<Problem>> {
        let conflict = |kept: String| {
            let kept = display_path(&kept);
            let message = format!("another program saved it at the same moment; that version is now `{kept}`");
            let hint = "merge its text into the entry, then delete it";
            Problem::warning(display_path(path), "conflict", message, hint)
        };
        let kept = self.store.replace(lock, path, old.as_ref(), new.as_ref(), self.now())?;
        Ok(kept.map(conflict).into_iter().collect())
    }

    /// Returns an entry to quote from, with the beginning of its body: more is never quoted, and a body of 1 MiB takes 30 ms
    /// to parse.
    pub(crate) fn read_beginning(&self, path: &str) -> Option<entry::Entry> {
        let bytes = self.store.read(path).ok()?.bytes;
        let is_inside = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let end = (0..=bytes.len().min(MAX_QUOTED)).rev().find(|at| !is_inside(*at)).unwrap_or_default();
        Some(entry::read(path, &bytes[..end]))
    }

    /// Returns the bytes of the file at `path`, relative to `.ralph/`.
    pub(crate) fn read_bytes(&self, path: &str) -> Result<Vec<u8>> {
        let read = self.store.read(path);
        Ok(read.map_err(|unreadable| unreadable.into_error(self.store.full_path(path)))?.bytes)
    }

    /// Returns the text of an entry's file, and the parsed entry.
    pub(crate) fn read_entry(&self, path: &str) -> Result<(String, entry::Entry)> {
        let text = String::from_utf8(self.read_bytes(path)?)
            .map_err(|_| Error::Uneditable { path: display_path(path), reason: "it is not UTF-8".to_owned() })?;
        let entry = entry::read(path, text.as_bytes());
        Ok((text, entry))
    }
}

/// Returns the live entry that an id names: the one that has it, else the one that had it before it was renamed, else
/// the one that a link of this text leads to. An archived entry with the id comes before the latter two. Every command that
/// takes the id of a live entry asks here.
///
/// # Errors
///
/// [`Error::AlreadyArchived`], [`Error::NoSuchEntry`], and [`Error::Invalid`] if it may mean several entries.
pub(crate) fn live_entry(workspace: &Workspace, live: &Catalog, id: &Id) -> Result<(RowId, Id)> {
    if let Some(row) = live.row_of_id(id) {
        return Ok((row, id.clone()));
    }
    let archive = workspace.catalog(Area::Archive);
    let current = current_id(live, &archive, id)?;
    match live.row_of_id(&current) {
        Some(row) => Ok((row, current)),
        None if archive.row_of_id(&current).is_some() => Err(Error::AlreadyArchived { id: current.to_string() }),
        None => Err(no_such_entry(&workspace.store, &[live, &archive], id)),
    }
}

/// Returns the id that the entry with this one has since it was renamed, live or archived; else that of the entry to
/// which a link of this text leads; the id itself if a live or archived entry has it, or it means none.
///
/// # Errors
///
/// [`Error::Invalid`] if it may mean several entries.
pub(crate) fn current_id(live: &Catalog, archive: &Catalog, id: &Id) -> Result<Id> {
    if live.row_of_id(id).is_some() || archive.row_of_id(id).is_some() {
        return Ok(id.clone());
    }
    let mut current = only_one(id, live.ids_of_name(id))?;
    if current.is_none() {
        current = only_one(id, archive.ids_of_name(id))?;
    }
    if current.is_none()
        && let Some(name) = id.as_str().strip_prefix("knowledge/")
    {
        current = only_one(id, names(live, archive).titled(name))?;
    }
    Ok(current.unwrap_or_else(|| id.clone()))
}

/// Returns the entry that an old id or a name alone means; `None` if there is no such entry.
///
/// # Errors
///
/// [`Error::Invalid`] if there are several: whoever chose one of them could change the wrong one.
fn only_one(id: &Id, mut current: Vec<Id>) -> Result<Option<Id>> {
    current.sort();
    current.dedup();
    match current.as_slice() {
        [one, other, ..] => {
            Err(Error::invalid("ID", format!("`{id}` may mean `{one}` or `{other}`; write one of them")))
        }
        _ => Ok(current.pop()),
    }
}

/// Returns the error for an id that is in none of the catalogs, with similar ids of the same kind of the first; if a folder that may
/// contain the entry could not be listed, the error of that.
pub(crate) fn no_such_entry(store: &Store, catalogs: &[&Catalog], id: &Id) -> Error {
    if let Some(error) = catalogs.iter().find_map(|catalog| unlisted(store, catalog)) {
        return error;
    }
    let catalog = catalogs[0];
    let mut near: Vec<(usize, String)> = catalog
        .rows()
        .filter_map(|row| catalog.id(row))
        .filter(|known| known.kind() == id.kind())
        .filter_map(|known| {
            let distance = levenshtein(known.stem(), id.stem());
            let is_near = distance <= id.stem().len() / 3 || known.stem().contains(id.stem());
            is_near.then(|| (distance, known.to_string()))
        })
        .collect();
    near.sort();
    Error::NoSuchEntry { id: id.to_string(), similar: near.into_iter().take(MAX_SIMILAR).map(|(_, id)| id).collect() }
}

/// Returns why the list of entries is incomplete, if a folder could not be listed.
pub(crate) fn unlisted(store: &Store, catalog: &Catalog) -> Option<Error> {
    let (folder, source) = catalog.unlisted_folder()?;
    Some(Error::Io { action: "list", path: store.full_path(folder), source })
}
