//! Imports.

use super::Memory;
use crate::error::Result;
use crate::import::{self, ImportReport, ImportRequest};

impl Memory {
    /// Imports notes, decision records, rules for agents, JSON Lines and past sessions. An import that is repeated changes
    /// nothing, and one that was interrupted can be repeated.
    ///
    /// Each entry says in its `details` where it comes from, with a hash of what was imported. If its source has changed
    /// since, the entry is updated; if someone has edited it, it is left alone and reported, and so is every entry that was
    /// not imported. What is in the archive is not imported again.
    ///
    /// What looks like a secret, and what has invisible characters, is refused and named, and the rest is imported.
    ///
    /// # Errors
    ///
    /// * [`Error::Invalid`](crate::Error::Invalid) where nothing says what a named file is, or it cannot be read as that;
    ///   nothing is imported then.
    /// * [`Error::Locked`](crate::Error::Locked) where another process kept writing.
    /// * [`Error::Io`](crate::Error::Io) where the path cannot be read, or nothing can be written.
    pub fn import(&self, request: &ImportRequest) -> Result<ImportReport> {
        let _operation = self.operation("import");
        let (mut report, written) = import::import(&self.workspace, &self.semantic, request)?;
        if !written.is_empty() {
            report.problems.extend(self.semantic.embed_written(&self.workspace, &written));
        }
        Ok(report)
    }
}
