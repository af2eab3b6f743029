//! The beginning of an iteration: what was tried and learned, which model works on it, and what the
//! agent is told.

use super::Memory;
use super::anchors::is_plain;
use super::refusal::{is_of_one, told};
use super::runs::{Iteration, Run, refuse_beside_agents};
use crate::catalog::{Area, Catalog};
use crate::check::Unverified;
use crate::context::{
    self, Budget, Context, Instructions, Material, Recurring, Reference, Request, Status, Stuck, Task,
};
use crate::entry::knowledge::{Class, class};
use crate::entry::path::{MEMORY_FOLDER, display_path, memory_relative};
use crate::entry::{Entry, Head, Kind, Scope, read};
use crate::error::{Error, Problem, Result, Severity};
use crate::history::{self, AttemptSummary, RunRecord, TaskRecord};
use crate::index::Snapshot;
use crate::journal::{
    attempt, check_name, check_number, check_run_name, error_line, next_number, recent_attempts, summaries,
};
use crate::retrieve::{Hit, Meaning, Query};
use crate::strategy::{self, Choice, Evidence, Models, Strategy};
use crate::workspace::View;

/// How many attempts at a task are read for its context: many more than its budget has room for.
const MAX_READ: usize = 30;
/// How many of its own iterations a run is told of.
const OWN_ITERATIONS: usize = 5;
/// How many iterations of other runs a context has.
const OTHER_ITERATIONS: usize = 5;

/// How many files are looked for to be suggested in a context: more than it has, since it names none twice.
const MAX_FILES: usize = 32;
/// How many errors are looked up for a context: more than it tells.
const MAX_ERRORS: usize = 4;

/// A context, and what it was made from.
struct Gathered {
    context: Context,
    choice: Choice,
    record: TaskRecord,
}

impl Memory {
    /// Begins an iteration: chooses its model, and gathers what its agent should know.
    ///
    /// What an earlier process began of the same task in the same run, and never finished, goes into the
    /// journal as interrupted, unless it is held by a process that is still there. Attempts that could not be written
    /// to the journal, and are kept, are among [`Iteration::problems`].
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the title is empty, an id is none, or the budget is too small;
    /// [`Error::StillWorking`] where the agent of a run that was killed is still at work; [`Error::Locked`], [`Error::Io`], and those of [`Memory::search`].
    pub fn begin(&self, task: &Task, run: &Run) -> Result<Iteration> {
        check_task(task)?;
        check_run_name(&run.id)?;
        let budget = self.budget(run.budget, &self.instructions(task, false))?;
        self.strategy(run)?;
        let task = Task { id: Some(task.own_id()), ..task.clone() };
        refuse_beside_agents(&self.begun()?)?;
        let (kept, mut problems) = self.kept_problems();
        let mut iteration = {
            let lock = self.lock_entries()?;
            let orphans = self.begun()?;
            if orphans.is_empty() {
                // Nobody needs what lies there, and it may have come with the repository.
                let _ = self.store.clear_scratch();
            }
            for orphan in orphans {
                let is_at_work = orphan
                    .holder
                    .as_ref()
                    .is_some_and(|holder| run.holder.as_ref() != Some(holder) && holder.is_alive());
                // What became of one that is kept can be told better.
                let is_over = !is_at_work && !Memory::is_kept(&kept, &orphan);
                if orphan.run_id == run.id && orphan.task_id() == task.own_id() && is_over {
                    match self.interrupt(&lock, &orphan) {
                        // What is wrong with the old one does not keep a new one from its work.
                        Err(error) if is_of_one(&error) => problems.push(not_closed(&orphan, &error)),
                        result => result?,
                    }
                }
            }
            let number = next_number(&self.workspace, &run.id)?;
            check_number(number)?;
            let holder = run.holder.clone();
            let iteration = Iteration { holder, ..Iteration::new(run.id.clone(), number, task, self.now()) };
            // From here on the number is taken, and an iteration that is cut off leaves a trace.
            self.keep_open(&lock, &iteration)?;
            iteration
        };
        if let Err(error) = self.prepare(&mut iteration, run, budget) {
            // It was refused, and not cut off: nobody may take it for an attempt.
            if let Ok(lock) = self.lock_within_git() {
                let _ = self.close(&lock, &iteration);
            }
            return Err(error);
        }
        iteration.problems.extend(problems);
        Ok(iteration)
    }

    /// Gives an iteration up that was begun and in which nothing happened: the journal says nothing of it.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where another process works on it, [`Error::Locked`] and [`Error::Io`].
    pub fn cancel(&self, iteration: &Iteration) -> Result<()> {
        check_run_name(&iteration.run_id)?;
        let other = iteration.holder.as_ref().filter(|holder| super::Holder::this_process().as_ref() != Some(holder));
        if let Some(holder) = other.filter(|holder| holder.is_alive()) {
            let reason = format!("process {} works on it", holder.pid());
            return Err(Error::Invalid { what: "iteration".to_owned(), reason });
        }
        self.close(&self.lock_within_git()?, iteration)
    }

    /// Gathers what the iteration's agent should know, and keeps that.
    fn prepare(&self, iteration: &mut Iteration, run: &Run, budget: Budget) -> Result<()> {
        let gathered = self.gather(&iteration.task, Some((run, iteration.number)), budget, false)?;
        iteration.attempt = gathered.record.attempts + 1;
        iteration.rung = gathered.record.rung;
        Choice { model: iteration.model, rationale: iteration.rationale } = gathered.choice;
        iteration.entries = gathered.context.entries;
        iteration.left_out = gathered.context.left_out;
        iteration.context = gathered.context.text;
        iteration.problems = gathered.context.problems;
        match self.state_of_files() {
            Ok(state) => iteration.tree = state.map(|state| state.tree),
            Err(problem) => iteration.problems.push(*problem),
        }
        self.keep_open(&self.lock_within_git()?, iteration)
    }

    /// Returns what an agent should know before it begins a task, without beginning it: what was tried,
    /// what was learned, and how to write to this memory.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the title is empty, the task's id is none, or the budget is under what
    /// the instructions and the first section need, and those of [`Memory::search`].
    pub fn context(&self, request: &Request) -> Result<Context> {
        check_task(&request.task)?;
        let instructions = self.instructions(&request.task, request.by_tools);
        let budget = self.budget(request.budget, &instructions)?;
        Ok(self.gather(&request.task, None, budget, request.by_tools)?.context)
    }

    fn budget(&self, asked: Option<Budget>, instructions: &Instructions) -> Result<Budget> {
        let budget = asked.unwrap_or_else(|| context::default_budget(self.settings.context_budget, instructions));
        budget.check(instructions)?;
        Ok(budget)
    }

    fn instructions(&self, task: &Task, by_tools: bool) -> Instructions {
        let suggests_events = self.settings.events_from_output;
        let models = self.settings.models.clone();
        Instructions { models, suggests_events, by_tools, ..Instructions::new(task.own_id()) }
    }

    fn strategy(&self, run: &Run) -> Result<(Strategy, Models<'_>)> {
        let invalid = |reason: &str| Error::Settings { place: "settings".to_owned(), reason: reason.to_owned() };
        let strategy = run.strategy.unwrap_or(self.settings.strategy);
        let models = Models::new(&self.settings.models).ok_or_else(|| invalid("`strategy.models` is empty"))?;
        Ok((strategy, models))
    }

    /// Gathers the context of a task; with a run and the number of its iteration, what concerns these.
    fn gather(&self, task: &Task, run: Option<(&Run, u32)>, budget: Budget, by_tools: bool) -> Result<Gathered> {
        let instructions = self.instructions(task, by_tools);
        self.answer(&[Area::Live], |views, snapshot| {
            self.gather_from(views, snapshot, task, run, (budget, &instructions))
        })
    }

    fn gather_from(
        &self,
        views: &[View],
        snapshot: &Snapshot,
        task: &Task,
        run: Option<(&Run, u32)>,
        (budget, instructions): (Budget, &Instructions),
    ) -> Result<Gathered> {
        let task_id = task.own_id();
        let task = &Task { id: Some(task_id.clone()), ..task.clone() };
        let live = &views[0].catalog;
        let archive = self.catalog(Area::Archive);
        let catalogs = [live, &archive];
        let attempts = summaries(self.now(), &catalogs, |catalog| catalog.rows_of_task(&task_id));
        let record = TaskRecord::of(&attempts);
        let own = run
            .map(|(run, _)| summaries(self.now(), &catalogs, |catalog| catalog.rows_of_run(&run.id)))
            .unwrap_or_default();
        let run_record = RunRecord::of(&own);
        let choice = self.choice(run.map(|(run, _)| run), &record, &run_record)?;
        // Of a first attempt in a first iteration there is nothing to say.
        let is_stuck = record.rung >= self.settings.stuck_after;
        let status = match run {
            Some((run, number)) if number > 1 || record.attempts > 0 => {
                Some(self.loop_status(run, number, &record, &run_record, &choice))
            }
            // Whoever asks without beginning anything is told at least that it is stuck.
            None if is_stuck => Some(self.loop_status(&Run::default(), 0, &record, &run_record, &choice)),
            _ => None,
        };
        let shown = |past: &AttemptSummary| {
            let number = attempts.iter().position(|known| known.id == past.id).map_or(0, |at| at + 1);
            Some(context::Past { id: past.id.clone(), number, attempt: attempt(&self.workspace, &catalogs, &past.id)? })
        };
        let first_read = attempts.len().saturating_sub(MAX_READ);
        let first_own = own.len().saturating_sub(OWN_ITERATIONS);
        let query = query(task, &record, &run_record);
        let (meaning, unknown) = self.meaning(views, snapshot, &query);
        let (learnings, knowledge) = self.references(views, snapshot, &query, meaning.as_ref(), task)?;
        let matching = self.matching(views, snapshot, &query, meaning.as_ref(), &|head: &Head| {
            head.task_id.as_ref() != Some(&task_id) && run.is_none_or(|(run, _)| head.run_id.as_ref() != Some(&run.id))
        })?;
        let mut events = self.events_for(live, task);
        let n_noted = events.iter().filter(|event| matches!(event.scope, Scope::Section(_))).count();
        events.extend(self.told_by_journal(&catalogs, task, n_noted));
        let material = Material {
            instructions: instructions.clone(),
            n_attempts: attempts.len(),
            attempts: attempts[first_read..].iter().filter_map(shown).collect(),
            learnings,
            status,
            recurring: self.recurring(&catalogs, task, &attempts),
            journal: own[first_own..].iter().filter_map(shown).collect(),
            matching: matching.iter().filter_map(shown).collect(),
            knowledge,
            events,
        };
        let mut context = context::build(&material, budget, self.settings.body_words);
        context.problems = live.problems();
        context.problems.extend(self.settings_problems.clone());
        context.problems.extend(unknown);
        Ok(Gathered { context, choice, record })
    }

    fn choice(&self, run: Option<&Run>, task: &TaskRecord, of_run: &RunRecord) -> Result<Choice> {
        let (strategy, models) = self.strategy(run.unwrap_or(&Run::default()))?;
        let evidence = Evidence {
            hint: of_run.hint.as_deref(),
            streak: task.streak,
            rung: task.rung,
            succeeded: of_run.succeeded,
            counted: of_run.counted,
            difficulty: task.difficulty,
            attempts: task.attempts,
        };
        let fixed = Some(self.settings.fixed_model.as_str()).filter(|model| !model.is_empty());
        Ok(strategy::choose(strategy, models, fixed, evidence))
    }

    fn loop_status(&self, run: &Run, number: u32, task: &TaskRecord, of_run: &RunRecord, choice: &Choice) -> Status {
        let stuck = (task.rung >= self.settings.stuck_after).then(|| Stuck {
            threshold: self.settings.stuck_after,
            same_error: task.same_error,
            tree_seen: task.tree_seen,
            failed_with: task.failed_with.clone(),
            tell_person: task.rung > self.settings.stuck_after,
        });
        Status {
            iteration: number,
            limit: run.limit,
            attempt: task.attempts + 1,
            streak: task.streak,
            succeeded: of_run.succeeded,
            counted: of_run.counted,
            model: choice.model.clone(),
            rationale: choice.rationale.clone(),
            stuck,
            refused: of_run.refused.clone(),
        }
    }

    /// Returns the learnings and the plain knowledge that match and that the task may see, best first.
    fn references(
        &self,
        views: &[View],
        snapshot: &Snapshot,
        query: &Query,
        meaning: Option<&Meaning>,
        task: &Task,
    ) -> Result<(Vec<Reference>, Vec<Reference>)> {
        let query = Query { kind: Some(Kind::Knowledge), ..query.clone() };
        let hits = self.hits(views, snapshot, &query, meaning, context::MAX_CANDIDATES, &|head| {
            head.valid && class(head.category.as_deref()) != Class::Event && task.sees(&head.scope)
        })?;
        let read_hit = |hit: Hit| {
            let path = memory_relative(&hit.entry.path);
            // A file that vanished since the scan is no longer known.
            let entry = read(path, &self.store.read(path).ok()?.bytes);
            Some((hit, entry))
        };
        let found: Vec<(Hit, Entry)> = context::relevant(hits).into_iter().filter_map(read_hit).collect();
        let unverified = self.unverified(&found.iter().map(|(_, entry)| &entry.head).collect::<Vec<_>>());
        let mut found: Vec<(Hit, (Entry, Option<Unverified>))> =
            found.into_iter().zip(unverified).map(|((hit, entry), unverified)| (hit, (entry, unverified))).collect();
        context::doubt(&mut found, |(_, unverified)| unverified.is_some());
        let (mut learnings, mut knowledge) = (Vec::new(), Vec::new());
        for (hit, (entry, unverified)) in found {
            let is_learning = class(entry.head.category.as_deref()) == Class::Learning;
            let reference = Reference {
                id: hit.entry.id,
                title: hit.entry.title,
                tags: hit.entry.tags,
                recency: entry.head.clone().as_of(self.now()).recency(),
                category: entry.head.category,
                body: entry.body,
                unverified: unverified.map(|unverified| unverified.short_commit().to_owned()),
            };
            if is_learning { learnings.push(reference) } else { knowledge.push(reference) }
        }
        Ok((learnings, knowledge))
    }

    /// Returns the attempts of other runs that match, best first.
    fn matching(
        &self,
        views: &[View],
        snapshot: &Snapshot,
        query: &Query,
        meaning: Option<&Meaning>,
        keep: &dyn Fn(&Head) -> bool,
    ) -> Result<Vec<AttemptSummary>> {
        let query = Query { kind: Some(Kind::Journal), ..query.clone() };
        let hits = self.hits(views, snapshot, &query, meaning, OTHER_ITERATIONS, &|head| head.valid && keep(head))?;
        let catalog: &Catalog = &views[0].catalog;
        let past = |hit: Hit| {
            AttemptSummary::new(hit.entry.id, catalog.head(catalog.row_of_path(memory_relative(&hit.entry.path))?))
        };
        Ok(context::relevant(hits).into_iter().filter_map(past).collect())
    }

    /// Returns what comes back, as the context of a task tells it: in the last iterations of its feature, or,
    /// where it has none, in its own attempts. Of these, `own`, errors alone are told: what they touched stands
    /// with them.
    pub(super) fn recurring(&self, catalogs: &[&Catalog], task: &Task, own: &[AttemptSummary]) -> Recurring {
        let feature = task.feature.as_deref().filter(|feature| !feature.trim().is_empty());
        let of_feature = feature.map(|feature| recent_attempts(self.now(), catalogs, feature));
        let attempts = of_feature.as_deref().unwrap_or(own);
        let touched = of_feature.as_deref().map(history::touched_files).unwrap_or_default();
        let files = touched
            .into_iter()
            .filter(|file| file.suggested)
            .map(|file| file.path)
            .filter(|path| !task.files.contains(path) && self.has_file(path))
            .take(MAX_FILES)
            .collect();
        let errors = history::pressing_errors(attempts, own).into_iter().take(MAX_ERRORS);
        let errors = errors.map(|error| context::RecurringError {
            attempts: error.attempts().map(|attempt| attempt.id.clone()).collect(),
            line: error_line(&self.workspace, catalogs, &error).unwrap_or_default(),
        });
        Recurring { files, errors: errors.collect() }
    }

    /// Returns whether something of the project is at `path`, other than a part of the memory.
    fn has_file(&self, path: &str) -> bool {
        is_plain(path) && !path.starts_with(MEMORY_FOLDER) && self.root().join(path).symlink_metadata().is_ok()
    }
}

/// Says that an iteration which was cut off could not be written down as interrupted.
fn not_closed(iteration: &Iteration, error: &Error) -> Problem {
    Problem {
        path: display_path(&iteration.state_path()),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: "still-open".to_owned(),
        message: format!("the iteration was cut off, and cannot be written to the journal: {}", told(error)).into(),
        hint: "fix what stands in the way, or delete the file".into(),
    }
}

fn check_task(task: &Task) -> Result<()> {
    if task.title.trim().is_empty() {
        return Err(Error::Invalid { what: "task".to_owned(), reason: "its title is empty".to_owned() });
    }
    task.id.as_ref().map_or(Ok(()), |id| check_name("task id", id))
}

/// Returns what is looked for: the task's words, the kind of its last error and the paths it names;
/// tags of the paths that were touched last count, too.
fn query(task: &Task, record: &TaskRecord, run: &RunRecord) -> Query {
    let recent = if record.files.is_empty() { &run.files } else { &record.files };
    let category = record.error_category.iter().filter(|category| *category != "unknown").cloned();
    Query {
        text: task.text(),
        more: category.chain(task.files.iter().cloned()).collect::<Vec<_>>().join("\n"),
        feature: task.feature.clone(),
        files: task.files.iter().chain(recent).cloned().collect(),
        ..Query::default()
    }
}
