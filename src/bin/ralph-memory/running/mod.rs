//! The pieces of a run: commands, processes, prompts, checklists, and what a person sees of it.
//!
//! `drive` puts them in sequence, and `keeper` alone knows the memory.

mod attempt;
pub(crate) mod command;
pub(crate) mod drive;
mod family;
pub(crate) mod feedback;
pub(crate) mod interrupt;
pub(crate) mod keeper;
pub(crate) mod live;
pub(crate) mod log;
pub(crate) mod options;
pub(crate) mod process;
pub(crate) mod prompt;
pub(crate) mod resume;
pub(crate) mod setup;
pub(crate) mod summary;
pub(crate) mod task_file;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

use ralph_memory::text::for_terminal;

/// Returns 16 hexadecimal digits that nobody knows beforehand, for the names of files.
fn random() -> String {
    // Its keys come from the system's randomness.
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// Returns what anybody said as it may stand in a line on a terminal.
fn one_line(text: &str) -> String {
    for_terminal(&text.replace(['\n', '\t'], " "))
}
