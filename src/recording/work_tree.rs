//! The state of the work tree's files when an attempt begins and ends.
//!
//! Without git, or if git refuses to answer, an attempt continues without it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::begun::scratch;
use super::notes;
use crate::context::{Context, Task};
use crate::entry::path::MEMORY_FOLDER;
use crate::error::{Error, Problem};
use crate::git::{Lookup, WorkTree};
use crate::open::Memory;
use crate::workspace::{Work, Workspace};

/// The state of the work tree's files, and where git computed it.
pub(super) struct WorkTreeState {
    /// The name of the git tree, without `.ralph/`.
    pub(super) tree: String,
    work_tree: WorkTree,
    scratch: PathBuf,
}

/// Git's view of the work tree after the agent has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkTreeChanges {
    pub(super) tree: Option<String>,
    #[serde(default)]
    pub(super) commit: Option<String>,
    pub(super) created: Vec<String>,
    pub(super) modified: Vec<String>,
}

/// Returns the current state of the work tree's files; `None` if there is no git or no work tree. If git fails, a
/// problem gives the reason.
pub(super) fn work_tree_state(workspace: &Workspace) -> Result<Option<WorkTreeState>, Box<Problem>> {
    let work_tree = match WorkTree::find(workspace.store.memory()) {
        Lookup::Found(tree) => tree,
        Lookup::NoGit | Lookup::NoWorkTree => return Ok(None),
        Lookup::Refused(reason) => return Err(Box::new(unknown(&reason))),
    };
    let _asking = workspace.doing(Work::AskingGit, None);
    let scratch = scratch(workspace);
    let scratch = scratch.map_err(|source| Error::Io { action: "create", path: workspace.store.state(), source });
    match scratch.and_then(|scratch| Ok((work_tree.tree(&scratch)?, scratch))) {
        Ok((tree, scratch)) => Ok(Some(WorkTreeState { tree, work_tree, scratch })),
        Err(error) => Err(Box::new(unknown(&error.to_string()))),
    }
}

impl Memory {
    /// Notes for the next [record](Memory::record) of a task what its context shows: the entries, and the state of the work
    /// tree, from which the files follow that the attempt changes. `run` names the run or session that asked. It is a best
    /// effort, and forgotten after a week.
    pub fn note_context(&self, task: &Task, run: Option<&str>, context: &Context) {
        let tree = work_tree_state(&self.workspace).ok().flatten().map(|state| state.tree);
        notes::note(&self.workspace, task, run, context, tree);
    }
}

/// Returns the current tree, with the files that changed since the tree `before` according to git. If there was such a
/// tree and there is none now, it also returns the reason.
pub(super) fn changes_since(workspace: &Workspace, before: Option<&str>) -> (WorkTreeChanges, Option<Problem>) {
    let state = match work_tree_state(workspace) {
        Ok(Some(state)) => state,
        Ok(None) => return (WorkTreeChanges::default(), None),
        Err(problem) => return (WorkTreeChanges::default(), Some(*problem).filter(|_| before.is_some())),
    };
    let mut changes = WorkTreeChanges::default();
    if let Some(before) = before
        && let Ok(found) = state.work_tree.changes(&state.scratch, before, &state.tree)
    {
        changes.created = found.created;
        changes.modified = found.modified.into_iter().chain(found.deleted).collect();
    }
    changes.commit = state.work_tree.commit();
    changes.tree = Some(state.tree);
    (changes, None)
}

fn unknown(reason: &str) -> Problem {
    let message = format!("the attempt continues without the state of the project's files: {reason}");
    let hint = "`ralph-memory check` checks git; the attempt is still recorded";
    Problem::warning(MEMORY_FOLDER, "no-tree", message, hint)
}
