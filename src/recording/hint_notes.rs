//! What agents were told at calls of tools: notes in `state/` that `stats` counts.
//!
//! They are a best effort: what cannot be noted is not counted.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::sealed;
use crate::entry::Id;
use crate::journal::check_run_name;
use crate::workspace::Workspace;

/// The file, below `state/sessions/`.
const NAME: &str = "hints.json";
/// How many notes are kept, the newest ones.
const MAX_NOTES: usize = 500;

/// What an agent was told at one call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HintNote {
    pub(crate) at: DateTime<Utc>,
    /// The run or session.
    pub(crate) run: String,
    /// The number of its newest attempt in the journal at that time; 0 if it had none.
    pub(crate) newest: u32,
    pub(crate) ids: Vec<Id>,
}

/// Notes what an agent of this run was told.
pub(crate) fn note_hints(workspace: &Workspace, run: String, ids: Vec<Id>) {
    if check_run_name(&run).is_err() {
        return;
    }
    let folders = [format!("journal/{run}"), format!("archive/journal/{run}")];
    let names = folders.iter().flat_map(|folder| workspace.store.names(folder).unwrap_or_default());
    let numbers = names.filter_map(|name| name.to_str()?.split('.').next()?.parse().ok());
    let note = HintNote { at: workspace.now(), newest: numbers.max().unwrap_or(0), run, ids };
    let _ = sealed::update(workspace, NAME, |notes: &mut Vec<HintNote>, _| {
        notes.push(note);
        notes.drain(..notes.len().saturating_sub(MAX_NOTES));
    });
}

/// Returns the notes, the oldest first.
pub(crate) fn hint_notes(workspace: &Workspace) -> Vec<HintNote> {
    sealed::read_locked(workspace, NAME)
}
