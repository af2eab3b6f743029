//! Adding knowledge: as a new entry, or as an update of the entry that states the same.
//!
//! This module finds that entry, and a name for a new one.

use std::collections::HashSet;

use chrono::{DateTime, Utc};

use super::rejected::{rejected, says_now};
use super::supersede::refuse_circle;
use super::tags;
use super::write::{archived_stems, edited, located, write_entry};
use super::written::{WriteAction, Written};
use crate::entry::edit::{self, Change};
use crate::entry::imported::IMPORTED;
use crate::entry::knowledge::{Class, Knowledge, PROPOSED, class, timestamp};
use crate::entry::read::{UNKNOWN_CATEGORY, misspelt_category};
use crate::entry::written::{had_body, is_same_body};
use crate::entry::{Head, Id, Source, frontmatter};
use crate::error::{Error, Problem, Result};
use crate::index::catalog::{Area, Catalog, RowId};
use crate::knowledge::dedup;
use crate::open::Memory;
use crate::search::retrieve::superseded;
use crate::store::{Created, Lock, stem_for_title};
use crate::text::{comparable, event_words};
use crate::workspace::Workspace;

impl Memory {
    /// Adds knowledge: as a new entry, or to the one that says the same.
    ///
    /// An entry says the same if its scope and the title that its writer gave it are equal, or if the new body says
    /// what it said (see `crate::knowledge::dedup`). It then gets the new title, body, tags and other keys; the undo
    /// log has its old text. Anything else is a new entry, and the answer names similar ones. Without tags, a new entry
    /// gets some, from its title and from the entries nearest to it.
    ///
    /// An event, which is knowledge of one of [these categories](crate::entry::knowledge::EVENTS), is never updated: one
    /// that is known already is left as it is, and any other becomes a file of its own below `knowledge/events/`.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory};
    /// use ralph_memory::memory::WriteAction;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// let memory = Memory::open(root)?;
    /// let knowledge = Knowledge::new("WAL mode", ["sqlite"], "Use `PRAGMA journal_mode = WAL`.");
    /// let added = memory.add(&knowledge)?;
    /// assert_eq!((added.action, added.path.as_str()), (WriteAction::Created, ".ralph/knowledge/wal-mode.md"));
    /// assert_eq!(memory.add(&knowledge)?.action, WriteAction::Unchanged);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// * [`Error::Invalid`] where title or body are missing, or where an agent's knowledge
    ///   has characters that no reader sees.
    /// * [`Error::Secret`] where something looks like a secret that neither
    ///   [`Memory::allow_secrets`] nor the settings allow.
    /// * [`Error::Locked`] where another process kept writing,
    ///   [`Error::Conflict`] where an editor did.
    /// * [`Error::Uneditable`] where the entry's frontmatter cannot be edited without harm.
    /// * [`Error::Io`].
    pub fn add(&self, knowledge: &Knowledge) -> Result<Written> {
        let _operation = self.operation("add");
        Ok(self.embedded(add(&self.workspace, knowledge)?))
    }

    /// Makes the vector of an entry whose text was written, and returns the problems with the others.
    pub(super) fn embedded(&self, mut written: Written) -> Written {
        if written.action != WriteAction::Unchanged {
            let path = written.path.as_relative().to_owned();
            written.problems.extend(self.semantic.embed_written(&self.workspace, &[path]));
        }
        written
    }
}

/// Adds knowledge, as `Memory::add` describes it, without its vectors.
pub(crate) fn add(workspace: &Workspace, knowledge: &Knowledge) -> Result<Written> {
    if knowledge.source.is_person() && !workspace.store.author.is_person() {
        return Err(Error::invalid("source", "an agent cannot write as a person"));
    }
    // The original text: lower case would hide the kind of a tag.
    workspace.refuse_secrets(knowledge)?;
    Workspace::refuse_invisible(knowledge)?;
    let mut knowledge = knowledge.normalised()?;
    // It would keep what a person imports from there out.
    if let Some(details) = knowledge.details.as_mut().filter(|_| !knowledge.source.is_person()) {
        details.remove(IMPORTED);
    }
    let lock = workspace.lock_entries()?;
    let (mut added, git_problem) = write_entry(workspace, &lock, |catalog| {
        if let Some(row) = repeated(workspace, catalog, &knowledge)? {
            return Ok((unchanged(catalog, row)?, None));
        }
        let near = rejected_before(workspace, catalog, &knowledge)?;
        let knowledge = near.as_ref().map_or_else(|| knowledge.clone(), |_| proposed(&knowledge));
        let (same, similar) = find_same(workspace, catalog, &knowledge);
        let knowledge = &same.map_or_else(|| knowledge.clone(), |row| with_later_title(&catalog.head(row), &knowledge));
        let added = match same {
            Some(row) if is_event(knowledge) => unchanged(catalog, row),
            Some(row) => update(workspace, &lock, catalog, row, knowledge, Vec::new()),
            None => {
                let (knowledge, derived_tags) = tagged(workspace, catalog, knowledge)?;
                let added = create(workspace, &lock, catalog, &knowledge, None)?;
                Ok(Written { derived_tags, similar, ..added })
            }
        }?;
        let written = (added.action != WriteAction::Unchanged).then(|| added.path.clone());
        let suggested = suggested(catalog, knowledge, added.path.as_str());
        let proposed = near.map(|near| {
            let message = format!("it says nearly what a person rejected in `{near}`, so it is only proposed");
            let hint = "nobody is told until a person confirms it; `ralph-memory list --unreviewed` shows it to them";
            Problem::warning(added.path.as_str(), PROPOSED, message, hint)
        });
        let problems = added.problems.into_iter().chain(suggested).chain(proposed).collect();
        Ok((Written { problems, ..added }, written))
    })?;
    added.problems.extend(doubts(&knowledge, added.path.as_str(), workspace.now()));
    if added.action != WriteAction::Unchanged {
        added.problems.extend(git_problem);
        added.problems.extend(workspace.warn_of_ignored(&[added.path.as_relative()]));
        added.problems.extend(Workspace::warn_of_invisible(&knowledge, added.path.as_str()));
    }
    Ok(added)
}

/// Returns knowledge with tags, and those that were derived since its writer gave none. An event gets its category.
fn tagged(workspace: &Workspace, catalog: &Catalog, knowledge: &Knowledge) -> Result<(Knowledge, Vec<String>)> {
    let (tags, derived) = if !knowledge.tags.is_empty() {
        (knowledge.tags.clone(), Vec::new())
    } else if is_event(knowledge) {
        (knowledge.category.iter().cloned().collect(), Vec::new())
    } else {
        let tags = tags::derived(workspace, catalog, knowledge)?;
        (tags.clone(), tags)
    };
    Ok((Knowledge { tags, ..knowledge.clone() }, derived))
}

/// Returns knowledge with the title of the entry that states the same, if the entry had the knowledge's own title before it was
/// renamed: the writer has not heard of the later one.
fn with_later_title(entry: &Head, knowledge: &Knowledge) -> Knowledge {
    let had_title = entry.aliases.iter().any(|alias| comparable(alias) == comparable(&knowledge.title));
    let title = if had_title { entry.title.clone() } else { knowledge.title.clone() };
    Knowledge { title, ..knowledge.clone() }
}

/// Returns the result of an agent's request to replace people's entries.
fn suggested(catalog: &Catalog, knowledge: &Knowledge, path: &str) -> Option<Problem> {
    let is_of_person = |id: &&Id| catalog.row_of_id(id).is_some_and(|row| catalog.head(row).source.is_person());
    if knowledge.source.is_person() {
        return None;
    }
    let of_people: Vec<&Id> = knowledge.supersedes.iter().filter(is_of_person).collect();
    let (first, n_more) = (of_people.first()?, of_people.len() - 1);
    let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
    let message = format!("a person wrote `{first}`{more}: that this entry replaces it is recorded as a suggestion");
    let hint = "nothing is hidden until a person confirms it; `ralph-memory check` tells them how";
    Some(Problem::warning(path, "suggested-replacement", message, hint))
}

/// Returns warnings of values that are probably not meant.
fn doubts(knowledge: &Knowledge, path: &str, now: DateTime<Utc>) -> Vec<Problem> {
    let category = knowledge.category.as_deref().and_then(misspelt_category);
    let category = category.map(|(message, hint)| Problem::warning(path, UNKNOWN_CATEGORY, message, hint));
    let expired = knowledge.expires_at.filter(|at| *at <= now).map(|at| {
        let message = format!("it expired at {}, so contexts and searches leave it out", timestamp(at));
        Problem::warning(path, "already-expired", message, "give a time in the future, or leave it out")
    });
    category.into_iter().chain(expired).collect()
}

/// Returns the row of a person's entry that already says what an agent writes.
///
/// # Errors
///
/// [`Error::Outdated`] where an entry said it before: what a person corrected never comes back through an agent.
fn repeated(workspace: &Workspace, catalog: &Catalog, knowledge: &Knowledge) -> Result<Option<RowId>> {
    if knowledge.source.is_person() {
        return Ok(None);
    }
    let superseded = superseded(&[catalog], workspace.now());
    let rows = catalog.knowledge_rows().filter(|row| catalog.is_indexable(*row)).map(|row| (row, catalog.head(row)));
    let is_it = |head: &Head| dedup::may_repeat(knowledge, head) && !head.is_expired(workspace.now());
    for (row, head) in rows.filter(|(_, head)| is_it(head) && workspace.shows(head)) {
        // The file may be gone since the scan.
        let Ok((_, entry)) = workspace.read_entry(&catalog.path(row)) else { continue };
        let Some(id) = catalog.id(row) else { continue };
        let says_it = is_same_body(&entry.body, &knowledge.body);
        let reason = if superseded.contains(&id) {
            "another entry replaces it, which searches find".to_owned()
        } else if says_it && head.source.is_person() {
            return Ok(Some(row));
        } else if !says_it && had_body(&entry.head.fingerprints, &knowledge.body) {
            let what = if head.source.is_person() { "a person corrected it" } else { "it was replaced" };
            format!("{what}: {}", says_now(workspace, &entry))
        } else {
            continue;
        };
        return Err(Error::Outdated { id: id.to_string(), reason });
    }
    Ok(None)
}

/// Returns the entry that said nearly what an agent writes, before a person rejected it.
fn rejected_before(workspace: &Workspace, live: &Catalog, knowledge: &Knowledge) -> Result<Option<Id>> {
    if knowledge.source.is_person() {
        return Ok(None);
    }
    let said = (knowledge.title.as_str(), knowledge.body.as_str(), &knowledge.scope);
    rejected(workspace, [live, &workspace.catalog(Area::Archive)], said)
}

/// Returns what an agent writes as a proposal.
pub(crate) fn proposed(knowledge: &Knowledge) -> Knowledge {
    Knowledge { status: Some(PROPOSED.to_owned()), ..knowledge.clone() }
}

/// Returns the row of the entry that states the same as the knowledge, and the ids of similar ones. Entries that
/// searches hide are left out, since an update of them would not be found.
fn find_same(workspace: &Workspace, catalog: &Catalog, knowledge: &Knowledge) -> (Option<RowId>, Vec<Id>) {
    let now = workspace.now();
    let superseded = superseded(&[catalog], now);
    let superseded = &superseded;
    // One head at a time: all of them together take more memory than the rest of the call.
    let heads_of = |of_events: bool| {
        catalog
            .knowledge_rows()
            .filter(move |row| catalog.is_indexable(*row) && catalog.is_event(*row) == of_events)
            .filter(|row| superseded.is_empty() || catalog.id(*row).is_none_or(|id| !superseded.contains(&id)))
            .map(|row| (row, catalog.head(row)))
            .filter(|(_, head)| !head.is_expired(now) && workspace.shows(head))
    };
    let has_title = |(_, head): &&(RowId, Head)| comparable(&head.title) == comparable(&knowledge.title);
    let is_new = |id: &Id| !knowledge.supersedes.contains(id);
    let id_of = |(row, _): &(RowId, Head)| catalog.id(*row).filter(is_new);
    // A decision may have the title of a convention: they are never the same, and one may replace the other.
    let others = || heads_of(!is_event(knowledge)).filter(|head| has_title(&head)).filter_map(|head| id_of(&head));
    let heads = heads_of(is_event(knowledge));
    if is_event(knowledge) {
        let said = event_words(&knowledge.title, &knowledge.body);
        let says_so = |row: &RowId| {
            let entry = workspace.read_entry(&catalog.path(*row)).map(|(_, entry)| entry);
            entry.is_ok_and(|entry| event_words(&entry.head.title, &entry.body) == said)
        };
        let alike: Vec<(RowId, Head)> = heads.filter(|(_, head)| dedup::may_be_same_event(knowledge, head)).collect();
        // The same title with other words is another event, which may replace this one.
        let similar = alike.iter().filter(has_title).filter_map(id_of);
        return match alike.iter().map(|(row, _)| row).find(|row| says_so(row)) {
            Some(row) => (Some(*row), Vec::new()),
            None => (None, similar.chain(others()).collect()),
        };
    }
    let found = dedup::find(knowledge, heads);
    for candidate in found.candidates {
        // The file may be gone since the scan.
        let Ok((_, entry)) = workspace.read_entry(&catalog.path(candidate.key)) else { continue };
        if dedup::is_same(knowledge, &candidate, &entry.head.title, &entry.body) {
            return (Some(candidate.key), Vec::new());
        }
    }
    let similar = found.similar.into_iter().filter_map(|row| catalog.id(row)).filter(is_new);
    (None, similar.chain(others()).collect())
}

/// Writes a new entry under a free name, for knowledge that is normalised. It was `written` then, or now.
pub(crate) fn create(
    workspace: &Workspace,
    lock: &Lock,
    catalog: &Catalog,
    knowledge: &Knowledge,
    written: Option<DateTime<Utc>>,
) -> Result<Written> {
    let at = written.unwrap_or_else(|| workspace.now());
    let file = knowledge.to_file(at);
    let archived = archived_stems(workspace, "archive/knowledge");
    // Who replaces an entry that is gone does not replace the one that is written now.
    let rows = catalog.knowledge_rows().filter(|row| catalog.supersedes_any(*row));
    let replaced: Vec<Id> = rows.flat_map(|row| catalog.head(row).supersedes).collect();
    let taken = archived.iter().map(String::as_str).chain(replaced.iter().map(Id::stem));
    let mut taken: HashSet<String> = taken.map(str::to_ascii_lowercase).collect();
    // People look for an event by its day.
    let (folder, name) = if is_event(knowledge) {
        ("knowledge/events", format!("{} {}", at.format("%Y-%m-%d"), knowledge.title))
    } else {
        ("knowledge", knowledge.title.clone())
    };
    loop {
        let is_taken = |stem: &str| {
            let id = Id::parse(&format!("knowledge/{stem}"));
            taken.contains(stem)
                || catalog.rows_like(stem).next().is_some()
                || id.is_some_and(|id| !catalog.rows_of_name(&id).is_empty())
        };
        let stem = stem_for_title(&name, &is_taken);
        let path = format!("{folder}/{stem}.md");
        let id = Id::of_path(&path).ok_or_else(|| Error::OutsideRoot { path: path.clone().into() })?;
        // A folder or a link can have the name of an entry.
        if workspace.store.create(lock, &path, file.as_bytes())? == Created::Exists {
            taken.insert(stem);
            continue;
        }
        return Ok(Written::new(WriteAction::Created, id, knowledge.title.clone(), &path));
    }
}

/// Updates an entry with knowledge that is normalised. The changes `more` take the place of those of the same keys.
pub(crate) fn update(
    workspace: &Workspace,
    lock: &Lock,
    catalog: &Catalog,
    row: RowId,
    knowledge: &Knowledge,
    more: Vec<Change>,
) -> Result<Written> {
    let (path, id) = located(catalog, row)?;
    let (text, entry) = workspace.read_entry(&path)?;
    let is_new = |old: &&Id| !entry.head.supersedes.contains(old);
    let replaced: Vec<Id> = knowledge.supersedes.iter().filter(is_new).cloned().collect();
    refuse_circle(workspace, catalog, &id, &replaced)?;
    let mut changes = knowledge.changes_to(&entry.head, &entry.body);
    changes.extend(knowledge.details_change(&text));
    changes.retain(|change| change.key().is_none() || more.iter().all(|other| other.key() != change.key()));
    changes.extend(more);
    if knowledge.source.is_person() && !entry.head.source.is_person() {
        changes.push(Change::Set("source", Source::Human.as_str().into()));
    }
    if changes.is_empty() {
        return unchanged(catalog, row);
    }
    // The title of a note without one is in the text that it had.
    let is_titled = || frontmatter::fields_of(&text).is_some_and(|fields| fields.contains_key("title"));
    if changes.iter().any(|change| matches!(change, Change::Body(_)))
        && changes.iter().all(|change| change.key() != Some("title"))
        && !is_titled()
    {
        changes.push(Change::Set("title", knowledge.title.as_str().into()));
    }
    changes.push(Change::Set(edit::updated_key(&text), timestamp(workspace.now()).into()));
    let edited = edited(&path, &text, &changes, true)?;
    let problems = workspace.replace(lock, &path, &text, &edited)?;
    let has_title = comparable(&knowledge.title) == comparable(&entry.head.title);
    let title = if has_title { entry.head.title } else { knowledge.title.clone() };
    let removed = removed_lines(&entry.body, &knowledge.body);
    Ok(Written { removed, problems, ..Written::new(WriteAction::Updated, id, title, &path) })
}

/// Returns the lines of a text that a new one does not have, without blank ones.
pub(super) fn removed_lines(old: &str, new: &str) -> Vec<String> {
    let kept: HashSet<&str> = new.lines().map(str::trim).collect();
    old.lines()
        .filter(|line| !line.trim().is_empty() && !kept.contains(line.trim()))
        .map(|line| line.trim_end().to_owned())
        .collect()
}

fn is_event(knowledge: &Knowledge) -> bool {
    class(knowledge.category.as_deref()) == Class::Event
}

fn unchanged(catalog: &Catalog, row: RowId) -> Result<Written> {
    let (path, id) = located(catalog, row)?;
    Ok(Written::new(WriteAction::Unchanged, id, catalog.head(row).title, &path))
}
