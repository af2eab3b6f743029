//! Writing one entry while editors may save it: it is read, edited, and read again if it changed meanwhile.
//!
//! The index is up to date afterwards.

use super::written::Written;
use crate::entry::edit::{self, Change};
use crate::entry::path::{EntryPath, display_path, without_extension};
use crate::entry::written;
use crate::entry::{Id, Kind, Scope};
use crate::error::{Error, Problem, Result};
use crate::index::catalog::{Catalog, RowId};
use crate::text::comparable;
use crate::workspace::{EntryLock, Workspace, unlisted};

/// How often an entry is read when an editor saves it at the same time.
const ATTEMPTS: usize = 3;

/// Calls `write` with the live entries, and updates the index for the file that it returns. If an editor saved the
/// entry between reading and replacing it, `write` is called again, up to [`ATTEMPTS`] times in all.
///
/// Also returns whether git was busy with the file.
pub(super) fn write_entry<T>(
    workspace: &Workspace,
    lock: &EntryLock,
    write: impl Fn(&Catalog) -> Result<(T, Option<EntryPath>)>,
) -> Result<(T, Option<Problem>)> {
    let mut attempt = 1;
    loop {
        let pending = workspace.begin_write();
        workspace.check_whole(&pending.catalog)?;
        match write(&pending.catalog) {
            Err(Error::Conflict { kept: None, .. }) if attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error),
            Ok((written, None)) => return Ok((written, None)),
            Ok((written, Some(path))) => {
                workspace.commit_written(pending, path.as_relative());
                workspace.renew_hints(lock);
                return Ok((written, lock.settled(&[workspace.root().join(&path)])));
            }
        }
    }
}

/// Brings the index up to date after entries were moved or replaced, and adds whether git was busy with the written one.
pub(super) fn settle(workspace: &Workspace, lock: &EntryLock, written: &mut Written) {
    workspace.commit_moved();
    written.problems.extend(lock.settled(&[workspace.root().join(&written.path)]));
    written.problems.extend(workspace.warn_of_ignored(&[written.path.as_relative()]));
}

/// Refuses the id of an attempt.
pub(super) fn refuse_attempt(id: &Id) -> Result<()> {
    match id.kind() {
        Kind::Knowledge => Ok(()),
        Kind::Journal => Err(Error::invalid("ID", "a journal entry never changes; name a knowledge entry")),
    }
}

/// Refuses to go on where a folder could not be listed: an entry in it may have an id, a name or a link.
pub(crate) fn refuse_unlisted(workspace: &Workspace, catalogs: &[&Catalog]) -> Result<()> {
    catalogs.iter().find_map(|catalog| unlisted(&workspace.store, catalog)).map_or(Ok(()), Err)
}

/// Returns the entry other than that in `row` whose title, in this scope, is the same.
pub(super) fn other_titled(live: &Catalog, row: Option<RowId>, title: &str, scope: &Scope) -> Option<Id> {
    let title = comparable(title);
    let has_title = |other: &RowId| {
        let head = live.head(*other);
        Some(*other) != row && live.is_indexable(*other) && head.scope == *scope && comparable(&head.title) == title
    };
    live.knowledge_rows().find(has_title).and_then(|other| live.id(other))
}

/// Returns the path and the id of the entry in a row.
pub(super) fn located(catalog: &Catalog, row: RowId) -> Result<(String, Id)> {
    let path = catalog.path(row);
    match catalog.id(row) {
        Some(id) => Ok((path, id)),
        None => Err(Error::OutsideRoot { path: path.into() }),
    }
}

/// Returns the stems of the entry files below a folder of the archive. No file is opened: the archive may be large, and
/// a new entry only needs a free name.
pub(super) fn archived_stems(workspace: &Workspace, folder: &str) -> Vec<String> {
    let Ok(open) = workspace.store.folder(folder) else { return Vec::new() };
    let mut stems = Vec::new();
    for name in open.names().unwrap_or_default() {
        let Some(name) = name.to_str() else { continue };
        match without_extension(name) {
            Some(stem) => stems.push(stem.to_owned()),
            None => stems.extend(archived_stems(workspace, &format!("{folder}/{name}"))),
        }
    }
    stems
}

/// Returns the text of the entry at `path` with these changes. `is_replaced` tells that a writer replaces what it says.
pub(super) fn edited(path: &str, text: &str, changes: &[Change], is_replaced: bool) -> Result<String> {
    let changed = edit::apply(text, changes).map_err(|reason| uneditable(path, reason))?;
    signed(path, text, changed, is_replaced)
}

/// Returns the text `new` of the entry at `path` with what it tells about who wrote it, as [`written::signed`].
pub(super) fn signed(path: &str, old: &str, new: String, is_replaced: bool) -> Result<String> {
    written::signed(old, new, is_replaced).map_err(|reason| uneditable(path, reason))
}

fn uneditable(path: &str, reason: String) -> Error {
    Error::Uneditable { path: display_path(path), reason }
}
