//! Plans of maintenance: which entries go to the archive, and which learnings become one.
//!
//! Pure: heads and texts in, a plan out. Nothing is read, moved or written here.

mod consolidation;
mod pruning;
mod tag_groups;

pub(crate) use self::consolidation::{Learning, PlannedMerge, plan_merges};
pub use self::pruning::PruneReason;
pub(crate) use self::pruning::{PruneCandidate, PruneFacts, Replacement, plan_prune};
