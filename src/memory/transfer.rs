//! Imports.

use super::Memory;
use crate::error::Result;
use crate::import_export::{self, ImportReport, ImportRequest, ImportSource};

impl Memory {
    /// Imports what another program remembers. An import that is repeated changes nothing, and one that was
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
    /// * [`Error::Invalid`](crate::Error::Invalid) where nothing of a named file can be read as JSON; nothing is imported then.
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
}
