//! The end of an attempt: the agent's output becomes knowledge and one journal entry.
//!
//! An attempt is saved outside of the project before anything else is touched, so neither an error nor a bug loses it.

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use super::ended::{EndedAttempt, Recorded};
use super::kept_attempt::{keep_ahead, not_recorded, settle};
use super::open_attempt::OpenAttempt;
use super::record::record;
use super::state_folders::StateFolders;
use super::work_tree::changes_since;
use crate::agent_output::elements::ParsedSigils;
use crate::agent_output::transcript::{Format, Options, Reader};
use crate::error::{Error, Result};
use crate::journal::history::{RedactedReport, Report};
use crate::journal::{check_name, check_number, check_run_name};
use crate::search::semantic::SemanticMemory;
use crate::workspace::Workspace;

/// Returns a reader for an agent's output.
pub(crate) fn reader(workspace: &Workspace, format: Format) -> Reader {
    // The path as the agent sees it, which may go through links.
    let root = std::fs::canonicalize(workspace.root()).unwrap_or_else(|_| workspace.root().to_owned());
    Reader::new(Options {
        format,
        root: root.to_string_lossy().into_owned(),
        allowed_secrets: workspace.settings.allowed_secrets.clone(),
    })
}

/// Returns a report without secrets, with the agent's output.
pub(crate) fn redacted(workspace: &Workspace, report: &Report) -> Result<RedactedReport> {
    let read = || {
        let mut reader = reader(workspace, Format::Auto);
        reader.push(report.text.as_bytes());
        Cow::Owned(reader.finish())
    };
    let transcript = report.transcript.as_ref().map_or_else(read, Cow::Borrowed);
    report.redacted(&transcript, &workspace.settings.allowed_secrets)
}

fn ended(workspace: &Workspace, iteration: &OpenAttempt, report: &Report) -> Result<EndedAttempt> {
    Ok(EndedAttempt::new(iteration.clone(), redacted(workspace, report)?, workspace.now()))
}

/// Ends an iteration: records the knowledge in the agent's text, and one entry of the journal.
pub(crate) fn finish(
    workspace: &Workspace,
    semantic: &SemanticMemory,
    folders: &StateFolders,
    iteration: &OpenAttempt,
    report: &Report,
) -> Result<Recorded> {
    check_run_name(&iteration.run_id)?;
    check_name("task id", &iteration.task_id())?;
    check_number(iteration.number)?;
    record_safely(workspace, semantic, folders, ended(workspace, iteration, report)?)
}

/// Records an attempt that has just ended. It is saved first.
pub(crate) fn record_safely(
    workspace: &Workspace,
    semantic: &SemanticMemory,
    folders: &StateFolders,
    mut ended: EndedAttempt,
) -> Result<Recorded> {
    let kept = keep_ahead(workspace, folders, &ended);
    // A bug must not lose an attempt, nor hide from the user where it is saved.
    let recorded = catch_unwind(AssertUnwindSafe(|| {
        see_changes(workspace, &mut ended);
        record(workspace, semantic, &ended)
    }));
    match recorded.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))) {
        Ok(mut recorded) => {
            recorded.problems.extend(kept.and_then(|kept| settle(&recorded.attempt, &kept)));
            Ok(recorded)
        }
        Err(error) => Err(not_recorded(workspace, folders, &ended, kept, error)),
    }
}

/// Records an attempt that ended some time ago, without a look at the work tree, which has changed since.
pub(crate) fn record_past(
    workspace: &Workspace,
    semantic: &SemanticMemory,
    iteration: &OpenAttempt,
    report: &Report,
) -> Result<Recorded> {
    record(workspace, semantic, &ended(workspace, iteration, report)?)
}

fn see_changes(workspace: &Workspace, ended: &mut EndedAttempt) {
    (ended.changes, ended.unknown_changes) = changes_since(workspace, ended.iteration.tree.as_deref());
}

/// Returns the files that an iteration created or changed so far, according to git and the agent's tools.
pub(crate) fn changed_files(workspace: &Workspace, iteration: &OpenAttempt, report: &Report) -> Vec<String> {
    let Ok(mut ended) = ended(workspace, iteration, report) else { return Vec::new() };
    see_changes(workspace, &mut ended);
    let files = ended.files(&ParsedSigils::default());
    files.created.into_iter().chain(files.modified).collect()
}

/// Saves an attempt whose agent has ended, and returns the file; `None` if no folder can be written.
pub(crate) fn keep(
    workspace: &Workspace,
    folders: &StateFolders,
    iteration: &OpenAttempt,
    report: &Report,
) -> Option<PathBuf> {
    keep_ahead(workspace, folders, &ended(workspace, iteration, report).ok()?)
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
    Error::Panicked { message: message.unwrap_or_else(|| "it does not say how".to_owned()) }
}
