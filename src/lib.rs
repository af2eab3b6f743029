//! The memory of a coding-agent loop: knowledge entries and a journal of attempts, as markdown.

pub mod catalog;
pub mod entry;
pub mod error;
pub mod store;
