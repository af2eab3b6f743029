//! Simulated servers, so that the tests need no real ones.

pub(crate) mod http;
pub(crate) mod ollama;
pub(crate) mod qdrant;
pub(crate) mod rules;
