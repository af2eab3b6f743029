//! Events and scopes: what happened, and whom it concerns.

use std::collections::HashSet;

use serde::Serialize;

use super::Memory;
use super::write::Added;
use crate::catalog::{Catalog, RowId};
use crate::context::{self, Task};
use crate::entry::attempt::Attempt;
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::timestamp;
use crate::entry::path::display_path;
use crate::entry::{Event, Head, Id, Kind, Outcome, Scope};
use crate::error::{Error, Problem, Result};
use crate::history::NO_REPORT;
use crate::journal::{attempt, summaries};
use crate::retention;
use crate::retrieve::superseded;
use crate::text::{fold, shorten};
use crate::workspace::no_such_entry;

/// How often an entry is read again when an editor saves it at the same time.
const ATTEMPTS: usize = 3;

/// How important an event is of which nobody said it.
const IMPORTANCE: u8 = 50;
/// How much of each thing that an attempt said is told to other tasks, in characters.
const SAID_CHARACTERS: usize = 300;

/// What [`Memory::promote`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Promoted {
    /// The entry.
    pub id: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// Whom it concerned before.
    pub from: Scope,
    /// Whom it concerns now.
    pub to: Scope,
    /// Whether anything had to be written.
    pub changed: bool,
    /// What happened on the way that a person should look at.
    pub problems: Vec<Problem>,
}

impl Memory {
    /// Notes an event: as a file of its own, unless a live one of the same scope and sort says the same
    /// in the same words.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where it is no event or its summary is empty or over
    /// [`MAX_SUMMARY`](crate::entry::MAX_SUMMARY), and those of [`Memory::add`].
    pub fn note(&self, event: &Event) -> Result<Added> {
        self.add(&event.to_knowledge()?)
    }

    /// Says whom an entry concerns from now on, such as the project instead of one task.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the scope is unknown or the entry is none of knowledge,
    /// [`Error::NoSuchEntry`], and those of [`Memory::add`].
    pub fn promote(&self, id: &Id, scope: &Scope) -> Result<Promoted> {
        let invalid = |what: &str, reason: String| Err(Error::Invalid { what: what.to_owned(), reason });
        if let Scope::Unknown(scope) = scope {
            let reason = format!("`{scope}` is none of `project`, `feature:NAME`, `section:ID` and `task:ID`");
            return invalid("scope", reason);
        }
        self.refuse_secrets_in("scope", &scope.to_string())?;
        if id.kind() != Kind::Knowledge {
            return invalid("ID", "what a journal entry says never changes; name a knowledge entry".to_owned());
        }
        let lock = self.lock_entries()?;
        let mut attempt = 1;
        loop {
            let pending = self.begin_write();
            let row =
                pending.catalog.row_of_id(id).ok_or_else(|| no_such_entry(&self.store, &[&pending.catalog], id))?;
            let path = pending.catalog.path(row);
            let (text, entry) = self.read_entry(&path)?;
            let mut promoted = Promoted {
                id: id.clone(),
                path: display_path(&path),
                from: entry.head.scope,
                to: scope.clone(),
                changed: false,
                problems: Vec::new(),
            };
            if promoted.from == *scope {
                return Ok(promoted);
            }
            let scope = match scope {
                Scope::Project => Change::Remove("scope"),
                scope => Change::Set("scope", scope.to_string()),
            };
            let changes = [scope, Change::Set(edit::updated_key(&text), timestamp(self.now()))];
            let edited = edit::apply(&text, &changes)
                .map_err(|reason| Error::Uneditable { path: display_path(&path), reason })?;
            match self.replace(&lock, &path, &text, &edited) {
                Err(Error::Conflict { kept: None, .. }) if attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
                Ok(problems) => {
                    self.commit_written(pending, &path);
                    (promoted.changed, promoted.problems) = (true, problems);
                    promoted.problems.extend(lock.settled(&[self.store.memory().join(&path)]));
                    return Ok(promoted);
                }
            }
        }
    }

    /// Returns the live events that are beyond the caps.
    pub(super) fn beyond_caps(&self, live: &Catalog) -> HashSet<Id> {
        retention::beyond_caps(self.live_events(live).iter().map(|(_, id, head)| (id, head)), self.settings.events)
    }

    /// Returns the events that a task may see, as its context shows them.
    pub(super) fn events_for(&self, live: &Catalog, task: &Task) -> Vec<context::Event> {
        let events = self.live_events(live);
        let beyond = retention::beyond_caps(events.iter().map(|(_, id, head)| (id, head)), self.settings.events);
        let seen = events.into_iter().filter(|(_, id, head)| task.sees(&head.scope) && !beyond.contains(id));
        let event = |(row, id, head): (RowId, Id, Head)| {
            // A file that vanished since the scan is no longer known.
            let (_, entry) = self.read_entry(&live.path(row)).ok()?;
            Some(context::Event {
                id,
                recency: head.recency(),
                category: head.category.unwrap_or_default(),
                scope: head.scope,
                source: head.source,
                importance: head.importance,
                summary: entry.body,
            })
        };
        seen.filter_map(event).collect()
    }

    /// Returns what the journal tells a task of the others in its section, as events that nobody had to note: what was
    /// submitted, what was rejected and why, what was approved. Together with `n_noted` events of the section they are
    /// no more than its cap.
    pub(super) fn told_by_journal(&self, catalogs: &[&Catalog], task: &Task, n_noted: usize) -> Vec<context::Event> {
        let Some(section) = &task.section else { return Vec::new() };
        let room = self.settings.events.per_section.saturating_sub(n_noted);
        let own = task.own_id();
        let attempts = summaries(self.now(), catalogs, |catalog| catalog.rows_of_section(section));
        let mut said = HashSet::new();
        let told = attempts.into_iter().rev().filter_map(|past| {
            let attempt = attempt(&self.workspace, catalogs, &past.id)
                .filter(|attempt| attempt.task_id.as_ref() != Some(&own))?;
            let (category, summary) = event_of(&attempt)?;
            // A rejection that says the same of the same task is one.
            said.insert((attempt.task_id.clone(), category, fold(&summary))).then(|| context::Event {
                id: past.id,
                category: category.to_owned(),
                scope: Scope::Section(section.clone()),
                source: attempt.source,
                importance: IMPORTANCE,
                recency: Some(attempt.started_at),
                summary,
            })
        });
        told.take(room).collect()
    }

    /// Returns the live events that count: valid, not expired, and not replaced.
    fn live_events(&self, live: &Catalog) -> Vec<(RowId, Id, Head)> {
        let mut rows = live.knowledge_rows().filter(|row| live.is_event(*row) && live.is_indexable(*row)).peekable();
        if rows.peek().is_none() {
            return Vec::new();
        }
        let now = self.now();
        let superseded = superseded(&[live], now);
        rows.filter_map(|row| Some((row, live.id(row)?, live.head(row).as_of(now))))
            .filter(|(_, id, head)| head.valid && !head.is_expired(now) && !superseded.contains(id))
            .collect()
    }
}

/// Returns which sort of event an attempt is to the other tasks of its section, and what is told of it; `None` where it
/// says nothing of the task, as one that was interrupted.
fn event_of(attempt: &Attempt) -> Option<(&'static str, String)> {
    let (head, sections) = (&attempt.head, &attempt.sections);
    let verified = head.validation.as_ref();
    let some = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then(|| shorten(&text, SAID_CHARACTERS))
    };
    let why = || some(&sections.why).filter(|why| why != NO_REPORT).map(|why| format!("Why it failed: {why}"));
    let notes = || some(&sections.notes).or_else(|| some(&sections.summary));
    let (category, said) = match head.outcome {
        Outcome::Done => match verified {
            Some(verified) => ("approval", vec![Some(format!("`{}` passed.", verified.command)), notes()]),
            None => ("submission", vec![notes()]),
        },
        Outcome::Retried => {
            let refuted = verified.map(|by| format!("`{}` ended with {}.", by.command, by.exit_code));
            ("rejection", vec![refuted, some(&sections.feedback), why()])
        }
        // Part of it was done.
        Outcome::Partial => ("submission", vec![notes()]),
        Outcome::Failed | Outcome::Blocked => {
            let tried = some(&sections.tried).map(|tried| format!("Tried: {tried}"));
            ("rejection", vec![some(&sections.feedback), tried, why()])
        }
        Outcome::Interrupted | Outcome::Error => return None,
    };
    let next = some(&sections.retry_suggestion).filter(|_| head.outcome != Outcome::Done);
    let next = next.map(|next| format!("Suggested instead: {next}"));
    let mut said: Vec<String> = said.into_iter().chain([next]).flatten().collect();
    for sentence in &mut said {
        if !sentence.ends_with(['.', '!', '?', '…', '。']) {
            sentence.push('.');
        }
    }
    // That something failed, without a word of why, helps nobody.
    let is_told = !said.is_empty() || head.outcome == Outcome::Done;
    is_told.then(|| (category, [&[format!("{}:", attempt.task_title)], &said[..]].concat().join(" ")))
}
