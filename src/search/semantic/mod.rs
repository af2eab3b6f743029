//! Semantic search: vectors of texts, computed by Ollama, kept in the cache or shared on a Qdrant server.
//!
//! Nothing here is required: without servers, only words are searched. A server that is absent, slow or broken costs a
//! warning, and never fails a call. Without the feature `semantic` there are no clients, and a memory whose settings
//! name a server reports that.

#[cfg(not(feature = "semantic"))]
mod absent;
#[cfg(feature = "semantic")]
mod breaker;
#[cfg(feature = "semantic")]
mod chunk;
#[cfg(feature = "semantic")]
mod embedder;
#[cfg(feature = "semantic")]
mod failure;
#[cfg(feature = "semantic")]
mod http;
mod memory;
#[cfg(feature = "semantic")]
mod ollama;
#[cfg(feature = "semantic")]
pub(crate) mod qdrant;
#[cfg(feature = "semantic")]
mod remote;
mod report;
#[cfg(feature = "semantic")]
mod sealed_list;
#[cfg(feature = "semantic")]
mod searcher;
#[cfg(feature = "semantic")]
pub(crate) mod vectors;
#[cfg(feature = "semantic")]
pub(crate) mod word_vector;

#[cfg(not(feature = "semantic"))]
use absent::Searcher;
#[cfg(feature = "semantic")]
pub use http::{RequestError, Timeouts};
pub(crate) use memory::SemanticMemory;
pub use report::{EmbedReport, ProjectHit, SemanticStatus};
#[cfg(feature = "semantic")]
use searcher::Searcher;

/// The folder of the vectors and of the data about servers, below `cache/`.
pub(crate) const FOLDER: &str = "vectors-v1";
