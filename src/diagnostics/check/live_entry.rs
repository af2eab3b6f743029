//! The problems that the rules of `check` have with a live entry.

use crate::entry::path::display_path;
use crate::error::{Findings, MAX_OF_FILE, Message, Problem, Severity};
use crate::knowledge::tidy::plan::LiveEntry;

impl LiveEntry {
    /// Returns a problem of the file.
    pub(super) fn problem(
        &self,
        severity: Severity,
        code: &str,
        message: impl Into<Message>,
        hint: impl Into<Message>,
    ) -> Problem {
        Problem::new(severity, display_path(&self.path), code, message, hint)
    }

    /// Adds a warning for each thing that was found in the file, of which the first few are listed.
    pub(super) fn warn_of_each<Thing>(
        &self,
        found: impl Iterator<Item = Thing>,
        findings: &mut Findings,
        mut warning: impl FnMut(Thing) -> Problem,
    ) {
        let mut found = found;
        findings.extend(found.by_ref().take(MAX_OF_FILE).map(&mut warning));
        findings.add_unlisted(&display_path(&self.path), Severity::Warning, found.count());
    }
}
