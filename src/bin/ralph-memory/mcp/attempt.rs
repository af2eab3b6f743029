//! `record_attempt`: an agent records how its attempt at a task ended.

use std::sync::OnceLock;

use ralph_memory::entry::{Files, Outcome, Sections};
use ralph_memory::memory::Report;
use ralph_memory::{Memory, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent_tool::{AgentTool, Answer};
use super::refusal::unfit;
use super::shown::{self, ToolProblem};
use crate::{parse, project_paths, session};

/// The name of the client, as it says.
static CLIENT: OnceLock<String> = OnceLock::new();
/// The run of the attempts of a session that nobody knows: the server serves one.
static SESSION: OnceLock<String> = OnceLock::new();

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordAttempt {
    /// The task, in a line, as in `build_context`.
    #[schemars(length(min = 1, max = 500))]
    task: String,
    /// Its id, if it has one; by default it is made of the title.
    #[schemars(length(max = 64))]
    task_id: Option<String>,
    /// The feature that it belongs to.
    #[schemars(length(max = 200))]
    feature: Option<String>,
    /// How it ended.
    outcome: AttemptOutcome,
    /// What you tried. Required unless it is done.
    #[schemars(length(max = 4_000))]
    what_tried: Option<String>,
    /// The cause, not the symptom. Required unless it is done.
    #[schemars(length(max = 4_000))]
    why_failed: Option<String>,
    /// Its most telling lines, word for word.
    #[schemars(length(max = 4_000))]
    error: Option<String>,
    /// What to do instead.
    #[schemars(length(max = 4_000))]
    retry_suggestion: Option<String>,
    /// Notes for the next agent.
    #[schemars(length(max = 10_000))]
    notes: Option<String>,
    /// Project paths that you changed.
    #[schemars(length(max = 200))]
    files: Option<Vec<String>>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AttemptOutcome {
    Done,
    Failed,
    Blocked,
    Partial,
}

/// The result
#[derive(Debug, Serialize)]
pub(super) struct AttemptRecorded {
    /// The entry's id
    id: String,
    /// Its file in the project, which is reviewed and committed with the code
    path: String,
    /// The number of this attempt at the task, from 1
    attempt: usize,
    /// Problems that a person should see
    problems: Vec<ToolProblem>,
}

impl Answer for AttemptRecorded {
    fn markdown(&self) -> String {
        let AttemptRecorded { id, path, attempt, problems } = self;
        let problems = shown::problem_list(problems);
        format!("Recorded attempt {attempt} at the task as {} in {path}.\n{problems}", shown::code(id))
    }
}

impl AgentTool for RecordAttempt {
    const NAME: &'static str = "record_attempt";
    const TITLE: &'static str = "Record an attempt";
    const DESCRIPTION: &'static str = "Records in the project's journal how your attempt at a task ended, so that no \
        later session repeats an approach that failed. Call it when you finish a task or give an approach up. \
        `ralph-memory run` records your attempt itself: this tool then refuses.";
    const READS_ONLY: bool = false;
    const IDEMPOTENT: bool = false;
    const OF_FEATURE: bool = true;
    type Answer = AttemptRecorded;

    fn call(mut self, memory: &Memory) -> anyhow::Result<AttemptRecorded> {
        let id = match self.task_id.as_deref().filter(|id| !id.trim().is_empty()) {
            None => Task::id_of_title(&self.task),
            Some(id) => parse::task_id(id)
                .map_err(|reason| unfit(format!("task_id: {reason}"), "leave it out, and it is made of the title"))?,
        };
        let task = Task { id: Some(id), feature: self.feature.take(), ..Task::new(self.task.trim()) };
        let files = project_paths::of_agent(memory, self.files.take())?;
        let recorded = memory.record(Some(&task), Some(&session_run(memory)), &self.report(files)?)?;
        Ok(AttemptRecorded {
            id: shown::id(&recorded.id),
            path: shown::line(&recorded.path),
            attempt: recorded.number,
            problems: shown::troubles(&recorded.problems),
        })
    }
}

/// Returns the run of the attempts that this server records: that of the loop or the session whose agent calls.
pub(super) fn session_run(memory: &Memory) -> String {
    let known = session::run_of_environment().or_else(|| session::session_of_environment(memory));
    let known = known.or_else(|| memory.session_of_client(CLIENT.get()?));
    known.unwrap_or_else(|| SESSION.get_or_init(|| memory.new_session().id).clone())
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
        if self.outcome != AttemptOutcome::Done && (what_tried.is_empty() || why_failed.is_empty()) {
            let hint = "say in `what_tried` what you did, and in `why_failed` why it did not work";
            return Err(unfit("an attempt that is not done needs `what_tried` and `why_failed`", hint));
        }
        let outcome = match self.outcome {
            AttemptOutcome::Done => Outcome::Done,
            AttemptOutcome::Failed => Outcome::Failed,
            AttemptOutcome::Blocked => Outcome::Blocked,
            AttemptOutcome::Partial => Outcome::Partial,
        };
        Ok(Report {
            outcome: Some(outcome),
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
