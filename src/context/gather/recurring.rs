//! Recurring files and errors in the attempts at a task's feature.

use crate::context::{ErrorLine, Recurring, Task};
use crate::entry::path::{MEMORY_FOLDER, is_project_path};
use crate::index::catalog::Catalog;
use crate::journal::history::{self, AttemptSummary, Recurrence};
use crate::journal::{error_line, recent_attempts};
use crate::workspace::Workspace;

/// How many files are looked up for suggestions in a context: more than it shows, because it lists no file twice.
const MAX_FILES: usize = 32;
/// How many errors are looked up for a context: more than it shows.
const MAX_ERRORS: usize = 4;

/// Returns the recurring files and errors for the context of a task: from the last attempts at its feature or, if it
/// has none, from its `own` attempts. From its own attempts, only errors are returned, because the context shows their
/// files with them.
pub(super) fn recurring(
    workspace: &Workspace,
    catalogs: &[&Catalog],
    task: &Task,
    own: &[AttemptSummary],
) -> Recurring {
    let feature = task.feature.as_deref().filter(|feature| !feature.trim().is_empty());
    let of_feature = feature.map(|feature| recent_attempts(workspace.now(), catalogs, feature));
    let attempts = of_feature.as_deref().unwrap_or(own);
    let touched = of_feature.as_deref().map(history::touched_files).unwrap_or_default();
    let files = touched
        .into_iter()
        .filter(|file| file.suggested)
        .map(|file| file.path)
        .filter(|path| !task.files.contains(path) && has_file(workspace, path))
        .take(MAX_FILES)
        .collect();
    let errors = history::pressing_errors(attempts, own).into_iter().take(MAX_ERRORS);
    Recurring { files, errors: errors.map(|error| context_error(workspace, catalogs, &error)).collect() }
}

/// Returns a recurring error in the form for a context.
pub(super) fn context_error(workspace: &Workspace, catalogs: &[&Catalog], error: &Recurrence<'_>) -> ErrorLine {
    ErrorLine {
        attempts: error.attempts().map(|attempt| attempt.id.clone()).collect(),
        line: error_line(workspace, catalogs, error).unwrap_or_default(),
    }
}

/// Returns whether the project has something at `path`, outside of the memory.
fn has_file(workspace: &Workspace, path: &str) -> bool {
    is_project_path(path) && !path.starts_with(MEMORY_FOLDER) && workspace.root().join(path).symlink_metadata().is_ok()
}
