//! The result of maintenance, or of a dry run.
//!
//! `prune` and `consolidate` share one report, so that a caller that runs both can join their results.

use serde::Serialize;

use super::plan::PruneReason;
use crate::entry::Id;
use crate::error::Problem;

/// An entry that went to the archive, or would.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::PruneReason;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let coupon = "---\ntitle: Coupon\ntags: [sales]\nexpires_at: 2021-12-24\n---\n\nXMAS is 20 % off.\n";
/// std::fs::write(root.join(".ralph/knowledge/coupon.md"), coupon)?;
/// let archived = &memory.prune(false)?.moved[0];
/// assert_eq!((archived.from.as_str(), archived.reason), (".ralph/knowledge/coupon.md", Some(PruneReason::Expired)));
/// assert!(root.join(&archived.to).is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArchivedEntry {
    /// The entry.
    pub id: Id,
    /// Its path before, relative to the folder that holds `.ralph/`.
    pub from: String,
    /// Its path in the archive.
    pub to: String,
    /// Why it was archived; `None` for one that the caller named, and for one that became part of another, which
    /// [`MaintenanceReport::merged`] lists.
    pub reason: Option<PruneReason>,
}

/// Learnings that became one, or would.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// std::fs::write(root.join(".ralph/config.toml"), "format = 1\nmaintenance.learnings = 1\n")?;
/// let memory = Memory::open(root)?;
/// for (title, text) in [("Cold starts", "They take 3 s."), ("Warm pools", "Keep two instances.")] {
///     memory.add(&Knowledge { category: Some("pitfall".into()), ..Knowledge::new(title, ["lambda"], text) })?;
/// }
/// let one = memory.consolidate(false)?.merged.remove(0);
/// let body = memory.show(&one.into)?.entry.body;
/// assert!(one.ids.len() == 1 && body.contains("They take 3 s.") && body.contains("Keep two instances."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsolidatedLearnings {
    /// The learning that contains the statements of the others.
    pub into: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// The others.
    pub ids: Vec<Id>,
}

/// What [`Memory::prune`](crate::Memory::prune), [`Memory::consolidate`](crate::Memory::consolidate) or
/// [`Memory::archive`](crate::Memory::archive) did, or would do.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Build time", ["build"], "Four minutes without a cache."))?;
/// let planned = memory.prune(true)?;
/// assert!(planned.moved.is_empty() && planned.problems.is_empty(), "nothing is old enough for the archive");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MaintenanceReport {
    /// The entries that went to the archive.
    pub moved: Vec<ArchivedEntry>,
    /// The learnings that became one.
    pub merged: Vec<ConsolidatedLearnings>,
    /// The problems: files that were left as they are, and why.
    pub problems: Vec<Problem>,
}
