//! Remedies: the entries about current failures.
//!
//! At the start of a session, the answer to a current error helps more than an entry that many contexts included. As
//! with a reminder, an entry must share enough words with a failure, whatever else matches.

use crate::context::Task;
use crate::context::write::OpenTask;
use crate::entry::attempt::Attempt;
use crate::entry::knowledge::{Class, class};
use crate::entry::{Head, Id, Kind};
use crate::index::catalog::Catalog;
use crate::index::{Snapshot, Statistics};
use crate::journal;
use crate::journal::history::{AttemptSummary, Recurrence};
use crate::knowledge::queries::hits;
use crate::search::retrieve::{Hit, Query};
use crate::text::floor;
use crate::workspace::{View, Workspace};

/// How much of each part of a failure is searched for, in bytes. The rest of a longer part is pasted text.
const MAX_PART: usize = 1_000;
/// How many remedies are shown at most, so that knowledge for other work keeps some of the room.
const MAX_REMEDIES: usize = 5;
/// How many hits are considered for each failure.
const MAX_HITS: usize = 5;
/// How many words of a failure an entry must have, as for a reminder. With 6, the briefings of the campaign `briefings`
/// name 2 fewer of the 60 choices that a person looks at.
const LEAST_WORDS: usize = 4;
/// The share of a failure's words that an entry must have, by weight. It is half of a reminder's share, because a
/// failure has about twice as many words as a prompt. With 0.4, the briefings name 3 fewer.
const LEAST_SHARE: f64 = 0.2;

/// A failure to which an entry may have the answer.
pub(super) struct CurrentFailure {
    /// What is known about it.
    text: String,
    /// The tasks that failed with it. An entry must be in the scope of one of them.
    tasks: Vec<Task>,
}

impl CurrentFailure {
    /// Returns a recurring error, as its newest attempt describes it. `None` if its file is gone.
    pub(super) fn of_error(
        workspace: &Workspace,
        catalogs: &[&Catalog],
        error: &Recurrence<'_>,
    ) -> Option<CurrentFailure> {
        let newest = journal::attempt(workspace, catalogs, &error.last().id)?;
        let task = |AttemptSummary { task_id, feature, .. }: &AttemptSummary| asking(task_id.clone(), feature.clone());
        // The titles of the tasks say nothing about their common error.
        Some(CurrentFailure { text: described("", &newest), tasks: error.attempts().map(task).collect() })
    }

    /// Returns the last failure of a task.
    pub(super) fn of_task(task: &OpenTask) -> CurrentFailure {
        let attempt = &task.last.attempt;
        let tasks = vec![asking(task.id.clone(), attempt.feature.clone())];
        CurrentFailure { text: described(&attempt.task_title, attempt), tasks }
    }
}

fn asking(id: Option<String>, feature: Option<String>) -> Task {
    Task { id, feature, ..Task::default() }
}

fn described(title: &str, attempt: &Attempt) -> String {
    let sections = &attempt.sections;
    let parts = [title, attempt.error_line().unwrap_or_default(), &sections.why_failed, &sections.retry_suggestion];
    parts.map(|part| &part[..floor(part, MAX_PART)]).join("\n")
}

/// Returns the entry about each failure, if there is one, in the order of the failures and without repetition. If a
/// search fails, it finds none.
pub(super) fn remedies(
    workspace: &Workspace,
    views: &[View],
    snapshot: &Snapshot,
    failures: &[CurrentFailure],
) -> Vec<Id> {
    let mut found = Vec::new();
    for CurrentFailure { text, tasks } in failures {
        let query = Query { more: text.clone(), kind: Some(Kind::Knowledge), ..Query::default() };
        // An event says what happened, not what to do.
        let concerns = |head: &Head| {
            class(head.category.as_deref()) != Class::Event && tasks.iter().any(|task| task.sees(&head.scope))
        };
        let is_about = |hit: &Hit| hit.evidence.words >= LEAST_WORDS && hit.evidence.share >= LEAST_SHARE;
        let hits = hits(workspace, views, (snapshot, &Statistics::default()), &query, None, MAX_HITS, &concerns)
            .unwrap_or_default();
        let best = hits.into_iter().find(is_about).map(|hit| hit.entry.id);
        found.extend(best.filter(|id| !found.contains(id)));
        if found.len() == MAX_REMEDIES {
            break;
        }
    }
    found
}
