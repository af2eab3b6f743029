//! Carries out a plan, and describes what it does to each file.

use std::collections::{BTreeMap, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use super::plan::{UndoPlan, UndoStep};
use super::report::{UndoAction, UndoneFile};
use crate::entry::path::EntryPath;
use crate::error::{Error, Problem, Result};
use crate::store::{Created, Lock, LoggedChange, MAX_EDITED_BYTES};
use crate::workspace::Workspace;

/// Takes the changes back, and returns the problems on the way. A file that is not as it was when that was planned is
/// a conflict. Files that are removed or moved one after the other are so at once, since each call waits for the disk.
/// `interrupt` is called before them with their number, so that tests can act as another program there.
pub(super) fn apply(
    workspace: &Workspace,
    lock: &Lock,
    plan: &UndoPlan<'_>,
    interrupt: &mut dyn FnMut(usize),
) -> Result<Vec<Problem>> {
    let store = &workspace.store;
    let mut problems = Vec::new();
    let conflict = |path: &str| Error::Conflict { path: store.full_path(path), kept: None };
    let is_same_kind = |(one, _): &UndoStep<'_>, (other, _): &UndoStep<'_>| {
        matches!(
            (one, other),
            (LoggedChange::Create { .. }, LoggedChange::Create { .. })
                | (LoggedChange::Move { .. }, LoggedChange::Move { .. })
        )
    };
    for (number, steps) in plan.steps.chunk_by(is_same_kind).enumerate() {
        interrupt(number);
        let (change, bytes) = steps[0];
        match change {
            LoggedChange::Create { .. } => {
                let created = steps.iter().filter_map(|(change, _)| match change {
                    LoggedChange::Create { path, after } => Some((path.as_str(), *after)),
                    _ => None,
                });
                store.remove_all(lock, &created.collect::<Vec<_>>(), plan.forgets)?;
            }
            LoggedChange::Move { .. } => {
                let moved = steps.iter().filter_map(|(change, _)| match change {
                    LoggedChange::Move { from, to, bytes } => Some((to.as_str(), from.as_str(), Some(*bytes))),
                    _ => None,
                });
                store.move_unchanged(lock, &moved.collect::<Vec<_>>())?.into_iter().collect::<Result<Vec<()>>>()?;
            }
            LoggedChange::Remove { path, mode, .. } => {
                if store.restore(lock, path, bytes, *mode)? == Created::Exists {
                    return Err(conflict(path));
                }
            }
            LoggedChange::Replace { path, after, .. } => {
                let current = read(workspace, path)?;
                if xxh3_64(&current) != *after {
                    return Err(conflict(path));
                }
                problems.extend(workspace.replace(lock, path, current.as_slice(), bytes)?);
            }
            LoggedChange::Folder { path } => store.remove_empty_folder(lock, path),
            LoggedChange::TooLarge | LoggedChange::Forgotten => {}
        }
    }
    Ok(problems)
}

fn read(workspace: &Workspace, path: &str) -> Result<Vec<u8>> {
    let read = workspace.store.read_up_to(path, MAX_EDITED_BYTES);
    read.map_err(|unreadable| unreadable.into_error(workspace.store.full_path(path)))
}

/// Returns the paths of the files that are there after all of this.
pub(super) fn written(files: &[UndoneFile]) -> impl Iterator<Item = &EntryPath> {
    let mut last: BTreeMap<&EntryPath, bool> = BTreeMap::new();
    for file in files {
        last.extend(file.from.as_ref().map(|from| (from, false)));
        last.insert(&file.path, file.action != UndoAction::Removed);
    }
    last.into_iter().filter_map(|(path, is_there)| is_there.then_some(path))
}

/// Describes what taking back does to each file; `with_bytes` adds the bytes of each before and after.
pub(super) fn files(workspace: &Workspace, plan: &UndoPlan<'_>, with_bytes: bool) -> Result<Vec<UndoneFile>> {
    // The bytes of files after the steps so far, where these changed any.
    let mut known: HashMap<&str, Vec<u8>> = HashMap::new();
    let mut files: Vec<UndoneFile> = Vec::new();
    for (change, bytes) in &plan.steps {
        let mut take = |path: &str| match known.remove(path) {
            Some(bytes) => Ok(Some(bytes)),
            None if with_bytes => read(workspace, path).map(Some),
            None => Ok(None),
        };
        let (action, path, from, before) = match change {
            LoggedChange::Create { path, .. } => (UndoAction::Removed, path, None, take(path)?),
            LoggedChange::Remove { path, .. } => (UndoAction::Restored, path, None, None),
            LoggedChange::Replace { path, .. } => (UndoAction::Changed, path, None, take(path)?),
            LoggedChange::Move { from, to, .. } => {
                // One that cannot be read is moved all the same.
                let moved = take(to).ok().flatten();
                known.extend(moved.map(|bytes| (from.as_str(), bytes)));
                (UndoAction::Moved, from, Some(EntryPath::new(to)), None)
            }
            LoggedChange::Folder { .. } | LoggedChange::TooLarge | LoggedChange::Forgotten => continue,
        };
        let has_bytes = with_bytes && matches!(action, UndoAction::Restored | UndoAction::Changed);
        let after = has_bytes.then(|| bytes.to_vec());
        known.extend(after.clone().map(|bytes| (path.as_str(), bytes)));
        // Of several changes of one file, a person sees the first and the last text.
        if action == UndoAction::Changed
            && let Some(last) = files.last_mut().filter(|last| last.path.as_relative() == path)
            && matches!(last.action, UndoAction::Changed | UndoAction::Restored)
        {
            last.after = after;
            continue;
        }
        files.push(UndoneFile { action, path: EntryPath::new(path), from, before, after });
    }
    Ok(files)
}
