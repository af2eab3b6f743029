//! Records attempts after the fact: an agent's output, what an agent says itself, or a saved attempt.
//!
//! No attempt needs to be open. Only a run in progress keeps its task to itself, because it records its own attempts.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::begun::begun;
use super::ended::{EndedAttempt, Recorded};
use super::finish::{record_safely, redacted};
use super::kept_attempt::{KeptAttempt, settle};
use super::meant::{TaskName, of_session};
use super::notes::{Channel, context_of, tasks_of_contexts};
use super::open_attempt::OpenAttempt;
use super::process_identity::ProcessIdentity;
use super::record::{known_name, record};
use super::runs::{known_task, new_run, recent_run};
use super::spool::Spooled;
use crate::agent_output::elements;
use crate::context::Task;
use crate::entry::Outcome;
use crate::error::{Argument, Error, Result};
use crate::index::catalog::{Catalog, RowId};
use crate::journal::history::Report;
use crate::journal::{attempt, both_areas, check_name, check_run_name, next_number, summaries};
use crate::knowledge::permit_kept;
use crate::open::Memory;
use crate::workspace::Workspace;

impl Memory {
    /// Records an attempt that nobody began: the knowledge in the agent's text, and one entry of the journal, in this run,
    /// else in the one that was active in the last two hours, else in a new one. A task without a title keeps the one that
    /// the memory knows. Without a task, it is the last one that the text ends, else the only one for which the run asked for
    /// a context. If the same attempt was told by another way before, such as a hook, that entry is completed.
    ///
    /// ```
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::{Memory, Task};
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let task = Task::new("Fix the build");
    /// let text = format!("<task-failed>{}</task-failed>", task.own_id());
    /// let recorded = memory.record(Some(&task), None, &Report { text, ..Report::default() })?;
    /// assert_eq!(recorded.attempt.task_title, "Fix the build");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it is unknown which task it is, [`Error::Held`] if a
    /// run at work will record it, and those of [`Memory::finish`].
    pub fn record(&self, task: Option<&Task>, run: Option<&str>, report: &Report) -> Result<Recorded> {
        let _operation = self.operation("record");
        let workspace = &self.workspace;
        let said = redacted(workspace, report)?;
        let task = task.cloned().unwrap_or_default().or_named(|| task_of(workspace, run, &said.transcript.text));
        let task = task.ok_or_else(|| Error::invalid(Argument::Attempt, "neither you nor the output name a task"))?;
        check_not_held(workspace, &task.own_id(), run)?;
        let iteration = told_iteration(workspace, &task, run, workspace.now())?;
        // Without an output, the report itself says what an agent says.
        let channel =
            if report.transcript.is_none() && report.text.is_empty() { Channel::Tool } else { Channel::Output };
        let told = Some((channel, run.is_some()));
        let ended = EndedAttempt { told, ..EndedAttempt::new(iteration, said, workspace.now()) };
        record_safely(self, ended)
    }

    /// Writes an attempt to the journal that was [kept](KeptAttempt), as [`Memory::finish`] would have done in time, and
    /// removes the file. Where the journal has it already, only that.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where it belongs to a memory in another folder,
    /// [`Error::NotRecorded`] where it cannot be written now, either, and
    /// [`Error::Invalid`] where no task is named.
    pub fn record_kept(&self, kept: &KeptAttempt) -> Result<Recorded> {
        let _operation = self.operation("record");
        let workspace = &self.workspace;
        kept.check_root(workspace.root())?;
        let ended = match kept.content() {
            Spooled::Output { run, said, at, .. } => {
                let iteration = told_iteration(workspace, &kept.task()?, run.as_deref(), *at)?;
                EndedAttempt::new(iteration, (**said).clone(), *at)
            }
            Spooled::Attempt(ended) => (**ended).clone(),
            Spooled::Message(_) => return Err(Error::invalid("file", "it is a message, which hooks record")),
        };
        let said = &ended.said.report;
        if said.validation.is_some() || !said.sections.feedback.is_empty() {
            permit_kept(&workspace.store.author, kept.path())?;
        }
        let told = ended.iteration.is_unmeasured.then_some((Channel::Output, true));
        let ended = EndedAttempt { was_kept: true, told, ..ended };
        match record(workspace, &self.semantic, &ended) {
            Ok(mut recorded) => {
                // A file that a person put elsewhere stays.
                if self.state_folders.hold(kept.path()) {
                    recorded.problems.extend(settle(&recorded.attempt, kept.path()));
                }
                Ok(recorded)
            }
            Err(source) => Err(Error::NotRecorded {
                root: workspace.root().to_owned(),
                kept: kept.path().to_owned(),
                source: Box::new(source),
            }),
        }
    }
}

/// Returns the task that an output is about: another known one that it names, else the only open one, else the one that it
/// names.
fn task_of(workspace: &Workspace, run: Option<&str>, output: &str) -> Option<Task> {
    let known = |name: &str| known_name(workspace, name);
    let open = open_task(workspace, run);
    let named =
        elements::read(output, true).ends.pop().and_then(|end| of_session(&end.named, open.as_ref(), &known).ok());
    let is_known = |name: &TaskName| known(&name.id).is_some();
    let name = named.filter(|name| open.is_none() || is_known(name)).or(open)?;
    Some(name.task())
}

/// Returns the only task that a run or session asked a context for, or attempted, and that is not done. Without one, it
/// is the only one for which somebody asked without a run.
pub(crate) fn open_task(workspace: &Workspace, run: Option<&str>) -> Option<TaskName> {
    let asked = tasks_of_contexts(workspace);
    let of = |wanted: Option<&str>| -> BTreeMap<String, String> {
        let of_run = asked.iter().filter(|(run, _)| run.as_deref() == wanted);
        of_run.map(|(_, task)| (task.own_id(), task.title.clone())).collect()
    };
    let mut open = of(run);
    match run {
        None => open.extend(asked.iter().map(|(_, task)| (task.own_id(), task.title.clone()))),
        Some(run) => {
            let catalogs = both_areas(workspace);
            let catalogs = catalogs.each_ref();
            let attempts = |rows: &dyn Fn(&Catalog) -> Vec<RowId>| summaries(workspace.now(), &catalogs, rows);
            let attempted = attempts(&|catalog| catalog.rows_of_run(run)).into_iter().filter_map(|past| past.task_id);
            for id in attempted {
                let newest = attempts(&|catalog| catalog.rows_of_task(&id)).pop();
                if let Some(newest) = newest.filter(|newest| newest.head.outcome != Outcome::Done) {
                    let title = || attempt(workspace, &catalogs, &newest.id).map(|newest| newest.task_title);
                    open.entry(id).or_insert_with(|| title().unwrap_or_default());
                }
            }
        }
    }
    if open.is_empty() {
        open = of(None);
    }
    let mut open = open.into_iter();
    let (id, title) = open.next().filter(|_| open.next().is_none())?;
    Some(TaskName { id, title })
}

/// Returns the iteration of an attempt that nobody began, with what its task's last context showed.
pub(crate) fn told_iteration(
    workspace: &Workspace,
    task: &Task,
    run: Option<&str>,
    at: DateTime<Utc>,
) -> Result<OpenAttempt> {
    run.map_or(Ok(()), check_run_name)?;
    let id = task.own_id();
    check_name("task id", &id)?;
    let note = context_of(workspace, task, run);
    let run = run.map(str::to_owned).or_else(|| note.as_ref()?.run.clone());
    // A run at work counts its own attempts.
    let begun = begun(workspace)?;
    let is_free = |run: &String| !begun.iter().any(|open| open.run_id == *run && is_held(open));
    let run = run.or_else(|| recent_run(workspace).filter(is_free)).unwrap_or_else(|| new_run(workspace).id);
    let number = next_number(workspace, &run)?;
    let (known, n_attempts) = if task.is_named() { known_task(workspace, &id) } else { Default::default() };
    let known = if task.may_be_of_feature(known.feature.as_deref()) { known } else { Task::default() };
    let noted = note.as_ref().map(|note| note.task.clone()).unwrap_or_default();
    let title = [&task.title, &noted.title, &known.title].into_iter().find(|title| !title.trim().is_empty());
    let task = Task {
        title: title.cloned().unwrap_or_default(),
        id: task.is_named().then_some(id),
        feature: task.feature.clone().or(noted.feature).or(known.feature),
        section: task.section.clone().or(noted.section).or(known.section),
        ..task.clone()
    };
    let iteration = OpenAttempt {
        attempt: n_attempts + 1,
        is_unmeasured: true,
        ..OpenAttempt::new(run, number, task.without_secrets(&workspace.settings.allowed_secrets), at)
    };
    Ok(match note {
        Some(note) => OpenAttempt {
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
pub(crate) fn held(workspace: &Workspace, task_id: &str) -> Result<Option<OpenAttempt>> {
    Ok(begun(workspace)?.into_iter().find(|open| open.task_id() == task_id && is_held(open)))
}

fn is_held(open: &OpenAttempt) -> bool {
    let this = ProcessIdentity::this_process();
    let is_other = |process: &&ProcessIdentity| this.as_ref() != Some(process) && process.is_alive();
    [&open.holder, &open.agent].into_iter().flatten().any(|process| is_other(&process))
}

/// Refuses an attempt that a run at work is going to record itself: at its task, or told in the run's name.
fn check_not_held(workspace: &Workspace, task_id: &str, run: Option<&str>) -> Result<()> {
    let is_meant = |open: &OpenAttempt| open.task_id() == task_id || run == Some(&open.run_id);
    match begun(workspace)?.into_iter().find(|open| is_meant(open) && is_held(open)) {
        None => Ok(()),
        Some(OpenAttempt { run_id, number, .. }) => Err(Error::Held { run_id, number }),
    }
}
