//! Lists of entries: those that a filter accepts, or those with given ids.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::catalog::{Area, Catalog};
use crate::entry::{EntrySummary, Head, Id, Kind, Scope};
use crate::error::Problem;
use crate::retrieve::superseded;
use crate::text::{fold_tag, is_same_name};
use crate::workspace::Workspace;

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
    /// The entries, in the order of their paths.
    pub entries: Vec<EntrySummary>,
    /// How many of them have each tag.
    pub tags: BTreeMap<String, usize>,
    /// Problems of the files that were read.
    pub problems: Vec<Problem>,
}

/// Returns the entries that the filter accepts, in the order of their paths.
pub(crate) fn list(workspace: &Workspace, filter: &EntryFilter) -> ListResult {
    let archive = filter.archived.then(|| workspace.catalog(Area::Archive));
    list_in(workspace, &workspace.catalog(Area::Live), archive.as_ref(), filter)
}

/// Does what [`list()`] does with entries that are read already.
pub(super) fn list_in(
    workspace: &Workspace,
    live: &Catalog,
    archive: Option<&Catalog>,
    filter: &EntryFilter,
) -> ListResult {
    let now = workspace.now();
    let superseded = superseded(&[live], now);
    let mut result =
        ListResult { entries: Vec::new(), tags: BTreeMap::new(), problems: workspace.settings_problems.clone() };
    for catalog in [Some(live), archive].into_iter().flatten() {
        for row in catalog.rows() {
            let (Some(id), head) = (catalog.id(row), catalog.head(row)) else { continue };
            if !accepts(filter, &head) {
                continue;
            }
            for tag in &head.tags {
                *result.tags.entry(tag.clone()).or_default() += 1;
            }
            result.entries.push(EntrySummary::new(id, &catalog.path(row), head, &superseded, now));
        }
        result.problems.extend(catalog.problems());
    }
    result
}

/// Returns the summaries of the entries with these ids, in their order: of live ones, else of archived ones. Ids of no
/// entry are left out.
pub(crate) fn summaries(workspace: &Workspace, ids: &[Id]) -> Vec<EntrySummary> {
    let catalogs = [workspace.catalog(Area::Live), workspace.catalog(Area::Archive)];
    let now = workspace.now();
    let superseded = superseded(&[&catalogs[0]], now);
    let summary = |id: &Id| {
        let (catalog, row) = catalogs.iter().find_map(|catalog| Some((catalog, catalog.row_of_id(id)?)))?;
        Some(EntrySummary::new(id.clone(), &catalog.path(row), catalog.head(row), &superseded, now))
    };
    ids.iter().filter_map(summary).collect()
}

fn accepts(filter: &EntryFilter, head: &Head) -> bool {
    filter.kind.is_none_or(|kind| head.kind == kind)
        && filter.tags.iter().all(|tag| head.tags.contains(&fold_tag(tag)))
        && (filter.feature.is_none() || is_same_name(head.feature.as_deref(), filter.feature.as_deref()))
        && filter.scope.as_ref().is_none_or(|scope| head.scope == *scope)
        && (filter.category.is_none() || head.category == filter.category)
}
