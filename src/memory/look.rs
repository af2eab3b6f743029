//! Looking at entries: one, a list, and the memory as a whole.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::Memory;
use super::runs::pasts;
use super::write::{no_such_entry, shown};
use crate::catalog::{Area, Catalog, RowId};
use crate::entry::knowledge::timestamp;
use crate::entry::{Head, Id, Kind, Outcome, Scope, Source, frontmatter};
use crate::error::{Message, Problem, Result, Severity};
use crate::history::{self, Usage};
use crate::retrieve::superseded;
use crate::store::version_of;
use crate::text::{fold, fold_tag, is_same_name};

/// An entry with all that it says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntryView {
    /// Its id.
    pub id: Id,
    /// Knowledge or journal.
    pub kind: Kind,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// Whether it lies in the archive.
    pub archived: bool,
    /// Its title; empty when it has none.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its category.
    pub category: Option<String>,
    /// Its feature.
    pub feature: Option<String>,
    /// Whom it concerns.
    pub scope: Scope,
    /// From 0 to 100.
    pub importance: u8,
    /// Who wrote it.
    pub source: Source,
    /// The task at which it was learned.
    pub task_id: Option<String>,
    /// The run in which it was learned.
    pub run_id: Option<String>,
    /// When it was made, RFC 3339.
    pub created_at: Option<String>,
    /// When it was last changed, RFC 3339.
    pub updated_at: Option<String>,
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

/// An entry in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListItem {
    /// Its id.
    pub id: Id,
    /// Knowledge or journal.
    pub kind: Kind,
    /// Its title; empty when it has none.
    pub title: String,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// How it ended; only an attempt has that.
    pub outcome: Option<Outcome>,
    /// Its category.
    pub category: Option<String>,
    /// Its feature.
    pub feature: Option<String>,
    /// Whom it concerns.
    pub scope: Scope,
    /// When it was made, RFC 3339.
    pub created_at: Option<String>,
    /// When it was last changed, RFC 3339.
    pub updated_at: Option<String>,
    /// Whether it lies in the archive.
    pub archived: bool,
    /// Whether it has expired.
    pub expired: bool,
    /// Whether another entry replaces it.
    pub superseded: bool,
}

/// What [`Memory::list`] returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The entries, in the order of their paths.
    pub entries: Vec<ListItem>,
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
    /// How many live knowledge entries there are.
    pub knowledge: usize,
    /// How many live journal entries there are.
    pub journal: usize,
    /// How many files the archive has.
    pub archived: usize,
    /// How many live entries have expired.
    pub expired: usize,
    /// How many live entries another one replaces.
    pub superseded: usize,
    /// How many live knowledge entries have each category; those without one under "".
    pub categories: BTreeMap<String, usize>,
    /// How many live knowledge entries stood in a context.
    pub used: usize,
    /// How many of these stood in contexts of attempts that failed, and of none that succeeded.
    pub never_helped: usize,
    /// How many different tags there are.
    pub tags: usize,
    /// How many live entries the index does not have yet; they are found all the same.
    pub not_indexed: usize,
    /// How many files lose something to readers.
    pub errors: usize,
    /// How many things could be better.
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
        let superseded_by = by(&|head| head.supersedes.contains(id).then_some(0));
        let head = entry.head.clone();
        let view = EntryView {
            id: id.clone(),
            kind: head.kind,
            archived: path.starts_with("archive/"),
            path: shown(&path),
            title: head.title,
            tags: head.tags,
            category: head.category,
            feature: head.feature,
            scope: head.scope,
            importance: head.importance,
            source: head.source,
            task_id: head.task_id,
            run_id: head.run_id,
            created_at: head.created_at.map(timestamp),
            updated_at: head.updated_at.map(timestamp),
            expires_at: head.expires_at.map(timestamp),
            supersedes: head.supersedes,
            superseded_by: superseded_by.into_iter().filter_map(|other| other.id).collect(),
            files: head.files,
            questions: head.questions,
            frontmatter: fields.map_or(Value::Null, |fields| Value::Object(fields.into_iter().collect())),
            links: links.collect(),
            backlinks,
            versions: versions(&archive, id),
            usage: usage_of(self.now(), &[&live, &archive], id),
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
                let path = catalog.path(row);
                let archived = path.starts_with("archive/");
                for tag in &head.tags {
                    *listed.tags.entry(tag.clone()).or_default() += 1;
                }
                listed.entries.push(ListItem {
                    expired: head.is_expired(now),
                    superseded: !archived && superseded.contains(&id),
                    id,
                    kind: head.kind,
                    title: head.title,
                    path: shown(&path),
                    tags: head.tags,
                    outcome: head.attempt.map(|attempt| attempt.outcome),
                    category: head.category,
                    feature: head.feature,
                    scope: head.scope,
                    created_at: head.created_at.map(timestamp),
                    updated_at: head.updated_at.map(timestamp),
                    archived,
                });
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
        let count = |keeps: &dyn Fn(&ListItem) -> bool| listed.entries.iter().filter(|item| keeps(item)).count();
        let mut categories = BTreeMap::new();
        for item in listed.entries.iter().filter(|item| item.kind == Kind::Knowledge) {
            // It stands between numbers, and not as something that an entry says.
            let category = Message::from(item.category.as_deref().unwrap_or_default()).to_string();
            *categories.entry(category).or_default() += 1;
        }
        let problems =
            |severity: Severity| listed.problems.iter().filter(|problem| problem.severity == severity).count();
        Ok(Status {
            root: self.root().display().to_string(),
            knowledge: count(&|item| item.kind == Kind::Knowledge),
            journal: count(&|item| item.kind == Kind::Journal),
            archived: archive.len(),
            used: count(&|item| usage.contains_key(&item.id)),
            never_helped: count(&|item| usage.get(&item.id).is_some_and(|used| used.failed > 0 && used.succeeded == 0)),
            expired: count(&|item| item.expired),
            superseded: count(&|item| item.superseded),
            categories,
            tags: listed.tags.len(),
            not_indexed: live.n_pending(),
            errors: problems(Severity::Error),
            warnings: problems(Severity::Warning),
        })
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
    history::usage(pasts(now, catalogs, |catalog| catalog.journal_rows().collect()).iter())
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
