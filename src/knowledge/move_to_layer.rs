//! Moving an entry to a layer: the only write in another memory.
//!
//! The layer has it before it goes to the archive here. A call that was cut off in between can be repeated.

use super::tidy::archive_as;
use super::write::{other_titled, refuse_attempt, refuse_unlisted, settle};
use super::written::{WriteAction, Written};
use crate::entry::{Entry, Id, Scope};
use crate::error::{Error, Result};
use crate::index::catalog::{Area, Catalog};
use crate::search::retrieve::replacements;
use crate::store::{Created, Lock};
use crate::workspace::{Workspace, live_entry};

/// Implements [`Memory::move_to_layer`](crate::Memory::move_to_layer).
pub(crate) fn move_to_layer(workspace: &Workspace, id: &Id, layer: &str) -> Result<Written> {
    refuse_attempt(id)?;
    let no_layer = || Error::invalid("layer", format!("`layers` in your own settings has no folder named `{layer}`"));
    let there = workspace.layer_named(layer).ok_or_else(no_layer)??.workspace;
    let there = Workspace { store: there.store.writable(), ..there };
    let lock = workspace.lock_entries()?;
    let [live, archive] = catalogs(workspace)?;
    let (row, id) = live_entry(workspace, &live, id)?;
    let path = live.path(row);
    let (text, entry) = workspace.read_entry(&path)?;
    refuse_bound(workspace, &live, &id, &entry)?;
    workspace.refuse_secrets_in("entry", &text)?;
    let _operation = there.store.operation("edit", there.now());
    let lock_there = there.lock_entries()?;
    let id_there = id.in_layer(layer);
    let mut written = Written::new(WriteAction::Created, id_there, entry.head.title.clone(), &path);
    if !there.store.read(&path).is_ok_and(|file| file.bytes == text.as_bytes()) {
        create_in(&there, &lock_there, (&id, &path), (&entry, &text), layer)?;
        settle(&there, &lock_there, &mut written);
    }
    archive_as(workspace, &lock, (&live, &archive), std::slice::from_ref(&id), str::to_owned)?;
    workspace.commit_moved();
    written.problems.extend(lock.settled(&[]));
    written.previous_id = Some(id);
    Ok(written)
}

/// Returns the live entries and the archive, if all of them can be listed.
fn catalogs(workspace: &Workspace) -> Result<[Catalog; 2]> {
    let catalogs = [Area::Live, Area::Archive].map(|area| workspace.catalog(area));
    refuse_unlisted(workspace, &catalogs.each_ref())?;
    Ok(catalogs)
}

/// Refuses an entry that means something here alone.
fn refuse_bound(workspace: &Workspace, live: &Catalog, id: &Id, entry: &Entry) -> Result<()> {
    let scope = &entry.head.scope;
    if matches!(scope, Scope::Task(_) | Scope::Section(_)) {
        let reason = format!("`{id}` concerns `{scope}` of this project; give it `--scope project` first");
        return Err(Error::invalid("ID", reason));
    }
    let replaced = replacements(&[live], workspace.now()).counted;
    let is_live = |old: &Id| live.row_of_id(old).is_some();
    match replaced.iter().find(|(new, old)| new == id && is_live(old)) {
        Some((_, old)) => {
            let reason =
                format!("`{id}` replaces `{old}`, which searches here would find again; archive `{old}` first");
            Err(Error::invalid("ID", reason))
        }
        None => Ok(()),
    }
}

/// Creates the entry in the layer, under the id and with the text that it has here.
fn create_in(
    there: &Workspace,
    lock: &Lock,
    (id, path): (&Id, &str),
    (entry, text): (&Entry, &str),
    layer: &str,
) -> Result<()> {
    let taken = |id: &Id| {
        let reason = format!("`{}` exists; give the entry here another title first", id.in_layer(layer));
        Err(Error::invalid("ID", reason))
    };
    let catalogs = catalogs(there)?;
    if catalogs.iter().any(|catalog| catalog.row_of_id(id).is_some() || !catalog.ids_of_name(id).is_empty()) {
        return taken(id);
    }
    if let Some(other) = other_titled(&catalogs[0], None, &entry.head.title, &entry.head.scope) {
        return taken(&other);
    }
    match there.store.create(lock, path, text.as_bytes())? {
        Created::Exists => taken(id),
        Created::Made => Ok(()),
    }
}
