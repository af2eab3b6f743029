//! How the path of an entry is displayed, and how it is stored.
//!
//! Modules below the façade know paths relative to `.ralph/`; people and answers see them relative to the folder that
//! holds `.ralph/`.

/// What stands before the path of an entry where it is displayed.
pub(crate) const MEMORY_FOLDER: &str = ".ralph/";

/// Returns a path relative to `.ralph/` as it is displayed: relative to the folder that holds `.ralph/`.
pub(crate) fn display_path(path: &str) -> String {
    format!("{MEMORY_FOLDER}{path}")
}

/// Returns a displayed path relative to `.ralph/`.
pub(crate) fn memory_relative(path: &str) -> &str {
    path.strip_prefix(MEMORY_FOLDER).unwrap_or(path)
}
