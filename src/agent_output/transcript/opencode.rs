//! The event stream of opencode: `opencode run --format json`, and its session file, which is read as a stream.

use super::builder::{TranscriptBuilder, command};
use super::ending::{Ending, is_stop};
use super::event::argument;
use super::figures::AgentSpending;
use super::json::{self, Object};
use super::paths::Done;
use super::rollout::patch;
use super::stream::ClientStream;

/// The state of a stream of opencode: the cost and the tokens of its steps.
#[derive(Debug, Default)]
pub(super) struct Opencode(AgentSpending);

impl ClientStream for Opencode {
    fn take(&mut self, kind: &str, event: &Object<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
        let part = json::part(event.get("part"))?;
        builder.set_model(event.short("model"));
        match kind {
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

    fn spending(&self) -> AgentSpending {
        self.0
    }
}

impl Opencode {
    fn finish_step(&mut self, part: &Object<'_>, builder: &mut TranscriptBuilder) {
        let reason = part.text("reason").unwrap_or_default();
        if is_stop(&reason) {
            builder.stop(&reason);
        } else {
            builder.close(Ending::Well);
            builder.is_complete = reason != "tool-calls";
        }
        let tokens = part.object("tokens");
        let cache = tokens.object("cache");
        let sum = |counts: [Option<u64>; 3]| {
            part.get("tokens").map(|_| counts.into_iter().flatten().fold(0, u64::saturating_add))
        };
        self.0 = self.0.and(AgentSpending {
            tokens_in: sum([tokens.count("input"), cache.count("read"), cache.count("write")]),
            tokens_out: sum([tokens.count("output"), tokens.count("reasoning"), None]),
            // opencode does not know some prices, which are 0.
            cost_usd: part.amount("cost").filter(|cost| *cost > 0.0),
        });
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
