//! The event stream of opencode: `opencode run --format json`, and its session file, which is read as one.

use super::builder::{TranscriptBuilder, command};
use super::ending::{Ending, is_stop};
use super::event::argument;
use super::figures::AgentSpending;
use super::json::{self, Field, Object};
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

impl Opencode {
    /// Reads a line. Fails if it is not an event, and skips unknown events.
    pub(super) fn take(&mut self, line: &str, builder: &mut TranscriptBuilder) -> Result<(), String> {
        let event = json::event(line)?;
        let Some(kind) = event.get("type") else { return Err("it has no `type`".to_owned()) };
        let part = json::part(event.get("part"))?;
        builder.set_model(event.short("model"));
        match json::text(Some(kind)).unwrap_or_default().as_str() {
            "step_start" => builder.is_complete = false,
            // Text that opencode itself adds for the model is not the agent's.
            "text" if part.is_true("synthetic") => {}
            "text" => builder.say(&part.text("text").unwrap_or_default()),
            "tool_use" => tool(&part, builder)?,
            "step_finish" => self.finish_step(&part, builder),
            "error" => {
                let error = event.object("error");
                let data = error.object("data");
                let name = error.text("name").unwrap_or_default();
                let message = data.text("message").or(error.text("message")).unwrap_or_default();
                let ending = match name.as_str() {
                    "MessageAbortedError" => Ending::Interrupted,
                    "MessageOutputLengthError" | "ContextOverflowError" | "ContentFilterError" => Ending::Blocked,
                    _ if data.count("statusCode").is_some_and(|status| status >= 500) => Ending::Failed,
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

    fn finish_step(&mut self, part: &Object<'_>, builder: &mut TranscriptBuilder) {
        let reason = part.text("reason").unwrap_or_default();
        if is_stop(&reason) {
            builder.stop(&reason);
        } else {
            builder.close(Ending::Well);
            builder.is_complete = reason != "tool-calls";
        }
        self.cost_usd += part.amount("cost").unwrap_or_default();
        if part.get("tokens").is_none() {
            return;
        }
        let tokens = part.object("tokens");
        let cache = tokens.object("cache");
        let sum = |before: u64, fields: &[Field<'_>]| {
            fields.iter().filter_map(|field| json::count(*field)).fold(before, u64::saturating_add)
        };
        let (read, written) = self.tokens.unwrap_or_default();
        self.tokens = Some((
            sum(read, &[tokens.get("input"), cache.get("read"), cache.get("write")]),
            sum(written, &[tokens.get("output"), tokens.get("reasoning")]),
        ));
    }

    /// Returns the cost and the tokens of its steps so far.
    pub(super) fn spending(&self) -> AgentSpending {
        let cost_usd = Some(self.cost_usd).filter(|cost| *cost > 0.0);
        AgentSpending { cost_usd, ..AgentSpending::of_tokens(self.tokens) }
    }
}

fn tool(part: &Object<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
    let state = json::part(part.get("state"))?;
    let input = state.object("input");
    let metadata = state.object("metadata");
    let name = part.text("tool").unwrap_or_default();
    builder.call(&name, || argument(&input));
    let path = input.text("filePath").and_then(|path| builder.files.within(&path));
    if let Some(line) = input.text("command") {
        builder.ran(&line);
    }
    if state.is("status", "error") {
        let subject = path.map(|path| format!("{name} {path}"));
        let subject = subject.or_else(|| input.text("command").map(|line| command(&line))).unwrap_or(name);
        builder.fail(&subject, &state.text("error").unwrap_or_default());
        return Ok(());
    }
    if let Some(line) = input.text("command") {
        let code = metadata.get("exit").and_then(|code| code.get().parse::<i64>().ok()).unwrap_or(0);
        if code != 0 {
            let output = state.text("output").unwrap_or_default();
            builder.fail(&command(&line), &format!("Exit code {code}\n{output}"));
        }
    }
    let done = match name.as_str() {
        "read" => Done::Read,
        "write" if metadata.get("exists").is_some_and(|exists| exists.get() == "false") => Done::Created,
        "write" | "edit" | "multiedit" => Done::Modified,
        "apply_patch" | "patch" => {
            patch(&input.text("patchText").unwrap_or_default(), builder);
            return Ok(());
        }
        _ => return Ok(()),
    };
    if let Some(path) = path {
        builder.files.note(path, done);
    }
    Ok(())
}
