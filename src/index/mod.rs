//! The search index. Only this module touches Tantivy.
//!
//! An index is disposable: it is built from entries, and only knows where their words are. The commit in a folder
//! ([`Committed`]) and the changes since ([`Overlay`]) make a [`Snapshot`], whose statistics are those of the live
//! entries alone, so a score does not depend on how the index was built. Scores are whole numbers of millionths: sums
//! do not depend on their order, and the parts of a score add up to it.

pub(crate) mod catalog;
mod commit;
mod directory;
mod document;
mod extra;
mod guard;
pub(crate) mod hints;
mod overlay;
mod plan;
mod query;
mod score;
mod snapshot;
mod tokens;

use std::io;
use std::sync::OnceLock;

use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::store::Compressor;
use tantivy::{IndexSettings, TantivyError};

pub use commit::Committed;
pub(crate) use commit::Writer;
pub use document::Document;
pub(crate) use document::Filter;
pub(crate) use extra::Bonus;
pub(crate) use guard::guarded;
pub use guard::is_guarded;
pub use overlay::OverlayBuilder;
pub(crate) use plan::statistics;
pub(crate) use query::{Part, TEXT as TEXT_WEIGHT, TextQuery};
pub(crate) use score::{Candidate, Match, Scores, TermEvidence};
pub use snapshot::{Snapshot, Statistics};
#[cfg(feature = "semantic")]
pub(crate) use tokens::{VERSION as TOKENS_VERSION, word_counts};

/// An index in memory, of entries that the committed one lacks.
pub(crate) type Overlay = Vec<tantivy::SegmentReader>;

/// Why an index could not be read or written.
pub(crate) type Failure = TantivyError;

/// Returns a name for the index folder that differs between programs that cannot read each other's index: by schema,
/// tokens and Tantivy's own format.
pub fn folder_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        // In JSON the fields have a fixed order; the schema's debug form has none.
        let schema = serde_json::to_string(&document::IndexFields::default().schema).unwrap_or_default();
        let versions = format!(
            "{} tokens {} documents {} files {}",
            tantivy::version_string(),
            tokens::VERSION,
            document::VERSION,
            directory::VERSION
        );
        format!("index-{:016x}", xxhash_rust::xxh3::xxh3_64(format!("{versions} {schema}").as_bytes()))
    })
}

/// Returns the error of the file system, if that is why an index failed.
pub(crate) fn io_cause(failure: &Failure) -> Option<io::Error> {
    let cause: &io::Error = match failure {
        TantivyError::IoError(error)
        | TantivyError::LockFailure(LockError::IoError(error), _)
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error: error, .. })
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error: error, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error: error, .. }) => error,
        _ => return None,
    };
    // A system error is only its number; Tantivy shares its own, which cannot be cloned.
    let copy = cause.raw_os_error().map(io::Error::from_raw_os_error);
    Some(copy.unwrap_or_else(|| io::Error::new(cause.kind(), cause.to_string())))
}

fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

#[cfg(test)]
pub(crate) use commit::reseal;
