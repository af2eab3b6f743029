//! Changing an entry by its keys: its title, its scope, its tags and what it replaces.

use super::entry_changes::EntryChanges;
use super::rename::rename;
use super::write::{edited, refuse_attempt, write_entry};
use super::written::{WriteAction, Written};
use crate::entry::Id;
use crate::error::Result;
use crate::workspace::{Workspace, live_entry};

/// Implements [`Memory::change`](crate::Memory::change).
pub(crate) fn change(workspace: &Workspace, id: &Id, changes: &EntryChanges) -> Result<Written> {
    let changes = changes.checked(workspace)?;
    refuse_attempt(id)?;
    let lock = workspace.lock_entries()?;
    if let Some(title) = &changes.title {
        return rename(workspace, &lock, id, title, &changes);
    }
    let (mut written, git_problem) = write_entry(workspace, &lock, |catalog| {
        let (row, id) = live_entry(workspace, catalog, id)?;
        let path = catalog.path(row);
        let (text, entry) = workspace.read_entry(&path)?;
        let (changes, suggested) = changes.planned(workspace, catalog, &id, (&text, &entry))?;
        let mut written = Written { suggested, ..Written::new(WriteAction::Unchanged, id, entry.head.title, &path) };
        if changes.is_empty() {
            return Ok((written, None));
        }
        written.problems = workspace.replace(&lock, &path, &text, &edited(&path, &text, &changes, false)?)?;
        written.action = WriteAction::Updated;
        let path = written.path.clone();
        Ok((written, Some(path)))
    })?;
    written.problems.extend(git_problem);
    Ok(written)
}
