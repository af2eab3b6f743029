//! Takes operations back, as the log of changes of the store describes them.
//!
//! `history` knows which operation is the next one, and `plan` how to take it back; both are pure. The rest gathers their
//! input and carries it out. Everything is checked before anything is touched. Taking back is an operation itself, so it
//! can be taken back, also after a kill.

mod apply;
mod history;
mod plan;
mod report;

use std::cell::Cell;

use self::history::OperationHistory;
use self::plan::{FileState, UndoPlan, plan};
pub use self::report::{Operation, UndoAction, Undone, UndoneFile};
use super::author::{permit, permit_clear, permit_undo};
use super::rejected::permit_text;
use crate::entry::{Id, read};
use crate::error::{Error, Problem, Result};
use crate::open::Memory;
use crate::store::{Lock, LoggedOperation, MAX_LOGGED_BYTES, Unreadable};
use crate::workspace::{EntryLock, Workspace};

impl Memory {
    /// Returns the operations that can be taken back, the newest first: at most 300, with at most 32 MiB of text that
    /// they replaced or removed. (Older texts stay: see [`Memory::versions`].) The log is in `state/undo/`; what was written
    /// elsewhere is ignored.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn operations(&self) -> Result<Vec<Operation>> {
        let logged = self.workspace.store.operations()?;
        let history = OperationHistory::new(&logged);
        Ok(logged.iter().map(|operation| Operation::of(operation, &history)).collect())
    }

    /// Takes back the newest operation that is in effect, or the one with this number: each file of it gets the bytes
    /// and the path that it had before. A second call without a number goes further back. With `dry_run` it only
    /// reports what it would do.
    ///
    /// If one of the files changed since, nothing is done. Files in `state/` are not restored.
    /// Taking back is an operation as well, which [`Memory::redo`] takes back.
    ///
    /// # Errors
    ///
    /// * [`Error::NoOperation`] where nothing in the log holds, or it has no such number. The
    ///   log lacks what [`Memory::init`] made, and what was changed before there was a log.
    /// * [`Error::ChangedSince`] where a file changed since, and
    ///   [`Error::NotUndoable`] where the operation, or taking it back, is too large for the
    ///   log, it is taken back already, nothing is left of it, or the last call was cut off.
    /// * [`Error::Locked`], and [`Error::Conflict`] or
    ///   [`Error::Io`] where an editor or the disk interfered: then nothing was done.
    /// * [`Error::HalfUndone`] where what was done could not be put back:
    ///   [`Memory::redo`] takes it back.
    pub fn undo(&self, number: Option<u64>, dry_run: bool) -> Result<Undone> {
        let _operation = self.operation("undo");
        let workspace = &self.workspace;
        let lock = workspace.lock_entries()?;
        let logged = workspace.store.operations()?;
        let history = OperationHistory::new(&logged);
        let position = match number {
            None => history.next_undo(),
            Some(number) => logged.iter().position(|operation| operation.head.number == number),
        };
        if number.is_none() {
            refuse_half(workspace, &history)?;
        }
        let position = position.ok_or(Error::NoOperation { number })?;
        let undone = Operation::of(&logged[position], &history);
        take_back(workspace, &lock, &history, position, undone, dry_run)
    }

    /// Brings back what [`Memory::undo`] took back last, as long as nothing else was changed through this program since. A
    /// second call goes further forward.
    ///
    /// # Errors
    ///
    /// [`Error::NothingToRedo`], and those of [`Memory::undo`].
    pub fn redo(&self, dry_run: bool) -> Result<Undone> {
        let _operation = self.operation("redo");
        let workspace = &self.workspace;
        let lock = workspace.lock_entries()?;
        let logged = workspace.store.operations()?;
        let history = OperationHistory::new(&logged);
        let (position, change) = history.next_redo().ok_or(Error::NothingToRedo)?;
        take_back(workspace, &lock, &history, position, Operation::of(change, &history), dry_run)
    }

    /// Removes all operations from the log, with the old texts in it, and returns how many there were. Later operations go
    /// on with the numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] and [`Error::Io`].
    pub fn forget_operations(&self) -> Result<usize> {
        let workspace = &self.workspace;
        permit_clear(&workspace.store.author)?;
        let lock = workspace.lock_within_git()?;
        workspace.store.forget_operations(&lock)
    }
}

/// Refuses to go further back if the last step back was cut off, by a kill or a failure.
fn refuse_half(workspace: &Workspace, history: &OperationHistory<'_>) -> Result<()> {
    let Some((0, change)) = history.next_redo() else { return Ok(()) };
    let current = |path: &str| workspace.store.fingerprint(path).ok().flatten();
    if !history::is_half_taken_back(change.changes().map(|(change, _)| change), &current) {
        return Ok(());
    }
    let reason = "it is taken back in part; `ralph-memory undo --redo` brings that part back first";
    Err(Error::NotUndoable { number: change.head.number, reason: reason.to_owned() })
}

/// Takes back the operation at this place, and reports it as `operation`.
fn take_back(
    workspace: &Workspace,
    lock: &EntryLock,
    history: &OperationHistory<'_>,
    position: usize,
    operation: Operation,
    dry_run: bool,
) -> Result<Undone> {
    let logged = &history.logged[position];
    let plan = checked_plan(workspace, history, position)?;
    if !workspace.store.author.is_person() {
        for UndoneFile { path, before, after, .. } in apply::files(workspace, &plan, true)? {
            let entry = |text| read(path.as_relative(), text).head;
            if let (Some(id), Some(now)) = (Id::of_path(path.as_relative()), before.as_deref().map(entry)) {
                permit(&workspace.store.author, "undo", (&id, &now))?;
            }
            after.map_or(Ok(()), |text| permit_text(workspace, "undo", path.as_relative(), &text))?;
        }
    }
    let files = apply::files(workspace, &plan, dry_run)?;
    if dry_run {
        return Ok(Undone { operation, number: None, files, problems: Vec::new() });
    }
    workspace.store.takes_back(logged.head.number);
    let mut problems = carry_out(workspace, lock, logged, &plan, &mut |_| {})?;
    let number = workspace.store.operation_number();
    workspace.commit_moved();
    let written: Vec<_> = apply::written(&files).map(|path| workspace.store.full_path(path.as_relative())).collect();
    problems.extend(lock.settled(&written));
    Ok(Undone { operation, number, files, problems })
}

/// Carries out a plan, or nothing of it; `interrupt` is that of `apply`.
fn carry_out(
    workspace: &Workspace,
    lock: &Lock,
    operation: &LoggedOperation,
    plan: &UndoPlan<'_>,
    interrupt: &mut dyn FnMut(usize),
) -> Result<Vec<Problem>> {
    apply::apply(workspace, lock, plan, interrupt)
        .map_err(|error| put_back(workspace, lock, operation.head.number, error))
}

/// Puts back what taking back did before it failed, and returns why. What cannot be put back is in the log, as after a
/// kill; then the error says so.
fn put_back(workspace: &Workspace, lock: &Lock, number: u64, source: Error) -> Error {
    let store = &workspace.store;
    let Some(own) = store.operation_number() else { return source };
    store.puts_back();
    let logged = store.operations().unwrap_or_default();
    let Some(operation) = logged.iter().find(|operation| operation.head.number == own) else { return source };
    if let Ok(mut plan) = current_plan(workspace, operation) {
        plan.leave_changed();
        let _ = apply::apply(workspace, lock, &plan, &mut |_| {});
    }
    match current_plan(workspace, operation) {
        Ok(rest) if rest.steps.is_empty() => source,
        _ => Error::HalfUndone { number, source: Box::new(source) },
    }
}

/// Returns how to take the operation at this place back, if nobody changed its files since.
fn checked_plan<'a>(workspace: &Workspace, history: &OperationHistory<'a>, position: usize) -> Result<UndoPlan<'a>> {
    let operation = &history.logged[position];
    let number = operation.head.number;
    let refused = |reason: &str| Error::NotUndoable { number, reason: reason.to_owned() };
    if let Some(by) = history.taken_back_by(operation) {
        return Err(refused(&format!("operation {by} took it back already")));
    }
    if operation.is_too_large() {
        return Err(refused("it changed more than the log keeps, which is 32 MiB"));
    }
    let mut plan = current_plan(workspace, operation)?;
    // What a later operation brought into that state was not left out by this one.
    let later: Vec<&LoggedOperation> = history.later(position).collect();
    permit_undo(&workspace.store.author, operation, later.iter().copied())?;
    let later_files = later.iter().flat_map(|other| other.changes().flat_map(|(change, _)| change.files()));
    for (path, ..) in later_files {
        plan.changed.extend(plan.as_before.get(path).copied());
    }
    if !plan.changed.is_empty() {
        let touched = |other: &&&LoggedOperation| {
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
    let size = |path: &str| workspace.store.size_of(path);
    if plan.logged_bytes(&size) > MAX_LOGGED_BYTES {
        return Err(refused(
            "taking it back would remove more than the log keeps, which is 32 MiB; remove its files by hand, or with git",
        ));
    }
    Ok(plan)
}

/// Returns how to take an operation back, as its files are now.
fn current_plan<'a>(workspace: &Workspace, operation: &'a LoggedOperation) -> Result<UndoPlan<'a>> {
    let failure = Cell::new(None);
    let state = |path: &str| match workspace.store.fingerprint(path) {
        Ok(None) => FileState::Missing,
        Ok(Some(_)) if !workspace.store.is_spelled_so(path) => FileState::Missing,
        Ok(Some(fingerprint)) => FileState::Bytes(fingerprint),
        Err(unreadable) => {
            if let Unreadable::Io(_) = unreadable {
                failure.set(Some(unreadable.into_error(workspace.store.full_path(path))));
            }
            FileState::Other
        }
    };
    let forgets = operation.head.command != "restore";
    let plan = UndoPlan { forgets, ..plan(operation.changes(), &state) };
    failure.take().map_or(Ok(plan), Err)
}

#[cfg(test)]
mod tests;
