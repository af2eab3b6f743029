//! Finds entries by their words and, if Ollama and Qdrant are available, by their meaning.
//!
//! `semantic` finds the nearest vectors; [`retrieve`](mod@retrieve) joins both results into one ranking.

pub(crate) mod retrieve;
pub(crate) mod semantic;
