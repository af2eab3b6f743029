//! What an agent printed: the transcript of a client, and the report elements in its text.
//!
//! Everything that records an attempt uses this module: [`transcript`] turns the bytes into text and figures, and
//! `elements` reads from the text what the agent reports to the memory. Nothing here reads files or the clock.

pub(crate) mod account;
pub(crate) mod elements;
pub mod transcript;
