//! The saved options of a run, for a run that resumes it.

use ralph_memory::{Memory, Task};
use serde::{Deserialize, Serialize};

use super::args::RunSettings;

/// A run as it was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedRun {
    /// Its id.
    pub(crate) run_id: String,
    /// The last task as it was given: the journal has neither its description nor the secrets in it.
    pub(crate) task: Option<Task>,
    pub(crate) settings: RunSettings,
}

impl SavedRun {
    /// Saves it. The run continues if that fails.
    pub(crate) fn save(&self, memory: &Memory) {
        if let Ok(text) = serde_json::to_string_pretty(self) {
            let _ = memory.keep_options(&text);
        }
    }

    /// Returns the last run that was started here.
    pub(crate) fn newest(memory: &Memory) -> Option<SavedRun> {
        memory.kept_options().and_then(|text| serde_json::from_str(&text).ok())
    }

    /// Returns the last task as it was given, if this has it.
    pub(crate) fn task_as_given(&self, last: Task) -> Task {
        match &self.task {
            Some(given) if given.own_id() == last.own_id() => {
                Task { title: given.title.clone(), description: given.description.clone(), ..last }
            }
            _ => last,
        }
    }
}
