//! `add_knowledge`: an agent adds knowledge that holds beyond its task.

use ralph_memory::{Id, Knowledge, Memory, Scope, Source};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::agent_tool::AgentTool;
use super::refusal::{parsed, unfit};
use super::shown::{inline, items, quoted};
use crate::answers::MAX_REMOVED;
use crate::{parse, project_paths};

/// The longest title, in characters.
const MAX_TITLE: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Add {
    /// The subject, and what is the case.
    #[schemars(length(max = 200))]
    title: String,
    /// One to ten lowercase keywords.
    tags: Vec<String>,
    /// Markdown, at most 500 words: the fact, its reason, what to do.
    body: String,
    /// `success_pattern`, `pitfall`, `tool_usage`, `code_structure`, `testing_strategy`, `debugging_technique` or `other`.
    category: Option<String>,
    /// The feature it is about.
    feature: Option<String>,
    /// Who sees it: `project`, `feature:NAME`, `section:ID` or `task:ID`.
    scope: Option<String>,
    /// 50 by default.
    #[schemars(range(min = 0, max = 100))]
    importance: Option<u8>,
    /// Project paths it is about.
    files: Option<Vec<String>>,
    /// In the words of someone with the problem.
    questions: Option<Vec<String>>,
    /// Ids of entries it replaces.
    supersedes: Option<Vec<String>>,
    /// Where you learned it.
    task_id: Option<String>,
}

impl AgentTool for Add {
    const NAME: &'static str = "add_knowledge";
    const TITLE: &'static str = "Add knowledge";
    const DESCRIPTION: &'static str = "Writes one fact into a file that people review: a pitfall, a convention, how \
        a tool behaves here, the reason of a decision. Call search_memory first. With the title of an agent's entry \
        you update it; what people wrote stays. No progress, guesses or secrets, and nothing that the code or its \
        docs say.";
    const READS_ONLY: bool = false;
    const OF_FEATURE: bool = true;

    fn call(self, memory: &Memory) -> anyhow::Result<Value> {
        let length = self.title.chars().count();
        if length > MAX_TITLE {
            let message = format!("title has {length} characters; the limit is {MAX_TITLE}");
            return Err(unfit(message, "say the rest in `body`"));
        }
        let some = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let scope = self.scope.as_deref().map_or(Ok(Scope::Project), parse::scope);
        let scopes = "give `project`, `feature:NAME`, `section:ID` or `task:ID`, or leave it out for `project`";
        let task_id = some(self.task_id).map(|id| parse::task_id(&id)).transpose();
        for question in self.questions.iter().flatten() {
            parsed(parse::question(question), "a question is wrong:", "leave it out, or write it")?;
        }
        let supersedes = self.supersedes.unwrap_or_default();
        let knowledge = Knowledge {
            category: some(self.category),
            feature: some(self.feature),
            scope: parsed(scope, "scope is", scopes)?,
            importance: self.importance,
            source: Source::Agent,
            task_id: parsed(task_id, "task_id:", "leave it out")?,
            supersedes: supersedes.iter().map(|id| known(memory, id)).collect::<Result<_, _>>()?,
            files: project_paths::of_agent(memory, self.files)?,
            questions: self.questions.unwrap_or_default(),
            ..Knowledge::new(self.title, self.tags, self.body)
        };
        let added = memory.add(&knowledge)?;
        let mut answer = serde_json::to_value(&added)?;
        answer["problems"] = serde_json::to_value(&added.problems)?;
        Ok(answer)
    }

    fn markdown(answer: &Value) -> String {
        let [action, id, path, similar] = ["action", "id", "path", "similar"].map(|key| inline(&answer[key]));
        let mut text = format!("{action} {id} in {path}.\n");
        if !similar.is_empty() {
            let hint = "if it replaces one of them, call add_knowledge again with that id in `supersedes`";
            text.push_str(&format!("The most similar entries are {similar}: {hint}.\n"));
        }
        let removed = items(answer, "removed").iter().filter_map(Value::as_str);
        let lines: String = removed.clone().take(MAX_REMOVED).map(quoted).collect();
        if !lines.is_empty() {
            let more = if removed.count() > MAX_REMOVED { "\nThere are more of them.\n" } else { "" };
            text.push_str(&format!("The entry no longer says this; if it still holds, add it again:\n\n{lines}{more}"));
        }
        text
    }
}

/// Reads the id of an existing entry: an agent that replaces a missing one has confused it with another.
fn known(memory: &Memory, text: &str) -> anyhow::Result<Id> {
    let what = format!("supersedes: `{text}` is");
    let id = parsed(parse::id(text), what, "take ids from answers of search_memory")?;
    Ok(memory.show(&id)?.entry.summary.id)
}
