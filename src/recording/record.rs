//! Records an ended attempt: the knowledge and events in its agent's output, then one entry of the journal.
//!
//! One refused fact never stops the rest: the refusal is recorded, and the next context lists it. The journal's entry
//! comes last, so a failed call can be repeated, and finds the knowledge unchanged.

use std::time::Duration;

use super::begun::close;
use super::contributions::{event_of, knowledge_of};
use super::ended::{EndedAttempt, Recorded};
use super::meant::{TaskName, ending};
use super::notes::{note_told, telling, told_before};
use super::open_attempt::OpenAttempt;
use super::refusal::{is_of_agent, is_of_one, notes_with, reason_of};
use crate::agent_output::elements::{self, ParsedSigils, Refused, SUGGESTIONS_HEADING};
use crate::agent_output::transcript::Format;
use crate::entry::knowledge::Knowledge;
use crate::entry::path::{COPIES, display_path};
use crate::entry::{Attempt, AttemptHead, Id, Outcome};
use crate::error::{Error, Problem, Result};
use crate::journal::history::{
    RedactedReport, Report, completed_report, error_category, outcome, sections, transcript_problems,
};
use crate::journal::strategy::Models;
use crate::journal::{complete_attempt, copy_run, recorded_before, task_by_name, write_attempt};
use crate::knowledge::{self, WriteAction, Written};
use crate::search::semantic::SemanticMemory;
use crate::workspace::Workspace;

/// How long each answer of git about renames may take.
const RENAMES_TIMEOUT: Duration = Duration::from_secs(1);

/// What happened to the knowledge and the events in an agent's output.
#[derive(Default)]
pub(crate) struct Contributions {
    /// The recorded knowledge, in the order in which the agent wrote it.
    pub(crate) added: Vec<Written>,
    /// Knowledge that could not be stored in an entry, and why.
    left_over: Vec<(Knowledge, String)>,
    /// The refusals, in the order of their lines.
    pub(crate) refused: Vec<String>,
    pub(crate) problems: Vec<Problem>,
}

/// Records an attempt that is complete.
pub(crate) fn record(workspace: &Workspace, semantic: &SemanticMemory, ended: &EndedAttempt) -> Result<Recorded> {
    let EndedAttempt { iteration, said: RedactedReport { report, transcript, .. }, .. } = ended;
    let (report, ended_by_client) = &completed_report(report, transcript, &iteration.model);
    // In an unknown format, the agent's own text cannot be distinguished from a printed file.
    let own = if transcript.format == Format::Unknown { "" } else { &transcript.text };
    let mut output = elements::read(own, report.validation.is_some());
    let own_task = TaskName::of(&iteration.task);
    let (told, remarks) = ending(&output.ends, own_task.as_ref(), &|name| known_name(workspace, name));
    output.refused.extend(remarks);
    let is_claimed = told.is_some() || report.outcome.is_some() || output.failure.is_some();
    // Whoever says why they failed says that they failed.
    let told = told.or(output.failure.as_ref().map(|_| Outcome::Failed));
    let outcome = outcome(told, report, *ended_by_client);
    let mut problems = transcript_problems(transcript, report, outcome);
    let contributions = Contributions::of(workspace, ended, &mut output)?;
    problems.extend(contributions.problems);
    problems.extend(ended.unknown_changes.clone());
    let notes =
        Some(report.sections.notes.clone()).filter(|notes| !notes.trim().is_empty()).or_else(|| output.notes.take());
    output.notes = notes_with(notes, &contributions.left_over);
    let refused = contributions.refused.into_iter().chain(ended.refused.iter().cloned()).collect();
    let category = error_category(&output, outcome, *ended_by_client);
    let head = AttemptHead { refused, error_category: category, ..attempt_head(ended, report, &output, outcome) };
    let allowed = &workspace.settings.allowed_secrets;
    let sections = sections(output, report, transcript, outcome);
    // The lock is taken after the attempt is prepared.
    let attempt = iteration.attempt_with(head, sections).prepared(allowed);
    let (path, attempt, is_new) = write(workspace, ended, (attempt, is_claimed), &mut problems)?;
    // The next steps may wait for a server, so the lock is free.
    let new = contributions.added.iter().filter(|added| added.action != WriteAction::Unchanged);
    let written: Vec<String> = new.map(|added| added.path.as_relative().to_owned()).chain([path.clone()]).collect();
    problems.extend(semantic.embed_written(workspace, &written));
    let id = Id::of_path(&path).ok_or_else(|| Error::OutsideRoot { path: path.clone().into() })?;
    // The files on disk, whose secrets are redacted.
    let refused = attempt.head.refused.clone();
    let knowledge = contributions.added;
    let number = if is_new { iteration.attempt } else { iteration.attempt.saturating_sub(1).max(1) };
    let outcome = attempt.head.outcome;
    Ok(Recorded { id, path: display_path(&path), number, outcome, knowledge, refused, attempt, problems })
}

/// Returns the task of the journal with this id or title.
pub(crate) fn known_name(workspace: &Workspace, name: &str) -> Option<TaskName> {
    task_by_name(workspace, name).map(|(id, title)| TaskName { id, title })
}

/// Returns the refused sigils of the output, including a model that the settings do not name, which is removed. The
/// model's name is replaced by that of the settings.
fn refused(workspace: &Workspace, output: &mut ParsedSigils) -> Vec<(u32, String)> {
    // If suggestions were not requested, invalid ones are not reported.
    let is_reported = |refused: &&Refused| workspace.settings.events_from_output || refused.name != SUGGESTIONS_HEADING;
    let mut refused: Vec<(u32, String)> =
        output.refused.iter().filter(is_reported).map(|refused| (refused.line, refused.to_string())).collect();
    if let Some(name) = output.next_model.take() {
        let models = &workspace.settings.models;
        output.next_model = Models::new(models).and_then(|models| models.named(&name)).map(str::to_owned);
        if output.next_model.is_none() {
            refused.push((u32::MAX, format!("<next-model> names `{name}`, which is not one of {}", models.join(", "))));
        }
    }
    refused
}

impl Contributions {
    /// Records the knowledge and the events in an output.
    pub(crate) fn of(workspace: &Workspace, ended: &EndedAttempt, output: &mut ParsedSigils) -> Result<Contributions> {
        let (mut all, mut refused) = (Contributions::default(), refused(workspace, output));
        let knowledge = output.knowledge.iter().map(|noted| {
            (noted.line, format!("line {}: <{}>", noted.line, noted.name), Ok(knowledge_of(noted, &ended.iteration)))
        });
        let events = output.suggestions.iter().filter(|_| workspace.settings.events_from_output).map(|suggestion| {
            let place = format!("line {}: {SUGGESTIONS_HEADING} entry {}", suggestion.line, suggestion.number);
            (suggestion.line, place, event_of(suggestion, &ended.iteration))
        });
        for (line, place, fact) in knowledge.chain(events) {
            let reason = all.add(workspace, ended, fact)?;
            refused.extend(reason.map(|reason| (line, format!("{place}: {reason}"))));
        }
        refused.sort_by_key(|(line, _)| *line);
        all.refused = refused.into_iter().map(|(_, refused)| refused).collect();
        Ok(all)
    }

    /// Records one fact of an output. Returns why it was refused; an error that concerns more than this fact is returned as
    /// such.
    fn add(&mut self, workspace: &Workspace, ended: &EndedAttempt, fact: Result<Knowledge>) -> Result<Option<String>> {
        // The journal is committed, and other people do not have this folder.
        let folder = format!("{}/", workspace.root().display());
        let reason = |error: &Error| reason_of(error).replace(&folder, "");
        let added = fact.and_then(|fact| ended.without_secret(&fact).map(|()| fact)).and_then(|fact| {
            knowledge::add(workspace, &fact).inspect_err(|error| {
                let is_of_file = is_of_one(error) && !is_of_agent(error);
                self.left_over.extend(is_of_file.then(|| (fact, reason(error))));
            })
        });
        match added {
            Ok(mut added) => {
                self.problems.append(&mut added.problems);
                self.added.push(added);
                Ok(None)
            }
            Err(error) if is_of_one(&error) => Ok(Some(reason(&error))),
            Err(error) => Err(error),
        }
    }
}

/// Returns the frontmatter of an attempt's entry.
fn attempt_head(ended: &EndedAttempt, report: &Report, output: &ParsedSigils, outcome: Outcome) -> AttemptHead {
    let (iteration, said) = (&ended.iteration, &ended.said);
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    // The reason applies only to the chosen model.
    let is_chosen = report.model.as_ref().is_none_or(|model| *model == iteration.model);
    // The caller that asked for a context may have used another model than the recommended one.
    let knows_model = !iteration.is_unmeasured || said.report.model.is_some() || said.transcript.model.is_some();
    let seconds = u32::try_from((ended.at - iteration.started_at).num_seconds()).ok().map(f64::from);
    let seconds = seconds.filter(|_| !iteration.is_unmeasured);
    AttemptHead {
        section: iteration.task.section.clone(),
        model: report.model.clone().or_else(|| some(&iteration.model).filter(|_| knows_model)),
        model_rationale: some(&iteration.rationale).filter(|_| is_chosen && knows_model),
        tree: ended.changes.tree.clone(),
        commit: ended.changes.commit.clone(),
        difficulty: output.difficulty,
        next_model: output.next_model.clone(),
        duration_secs: report.duration_secs.or(seconds),
        cost_usd: report.cost_usd,
        tokens_in: report.tokens_in,
        tokens_out: report.tokens_out,
        files: ended.files(output),
        validation: report.validation.clone(),
        context: iteration.entries.clone(),
        ..AttemptHead::new(iteration.number, outcome)
    }
}

/// Writes an attempt to the journal, and closes its iteration. Returns its path, the content of the file, and whether
/// the attempt was unknown before. An attempt that is not `is_claimed` has its outcome from nobody who worked on it.
fn write(
    workspace: &Workspace,
    ended: &EndedAttempt,
    (attempt, is_claimed): (Attempt, bool),
    problems: &mut Vec<Problem>,
) -> Result<(String, Attempt, bool)> {
    let lock = workspace.lock_entries()?;
    let pending = workspace.begin_write();
    let known = ended.was_kept.then(|| recorded_before(workspace, &attempt)).flatten();
    let told = ended.told.and_then(|way| told_before(workspace, &attempt, way, ended.was_kept, is_claimed));
    let telling = telling(&attempt);
    let is_new = known.is_none() && told.is_none();
    let (path, attempt) = match (known, told) {
        (Some((copy, known)), _) if copy.starts_with(COPIES) => {
            // The call that wrote it was killed before it wrote the file.
            let path = copy.replacen(COPIES, "journal", 1);
            workspace.store.restore(&lock, &path, &workspace.read_bytes(&copy)?, None)?;
            (path, known)
        }
        (Some(known), _) => known,
        (None, Some(path)) => (path.clone(), complete_attempt(workspace, &lock, &path, (attempt, is_claimed))?),
        (None, None) => write_attempt(workspace, &lock, attempt)?,
    };
    if let Some((channel, names_run)) = ended.told {
        let run = names_run.then_some(ended.iteration.run_id.as_str());
        note_told(workspace, &path, &ended.iteration.task, run, (channel, telling));
    }
    problems.extend(lock.settled(&[workspace.store.memory().join(&path)]));
    problems.extend(workspace.warn_of_ignored(&[&path]));
    // The journal has it, so the call has succeeded; a repetition would write it again.
    let closed = close(workspace, &lock, &ended.iteration);
    problems.extend(closed.err().map(|error| still_open(&ended.iteration, &error)));
    workspace.commit_written(pending, &path);
    workspace.renew_hints(&lock);
    copy_run(workspace, &lock, &attempt.run_id);
    // A hook leaves that to the next session.
    if !workspace.is_hurried {
        workspace.follow_renames(RENAMES_TIMEOUT);
    }
    Ok((path, attempt, is_new))
}

/// Reports that an iteration in the journal is still listed as open.
fn still_open(iteration: &OpenAttempt, error: &Error) -> Problem {
    let reason = reason_of(error);
    Problem::warning(
        display_path(&iteration.state_path()),
        "still-open",
        format!("the attempt is in the journal, and is still listed as open: {reason}"),
        "delete the file",
    )
}
