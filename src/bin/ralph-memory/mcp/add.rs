//! `add_knowledge`: an agent adds knowledge that holds beyond its task.

use ralph_memory::{Id, Knowledge, Memory, Scope, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent_tool::{AgentTool, Answer};
use super::refusal::unfit;
use super::shown::{self, ToolProblem};
use crate::{parse, project_paths};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Add {
    /// Short and descriptive: the subject, and what is the case.
    #[schemars(length(min = 1, max = 200))]
    title: String,
    /// One to ten lowercase keywords, such as names of tools, modules and technologies.
    #[schemars(length(min = 1, max = 10))]
    tags: Vec<String>,
    /// Markdown: one fact, what it follows from, what to do; at most 500 words.
    #[schemars(length(min = 1, max = 100_000))]
    body: String,
    /// `success_pattern`, `pitfall`, `tool_usage`, `code_structure`, `testing_strategy`,
    /// `debugging_technique` or `other`. Leave it out for plain knowledge.
    #[schemars(length(max = 100))]
    category: Option<String>,
    /// The feature that it is about; raises it for tasks of that feature.
    #[schemars(length(max = 200))]
    feature: Option<String>,
    /// Who sees it: `project` (the default), `feature:NAME`, `section:ID` or `task:ID`.
    #[schemars(length(max = 200))]
    scope: Option<String>,
    /// From 0 to 100; 50 by default.
    #[schemars(range(min = 0, max = 100))]
    importance: Option<u8>,
    /// Project paths that it is about; when they change much, it is marked as unverified.
    #[schemars(length(max = 50))]
    files: Option<Vec<String>>,
    /// One to three questions that it answers, in the words of someone who has the problem; searches match them.
    #[schemars(length(max = 10))]
    questions: Option<Vec<String>>,
    /// The ids of entries that it replaces, since they are no longer true.
    #[schemars(length(max = 20))]
    supersedes: Option<Vec<String>>,
    /// The task at which you learned it.
    #[schemars(length(max = 64))]
    task_id: Option<String>,
}

/// The result
#[derive(Debug, Serialize)]
pub(super) struct AddAnswer {
    /// The entry's id
    id: String,
    /// `created`, `updated` (an entry with this title now has your text), or `unchanged` (it has this content already)
    action: String,
    /// Its file in the project, which is reviewed and committed with the code
    path: String,
    /// The entries most similar to a new one: if it replaces one of them, write it again with that id in `supersedes`
    similar: Vec<String>,
    /// Problems that a person should see
    problems: Vec<ToolProblem>,
}

impl Answer for AddAnswer {
    fn markdown(&self) -> String {
        let AddAnswer { id, action, path, similar, problems } = self;
        let mut text = format!("{action} {} in {path}.\n", shown::code(id));
        if !similar.is_empty() {
            let similar = shown::codes(similar);
            let hint = "if it replaces one of them, call add_knowledge again with that id in `supersedes`";
            text.push_str(&format!("The most similar entries are {similar}: {hint}.\n"));
        }
        text + &shown::problem_list(problems)
    }
}

impl AgentTool for Add {
    const NAME: &'static str = "add_knowledge";
    const TITLE: &'static str = "Write knowledge down";
    const DESCRIPTION: &'static str = "Writes one fact into the project's memory, as a markdown file that people review \
        and commit: a pitfall, a convention, how a tool behaves here, the reason of a decision. Call it once for \
        each fact that the next person or agent would otherwise have to find out again. Call search_memory first. \
        With the title of an agent's entry you update it; anything else is a new entry, and the answer lists similar \
        ones. What people wrote stays until they agree. Do not write down what the code or its documentation says, \
        progress, guesses or secrets: what looks like a secret is refused.";
    const READS_ONLY: bool = false;
    const OF_FEATURE: bool = true;
    type Answer = AddAnswer;

    fn call(self, memory: &Memory) -> anyhow::Result<AddAnswer> {
        let some = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let task_id = some(self.task_id).map(|id| parse::task_id(&id)).transpose();
        if let Some(Err(reason)) =
            self.questions.iter().flatten().map(|text| parse::question(text)).find(Result::is_err)
        {
            return Err(unfit(format!("a question is wrong: {reason}"), "leave it out, or write it"));
        }
        let knowledge = Knowledge {
            category: some(self.category),
            feature: some(self.feature),
            scope: self.scope.as_deref().map_or(Ok(Scope::Project), parse::scope).map_err(|reason| {
                unfit(
                    format!("scope is {reason}"),
                    "give `project`, `feature:NAME`, `section:ID` or `task:ID`, or leave it out for `project`",
                )
            })?,
            importance: self.importance,
            source: Source::Agent,
            task_id: task_id.map_err(|reason| unfit(format!("task_id: {reason}"), "leave it out"))?,
            supersedes: self
                .supersedes
                .unwrap_or_default()
                .iter()
                .map(|id| known(memory, id))
                .collect::<Result<_, _>>()?,
            files: project_paths::of_agent(memory, self.files)?,
            questions: self.questions.unwrap_or_default(),
            ..Knowledge::new(self.title, self.tags, self.body)
        };
        let added = memory.add(&knowledge)?;
        Ok(AddAnswer {
            id: shown::id(&added.id),
            action: added.action.as_str().to_owned(),
            path: shown::line(added.path.as_str()),
            similar: added.similar.iter().map(shown::id).collect(),
            problems: shown::troubles(&added.problems),
        })
    }
}

/// Reads the id of an existing entry: an agent that replaces a missing one has confused it with another.
fn known(memory: &Memory, text: &str) -> anyhow::Result<Id> {
    let id = parse::id(text).map_err(|reason| {
        unfit(format!("supersedes: `{text}` is {reason}"), "take ids from answers of search_memory")
    })?;
    Ok(memory.show(&id)?.entry.summary.id)
}
