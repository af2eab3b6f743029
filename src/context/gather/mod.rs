//! The material of a context: earlier attempts, learnings, and recurring errors and files.
//!
//! It does not write the text; `write` does, within a budget. A file that vanished since the scan is left out, and
//! never stops the rest.

mod briefing;
mod events;
mod hints;
mod model_choice;
mod recurring;
mod remedies;
mod reminder;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use self::events::{events_for, journal_events};
use self::model_choice::loop_status;
use self::recurring::recurring;
use crate::context::write::{self, Instructions};
use crate::context::{Budget, Context, Material, NumberedAttempt, Reference, Run, SuccessRate, Task};
use crate::entry::attempt::{Account, AttemptHead};
use crate::entry::knowledge::{Class, class};
use crate::entry::{Entry, Head, Id, Kind, Scope};
use crate::error::{Error, Problem, Result};
use crate::index::catalog::{Area, Catalog};
use crate::index::{Snapshot, Statistics};
use crate::journal::history::{AttemptSummary, RunRecord, TaskRecord, success_after_failure};
use crate::journal::{self, check_name};
use crate::knowledge::dedup::{content_words, is_similar_task};
use crate::knowledge::queries::{LayeredQuery, hits};
use crate::knowledge::staleness;
use crate::search::retrieve::{Hit, MAX_CANDIDATES, Meaning, Query, in_order, is_told, with_people};
use crate::search::semantic::SemanticMemory;
use crate::workspace::{View, Workspace};

pub(crate) use self::briefing::briefing;
pub(crate) use self::hints::hints;
pub(crate) use self::model_choice::{choose_model, configured_models};
pub(crate) use self::reminder::reminder;

/// Hits under this share of the best score are left out: they share a common word or two with the task, and an agent
/// reads everything that it gets. With this share, contexts have .91 of the entries that the golden set's tasks need,
/// and the median task gets 12 entries. A share of .25 keeps .92 of them and shows 18; a share of .45 keeps .84 and
/// shows 5.
const RELEVANT_SHARE: f64 = 0.3;

/// How many words of a task an entry must share with it, whatever the best score: if no entry is about the task, the
/// best hit shares a random word with it and would admit similar ones. A minimum of three would lose .08 of the entries
/// that the golden set's tasks need and get. A minimum of two loses less than .02: entries that share one of 15 or more
/// words.
const LEAST_WORDS: usize = 2;
/// One word is enough if it has this share of the task's weight: a short task has no more words to share.
const LEAST_SHARE: f64 = 1.0 / 3.0;

/// The most words of one entry's body in a context.
const BODY_WORDS: usize = 500;

/// How many of the run's own attempts a context has.
const OWN_ITERATIONS: usize = 5;
/// How many of the best matching attempts are searched for those at similar tasks.
const SIMILAR_ATTEMPTS: usize = 50;
/// How many of the newest attempts are searched for those that touched the task's files.
const COMPARED_ATTEMPTS: usize = 1_000;
/// How many attempts of other runs a context has.
const OTHER_ITERATIONS: usize = 5;

/// The journal's data about a task and a run.
struct Precedents {
    /// The attempts at the task, oldest first.
    of_task: Vec<AttemptSummary>,
    /// The attempts of the run, oldest first.
    of_run: Vec<AttemptSummary>,
    record: TaskRecord,
    run_record: RunRecord,
}

/// Entries that match a task, best first.
struct TaskMatches {
    learnings: Vec<Reference>,
    knowledge: Vec<Reference>,
    /// The ids of the events that it may see.
    events: Vec<Id>,
    /// Attempts of other runs at other tasks.
    attempts: Vec<AttemptSummary>,
    /// The ids of tasks with similar titles, or that touched at least half of the task's files.
    similar: Vec<String>,
    /// Why semantic search failed.
    problems: Vec<Problem>,
}

/// Returns the budget of a context: the requested one, else that of the settings. A budget without room for the
/// instructions is an error.
pub(crate) fn context_budget(
    workspace: &Workspace,
    asked: Option<Budget>,
    task: &Task,
    instructions: &Instructions,
) -> Result<Budget> {
    let asked = asked.map(|budget| budget.after(&format!("{}\n", task.assignment())));
    let budget = asked.unwrap_or_else(|| write::default_budget(workspace.settings.context_budget, instructions));
    budget.check(instructions)?;
    Ok(budget)
}

/// Returns the instructions for writing to this memory.
pub(crate) fn instructions(workspace: &Workspace, task: &Task, by_tools: bool) -> Instructions {
    let suggests_events = workspace.settings.events_from_output;
    let models = workspace.settings.models.clone();
    Instructions { models, suggests_events, by_tools, ..Instructions::new(task.own_id()) }
}

/// Refuses a task that cannot be begun.
pub(crate) fn check_task(task: &Task) -> Result<()> {
    if task.title.trim().is_empty() {
        return Err(Error::invalid("task", "its title is empty"));
    }
    task.id.as_ref().map_or(Ok(()), |id| check_name("task id", id))
}

/// Gathers the context of a task in a run, with the number of its attempt; `run` returns both from the live entries.
pub(crate) fn gather(
    workspace: &Workspace,
    semantic: &SemanticMemory,
    given: &Task,
    run: &dyn Fn(&Catalog) -> Result<(Run, u32)>,
    budget: Budget,
    by_tools: bool,
) -> Result<Context> {
    // Only the task's agent gets the task as it was given.
    let task = &given.without_secrets(&workspace.settings.allowed_secrets);
    workspace.answer(&[Area::Live], |views, snapshot| {
        let archive = workspace.catalog(Area::Archive);
        workspace.check_whole(&archive)?;
        let catalogs = [&views[0].catalog, &archive];
        let (run, number) = run(catalogs[0])?;
        let precedents = precedents(workspace, &catalogs, task, &run);
        let Precedents { record, run_record, .. } = &precedents;
        let mut matches = matches(workspace, semantic, (views, snapshot), task, &run, &precedents)?;
        let learned = learned_at_tasks(workspace, &catalogs, matches.learnings.iter().map(|learning| &learning.id));
        in_order(&mut matches.learnings, &learned, |learning| &learning.id);
        let of_similar =
            |id: &String| journal::summaries(workspace.now(), &catalogs, |catalog| catalog.rows_of_task(id));
        let similar: Vec<_> = matches.similar.iter().map(of_similar).collect();
        let choice = choose_model(workspace, Some(&run), record, run_record, &similar)?;
        let mut instructions = instructions(workspace, task, by_tools);
        if run.has_own_model {
            instructions.models.clear();
        }
        let problems = matches.problems.clone();
        let attempts = attempts_of_task(workspace, &catalogs, &precedents.of_task, budget);
        let status = loop_status((&run, number), (record, &attempts), run_record, &choice);
        let material = material(workspace, &catalogs, task, &precedents, matches, instructions);
        let mut material = Material { attempts, status, ..material };
        // If another attempt represents an attempt at the task, the run's attempts do not show it either.
        let is_read = |id: &Id| material.attempts.iter().any(|past| past.id == *id);
        material.journal.retain(|past| past.attempt.task_id != task.id || is_read(&past.id));
        let built = write::build(&material, budget, BODY_WORDS);
        let assignment = format!("{}\n", given.assignment());
        let notes = catalogs[0].problems().into_iter().chain(workspace.settings_problems.clone()).chain(problems);
        Ok(Context {
            notes_start: assignment.len(),
            notes_end: assignment.len() + built.notes_end,
            text: assignment + &built.text,
            attempt: record.attempts + 1,
            rung: record.rung,
            success_rate: SuccessRate { succeeded: run_record.succeeded, counted: run_record.counted },
            model: choice.model,
            rationale: choice.rationale,
            problems: notes.collect(),
            ..built
        })
    })
}

fn precedents(workspace: &Workspace, catalogs: &[&Catalog], task: &Task, run: &Run) -> Precedents {
    let task_id = task.own_id();
    let summaries = |rows: &dyn Fn(&Catalog) -> _| journal::summaries(workspace.now(), catalogs, rows);
    let of_task = summaries(&|catalog| catalog.rows_of_task(&task_id));
    let of_run = if run.id.is_empty() { Vec::new() } else { summaries(&|catalog| catalog.rows_of_run(&run.id)) };
    let (record, run_record) = (TaskRecord::of(&of_task), RunRecord::of(&of_run));
    Precedents { of_task, of_run, record, run_record }
}

/// Reads the attempts at a task that its context may show, and returns them oldest first. It takes the newest, then
/// those that say more before those that say less, and newer before older ones, until they fill the budget. Of equal
/// attempts without a report, the newest represents all.
///
/// The catalog says how much an attempt says, so a report is found behind any number of other attempts.
fn attempts_of_task(
    workspace: &Workspace,
    catalogs: &[&Catalog],
    of_task: &[AttemptSummary],
    budget: Budget,
) -> Vec<NumberedAttempt> {
    let mut ranked: Vec<(usize, usize)> = Vec::new();
    let mut alike = HashMap::new();
    for (at, past) in of_task.iter().enumerate().rev() {
        let AttemptHead { outcome, account, model, error_category, error_fingerprint, .. } = &*past.head;
        let is_equal = match account {
            Account::Silent => true,
            Account::Printed => error_fingerprint.is_some(),
            Account::Told => false,
        };
        let place = alike.entry((outcome, account, model, error_category, error_fingerprint)).or_insert(ranked.len());
        if is_equal && *place < ranked.len() {
            ranked[*place].1 += 1;
        } else {
            ranked.push((at, 0));
        }
    }
    let newest = of_task.len().saturating_sub(1);
    ranked.sort_by_key(|(at, _)| (*at != newest, Reverse(of_task[*at].head.account)));
    let mut left = budget.amount;
    let mut read: Vec<NumberedAttempt> = Vec::new();
    for (at, n_alike) in ranked {
        let id = &of_task[at].id;
        if left == 0 {
            break;
        }
        if let Some(attempt) = journal::attempt(workspace, catalogs, id) {
            let past = NumberedAttempt { id: id.clone(), number: at + 1, n_alike, attempt };
            left = left.saturating_sub(write::cost(&past, budget));
            read.push(past);
        }
    }
    read.sort_by_key(|past| past.number);
    read
}

/// Gathers the material of a context, except the attempts at the task and the state of the loop.
fn material(
    workspace: &Workspace,
    catalogs: &[&Catalog],
    task: &Task,
    precedents: &Precedents,
    matches: TaskMatches,
    instructions: Instructions,
) -> Material {
    let Precedents { of_task, of_run, .. } = precedents;
    let with_attempt = |summary: &AttemptSummary| {
        let number = of_task.iter().position(|known| known.id == summary.id).map_or(0, |at| at + 1);
        let attempt = journal::attempt(workspace, catalogs, &summary.id)?;
        Some(NumberedAttempt { id: summary.id.clone(), number, n_alike: 0, attempt })
    };
    let first_own = of_run.len().saturating_sub(OWN_ITERATIONS);
    let (mut events, more_events) = events_for(workspace, catalogs[0], task, &matches.events);
    let n_noted = events.iter().filter(|event| matches!(event.scope, Scope::Section(_))).count();
    events.extend(journal_events(workspace, catalogs, task, n_noted));
    Material {
        instructions,
        n_attempts: of_task.len(),
        learnings: matches.learnings,
        recurring: recurring(workspace, catalogs, task, of_task),
        journal: of_run[first_own..].iter().filter_map(with_attempt).collect(),
        matching: matches.attempts.iter().filter_map(with_attempt).collect(),
        knowledge: matches.knowledge,
        events,
        more_events,
        ..Material::default()
    }
}

/// Finds the entries that match a task.
fn matches(
    workspace: &Workspace,
    semantic: &SemanticMemory,
    (views, snapshot): (&[View], &Snapshot),
    task: &Task,
    run: &Run,
    precedents: &Precedents,
) -> Result<TaskMatches> {
    let query = query(task, &precedents.record, &precedents.run_record);
    let (meaning, mut problems) = semantic.search(workspace, views, snapshot, &query);
    let of_kind = |kind: Kind| Query { kind: Some(kind), ..query.clone() };
    let mut layers = LayeredQuery::new(workspace, snapshot, &of_kind(Kind::Knowledge))?;
    let find = |kind: Kind, elsewhere: &Statistics, limit: usize, keep: &dyn Fn(&Head) -> bool| -> Result<Vec<Hit>> {
        let meaning: Option<&Meaning> = meaning.as_ref();
        let keep = |head: &Head| is_told(head, workspace.now(), || false) && keep(head);
        hits(workspace, views, (snapshot, elsewhere), &of_kind(kind), meaning, limit, &keep)
    };
    let is_known = |head: &Head| class(head.category.as_deref()) != Class::Event && task.sees(&head.scope);
    let mut found = relevant(find(Kind::Knowledge, &layers.elsewhere(0), MAX_CANDIDATES, &is_known)?);
    // Tasks and sections of another project have nothing but their names in common with those of this one.
    let is_shared = |head: &Head| {
        is_told(head, workspace.now(), || false)
            && is_known(head)
            && !matches!(head.scope, Scope::Task(_) | Scope::Section(_))
    };
    let of_layers = layers.add_hits(views, &query, MAX_CANDIDATES, &is_shared, relevant, &mut found);
    problems.extend(of_layers);
    // What is known here is not left out because a layer knows more.
    let least = found.first().map_or(0.0, |hit| hit.score) * RELEVANT_SHARE;
    found.retain(|hit| hit.entry.layer.is_none() || hit.score >= least);
    let (learnings, knowledge) = references(workspace, &layers, found);
    let alone = Statistics::default();
    let is_event = |head: &Head| class(head.category.as_deref()) == Class::Event && task.sees(&head.scope);
    let events = relevant(find(Kind::Knowledge, &alone, MAX_CANDIDATES, &is_event)?);
    let events = events.into_iter().map(|hit| hit.entry.id).collect();
    let is_other_task = |head: &Head| head.task_id.as_ref() != task.id.as_ref();
    let attempts = find(Kind::Journal, &alone, OTHER_ITERATIONS, &|head| {
        is_other_task(head) && head.run_id.as_ref() != Some(&run.id)
    })?;
    let attempts = relevant(attempts);
    // Attempts of the same run count as well.
    let alike = find(Kind::Journal, &alone, SIMILAR_ATTEMPTS, &is_other_task)?;
    let topic = content_words(&task.title);
    let catalog = &views[0].catalog;
    let summary =
        |hit: Hit| AttemptSummary::new(hit.entry.id, catalog.head(catalog.row_of_path(hit.entry.path.as_relative())?));
    let attempts = attempts.into_iter().filter_map(summary).collect();
    let own = if task.files.is_empty() { &precedents.record.files } else { &task.files };
    let shares_files = |past: &AttemptSummary| {
        let touched = past.head.files.touched();
        let n_shared = own.iter().filter(|path| touched.contains(&path.as_str())).count();
        n_shared > 0 && 2 * n_shared >= own.len()
    };
    let alike = alike.into_iter().filter_map(summary).filter(|past| is_similar_task(&topic, &past.task_title));
    let n_compared = if own.is_empty() { 0 } else { COMPARED_ATTEMPTS };
    let newest = |catalog: &Catalog| catalog.journal_rows().rev().take(n_compared).collect();
    let mut sharing = journal::summaries(workspace.now(), &[catalog], newest);
    sharing.retain(|past| past.task_id.as_ref() != task.id.as_ref() && shares_files(past));
    let similar: BTreeSet<String> = alike.chain(sharing).filter_map(|past| past.task_id).collect();
    Ok(TaskMatches { learnings, knowledge, events, attempts, similar: similar.into_iter().collect(), problems })
}

/// Returns the learnings and the plain knowledge among the hits; what layers know is plain.
fn references(workspace: &Workspace, layers: &LayeredQuery, hits: Vec<Hit>) -> (Vec<Reference>, Vec<Reference>) {
    let read_hit = |hit: Hit| {
        let path = hit.entry.path.as_relative();
        let entry = layers.workspace_of(workspace, &hit.entry)?.read_beginning(path)?;
        Some((hit, entry))
    };
    let found: Vec<(Hit, Entry)> = hits.into_iter().filter_map(read_hit).collect();
    let found = with_people(found, |(hit, _)| Some(hit.entry.source.is_person()));
    // Git is not asked in other projects.
    let heads = found.iter().filter(|(hit, _)| hit.entry.layer.is_none());
    let heads = heads.map(|(hit, entry)| (hit.entry.path.as_relative(), &entry.head));
    let mut stale = staleness(workspace, &heads.collect::<Vec<_>>()).into_iter();
    let (mut learnings, mut knowledge) = (Vec::new(), Vec::new());
    for (hit, entry) in found {
        let is_learning = class(entry.head.category.as_deref()) == Class::Learning && hit.entry.layer.is_none();
        let reference = Reference {
            id: hit.entry.id,
            body: entry.said(),
            title: entry.head.title_with_status(),
            tags: hit.entry.tags,
            contradicts: hit.contradicts,
            category: entry.head.category,
            unverified: if hit.entry.layer.is_none() { stale.next().flatten() } else { None },
        };
        if is_learning { learnings.push(reference) } else { knowledge.push(reference) }
    }
    (learnings, knowledge)
}

/// Returns, for each task that succeeded after failures, what was learned at it: at the success or later, then before.
fn learned_at_tasks<'a>(
    workspace: &Workspace,
    catalogs: &[&Catalog],
    learnings: impl Iterator<Item = &'a Id>,
) -> Vec<Vec<Id>> {
    let mut of_task: BTreeMap<String, Vec<(i64, &Id)>> = BTreeMap::new();
    for id in learnings {
        let head = catalogs[0].row_of_id(id).map(|row| catalogs[0].head(row));
        if let Some(Head { task_id: Some(task), created_at: Some(at), .. }) = head {
            of_task.entry(task).or_default().push((at.timestamp(), id));
        }
    }
    of_task.retain(|_, learned| learned.len() > 1);
    let ordered = |(task, mut learned): (String, Vec<(i64, &Id)>)| {
        let attempts = journal::summaries(workspace.now(), catalogs, |catalog| catalog.rows_of_task(&task));
        let since = success_after_failure(&attempts)?.timestamp();
        learned.sort_by_key(|(at, _)| *at < since);
        Some(learned.into_iter().map(|(_, id)| id.clone()).collect())
    };
    of_task.into_iter().filter_map(ordered).collect()
}

/// Returns the query: the task's words, the category of its last error and the paths that it names. The tags of
/// recently touched paths also count.
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

/// Returns the hits that are near enough to the best one and share enough words with the task, in order.
fn relevant(hits: Vec<Hit>) -> Vec<Hit> {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let is_about = |hit: &Hit| hit.evidence.words >= LEAST_WORDS || hit.evidence.share >= LEAST_SHARE;
    hits.into_iter().filter(|hit| hit.score >= best * RELEVANT_SHARE && is_about(hit)).collect()
}
