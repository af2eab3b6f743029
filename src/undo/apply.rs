//! Carries out a plan, and describes what it does to each file.

use std::collections::{BTreeMap, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use super::plan::{UndoPlan, UndoStep};
use super::report::{UndoAction, UndoneFile};
use crate::entry::path::EntryPath;
use crate::error::{Error, Problem, Result};
use crate::store::{Created, Lock};
use crate::workspace::Workspace;

/// Carries out the steps, and returns the problems on the way. A file that is not as it was when the steps were planned is
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
    let conflict = |path: &str| Error::Conflict { path: store.memory().join(path), kept: None };
    let is_same_kind = |one: &UndoStep<'_>, other: &UndoStep<'_>| {
        matches!(
            (one, other),
            (UndoStep::Remove { .. }, UndoStep::Remove { .. }) | (UndoStep::Move { .. }, UndoStep::Move { .. })
        )
    };
    for (number, steps) in plan.steps.chunk_by(is_same_kind).enumerate() {
        interrupt(number);
        match steps[0] {
            UndoStep::Remove { .. } => {
                let files: Vec<(&str, u64)> = steps.iter().filter_map(removed).collect();
                store.remove_all(lock, &files)?;
            }
            UndoStep::Move { .. } => {
                let moves: Vec<(&str, &str, Option<u64>)> = steps.iter().filter_map(moved).collect();
                store.move_unchanged(lock, &moves)?.into_iter().collect::<Result<Vec<()>>>()?;
            }
            UndoStep::Create { path, bytes, mode } => {
                if store.restore(lock, path, bytes, mode)? == Created::Exists {
                    return Err(conflict(path));
                }
            }
            UndoStep::Replace { path, fingerprint, bytes } => {
                let current = read(workspace, path)?;
                if xxh3_64(&current) != fingerprint {
                    return Err(conflict(path));
                }
                problems.extend(workspace.replace(lock, path, current.as_slice(), bytes)?);
            }
            UndoStep::Swap { one, other, fingerprints } => {
                for (path, fingerprint) in [one, other].into_iter().zip(fingerprints) {
                    let now = store.fingerprint(path).map_err(|error| error.into_error(store.memory().join(path)))?;
                    if now != Some(fingerprint) {
                        return Err(conflict(path));
                    }
                }
                store.swap(lock, one, other)?;
            }
            UndoStep::RemoveFolder { path } => store.remove_empty_folder(lock, path),
        }
    }
    Ok(problems)
}

fn removed<'a>(step: &UndoStep<'a>) -> Option<(&'a str, u64)> {
    match *step {
        UndoStep::Remove { path, fingerprint } => Some((path, fingerprint)),
        _ => None,
    }
}

fn moved<'a>(step: &UndoStep<'a>) -> Option<(&'a str, &'a str, Option<u64>)> {
    match *step {
        UndoStep::Move { from, to, fingerprint } => Some((from, to, Some(fingerprint))),
        _ => None,
    }
}

/// Returns the paths of the files that the steps leave.
pub(super) fn written<'a>(plan: &UndoPlan<'a>) -> impl Iterator<Item = &'a str> {
    let mut last: BTreeMap<&str, bool> = BTreeMap::new();
    for step in &plan.steps {
        match *step {
            UndoStep::Remove { path, .. } => drop(last.insert(path, false)),
            UndoStep::Create { path, .. } | UndoStep::Replace { path, .. } => drop(last.insert(path, true)),
            UndoStep::Move { from, to, .. } => {
                last.insert(from, false);
                last.insert(to, true);
            }
            UndoStep::Swap { .. } | UndoStep::RemoveFolder { .. } => {}
        }
    }
    last.into_iter().filter_map(|(path, is_there)| is_there.then_some(path))
}

/// Describes what the steps do to each file; `with_bytes` adds the bytes of each before and after.
pub(super) fn files<'a>(workspace: &'a Workspace, plan: &UndoPlan<'a>, with_bytes: bool) -> Result<Vec<UndoneFile>> {
    let mut preview = Preview { workspace, with_bytes, bytes: HashMap::new() };
    let mut files = Vec::new();
    for step in &plan.steps {
        preview.add(step, &mut files)?;
    }
    Ok(files)
}

/// The bytes of files after the steps so far, where these changed any.
struct Preview<'a> {
    workspace: &'a Workspace,
    with_bytes: bool,
    bytes: HashMap<&'a str, Vec<u8>>,
}

impl<'a> Preview<'a> {
    fn add(&mut self, step: &UndoStep<'a>, files: &mut Vec<UndoneFile>) -> Result<()> {
        let mut file = |action, path, from: Option<&str>, before, after: Option<&[u8]>| {
            let (path, from) = (EntryPath::new(path), from.map(EntryPath::new));
            files.push(UndoneFile { action, path, from, before, after: after.map(<[u8]>::to_vec) });
        };
        match *step {
            UndoStep::Remove { path, .. } => file(UndoAction::Removed, path, None, self.take(path)?, None),
            UndoStep::Create { path, bytes, .. } => {
                file(UndoAction::Restored, path, None, None, self.put(path, bytes));
            }
            UndoStep::Replace { path, bytes, .. } => {
                let before = self.take(path)?;
                file(UndoAction::Changed, path, None, before, self.put(path, bytes));
            }
            UndoStep::Move { from, to, .. } => {
                if let Some(bytes) = self.bytes.remove(from) {
                    self.bytes.insert(to, bytes);
                } else if self.with_bytes
                    && let Ok(bytes) = read(self.workspace, from)
                {
                    self.bytes.insert(to, bytes);
                }
                file(UndoAction::Moved, to, Some(from), None, None);
            }
            UndoStep::Swap { one, other, .. } => {
                for (to, from) in [(one, other), (other, one)] {
                    file(UndoAction::Moved, to, Some(from), None, None);
                }
                let (of_one, of_other) = (self.take(one).ok().flatten(), self.take(other).ok().flatten());
                self.bytes.extend(of_one.map(|bytes| (other, bytes)));
                self.bytes.extend(of_other.map(|bytes| (one, bytes)));
            }
            UndoStep::RemoveFolder { .. } => {}
        }
        Ok(())
    }

    /// Returns the bytes of a file, if they are asked for.
    fn take(&mut self, path: &str) -> Result<Option<Vec<u8>>> {
        match self.bytes.remove(path) {
            Some(bytes) => Ok(Some(bytes)),
            None if self.with_bytes => read(self.workspace, path).map(Some),
            None => Ok(None),
        }
    }

    /// Notes the bytes of a file, if they are asked for.
    fn put<'b>(&mut self, path: &'a str, bytes: &'b [u8]) -> Option<&'b [u8]> {
        self.with_bytes.then(|| {
            self.bytes.insert(path, bytes.to_vec());
            bytes
        })
    }
}

fn read(workspace: &Workspace, path: &str) -> Result<Vec<u8>> {
    let read = workspace.store.read(path);
    Ok(read.map_err(|unreadable| unreadable.into_error(workspace.store.memory().join(path)))?.bytes)
}
