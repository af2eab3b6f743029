//! Decides about each fact of an import, and writes it.
//!
//! What was imported before is recognised by its key. A changed source updates an entry that nobody edited; an edited one
//! is never touched. Nor is an entry that did not come from this source: a fact with its title gets a longer title.

use std::collections::{HashMap, HashSet};

use super::gathered::{Fact, SourceContent};
use super::provenance::{ImportedBefore, details, hash_of, imported_before};
use super::report::{ImportAction, ImportReport, ImportedItem};
use super::request::{ImportRequest, ImportSource};
use crate::catalog::{Area, Catalog};
use crate::entry::knowledge::Knowledge;
use crate::entry::{Id, Scope, Source, body_fingerprint};
use crate::error::{Error, Problem, Result};
use crate::knowledge;
use crate::store::Lock;
use crate::text::fold;
use crate::workspace::Workspace;

/// An import while it is being written.
struct Import<'a> {
    workspace: &'a Workspace,
    source: ImportSource,
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
        let mut import = Import::new(workspace, request.source, &catalog, None);
        let items = import.all(facts, left_out)?;
        return Ok((ImportReport { searched, read, items, problems: import.problems }, Vec::new()));
    }
    let lock = workspace.lock_entries()?;
    let pending = workspace.begin_write();
    let mut import = Import::new(workspace, request.source, &pending.catalog, Some(&lock));
    let items = import.all(facts, left_out)?;
    let Import { written, mut problems, .. } = import;
    workspace.commit_batch(pending);
    let paths: Vec<_> = written.iter().map(|path| workspace.store.memory().join(path)).collect();
    problems.extend(lock.settled(&paths).filter(|_| !written.is_empty()));
    Ok((ImportReport { searched, read, items, problems }, written))
}

impl<'a> Import<'a> {
    fn new(workspace: &'a Workspace, source: ImportSource, catalog: &'a Catalog, lock: Option<&'a Lock>) -> Import<'a> {
        let heads = catalog.knowledge_rows().map(|row| (catalog.id(row), catalog.head(row)));
        let titles = heads.map(|(id, head)| ((fold(&head.title), head.scope), (id, head.body_fingerprint))).collect();
        Import {
            workspace,
            source,
            catalog,
            lock,
            known: imported_before(workspace, catalog, source),
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
        let mut knowledge = fact.knowledge.clone();
        knowledge.details = Some(details(self.source, fact));
        self.workspace.refuse_secrets(&knowledge)?;
        // Whoever wrote it, it comes from elsewhere.
        Workspace::refuse_invisible(&Knowledge { source: Source::Agent, ..knowledge.clone() })?;
        knowledge.supersedes = fact.replaces.iter().filter_map(|key| self.ids.get(key).cloned()).collect();
        if let Some(before) = self.known.get(&fact.key).cloned() {
            self.ids.insert(fact.key.clone(), before.id.clone());
            return self.again(fact, &knowledge, &before);
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
    fn again(&mut self, fact: &Fact, knowledge: &Knowledge, before: &ImportedBefore) -> Result<ImportedItem> {
        let told = |action, reason: Option<&str>| {
            Ok(item(action, Some(before.id.clone()), knowledge, fact, reason.map(str::to_owned)))
        };
        // What it replaces may have been imported after it.
        let lacks_link = before.row.filter(|_| before.is_unedited).is_some_and(|row| {
            let known = self.catalog.head(row).supersedes;
            knowledge.supersedes.iter().any(|id| !known.contains(id))
        });
        if before.hash == hash_of(&fact.knowledge.body) && !lacks_link {
            let reason = if before.row.is_none() { "it was imported before, and is in the archive" } else { "" };
            return told(ImportAction::Unchanged, Some(reason).filter(|reason| !reason.is_empty()));
        }
        let Some(row) = before.row else {
            return told(ImportAction::Skipped, Some("its source changed, and the entry is in the archive"));
        };
        if !before.is_unedited {
            let reason = "its source changed, and so did the entry; take over by hand what is new";
            return told(ImportAction::Conflict, Some(reason));
        }
        let Some(lock) = self.lock else { return told(ImportAction::Updated, None) };
        // The title may be a longer one, or of a person.
        let knowledge = Knowledge { title: self.catalog.head(row).title, ..knowledge.clone() }.normalised()?;
        let updated = knowledge::update(self.workspace, lock, self.catalog, row, &knowledge)?;
        self.written.push(updated.path.as_relative().to_owned());
        self.problems.extend(updated.problems);
        told(ImportAction::Updated, None)
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
