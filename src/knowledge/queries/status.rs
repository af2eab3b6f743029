//! Status: how many entries there are, and how many problems with their files.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::error::{Message, Problem};
use crate::index::catalog::Area;
use crate::open::Memory;
use crate::search::retrieve::superseded;

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
    /// Live knowledge that agents wrote and no person has confirmed or changed, without what has expired or is superseded.
    pub unreviewed: usize,
    /// Different tags.
    pub tags: usize,
    /// Live entries that the index does not have yet; searches find them anyway.
    pub not_indexed: usize,
    /// Problems that hide a part of a file from readers.
    pub errors: usize,
    /// Problems of files that are readable anyway.
    pub warnings: usize,
}

impl Memory {
    /// Returns the counts of entries, and of problems with their files.
    pub fn status(&self) -> MemoryStatus {
        let workspace = &self.workspace;
        let live = workspace.catalog(Area::Live);
        let archive = workspace.catalog(Area::Archive);
        let now = workspace.now();
        let superseded = superseded(&[&live], now);
        let n_superseded = superseded.iter().filter(|id| live.row_of_id(id).is_some()).count();
        let mut counts =
            EntryCounts { journal: live.journal_rows().len(), superseded: n_superseded, ..EntryCounts::default() };
        let (mut categories, mut tags) = (BTreeMap::new(), HashSet::new());
        for row in live.knowledge_rows() {
            let head = live.light_head(row);
            counts.knowledge += 1;
            // As a key of the counts it could be mistaken for an entry's category.
            let category = Message::from(head.category.as_deref().unwrap_or_default()).to_string();
            *categories.entry(category).or_default() += 1;
            counts.expired += usize::from(head.is_expired(now));
            let is_superseded = || live.id(row).is_some_and(|id| superseded.contains(&id));
            counts.unreviewed += usize::from(head.is_unreviewed(now) && !is_superseded());
            tags.extend(head.tags);
        }
        let mut findings = live.findings();
        findings.extend(workspace.settings_problems.clone());
        let (_, total) = findings.finish();
        let counts = EntryCounts {
            archive: archive.len(),
            tags: tags.len(),
            not_indexed: live.n_pending(),
            errors: total.errors,
            warnings: total.warnings,
            ..counts
        };
        let problems = [workspace.settings_problems.clone(), live.problems()].concat();
        MemoryStatus { root: workspace.root().display().to_string(), counts, categories, problems }
    }
}
