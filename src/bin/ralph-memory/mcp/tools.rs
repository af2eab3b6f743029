//! The tools: their names, arguments and answers, and how they are called.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

use super::agent_tool::{AgentTool, Answer as _};
use super::refusal::{self, unfit};
use super::{add, attempt, build, feature, read, schema, search};
use crate::session::Globals;

/// A tool, and how it is called.
pub(super) struct ListedTool {
    pub(super) tool: Tool,
    call: fn(&Globals, JsonObject) -> anyhow::Result<CallToolResult>,
    of_feature: bool,
}

/// Returns the tools, always in the same order.
pub(super) fn all() -> Vec<ListedTool> {
    vec![
        entry::<search::Search>(),
        entry::<read::Read>(),
        entry::<add::Add>(),
        entry::<build::Build>(),
        entry::<attempt::RecordAttempt>(),
        entry::<search::SearchFeature>(),
        entry::<feature::Recent>(),
        entry::<feature::FeatureFilesTool>(),
        entry::<feature::FailuresTool>(),
    ]
}

fn entry<T: AgentTool>() -> ListedTool {
    // Agents pay for the list in every session. Answers explain themselves, so they have no schema here.
    let annotations = ToolAnnotations::new()
        .read_only(T::READS_ONLY)
        // Replaced texts go to the archive first.
        .destructive(false)
        .idempotent(T::IDEMPOTENT)
        .open_world(false);
    let tool =
        Tool::new(T::NAME, T::DESCRIPTION, schema::input::<T>()).with_title(T::TITLE).with_annotations(annotations);
    ListedTool { tool, call: called::<T>, of_feature: T::OF_FEATURE }
}

fn called<T: AgentTool>(globals: &Globals, arguments: JsonObject) -> anyhow::Result<CallToolResult> {
    let schema = schema::input::<T>();
    schema::check(&schema, &arguments)?;
    let arguments = T::deserialize(Value::Object(arguments)).map_err(|error| {
        unfit(format!("cannot take the arguments of {}: {error}", T::NAME), schema::call_with(&schema))
    })?;
    let memory = globals.open_for_agent()?;
    let _operation = memory.operation(T::NAME);
    let answer = arguments.call(&memory)?;
    let mut result = CallToolResult::structured(serde_json::to_value(&answer)?);
    result.content = vec![ContentBlock::text(answer.markdown())];
    Ok(result)
}

/// Refuses arguments that name another feature than that of the server, which shows nothing of it; with `fills`, that one
/// stands in for a missing `feature`.
pub(super) fn within_feature(globals: &Globals, arguments: &mut JsonObject, fills: bool) -> anyhow::Result<()> {
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

/// Returns whether a tool writes.
pub(super) fn writes(name: &str) -> bool {
    [add::Add::NAME, attempt::RecordAttempt::NAME].contains(&name)
}

/// Returns whether a tool ranks entries, for which it may ask a server for the embedding of a text.
pub(super) fn ranks(name: &str) -> bool {
    [search::Search::NAME, search::SearchFeature::NAME, build::Build::NAME].contains(&name)
}

/// Calls a tool; `None` if there is no tool of that name. A failure is reported in the result, where the agent sees it.
pub(super) fn call(globals: &Globals, name: &str, mut arguments: JsonObject) -> Option<CallToolResult> {
    let entry = all().into_iter().find(|entry| entry.tool.name == name)?;
    let called =
        within_feature(globals, &mut arguments, entry.of_feature).and_then(|()| (entry.call)(globals, arguments));
    Some(called.unwrap_or_else(|error| CallToolResult::error(vec![ContentBlock::text(refusal::describe(&error))])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit of a description, in bytes: clients cut more than that.
    const MAX_DESCRIPTION: usize = 2048;

    #[test]
    fn tools_that_write_are_known() {
        for entry in all() {
            let reads_only = entry.tool.annotations.and_then(|annotations| annotations.read_only_hint);
            assert_eq!(reads_only, Some(!writes(&entry.tool.name)), "{}", entry.tool.name);
        }
    }

    #[test]
    fn descriptions_are_short_enough_for_every_client() {
        for entry in all() {
            let description = entry.tool.description.unwrap_or_default();
            assert!(description.len() <= MAX_DESCRIPTION && description.len() > 80, "{}", entry.tool.name);
        }
    }
}
