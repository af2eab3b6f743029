//! The tools: their names, arguments and answers, and how they are called.

use std::sync::LazyLock;

use ralph_memory::text::shorten;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

use super::agent_tool::AgentTool;
use super::refusal::{self, unfit};
use super::{add, attempt, build, feature, read, schema, search, shown};
use crate::session::Globals;

/// How much of what is wrong with an argument is said, in characters: it may repeat the argument.
const MAX_MESSAGE: usize = 400;

/// A tool, and how it is called.
pub(super) struct ListedTool {
    pub(super) tool: Tool,
    call: fn(&Globals, JsonObject) -> anyhow::Result<CallToolResult>,
    of_feature: bool,
}

/// Returns the tools, always in the same order.
pub(super) fn all() -> &'static [ListedTool] {
    static ALL: LazyLock<[ListedTool; 9]> = LazyLock::new(|| {
        [
            listed::<search::Search>(),
            listed::<read::Read>(),
            listed::<add::Add>(),
            listed::<build::Build>(),
            listed::<attempt::RecordAttempt>(),
            listed::<search::SearchFeature>(),
            listed::<feature::Recent>(),
            listed::<feature::FeatureFilesTool>(),
            listed::<feature::FailuresTool>(),
        ]
    });
    &*ALL
}

fn listed<T: AgentTool>() -> ListedTool {
    // Agents pay for the list in every session. Answers explain themselves, so they have no schema here.
    let mut annotations = ToolAnnotations::new().read_only(T::READS_ONLY).open_world(false);
    if !T::READS_ONLY {
        // The others mean nothing for a tool that reads. A replaced text can be restored.
        annotations = annotations.destructive(false).idempotent(T::IDEMPOTENT);
    }
    let tool =
        Tool::new(T::NAME, T::DESCRIPTION, schema::input::<T>()).with_title(T::TITLE).with_annotations(annotations);
    ListedTool { tool, call: called::<T>, of_feature: T::OF_FEATURE }
}

fn called<T: AgentTool>(globals: &Globals, arguments: JsonObject) -> anyhow::Result<CallToolResult> {
    let given = Value::Object(arguments);
    let arguments: T = serde_path_to_error::deserialize(&given).map_err(|error| {
        let place = error.path().to_string();
        let name = place.split(['.', '[']).next().unwrap_or_default();
        let message = schema::misfit::<T>(name, &given[name]).unwrap_or_else(|| error.into_inner().to_string());
        unfit(shorten(&message, MAX_MESSAGE), schema::call_with::<T>())
    })?;
    let memory = globals.open_for_agent()?.by(attempt::agent());
    let _operation = memory.operation(T::NAME);
    let mut answer = arguments.call(&memory)?;
    shown::make_safe(&mut answer, T::SAFE_TEXT);
    let text = T::markdown(&answer) + &shown::problem_list(&answer);
    let mut result = CallToolResult::structured(answer);
    result.content = vec![ContentBlock::text(text)];
    Ok(result)
}

/// Refuses arguments that name another feature than that of the server, which shows nothing of it; with `fills`, that one
/// stands in for a missing `feature`.
fn within_feature(globals: &Globals, arguments: &mut JsonObject, fills: bool) -> anyhow::Result<()> {
    let Some(own) = globals.feature() else { return Ok(()) };
    let named = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
    let scoped = named("scope").and_then(|scope| scope.strip_prefix("feature:"));
    for (key, other) in [("feature", named("feature")), ("scope", scoped)] {
        if other.is_some_and(|other| other != own) {
            let message = format!("this server answers for the feature `{own}` and for what is of no feature");
            return Err(unfit(message, format!("leave `{key}` out")));
        }
    }
    if fills {
        arguments.entry("feature").or_insert_with(|| own.into());
    }
    Ok(())
}

/// Calls a tool. A failure is reported in the result, where the agent sees it.
pub(super) fn call(globals: &Globals, tool: &ListedTool, mut arguments: JsonObject) -> CallToolResult {
    schema::fit(&mut arguments, &tool.tool.input_schema);
    let called =
        within_feature(globals, &mut arguments, tool.of_feature).and_then(|()| (tool.call)(globals, arguments));
    called.unwrap_or_else(|error| CallToolResult::error(vec![ContentBlock::text(refusal::describe(&error))]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit of a description, in bytes: clients cut more than that.
    const MAX_DESCRIPTION: usize = 2048;

    #[test]
    fn descriptions_are_short_enough_for_every_client() {
        for entry in all() {
            let description = entry.tool.description.clone().unwrap_or_default();
            assert!(description.len() <= MAX_DESCRIPTION && description.len() > 40, "{}", entry.tool.name);
        }
    }
}
