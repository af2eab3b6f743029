//! `record_attempt`: an agent without a loop around it records how its attempt at a task went.

use ralph_memory::context::defuse;
use ralph_memory::entry::{Files, Outcome};
use ralph_memory::memory::{Iteration, Report};
use ralph_memory::{Memory, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent_tool::{AgentTool, Answer};
use super::refusal::unfit;
use super::shown::{self, ToolProblem};
use crate::{parse, session};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordAttempt {
    /// The task, in a line, as in `build_context`.
    #[schemars(length(min = 1, max = 500))]
    task: String,
    /// Its id, if it has one; by default it is made of the title.
    #[schemars(length(max = 64))]
    task_id: Option<String>,
    /// The feature that the task belongs to.
    #[schemars(length(max = 200))]
    feature: Option<String>,
    /// How it ended.
    outcome: AttemptOutcome,
    /// What you tried. Required unless it is done.
    #[schemars(length(max = 4_000))]
    tried: Option<String>,
    /// The cause, not the symptom. Required unless it is done.
    #[schemars(length(max = 4_000))]
    why_failed: Option<String>,
    /// Its most telling lines, word for word.
    #[schemars(length(max = 4_000))]
    error: Option<String>,
    /// What to do instead.
    #[schemars(length(max = 4_000))]
    suggestion: Option<String>,
    /// Notes for the next agent at this task.
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
        later session repeats an approach that failed. Call it once when you finish a task, and whenever you give an \
        approach up. If a loop runs you, it records the attempt, and this tool refuses.";
    const READS_ONLY: bool = false;
    const IDEMPOTENT: bool = false;
    const OF_FEATURE: bool = true;
    type Answer = AttemptRecorded;

    fn call(self, memory: &Memory) -> anyhow::Result<AttemptRecorded> {
        if session::run_of_environment().is_some() {
            return Err(unfit("a loop runs you, and records this attempt itself", "report it in your final answer"));
        }
        let iteration = self.iteration(memory)?;
        let attempt = iteration.attempt;
        let recorded = memory.finish(&iteration, &self.report()?)?;
        Ok(AttemptRecorded {
            id: shown::id(&recorded.id),
            path: shown::line(&recorded.path),
            attempt,
            problems: shown::troubles(&recorded.problems),
        })
    }
}

impl RecordAttempt {
    /// Returns the iteration that the attempt ends: the open one of the task, or a new one.
    fn iteration(&self, memory: &Memory) -> anyhow::Result<Iteration> {
        let id = match self.task_id.as_deref().filter(|id| !id.trim().is_empty()) {
            None => Task::id_of_title(&self.task),
            Some(id) => parse::task_id(id)
                .map_err(|reason| unfit(format!("task_id: {reason}"), "leave it out, and it is made of the title"))?,
        };
        let is_open = memory.open_iterations().iter().any(|open| open.task_id() == id);
        let mut iteration = memory.resume(None, None, Some(&id))?;
        if iteration.holder.is_some() || iteration.agent.is_some() {
            return Err(unfit(
                "a loop works on this task, and records its attempts",
                "give your own task another title",
            ));
        }
        if !is_open {
            let feature = self.feature.clone().or_else(|| iteration.task.feature.take());
            iteration.task = Task { id: Some(id), feature, ..Task::new(self.task.trim()) };
        }
        Ok(iteration)
    }

    /// Returns the report, in the form in which a loop reads it from an agent's text.
    fn report(&self) -> anyhow::Result<Report> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        // A report has one line for each key; no text of a value begins an element.
        let line = |text: String| defuse(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut text = String::new();
        match (given(&self.tried), given(&self.why_failed)) {
            (Some(tried), Some(why)) => {
                let error =
                    given(&self.error).map_or_else(String::new, |error| format!("stack_trace: {}\n", defuse(&error)));
                let (tried, why) = (line(tried), line(why));
                text = format!("<failure-report>\nwhat_tried: {tried}\nwhy_failed: {why}\n{error}</failure-report>\n");
            }
            _ if self.outcome != AttemptOutcome::Done => {
                let hint = "say in `tried` what you did, and in `why_failed` why it did not work";
                return Err(unfit("an attempt that is not done needs `tried` and `why_failed`", hint));
            }
            _ => {}
        }
        if let Some(suggestion) = given(&self.suggestion) {
            text.push_str(&format!("<retry-suggestion>{}</retry-suggestion>\n", defuse(&suggestion)));
        }
        if let Some(notes) = given(&self.notes) {
            text.push_str(&format!("<journal>{}</journal>\n", defuse(&notes)));
        }
        let outcome = match self.outcome {
            AttemptOutcome::Done => Outcome::Done,
            AttemptOutcome::Failed => Outcome::Failed,
            AttemptOutcome::Blocked => Outcome::Blocked,
            AttemptOutcome::Partial => Outcome::Partial,
        };
        let files = Files { modified: self.files.clone().unwrap_or_default(), ..Files::default() };
        Ok(Report { text, outcome: Some(outcome), files, ..Report::default() })
    }
}
