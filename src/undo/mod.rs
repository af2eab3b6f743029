//! Takes operations back, as the log of changes of the store describes them.
//!
//! `plan` decides and is pure; the rest gathers its input and carries it out. Everything is checked before anything
//! is touched. Taking back is an operation itself, so it can be taken back, also after a kill.

mod apply;
mod plan;
mod report;

use std::cell::Cell;

use self::plan::{FileState, UndoPlan, plan};
pub use self::report::{Operation, UndoAction, Undone, UndoneFile};
use crate::error::{Error, Result};
use crate::store::{Lock, LoggedOperation, Unreadable};
use crate::workspace::Workspace;

/// Implements [`Memory::operations`](crate::Memory::operations).
pub(crate) fn operations(workspace: &Workspace) -> Result<Vec<Operation>> {
    Ok(workspace.store.operations()?.iter().map(Operation::of).collect())
}

/// Implements [`Memory::forget_operations`](crate::Memory::forget_operations).
pub(crate) fn forget_operations(workspace: &Workspace) -> Result<usize> {
    let lock = workspace.lock_within_git()?;
    workspace.store.forget_operations(&lock)
}

/// Implements [`Memory::undo`](crate::Memory::undo).
pub(crate) fn undo(workspace: &Workspace, number: Option<u64>, dry_run: bool) -> Result<Undone> {
    let lock = workspace.lock_entries()?;
    let logged = workspace.store.operations()?;
    let position = match number {
        None => (!logged.is_empty()).then_some(0),
        Some(number) => logged.iter().position(|operation| operation.head.number == number),
    };
    let position = position.ok_or(Error::NoOperation { number })?;
    let operation = &logged[position];
    let plan = checked_plan(workspace, operation, &logged[..position])?;
    let files = apply::files(workspace, &plan, dry_run)?;
    let undone = Operation::of(operation);
    if dry_run {
        return Ok(Undone { operation: undone, number: None, files, problems: Vec::new() });
    }
    workspace.store.takes_back(operation.head.number);
    let mut problems = apply::apply(workspace, &lock, &plan).inspect_err(|_| restore(workspace, &lock))?;
    let number = workspace.store.operation_number();
    workspace.commit_moved();
    let written: Vec<_> = apply::written(&plan).map(|path| workspace.store.memory().join(path)).collect();
    problems.extend(lock.settled(&written));
    Ok(Undone { operation: undone, number, files, problems })
}

/// Takes back what an undo did before it failed. If that fails as well, the rest is in the log, as after a kill.
fn restore(workspace: &Workspace, lock: &Lock) {
    let Some(number) = workspace.store.operation_number() else { return };
    let logged = workspace.store.operations().unwrap_or_default();
    let own = logged.iter().position(|operation| operation.head.number == number);
    let plan = own.map(|position| checked_plan(workspace, &logged[position], &logged[..position]));
    if let Some(Ok(plan)) = plan {
        let _ = apply::apply(workspace, lock, &plan);
    }
}

/// Returns how to take an operation back, if nobody changed its files since; `later` are the operations after it.
fn checked_plan<'a>(
    workspace: &Workspace,
    operation: &'a LoggedOperation,
    later: &[LoggedOperation],
) -> Result<UndoPlan<'a>> {
    let number = operation.head.number;
    let refused = |reason: &str| Error::NotUndoable { number, reason: reason.to_owned() };
    if operation.is_too_large() {
        return Err(refused("it changed more than the log keeps, which is 32 MiB"));
    }
    let failure = Cell::new(None);
    let state = |path: &str| match workspace.store.fingerprint(path) {
        Ok(None) => FileState::Missing,
        Ok(Some(fingerprint)) => FileState::Bytes(fingerprint),
        Err(unreadable) => {
            if let Unreadable::Io(_) = unreadable {
                failure.set(Some(unreadable.into_error(workspace.store.memory().join(path))));
            }
            FileState::Other
        }
    };
    let mut plan = plan(operation.changes(), &state);
    if let Some(error) = failure.take() {
        return Err(error);
    }
    // What a later operation brought into that state was not left out by this one.
    let later_files = later.iter().flat_map(|other| other.changes().flat_map(|(change, _)| change.files()));
    for (path, ..) in later_files {
        plan.changed.extend(plan.as_before.get(path).copied());
    }
    if !plan.changed.is_empty() {
        let touched = |other: &&LoggedOperation| {
            let mut files = other.changes().flat_map(|(change, _)| change.files());
            files.any(|(path, ..)| plan.changed.contains(path))
        };
        let by = later.iter().find(touched).map(|other| other.head.number);
        let files = plan.changed.iter().map(|path| crate::entry::path::display_path(path)).collect();
        return Err(Error::ChangedSince { number, files, by });
    }
    if plan.steps.is_empty() {
        return Err(refused("its files are as they were before it already"));
    }
    Ok(plan)
}
