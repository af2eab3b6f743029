//! Tending: what is over, one too many or like another goes to the archive, when that is asked for.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::Memory;
use super::outside::Writing;
use super::runs::pasts;
use super::write::shown;
use crate::catalog::{Area, Catalog};
use crate::entry::knowledge::{Class, class};
use crate::entry::{Id, Kind};
use crate::error::{Error, Problem, Result, Severity};
use crate::retention::{self, Item, Learning, Reason, Record, Replacement};
use crate::retrieve::{replacements, superseded};
use crate::store::{Created, Lock, archived_path};

/// An entry that went to the archive, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// The entry.
    pub id: Id,
    /// Where it was, relative to the folder that holds `.ralph/`.
    pub from: String,
    /// Where it is now.
    pub to: String,
    /// Why; nothing of one that became part of another, which [`Tended::merged`] names.
    pub reason: Option<Reason>,
}

/// Learnings that became one, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// The one that has what the others said.
    pub into: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// Where its version before is.
    pub archived: String,
    /// The others.
    pub ids: Vec<Id>,
}

/// What [`Memory::prune`] or [`Memory::consolidate`] did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tended {
    /// What went to the archive.
    pub moved: Vec<Moved>,
    /// What became one.
    pub merged: Vec<Merged>,
    /// What happened on the way that a person should look at.
    pub problems: Vec<Problem>,
}

/// The names in the archive, those that are about to be taken included.
struct Taken(BTreeSet<String>);

impl Taken {
    fn of(archive: &Catalog) -> Taken {
        Taken(archive.rows().map(|row| archive.path(row)).collect())
    }

    /// Returns where the file at `path` goes; a version of it where it is kept beside.
    fn path(&mut self, path: &str, is_version: bool, now: chrono::DateTime<chrono::Utc>) -> String {
        let path = archived_path(path, is_version, now, &|path| self.0.contains(path));
        self.0.insert(path.clone());
        path
    }
}

impl Memory {
    /// Moves to the archive what the settings say is over, one too many or without use; with `dry_run`
    /// it only says what that would be, in the same words. Nothing is deleted: [`Memory::restore`]
    /// brings everything back.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] where another process kept writing, and [`Error::Io`]; what was moved until then
    /// stays moved, and calling again goes on.
    pub fn prune(&self, dry_run: bool) -> Result<Tended> {
        let lock = self.lock_to_tend(dry_run)?;
        let (live, archive) = (self.catalog(Area::Live), self.catalog(Area::Archive));
        let now = self.now();
        let items: Vec<Item> = live
            .rows()
            .filter(|row| live.is_indexable(*row))
            .filter_map(|row| Some(Item { id: live.id(row)?, path: live.path(row), head: live.head(row) }))
            .collect();
        let catalogs = [&live, &archive];
        let tasks = catalogs.iter().flat_map(|catalog| {
            catalog.journal_rows().filter_map(|row| Some((catalog.id(row)?, catalog.head(row).task_id?)))
        });
        let mut replaced: HashMap<Id, Vec<Replacement>> = HashMap::new();
        let hidden = superseded(&[&live], now);
        for (new, old) in replacements(&[&live], now) {
            let written = live.row_of_id(&new).and_then(|row| live.head(row).recency());
            if hidden.contains(&old) && new != old {
                replaced.entry(old).or_default().push(Replacement { by: new, written });
            }
        }
        let record = Record {
            attempts: pasts(&catalogs, |catalog| catalog.journal_rows().collect()),
            tasks: tasks.collect(),
            superseded: replaced,
        };
        let moves = retention::prune(&items, &record, now, &self.settings.tending, self.settings.events);
        let mut taken = Taken::of(&archive);
        let mut tended = Tended::default();
        for planned in moves {
            let to = taken.path(&planned.path, false, now);
            let moved =
                Moved { id: planned.id, from: shown(&planned.path), to: shown(&to), reason: Some(planned.reason) };
            self.move_planned(lock.as_deref(), &planned.path, &to, moved, &mut tended)?;
        }
        self.commit_tended(lock.as_ref(), &mut tended);
        Ok(tended)
    }

    /// Makes one of learnings that are alike, where there are more than the settings say; with `dry_run` it
    /// only says what that would be, in the same words. The others, and the newest as it was, go to the
    /// archive.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::prune`]. What became part of another and could not be moved is superseded, so that
    /// nobody is told it twice, and goes with a later [`Memory::prune`].
    pub fn consolidate(&self, dry_run: bool) -> Result<Tended> {
        let lock = self.lock_to_tend(dry_run)?;
        let (live, archive) = (self.catalog(Area::Live), self.catalog(Area::Archive));
        let now = self.now();
        let superseded = superseded(&[&live], now);
        let is_learning = |head: &crate::entry::Head, id: &Id| {
            head.kind == Kind::Knowledge
                && head.valid
                && class(head.category.as_deref()) == Class::Learning
                && !head.is_expired(now)
                && !superseded.contains(id)
        };
        let learnings: Vec<Learning> = live
            .knowledge_rows()
            .filter(|row| live.is_indexable(*row))
            .filter_map(|row| {
                let (id, path) = (live.id(row)?, live.path(row));
                if !is_learning(&live.head(row), &id) {
                    return None;
                }
                // What vanished since the scan, or is read in another way now, is left alone.
                let (text, entry) = self.read_entry(&path).ok()?;
                is_learning(&entry.head, &id).then_some(Learning { id, path, text, entry })
            })
            .collect();
        let merges = retention::consolidate(&learnings, self.settings.tending.learnings, now);
        let mut taken = Taken::of(&archive);
        let mut tended = Tended::default();
        for merge in merges {
            let archived = taken.path(&merge.path, true, now);
            let others: Vec<(Id, String, String)> = merge
                .others
                .iter()
                .map(|(id, path)| (id.clone(), path.clone(), taken.path(path, false, now)))
                .collect();
            if let Some(lock) = &lock {
                // First what is replaced is kept, then what replaces it is written, and only then goes what
                // it stands for: whatever a crash cuts off, every statement is in a file.
                if self.store.create(lock, &archived, merge.old.as_bytes())? == Created::Exists {
                    tended.problems.push(skipped(&merge.path, "the name of its version is taken"));
                    continue;
                }
                match self.replace(lock, &merge.path, &merge.old, &merge.new) {
                    Ok(problems) => tended.problems.extend(problems),
                    Err(Error::Conflict { kept: None, .. }) => {
                        let _ = self.store.discard_copy(lock, &archived, merge.old.as_bytes());
                        tended.problems.push(skipped(&merge.path, "another program saved it at the same moment"));
                        continue;
                    }
                    Err(error) => {
                        // Nothing was replaced, so there is no old version.
                        let _ = self.store.discard_copy(lock, &archived, merge.old.as_bytes());
                        return Err(error);
                    }
                }
            }
            let ids = others.iter().map(|(id, ..)| id.clone()).collect();
            tended.merged.push(Merged {
                into: merge.into.clone(),
                path: shown(&merge.path),
                archived: shown(&archived),
                ids,
            });
            for (id, from, to) in others {
                // An editor may have saved it since it was read: then it says more than what was taken over.
                let read =
                    learnings.iter().find(|learning| learning.path == from).map(|learning| learning.text.as_bytes());
                let is_same = || self.store.read(&from).is_ok_and(|file| Some(file.bytes.as_slice()) == read);
                if lock.is_some() && !is_same() {
                    tended.problems.push(skipped(&from, "another program saved it at the same moment"));
                    continue;
                }
                let moved = Moved { id, from: shown(&from), to: shown(&to), reason: None };
                self.move_planned(lock.as_deref(), &from, &to, moved, &mut tended)?;
            }
        }
        self.commit_tended(lock.as_ref(), &mut tended);
        Ok(tended)
    }

    /// Returns the lock under which files are moved; none where nothing is to be done.
    fn lock_to_tend(&self, dry_run: bool) -> Result<Option<Writing>> {
        if dry_run { Ok(None) } else { self.lock_entries().map(Some) }
    }

    /// Moves a file as planned; what went or came in the meantime is told, and stops nothing.
    fn move_planned(&self, lock: Option<&Lock>, from: &str, to: &str, moved: Moved, tended: &mut Tended) -> Result<()> {
        match lock.map_or(Ok(()), |lock| self.store.move_to(lock, from, to)) {
            Ok(()) => tended.moved.push(moved),
            Err(Error::Conflict { .. }) => {
                tended.problems.push(skipped(from, "its name in the archive was taken in the meantime"));
            }
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                tended.problems.push(skipped(from, "it is gone"));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn commit_tended(&self, lock: Option<&Writing>, tended: &mut Tended) {
        if let Some(lock) = lock.filter(|_| !(tended.moved.is_empty() && tended.merged.is_empty())) {
            self.commit_moved();
            tended.problems.extend(lock.settled(&[]));
        }
    }
}

/// Says that a file was left as it is.
fn skipped(path: &str, reason: &str) -> Problem {
    Problem {
        path: shown(path),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: "skipped".to_owned(),
        message: format!("left as it is: {reason}"),
        hint: "the next call looks at it again".to_owned(),
    }
}
