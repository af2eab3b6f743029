//! Imports and exports.

use std::path::Path;

use super::Memory;
use crate::error::Result;
use crate::import_export::{self, ExportStream, ImportReport, ImportRequest, ImportSource, OkfReport};

impl Memory {
    /// Imports what another program remembers, or an export. An import that is repeated changes nothing, and one that was
    /// interrupted can be repeated.
    ///
    /// Each entry says in its `details` where it comes from. If its source has changed since, the entry is updated, and
    /// its old version goes to the archive; if someone has edited it, it is left alone and reported. An entry from
    /// elsewhere with the same title is never changed: the new one gets a longer title.
    ///
    /// What looks like a secret, and what has invisible characters, is refused and named, and the rest is imported.
    ///
    /// # Errors
    ///
    /// * [`Error::Invalid`](crate::Error::Invalid) where the source has no usual place and none is named, where an export is
    ///   incomplete or damaged, or where nothing of a named file can be read as JSON; nothing is imported then.
    /// * [`Error::Unusable`](crate::Error::Unusable) where a database cannot be read.
    /// * [`Error::Locked`](crate::Error::Locked) where another process kept writing.
    /// * [`Error::Io`](crate::Error::Io) where the path cannot be read, or nothing can be written.
    pub fn import(&self, request: &ImportRequest) -> Result<ImportReport> {
        let _operation = self.operation("import");
        let (mut report, written) = import_export::import(&self.workspace, &self.semantic, request)?;
        if !written.is_empty() {
            report.problems.extend(self.semantic.embed_written(&self.workspace, &written));
        }
        Ok(report)
    }

    /// Returns what an import of each source from its usual places would do, and imports nothing. The source and the
    /// input of the request do not count, except for the folders of agents.
    pub fn importable(&self, request: &ImportRequest) -> Vec<(ImportSource, Result<ImportReport>)> {
        import_export::importable(&self.workspace, &self.semantic, request)
    }

    /// Returns all of the memory as JSON Lines, for [`ImportSource::Export`]: knowledge,
    /// attempts and the archive, each file to the byte, and the settings of the project, which an import leaves out. Equal
    /// memories give equal lines.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) where a folder cannot be listed.
    pub fn export(&self) -> Result<ExportStream<'_>> {
        import_export::export(&self.workspace)
    }
    /// Writes the live knowledge to a new or empty folder, in the Open Knowledge Format: a markdown file for each entry, and
    /// `index.md`, which lists them. [`ImportSource::MemoryBank`] reads it back.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`](crate::Error::Unusable) where the folder is not empty, and [`Error::Io`](crate::Error::Io) where
    /// it cannot be written.
    pub fn export_okf(&self, folder: &Path) -> Result<OkfReport> {
        import_export::export_okf(&self.workspace, folder)
    }
}
