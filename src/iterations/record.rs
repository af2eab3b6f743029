//! Writes an ended attempt down: the knowledge and events in its agent's output, then one entry of the journal.
//!
//! One fact that cannot be taken over never stops the rest: it is among what was refused, and the next context says so.
//! The journal's entry comes last, so a call that failed can be made again, and finds the knowledge as it is.

use super::begun::{close, scratch};
use super::contributions::{event_of, knowledge_of};
use super::ended::{EndedAttempt, Recorded};
use super::iteration::Iteration;
use super::refusal::{is_of_agent, is_of_one, notes_with, reason_of};
use crate::entry::knowledge::Knowledge;
use crate::entry::path::{MEMORY_FOLDER, display_path};
use crate::entry::{Attempt, AttemptHead, Id, Outcome};
use crate::error::{Error, Problem, Result, Severity};
use crate::history::{
    CompletedReport, Report, Validated, completed_report, error_category, outcome, sections, transcript_problems,
};
use crate::journal::{recorded_before, write_attempt};
use crate::knowledge::{self, AddAction, Added};
use crate::semantic::SemanticMemory;
use crate::settings::CommitPolicy;
use crate::sigil::{self, Refused, SUGGESTIONS_HEADING, Said};
use crate::store::Lock;
use crate::strategy::Models;
use crate::text::shorten;
use crate::transcript::Format;
use crate::workspace::{Work, Workspace};

/// How much of a task's title stands in the message of a commit, in characters.
const COMMIT_TITLE: usize = 200;

/// What an agent's output became.
#[derive(Default)]
struct Contributions {
    /// The knowledge that was written down, in the order in which the agent wrote it.
    added: Vec<Added>,
    /// Knowledge that no entry could take, and why.
    left_over: Vec<(Knowledge, String)>,
    /// What could not be taken over: the line, and why.
    refused: Vec<(u32, String)>,
    problems: Vec<Problem>,
}

/// Writes an attempt down of which nothing more is to be found out.
pub(super) fn record(workspace: &Workspace, semantic: &SemanticMemory, ended: &EndedAttempt<'_>) -> Result<Recorded> {
    let EndedAttempt { iteration, transcript, .. } = *ended;
    let CompletedReport { report, ended: by_client } = &completed_report(ended.report, transcript, &iteration.model);
    // Without the format, nobody knows which text is the agent's own and which a file that it printed.
    let own = if transcript.format == Format::Unknown { "" } else { &transcript.text };
    let mut output = sigil::read(own, &iteration.task_id());
    let outcome = outcome(&output, report, *by_client);
    let mut contributions = Contributions { refused: refused(workspace, &mut output), ..Contributions::default() };
    let mut problems = transcript_problems(transcript, report, outcome);
    contributions.take_over(workspace, ended, &output)?;
    problems.append(&mut contributions.problems);
    problems.extend(ended.unknown_changes.clone());
    output.notes = notes_with(output.notes.take(), &contributions.left_over);
    contributions.refused.sort_by_key(|(line, _)| *line);
    let refused = contributions.refused.into_iter().map(|(_, refused)| refused).collect();
    let head = AttemptHead { refused, ..attempt_head(ended, report, &output, outcome) };
    let allowed = &workspace.settings.allowed_secrets;
    let sections = sections(output, report, &transcript.text, outcome, allowed);
    // Others need not wait while it is made fit to be written.
    let attempt = iteration.attempt_with(head, sections).prepared(allowed);
    let (path, attempt) = write(workspace, ended, attempt, &mut problems)?;
    // What follows may wait for a server, and nobody should have to wait for that: the lock is free.
    let new = contributions.added.iter().filter(|added| added.action != AddAction::Unchanged);
    let written: Vec<String> = new.map(|added| added.path.as_relative().to_owned()).chain([path.clone()]).collect();
    problems.extend(semantic.embed_written(workspace, &written));
    let id = Id::of_path(&path).ok_or_else(|| Error::OutsideRoot { path: path.clone().into() })?;
    // Those of the file, where secrets are redacted.
    let refused = attempt.head.refused.clone();
    let knowledge = contributions.added;
    Ok(Recorded { id, path: display_path(&path), outcome, knowledge, refused, attempt, problems })
}

/// Returns what the output says in a way that cannot be taken over, a model that the settings do not name included, which
/// is removed from it. The model's name is replaced by that of the settings.
fn refused(workspace: &Workspace, output: &mut Said) -> Vec<(u32, String)> {
    // Where nobody asked for suggestions, bad ones are not reported.
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
    /// Writes down the knowledge and the events in an output.
    fn take_over(&mut self, workspace: &Workspace, ended: &EndedAttempt<'_>, output: &Said) -> Result<()> {
        for noted in &output.knowledge {
            let place = format!("line {}: <{}>", noted.line, noted.name);
            self.add(workspace, ended, (noted.line, place), Ok(knowledge_of(noted, ended.iteration)))?;
        }
        for suggestion in output.suggestions.iter().filter(|_| workspace.settings.events_from_output) {
            let event = event_of(suggestion, ended.iteration).and_then(|event| event.to_knowledge());
            let place = format!("line {}: {SUGGESTIONS_HEADING} entry {}", suggestion.line, suggestion.number);
            self.add(workspace, ended, (suggestion.line, place), event)?;
        }
        Ok(())
    }

    /// Writes down one fact of an output. An error that concerns it alone is noted, any other is returned.
    fn add(
        &mut self,
        workspace: &Workspace,
        ended: &EndedAttempt<'_>,
        (line, place): (u32, String),
        fact: Result<Knowledge>,
    ) -> Result<()> {
        // The journal is committed, and nobody else has this folder.
        let folder = format!("{}/", workspace.root().display());
        let reason = |error: &Error| reason_of(error).replace(&folder, "");
        let added = fact.and_then(|fact| ended.without_secret(fact)).and_then(|fact| {
            knowledge::add(workspace, &fact).inspect_err(|error| {
                let is_of_file = is_of_one(error) && !is_of_agent(error);
                self.left_over.extend(is_of_file.then(|| (fact, reason(error))));
            })
        });
        match added {
            Ok(mut added) => {
                self.problems.append(&mut added.problems);
                self.added.push(added);
            }
            Err(error) if is_of_one(&error) => self.refused.push((line, format!("{place}: {}", reason(&error)))),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Returns the frontmatter of an attempt's entry.
fn attempt_head(ended: &EndedAttempt<'_>, report: &Report, output: &Said, outcome: Outcome) -> AttemptHead {
    let iteration = ended.iteration;
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    // Why the model was taken says nothing of another model than the one that was chosen.
    let is_chosen = report.model.as_ref().is_none_or(|model| *model == iteration.model);
    let seconds = u32::try_from((ended.at - iteration.started_at).num_seconds()).ok().map(f64::from);
    AttemptHead {
        section: iteration.task.section.clone(),
        error_category: error_category(output, outcome),
        model: report.model.clone().or_else(|| some(&iteration.model)),
        model_rationale: some(&iteration.rationale).filter(|_| is_chosen),
        tree: ended.changes.tree.clone(),
        difficulty: output.difficulty,
        next_model: output.next_model.clone(),
        duration_secs: report.duration_secs.or(seconds),
        cost_usd: report.cost_usd,
        tokens_in: report.tokens_in,
        tokens_out: report.tokens_out,
        files: ended.files(report, output),
        validation: report.validation.as_ref().map(Validated::to_validation),
        context: iteration.entries.clone(),
        ..AttemptHead::new(iteration.number, outcome)
    }
}

/// Writes an attempt to the journal, and closes its iteration. Returns its path and what the file says.
fn write(
    workspace: &Workspace,
    ended: &EndedAttempt<'_>,
    attempt: Attempt,
    problems: &mut Vec<Problem>,
) -> Result<(String, Attempt)> {
    let lock = workspace.lock_entries()?;
    let pending = workspace.begin_write();
    let (path, attempt) = match ended.was_kept.then(|| recorded_before(workspace, &attempt)).flatten() {
        Some(known) => known,
        None => write_attempt(workspace, &lock, attempt)?,
    };
    problems.extend(lock.settled(&[workspace.store.memory().join(&path)]));
    // The journal has it: the call is done, and a second one would write it once more.
    let closed = close(workspace, &lock, ended.iteration);
    problems.extend(closed.err().map(|error| still_open(ended.iteration, &error)));
    workspace.commit_written(pending, &path);
    problems.extend(commit_to_git(workspace, &lock, &attempt));
    Ok((path, attempt))
}

/// Commits the files of the memory, where the settings ask for it. Returns why that was not possible:
/// they are written all the same.
fn commit_to_git(workspace: &Workspace, _lock: &Lock, attempt: &Attempt) -> Option<Problem> {
    if workspace.settings.git_commit != CommitPolicy::EachIteration {
        return None;
    }
    let head = &attempt.head;
    let title = shorten(&attempt.task_title, COMMIT_TITLE);
    let message = format!("Iteration {} of {}: {}\n\n{title}\n", head.iteration, attempt.run_id, head.outcome.as_str());
    let work_tree = workspace.work_tree()?;
    let _asking = workspace.doing(Work::AskingGit, None);
    let scratch = scratch(workspace);
    let scratch = scratch.map_err(|source| Error::Io { action: "create", path: workspace.store.state(), source });
    let error = scratch.and_then(|scratch| work_tree.commit(&scratch, &message, &["cache", "state"])).err()?;
    Some(Problem {
        path: MEMORY_FOLDER.to_owned(),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: "not-committed".to_owned(),
        message: format!("the memory is not committed: {error}").into(),
        hint: "it is committed with the next iteration, or commit it yourself".into(),
    })
}

/// Says that an iteration which is in the journal is listed as begun still.
fn still_open(iteration: &Iteration, error: &Error) -> Problem {
    let reason = reason_of(error);
    Problem {
        path: display_path(&iteration.state_path()),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: "still-open".to_owned(),
        message: format!("the iteration is in the journal, and is listed as begun still: {reason}").into(),
        hint: "delete the file".into(),
    }
}
