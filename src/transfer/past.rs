//! Writes past attempts of another program to the journal, each under the run and the number that it had there.

use super::report::{ImportAction, ImportOrigin, ImportReport, ImportedItem};
use super::request::ImportRequest;
use crate::entry::{Attempt, Id};
use crate::error::{Error, Result};
use crate::journal::{attempt_at, check_number, check_run_name, journal_path};
use crate::store::{Created, Lock};
use crate::workspace::Workspace;

/// The attempts of a source.
#[derive(Debug, Default)]
pub(super) struct PastAttempts {
    pub(super) searched: Vec<String>,
    pub(super) read: Vec<String>,
    pub(super) attempts: Vec<(ImportOrigin, Attempt)>,
    /// What is not imported, and why.
    pub(super) left_out: Vec<ImportedItem>,
}

/// Writes the attempts that the journal lacks. Also returns the paths of the written files.
pub(super) fn record_all(
    workspace: &Workspace,
    request: &ImportRequest,
    past: PastAttempts,
) -> Result<(ImportReport, Vec<String>)> {
    let PastAttempts { searched, read, attempts, left_out } = past;
    let mut report = ImportReport { searched, read, items: left_out, problems: Vec::new() };
    let mut written = Vec::new();
    if request.dry_run {
        report.items.extend(
            attempts
                .into_iter()
                .map(|(from, attempt)| one(workspace, None, from, &attempt))
                .collect::<Result<Vec<_>>>()?,
        );
        return Ok((report, written));
    }
    let lock = workspace.lock_entries()?;
    let pending = workspace.begin_write();
    for (from, attempt) in attempts {
        let item = one(workspace, Some(&lock), from, &attempt)?;
        if item.action == ImportAction::Added {
            written.push(journal_path(&attempt.run_id, attempt.head.iteration));
        }
        report.items.push(item);
    }
    workspace.commit_batch(pending);
    let paths: Vec<_> = written.iter().map(|path| workspace.store.memory().join(path)).collect();
    report.problems.extend(lock.settled(&paths).filter(|_| !written.is_empty()));
    Ok((report, written))
}

/// Writes an attempt, unless the journal has it or this is a dry run.
fn one(workspace: &Workspace, lock: Option<&Lock>, from: ImportOrigin, attempt: &Attempt) -> Result<ImportedItem> {
    let attempt = attempt.prepared(&workspace.settings.allowed_secrets);
    let (run, number) = (&attempt.run_id, attempt.head.iteration);
    if let Err(error @ Error::Invalid { .. }) = check_run_name(run).and_then(|()| check_number(number)) {
        return Ok(ImportedItem::left_out(ImportAction::Refused, from, &attempt.task_title, error.to_string()));
    }
    let path = journal_path(run, number);
    let told = |action, reason: Option<&str>| ImportedItem {
        action,
        id: Id::of_path(&path),
        title: attempt.task_title.as_str().into(),
        from: from.clone(),
        reason: reason.map(Into::into),
    };
    let archived = format!("archive/{path}");
    let known = attempt_at(workspace, &path).or_else(|| attempt_at(workspace, &archived));
    let is_same = |known: &Attempt| (&known.task_id, known.started_at) == (&attempt.task_id, attempt.started_at);
    match known {
        Some(known) if is_same(&known) => return Ok(told(ImportAction::Unchanged, None)),
        Some(_) => return Ok(told(ImportAction::Conflict, Some("the journal has another attempt of this number"))),
        None => {}
    }
    let Some(lock) = lock else { return Ok(ImportedItem { id: None, ..told(ImportAction::Added, None) }) };
    match workspace.store.create(lock, &path, attempt.to_file().as_bytes())? {
        Created::Made => Ok(told(ImportAction::Added, None)),
        Created::Exists => Ok(told(ImportAction::Conflict, Some("the journal has an unreadable file of this number"))),
    }
}
