//! Carries out a plan, and describes what it does to each file.

use super::plan::{UndoPlan, UndoStep};
use super::report::{UndoAction, UndoneFile};
use crate::entry::path::EntryPath;
use crate::error::{Error, Result};
use crate::store::{Created, Lock};
use crate::workspace::Workspace;

/// Carries out the steps, and returns the number of the operation that this is. Files that are removed or moved one
/// after the other are so at once, since each call waits for the disk.
pub(super) fn apply(workspace: &Workspace, lock: &Lock, plan: &UndoPlan<'_>) -> Result<Option<u64>> {
    let store = &workspace.store;
    let is_same_kind = |one: &UndoStep<'_>, other: &UndoStep<'_>| {
        matches!(
            (one, other),
            (UndoStep::Remove { .. }, UndoStep::Remove { .. }) | (UndoStep::Move { .. }, UndoStep::Move { .. })
        )
    };
    for steps in plan.steps.chunk_by(is_same_kind) {
        match steps[0] {
            UndoStep::Remove { .. } => {
                let files: Vec<(&str, u64)> = steps.iter().filter_map(removed).collect();
                store.remove_all(lock, &files)?;
            }
            UndoStep::Move { .. } => {
                let moves: Vec<(&str, &str)> = steps.iter().filter_map(moved).collect();
                store.move_all(lock, &moves)?.into_iter().collect::<Result<Vec<()>>>()?;
            }
            UndoStep::Create { path, bytes } => {
                if store.create(lock, path, bytes)? == Created::Exists {
                    return Err(Error::Conflict { path: store.memory().join(path), kept: None });
                }
            }
            UndoStep::Replace { path, bytes, .. } => {
                let current = read(workspace, path)?;
                store.replace(lock, path, &current, bytes, workspace.now())?;
            }
            UndoStep::Swap { one, other } => store.swap(lock, one, other)?,
            UndoStep::RemoveFolder { path } => store.remove_empty_folder(lock, path),
        }
    }
    Ok(store.operation_number())
}

fn removed<'a>(step: &UndoStep<'a>) -> Option<(&'a str, u64)> {
    match *step {
        UndoStep::Remove { path, fingerprint } => Some((path, fingerprint)),
        _ => None,
    }
}

fn moved<'a>(step: &UndoStep<'a>) -> Option<(&'a str, &'a str)> {
    match *step {
        UndoStep::Move { from, to } => Some((from, to)),
        _ => None,
    }
}

/// Returns the paths of the files that the steps leave.
pub(super) fn written<'a>(plan: &UndoPlan<'a>) -> impl Iterator<Item = &'a str> {
    let mut last: std::collections::BTreeMap<&str, bool> = std::collections::BTreeMap::new();
    for step in &plan.steps {
        match *step {
            UndoStep::Remove { path, .. } => drop(last.insert(path, false)),
            UndoStep::Create { path, .. } | UndoStep::Replace { path, .. } => drop(last.insert(path, true)),
            UndoStep::Move { from, to } => {
                last.insert(from, false);
                last.insert(to, true);
            }
            UndoStep::Swap { .. } | UndoStep::RemoveFolder { .. } => {}
        }
    }
    last.into_iter().filter_map(|(path, is_there)| is_there.then_some(path))
}

/// Describes what the steps do to each file; `with_bytes` adds the bytes of each before and after.
pub(super) fn files(workspace: &Workspace, plan: &UndoPlan<'_>, with_bytes: bool) -> Result<Vec<UndoneFile>> {
    let mut files = Vec::new();
    for step in &plan.steps {
        let mut add = |action, path: &str, from: Option<&str>, restored: Option<&[u8]>, has_bytes: bool| {
            let is_text = with_bytes && from.is_none();
            let before = if is_text && has_bytes { Some(read(workspace, path)?) } else { None };
            let after = restored.filter(|_| is_text).map(<[u8]>::to_vec);
            files.push(UndoneFile {
                action,
                path: EntryPath::new(path),
                from: from.map(EntryPath::new),
                before,
                after,
            });
            Ok::<(), Error>(())
        };
        match *step {
            UndoStep::Remove { path, .. } => add(UndoAction::Removed, path, None, None, true)?,
            UndoStep::Create { path, bytes } => add(UndoAction::Restored, path, None, Some(bytes), false)?,
            UndoStep::Replace { path, bytes, .. } => add(UndoAction::Changed, path, None, Some(bytes), true)?,
            UndoStep::Move { from, to } => add(UndoAction::Moved, to, Some(from), None, false)?,
            UndoStep::Swap { one, other } => {
                add(UndoAction::Moved, one, Some(other), None, false)?;
                add(UndoAction::Moved, other, Some(one), None, false)?;
            }
            UndoStep::RemoveFolder { .. } => {}
        }
    }
    Ok(files)
}

fn read(workspace: &Workspace, path: &str) -> Result<Vec<u8>> {
    let read = workspace.store.read(path);
    Ok(read.map_err(|unreadable| unreadable.into_error(workspace.store.memory().join(path)))?.bytes)
}
