//! Maintenance: archives unused entries, and merges similar learnings.
//!
//! [`plan`] decides and is pure; `execute` gathers its input and carries it out, and `archive` moves what a caller names. Nothing is deleted: files
//! move to the archive, and a crash at any point leaves each statement in a file.

mod archive;
mod archiving;
mod execute;
pub(crate) mod plan;
mod report;

pub(crate) use self::execute::live_entries;
pub use self::report::{ArchivedEntry, MergedLearnings, TidyReport};

#[cfg(test)]
mod tests;
