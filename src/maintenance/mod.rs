//! Maintenance: archives unused entries, and merges similar learnings.
//!
//! [`plan`] decides and is pure; `prune` and `consolidate` gather its input and carry it out. Nothing is deleted: files
//! move to the archive, and a crash at any point leaves each statement in a file.

mod archive;
mod archiving;
mod consolidate;
pub(crate) mod plan;
mod prune;
mod report;
#[cfg(test)]
mod tests;

pub(crate) use self::archive::archive;
pub(crate) use self::consolidate::consolidate;
pub(crate) use self::prune::prune;
pub use self::report::{ArchivedEntry, ConsolidatedLearnings, MaintenanceReport};
