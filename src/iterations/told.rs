//! Records attempts that nobody began: an agent's output after the fact, or what an agent says itself.
//!
//! Nothing has to be open. Only a run at work keeps its task to itself, since it records its own attempts.

use chrono::{DateTime, Utc};

use super::begun::begun;
use super::ended::{EndedAttempt, Recorded};
use super::finish::{record_safely, transcript};
use super::iteration::Iteration;
use super::kept_file::task_named;
use super::notes::{Channel, context_of, tasks_of_contexts};
use super::process_identity::ProcessIdentity;
use super::runs::{known_task, new_run, recent_run};
use super::state_folders::StateFolders;
use crate::context::Task;
use crate::error::{Argument, Error, Result};
use crate::history::Report;
use crate::journal::{check_name, check_run_name, next_number};
use crate::semantic::SemanticMemory;
use crate::workspace::Workspace;

/// Records an attempt at a task that nobody began, in this run or the active one.
pub(crate) fn record_attempt(
    workspace: &Workspace,
    semantic: &SemanticMemory,
    folders: &StateFolders,
    task: Option<&Task>,
    run: Option<&str>,
    report: &Report,
) -> Result<Recorded> {
    let transcript = transcript(workspace, report);
    let task = task.cloned().or_else(|| task_of(workspace, run, &transcript.text));
    let task = task.ok_or_else(|| Error::invalid(Argument::Iteration, "neither you nor the output name a task"))?;
    check_not_held(workspace, &task.own_id(), run)?;
    let iteration = told_iteration(workspace, &task, run, workspace.now())?;
    // Without an output, the report itself says what an agent says.
    let channel = if report.transcript.is_none() && report.text.is_empty() { Channel::Tool } else { Channel::Output };
    let ended = EndedAttempt {
        told: Some((channel, run.is_some())),
        ..EndedAttempt::new(&iteration, report, &transcript, workspace.now())
    };
    record_safely(workspace, semantic, folders, ended)
}

/// Returns the task that an output is about: the one that it names, else the only one for which the run asked for a context.
pub(super) fn task_of(workspace: &Workspace, run: Option<&str>, output: &str) -> Option<Task> {
    let named = task_named(output).map(|id| Task { id: Some(id), ..Task::default() });
    named.or_else(|| match &tasks_of_contexts(workspace, run)[..] {
        [task] => Some(task.clone()),
        _ => None,
    })
}

/// Returns the iteration of an attempt that nobody began, with what its task's last context showed.
pub(super) fn told_iteration(
    workspace: &Workspace,
    task: &Task,
    run: Option<&str>,
    at: DateTime<Utc>,
) -> Result<Iteration> {
    run.map_or(Ok(()), check_run_name)?;
    let id = task.own_id();
    check_name("task id", &id)?;
    let note = context_of(workspace, &id, run);
    let run = run.map(str::to_owned).or_else(|| note.as_ref()?.run.clone()).or_else(|| recent_run(workspace));
    let run = run.unwrap_or_else(|| new_run(workspace).id);
    let number = next_number(workspace, &run)?;
    let (known, n_attempts) = known_task(workspace, &id);
    let noted = note.as_ref().map(|note| note.task.clone()).unwrap_or_default();
    let title = [&task.title, &noted.title, &known.title].into_iter().find(|title| !title.trim().is_empty());
    let task = Task {
        title: title.cloned().unwrap_or_default(),
        id: Some(id),
        feature: task.feature.clone().or(noted.feature).or(known.feature),
        section: task.section.clone().or(noted.section).or(known.section),
        ..task.clone()
    };
    let iteration = Iteration {
        attempt: n_attempts + 1,
        is_unmeasured: true,
        ..Iteration::new(run, number, task.without_secrets(&workspace.settings.allowed_secrets), at)
    };
    Ok(match note {
        Some(note) => Iteration {
            model: note.model,
            rationale: note.rationale,
            entries: note.entries,
            tree: note.tree,
            ..iteration
        },
        None => iteration,
    })
}

/// Returns the iteration of another process's run that is at work on this task.
pub(super) fn held(workspace: &Workspace, task_id: &str) -> Result<Option<Iteration>> {
    Ok(begun(workspace)?.into_iter().find(|open| open.task_id() == task_id && is_held(open)))
}

/// Returns whether another process works on an iteration.
fn is_held(open: &Iteration) -> bool {
    let this = ProcessIdentity::this_process();
    let is_other = |process: &&ProcessIdentity| this.as_ref() != Some(process) && process.is_alive();
    [&open.holder, &open.agent].into_iter().flatten().any(|process| is_other(&process))
}

/// Refuses an attempt that a run at work is going to record itself: at its task, or told in the run's name.
fn check_not_held(workspace: &Workspace, task_id: &str, run: Option<&str>) -> Result<()> {
    let is_meant = |open: &Iteration| open.task_id() == task_id || run == Some(&open.run_id);
    match begun(workspace)?.into_iter().find(|open| is_meant(open) && is_held(open)) {
        None => Ok(()),
        Some(Iteration { run_id, number, .. }) => Err(Error::Held { run_id, number }),
    }
}
