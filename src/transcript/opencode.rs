//! The event stream of opencode: `opencode run --format json`, and its session file, which is read as one.

use serde::Deserialize;

use super::builder::{TranscriptBuilder, command};
use super::ending::{Ending, is_stop};
use super::event::Input;
use super::figures::AgentSpending;
use super::json::{self, Field};
use super::paths::Done;
use super::rollout::patch;

/// The state of a stream of opencode.
#[derive(Debug, Default)]
pub(super) struct Opencode {
    /// The cost of its steps. opencode does not know some prices, which are 0.
    cost_usd: f64,
    /// The tokens of its steps: read and written.
    tokens: Option<(u64, u64)>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpencodeEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    /// Only lines of a session file name it.
    #[serde(borrow)]
    model: Field<'a>,
    #[serde(borrow)]
    part: Field<'a>,
    #[serde(borrow)]
    error: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MessagePart<'a> {
    #[serde(borrow)]
    synthetic: Field<'a>,
    #[serde(borrow)]
    text: Field<'a>,
    #[serde(borrow)]
    tool: Field<'a>,
    #[serde(borrow)]
    state: Field<'a>,
    #[serde(borrow)]
    reason: Field<'a>,
    #[serde(borrow)]
    tokens: Field<'a>,
    #[serde(borrow)]
    cost: Field<'a>,
}

/// The call of a tool, and its result.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ToolState<'a> {
    #[serde(borrow)]
    status: Field<'a>,
    #[serde(borrow)]
    input: Field<'a>,
    #[serde(borrow)]
    output: Field<'a>,
    #[serde(borrow)]
    error: Field<'a>,
    #[serde(borrow)]
    metadata: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PartMetadata<'a> {
    #[serde(borrow)]
    exit: Field<'a>,
    #[serde(borrow)]
    exists: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TokenCounts<'a> {
    #[serde(borrow)]
    input: Field<'a>,
    #[serde(borrow)]
    output: Field<'a>,
    #[serde(borrow)]
    reasoning: Field<'a>,
    #[serde(borrow)]
    cache: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cache<'a> {
    #[serde(borrow)]
    read: Field<'a>,
    #[serde(borrow)]
    write: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpencodeFailure<'a> {
    #[serde(borrow)]
    name: Field<'a>,
    #[serde(borrow)]
    message: Field<'a>,
    #[serde(borrow)]
    data: Field<'a>,
    #[serde(borrow, rename = "statusCode")]
    status: Field<'a>,
}

impl Opencode {
    /// Reads a line. Fails if it is not an event, and skips unknown events.
    pub(super) fn take(&mut self, line: &str, builder: &mut TranscriptBuilder) -> Result<(), String> {
        let event: OpencodeEvent<'_> = json::event(line)?;
        let Some(kind) = event.kind else { return Err("it has no `type`".to_owned()) };
        let part: MessagePart<'_> = json::part(event.part)?.unwrap_or_default();
        builder.set_model(json::short(event.model));
        match json::text(Some(kind)).unwrap_or_default().as_str() {
            "step_start" => builder.is_complete = false,
            // Text that opencode itself adds for the model is not the agent's.
            "text" if json::is_true(part.synthetic) => {}
            "text" => builder.say(&json::text(part.text).unwrap_or_default()),
            "tool_use" => tool(&part, builder)?,
            "step_finish" => self.finish_step(&part, builder),
            "error" => {
                let error: OpencodeFailure<'_> = json::object(event.error).unwrap_or_default();
                let data: OpencodeFailure<'_> = json::object(error.data).unwrap_or_default();
                let name = json::text(error.name).unwrap_or_default();
                let message = json::text(data.message).or(json::text(error.message)).unwrap_or_default();
                let ending = match name.as_str() {
                    "MessageAbortedError" => Ending::Interrupted,
                    "MessageOutputLengthError" | "ContextOverflowError" | "ContentFilterError" => Ending::Blocked,
                    _ if json::count(data.status).is_some_and(|status| status >= 500) => Ending::Failed,
                    _ => Ending::of_error(&message),
                };
                // An interrupted agent did not fail.
                if ending != Ending::Interrupted {
                    builder.fail(&name, &message);
                }
                builder.close(ending);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish_step(&mut self, part: &MessagePart<'_>, builder: &mut TranscriptBuilder) {
        let reason = json::text(part.reason).unwrap_or_default();
        if is_stop(&reason) {
            builder.stop(&reason);
        } else {
            builder.close(Ending::Well);
            builder.is_complete = reason != "tool-calls";
        }
        self.cost_usd += json::amount(part.cost).unwrap_or_default();
        let Some(tokens) = json::object::<TokenCounts<'_>>(part.tokens) else { return };
        let cache: Cache<'_> = json::object(tokens.cache).unwrap_or_default();
        let sum = |before: u64, fields: &[Field<'_>]| {
            fields.iter().filter_map(|field| json::count(*field)).fold(before, u64::saturating_add)
        };
        let (read, written) = self.tokens.unwrap_or_default();
        self.tokens = Some((
            sum(read, &[tokens.input, cache.read, cache.write]),
            sum(written, &[tokens.output, tokens.reasoning]),
        ));
    }

    /// Returns the cost and the tokens of its steps so far.
    pub(super) fn spending(&self) -> AgentSpending {
        let cost_usd = Some(self.cost_usd).filter(|cost| *cost > 0.0);
        AgentSpending { cost_usd, ..AgentSpending::of_tokens(self.tokens) }
    }
}

fn tool(part: &MessagePart<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
    let state: ToolState<'_> = json::part(part.state)?.unwrap_or_default();
    let input: Input<'_> = json::object(state.input).unwrap_or_default();
    let metadata: PartMetadata<'_> = json::object(state.metadata).unwrap_or_default();
    let name = json::text(part.tool).unwrap_or_default();
    builder.call(&name, || input.argument(state.input));
    let path = json::text(input.opencode_path).and_then(|path| builder.files.within(&path));
    if let Some(line) = json::text(input.command) {
        builder.ran(&line);
    }
    if json::is(state.status, "error") {
        let subject = path.map(|path| format!("{name} {path}"));
        let subject = subject.or_else(|| json::text(input.command).map(|line| command(&line))).unwrap_or(name);
        builder.fail(&subject, &json::text(state.error).unwrap_or_default());
        return Ok(());
    }
    if let Some(line) = json::text(input.command) {
        let code = metadata.exit.and_then(|code| code.get().parse::<i64>().ok()).unwrap_or(0);
        if code != 0 {
            let output = json::text(state.output).unwrap_or_default();
            builder.fail(&command(&line), &format!("Exit code {code}\n{output}"));
        }
    }
    let done = match name.as_str() {
        "read" => Done::Read,
        "write" if metadata.exists.is_some_and(|exists| exists.get() == "false") => Done::Created,
        "write" | "edit" | "multiedit" => Done::Modified,
        "apply_patch" | "patch" => {
            patch(&json::text(input.patch_text).unwrap_or_default(), builder);
            return Ok(());
        }
        _ => return Ok(()),
    };
    if let Some(path) = path {
        builder.files.note(path, done);
    }
    Ok(())
}
