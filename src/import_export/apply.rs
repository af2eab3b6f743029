//! Decides about each fact of an import, and writes it.
//!
//! What was imported before is recognised by its key. A changed source updates an entry that nobody edited; an edited one
//! is never touched. Nor is an entry that did not come from this source. What a source no longer has is archived.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::dates::commit_dates;
use super::gathered::{Fact, SourceContent, replaced_first};
use super::links::LinkedFiles;
use super::matching::{follow_moves, join_equal, key_of, name_files};
use super::provenance::{ImportedBefore, details, imported_before};
use super::report::{ImportAction, ImportOrigin, ImportReport, ImportedItem};
use super::request::ImportRequest;
use super::write::ImportWrite;
use crate::entry::edit::Change;
use crate::entry::imported::{GONE, IMPORTED, hash_of};
use crate::entry::knowledge::Knowledge;
use crate::entry::{Head, Id, Scope, Source, body_fingerprint, timestamp};
use crate::error::{Error, Problem, Result};
use crate::index::catalog::{Catalog, RowId};
use crate::knowledge;
use crate::text::fold;
use crate::workspace::Workspace;

/// The live entries by their titles: the ids, which a dry run does not know, and hashes of the bodies' words.
type LiveTitles = HashMap<(String, Scope), Vec<(Option<Id>, u64)>>;

/// An import while it is being written.
struct Import<'a, 'b> {
    write: &'a mut ImportWrite<'b>,
    request: &'a ImportRequest,
    known: HashMap<String, ImportedBefore>,
    titles: LiveTitles,
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
    let (mut known, elsewhere) = imported_before(write, request.source);
    name_files(&mut known, &facts);
    let is_entry = |fact: &Fact| known.contains_key(&fact.key) || prepared(write, request, fact).is_ok();
    let names = join_equal(&mut facts, &known, is_entry);
    let linked = LinkedFiles::new(&facts, &known, &names);
    for fact in &mut facts {
        linked.follow(request.source, fact);
    }
    follow_moves(write.workspace, &mut known, elsewhere, &facts, &content);
    bring_back(write, request, &mut known, &facts)?;
    let titles = live_titles(&write.live, &rewritten(&known, &facts));
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

/// Moves what an import archived out of the archive, if its source has it again and no live entry says it.
fn bring_back(
    write: &mut ImportWrite<'_>,
    request: &ImportRequest,
    known: &mut HashMap<String, ImportedBefore>,
    facts: &[Fact],
) -> Result<()> {
    let returns = |fact: &&Fact| known.get(&fact.key).is_some_and(|before| before.was_gone && !before.is_live);
    let returning: Vec<&Fact> = facts.iter().filter(returns).collect();
    if returning.is_empty() {
        return Ok(());
    }
    let titles = live_titles(&write.live, &HashMap::new());
    let mut moves = Vec::new();
    for fact in returning {
        let Some(before) = known.get(&fact.key) else { continue };
        let to = knowledge::live_path(&before.path);
        let (text, _) = body_fingerprint(&fact.knowledge.body);
        let is_live =
            titles.get(&key_of(&fact.knowledge)).is_some_and(|live| live.iter().any(|(_, live)| *live == text));
        if is_live || write.live.row_of_id(&before.id).is_some() {
            known.remove(&fact.key);
        } else if prepared(write, request, fact).is_ok() {
            moves.push((fact.key.as_str(), before.path.clone(), to));
        }
    }
    let Some(lock) = write.lock.filter(|_| !moves.is_empty()) else { return Ok(()) };
    let paths: Vec<(&str, &str)> = moves.iter().map(|(_, from, to)| (from.as_str(), to.as_str())).collect();
    write.bring_back(lock, &paths)?;
    for (key, _, to) in moves {
        if let Some(before) = known.get_mut(key) {
            (before.is_live, before.path) = (true, to);
        }
    }
    Ok(())
}

/// Returns the titles and the words that entries get from their changed sources.
fn rewritten(known: &HashMap<String, ImportedBefore>, facts: &[Fact]) -> HashMap<Id, ((String, Scope), u64)> {
    let entry = |fact: &Fact| {
        let before = known.get(&fact.key).filter(|before| before.is_live && before.is_unedited)?;
        Some((before.id.clone(), (key_of(&fact.knowledge), body_fingerprint(&fact.knowledge.body).0)))
    };
    facts.iter().filter_map(entry).collect()
}

/// Returns the live entries, those that are `rewritten` with their new words and both titles: a person may have given the
/// old one.
fn live_titles(live: &Catalog, rewritten: &HashMap<Id, ((String, Scope), u64)>) -> LiveTitles {
    let mut titles = LiveTitles::new();
    for row in live.knowledge_rows() {
        let (id, head) = (live.id(row), live.head(row));
        let new = id.as_ref().and_then(|id| rewritten.get(id));
        let (key, words) = ((fold(&head.title), head.scope), new.map_or(head.body_fingerprint, |(_, words)| *words));
        if let Some((title, _)) = new.filter(|(title, _)| *title != key) {
            titles.entry(title.clone()).or_default().push((id.clone(), words));
        }
        titles.entry(key).or_default().push((id, words));
    }
    titles
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
        if let Some(titled) = self.titles.get(&key_of(&knowledge)) {
            if let Some((id, _)) = titled.iter().find(|(_, text)| *text == fingerprint) {
                let id = id.clone();
                self.ids.extend(id.clone().map(|id| (fact.key.clone(), id)));
                let unchanged = item(ImportAction::Unchanged, &knowledge, fact).with_id(id);
                return Ok(unchanged.because("the memory has it already"));
            }
            let other = titled.iter().find_map(|(id, _)| id.as_ref());
            reason = other.map(|id| format!("`{id}` has this title and says something else"));
            self.qualify(&mut knowledge, fact);
        }
        let mut id = None;
        if let Some(lock) = self.write.lock {
            let added = knowledge::create(self.write.workspace, lock, &self.write.live, &knowledge, date)?;
            self.write.written.push(added.path.as_relative().to_owned());
            self.ids.insert(fact.key.clone(), added.id.clone());
            id = Some(added.id);
        }
        self.titles.entry(key_of(&knowledge)).or_default().push((id.clone(), fingerprint));
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

    /// Returns the row of a live entry.
    fn row_of(&self, before: &ImportedBefore) -> Option<RowId> {
        self.write.live.row_of_path(&before.path).filter(|_| before.is_live)
    }

    /// Returns whether an entry other than this one has the title.
    fn has_other_titled(&self, knowledge: &Knowledge, id: &Id) -> bool {
        let titled = self.titles.get(&key_of(knowledge));
        titled.is_some_and(|titled| titled.iter().any(|(other, _)| other.as_ref() != Some(id)))
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
            // What somebody restored stays.
            let (Some(place), Some(row), false) = (place, self.row_of(before), before.was_gone) else { continue };
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
        let ImportWrite { workspace, live, archive, written, .. } = &mut *self.write;
        let as_gone = |text: &str| {
            knowledge::with_note(text, |imported, _| {
                imported.insert(GONE.into(), true.into());
            })
        };
        for entry in knowledge::tidy::archive_as(workspace, lock, (live, archive), &moved, as_gone)? {
            written.push(entry.to.as_relative().to_owned());
        }
        Ok(())
    }

    /// Imports a fact for the second time.
    fn again(&mut self, fact: &Fact, mut knowledge: Knowledge, before: &ImportedBefore) -> Result<ImportedItem> {
        let outcome = |action, knowledge: &Knowledge| item(action, knowledge, fact).with_id(Some(before.id.clone()));
        // What it replaces may have been imported after it.
        let row = self.row_of(before);
        let lacks_link = row.filter(|_| before.is_unedited).is_some_and(|row| {
            let known = self.write.live.head(row).supersedes;
            knowledge.supersedes.iter().any(|id| !known.contains(id))
        });
        let imported = knowledge.details.as_ref().and_then(|details| details.get(IMPORTED)?.as_object());
        let is_same = imported == Some(&before.imported) && !lacks_link;
        let restored =
            |knowledge: &Knowledge| outcome(ImportAction::Restored, knowledge).because("its source has it again");
        let Some(row) = row else {
            return Ok(if before.was_gone {
                restored(&knowledge)
            } else if is_same {
                outcome(ImportAction::Unchanged, &knowledge).because("it was imported before, and is in the archive")
            } else {
                outcome(ImportAction::Skipped, &knowledge)
                    .because("its source changed, and the entry is in the archive")
            });
        };
        if is_same && !before.was_gone {
            return Ok(outcome(ImportAction::Unchanged, &knowledge));
        }
        // A merge in git, or the same correction in both, gives it the text of its source.
        if !before.is_unedited && before.hash != hash_of(&knowledge.body) {
            let reason = "its source changed, and so did the entry; take over by hand what is new";
            return Ok(outcome(ImportAction::Conflict, &knowledge).because(reason));
        }
        let head = self.write.live.head(row);
        self.keep_what_a_person_changed(&mut knowledge, &head, before, fact);
        let taken_back = self.taken_back(&knowledge, &head, before);
        if let Some(lock) = self.write.lock {
            let ImportWrite { workspace, live, .. } = &*self.write;
            let updated = knowledge::update(workspace, lock, live, row, &knowledge, taken_back)?;
            self.write.written.push(updated.path.as_relative().to_owned());
            self.problems.extend(updated.problems);
        }
        Ok(if before.was_gone { restored(&knowledge) } else { outcome(ImportAction::Updated, &knowledge) })
    }

    /// Leaves the title, the category, the status and the end of an entry as they are, unless they are those that were imported and the source
    /// has others now.
    fn keep_what_a_person_changed(&self, knowledge: &mut Knowledge, head: &Head, before: &ImportedBefore, fact: &Fact) {
        let old = before.word("title").unwrap_or_default();
        // It may have a longer one, because another entry has this title.
        let is_longer =
            || head.title.strip_suffix(old).is_some_and(|before| before.ends_with(": ") || before.ends_with('/'));
        if knowledge.title == old || head.title != old && !is_longer() {
            knowledge.title.clone_from(&head.title);
        } else if self.has_other_titled(knowledge, &before.id) {
            self.qualify(knowledge, fact);
        }
        let words =
            [(&mut knowledge.category, &head.category, "category"), (&mut knowledge.status, &head.status, "status")];
        for (new, present, name) in words {
            if new.as_deref() == before.word(name) || present.as_deref() != before.word(name) {
                *new = None;
            }
        }
        if head.expires_at.map(timestamp).as_deref() != before.word("expires_at") {
            knowledge.expires_at = None;
        }
    }

    /// Returns the changes that take back what was imported before and is no longer in the source. What a person added
    /// stays.
    fn taken_back(&self, knowledge: &Knowledge, head: &Head, before: &ImportedBefore) -> Vec<Change> {
        let ids = |ids: &[Id]| ids.iter().map(Id::to_string).collect::<Vec<_>>();
        let replaced: Vec<_> =
            before.list("replaces").iter().filter_map(|key| self.ids.get(key)).map(Id::to_string).collect();
        let lists = [
            ("aliases", before.list("aliases"), &head.aliases, &knowledge.aliases),
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
        let expires_at = head.expires_at.map(timestamp);
        for (name, present) in [("category", &head.category), ("status", &head.status), ("expires_at", &expires_at)] {
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

fn item(action: ImportAction, knowledge: &Knowledge, fact: &Fact) -> ImportedItem {
    ImportedItem::new(action, fact.from.clone(), &knowledge.title)
}
