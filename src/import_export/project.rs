//! Lists the files of a project.

use std::cell::OnceCell;

use crate::git::{Lookup, WorkTree};
use crate::store::{Folder, SourceFiles};
use crate::workspace::Workspace;

/// Folders whose files are of others, made by a program, or read by tests.
const FOREIGN: [&str; 9] =
    [".git", ".ralph", ".venv", "__fixtures__", "fixtures", "node_modules", "testdata", "third_party", "vendor"];

/// The files of a project, listed when they are first needed.
#[derive(Debug, Default)]
pub(super) struct ProjectFiles(OnceCell<SourceFiles>);

impl ProjectFiles {
    /// Returns the files that git knows or does not ignore; without git, those of a bounded walk.
    pub(super) fn get(&self, workspace: &Workspace, root: &Folder) -> &SourceFiles {
        self.0.get_or_init(|| {
            let of_git = match WorkTree::find(workspace.root()) {
                Lookup::Found(tree) => tree.files().ok(),
                _ => None,
            };
            let mut files = of_git.unwrap_or_else(|| root.files(&|_| true));
            let is_own = |path: &str| !path.split('/').any(|part| FOREIGN.contains(&part));
            files.paths.retain(|path| is_own(path));
            files.left_out.retain(|(path, _)| is_own(path));
            files
        })
    }
}
