//! Attempts that are not in the journal yet, each saved in a file outside of the project.
//!
//! The file is written before the memory is touched, and removed once the journal has the attempt. So an attempt
//! survives everything in between: a full disk, a lock that stays taken, a removed `.ralph/`, a kill.

use std::path::{Path, PathBuf};

use super::ended::EndedAttempt;
use super::iteration::Iteration;
use super::kept_file::{IterationRef, KeptAttempt, KeptFile, canonical, not_kept, prefix, problem, write_kept};
use super::process_identity::ProcessIdentity;
use super::state_folders::StateFolders;
use crate::entry::Attempt;
use crate::error::{Error, Problem};
use crate::store::{private_names, remove_private, rename_private};
use crate::workspace::Workspace;

/// Returns the saved attempts of this memory, and the problems of files that should be some.
fn kept_and_unreadable(workspace: &Workspace, folders: &StateFolders) -> (Vec<KeptAttempt>, Vec<Problem>) {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    let root = canonical(workspace.root());
    let start = prefix(&root);
    for folder in &folders.0 {
        let mut names = private_names(folder).unwrap_or_else(|error| {
            let message = format!("saved attempts here cannot be read: {error}");
            problems.push(problem(folder, message, "check who owns the folder, and its permissions".to_owned()));
            Vec::new()
        });
        names.retain(|name| name.starts_with(&start) && name.strip_suffix(".json").is_some());
        names.sort();
        for path in names.into_iter().map(|name| folder.join(name)) {
            match KeptAttempt::read(&path) {
                // Another process is just writing it to the journal.
                Ok(Some(kept)) if kept.file.holder.as_ref().is_some_and(ProcessIdentity::is_alive) => {}
                Ok(Some(kept)) if kept.is_of(&root) => all.push(kept),
                Ok(_) => {}
                Err(error) => problems.push(problem(
                    &path,
                    format!("a saved attempt here cannot be read: {error}"),
                    "read it, and delete it".to_owned(),
                )),
            }
        }
    }
    (all, problems)
}

/// Returns the saved attempts of this memory.
pub(crate) fn kept_attempts(workspace: &Workspace, folders: &StateFolders) -> Vec<KeptAttempt> {
    kept_and_unreadable(workspace, folders).0
}

/// Returns the saved attempts, and a problem for each of them and for each file that cannot be read.
pub(crate) fn kept_problems(workspace: &Workspace, folders: &StateFolders) -> (Vec<KeptAttempt>, Vec<Problem>) {
    let (kept, mut problems) = kept_and_unreadable(workspace, folders);
    problems.extend(kept.iter().map(|kept| kept.problem(workspace.root())));
    (kept, problems)
}

/// Returns whether an iteration has an agent's answer that waits for the journal.
pub(super) fn is_kept(kept: &[KeptAttempt], iteration: &Iteration) -> bool {
    kept.iter().any(|kept| kept.is_of_iteration(iteration))
}

/// Keeps an attempt that is about to be written. A failure is not reported: the attempt may well be written.
pub(super) fn keep_ahead(workspace: &Workspace, folders: &StateFolders, ended: &EndedAttempt<'_>) -> Option<PathBuf> {
    if folders.0.is_empty() {
        return None;
    }
    let file = KeptFile { holder: ProcessIdentity::this_process(), ..kept_file(workspace, ended) };
    write_kept(folders, &file).ok()
}

/// Returns the error of an attempt that could not be written, and is saved. `ahead` is where [`keep_ahead`] saved it.
pub(super) fn not_recorded(
    workspace: &Workspace,
    folders: &StateFolders,
    ended: &EndedAttempt<'_>,
    ahead: Option<PathBuf>,
    source: Error,
) -> Error {
    if folders.0.is_empty() {
        return source;
    }
    let (root, source) = (PathBuf::from(canonical(workspace.root())), Box::new(source));
    let file = kept_file(workspace, ended);
    match (write_kept(folders, &file), ahead) {
        (Ok(kept), ahead) => {
            // The first one may be in another folder, which cannot be written any more.
            if let Some(ahead) = ahead.filter(|ahead| *ahead != kept) {
                let _ = remove_private(&ahead);
            }
            Error::NotRecorded { root, kept, source }
        }
        (Err(_), Some(kept)) => Error::NotRecorded { root, kept, source },
        (Err(error), None) => not_kept(&file, &error, *source),
    }
}

fn kept_file(workspace: &Workspace, ended: &EndedAttempt<'_>) -> KeptFile {
    let which = IterationRef::Begun(Box::new(ended.iteration.clone()));
    let output = (ended.report, ended.transcript);
    let allowed = &workspace.settings.allowed_secrets;
    KeptFile::new(workspace.root(), which, output, ended.changes.clone(), ended.at, allowed)
}

/// Removes the file of an attempt that is in the journal. If the journal had no room for all of the agent's notes, the
/// file stays under another name.
pub(super) fn settle(attempt: &Attempt, path: &Path) -> Option<Problem> {
    if !attempt.sections.has_cut_notes() {
        return forget(path);
    }
    let renamed = rename_private(path, "answer");
    let whole = renamed.as_deref().unwrap_or(path);
    let message = "the journal has the beginning of the agent's notes; this file has the whole answer".to_owned();
    let hint = "put the missing part into entries of its own, and delete the file".to_owned();
    Some(Problem { code: "notes-cut".to_owned(), ..problem(whole, message, hint) })
}

fn forget(path: &Path) -> Option<Problem> {
    let error = remove_private(path).err()?;
    let message = format!("the attempt is in the journal, and its copy cannot be removed: {error}");
    Some(problem(path, message, "delete the file".to_owned()))
}
