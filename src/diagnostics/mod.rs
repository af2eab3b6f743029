//! Problems of a memory, and fixes that need no decision.
//!
//! `check` has the rules for entries, `doctor` those for the memory as a whole; `check_files` and `gather` read what they
//! judge, and `fix` repairs what needs no decision. Only `fix` changes anything. A finding is a [`Problem`].
//!
//! [`Problem`]: crate::error::Problem

mod check;
mod check_files;
mod copies;
mod doctor;
mod fix;
mod foreign;
mod gather;
mod old_driver;
mod source_lines;

pub use self::check_files::CheckReport;
pub use self::fix::FixReport;
pub use self::source_lines::SourceLines;

#[cfg(test)]
mod tests;
