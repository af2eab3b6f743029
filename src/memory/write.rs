//! Writing knowledge: adding, replacing, superseding, restoring.

use std::collections::HashSet;

use serde::Serialize;

use super::Memory;
use crate::catalog::{Area, Catalog, RowId};
use crate::dedup;
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::{Class, Knowledge, class, timestamp};
use crate::entry::path::{display_path, memory_relative};
use crate::entry::{Id, Kind};
use crate::error::{Error, Problem, Result};
use crate::retrieve::superseded;
use crate::store::{Created, Lock, stem_for_title, version_of};
use crate::text::fold;
use crate::workspace::{Workspace, no_such_entry, unlisted};

/// How often an entry is read again when an editor saves it at the same time.
const ATTEMPTS: usize = 3;

/// What adding knowledge did to the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// A new entry was made.
    Created,
    /// An entry that said the same was brought up to date; its old version is in the archive.
    Updated,
    /// An entry says exactly this already.
    Unchanged,
}

impl Action {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Created => "created",
            Action::Updated => "updated",
            Action::Unchanged => "unchanged",
        }
    }
}

/// What [`Memory::add`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Added {
    /// The entry.
    pub id: Id,
    /// Its title.
    pub title: String,
    /// What was done.
    pub action: Action,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// Where the version that was replaced is now.
    pub archived: Option<String>,
    /// Of a new entry, the ids of those that are most like it by title, tags and body, the nearest first: where it says
    /// the same, one may replace the other.
    pub similar: Vec<Id>,
    /// What happened on the way that a person should look at.
    pub problems: Vec<Problem>,
}

/// What [`Memory::supersede`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Superseded {
    /// Whether anything had to be written.
    pub changed: bool,
    /// What happened on the way that a person should look at.
    pub problems: Vec<Problem>,
}

/// What [`Memory::restore`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The entry that is live again.
    pub id: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// Where it came from.
    pub from: String,
    /// Whether a live entry was in its place and is now where it came from.
    pub exchanged: bool,
    /// What happened on the way that a person should look at.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

impl Memory {
    /// Writes knowledge down: as a new entry, or into the one that says the same.
    ///
    /// An entry says the same when its scope and the title that its writer gave it are equal, or when the new body says
    /// what it said (see [`dedup::is_same`]). It then gets the new title, body, tags and other keys, and its old
    /// version goes to the archive first. Anything else is a new entry, and the answer names those that are like it.
    /// Of an event, which is knowledge of one of
    /// [these categories](crate::entry::knowledge::EVENTS), nothing is brought up to date: one that is
    /// told already is left as it is, and any other is a file of its own below `knowledge/events/`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where title, tags or body are missing, or where an agent's knowledge has characters that
    /// [no reader sees](crate::text::invisible()), [`Error::Secret`] where something looks like a
    /// secret that [`Memory::allow_secrets`] or the settings do not let pass, [`Error::Locked`] where another
    /// process kept writing, [`Error::Conflict`] where an editor did, [`Error::Uneditable`] where the
    /// entry's frontmatter cannot be edited without harm, and [`Error::Io`].
    pub fn add(&self, knowledge: &Knowledge) -> Result<Added> {
        let mut added = self.add_unembedded(knowledge)?;
        if added.action != Action::Unchanged {
            added.problems.extend(self.embed_written(&[memory_relative(&added.path).to_owned()]));
        }
        Ok(added)
    }

    /// Does what [`Memory::add`] does, but for the vectors.
    pub(super) fn add_unembedded(&self, knowledge: &Knowledge) -> Result<Added> {
        // As it was given: small letters would hide what a tag is.
        self.refuse_secrets(knowledge)?;
        Workspace::refuse_invisible(knowledge)?;
        let knowledge = knowledge.normalised()?;
        let lock = self.lock_entries()?;
        let mut attempt = 1;
        let (mut added, pending) = loop {
            let pending = self.begin_write();
            let catalog = &pending.catalog;
            let (same, similar) = self.same(catalog, &knowledge);
            let result = match same {
                Some(row) if is_event(&knowledge) => unchanged(catalog, row),
                Some(row) => self.update(&lock, catalog, row, &knowledge),
                None => self.create(&lock, catalog, &knowledge).map(|added| Added { similar, ..added }),
            };
            match result {
                Err(Error::Conflict { kept: None, .. }) if attempt < ATTEMPTS => attempt += 1,
                result => break (result?, pending),
            }
        };
        if added.action != Action::Unchanged {
            self.commit_written(pending, memory_relative(&added.path));
            added.problems.extend(lock.settled(&[self.root().join(&added.path)]));
            added.problems.extend(Workspace::warn_of_invisible(&knowledge, &added.path));
        }
        Ok(added)
    }

    /// Returns the row of the entry that says what the knowledge says, and the ids of those that are like it. What is
    /// hidden from searches is not brought up to date, since nobody would find it.
    fn same(&self, catalog: &Catalog, knowledge: &Knowledge) -> (Option<RowId>, Vec<Id>) {
        let now = self.now();
        let superseded = superseded(&[catalog], now);
        // One head at a time: all of them together take more memory than the rest of the call.
        let heads = catalog
            .knowledge_rows()
            .filter(|row| catalog.is_indexable(*row) && catalog.is_event(*row) == is_event(knowledge))
            .filter(|row| superseded.is_empty() || catalog.id(*row).is_none_or(|id| !superseded.contains(&id)))
            .map(|row| (row, catalog.head(row)))
            .filter(|(_, head)| !head.is_expired(now));
        if is_event(knowledge) {
            return (dedup::find_event(knowledge, heads), Vec::new());
        }
        let found = dedup::find(knowledge, heads);
        for candidate in found.candidates {
            // What went or changed in the meantime says nothing by now.
            let Ok((_, entry)) = self.read_entry(&catalog.path(candidate.key)) else { continue };
            if dedup::is_same(knowledge, &candidate, &entry.head.title, &entry.body) {
                return (Some(candidate.key), Vec::new());
            }
        }
        (
            None,
            found
                .similar
                .into_iter()
                .filter_map(|row| catalog.id(row))
                .filter(|id| !knowledge.supersedes.contains(id))
                .collect(),
        )
    }

    fn create(&self, lock: &Lock, catalog: &Catalog, knowledge: &Knowledge) -> Result<Added> {
        let file = knowledge.to_file(self.now());
        let mut taken: HashSet<String> = self.archived_stems("archive/knowledge").into_iter().collect();
        // What happened is found by its day.
        let (folder, name) = if is_event(knowledge) {
            ("knowledge/events", format!("{} {}", self.now().format("%Y-%m-%d"), knowledge.title))
        } else {
            ("knowledge", knowledge.title.clone())
        };
        loop {
            let is_taken = |stem: &str| {
                let id = Id::parse(&format!("knowledge/{stem}"));
                taken.contains(stem) || id.is_some_and(|id| catalog.row_of_id(&id).is_some())
            };
            let stem = stem_for_title(&name, &is_taken);
            let path = format!("{folder}/{stem}.md");
            // A name can be taken by what is no entry: a folder, a link.
            if self.store.create(lock, &path, file.as_bytes())? == Created::Exists {
                taken.insert(stem);
                continue;
            }
            let id = Id::of_path(&path).ok_or_else(|| Error::OutsideRoot { path: path.clone().into() })?;
            let title = knowledge.title.clone();
            return Ok(Added {
                id,
                title,
                action: Action::Created,
                path: display_path(&path),
                archived: None,
                similar: Vec::new(),
                problems: Vec::new(),
            });
        }
    }

    fn update(&self, lock: &Lock, catalog: &Catalog, row: RowId, knowledge: &Knowledge) -> Result<Added> {
        let (path, id) = (catalog.path(row), catalog.id(row));
        let id = id.ok_or_else(|| Error::OutsideRoot { path: path.clone().into() })?;
        let (text, entry) = self.read_entry(&path)?;
        let mut changes = knowledge.changes_to(&entry.head, &entry.body);
        changes.extend(knowledge.details_change(&text));
        if changes.is_empty() {
            return unchanged(catalog, row);
        }
        changes.push(Change::Set(edit::updated_key(&text), timestamp(self.now())));
        let edited =
            edit::apply(&text, &changes).map_err(|reason| Error::Uneditable { path: display_path(&path), reason })?;
        let archived = self.store.archive_copy(lock, &path, text.as_bytes(), self.now())?;
        let problems = self.replace(lock, &path, &text, &edited).inspect_err(|_| {
            // Nothing was replaced, so there is no old version. What cannot be removed is one too many.
            let _ = self.store.discard_copy(lock, &archived, text.as_bytes());
        })?;
        Ok(Added {
            id,
            title: if fold(&knowledge.title) == fold(&entry.head.title) {
                entry.head.title
            } else {
                knowledge.title.clone()
            },
            action: Action::Updated,
            path: display_path(&path),
            archived: Some(display_path(&archived)),
            similar: Vec::new(),
            problems,
        })
    }

    /// Writes into the entry `new` that it replaces the entry `old`, which is then found no more
    /// unless asked for.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchEntry`], [`Error::Invalid`] where both are the same or one is no knowledge, and
    /// those of [`Memory::add`].
    pub fn supersede(&self, old: &Id, new: &Id) -> Result<Superseded> {
        let invalid =
            |what: &str, reason: &str| Err(Error::Invalid { what: what.to_owned(), reason: reason.to_owned() });
        if old == new {
            return invalid("NEW", "an entry cannot replace itself");
        }
        if new.kind() != Kind::Knowledge {
            return invalid("NEW", "what a journal entry says never changes; name a knowledge entry");
        }
        let lock = self.lock_entries()?;
        let mut attempt = 1;
        loop {
            let pending = self.begin_write();
            match self.mark_superseded(&lock, &pending.catalog, old, new) {
                Err(Error::Conflict { kept: None, .. }) if attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
                Ok(None) => return Ok(Superseded { changed: false, problems: Vec::new() }),
                Ok(Some((path, mut problems))) => {
                    self.commit_written(pending, &path);
                    problems.extend(lock.settled(&[self.store.memory().join(&path)]));
                    return Ok(Superseded { changed: true, problems });
                }
            }
        }
    }

    /// Returns the path that was written and what happened on the way; `None` where all is said.
    fn mark_superseded(
        &self,
        lock: &Lock,
        catalog: &Catalog,
        old: &Id,
        new: &Id,
    ) -> Result<Option<(String, Vec<Problem>)>> {
        let row = catalog.row_of_id(new).ok_or_else(|| no_such_entry(&self.store, &[catalog], new))?;
        if catalog.row_of_id(old).is_none() {
            return Err(no_such_entry(&self.store, &[catalog], old));
        }
        let path = catalog.path(row);
        let (text, entry) = self.read_entry(&path)?;
        if entry.head.supersedes.contains(old) {
            return Ok(None);
        }
        let changes = [Change::AddItems("supersedes", vec![old.to_string()])];
        let edited =
            edit::apply(&text, &changes).map_err(|reason| Error::Uneditable { path: display_path(&path), reason })?;
        let problems = self.replace(lock, &path, &text, &edited)?;
        Ok(Some((path, problems)))
    }

    /// Brings an archived entry back. For the id of a live entry that has archived versions, it is
    /// the newest version. A live entry in the way changes places with it.
    ///
    /// # Errors
    ///
    /// [`Error::NotArchived`] where the archive has nothing under the id of a live entry,
    /// [`Error::NoSuchEntry`] where there is none at all, and those of the file system.
    pub fn restore(&self, id: &Id) -> Result<Restored> {
        let lock = self.lock_entries()?;
        let archive = self.catalog(Area::Archive);
        let live = self.catalog(Area::Live);
        // What stands where nobody can look may be a newer version, or be in the way.
        if let Some(error) = [&archive, &live].into_iter().find_map(|catalog| unlisted(&self.store, catalog)) {
            return Err(error);
        }
        let row = archive.row_of_id(id).or_else(|| newest_version(&archive, id));
        let row = row.ok_or_else(|| match live.row_of_id(id) {
            Some(_) => Error::NotArchived { id: id.to_string() },
            None => no_such_entry(&self.store, &[&archive, &live], id),
        })?;
        let from = archive.path(row);
        // By the file's own name, which may be in another form than its id.
        let path = from.strip_prefix("archive/").and_then(|path| path.strip_suffix(".md")).unwrap_or(&from);
        let (folder, stem) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = version_of(stem).map_or(stem, |(stem, ..)| stem);
        let to = format!("{folder}/{stem}.md");
        let target = Id::of_path(&to).ok_or_else(|| no_such_entry(&self.store, &[&archive, &live], id))?;
        let in_the_way = live.row_of_id(&target).map(|row| live.path(row));
        let exchanged = in_the_way.is_some();
        let to = if let Some(path) = in_the_way {
            self.store.swap(&lock, &from, &path)?;
            path
        } else {
            self.store.move_to(&lock, &from, &to)?;
            to
        };
        self.commit_moved();
        let problems = lock.settled(&[self.store.memory().join(&to)]).into_iter().collect();
        Ok(Restored { id: target, path: display_path(&to), from: display_path(&from), exchanged, problems })
    }

    /// Returns the stems of the entry files below a folder of the archive. Names alone are looked at:
    /// the archive may be large, and a new entry only needs a name that is free.
    fn archived_stems(&self, folder: &str) -> Vec<String> {
        let Ok(open) = self.store.folder(folder) else { return Vec::new() };
        let mut stems = Vec::new();
        for name in open.names().unwrap_or_default() {
            let Some(name) = name.to_str() else { continue };
            match name.strip_suffix(".md") {
                Some(stem) => stems.push(stem.to_owned()),
                None => stems.extend(self.archived_stems(&format!("{folder}/{name}"))),
            }
        }
        stems
    }
}

fn is_event(knowledge: &Knowledge) -> bool {
    class(knowledge.category.as_deref()) == Class::Event
}

/// Says that an entry says exactly this already.
fn unchanged(catalog: &Catalog, row: RowId) -> Result<Added> {
    let path = catalog.path(row);
    let id = catalog.id(row).ok_or_else(|| Error::OutsideRoot { path: path.clone().into() })?;
    let title = catalog.head(row).title;
    Ok(Added {
        id,
        title,
        action: Action::Unchanged,
        path: display_path(&path),
        archived: None,
        similar: Vec::new(),
        problems: Vec::new(),
    })
}

/// Returns the row of the newest archived version of the entry with this id.
fn newest_version(archive: &Catalog, id: &Id) -> Option<RowId> {
    let versions = archive.rows().filter_map(|row| {
        let archived = archive.id(row)?;
        let (stem, time, number) = version_of(archived.stem())?;
        let is_of_it =
            stem == id.stem() && archived.as_str().strip_suffix(archived.stem()) == id.as_str().strip_suffix(id.stem());
        is_of_it.then(|| (time.to_owned(), number, row))
    });
    versions.max().map(|(_, _, row)| row)
}
