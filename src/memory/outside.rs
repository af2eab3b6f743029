//! The state of the work tree's files when an attempt begins and ends.

use std::path::PathBuf;

use super::Memory;
use crate::entry::path::MEMORY_FOLDER;
use crate::error::{Error, Problem, Severity};
use crate::git::{Lookup, WorkTree};
use crate::workspace::Work;

/// The state of the work tree's files, and where git made it.
pub(super) struct State {
    pub(super) tree: String,
    pub(super) work_tree: WorkTree,
    pub(super) scratch: PathBuf,
}

impl Memory {
    /// Returns the state of the work tree's files as it is now; none where there is no git or no work tree. Where
    /// it cannot be told, a problem says why: an attempt counts without it.
    pub(super) fn state_of_files(&self) -> std::result::Result<Option<State>, Box<Problem>> {
        let work_tree = match WorkTree::find(self.store.memory()) {
            Lookup::Found(tree) => tree,
            Lookup::NoGit | Lookup::NoWorkTree => return Ok(None),
            Lookup::Refused(reason) => return Err(Box::new(unknown(&reason))),
        };
        let _asking = self.doing(Work::AskingGit, None);
        let scratch = self.scratch();
        let scratch = scratch.map_err(|source| Error::Io { action: "create", path: self.store.state(), source });
        match scratch.and_then(|scratch| Ok((work_tree.tree(&scratch)?, scratch))) {
            Ok((tree, scratch)) => Ok(Some(State { tree, work_tree, scratch })),
            Err(error) => Err(Box::new(unknown(&error.to_string()))),
        }
    }
}

fn unknown(reason: &str) -> Problem {
    let message = format!("the attempt goes on without the state of the project's files: {reason}");
    let hint = "`ralph-memory doctor` looks at git; the attempt is recorded all the same";
    Problem {
        path: MEMORY_FOLDER.to_owned(),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: "no-tree".to_owned(),
        message: message.into(),
        hint: hint.into(),
    }
}
