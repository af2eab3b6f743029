//! Renaming: an entry gets another title and the file name that goes with it. It keeps its old id and title as aliases, so
//! links, contexts in the journal and other branches lead to it as before. No other file changes.

use super::entry_changes::EntryChanges;
use super::rejected::refuse_rejected;
use super::write::{archived_stems, edited, located, other_titled, refuse_unlisted, settle};
use super::written::{WriteAction, Written};
use crate::entry::Id;
use crate::entry::edit::Change;
use crate::error::{Error, Result};
use crate::index::catalog::{Area, Catalog};
use crate::store::stem_for_title;
use crate::text::comparable;
use crate::workspace::{EntryLock, Workspace, live_entry};

/// Gives an entry another title, and what else is wanted of it.
pub(super) fn rename(
    workspace: &Workspace,
    lock: &EntryLock,
    id: &Id,
    title: &str,
    wanted: &EntryChanges,
) -> Result<Written> {
    let live = workspace.catalog(Area::Live);
    refuse_unlisted(workspace, &[&live, &workspace.catalog(Area::Archive)])?;
    let (row, _) = live_entry(workspace, &live, id)?;
    let (from_path, from) = located(&live, row)?;
    let (text, entry) = workspace.read_entry(&from_path)?;
    let head = entry.head.clone();
    if let Some(other) = other_titled(&live, Some(row), title, wanted.scope.as_ref().unwrap_or(&head.scope)) {
        return Err(Error::TitleTaken { title: title.to_owned(), id: other.to_string() });
    }
    let path = free_path(workspace, &live, &from_path, &from, title);
    let id = Id::of_path(&path).ok_or_else(|| Error::OutsideRoot { path: from_path.clone().into() })?;
    let (mut changes, suggested) = wanted.planned(workspace, &live, &from, (&text, &entry))?;
    refuse_rejected(workspace, title, &entry)?;
    if head.title != title {
        changes.push(Change::Set("title", title.into()));
    }
    let old_id = (from != id).then(|| from.to_string());
    let old_title = Some(head.title).filter(|old| !old.is_empty() && comparable(old) != comparable(title));
    let is_new = |alias: &String| !head.aliases.contains(alias);
    changes.push(Change::AddItems("aliases", old_id.into_iter().chain(old_title).filter(is_new).collect()));
    let edited = edited(&from_path, &text, &changes, false)?;
    let mut written = Written {
        previous_id: Some(from.clone()).filter(|from| *from != id),
        suggested,
        ..Written::new(WriteAction::Unchanged, id, title.to_owned(), &path)
    };
    if edited != text {
        written.problems = workspace.replace(lock, &from_path, &text, &edited)?;
    }
    if path != from_path {
        workspace.store.move_to(lock, &from_path, &path).inspect_err(|_| {
            // Then it has no reason for its new title either. If this fails, a second call completes it.
            let _ = workspace.replace(lock, &from_path, &edited, &text);
        })?;
    }
    if edited != text || path != from_path {
        written.action = WriteAction::Updated;
        settle(workspace, lock, &mut written);
    }
    Ok(written)
}

/// Returns the path for a title: in the same folder, with the day in front for an event. The entry may keep its own.
fn free_path(workspace: &Workspace, live: &Catalog, from: &str, id: &Id, title: &str) -> String {
    let (folder, name) = from.rsplit_once('/').unwrap_or(("", from));
    let day = name.get(..10).filter(|day| folder.ends_with("/events") && day.parse::<chrono::NaiveDate>().is_ok());
    let name = day.map_or_else(|| title.to_owned(), |day| format!("{day} {title}"));
    let archived = archived_stems(workspace, "archive/knowledge");
    let is_taken = |stem: &str| {
        let other = Id::parse(&format!("knowledge/{stem}"));
        let is_own = other.as_ref() == Some(id);
        let has_row = |other: &Id| live.ids_of_name(other).iter().any(|current| current != id);
        let is_archived = || archived.iter().any(|known| known.eq_ignore_ascii_case(stem));
        let is_like = || live.rows_like(stem).any(|row| live.id(row).as_ref() != Some(id));
        !is_own && (is_archived() || is_like() || other.as_ref().is_some_and(has_row))
    };
    let stem = stem_for_title(&name, &is_taken);
    if stem == id.stem() { from.to_owned() } else { format!("{folder}/{stem}.md") }
}
