//! `record_attempt`: an agent records how its attempt at a task ended.

use std::sync::OnceLock;

use ralph_memory::entry::{Files, Outcome, Sections};
use ralph_memory::memory::{Recorded, Report};
use ralph_memory::{Author, Memory, Task};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::agent_tool::AgentTool;
use super::refusal::{parsed, unfit};
use super::shown::inline;
use crate::{authors, parse, project_paths, session};

/// The name of the client, as it says.
static CLIENT: OnceLock<String> = OnceLock::new();
/// The run of the attempts of a session that nobody knows: the server serves one.
static SESSION: OnceLock<String> = OnceLock::new();

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordAttempt {
    /// As in `build_context`.
    task: String,
    /// Made of the title by default.
    task_id: Option<String>,
    /// The task's feature.
    feature: Option<String>,
    /// How it ended.
    outcome: ReportedOutcome,
    /// Required unless done, as is `why_failed`.
    what_tried: Option<String>,
    /// The cause, not the symptom.
    why_failed: Option<String>,
    /// Its most telling lines.
    error: Option<String>,
    /// What to do instead.
    retry_suggestion: Option<String>,
    /// For the next agent.
    notes: Option<String>,
    /// Project paths you changed.
    files: Option<Vec<String>>,
}

/// The outcomes that an agent reports itself.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ReportedOutcome {
    Done,
    Failed,
    Blocked,
    Partial,
}

impl From<ReportedOutcome> for Outcome {
    fn from(outcome: ReportedOutcome) -> Outcome {
        match outcome {
            ReportedOutcome::Done => Outcome::Done,
            ReportedOutcome::Failed => Outcome::Failed,
            ReportedOutcome::Blocked => Outcome::Blocked,
            ReportedOutcome::Partial => Outcome::Partial,
        }
    }
}

impl AgentTool for RecordAttempt {
    const NAME: &'static str = "record_attempt";
    const TITLE: &'static str = "Record an attempt";
    const DESCRIPTION: &'static str = "Records how your attempt at a task ended, so that nobody repeats what \
        failed. Call it when you finish or give up. In `ralph-memory run`, which records it itself, it refuses.";
    const READS_ONLY: bool = false;
    const IDEMPOTENT: bool = false;
    const OF_FEATURE: bool = true;

    fn call(mut self, memory: &Memory) -> anyhow::Result<Value> {
        let id = task_id(self.task_id.as_deref(), &self.task)?;
        let task = Task { id: Some(id), feature: self.feature.take(), ..Task::new(self.task.trim()) };
        let files = project_paths::of_agent(memory, self.files.take())?;
        let Recorded { id, path, number, problems, .. } =
            memory.record(Some(&task), Some(&session_run(memory)), &self.report(files)?)?;
        Ok(json!({"id": id, "path": path, "attempt": number, "problems": problems}))
    }

    fn markdown(answer: &Value) -> String {
        let [number, id, path] = ["attempt", "id", "path"].map(|key| inline(&answer[key]));
        format!("Recorded attempt {number} at the task as {id} in {path}.\n")
    }
}

/// Returns the id of a task: the one that is given, else that of its title.
pub(super) fn task_id(given: Option<&str>, title: &str) -> anyhow::Result<String> {
    match given.filter(|id| !id.trim().is_empty()) {
        None => Ok(Task::id_of_title(title)),
        Some(id) => parsed(parse::task_id(id), "task_id:", "leave it out, and it is made of the title"),
    }
}

/// Returns the run of the attempts that this server records: that of the loop or the session whose agent calls.
pub(super) fn session_run(memory: &Memory) -> String {
    let known = authors::run_of_environment().or_else(|| session::session_of_environment(memory));
    let known = known.or_else(|| memory.session_of_client(CLIENT.get()?));
    known.unwrap_or_else(|| SESSION.get_or_init(|| memory.new_session().id).clone())
}

/// Returns the agent that calls this server.
pub(super) fn agent() -> Author {
    match authors::author() {
        Author::Person => Author::of_server(CLIENT.get().map_or("", String::as_str)),
        agent @ Author::Agent(_) => agent,
    }
}

/// Notes the name that the client gives.
pub(super) fn note_client(name: &str) {
    CLIENT.get_or_init(|| name.to_owned());
}

impl RecordAttempt {
    /// Returns the report. Its texts are taken as they are: nothing in them is an element or a key.
    fn report(self, files: Vec<String>) -> anyhow::Result<Report> {
        let given = |text: Option<String>| text.map(|text| text.trim().to_owned()).unwrap_or_default();
        let (what_tried, why_failed) = (given(self.what_tried), given(self.why_failed));
        if self.outcome != ReportedOutcome::Done && (what_tried.is_empty() || why_failed.is_empty()) {
            let hint = "say in `what_tried` what you did, and in `why_failed` why it did not work";
            return Err(unfit("an attempt that is not done needs `what_tried` and `why_failed`", hint));
        }
        Ok(Report {
            outcome: Some(self.outcome.into()),
            files: Files { modified: files, ..Files::default() },
            sections: Sections {
                what_tried,
                why_failed,
                error_output: given(self.error),
                retry_suggestion: given(self.retry_suggestion),
                notes: given(self.notes),
                ..Sections::default()
            },
            ..Report::default()
        })
    }
}
