//! A live entry, as the rules of `check` see it, and their problems.

use crate::entry::path::display_path;
use crate::entry::{Head, Id};
use crate::error::Problem;

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
        Problem::warning(display_path(&self.path), code, message, hint).at_line(line)
    }
}
