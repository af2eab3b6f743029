//! Internals that the tests, the benches and the fuzzer of this crate measure and attack separately. They are not part
//! of the public interface and change without notice.

pub use crate::context::write::instructions::Instructions;
pub use crate::index::catalog::{Area, Catalog};
pub use crate::index::{Committed, Document, OverlayBuilder, Snapshot, Statistics, folder_name};
pub use crate::search::retrieve::search;
#[cfg(feature = "semantic")]
pub use crate::search::semantic::vectors::{QueryVector, VectorCache, VectorRecord};
pub use crate::store::{Store, stem_for_title, version_of};

/// See `crate::entry`.
pub mod entry {
    pub use crate::entry::attempt::{Attempt, line_fingerprint};
    pub use crate::entry::body::{blocks, digest};
    pub use crate::entry::conflict::merged as merge_conflicts;
    pub use crate::entry::edit::{Change, apply};
    pub use crate::entry::frontmatter::{double_quote, parse, quote, split};
    pub use crate::entry::guard::scan;
    pub use crate::entry::read::read;
}
/// See `crate::search::semantic::qdrant`.
#[cfg(feature = "semantic")]
pub mod qdrant {
    pub use crate::search::semantic::qdrant::{
        CollectionsReport, ElsewhereMatch, ElsewhereQuery, Point, PointMatch, PointQuery, QdrantClient, StoredPoint,
    };
    pub use crate::search::semantic::word_vector::WordVector;
    pub use crate::search::semantic::{RequestError, Timeouts};
}
/// See `crate::settings`.
pub mod settings {
    pub use crate::settings::table::{CollectionSettings, HnswSettings, QdrantSettings};
}
/// See `crate::agent_output::elements`.
pub mod sigil {
    pub use crate::agent_output::elements::{Tokens, read, tokens};
}
/// See `crate::text`.
pub mod text {
    pub use crate::text::title::{first_sentence, title_of};
    pub use crate::text::words::{fold, words};
}
