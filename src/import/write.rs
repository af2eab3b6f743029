//! Decides about each item, and writes it: the one place that does.
//!
//! An item is compared with the entries that were imported from its place. One with its hash has it already. Another is a
//! version of it: it is updated if nobody edited it since, and left alone otherwise. Only what is new is compared with
//! all other entries, as `add` does it.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::item::Item;
use super::report::{ImportAction, ImportReport, ImportedItem};
use super::request::ImportRequest;
use crate::entry::imported::imported_hash;
use crate::entry::knowledge::Knowledge;
use crate::entry::{Head, Id, Scope, Source, body_fingerprint, read};
use crate::error::{Error, Result};
use crate::index::catalog::{Area, Catalog, RowId};
use crate::knowledge::{self, dedup, may_change, proposed, rejected};
use crate::store::Lock;
use crate::text::{comparable, tokens};
use crate::workspace::{Work, Workspace};

/// How many paths git is asked about. Of more files, it is asked about their folders.
const MAX_PATHS: usize = 1_000;

/// An entry that was imported from a place.
struct Known {
    id: Id,
    /// `None` of one in the archive.
    row: Option<RowId>,
    /// The hash that it was imported with, and the one that it has now.
    hash: String,
    now: String,
    words: HashSet<String>,
}

/// An import while it is written.
struct Import<'a> {
    workspace: &'a Workspace,
    /// None in a dry run.
    lock: Option<&'a Lock>,
    live: Catalog,
    archive: Catalog,
    /// The live entries that nobody imported.
    own: Vec<(RowId, Head)>,
    /// The entries of each title: the ids, which a dry run does not know, and the fingerprints of the bodies.
    titles: HashMap<String, Vec<(Option<Id>, u64)>>,
    commits: HashMap<String, DateTime<Utc>>,
    written: Vec<String>,
}

/// Writes the items, and returns the paths of the files that it wrote. A dry run writes nothing.
pub(super) fn add_or_update(
    workspace: &Workspace,
    request: &ImportRequest,
    items: &[Item],
    report: &mut ImportReport,
) -> Result<Vec<String>> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    if request.dry_run {
        Import::new(workspace, None, workspace.catalog(Area::Live), items).all(request, items, report)?;
        return Ok(Vec::new());
    }
    let lock = workspace.lock_entries()?;
    let pending = workspace.begin_write();
    workspace.check_whole(&pending.catalog)?;
    let mut import = Import::new(workspace, Some(&lock), pending.catalog, items);
    import.all(request, items, report)?;
    let written = import.written;
    workspace.commit_batch(pending.lock);
    let paths: Vec<_> = written.iter().map(|path| workspace.store.memory().join(path)).collect();
    report.problems.extend(lock.settled(&paths).filter(|_| !written.is_empty()));
    report.problems.extend(workspace.warn_of_ignored(&written.iter().map(String::as_str).collect::<Vec<_>>()));
    Ok(written)
}

impl Import<'_> {
    fn new<'a>(workspace: &'a Workspace, lock: Option<&'a Lock>, live: Catalog, items: &[Item]) -> Import<'a> {
        let mut titles: HashMap<String, Vec<(Option<Id>, u64)>> = HashMap::new();
        let mut own = Vec::new();
        for row in live.knowledge_rows().filter(|row| live.is_indexable(*row)) {
            let head = live.head(row);
            if head.scope == Scope::Project {
                titles.entry(comparable(&head.title)).or_default().push((live.id(row), head.body_fingerprint));
            }
            if head.imported.is_none() {
                own.push((row, head));
            }
        }
        let commits = if lock.is_some() { commit_dates(workspace, items) } else { HashMap::new() };
        let archive = workspace.catalog(Area::Archive);
        Import { workspace, lock, live, archive, own, titles, commits, written: Vec::new() }
    }

    fn all(&mut self, request: &ImportRequest, items: &[Item], report: &mut ImportReport) -> Result<()> {
        let mut known = self.known(items);
        let mut of_place: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, item) in items.iter().enumerate() {
            of_place.entry(&item.key).or_default().push(number);
        }
        let mut versions: HashMap<usize, Known> = HashMap::new();
        for (key, numbers) in of_place {
            pair(items, &numbers, known.remove(key).unwrap_or_default(), &mut versions);
        }
        for (number, item) in items.iter().enumerate() {
            let outcome = |action| ImportedItem::new(action, item.from.clone(), &item.knowledge.title);
            let became = match versions.remove(&number) {
                Some(known) => self.again(item, &known),
                None => self.add(request, item),
            };
            report.items.push(match became {
                Ok(became) => became,
                Err(error @ (Error::Invalid { .. } | Error::Secret { .. } | Error::Outdated { .. })) => {
                    outcome(ImportAction::Refused).because(error.to_string())
                }
                Err(error @ (Error::Uneditable { .. } | Error::Conflict { .. } | Error::OutsideRoot { .. })) => {
                    outcome(ImportAction::Conflict).because(error.to_string())
                }
                Err(error) => return Err(error),
            });
        }
        Ok(())
    }

    /// Returns the entries that were imported from the places of the items, live ones first.
    fn known(&self, items: &[Item]) -> HashMap<String, Vec<Known>> {
        let keys: HashSet<&str> = items.iter().map(|item| item.key.as_str()).collect();
        let mut known: HashMap<String, Vec<Known>> = HashMap::new();
        for (catalog, is_live) in [(&self.live, true), (&self.archive, false)] {
            for row in catalog.knowledge_rows() {
                let Some(key) = catalog.head(row).imported.filter(|key| keys.contains(key.as_str())) else { continue };
                let path = catalog.path(row);
                // A file that vanished since the scan is no longer known.
                let Ok(file) = self.workspace.store.read(&path) else { continue };
                let (Some(id), Ok(text)) = (catalog.id(row), std::str::from_utf8(&file.bytes)) else { continue };
                let entry = read(&path, &file.bytes);
                let Some((hash, now)) = imported_hash(text, &entry) else { continue };
                let (row, words) = (is_live.then_some(row), tokens(&entry.body).into_iter().collect());
                known.entry(key).or_default().push(Known { id, row, hash, now, words });
            }
        }
        known
    }

    /// Imports an item whose place has an entry.
    fn again(&mut self, item: &Item, known: &Known) -> Result<ImportedItem> {
        let outcome = |action| {
            let became = ImportedItem::new(action, item.from.clone(), &item.knowledge.title);
            became.with_id(Some(known.id.clone()))
        };
        let is_same = item.hashes().contains(&known.hash);
        let Some(row) = known.row else {
            return Ok(if is_same {
                outcome(ImportAction::Unchanged).because("it was imported before, and is in the archive")
            } else {
                outcome(ImportAction::Skipped).because("its source changed, and the entry is in the archive")
            });
        };
        let head = self.live.head(row);
        // What an agent made of an entry keeps nobody's text out.
        let is_of_agent = item.knowledge.source.is_person() && !head.source.is_person();
        // The same correction in both is no conflict.
        if is_same && !is_of_agent || item.hashes().contains(&known.now) {
            return Ok(outcome(ImportAction::Unchanged));
        }
        if known.now != known.hash && !is_of_agent {
            let reason = "its source changed, and so did the entry; take over by hand what is new";
            return Ok(outcome(ImportAction::Conflict).because(reason));
        }
        if !may_change(&self.workspace.store.author, &head) {
            let reason = "its source changed, and the entry is a person's; tell the person, who imports it";
            return Ok(outcome(ImportAction::Conflict).because(reason));
        }
        let is_taken = |title: &str| {
            let titled = self.titles.get(&comparable(title)).into_iter().flatten();
            titled.filter_map(|(id, _)| id.as_ref()).any(|id| *id != known.id)
        };
        let title = if is_taken(&item.knowledge.title) { &item.longer_title } else { &item.knowledge.title };
        let titled = item.titled(title);
        // A person may have changed the rest.
        let knowledge = Knowledge {
            details: titled.details,
            status: titled.status,
            source: if titled.source.is_person() { titled.source } else { head.source },
            ..Knowledge::new(titled.title, [""; 0], titled.body)
        };
        let knowledge = self.checked(&knowledge)?;
        if let Some(lock) = self.lock {
            let updated = knowledge::update(self.workspace, lock, &self.live, row, &knowledge, Vec::new())?;
            self.written.push(updated.path.as_relative().to_owned());
        }
        Ok(outcome(ImportAction::Updated))
    }

    /// Imports an item that is new.
    fn add(&mut self, request: &ImportRequest, item: &Item) -> Result<ImportedItem> {
        let outcome = |action, title: &str| ImportedItem::new(action, item.from.clone(), title);
        let mut title = item.knowledge.title.clone();
        let (fingerprint, _) = body_fingerprint(&item.knowledge.body);
        let tags = [item.knowledge.tags.as_slice(), request.tags.as_slice()].concat();
        let mut knowledge = self.checked(&Knowledge { tags: tags.clone(), ..item.titled(&title) })?;
        if let Some(titled) = self.titles.get(&comparable(&title)) {
            if let Some((id, _)) = titled.iter().find(|(_, text)| *text == fingerprint) {
                let became = outcome(ImportAction::Unchanged, &title).with_id(id.clone());
                return Ok(became.because("the memory has it already"));
            }
            title.clone_from(&item.longer_title);
        }
        if let Some(id) = self.same(&knowledge) {
            let reason = format!("`{id}` is about the same and says something else; take over by hand what is new");
            let became = outcome(ImportAction::Conflict, &item.knowledge.title);
            return Ok(became.with_id(Some(id)).because(reason));
        }
        if title != item.knowledge.title {
            knowledge = self.checked(&Knowledge { tags, ..item.titled(&title) })?;
        }
        let mut id = None;
        if let Some(lock) = self.lock {
            let date = item.date.or_else(|| self.commits.get(&item.from.path).copied());
            let added = knowledge::create(self.workspace, lock, &self.live, &knowledge, date)?;
            self.written.push(added.path.as_relative().to_owned());
            id = Some(added.id);
        }
        self.titles.entry(comparable(&title)).or_default().push((id.clone(), fingerprint));
        Ok(outcome(ImportAction::Added, &title).with_id(id))
    }

    /// Returns the entry that nobody imported and that states the same, as `add` decides it.
    fn same(&self, knowledge: &Knowledge) -> Option<Id> {
        let found = dedup::find(knowledge, self.own.iter().map(|(row, head)| (*row, head)));
        let says_so = found.candidates.iter().find(|candidate| {
            let entry = self.workspace.read_entry(&self.live.path(candidate.key));
            entry.is_ok_and(|(_, entry)| dedup::is_same(knowledge, candidate, &entry.head.title, &entry.body))
        });
        self.live.id(says_so?.key)
    }

    /// Returns knowledge as it is written, if it may be. Whoever wrote it, it comes from elsewhere.
    fn checked(&self, knowledge: &Knowledge) -> Result<Knowledge> {
        self.workspace.refuse_secrets(knowledge)?;
        Workspace::refuse_invisible(&Knowledge { source: Source::Agent, ..knowledge.clone() })?;
        let knowledge = knowledge.normalised()?;
        if knowledge.source.is_person() {
            return Ok(knowledge);
        }
        let said = (knowledge.title.as_str(), knowledge.body.as_str(), &knowledge.scope);
        let near = rejected(self.workspace, [&self.live, &self.archive], said)?;
        Ok(near.map_or_else(|| knowledge.clone(), |_| proposed(&knowledge)))
    }
}

/// Finds the entry of which each item of a place is a version: one with its hash, else the only one where there is one item
/// alone, else the one that shares most of its words.
fn pair(items: &[Item], numbers: &[usize], mut known: Vec<Known>, versions: &mut HashMap<usize, Known>) {
    let is_alone = numbers.len() == 1 && known.len() == 1;
    let mut left = Vec::new();
    for &number in numbers {
        let hashes = items[number].hashes();
        match known.iter().position(|known| hashes.contains(&known.hash)) {
            Some(at) => drop(versions.insert(number, known.remove(at))),
            None => left.push(number),
        }
    }
    for number in left {
        let own: HashSet<String> = tokens(&items[number].knowledge.body).into_iter().collect();
        let shares_most = |known: &Known| {
            let n_shared = own.intersection(&known.words).count();
            n_shared * 2 >= own.len() && n_shared * 2 >= known.words.len()
        };
        let place = known.iter().position(|known| is_alone || shares_most(known));
        versions.extend(place.map(|at| (number, known.remove(at))));
    }
}

/// Returns when the files of the items were last committed, those of which git says it: the date of an entry whose file has
/// none. It is no part of a hash, so a later commit of the same text changes nothing.
fn commit_dates(workspace: &Workspace, items: &[Item]) -> HashMap<String, DateTime<Utc>> {
    let undated = items.iter().filter(|item| item.date.is_none() && item.key.starts_with(&item.from.path));
    let mut files: Vec<&str> = undated.map(|item| item.from.path.as_str()).collect();
    files.dedup();
    if files.len() > MAX_PATHS {
        files = files.iter().map(|file| file.rsplit_once('/').map_or(*file, |(folder, _)| folder)).collect();
    }
    files.sort_unstable();
    files.dedup();
    files.truncate(MAX_PATHS);
    let Some(tree) = workspace.work_tree().filter(|_| !files.is_empty()) else { return HashMap::new() };
    let _asking = workspace.doing(Work::AskingGit, None);
    let mut dates = HashMap::new();
    // The newest first.
    for touch in tree.touches(&files, DateTime::UNIX_EPOCH).unwrap_or_default() {
        if let Some(at) = DateTime::from_timestamp(touch.at, 0).filter(|at| *at <= workspace.now()) {
            dates.entry(touch.path).or_insert(at);
        }
    }
    dates
}
