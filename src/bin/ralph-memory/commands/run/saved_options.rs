//! The options of a run, saved for a run that resumes it.

use std::path::PathBuf;

use ralph_memory::{Memory, Task};
use serde::{Deserialize, Serialize};

/// The options of a run, as they were given; omitted ones are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SavedOptions {
    /// The run.
    pub(crate) run_id: String,
    pub(crate) agent: Option<String>,
    pub(crate) verify: Option<String>,
    pub(crate) summarize: Option<String>,
    pub(crate) format: Option<String>,
    pub(crate) strategy: Option<String>,
    pub(crate) progress: Option<String>,
    pub(crate) max_iterations: Option<u32>,
    pub(crate) max_attempts: Option<u32>,
    /// In seconds, as the next one.
    pub(crate) timeout: Option<u64>,
    pub(crate) verify_timeout: Option<u64>,
    pub(crate) max_cost: Option<f64>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) no_mcp: bool,
    pub(crate) keep_going: bool,
    /// The full path, since a run may be resumed from another folder; so are those below.
    pub(crate) prompt: Option<PathBuf>,
    pub(crate) log: Option<PathBuf>,
    pub(crate) task_file: Option<PathBuf>,
    /// The last task as it was given: the journal has neither its description nor the secrets in it.
    pub(crate) task: Option<Task>,
    pub(crate) feature: Option<String>,
    pub(crate) section: Option<String>,
    pub(crate) budget: Option<usize>,
    pub(crate) tokens: Option<usize>,
}

impl SavedOptions {
    /// Saves the options. The run continues if that fails.
    pub(crate) fn save(&self, memory: &Memory) {
        if let Ok(text) = serde_json::to_string_pretty(self) {
            let _ = memory.keep_options(&text);
        }
    }

    /// Returns the last task of a run as it was given, if the options have it.
    pub(crate) fn as_given(saved: Option<&SavedOptions>, last: Task) -> Task {
        let given = saved.and_then(|saved| saved.task.as_ref()).filter(|given| given.own_id() == last.own_id());
        let Some(Task { title, description, .. }) = given.cloned() else { return last };
        Task { title, description, ..last }
    }

    /// Returns the saved options: those of the last run that was started here.
    pub(crate) fn newest(memory: &Memory) -> Option<SavedOptions> {
        memory.kept_options().and_then(|text| serde_json::from_str(&text).ok())
    }
}
