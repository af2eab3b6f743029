//! The material of a briefing: tasks that failed last, recurring errors, and the knowledge that helped.
//!
//! It opens only the files that it shows, asks no server, and runs no git: a session waits for it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;

use super::recurring::context_error;
use crate::catalog::{Catalog, RowId};
use crate::context::{self, Briefing, BriefingMaterial, BriefingRequest, Budget, NumberedAttempt, OpenTask, Reference};
use crate::entry::knowledge::{Class, class};
use crate::entry::{Head, Id, Scope, read};
use crate::error::Result;
use crate::history::{self, AttemptSummary, TaskRecord, Usage};
use crate::journal::{self, both_areas};
use crate::knowledge::beyond_caps;
use crate::retrieve::superseded;
use crate::workspace::Workspace;

/// How many tasks, errors and entries are read at most: more than fit.
const MAX_OPEN: usize = 8;
const MAX_ERRORS: usize = 3;
const MAX_KNOWLEDGE: usize = 40;
const MAX_RECENT: usize = 8;
/// How many attempts are searched for recurring errors, the newest.
const RECENT_ATTEMPTS: usize = 500;
/// The category of events that every session should know.
const DECISION: &str = "decision";

/// Returns the briefing.
pub(crate) fn briefing(workspace: &Workspace, request: &BriefingRequest) -> Result<Briefing> {
    let budget = request.budget.unwrap_or_else(|| Budget::tokens(context::DEFAULT_TOKENS));
    context::check_budget(budget, request.by_tools)?;
    let catalogs = both_areas(workspace);
    let catalogs = catalogs.each_ref();
    let attempts = journal::summaries(workspace.now(), &catalogs, |catalog| catalog.journal_rows().collect());
    let since = attempts.last().map(|attempt| attempt.started_at);
    let recent = &attempts[attempts.len().saturating_sub(RECENT_ATTEMPTS)..];
    let errors = history::pressing_errors(recent, &[]).into_iter().take(MAX_ERRORS);
    let mut heads = known(workspace, catalogs[0]);
    let usage = history::usage(attempts.iter());
    let succeeded = |id: &Id| usage.get(id).map_or(0, |Usage { succeeded, .. }| *succeeded);
    // Of the proven entries the newer first; an id makes the order complete.
    heads.sort_by(|(_, one_id, one), (_, other_id, other)| {
        let key = |id: &Id, head: &Head| (Reverse(succeeded(id)), Reverse(head.importance), Reverse(head.recency()));
        key(one_id, one).cmp(&key(other_id, other)).then_with(|| one_id.cmp(other_id))
    });
    let mut has_more = heads.len() > MAX_KNOWLEDGE;
    let knowledge = references(workspace, catalogs[0], heads.iter().take(MAX_KNOWLEDGE));
    heads.retain(|(_, _, head)| since.is_some_and(|since| head.recency() >= Some(since)));
    heads.sort_by_key(|(_, id, head)| (Reverse(head.recency()), id.clone()));
    let mut open = open_tasks(workspace, &catalogs, &attempts);
    has_more |= open.len() > MAX_OPEN;
    open.truncate(MAX_OPEN);
    let material = BriefingMaterial {
        open,
        errors: errors.map(|error| context_error(workspace, &catalogs, &error)).collect(),
        knowledge,
        recent: references(workspace, catalogs[0], heads.iter().take(MAX_RECENT)),
        since,
        has_more,
    };
    let mut briefing = context::brief(&material, budget, request.by_tools);
    briefing.problems = catalogs[0].problems();
    briefing.problems.extend(workspace.settings_problems.clone());
    Ok(briefing)
}

/// Returns the knowledge that concerns the whole project, with its row: no events but decisions, none over the limits of the
/// settings, nothing superseded, expired or invalid.
fn known(workspace: &Workspace, live: &Catalog) -> Vec<(RowId, Id, Head)> {
    let now = workspace.now();
    let replaced = superseded(&[live], now);
    let beyond = beyond_caps(workspace, live);
    let rows = live.knowledge_rows().filter(|row| live.is_indexable(*row));
    let with_head = rows.filter_map(|row| Some((row, live.id(row)?, live.head(row).without_future(now))));
    let concerns_all = |head: &Head| {
        let is_event = class(head.category.as_deref()) == Class::Event;
        head.valid
            && head.scope == Scope::Project
            && !head.is_expired(now)
            && (!is_event || head.category.as_deref() == Some(DECISION))
    };
    with_head.filter(|(_, id, head)| concerns_all(head) && !replaced.contains(id) && !beyond.contains(id)).collect()
}

fn references<'a>(
    workspace: &Workspace,
    live: &Catalog,
    entries: impl Iterator<Item = &'a (RowId, Id, Head)>,
) -> Vec<Reference> {
    let reference = |(row, id, head): &(RowId, Id, Head)| {
        let path = live.path(*row);
        let entry = read(&path, &workspace.store.read(&path).ok()?.bytes);
        Some(Reference {
            id: id.clone(),
            title: entry.head.title,
            tags: entry.head.tags,
            category: entry.head.category,
            recency: head.recency(),
            body: entry.body,
            unverified: entry.head.files.into_iter().find(|file| is_gone(workspace, file)),
        })
    };
    entries.filter_map(reference).collect()
}

/// Returns whether a file of the project is gone. What else makes an entry doubtful is asked of git, for which a session
/// does not wait.
fn is_gone(workspace: &Workspace, file: &str) -> bool {
    std::fs::symlink_metadata(workspace.root().join(file)).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Returns the tasks that failed last and are not done, the most recent first, each with its last failure; one more
/// than is shown.
fn open_tasks(workspace: &Workspace, catalogs: &[&Catalog], attempts: &[AttemptSummary]) -> Vec<OpenTask> {
    let mut of_task: HashMap<&str, Vec<&AttemptSummary>> = HashMap::new();
    for attempt in attempts {
        if let Some(id) = &attempt.task_id {
            of_task.entry(id).or_default().push(attempt);
        }
    }
    let mut known = HashSet::new();
    let newest_first = attempts.iter().rev().filter_map(|attempt| attempt.task_id.as_deref());
    let open = newest_first.filter(|id| known.insert(*id)).filter_map(|id| {
        let TaskRecord { streak, .. } = TaskRecord::of(&of_task[id]);
        let number = of_task[id].iter().rposition(|attempt| attempt.head.outcome.is_failure_of_task())?;
        let last = &of_task[id][number];
        let attempt = (streak > 0).then(|| journal::attempt(workspace, catalogs, &last.id)).flatten()?;
        Some(OpenTask {
            id: id.to_owned(),
            streak,
            last: NumberedAttempt { id: last.id.clone(), number: number + 1, attempt },
        })
    });
    open.take(MAX_OPEN + 1).collect()
}
