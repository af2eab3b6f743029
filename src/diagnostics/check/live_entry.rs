//! A live entry, as the rules of `check` see it, and their problems.

use crate::entry::path::display_path;
use crate::entry::{Head, Id};
use crate::error::{Problem, Severity};

/// One live file.
#[derive(Debug, Clone)]
pub(crate) struct LiveEntry {
    /// Its path, relative to `.ralph/`.
    pub path: String,
    /// Its id.
    pub id: Id,
    /// Its head.
    pub head: Head,
    /// Whether it can be read and is the first file with its id.
    pub counts: bool,
}

impl LiveEntry {
    /// Returns a warning about the file.
    pub(super) fn warning(&self, line: Option<u32>, code: &str, message: String, hint: String) -> Problem {
        Problem {
            path: display_path(&self.path),
            line,
            column: None,
            severity: Severity::Warning,
            code: code.to_owned(),
            message: message.into(),
            hint: hint.into(),
        }
    }
}
