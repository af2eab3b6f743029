//! Vectors of entries, and whether semantic search works.

use super::Memory;
use crate::error::Result;
use crate::search::semantic::{EmbedReport, SemanticStatus};

impl Memory {
    /// Embeds all entries that have no vector, archived ones included, and keeps the vectors in the cache. Without
    /// `ollama.url` there is nothing to do.
    ///
    /// A server that fails is a problem of the report, and what was embedded before is kept.
    ///
    /// ```
    /// use ralph_memory::Memory;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// let memory = Memory::open(root)?;
    /// assert_eq!(memory.embed_missing()?.new, 0, "the settings name no server");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Locked`](crate::Error::Locked) where another process keeps writing the cache, and
    /// [`Error::Io`](crate::Error::Io) where the cache cannot be written.
    pub fn embed_missing(&self) -> Result<EmbedReport> {
        self.semantic.embed_missing(&self.workspace)
    }

    /// Brings the Qdrant server up to date with the files: stores what it lacks or has differently, and removes what was
    /// stored from here and is in no file any more. Entries that others stored stay: they may be of another branch.
    ///
    /// With `rebuild`, first deletes what this project has on the server. A model of other dimensions requires that.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) where `ollama.url` or `qdrant.url` is not set, and those of
    /// [`Memory::embed_missing`].
    pub fn sync_remote(&self, rebuild: bool) -> Result<EmbedReport> {
        self.semantic.sync_remote(&self.workspace, rebuild)
    }

    /// Removes all that this project has on the Qdrant server. The next call that stores vectors there brings entries
    /// back, so the settings should no longer name the server.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::sync_remote`].
    pub fn remove_remote(&self) -> Result<EmbedReport> {
        self.semantic.remove_remote(&self.workspace)
    }

    /// Asks the servers whether they work. A failure that this reports is not a problem of later calls.
    pub fn semantic_status(&self) -> SemanticStatus {
        self.semantic.status(&self.workspace)
    }

    /// Returns the least cosine, from -1 to 1, at which an entry is found by its meaning alone: that of the settings,
    /// else the one that suits the model.
    pub fn min_similarity(&self) -> f64 {
        self.workspace.settings.min_similarity()
    }
}
