//! Decides about each fact of an import, and writes it.
//!
//! What was imported before is recognised by its key. A changed source updates an entry that nobody edited; an edited one
//! is never touched. Nor is an entry that did not come from this source. What a source no longer has is archived.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::dates::commit_dates;
use super::gathered::{Fact, SourceContent, replaced_first};
use super::links::LinkedFiles;
use super::provenance::{ImportedBefore, details, hash_of, imported_before};
use super::report::{ImportAction, ImportOrigin, ImportReport, ImportedItem};
use super::request::ImportRequest;
use super::write::ImportWrite;
use crate::entry::edit::Change;
use crate::entry::knowledge::Knowledge;
use crate::entry::read::IMPORTED;
use crate::entry::{Head, Id, Scope, Source, body_fingerprint};
use crate::error::{Error, Problem, Result};
use crate::knowledge;
use crate::text::fold;
use crate::workspace::Workspace;

/// An import while it is being written.
struct Import<'a, 'b> {
    write: &'a mut ImportWrite<'b>,
    request: &'a ImportRequest,
    known: HashMap<String, ImportedBefore>,
    /// The live entries by their titles: the id, which a dry run does not know, and a hash of the body's words.
    titles: HashMap<(String, Scope), (Option<Id>, u64)>,
    /// The keys so far.
    seen: HashSet<String>,
    /// The entries of the keys so far.
    ids: HashMap<String, Id>,
    /// When the files of new facts without a date were last committed.
    commits: HashMap<String, DateTime<Utc>>,
    problems: Vec<Problem>,
}

/// Writes the facts of a source.
pub(super) fn apply(
    write: &mut ImportWrite<'_>,
    request: &ImportRequest,
    mut content: SourceContent,
    report: &mut ImportReport,
) -> Result<()> {
    let mut facts = replaced_first(std::mem::take(&mut content.facts));
    let heads = write.live.knowledge_rows().map(|row| (write.live.id(row), write.live.head(row)));
    let titles = heads.map(|(id, head)| ((fold(&head.title), head.scope), (id, head.body_fingerprint))).collect();
    let mut known = imported_before(write, request.source);
    name_files(&mut known, &facts);
    follow_moves(&mut known, &facts, &content);
    let is_entry = |fact: &&Fact| known.contains_key(&fact.key) || prepared(write, request, fact).is_ok();
    let linked = LinkedFiles::new(&facts, &known, is_entry);
    for fact in &mut facts {
        linked.follow(request.source, fact);
    }
    let undated = facts.iter().filter(|fact| fact.date.is_none() && !known.contains_key(&fact.key));
    let undated = undated.filter(|fact| fact.is_in_project()).map(|fact| fact.from.path.as_str()).collect();
    let commits = if write.lock.is_some() { commit_dates(write.workspace, undated) } else { HashMap::new() };
    let (seen, ids, problems) = (HashSet::new(), HashMap::new(), Vec::new());
    let mut import = Import { write, request, known, titles, seen, ids, commits, problems };
    for fact in facts {
        let item = |action| ImportedItem::new(action, fact.from.clone(), &fact.knowledge.title);
        report.items.push(match import.one(&fact) {
            Ok(item) => item,
            Err(error @ (Error::Invalid { .. } | Error::Secret { .. })) => {
                item(ImportAction::Refused).because(error.to_string())
            }
            Err(error @ (Error::Uneditable { .. } | Error::Conflict { .. } | Error::OutsideRoot { .. })) => {
                item(ImportAction::Conflict).because(error.to_string())
            }
            Err(error) => return Err(error),
        });
    }
    import.archive_lost(&content, report)?;
    report.problems.extend(import.problems);
    Ok(())
}

/// Gives what was imported before from an object without an id the key that it has now, which also names the file.
fn name_files(known: &mut HashMap<String, ImportedBefore>, facts: &[Fact]) {
    for fact in facts {
        let Some((_, hash)) = fact.key.rsplit_once('#') else { continue };
        let is_of_file = |before: &ImportedBefore| before.word("path") == Some(fact.from.path.as_str());
        if known.get(hash).is_some_and(is_of_file)
            && let Some(mut before) = known.remove(hash)
        {
            // What will not be written again is as it was.
            if before.row.is_none() || !before.is_unedited {
                before.imported.insert("id".to_owned(), fact.key.clone().into());
            }
            known.entry(fact.key.clone()).or_insert(before);
        }
    }
}

/// Gives what was imported before from a file that moved the key that it has now: of the lost entries only one has the title
/// and the text of a fact with a new key.
fn follow_moves(known: &mut HashMap<String, ImportedBefore>, facts: &[Fact], content: &SourceContent) {
    let keys: HashSet<&str> = facts.iter().map(|fact| fact.key.as_str()).collect();
    let is_lost = |(key, before): &(&String, &ImportedBefore)| {
        let path = before.word("path").unwrap_or_default();
        before.row.is_some() && !keys.contains(key.as_str()) && content.place_of(path, key).is_some()
    };
    let mut lost: HashMap<(String, String), Vec<String>> = HashMap::new();
    for (key, before) in known.iter().filter(is_lost) {
        let said = (before.word("title").unwrap_or_default(), before.word("hash").unwrap_or_default());
        lost.entry((said.0.to_owned(), said.1.to_owned())).or_default().push(key.clone());
    }
    for fact in facts.iter().filter(|fact| !lost.is_empty() && !known.contains_key(&fact.key)).collect::<Vec<_>>() {
        let said = (fact.knowledge.title.clone(), hash_of(&fact.knowledge.body));
        if let Some([key]) = lost.remove(&said).as_deref()
            && let Some(before) = known.remove(key)
        {
            known.insert(fact.key.clone(), before);
        }
    }
}

impl Import<'_, '_> {
    /// Imports one fact.
    fn one(&mut self, fact: &Fact) -> Result<ImportedItem> {
        if !self.seen.insert(fact.key.clone()) {
            let reason = "its id is in this source for the second time, and the first one counts";
            return Ok(item(ImportAction::Skipped, &fact.knowledge, fact).because(reason));
        }
        let mut knowledge = prepared(self.write, self.request, fact)?;
        let date = fact.date.or_else(|| self.commits.get(&fact.from.path).copied());
        knowledge.supersedes = fact.replaces.iter().filter_map(|key| self.ids.get(key).cloned()).collect();
        if let Some(before) = self.known.get(&fact.key).cloned() {
            self.ids.insert(fact.key.clone(), before.id.clone());
            return self.again(fact, knowledge.normalised()?, &before);
        }
        let mut knowledge = knowledge.normalised()?;
        let mut reason = None;
        let (fingerprint, _) = body_fingerprint(&knowledge.body);
        if let Some((id, other)) = self.titles.get(&key_of(&knowledge)).cloned() {
            if other == fingerprint {
                self.ids.extend(id.clone().map(|id| (fact.key.clone(), id)));
                let unchanged = item(ImportAction::Unchanged, &knowledge, fact).with_id(id);
                return Ok(unchanged.because("the memory has it already"));
            }
            reason = id.map(|id| format!("`{id}` has this title and says something else"));
            self.qualify(&mut knowledge, fact);
        }
        let mut id = None;
        if let Some(lock) = self.write.lock {
            let added = knowledge::create(self.write.workspace, lock, self.write.live, &knowledge, date)?;
            self.write.written.push(added.path.as_relative().to_owned());
            self.ids.insert(fact.key.clone(), added.id.clone());
            id = Some(added.id);
        }
        self.titles.insert(key_of(&knowledge), (id.clone(), fingerprint));
        let added = item(ImportAction::Added, &knowledge, fact).with_id(id);
        Ok(ImportedItem { reason: reason.map(Into::into), ..added })
    }

    /// Gives knowledge whose title an entry has one that also says what it is a part of.
    fn qualify(&self, knowledge: &mut Knowledge, fact: &Fact) {
        if let Some(longer) = &fact.longer_title
            && self.titles.contains_key(&key_of(knowledge))
        {
            knowledge.title.clone_from(longer);
        }
    }

    /// Archives the entries from the places that were read whose facts are no longer there, unless somebody edited them or
    /// another fact says the same.
    fn archive_lost(&mut self, content: &SourceContent, report: &mut ImportReport) -> Result<()> {
        let mut lost: Vec<(&String, &ImportedBefore)> = self.known.iter().collect();
        lost.sort_by_key(|(key, _)| *key);
        let said: HashSet<&Id> = self.ids.values().collect();
        lost.retain(|(_, before)| !said.contains(&before.id));
        let mut moved = Vec::new();
        for (key, before) in lost {
            let path = before.word("path").unwrap_or_default();
            let place = content.place_of(path, key).filter(|_| !self.seen.contains(key));
            let (Some(place), Some(row)) = (place, before.row) else { continue };
            let is_there = || self.write.workspace.root().join(path).symlink_metadata().is_ok();
            let what = if report.read.iter().any(|read| read == path) {
                "it is no longer in the file"
            } else if place.mark.is_empty() && is_there() {
                // Git ignores it, for instance, and it was imported by its name.
                continue;
            } else {
                "its file is gone"
            };
            let heading = before.word("heading").map(Into::into);
            let from = ImportOrigin { heading, ..ImportOrigin::file(path) };
            let action = if before.is_unedited { ImportAction::Archived } else { ImportAction::Conflict };
            let advice =
                if before.is_unedited { "" } else { ", and the entry was edited; archive it, or keep it as your own" };
            let item =
                ImportedItem::new(action, from, &self.write.live.head(row).title).with_id(Some(before.id.clone()));
            report.items.push(item.because(format!("{what}{advice}")));
            moved.extend(before.is_unedited.then(|| before.id.clone()));
        }
        let Some(lock) = self.write.lock.filter(|_| !moved.is_empty()) else { return Ok(()) };
        let ImportWrite { workspace, live, archive, .. } = *self.write;
        for entry in knowledge::tidy::move_to_archive(workspace, lock, live, archive, &moved)? {
            self.write.written.push(entry.to.as_relative().to_owned());
        }
        Ok(())
    }

    /// Imports a fact for the second time.
    fn again(&mut self, fact: &Fact, mut knowledge: Knowledge, before: &ImportedBefore) -> Result<ImportedItem> {
        let outcome = |action, knowledge: &Knowledge| item(action, knowledge, fact).with_id(Some(before.id.clone()));
        // What it replaces may have been imported after it.
        let lacks_link = before.row.filter(|_| before.is_unedited).is_some_and(|row| {
            let known = self.write.live.head(row).supersedes;
            knowledge.supersedes.iter().any(|id| !known.contains(id))
        });
        let imported = knowledge.details.as_ref().and_then(|details| details.get(IMPORTED)?.as_object());
        let is_same = imported == Some(&before.imported) && !lacks_link;
        let Some(row) = before.row else {
            return Ok(if is_same {
                outcome(ImportAction::Unchanged, &knowledge).because("it was imported before, and is in the archive")
            } else {
                outcome(ImportAction::Skipped, &knowledge)
                    .because("its source changed, and the entry is in the archive")
            });
        };
        if is_same {
            return Ok(outcome(ImportAction::Unchanged, &knowledge));
        }
        if !before.is_unedited {
            let reason = "its source changed, and so did the entry; take over by hand what is new";
            return Ok(outcome(ImportAction::Conflict, &knowledge).because(reason));
        }
        let head = self.write.live.head(row);
        self.keep_what_a_person_changed(&mut knowledge, &head, before, fact);
        let taken_back = self.taken_back(&knowledge, &head, before);
        let (fingerprint, _) = body_fingerprint(&knowledge.body);
        self.titles.insert(key_of(&knowledge), (Some(before.id.clone()), fingerprint));
        if let Some(lock) = self.write.lock {
            let ImportWrite { workspace, live, .. } = *self.write;
            let updated = knowledge::update(workspace, lock, live, row, &knowledge, taken_back)?;
            self.write.written.push(updated.path.as_relative().to_owned());
            self.problems.extend(updated.problems);
        }
        Ok(outcome(ImportAction::Updated, &knowledge))
    }

    /// Leaves the title, the category and the status of an entry as they are, unless they are those that were imported and the source
    /// has others now.
    fn keep_what_a_person_changed(&self, knowledge: &mut Knowledge, head: &Head, before: &ImportedBefore, fact: &Fact) {
        let old = before.word("title").unwrap_or_default();
        // It may have a longer one, because another entry has this title.
        let is_longer =
            || head.title.strip_suffix(old).is_some_and(|before| before.ends_with(": ") || before.ends_with('/'));
        if knowledge.title == old || head.title != old && !is_longer() {
            knowledge.title.clone_from(&head.title);
        } else if self.titles.get(&key_of(knowledge)).is_some_and(|(id, _)| id.as_ref() != Some(&before.id)) {
            self.qualify(knowledge, fact);
        }
        let words =
            [(&mut knowledge.category, &head.category, "category"), (&mut knowledge.status, &head.status, "status")];
        for (new, present, name) in words {
            if new.as_deref() == before.word(name) || present.as_deref() != before.word(name) {
                *new = None;
            }
        }
    }

    /// Returns the changes that take back what was imported before and is no longer in the source. What a person added
    /// stays.
    fn taken_back(&self, knowledge: &Knowledge, head: &Head, before: &ImportedBefore) -> Vec<Change> {
        let ids = |ids: &[Id]| ids.iter().map(Id::to_string).collect::<Vec<_>>();
        let replaced: Vec<_> =
            before.list("replaces").iter().filter_map(|key| self.ids.get(key)).map(Id::to_string).collect();
        let lists = [
            ("tags", before.list("tags"), &head.tags, &knowledge.tags),
            ("files", before.list("files"), &head.files, &knowledge.files),
            ("supersedes", replaced, &ids(&head.supersedes), &ids(&knowledge.supersedes)),
        ];
        let mut changes = Vec::new();
        for (key, old, present, new) in lists {
            let is_gone = |item: &&String| old.contains(item) && !new.contains(item);
            if !present.iter().any(|item| is_gone(&item)) {
                continue;
            }
            let mut kept: Vec<String> = present.iter().filter(|item| !is_gone(item)).cloned().collect();
            kept.extend(new.iter().filter(|item| !present.contains(item)).cloned());
            changes.push(if kept.is_empty() { Change::Remove(key) } else { Change::Set(key, kept.into()) });
        }
        for (name, present) in [("category", &head.category), ("status", &head.status)] {
            let old = before.word(name);
            let has_new = knowledge.details.as_ref().is_some_and(|details| details[IMPORTED].get(name).is_some());
            if old.is_some() && !has_new && present.as_deref() == old {
                changes.push(Change::Remove(name));
            }
        }
        changes
    }
}

/// Returns the knowledge of a fact as it is written, if it may be.
fn prepared(write: &ImportWrite<'_>, request: &ImportRequest, fact: &Fact) -> Result<Knowledge> {
    let mut knowledge = fact.knowledge.normalised()?;
    knowledge.details = Some(details(request.source, fact, &knowledge));
    // They do not come from the source, so another import may lack them.
    knowledge.tags.extend(request.tags.iter().cloned());
    write.workspace.refuse_secrets(&knowledge)?;
    // Whoever wrote it, it comes from elsewhere.
    Workspace::refuse_invisible(&Knowledge { source: Source::Agent, ..knowledge.clone() })?;
    Ok(knowledge)
}

fn key_of(knowledge: &Knowledge) -> (String, Scope) {
    (fold(&knowledge.title), knowledge.scope.clone())
}

fn item(action: ImportAction, knowledge: &Knowledge, fact: &Fact) -> ImportedItem {
    ImportedItem::new(action, fact.from.clone(), &knowledge.title)
}
