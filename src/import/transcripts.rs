//! Past sessions of agents: what was tried, and how it ended. One attempt for each session in which
//! files changed or the agent reported something.

use chrono::TimeDelta;

use super::report::{ImportAction, ImportReport, ImportedItem};
use super::request::ImportRequest;
use super::sessions::{self, ClientSession, SessionFile};
use crate::agent_output::elements;
use crate::agent_output::transcript::Transcript;
use crate::context::Task;
use crate::entry::{Id, Outcome};
use crate::error::Result;
use crate::journal::history::{AttemptSummary, Report};
use crate::journal::{both_areas, has_attempts, summaries};
use crate::knowledge::{WriteAction, Written};
use crate::open::Memory;
use crate::recording::{self, OpenAttempt};
use crate::text::title_of;
use crate::workspace::Workspace;

/// How long after its last event a session counts as still going on.
const STILL: TimeDelta = TimeDelta::minutes(10);
/// How far the times of a session and of the attempt that was recorded of it may be from each other.
const APART: TimeDelta = TimeDelta::minutes(2);

/// A session with what its transcript says.
struct PastSession {
    session: ClientSession,
    transcript: Transcript,
    /// The task that it reports as done or failed.
    named: Option<String>,
}

/// Returns the attempts that belong to no session that is known by its id, oldest first.
fn recorded(workspace: &Workspace) -> Vec<AttemptSummary> {
    let catalogs = both_areas(workspace);
    let mut attempts = summaries(workspace.now(), &catalogs.each_ref(), |catalog| catalog.journal_rows().collect());
    attempts.retain(|attempt| !recording::is_client_run(&attempt.run_id));
    attempts
}

/// Records the past sessions of the project in these files, the oldest first.
pub(super) fn import(
    memory: &Memory,
    request: &ImportRequest,
    files: Vec<SessionFile>,
    report: &mut ImportReport,
) -> Result<()> {
    let workspace = &memory.workspace;
    let mut sessions = sessions::of_project(workspace, files, report);
    if sessions.is_empty() {
        return Ok(());
    }
    sessions.retain(|session| request.since.is_none_or(|since| session.ended >= since));
    sessions.sort_by(|one, other| (one.started, &one.id).cmp(&(other.started, &other.id)));
    let known = recorded(workspace);
    for session in sessions {
        if !report.read.contains(&session.from.path) {
            report.read.push(session.from.path.clone());
        }
        let title = session.prompt.as_deref().map(title_of).unwrap_or_default();
        let item = ImportedItem::new(ImportAction::Added, session.from.clone(), &title);
        match look(workspace, request, &known, session, &item)? {
            Ok(past) => {
                let item = ImportedItem { title: past.title().into(), ..item };
                if request.dry_run {
                    report.items.push(item);
                } else {
                    record(memory, &past, &item, report)?;
                }
            }
            Err(left_out) => report.items.push(left_out),
        }
    }
    Ok(())
}

/// Records one session.
fn record(memory: &Memory, past: &PastSession, item: &ImportedItem, report: &mut ImportReport) -> Result<()> {
    let recorded = recording::record_past(memory, &past.iteration(), &past.report())?;
    report.items.push(item.clone().with_id(Some(recorded.id)));
    report.items.extend(recorded.knowledge.iter().map(|added| of_knowledge(added, item)));
    let refused = |reason: String| ImportedItem { action: ImportAction::Refused, ..item.clone() }.because(reason);
    report.items.extend(recorded.refused.into_iter().map(refused));
    report.problems.extend(recorded.problems);
    Ok(())
}

fn of_knowledge(added: &Written, session: &ImportedItem) -> ImportedItem {
    let action = match added.action {
        WriteAction::Created => ImportAction::Added,
        WriteAction::Updated => ImportAction::Updated,
        WriteAction::Unchanged | WriteAction::Restored => ImportAction::Unchanged,
    };
    ImportedItem::new(action, session.from.clone(), &added.title).with_id(Some(added.id.clone()))
}

/// Reads a session, or returns what becomes of its `item` where it is not recorded.
fn look(
    workspace: &Workspace,
    request: &ImportRequest,
    known: &[AttemptSummary],
    mut session: ClientSession,
    item: &ImportedItem,
) -> Result<std::result::Result<PastSession, ImportedItem>> {
    let left_out = |action| ImportedItem { action, ..item.clone() };
    let skipped = |reason: &str| Ok(Err(left_out(ImportAction::Skipped).because(reason)));
    let run_id = session.run_id();
    if has_attempts(workspace, &run_id)? {
        let id = Id::of_path(&format!("journal/{run_id}/0001.md"));
        return Ok(Err(left_out(ImportAction::Unchanged).with_id(id)));
    }
    if request.ongoing.as_ref() == Some(&session.id) || workspace.now() - session.ended < STILL {
        return skipped("it may still be going on; import it when it has ended");
    }
    let transcript = match session.read(recording::reader(workspace, session.format)) {
        Ok(transcript) => transcript,
        Err(reason) => return skipped(&format!("it cannot be read: {reason}")),
    };
    let changed = !transcript.files.created.is_empty() || !transcript.files.modified.is_empty();
    if !changed && elements::tokens(&transcript.text, false).sigils.is_empty() {
        return skipped("no file was changed in it, and its agent reported nothing");
    }
    let named = recording::task_named(&transcript.text);
    let past = PastSession { session, transcript, named };
    if past.is_among(known) {
        return skipped("the journal has an attempt of that time or that output already");
    }
    Ok(Ok(past))
}

impl PastSession {
    /// Returns whether one of these attempts is of the session: one that spent the same tokens; one at the task that it
    /// names; or, if it names none, any that began during it, or ended with it.
    fn is_among(&self, attempts: &[AttemptSummary]) -> bool {
        let ClientSession { started, ended, .. } = self.session;
        let spent = self.transcript.tokens_in.zip(self.transcript.tokens_out);
        // Whoever recorded its output may have done so long afterwards.
        let is_same =
            |attempt: &AttemptSummary| spent.is_some() && attempt.head.tokens_in.zip(attempt.head.tokens_out) == spent;
        attempts.iter().any(|attempt| {
            is_same(attempt)
                || match &self.named {
                    Some(id) => {
                        attempt.task_id.as_ref() == Some(id)
                            && (attempt.started_at - APART..=attempt.ended_at() + APART).contains(&started)
                    }
                    None => {
                        (started..=ended + APART).contains(&attempt.started_at)
                            || (ended - APART..=ended + APART).contains(&attempt.ended_at())
                    }
                }
        })
    }

    /// Returns what a person asked for; if that is unknown, what the agent said last.
    fn title(&self) -> String {
        let asked = self.session.prompt.as_deref().unwrap_or(&self.transcript.summary);
        let title = Some(title_of(asked)).filter(|title| !title.trim().is_empty());
        title.unwrap_or_else(|| format!("Session of {}", self.session.started.format("%Y-%m-%d")))
    }

    fn iteration(&self) -> OpenAttempt {
        let task = Task { id: self.named.clone(), ..Task::new(self.title()) };
        OpenAttempt {
            is_unmeasured: self.lasted().is_none(),
            ..OpenAttempt::new(self.session.run_id(), 1, task, self.session.started)
        }
    }

    /// Returns how many seconds it took, if its times say that.
    fn lasted(&self) -> Option<f64> {
        let ClientSession { started, ended, .. } = self.session;
        u32::try_from((ended - started).num_seconds()).ok().filter(|_| started < ended).map(f64::from)
    }

    fn report(&self) -> Report {
        // An agent that reports neither success nor failure has done something, and nothing says whether it did
        // everything.
        let outcome = match &self.transcript {
            _ if self.named.is_some() => None,
            transcript if transcript.is_interrupted => Some(Outcome::Interrupted),
            transcript if transcript.is_blocked => Some(Outcome::Blocked),
            transcript if transcript.is_failed => Some(Outcome::Error),
            _ => Some(Outcome::Partial),
        };
        Report { outcome, transcript: Some(self.transcript.clone()), duration_secs: self.lasted(), ..Report::default() }
    }
}
