//! Looking at entries: one, a list, and the memory as a whole.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::Memory;
use crate::catalog::{Area, Catalog, RowId};
use crate::entry::knowledge::timestamp;
use crate::entry::{EntrySummary, Head, Id, Kind, Scope, frontmatter};
use crate::error::{Message, Problem, Result};
use crate::history::{self, Usage};
use crate::journal::summaries;
use crate::retrieve::superseded;
use crate::store::version_of;
use crate::text::{fold, fold_tag, is_same_name};
use crate::workspace::no_such_entry;

/// An entry with all that it says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntryView {
    /// What lists say of it.
    #[serde(flatten)]
    pub summary: EntrySummary,
    /// From 0 to 100.
    pub importance: u8,
    /// The task at which it was learned.
    pub task_id: Option<String>,
    /// The run in which it was learned.
    pub run_id: Option<String>,
    /// When it stops being true, RFC 3339.
    pub expires_at: Option<String>,
    /// The entries that it replaces.
    pub supersedes: Vec<Id>,
    /// The live entries that replace it.
    pub superseded_by: Vec<Id>,
    /// The project paths that it speaks of.
    pub files: Vec<String>,
    /// What it answers.
    pub questions: Vec<String>,
    /// All of its frontmatter, keys that this program does not know included.
    pub frontmatter: Value,
    /// Its body, as in the file.
    pub body: String,
    /// The entries that its body links to, and what it links to that is none.
    pub links: Vec<Backlink>,
    /// The live entries whose bodies link to it.
    pub backlinks: Vec<Backlink>,
    /// Its archived versions, oldest first.
    pub versions: Vec<Id>,
    /// What became of the attempts in whose context it stood; none of one that never did.
    pub usage: Option<Usage>,
}

/// One end of a `[[…]]` between entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Backlink {
    /// The entry at the other end; `None` where there is none.
    pub id: Option<Id>,
    /// What stands between the brackets, or the title of the entry that links.
    pub text: String,
    /// The line of the link in its file.
    pub line: u32,
}

/// What [`Memory::show`] returns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// The entry.
    pub entry: EntryView,
    /// What is wrong with its file.
    pub problems: Vec<Problem>,
}

/// What a list is narrowed to. All that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// This kind alone.
    pub kind: Option<Kind>,
    /// What has all of these tags.
    pub tags: Vec<String>,
    /// What belongs to this feature.
    pub feature: Option<String>,
    /// What has this scope.
    pub scope: Option<Scope>,
    /// What has this category.
    pub category: Option<String>,
    /// The archive, too.
    pub archived: bool,
}

/// What [`Memory::list`] returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The entries, in the order of their paths.
    pub entries: Vec<EntrySummary>,
    /// How many of them have each tag.
    pub tags: BTreeMap<String, usize>,
    /// What is wrong with files that were looked at.
    pub problems: Vec<Problem>,
}

/// What [`Memory::status`] returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The folder that holds `.ralph/`.
    pub root: String,
    /// How many there are.
    pub counts: Counts,
    /// How many live knowledge entries have each category; those without one under "".
    pub categories: BTreeMap<String, usize>,
    /// What is wrong with files that were looked at: the first few.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Counts of entries, and of what is wrong with them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Live knowledge entries.
    pub knowledge: usize,
    /// Live journal entries.
    pub journal: usize,
    /// Files in the archive.
    pub archive: usize,
    /// Live entries that have expired.
    pub expired: usize,
    /// Live entries that another one replaces.
    pub superseded: usize,
    /// Live knowledge entries that were included in a context.
    pub used: usize,
    /// Those of them that were included in contexts of attempts that failed, and of none that succeeded.
    pub never_helped: usize,
    /// Different tags.
    pub tags: usize,
    /// Live entries that the index does not have yet; they are found all the same.
    pub not_indexed: usize,
    /// Files that lose something to readers.
    pub errors: usize,
    /// Things that could be better.
    pub warnings: usize,
}

impl Memory {
    /// Returns one entry: the live one with this id, else the archived one.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchEntry`](crate::error::Error::NoSuchEntry), with ids that look like it, and
    /// [`Error::Io`](crate::error::Error::Io).
    pub fn show(&self, id: &Id) -> Result<Shown> {
        let now = self.now();
        let live = self.catalog(Area::Live);
        let archive = self.catalog(Area::Archive);
        let (catalog, row) = match (live.row_of_id(id), archive.row_of_id(id)) {
            (Some(row), _) => (&live, row),
            (None, Some(row)) => (&archive, row),
            (None, None) => return Err(no_such_entry(&self.store, &[&live, &archive], id)),
        };
        let path = catalog.path(row);
        let file =
            self.store.read(&path).map_err(|unreadable| unreadable.into_error(self.store.memory().join(&path)))?;
        let entry = crate::entry::read(&path, &file.bytes);
        let text = String::from_utf8_lossy(&file.bytes);
        let fields = frontmatter::split(&text)
            .ok()
            .filter(|_| entry.head.valid)
            .and_then(|split| frontmatter::parse(&text[split.head]).ok());
        let others: Vec<(RowId, Head)> =
            live.rows().filter(|row| live.is_indexable(*row)).map(|row| (row, live.head(row))).collect();
        let links = entry.head.links.iter().map(|link| Backlink {
            id: resolve(&live, &others, &link.target),
            text: link.target.clone(),
            line: link.line,
        });
        let by = |keeps: &dyn Fn(&Head) -> Option<u32>| -> Vec<Backlink> {
            let other = |(row, head): &(RowId, Head)| {
                let line = keeps(head)?;
                let other = live.id(*row).filter(|other| other != id)?;
                Some(Backlink { id: Some(other), text: head.title.clone(), line })
            };
            others.iter().filter_map(other).collect()
        };
        let title = fold(&entry.head.title);
        let points_here =
            |target: &str| Id::parse(target).as_ref() == Some(id) || (!title.is_empty() && fold(target) == title);
        let backlinks = by(&|head| head.links.iter().find(|link| points_here(&link.target)).map(|link| link.line));
        // What has expired replaces nothing any more.
        let superseded_by =
            by(&|head| (head.valid && !head.is_expired(now) && head.supersedes.contains(id)).then_some(0));
        let head = entry.head.clone();
        let view = EntryView {
            importance: head.importance,
            task_id: head.task_id.clone(),
            run_id: head.run_id.clone(),
            expires_at: head.expires_at.map(timestamp),
            supersedes: head.supersedes.clone(),
            superseded_by: superseded_by.into_iter().filter_map(|other| other.id).collect(),
            files: head.files.clone(),
            questions: head.questions.clone(),
            summary: EntrySummary::new(id.clone(), &path, head, &superseded(&[&live], now), now),
            frontmatter: fields.map_or(Value::Null, |fields| Value::Object(fields.into_iter().collect())),
            links: links.collect(),
            backlinks,
            versions: versions(&archive, id),
            usage: usage_of(now, &[&live, &archive], id),
            body: entry.body,
        };
        Ok(Shown { entry: view, problems: catalog.head(row).problems })
    }

    /// Returns what became of the attempts in whose contexts entries stood, for those that stood in one.
    pub fn usage(&self) -> HashMap<Id, Usage> {
        all_usage(self.now(), &[&self.catalog(Area::Live), &self.catalog(Area::Archive)])
    }

    /// Returns the entries that the filter lets through, in the order of their paths.
    ///
    /// # Errors
    ///
    /// None at present; reading goes on past every file that is broken.
    pub fn list(&self, filter: &Filter) -> Result<Listed> {
        let archive = filter.archived.then(|| self.catalog(Area::Archive));
        Ok(self.listed(&self.catalog(Area::Live), archive.as_ref(), filter))
    }

    /// Returns what lists say of the entries with these ids, in their order: of live ones, else of archived ones. Those
    /// that are not there are left out.
    pub fn summaries(&self, ids: &[Id]) -> Vec<EntrySummary> {
        let catalogs = [self.catalog(Area::Live), self.catalog(Area::Archive)];
        let (now, superseded) = (self.now(), superseded(&[&catalogs[0]], self.now()));
        let summary = |id: &Id| {
            let (catalog, row) = catalogs.iter().find_map(|catalog| Some((catalog, catalog.row_of_id(id)?)))?;
            Some(EntrySummary::new(id.clone(), &catalog.path(row), catalog.head(row), &superseded, now))
        };
        ids.iter().filter_map(summary).collect()
    }

    fn listed(&self, live: &Catalog, archive: Option<&Catalog>, filter: &Filter) -> Listed {
        let now = self.now();
        let superseded = superseded(&[live], now);
        let mut listed =
            Listed { entries: Vec::new(), tags: BTreeMap::new(), problems: self.settings_problems.clone() };
        for catalog in [Some(live), archive].into_iter().flatten() {
            for row in catalog.rows() {
                let (Some(id), head) = (catalog.id(row), catalog.head(row)) else { continue };
                if !passes(filter, &head) {
                    continue;
                }
                for tag in &head.tags {
                    *listed.tags.entry(tag.clone()).or_default() += 1;
                }
                listed.entries.push(EntrySummary::new(id, &catalog.path(row), head, &superseded, now));
            }
            listed.problems.extend(catalog.problems());
        }
        listed
    }

    /// Returns how much of what there is.
    ///
    /// # Errors
    ///
    /// None at present; reading goes on past every file that is broken.
    pub fn status(&self) -> Result<Status> {
        let live = self.catalog(Area::Live);
        let archive = self.catalog(Area::Archive);
        let usage = all_usage(self.now(), &[&live, &archive]);
        let listed = self.listed(&live, None, &Filter::default());
        let count = |keeps: &dyn Fn(&EntrySummary) -> bool| listed.entries.iter().filter(|item| keeps(item)).count();
        let mut categories = BTreeMap::new();
        for item in listed.entries.iter().filter(|item| item.kind == Kind::Knowledge) {
            // It stands between numbers, and not as something that an entry says.
            let category = Message::from(item.category.as_deref().unwrap_or_default()).to_string();
            *categories.entry(category).or_default() += 1;
        }
        let mut findings = live.findings();
        findings.extend(self.settings_problems.clone());
        let (_, total) = findings.finish();
        let counts = Counts {
            knowledge: count(&|item| item.kind == Kind::Knowledge),
            journal: count(&|item| item.kind == Kind::Journal),
            archive: archive.len(),
            expired: count(&|item| item.expired),
            superseded: count(&|item| item.superseded),
            used: count(&|item| usage.contains_key(&item.id)),
            never_helped: count(&|item| usage.get(&item.id).is_some_and(|used| used.failed > 0 && used.succeeded == 0)),
            tags: listed.tags.len(),
            not_indexed: live.n_pending(),
            errors: total.errors,
            warnings: total.warnings,
        };
        Ok(Status { root: self.root().display().to_string(), counts, categories, problems: listed.problems })
    }
}

fn passes(filter: &Filter, head: &Head) -> bool {
    filter.kind.is_none_or(|kind| head.kind == kind)
        && filter.tags.iter().all(|tag| head.tags.contains(&fold_tag(tag)))
        && (filter.feature.is_none() || is_same_name(head.feature.as_deref(), filter.feature.as_deref()))
        && filter.scope.as_ref().is_none_or(|scope| head.scope == *scope)
        && (filter.category.is_none() || head.category == filter.category)
}

/// Returns the live entry that a link means: the one with this id, else the first with this title.
pub(super) fn resolve(live: &Catalog, heads: &[(RowId, Head)], target: &str) -> Option<Id> {
    let by_id = Id::parse(target).filter(|id| live.row_of_id(id).is_some());
    let title = fold(target);
    by_id.or_else(|| {
        let row =
            heads.iter().find(|(_, head)| !title.is_empty() && fold(&head.title) == title).map(|(row, _)| *row)?;
        live.id(row)
    })
}

/// Folds all attempts, archived ones included, for one entry.
fn usage_of(now: DateTime<Utc>, catalogs: &[&Catalog], id: &Id) -> Option<Usage> {
    if id.kind() != Kind::Knowledge {
        return None;
    }
    all_usage(now, catalogs).remove(id)
}

/// Folds all attempts, archived ones included.
fn all_usage(now: DateTime<Utc>, catalogs: &[&Catalog]) -> HashMap<Id, Usage> {
    history::usage(summaries(now, catalogs, |catalog| catalog.journal_rows().collect()).iter())
}

fn versions(archive: &Catalog, id: &Id) -> Vec<Id> {
    let mut versions: Vec<(String, u32, Id)> = archive
        .rows()
        .filter_map(|row| archive.id(row))
        .filter_map(|version| {
            let (stem, time, number) = version_of(version.stem())?;
            (stem == id.stem() && version.kind() == id.kind()).then(|| (time.to_owned(), number, version.clone()))
        })
        .collect();
    versions.sort();
    versions.into_iter().map(|(_, _, version)| version).collect()
}
