//! The event stream of opencode: `opencode run --format json`.

use serde::Deserialize;

use super::ending::{Ending, is_stop};
use super::event::Input;
use super::heard::{Heard, command};
use super::json::{self, Field};
use super::paths::Done;
use super::rollout::patch;

/// A stream of opencode so far.
#[derive(Debug, Default)]
pub(super) struct Opencode {
    /// What its steps cost. Some prices are not known to it, and 0.
    cost_usd: f64,
    /// The tokens of its steps: read and written.
    tokens: Option<(u64, u64)>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpencodeEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
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

/// The call of a tool, and what came of it.
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
    /// Takes a line. Fails where it is no event, and passes over events that are not known.
    pub(super) fn take(&mut self, line: &str, heard: &mut Heard) -> Result<(), String> {
        let event: OpencodeEvent<'_> = json::event(line)?;
        let Some(kind) = event.kind else { return Err("it has no `type`".to_owned()) };
        let part: MessagePart<'_> = json::part(event.part)?.unwrap_or_default();
        match json::text(Some(kind)).unwrap_or_default().as_str() {
            "step_start" => heard.is_complete = false,
            // What opencode itself puts in for the model to read is not the agent's.
            "text" if json::is_true(part.synthetic) => {}
            "text" => heard.say(&json::text(part.text).unwrap_or_default()),
            "tool_use" => tool(&part, heard)?,
            "step_finish" => self.finish_step(&part, heard),
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
                // Who was stopped did not fail.
                if ending != Ending::Interrupted {
                    heard.fail(&name, &message);
                }
                heard.close(ending);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish_step(&mut self, part: &MessagePart<'_>, heard: &mut Heard) {
        let reason = json::text(part.reason).unwrap_or_default();
        if is_stop(&reason) {
            heard.stop(&reason);
        } else {
            heard.close(Ending::Well);
            heard.is_complete = reason != "tool-calls";
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

    pub(super) fn finish(&mut self, heard: &mut Heard) {
        heard.cost_usd = Some(self.cost_usd).filter(|cost| *cost > 0.0);
        (heard.tokens_in, heard.tokens_out) = self.tokens.unzip();
    }
}

fn tool(part: &MessagePart<'_>, heard: &mut Heard) -> Result<(), String> {
    let state: ToolState<'_> = json::part(part.state)?.unwrap_or_default();
    let input: Input<'_> = json::object(state.input).unwrap_or_default();
    let metadata: PartMetadata<'_> = json::object(state.metadata).unwrap_or_default();
    let name = json::text(part.tool).unwrap_or_default();
    heard.call(&name, || input.argument(state.input));
    let path = json::text(input.opencode_path).and_then(|path| heard.files.within(&path));
    if json::is(state.status, "error") {
        let subject = path.map(|path| format!("{name} {path}"));
        let subject = subject.or_else(|| json::text(input.command).map(|line| command(&line))).unwrap_or(name);
        heard.fail(&subject, &json::text(state.error).unwrap_or_default());
        return Ok(());
    }
    if let Some(line) = json::text(input.command) {
        let code = metadata.exit.and_then(|code| code.get().parse::<i64>().ok()).unwrap_or(0);
        if code != 0 {
            let output = json::text(state.output).unwrap_or_default();
            heard.fail(&command(&line), &format!("Exit code {code}\n{output}"));
        }
    }
    let done = match name.as_str() {
        "read" => Done::Read,
        "write" if metadata.exists.is_some_and(|exists| exists.get() == "false") => Done::Created,
        "write" | "edit" | "multiedit" => Done::Modified,
        "apply_patch" | "patch" => {
            patch(&json::text(input.patch_text).unwrap_or_default(), heard);
            return Ok(());
        }
        _ => return Ok(()),
    };
    if let Some(path) = path {
        heard.files.note(path, done);
    }
    Ok(())
}
