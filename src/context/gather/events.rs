//! Events: what happened, and which tasks see it.
//!
//! Some are entries. Others are derived from the journal's attempts at the other tasks of a section.

use std::collections::HashSet;

use crate::context::{ShownEvent, Task};
use crate::entry::{Attempt, AttemptHead, Head, Id, Outcome, Scope};
use crate::index::catalog::{Catalog, RowId};
use crate::journal;
use crate::knowledge::live_events;
use crate::search::retrieve::beyond_caps;
use crate::text::{event_words, shorten};
use crate::workspace::Workspace;

/// The importance of a derived event.
const IMPORTANCE: u8 = 50;
/// How much of each section of an attempt other tasks see, in characters.
const QUOTE_CHARACTERS: usize = 300;
/// How many of the files that a submission changed other tasks see.
const MAX_CHANGED: usize = 10;
/// How much of the name of a tree or a commit is shown, in characters.
const SHORT_ID: usize = 12;

/// Returns the events that a task may see, within the limits, in the form for its context, and those over the limits. It is
/// about the `relevant` ones, the best first.
pub(super) fn events_for(
    workspace: &Workspace,
    live: &Catalog,
    task: &Task,
    relevant: &[Id],
) -> (Vec<ShownEvent>, Vec<Id>) {
    let mut events = live_events(workspace, live);
    events.retain(|(.., head)| task.sees(&head.scope));
    let beyond = beyond_caps(events.iter().map(|(_, id, head)| (id, head)), relevant, workspace.settings.events);
    let (over, seen): (Vec<_>, Vec<_>) = events.into_iter().partition(|(_, id, _)| beyond.contains(id));
    let event = |(row, id, head): (RowId, Id, Head)| {
        // A file that vanished since the scan is no longer known.
        let (_, entry) = workspace.read_entry(&live.path(row)).ok()?;
        Some(ShownEvent {
            is_relevant: relevant.contains(&id),
            id,
            importance: head.weight(),
            recency: head.recency(),
            category: head.category.unwrap_or_default(),
            scope: head.scope,
            source: head.source,
            title: head.title,
            summary: entry.body,
        })
    };
    (seen.into_iter().filter_map(event).collect(), over.into_iter().rev().map(|(_, id, _)| id).collect())
}

/// Returns the attempts at the other tasks of a task's section, as derived events: submissions, rejections with their
/// reason, approvals. Together with the `n_noted` events of the section, they do not exceed its limit.
pub(super) fn journal_events(
    workspace: &Workspace,
    catalogs: &[&Catalog],
    task: &Task,
    n_noted: usize,
) -> Vec<ShownEvent> {
    let Some(section) = &task.section else { return Vec::new() };
    let room = workspace.settings.events.per_section.saturating_sub(n_noted);
    let own = task.own_id();
    let attempts = journal::summaries(workspace.now(), catalogs, |catalog| catalog.rows_of_section(section));
    let mut seen = HashSet::new();
    let events = attempts.into_iter().rev().filter_map(|past| {
        let attempt =
            journal::attempt(workspace, catalogs, &past.id).filter(|attempt| attempt.task_id.as_ref() != Some(&own))?;
        let (category, summary) = event_of(&attempt)?;
        // Equal rejections of the same task count as one.
        seen.insert((attempt.task_id.clone(), category, event_words("", &summary))).then(|| ShownEvent {
            id: past.id,
            category: category.to_owned(),
            scope: Scope::Section(section.clone()),
            source: attempt.source,
            is_relevant: false,
            importance: IMPORTANCE,
            title: String::new(),
            recency: Some(attempt.started_at),
            summary,
        })
    });
    events.take(room).collect()
}

/// Returns what a submission changed, and the commit that it left.
fn changed(head: &AttemptHead) -> Option<String> {
    let files: Vec<&String> = head.files.created.iter().chain(&head.files.modified).collect();
    let shown: Vec<&str> = files.iter().take(MAX_CHANGED).map(|path| path.as_str()).collect();
    let more = files.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = (!shown.is_empty()).then(|| format!("changed {}{more}", shown.join(", ")));
    let commit =
        head.commit.as_ref().and_then(|commit| commit.get(..SHORT_ID)).map(|commit| format!("commit {commit}"));
    let parts: Vec<String> = commit.into_iter().chain(shown).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the kind of event that an attempt is for the other tasks of its section, and its summary; `None` if the
/// attempt says nothing about its task, such as an interrupted one.
fn event_of(attempt: &Attempt) -> Option<(&'static str, String)> {
    let (head, sections) = (&attempt.head, &attempt.sections);
    let verified = head.validation.as_ref();
    let some = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then(|| shorten(&text, QUOTE_CHARACTERS))
    };
    let why = || sections.told_why().and_then(some).map(|why| format!("Why it failed: {why}"));
    let notes = || some(&sections.notes).or_else(|| some(&sections.summary));
    let (category, sentences) = match head.outcome {
        Outcome::Done => match verified {
            Some(verified) => ("approval", vec![Some(format!("`{}` passed.", verified.command)), notes()]),
            None => ("submission", vec![notes(), changed(head)]),
        },
        Outcome::Retried => {
            let line = attempt.error_line().and_then(some).map(|line| format!(": {line}")).unwrap_or_default();
            let refuted = verified.map(|by| format!("`{}` ended with {}{line}", by.command, by.exit_code));
            ("rejection", vec![refuted, some(&sections.feedback), why()])
        }
        // Part of it was done.
        Outcome::Partial => ("submission", vec![notes(), changed(head)]),
        Outcome::Failed | Outcome::Blocked => {
            let tried = some(&sections.what_tried).map(|tried| format!("Tried: {tried}"));
            ("rejection", vec![some(&sections.feedback), tried, why()])
        }
        Outcome::Interrupted | Outcome::Error => return None,
    };
    let next = some(&sections.retry_suggestion).filter(|_| head.outcome != Outcome::Done);
    let next = next.map(|next| format!("Suggested instead: {next}"));
    let mut sentences: Vec<String> = sentences.into_iter().chain([next]).flatten().collect();
    for sentence in &mut sentences {
        if !sentence.ends_with(['.', '!', '?', '…', '。']) {
            sentence.push('.');
        }
    }
    // A failure without a reason is of no use.
    let is_of_use = !sentences.is_empty() || head.outcome == Outcome::Done;
    is_of_use.then(|| (category, [&[format!("{}:", attempt.task_title)], &sentences[..]].concat().join(" ")))
}
