//! Lists of entries: those that a filter accepts, or those with given ids.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::entry::{EntrySummary, Head, Id, Kind, Scope, is_ahead};
use crate::error::Problem;
use crate::index::catalog::{Area, Catalog};
use crate::journal;
use crate::journal::history::{self, Usage};
use crate::open::Memory;
use crate::search::retrieve::superseded;
use crate::text::{choice, fold, has_tag, is_same_name, without_accents};

/// The conditions of a list. All given ones must be true.
///
/// ```
/// use ralph_memory::memory::EntryFilter;
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// for (title, category) in [("Mock the clock", "testing_strategy"), ("Never sleep", "pitfall")] {
///     memory.add(&Knowledge { category: Some(category.into()), ..Knowledge::new(title, ["tests"], "It is flaky.") })?;
/// }
/// let pitfalls = EntryFilter { category: Some("pitfall".into()), ..EntryFilter::default() };
/// let titles: Vec<String> = memory.list(&pitfalls).entries.into_iter().map(|entry| entry.title).collect();
/// assert_eq!(titles, ["Never sleep"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryFilter {
    /// Only this kind.
    pub kind: Option<Kind>,
    /// Only entries with all of these tags.
    pub tags: Vec<String>,
    /// Only entries of this feature.
    pub feature: Option<String>,
    /// Only entries with this scope.
    pub scope: Option<Scope>,
    /// Only entries with this category.
    pub category: Option<String>,
    /// Includes the archive.
    pub archived: bool,
    /// Only entries that were created or changed at this time or later.
    pub since: Option<DateTime<Utc>>,
    /// Only knowledge that was of no use so far.
    pub useless: Option<Useless>,
    /// Only entries that these wrote.
    pub author: Option<WrittenBy>,
    /// The order; by path without one.
    pub sort: Option<EntrySort>,
    /// Reverses the order.
    pub reverse: bool,
    /// How many entries are returned at most; all without a limit.
    pub limit: Option<usize>,
}

/// In what way knowledge has been of no use so far.
///
/// ```
/// use ralph_memory::entry::Outcome;
/// use ralph_memory::memory::{EntryFilter, Report, Useless};
/// use ralph_memory::{Knowledge, Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Round the totals", ["invoice"], "To the cent."))?;
/// memory.add(&Knowledge::new("Colours of the logo", ["brand"], "Green on white."))?;
/// memory.add(&Knowledge::new("Cents are integers", ["money"], "Never floats."))?;
/// for (task, outcome) in [
///     ("Round the totals of an invoice", Outcome::Failed),
///     ("Round the totals of an order", Outcome::Failed),
///     ("Round the totals of a report", Outcome::Failed),
///     ("Count money in cents as integers", Outcome::Done),
/// ] {
///     let attempt = memory.begin(&Task::new(task), &memory.new_run())?;
///     memory.finish(&attempt, &Report { outcome: Some(outcome), ..Report::default() })?;
/// }
/// let titles = |useless| -> Vec<String> {
///     let listed = memory.list(&EntryFilter { useless: Some(useless), ..EntryFilter::default() });
///     listed.entries.into_iter().map(|entry| entry.title).collect()
/// };
/// assert_eq!(titles(Useless::Unused), ["Colours of the logo"]);
/// assert_eq!(titles(Useless::NeverHelped), ["Round the totals"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Useless {
    /// It was included in no context.
    Unused,
    /// Attempts at three or more tasks had it in their contexts and failed, and none succeeded, where others did.
    NeverHelped,
}

choice! {
    /// Who wrote the entries of a list. A person who confirms or changes an agent's entry becomes its author.
    ///
    /// ```
    /// use ralph_memory::memory::{WrittenBy, EntryFilter};
    /// use ralph_memory::{Knowledge, Memory, Source};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// memory.add(&Knowledge::new("Sign with the hardware key", ["release"], "It is in the safe."))?;
    /// let noted = Knowledge::new("The linker needs 8 GB", ["ci"], "Use mold.");
    /// memory.add(&Knowledge { source: Source::Agent, ..noted })?;
    /// let titles = |author| -> Vec<String> {
    ///     let listed = memory.list(&EntryFilter { author: Some(author), ..EntryFilter::default() });
    ///     listed.entries.into_iter().map(|entry| entry.title).collect()
    /// };
    /// assert_eq!(titles(WrittenBy::People), ["Sign with the hardware key"]);
    /// assert_eq!(titles(WrittenBy::Unreviewed), ["The linker needs 8 GB"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub enum WrittenBy {
        /// People.
        People = "people",
        /// Agents.
        Agents = "agents",
        /// Agents, of knowledge that has neither expired nor been superseded: what is left to review.
        Unreviewed = "unreviewed",
    }
}

choice! {
    /// The order of a list. Equal entries are in the order of their paths.
    ///
    /// ```
    /// use ralph_memory::memory::{EntryFilter, EntrySort};
    /// use ralph_memory::{Knowledge, Memory};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// for (title, importance) in [("Zip the logs", 80), ("Ask before a deploy", 20)] {
    ///     memory.add(&Knowledge { importance: Some(importance), ..Knowledge::new(title, ["ops"], "Always.") })?;
    /// }
    /// let first = |sort| {
    ///     let filter = EntryFilter { sort: Some(sort), limit: Some(1), ..EntryFilter::default() };
    ///     memory.list(&filter).entries.remove(0).title
    /// };
    /// assert_eq!((first(EntrySort::Title), first(EntrySort::Importance)), ("Ask before a deploy".into(), "Zip the logs".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub enum EntrySort {
        /// Last changed first.
        Updated = "updated",
        /// Last created first.
        Created = "created",
        /// By title, whatever the case.
        Title = "title",
        /// Most often included in a context first, then those that were included last.
        Used = "used",
        /// Most important first.
        Importance = "importance",
    }
}

/// The result of [`Memory::list`](crate::Memory::list).
///
/// ```
/// use ralph_memory::memory::EntryFilter;
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Zstd level", ["zstd", "backup"], "Level 9 for backups."))?;
/// memory.add(&Knowledge::new("Backup window", ["backup"], "From 2 to 4 in the morning."))?;
/// let listed = memory.list(&EntryFilter::default());
/// assert_eq!(listed.entries.len(), 2);
/// assert_eq!((listed.tags["backup"], listed.tags["zstd"]), (2, 1));
/// assert!(listed.problems.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListResult {
    /// The entries, in the order of the filter.
    pub entries: Vec<EntrySummary>,
    /// How many of them have each tag, or one below it.
    pub tags: BTreeMap<String, usize>,
    /// Problems of the files that were read.
    pub problems: Vec<Problem>,
}

impl Memory {
    /// Returns the entries that the filter accepts, in the order of their paths. Files that are broken are among them as
    /// far as they can be read.
    ///
    /// ```
    /// use ralph_memory::{Kind, Knowledge, Memory};
    /// use ralph_memory::memory::EntryFilter;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// let memory = Memory::open(root)?;
    /// memory.add(&Knowledge::new("WAL mode", ["sqlite"], "Use `PRAGMA journal_mode = WAL`."))?;
    /// let listed = memory.list(&EntryFilter { tags: vec!["sqlite".into()], ..EntryFilter::default() });
    /// assert_eq!(listed.entries[0].title, "WAL mode");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list(&self, filter: &EntryFilter) -> ListResult {
        let workspace = &self.workspace;
        let live = workspace.catalog(Area::Live);
        let archive = filter.archived.then(|| workspace.catalog(Area::Archive));
        let now = workspace.now();
        let superseded = superseded(&[&live], now);
        let usage = if filter.needs_usage() { self.usage() } else { HashMap::new() };
        let mut tags = TagCounts::default();
        let mut problems = workspace.settings_problems.clone();
        let mut found: Vec<(SortKey, EntrySummary)> = Vec::new();
        for catalog in [Some(&live), archive.as_ref()].into_iter().flatten() {
            let rows = match filter.kind {
                Some(Kind::Knowledge) => catalog.knowledge_rows(),
                Some(Kind::Journal) => catalog.journal_rows(),
                None => catalog.rows(),
            };
            for row in rows {
                let (Some(id), head) = (catalog.id(row), catalog.light_head(row)) else { continue };
                let is_by = |author| match author {
                    WrittenBy::People => head.source.is_person(),
                    WrittenBy::Agents => !head.source.is_person(),
                    WrittenBy::Unreviewed => head.is_unreviewed(now) && !superseded.contains(&id),
                };
                if !accepts(filter, &head, usage.get(&id)) || !filter.author.is_none_or(is_by) {
                    continue;
                }
                tags.add(&head.tags);
                let key = sort_key(filter.sort, &head, usage.get(&id), now);
                found.push((key, EntrySummary::new(id, &catalog.path(row), head, &superseded, now)));
            }
            problems.extend(catalog.problems());
        }
        // Stable, so that equal entries stay in the order of their paths.
        match (filter.sort, filter.reverse) {
            (None, true) => found.reverse(),
            (Some(_), true) => found.sort_by(|(one, _), (other, _)| other.cmp(one)),
            (_, false) => found.sort_by(|(one, _), (other, _)| one.cmp(other)),
        }
        let entries = found.into_iter().map(|(_, entry)| entry).take(filter.limit.unwrap_or(usize::MAX));
        ListResult { entries: entries.collect(), tags: tags.finish(), problems }
    }

    /// Returns the summaries of the entries with these ids, in their order: of live ones, else of archived ones. Ids of
    /// no entry are left out.
    pub fn summaries(&self, ids: &[Id]) -> Vec<EntrySummary> {
        let workspace = &self.workspace;
        if ids.is_empty() {
            return Vec::new();
        }
        let catalogs = [workspace.catalog(Area::Live), workspace.catalog(Area::Archive)];
        let now = workspace.now();
        let superseded = superseded(&[&catalogs[0]], now);
        let summary = |id: &Id| {
            let (catalog, row) = catalogs.iter().find_map(|catalog| Some((catalog, catalog.row_of_id(id)?)))?;
            Some(EntrySummary::new(id.clone(), &catalog.path(row), catalog.head(row), &superseded, now))
        };
        ids.iter().filter_map(summary).collect()
    }

    /// Returns how the attempts whose contexts included an entry ended, for each entry that has any.
    pub fn usage(&self) -> HashMap<Id, Usage> {
        let workspace = &self.workspace;
        all_usage(workspace.now(), &[&workspace.catalog(Area::Live), &workspace.catalog(Area::Archive)])
    }
}

/// Counts entries by tag, as [`has_tag`] finds them: with accents or without, and those of the tags below it.
#[derive(Default)]
struct TagCounts {
    names: BTreeSet<String>,
    counts: HashMap<String, usize>,
}

impl TagCounts {
    fn add(&mut self, tags: &[String]) {
        let mut found: BTreeSet<String> = BTreeSet::new();
        for tag in tags {
            if !self.names.contains(tag) {
                self.names.insert(tag.clone());
            }
            let plain = without_accents(tag);
            found.extend(plain.match_indices('/').map(|(at, _)| plain[..at].to_owned()));
            found.insert(plain);
        }
        for tag in found {
            *self.counts.entry(tag).or_default() += 1;
        }
    }

    fn finish(self) -> BTreeMap<String, usize> {
        let TagCounts { names, counts } = self;
        let counted = names.into_iter().map(|tag| {
            let count = counts.get(&without_accents(&tag)).copied().unwrap_or_default();
            (tag, count)
        });
        counted.collect()
    }
}

impl EntryFilter {
    fn needs_usage(&self) -> bool {
        self.useless.is_some() || self.sort == Some(EntrySort::Used)
    }
}

/// What decides the place of an entry in a list: the greater number or the later time comes first, then the lesser title.
type SortKey = (Reverse<(usize, Option<DateTime<Utc>>)>, String);

fn sort_key(sort: Option<EntrySort>, head: &Head, usage: Option<&Usage>, now: DateTime<Utc>) -> SortKey {
    // An entry from the future would be the newest for years.
    let time = |time: Option<DateTime<Utc>>| (0, time.filter(|time| !is_ahead(*time, now)));
    let greatest = match sort {
        None | Some(EntrySort::Title) => (0, None),
        Some(EntrySort::Updated) => time(head.recency()),
        Some(EntrySort::Created) => time(head.created_at),
        Some(EntrySort::Used) => usage.map_or((0, None), |usage| (usage.recalls, usage.last_used)),
        Some(EntrySort::Importance) => (head.importance.into(), None),
    };
    let title = if sort == Some(EntrySort::Title) { fold(&head.title) } else { String::new() };
    (Reverse(greatest), title)
}

fn accepts(filter: &EntryFilter, head: &Head, usage: Option<&Usage>) -> bool {
    filter.kind.is_none_or(|kind| head.kind == kind)
        && filter.tags.iter().all(|tag| has_tag(&head.tags, tag))
        && (filter.feature.is_none() || is_same_name(head.feature.as_deref(), filter.feature.as_deref()))
        && filter.scope.as_ref().is_none_or(|scope| head.scope == *scope)
        && (filter.category.is_none() || head.category == filter.category)
        && filter.since.is_none_or(|since| head.recency().is_some_and(|time| time >= since))
        && filter.useless.is_none_or(|useless| head.kind == Kind::Knowledge && is_useless(useless, usage))
}

fn is_useless(useless: Useless, usage: Option<&Usage>) -> bool {
    match useless {
        Useless::Unused => usage.is_none(),
        Useless::NeverHelped => usage.is_some_and(|usage| usage.never_helped),
    }
}

/// Does what [`Memory::usage`] does with entries that are read already. Archived attempts count as well.
pub(super) fn all_usage(now: DateTime<Utc>, catalogs: &[&Catalog]) -> HashMap<Id, Usage> {
    history::usage(journal::light_summaries(now, catalogs).iter())
}
