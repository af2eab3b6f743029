//! The beginning of an attempt: its number, its model and its context.
//!
//! Once an attempt has a number, it leaves a trace if it is cut off, and the next call for the same task records it as
//! interrupted. A refused attempt leaves no trace.

use std::time::{Duration, Instant};

use super::begun::{add_agent, begun, clear_unused_scratch, close, keep_begun};
use super::kept_attempt::{KeptAttempt, kept_problems};
use super::open_attempt::OpenAttempt;
use super::process_identity::ProcessIdentity;
use super::refusal::{is_of_one, reason_of};
use super::runs::recent_run_in;
use super::work_tree::work_tree_state;
use crate::context::{
    Budget, Context, Request, Run, Task, check_task, configured_models, context_budget, gather, instructions,
};
use crate::entry::path::display_path;
use crate::entry::{Attempt, AttemptHead, Outcome, Sections};
use crate::error::{Argument, Error, Problem, Result};
use crate::index::catalog::Catalog;
use crate::journal::{attempt_at, check_number, check_run_name, next_number, write_attempt};
use crate::open::Memory;
use crate::store::Lock;
use crate::workspace::Workspace;

/// How long to wait for the end of an agent whose run was just killed, and how often to check.
const AGENT_ENDS: Duration = Duration::from_secs(1);
const AGENT_POLL: Duration = Duration::from_millis(10);

impl Memory {
    /// Begins an attempt that this process works on until [`Memory::finish`]: chooses its model, and builds its agent's
    /// prompt. Until then, no other process records an attempt at the task.
    ///
    /// An attempt whose process has ended without finishing it goes into the journal as interrupted. Attempts that
    /// could not be written to the journal, and are kept, are among [`OpenAttempt::problems`].
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the title is empty or an id is not one;
    /// [`Error::BudgetTooSmall`];
    /// [`Error::StillWorking`] where the agent of a run that was killed is still at work;
    /// [`Error::Locked`], [`Error::Io`], and those of [`Memory::search`].
    pub fn begin(&self, task: &Task, run: &Run) -> Result<OpenAttempt> {
        let _operation = self.operation("context");
        let workspace = &self.workspace;
        check_task(task)?;
        check_run_name(&run.id)?;
        let budget = context_budget(workspace, run.budget, task, &instructions(workspace, task, false))?;
        configured_models(workspace)?;
        // It is kept, and shown to anyone who views the memory.
        let safe = task.without_secrets(&workspace.settings.allowed_secrets);
        refuse_beside_agents(&begun(workspace)?)?;
        let (kept, mut problems) = kept_problems(self);
        problems.extend(no_key(workspace));
        let mut iteration = {
            let lock = workspace.lock_entries()?;
            problems.extend(interrupt_orphans(workspace, &lock, &kept, &safe, run)?);
            let number = next_number(workspace, &run.id)?;
            check_number(number)?;
            let holder = ProcessIdentity::this_process();
            let iteration = OpenAttempt { holder, ..OpenAttempt::new(run.id.clone(), number, safe, workspace.now()) };
            // From here on the number is taken, and an iteration that is cut off leaves a trace.
            keep_begun(workspace, &lock, &iteration)?;
            iteration
        };
        if let Err(error) = prepare(self, &mut iteration, task, run, budget) {
            // It was refused, and not cut off: it must not count as an attempt.
            if let Ok(lock) = workspace.lock_within_git() {
                let _ = close(workspace, &lock, &iteration);
            }
            return Err(error);
        }
        iteration.problems.extend(problems);
        Ok(iteration)
    }

    /// Returns the prompt of an agent that is about to begin a task: the task, what was tried, what was learned, and how to
    /// write to this memory; with the model that should work on it. It opens nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the title is empty or the task's id is not one;
    /// [`Error::BudgetTooSmall`] where the budget is under what the instructions and the first
    /// section need, and those of [`Memory::search`].
    pub fn context(&self, request: &Request) -> Result<Context> {
        let workspace = &self.workspace;
        let Request { task, budget, run, strategy, limit, by_tools } = request;
        check_task(task)?;
        run.as_deref().map_or(Ok(()), check_run_name)?;
        let budget = context_budget(workspace, *budget, task, &instructions(workspace, task, *by_tools))?;
        let described = |live: &Catalog| {
            let id = run.clone().or_else(|| recent_run_in(workspace, live)).unwrap_or_default();
            // An agent that asks while its run is at work gets the iteration that its prompt describes.
            let open = begun(workspace)?.into_iter().find(|open| open.run_id == id && open.task_id() == task.own_id());
            let number = match open {
                Some(open) => open.number,
                None if id.is_empty() => 1,
                None => next_number(workspace, &id)?,
            };
            Ok((Run { strategy: *strategy, limit: *limit, ..Run::named(id) }, number))
        };
        let mut context = gather(workspace, &self.semantic, task, &described, budget, *by_tools)?;
        context.problems.extend(kept_problems(self).1);
        Ok(context)
    }

    /// Returns the number that the run's next iteration gets: the one after the highest that has room behind it. So a
    /// journal that came with the highest possible number does not prevent a run from continuing.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where the file system does not say which are taken.
    pub fn next_number(&self, run_id: &str) -> Result<u32> {
        next_number(&self.workspace, run_id)
    }

    /// Gives up an attempt in which nothing happened: the journal does not mention it.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where another process works on it,
    /// [`Error::Locked`] and [`Error::Io`].
    pub fn cancel(&self, iteration: &OpenAttempt) -> Result<()> {
        check_run_name(&iteration.run_id)?;
        let this = ProcessIdentity::this_process();
        let other = iteration.holder.as_ref().filter(|holder| this.as_ref() != Some(holder));
        if let Some(holder) = other.filter(|holder| holder.is_alive()) {
            return Err(Error::invalid(Argument::Attempt, format!("process {} works on it", holder.pid())));
        }
        close(&self.workspace, &self.workspace.lock_within_git()?, iteration)
    }

    /// Returns the attempts in progress, by run and number. Files that cannot be read, or that were not written here,
    /// are left out; [`Memory::check`] names them.
    pub fn open_attempts(&self) -> Vec<OpenAttempt> {
        begun(&self.workspace).unwrap_or_default()
    }

    /// Notes which process is the agent of an iteration. If the process that started the agent is killed and the agent
    /// is not, [`Memory::begin`] does not begin another attempt beside it. If this cannot be noted, nothing else
    /// changes.
    pub fn note_agent(&self, iteration: &mut OpenAttempt, pid: u32) {
        iteration.agent = ProcessIdentity::of(pid);
        let _ = add_agent(&self.workspace, iteration);
    }
}

/// Reports that other processes will not know the iteration.
fn no_key(workspace: &Workspace) -> Option<Problem> {
    let reason = workspace.store.key_problem()?;
    let message =
        format!("your key for `.ralph/state/` cannot be kept, so only this process knows the attempt: {reason}");
    let hint = "set `HOME` or `XDG_STATE_HOME` to a folder of yours that can be written";
    Some(Problem::warning(display_path("state"), "no-key", message, hint))
}

/// Refuses to begin an iteration beside an agent that outlived its run: its changes would be attributed to the new one.
fn refuse_beside_agents(begun: &[OpenAttempt]) -> Result<()> {
    let since = Instant::now();
    let is_alive = |process: &Option<ProcessIdentity>| process.as_ref().is_some_and(ProcessIdentity::is_alive);
    loop {
        let orphan = begun.iter().find(|open| !is_alive(&open.holder) && is_alive(&open.agent));
        let Some(OpenAttempt { run_id, number, agent: Some(agent), .. }) = orphan else { return Ok(()) };
        if since.elapsed() >= AGENT_ENDS {
            return Err(Error::StillWorking { run_id: run_id.clone(), number: *number, pid: agent.pid() });
        }
        std::thread::sleep(AGENT_POLL);
    }
}

/// Records as interrupted the iterations whose process has ended, and those of the task in this run that nobody seen from
/// here works on. Returns a problem for each that cannot be recorded.
fn interrupt_orphans(
    workspace: &Workspace,
    lock: &Lock,
    kept: &[KeptAttempt],
    task: &Task,
    run: &Run,
) -> Result<Vec<Problem>> {
    let orphans = begun(workspace)?;
    if orphans.is_empty() {
        // A file at that path is not needed, and may come from the repository.
        clear_unused_scratch(workspace);
    }
    let this = ProcessIdentity::this_process();
    let mut problems = Vec::new();
    for orphan in orphans {
        let is_same = orphan.run_id == run.id && orphan.task_id() == task.own_id();
        let is_over = match &orphan.holder {
            // A caller that begins the same attempt again has given up the first one.
            Some(holder) if this.as_ref() == Some(holder) => is_same,
            Some(holder) => !holder.is_alive() && (is_same || holder.is_visible()),
            None => true,
        };
        // A saved attempt has a better result.
        if is_over && !kept.iter().any(|kept| kept.is_of_iteration(&orphan)) {
            match interrupt(workspace, lock, &orphan) {
                // Problems of the old one do not stop a new one.
                Err(error) if is_of_one(&error) => problems.push(not_closed(&orphan, &error)),
                result => result?,
            }
        }
    }
    Ok(problems)
}

/// Records an iteration that was begun and never finished. If the journal has it already, and only its trace in
/// `state/` was left, the trace is removed.
fn interrupt(workspace: &Workspace, lock: &Lock, iteration: &OpenAttempt) -> Result<()> {
    let written = attempt_at(workspace, &iteration.journal_path());
    let is_it = |attempt: &Attempt| {
        attempt.task_id.as_deref() == Some(&iteration.task_id()) && attempt.started_at == iteration.started_at
    };
    if !written.as_ref().is_some_and(is_it) {
        let head = AttemptHead {
            section: iteration.task.section.clone(),
            model: Some(iteration.model.clone()).filter(|model| !model.is_empty()),
            model_rationale: Some(iteration.rationale.clone()).filter(|rationale| !rationale.is_empty()),
            context: iteration.entries.clone(),
            ..AttemptHead::new(iteration.number, Outcome::Interrupted)
        };
        write_attempt(workspace, lock, iteration.attempt_with(head, Sections::default()))?;
    }
    close(workspace, lock, iteration)
}

/// Reports that an iteration which was cut off could not be recorded as interrupted.
fn not_closed(iteration: &OpenAttempt, error: &Error) -> Problem {
    let reason = reason_of(error);
    Problem::warning(
        display_path(&iteration.state_path()),
        "still-open",
        format!("the attempt was cut off, and cannot be written to the journal: {reason}"),
        "fix the cause, or delete the file",
    )
}

/// Gathers the context of the iteration, and keeps the iteration.
fn prepare(memory: &Memory, iteration: &mut OpenAttempt, task: &Task, run: &Run, budget: Budget) -> Result<()> {
    let workspace = &memory.workspace;
    let context = gather(workspace, &memory.semantic, task, &|_| Ok((run.clone(), iteration.number)), budget, false)?;
    let Context { text, notes_start, attempt, rung, model, rationale, entries, left_out, problems, .. } = context;
    *iteration = OpenAttempt {
        context: text,
        notes_start,
        attempt,
        rung,
        model,
        rationale,
        entries,
        left_out,
        problems,
        ..iteration.clone()
    };
    match work_tree_state(workspace) {
        Ok(state) => iteration.tree = state.map(|state| state.tree),
        Err(problem) => iteration.problems.push(*problem),
    }
    keep_begun(workspace, &workspace.lock_within_git()?, iteration)
}
