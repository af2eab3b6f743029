//! Status: how many entries there are, and how many problems with their files.

use std::collections::BTreeMap;

use serde::Serialize;

use super::list::{EntryFilter, list_in};
use super::usage::all_usage;
use crate::entry::{EntrySummary, Kind};
use crate::error::{Message, Problem};
use crate::index::catalog::Area;
use crate::workspace::Workspace;

/// The result of [`Memory::status`](crate::Memory::status).
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge { category: Some("tool_usage".into()), ..Knowledge::new("Just", ["just"], "Run `just`.") })?;
/// let status = memory.status();
/// assert_eq!(status.root, root.display().to_string());
/// assert_eq!(status.categories["tool_usage"], 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryStatus {
    /// The folder that holds `.ralph/`.
    pub root: String,
    /// How many entries there are.
    pub counts: EntryCounts,
    /// How many live knowledge entries have each category; those without one under "".
    pub categories: BTreeMap<String, usize>,
    /// Problems of the files that were read: the first few.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Counts of entries, and of their problems.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let old = memory.add(&Knowledge::new("Two replicas", ["redis"], "One primary, two replicas."))?.id;
/// memory.add(&Knowledge::new("Sentinel port", ["redis"], "26379."))?;
/// memory.archive(&[old])?;
/// let counts = memory.status().counts;
/// assert_eq!((counts.knowledge, counts.archive), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EntryCounts {
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
    /// Those of them that never helped: see [`Usage::never_helped`](crate::journal::history::Usage::never_helped).
    pub never_helped: usize,
    /// Different tags.
    pub tags: usize,
    /// Live entries that the index does not have yet; searches find them anyway.
    pub not_indexed: usize,
    /// Problems that hide a part of a file from readers.
    pub errors: usize,
    /// Problems of files that are readable anyway.
    pub warnings: usize,
}

/// Returns the counts of entries, and of problems with their files.
pub(crate) fn status(workspace: &Workspace) -> MemoryStatus {
    let live = workspace.catalog(Area::Live);
    let archive = workspace.catalog(Area::Archive);
    let usage = all_usage(workspace.now(), &[&live, &archive]);
    let listed = list_in(workspace, &live, None, &EntryFilter::default());
    let count = |keeps: &dyn Fn(&EntrySummary) -> bool| listed.entries.iter().filter(|item| keeps(item)).count();
    let mut categories = BTreeMap::new();
    for item in listed.entries.iter().filter(|item| item.kind == Kind::Knowledge) {
        // As a key of the counts it could be mistaken for an entry's category.
        let category = Message::from(item.category.as_deref().unwrap_or_default()).to_string();
        *categories.entry(category).or_default() += 1;
    }
    let mut findings = live.findings();
    findings.extend(workspace.settings_problems.clone());
    let (_, total) = findings.finish();
    let counts = EntryCounts {
        knowledge: count(&|item| item.kind == Kind::Knowledge),
        journal: count(&|item| item.kind == Kind::Journal),
        archive: archive.len(),
        expired: count(&|item| item.expired),
        superseded: count(&|item| item.superseded),
        used: count(&|item| usage.contains_key(&item.id)),
        never_helped: count(&|item| usage.get(&item.id).is_some_and(|usage| usage.never_helped)),
        tags: listed.tags.len(),
        not_indexed: live.n_pending(),
        errors: total.errors,
        warnings: total.warnings,
    };
    MemoryStatus { root: workspace.root().display().to_string(), counts, categories, problems: listed.problems }
}
