//! Maintenance: archives unused entries, and merges similar learnings.
//!
//! [`plan`] decides and is pure; `tidy` gathers its input and carries it out, and `archive` moves what a caller names. Nothing is deleted: files
//! move to the archive, and a crash at any point leaves each statement in a file.

mod archive;
mod archiving;
pub(crate) mod plan;
mod report;
mod tidy;

pub(crate) use self::archive::archive;
pub use self::report::{ArchivedEntry, MergedLearnings, TidyReport};
pub(crate) use self::tidy::{live_entries, tidy};

#[cfg(test)]
mod tests;
