//! The memory of a coding-agent loop: knowledge entries and a journal of attempts, as markdown.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test"))]

pub mod catalog;
pub mod check;
pub mod context;
pub mod dedup;
pub mod doctor;
pub mod entry;
pub mod error;
pub mod git;
pub mod index;
pub mod memory;
pub mod retrieve;
pub mod settings;
pub mod sigil;
pub mod store;
pub mod text;

pub use context::{Budget, Context, Request, Task};
pub use entry::knowledge::Knowledge;
pub use entry::{Id, Kind, Scope, Source};
pub use error::{Error, Problem, Result};
pub use memory::Memory;
pub use retrieve::{Hit, Query};
