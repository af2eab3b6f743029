//! Writes past attempts of another program to the journal, each under the run and the number that it had there.

use super::report::{ImportAction, ImportOrigin, ImportReport, ImportedItem};
use super::write::ImportWrite;
use crate::entry::{Attempt, Id};
use crate::error::{Error, Result};
use crate::journal::{attempt_at, check_number, check_run_name, journal_path};
use crate::store::Created;

/// Writes the attempts that the journal lacks.
pub(super) fn record_all(
    write: &mut ImportWrite<'_>,
    attempts: Vec<(ImportOrigin, Attempt)>,
    report: &mut ImportReport,
) -> Result<()> {
    for (from, attempt) in attempts {
        report.items.push(one(write, from, &attempt)?);
    }
    Ok(())
}

/// Writes an attempt, unless the journal has it or this is a dry run.
fn one(write: &mut ImportWrite<'_>, from: ImportOrigin, attempt: &Attempt) -> Result<ImportedItem> {
    let workspace = write.workspace;
    let attempt = attempt.prepared(&workspace.settings.allowed_secrets);
    let (run, number) = (&attempt.run_id, attempt.head.iteration);
    let item = |action| ImportedItem::new(action, from, &attempt.task_title);
    if let Err(error @ Error::Invalid { .. }) = check_run_name(run).and_then(|()| check_number(number)) {
        return Ok(item(ImportAction::Refused).because(error.to_string()));
    }
    let path = journal_path(run, number);
    let id = Id::of_path(&path);
    let archived = format!("archive/{path}");
    let known = attempt_at(workspace, &path).or_else(|| attempt_at(workspace, &archived));
    let is_same = |known: &Attempt| (&known.task_id, known.started_at) == (&attempt.task_id, attempt.started_at);
    let taken = |what: &str| format!("the journal has {what} of this number");
    match known {
        Some(known) if is_same(&known) => return Ok(item(ImportAction::Unchanged).with_id(id)),
        Some(_) => return Ok(item(ImportAction::Conflict).with_id(id).because(taken("another attempt"))),
        None => {}
    }
    let Some(lock) = write.lock else { return Ok(item(ImportAction::Added)) };
    match workspace.store.create(lock, &path, attempt.to_file().as_bytes())? {
        Created::Made => {
            write.written.push(path);
            Ok(item(ImportAction::Added).with_id(id))
        }
        Created::Exists => Ok(item(ImportAction::Conflict).with_id(id).because(taken("an unreadable file"))),
    }
}
