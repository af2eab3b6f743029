//! Finding entries: by their words, and by their meaning where Ollama and Qdrant are at hand.
//!
//! `semantic` asks for the nearest vectors, [`retrieve`](mod@retrieve) joins what both found to one ranking.

pub(crate) mod retrieve;
pub(crate) mod semantic;
