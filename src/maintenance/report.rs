//! The result of maintenance, or of a dry run.
//!
//! `prune` and `consolidate` share one report, so that a caller that runs both can join their results.

use serde::Serialize;

use super::plan::PruneReason;
use crate::entry::Id;
use crate::error::Problem;

/// An entry that went to the archive, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArchivedEntry {
    /// The entry.
    pub id: Id,
    /// Its path before, relative to the folder that holds `.ralph/`.
    pub from: String,
    /// Its path in the archive.
    pub to: String,
    /// Why it was archived; `None` for one that became part of another, which [`MaintenanceReport::merged`] lists.
    pub reason: Option<PruneReason>,
}

/// Learnings that became one, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsolidatedLearnings {
    /// The learning that contains the statements of the others.
    pub into: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// Its version before, in the archive.
    pub previous: String,
    /// The others.
    pub ids: Vec<Id>,
}

/// What [`Memory::prune`](crate::Memory::prune) or [`Memory::consolidate`](crate::Memory::consolidate) did, or would
/// do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MaintenanceReport {
    /// The entries that went to the archive.
    pub moved: Vec<ArchivedEntry>,
    /// The learnings that became one.
    pub merged: Vec<ConsolidatedLearnings>,
    /// The problems: files that were left as they are, and why.
    pub problems: Vec<Problem>,
}
