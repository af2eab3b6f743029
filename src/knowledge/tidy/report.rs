//! The result of `tidy` and `archive`, or of a dry run.

use serde::Serialize;

use super::plan::ArchiveReason;
use crate::entry::{EntryPath, Id};
use crate::error::Problem;

/// An entry that went to the archive, or would.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::ArchiveReason;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let coupon = "---\ntitle: Coupon\ntags: [sales]\nexpires_at: 2021-12-24\n---\n\nXMAS is 20 % off.\n";
/// std::fs::write(root.join(".ralph/knowledge/coupon.md"), coupon)?;
/// let archived = &memory.tidy(false)?.moved[0];
/// assert_eq!((archived.from.as_str(), archived.reason), (".ralph/knowledge/coupon.md", Some(ArchiveReason::Expired)));
/// assert!(root.join(&archived.to).is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArchivedEntry {
    /// The entry.
    pub id: Id,
    /// Its file before.
    pub from: EntryPath,
    /// Its file in the archive.
    pub to: EntryPath,
    /// Why it was archived; `None` for one that the caller named, and for one that became part of another, which
    /// [`TidyReport::merged`] lists.
    pub reason: Option<ArchiveReason>,
}

/// Learnings that became one, or would.
///
/// ```
/// use ralph_memory::{Knowledge, Memory, Source};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// std::fs::write(root.join(".ralph/config.toml"), "format = 1\nmaintenance.learnings = 1\n")?;
/// let memory = Memory::open(root)?;
/// for (title, text) in [("Cold starts", "They take 3 s."), ("Warm pools", "Keep two instances.")] {
///     let learning = Knowledge::new(title, ["lambda"], text);
///     memory.add(&Knowledge { category: Some("pitfall".into()), source: Source::Agent, ..learning })?;
/// }
/// let one = memory.tidy(false)?.merged.remove(0);
/// let body = memory.show(&one.into)?.entry.body;
/// assert!(one.ids.len() == 1 && body.contains("They take 3 s.") && body.contains("Keep two instances."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergedLearnings {
    /// The learning that contains the statements of the others.
    pub into: Id,
    /// Its file.
    pub path: EntryPath,
    /// The others.
    pub ids: Vec<Id>,
}

/// What [`Memory::tidy`](crate::Memory::tidy) or [`Memory::archive`](crate::Memory::archive) did, or would do.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Build time", ["build"], "Four minutes without a cache."))?;
/// let planned = memory.tidy(true)?;
/// assert!(planned.moved.is_empty() && planned.problems.is_empty(), "nothing is old enough for the archive");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TidyReport {
    /// The entries that went to the archive.
    pub moved: Vec<ArchivedEntry>,
    /// The learnings that became one.
    pub merged: Vec<MergedLearnings>,
    /// The problems: files that were left as they are, and why.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}
