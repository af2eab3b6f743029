//! What texts mean: vectors of them, made by Ollama, kept in the cache or shared on a Qdrant server.
//!
//! Nothing here is needed: without these servers words alone are looked for. What is absent, slow or broken is a
//! [`Trouble`], which costs its caller a warning.

pub mod chunk;
mod http;
mod ollama;
pub mod qdrant;
pub mod vectors;

pub use http::{Clock, Trouble};
pub use ollama::{Ollama, Patience};
pub use qdrant::Qdrant;
