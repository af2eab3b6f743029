//! Events and scopes: what happened, and whom it concerns.

use std::collections::HashSet;

use serde::Serialize;

use super::Memory;
use super::write::{Added, no_such_entry, shown};
use crate::catalog::{Catalog, RowId};
use crate::context::{self, Task};
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::timestamp;
use crate::entry::{Event, Head, Id, Kind, Scope};
use crate::error::{Error, Problem, Result};
use crate::retention;
use crate::retrieve::superseded;

/// How often an entry is read again when an editor saves it at the same time.
const ATTEMPTS: usize = 3;

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
                path: shown(&path),
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
            let edited =
                edit::apply(&text, &changes).map_err(|reason| Error::Uneditable { path: shown(&path), reason })?;
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
