//! What texts mean: vectors of them, made by Ollama, kept in the cache or shared on a Qdrant server.
//!
//! Nothing here is needed: without these servers words alone are looked for. What is absent, slow or broken is a
//! [`Trouble`], which costs its caller a warning.

mod http;
pub mod qdrant;

pub use http::Trouble;
