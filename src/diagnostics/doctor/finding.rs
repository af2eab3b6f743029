//! The few ways in which the rules word a finding. It knows no rule.
//!
//! A finding is a [`Problem`] of a file or a folder. One without a hint says that something is as it should be.

use crate::entry::path::MEMORY_FOLDER;
use crate::error::{Message, Problem};
use crate::store::Paths;
use crate::text::count;

/// Reports that a part of the memory is as it should be.
pub(super) fn ok(code: &str, message: impl Into<Message>) -> Problem {
    Problem::notice(MEMORY_FOLDER, code, message, "")
}

/// Reports something that works, and would work better fixed.
pub(super) fn warning(code: &str, message: impl Into<Message>, hint: impl Into<Message>) -> Problem {
    Problem::warning(MEMORY_FOLDER, code, message, hint)
}

/// Reports something that does not work.
pub(super) fn error(code: &str, message: impl Into<Message>, hint: impl Into<Message>) -> Problem {
    Problem::error(MEMORY_FOLDER, code, message, hint)
}

/// Returns the first few of the paths, for a sentence.
pub(super) fn named(paths: &Paths) -> String {
    const MAX_SHOWN: usize = 3;
    let list: Vec<String> = paths.named.iter().take(MAX_SHOWN).map(|path| format!("`.ralph/{path}`")).collect();
    let more = if paths.count > list.len() { ", …" } else { "" };
    format!("{}{more}", list.join(", "))
}

/// Returns a number with its noun and the verb, such as `1 entry is`.
pub(super) fn are(number: usize, noun: &str) -> String {
    format!("{} {}", count(number, noun), if number == 1 { "is" } else { "are" })
}
