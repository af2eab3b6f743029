//! Decides about each fact of an import, and writes it.
//!
//! What was imported before is recognised by its key. A changed source updates an entry that nobody edited; an edited one
//! is never touched. Nor is an entry that did not come from this source: a fact with its title gets a longer title.

use std::collections::{HashMap, HashSet};

use super::gathered::{Fact, SourceContent};
use super::provenance::{IMPORTED, ImportedBefore, details, imported_before};
use super::report::{ImportAction, ImportReport, ImportedItem};
use super::request::ImportRequest;
use crate::catalog::{Area, Catalog};
use crate::entry::edit::Change;
use crate::entry::knowledge::Knowledge;
use crate::entry::{Head, Id, Scope, Source, body_fingerprint};
use crate::error::{Error, Problem, Result};
use crate::knowledge;
use crate::store::Lock;
use crate::text::fold;
use crate::workspace::Workspace;

/// An import while it is being written.
struct Import<'a> {
    workspace: &'a Workspace,
    request: &'a ImportRequest,
    catalog: &'a Catalog,
    /// None in a dry run.
    lock: Option<&'a Lock>,
    known: HashMap<String, ImportedBefore>,
    /// The live entries by their titles: the id, which a dry run does not know, and a hash of the body's words.
    titles: HashMap<(String, Scope), (Option<Id>, u64)>,
    /// The keys so far.
    seen: HashSet<String>,
    /// The entries of the keys so far.
    ids: HashMap<String, Id>,
    written: Vec<String>,
    problems: Vec<Problem>,
}

/// Writes the facts of a source. Also returns the paths of the written files.
pub(super) fn apply(
    workspace: &Workspace,
    request: &ImportRequest,
    gathered: SourceContent,
) -> Result<(ImportReport, Vec<String>)> {
    let SourceContent { searched, read, facts, left_out, .. } = gathered;
    if request.dry_run {
        let catalog = workspace.catalog(Area::Live);
        let mut import = Import::new(workspace, request, &catalog, None);
        let items = import.all(facts, left_out)?;
        return Ok((ImportReport { searched, read, items, problems: import.problems }, Vec::new()));
    }
    let lock = workspace.lock_entries()?;
    let pending = workspace.begin_write();
    workspace.check_whole(&pending.catalog)?;
    let mut import = Import::new(workspace, request, &pending.catalog, Some(&lock));
    let items = import.all(facts, left_out)?;
    let Import { written, mut problems, .. } = import;
    workspace.commit_batch(pending);
    let paths: Vec<_> = written.iter().map(|path| workspace.store.memory().join(path)).collect();
    problems.extend(lock.settled(&paths).filter(|_| !written.is_empty()));
    Ok((ImportReport { searched, read, items, problems }, written))
}

impl<'a> Import<'a> {
    fn new(
        workspace: &'a Workspace,
        request: &'a ImportRequest,
        catalog: &'a Catalog,
        lock: Option<&'a Lock>,
    ) -> Import<'a> {
        let heads = catalog.knowledge_rows().map(|row| (catalog.id(row), catalog.head(row)));
        let titles = heads.map(|(id, head)| ((fold(&head.title), head.scope), (id, head.body_fingerprint))).collect();
        Import {
            workspace,
            request,
            catalog,
            lock,
            known: imported_before(workspace, catalog, request.source),
            titles,
            seen: HashSet::new(),
            ids: HashMap::new(),
            written: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn all(&mut self, facts: Vec<Fact>, left_out: Vec<ImportedItem>) -> Result<Vec<ImportedItem>> {
        let mut items = left_out;
        for fact in facts {
            let (from, title) = (fact.from.clone(), fact.knowledge.title.clone());
            let item = match self.one(&fact) {
                Ok(item) => item,
                Err(error @ (Error::Invalid { .. } | Error::Secret { .. })) => {
                    ImportedItem::left_out(ImportAction::Refused, from, &title, error.to_string())
                }
                Err(error @ (Error::Uneditable { .. } | Error::Conflict { .. } | Error::OutsideRoot { .. })) => {
                    ImportedItem::left_out(ImportAction::Conflict, from, &title, error.to_string())
                }
                Err(error) => return Err(error),
            };
            items.push(item);
        }
        Ok(items)
    }

    /// Imports one fact.
    fn one(&mut self, fact: &Fact) -> Result<ImportedItem> {
        if !self.seen.insert(fact.key.clone()) {
            let (from, title) = (fact.from.clone(), &fact.knowledge.title);
            let reason = "its id is in this source for the second time, and the first one counts";
            return Ok(ImportedItem::left_out(ImportAction::Skipped, from, title, reason));
        }
        let mut knowledge = fact.knowledge.normalised()?;
        knowledge.details = Some(details(self.request.source, fact, &knowledge));
        // They are not of the source, so another import may lack them.
        knowledge.tags.extend(self.request.tags.iter().cloned());
        self.workspace.refuse_secrets(&knowledge)?;
        // Whoever wrote it, it comes from elsewhere.
        Workspace::refuse_invisible(&Knowledge { source: Source::Agent, ..knowledge.clone() })?;
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
                let reason = "the memory has it already";
                self.ids.extend(id.clone().map(|id| (fact.key.clone(), id)));
                return Ok(item(ImportAction::Unchanged, id, &knowledge, fact, Some(reason.to_owned())));
            }
            reason = id.map(|id| format!("`{id}` has this title and says something else"));
            self.rename(&mut knowledge, &fact.from.path);
        }
        let id = match self.lock {
            None => None,
            Some(lock) => {
                let added = knowledge::create(self.workspace, lock, self.catalog, &knowledge)?;
                self.written.push(added.path.as_relative().to_owned());
                self.ids.insert(fact.key.clone(), added.id.clone());
                Some(added.id)
            }
        };
        self.titles.insert(key_of(&knowledge), (id.clone(), fingerprint));
        Ok(item(ImportAction::Added, id, &knowledge, fact, reason))
    }

    /// Gives knowledge a title that no entry has.
    fn rename(&self, knowledge: &mut Knowledge, path: &str) {
        let title = knowledge.title.clone();
        let mut number = 1;
        while self.titles.contains_key(&key_of(knowledge)) {
            let number_of_it = if number == 1 { String::new() } else { format!(", {number}") };
            knowledge.title = format!("{title} ({path}{number_of_it})");
            number += 1;
        }
    }

    /// Imports a fact for the second time.
    fn again(&mut self, fact: &Fact, mut knowledge: Knowledge, before: &ImportedBefore) -> Result<ImportedItem> {
        let told = |action, knowledge: &Knowledge, reason: Option<&str>| {
            Ok(item(action, Some(before.id.clone()), knowledge, fact, reason.map(str::to_owned)))
        };
        // What it replaces may have been imported after it.
        let lacks_link = before.row.filter(|_| before.is_unedited).is_some_and(|row| {
            let known = self.catalog.head(row).supersedes;
            knowledge.supersedes.iter().any(|id| !known.contains(id))
        });
        let imported = knowledge.details.as_ref().and_then(|details| details.get(IMPORTED)?.as_object());
        if imported == Some(&before.imported) && !lacks_link {
            let reason = if before.row.is_none() { "it was imported before, and is in the archive" } else { "" };
            return told(ImportAction::Unchanged, &knowledge, Some(reason).filter(|reason| !reason.is_empty()));
        }
        let Some(row) = before.row else {
            let reason = "its source changed, and the entry is in the archive";
            return told(ImportAction::Skipped, &knowledge, Some(reason));
        };
        if !before.is_unedited {
            let reason = "its source changed, and so did the entry; take over by hand what is new";
            return told(ImportAction::Conflict, &knowledge, Some(reason));
        }
        let head = self.catalog.head(row);
        self.keep_what_a_person_changed(&mut knowledge, &head, before, &fact.from.path);
        let taken_back = self.taken_back(&knowledge, &head, before);
        let (fingerprint, _) = body_fingerprint(&knowledge.body);
        self.titles.insert(key_of(&knowledge), (Some(before.id.clone()), fingerprint));
        let Some(lock) = self.lock else { return told(ImportAction::Updated, &knowledge, None) };
        let updated = knowledge::update(self.workspace, lock, self.catalog, row, &knowledge, taken_back)?;
        self.written.push(updated.path.as_relative().to_owned());
        self.problems.extend(updated.problems);
        told(ImportAction::Updated, &knowledge, None)
    }

    /// Leaves the title and the category of an entry as they are, unless they are those that were imported and the source
    /// has others now.
    fn keep_what_a_person_changed(&self, knowledge: &mut Knowledge, head: &Head, before: &ImportedBefore, path: &str) {
        let old = before.word("title").unwrap_or_default();
        // It may have a longer one, since another entry has this title.
        let is_longer = || head.title.strip_prefix(old).is_some_and(|rest| rest.starts_with(&format!(" ({path}")));
        if knowledge.title == old || head.title != old && !is_longer() {
            knowledge.title.clone_from(&head.title);
        } else if self.titles.get(&key_of(knowledge)).is_some_and(|(id, _)| id.as_ref() != Some(&before.id)) {
            self.rename(knowledge, path);
        }
        if knowledge.category.as_deref() == before.word("category")
            || head.category.as_deref() != before.word("category")
        {
            knowledge.category = None;
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
        let old = before.word("category");
        let has_new = knowledge.details.as_ref().is_some_and(|details| details[IMPORTED].get("category").is_some());
        if old.is_some() && !has_new && head.category.as_deref() == old {
            changes.push(Change::Remove("category"));
        }
        changes
    }
}

fn key_of(knowledge: &Knowledge) -> (String, Scope) {
    (fold(&knowledge.title), knowledge.scope.clone())
}

fn item(
    action: ImportAction,
    id: Option<Id>,
    knowledge: &Knowledge,
    fact: &Fact,
    reason: Option<String>,
) -> ImportedItem {
    let title = knowledge.title.as_str().into();
    ImportedItem { action, id, title, from: fact.from.clone(), reason: reason.map(Into::into) }
}
