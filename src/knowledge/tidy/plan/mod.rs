//! Plans of maintenance: which entries go to the archive, and which learnings become one.
//!
//! Pure: heads and texts in, a plan out. Nothing is read, moved or written here.

mod consolidation;
mod pruning;
mod tag_groups;

pub(crate) use self::consolidation::{Learning, PlannedMerge, plan_merges};
pub use self::pruning::ArchiveReason;
pub(crate) use self::pruning::{ReplacedBy, plan_moves};
use crate::entry::{Head, Id};

/// The file of a live entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LiveEntry {
    /// Its id.
    pub id: Id,
    /// Its path, relative to `.ralph/`.
    pub path: String,
    /// Its head.
    pub head: Head,
    /// Whether it can be read and is the first file with its id.
    pub counts: bool,
}
