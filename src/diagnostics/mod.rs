//! Problems of a memory, and fixes that need no decision.
//!
//! `check` finds problems in and between entry files, the doctor examines the memory as a whole, and `fix` repairs what
//! the doctor found. Only `fix` changes anything.

pub(crate) mod check;
mod check_files;
pub(crate) mod doctor;
mod fix;
mod gather;
mod source_lines;
#[cfg(test)]
mod tests;

use self::doctor::{Diagnosis, SemanticFacts};
use crate::error::Problem;
use crate::workspace::{Work, Workspace};

pub use self::check_files::CheckReport;
pub(crate) use self::check_files::check;
pub(crate) use self::fix::fix;
pub use self::fix::{AppliedFix, FixReport};
pub use self::source_lines::SourceLines;

/// Examines the memory as a whole.
pub(crate) fn doctor(workspace: &Workspace, semantic: SemanticFacts, kept: Vec<Problem>) -> Diagnosis {
    let _examining = workspace.doing(Work::Examining, None);
    doctor::judge(&gather::facts(workspace, semantic, kept))
}
