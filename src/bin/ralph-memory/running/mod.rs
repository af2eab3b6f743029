//! The pieces of a run: commands, processes, prompts, checklists, and what a person sees of it.
//!
//! None of them knows the memory: `commands/run.rs` puts them together with it.

pub(crate) mod command;
pub(crate) mod feedback;
pub(crate) mod interrupt;
pub(crate) mod live;
pub(crate) mod process;
pub(crate) mod prompt;
pub(crate) mod summary;
pub(crate) mod task_file;
