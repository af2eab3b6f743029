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
use super::work_tree::changes_since;
use crate::agent_output::elements::ParsedSigils;
use crate::agent_output::transcript::{Format, Options, Reader};
use crate::error::{Error, Result};
use crate::journal::history::{RedactedReport, Report};
use crate::journal::{check_name, check_number, check_run_name};
use crate::open::Memory;
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

impl Memory {
    /// Returns a reader for an agent's output, which may be of any length. What it gives is for
    /// [`Report::transcript`].
    ///
    /// ```
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::agent_output::transcript::Format;
    /// use ralph_memory::{Memory, Task};
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// Memory::init(root)?;
    /// let memory = Memory::open(root)?;
    /// let attempt = memory.begin(&Task::new("Add the lock"), &memory.new_run())?;
    /// let output = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s","total_cost_usd":0.5}"#;
    /// let transcript = memory.reader(Format::Auto).read(output.as_bytes())?;
    /// let recorded = memory.finish(&attempt, &Report { transcript: Some(transcript), ..Report::default() })?;
    /// assert_eq!((recorded.outcome.as_str(), recorded.attempt.head.cost_usd), ("blocked", Some(0.5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reader(&self, format: Format) -> Reader {
        reader(&self.workspace, format)
    }

    /// Ends an attempt: records the knowledge in the agent's text, and writes one journal entry.
    ///
    /// An iteration that is finished for the second time, or was taken for interrupted meanwhile, gets
    /// an entry of its own, under the run's next number.
    ///
    /// With [`Memory::keeping_in`], an attempt that cannot be written is kept in a file outside of the project, from
    /// which [`Memory::record_kept`] writes it later.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the iteration's ids are none. [`Error::NotRecorded`], with the file, where the lock or
    /// the file system stands in the way, [`Error::NotKept`] where that cannot be written, either, and without
    /// folders for it [`Error::Locked`] and [`Error::Io`] themselves. Then there is no entry in the journal, and the
    /// call can be made again: knowledge that was written is found as it is. What concerns one fact alone, such as
    /// an entry that cannot be edited, is in [`Recorded::refused`], and that fact stands in the notes of the journal's
    /// entry.
    pub fn finish(&self, iteration: &OpenAttempt, report: &Report) -> Result<Recorded> {
        let _operation = self.operation("record");
        check_run_name(&iteration.run_id)?;
        check_name("task id", &iteration.task_id())?;
        check_number(iteration.number)?;
        record_safely(self, ended(&self.workspace, iteration, report)?)
    }

    /// Returns the files that an attempt has created or changed so far, according to git and the agent's tools.
    pub fn changed_files(&self, iteration: &OpenAttempt, report: &Report) -> Vec<String> {
        let Ok(mut ended) = ended(&self.workspace, iteration, report) else { return Vec::new() };
        see_changes(&self.workspace, &mut ended);
        let files = ended.files(&ParsedSigils::default());
        files.created.into_iter().chain(files.modified).collect()
    }

    /// Keeps an attempt whose agent has ended, for a caller who has more to do before [`Memory::finish`], such as a
    /// verification that takes minutes: whatever ends the process in the meantime, the answer is saved. `finish`
    /// removes the file. Without [folders](Memory::keeping_in), or where none can be written, nothing is kept.
    pub fn keep(&self, iteration: &OpenAttempt, report: &Report) -> Option<PathBuf> {
        keep_ahead(self, &ended(&self.workspace, iteration, report).ok()?)
    }
}

/// Records an attempt that has just ended. It is saved first.
pub(super) fn record_safely(memory: &Memory, mut ended: EndedAttempt) -> Result<Recorded> {
    let kept = keep_ahead(memory, &ended);
    // A bug must not lose an attempt, nor hide from the user where it is saved.
    let recorded = catch_unwind(AssertUnwindSafe(|| {
        see_changes(&memory.workspace, &mut ended);
        record(&memory.workspace, &memory.semantic, &ended)
    }));
    match recorded.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))) {
        Ok(mut recorded) => {
            recorded.problems.extend(kept.and_then(|kept| settle(&recorded.attempt, &kept)));
            Ok(recorded)
        }
        Err(error) => Err(not_recorded(memory, &ended, kept, error)),
    }
}

/// Records an attempt that ended some time ago, without a look at the work tree, which has changed since.
pub(crate) fn record_past(memory: &Memory, iteration: &OpenAttempt, report: &Report) -> Result<Recorded> {
    record(&memory.workspace, &memory.semantic, &ended(&memory.workspace, iteration, report)?)
}

fn see_changes(workspace: &Workspace, ended: &mut EndedAttempt) {
    (ended.changes, ended.unknown_changes) = changes_since(workspace, ended.iteration.tree.as_deref());
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
    Error::Panicked { message: message.unwrap_or_else(|| "it does not say how".to_owned()) }
}
