//! Plans of maintenance: which entries go to the archive, and which learnings become one.
//!
//! Pure: heads and texts in, a plan out. Nothing is read, moved or written here.

mod consolidation;
mod pruning;
mod ranked_sets;
mod tag_groups;

pub(crate) use self::consolidation::{Learning, PlannedMerge, plan_merges};
pub use self::pruning::ArchiveReason;
pub(crate) use self::pruning::{PruneCandidate, PruneFacts, ReplacedBy, plan_prune};
pub(crate) use self::ranked_sets::RankedSets;
