//! The event stream of Codex: `codex exec --json`. Lines of its rollout files go to [`Rollout`].

use std::collections::VecDeque;

use serde::Deserialize;

use super::builder::{TranscriptBuilder, command};
use super::codex_fields::{CodexUsage, script};
use super::ending::Ending;
use super::event::Input;
use super::figures::AgentSpending;
use super::json::{self, Field};
use super::paths::Done;
use super::rollout::Rollout;

/// The beginning of a message about a retried connection.
const RECONNECTING: &str = "Reconnecting...";
/// How many started items are remembered; only a few are active at once.
const MAX_BEGUN: usize = 64;

/// The state of a stream of Codex.
#[derive(Debug, Default)]
pub(super) struct Codex {
    /// The tokens of the thread so far, and of the threads before it: read and written.
    tokens: Option<(u64, u64)>,
    earlier: Option<(u64, u64)>,
    /// How to interpret the error that followed the last successful turn and the last completed item.
    failing: Option<Ending>,
    /// The last attempt to reconnect, while its result is unknown.
    reconnecting: Option<String>,
    /// The last items that were reported when they began.
    begun: VecDeque<String>,
    rollout: Rollout,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CodexEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    payload: Field<'a>,
    #[serde(borrow)]
    item: Field<'a>,
    #[serde(borrow)]
    usage: Field<'a>,
    #[serde(borrow)]
    error: Field<'a>,
    #[serde(borrow)]
    message: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CodexItem<'a> {
    #[serde(borrow)]
    id: Field<'a>,
    // `item_type` in the first versions.
    #[serde(borrow, rename = "type", alias = "item_type")]
    kind: Field<'a>,
    #[serde(borrow)]
    text: Field<'a>,
    #[serde(borrow)]
    command: Field<'a>,
    #[serde(borrow)]
    aggregated_output: Field<'a>,
    #[serde(borrow)]
    exit_code: Field<'a>,
    #[serde(borrow)]
    status: Field<'a>,
    #[serde(borrow)]
    changes: Field<'a>,
    #[serde(borrow)]
    server: Field<'a>,
    #[serde(borrow)]
    tool: Field<'a>,
    #[serde(borrow)]
    arguments: Field<'a>,
    #[serde(borrow)]
    query: Field<'a>,
    #[serde(borrow)]
    error: Field<'a>,
    #[serde(borrow)]
    message: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FileChange<'a> {
    #[serde(borrow)]
    path: Field<'a>,
    #[serde(borrow)]
    kind: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CodexMessage<'a> {
    #[serde(borrow)]
    message: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CodexAnswer<'a> {
    #[serde(borrow)]
    error: Field<'a>,
}

impl Codex {
    /// Reads a line. Fails if it is not an event, and skips unknown events.
    pub(super) fn take(&mut self, line: &str, builder: &mut TranscriptBuilder) -> Result<(), String> {
        let event: CodexEvent<'_> = json::event(line)?;
        let Some(kind) = event.kind else { return Err("it has no `type`".to_owned()) };
        let kind = json::text(Some(kind)).unwrap_or_default();
        if event.payload.is_some() {
            return self.rollout.take(&kind, event.payload, builder);
        }
        match kind.as_str() {
            "thread.started" => self.end_thread(),
            "turn.started" => builder.is_complete = false,
            "item.started" => {
                // If it cannot be read, it is reported when it is completed.
                self.tell(&json::object(event.item).unwrap_or_default(), builder);
            }
            "item.completed" => {
                let completed: CodexItem<'_> = json::part(event.item)?.unwrap_or_default();
                // The work continues after an error; an error that is an item of its own shows no work.
                self.failing = self.failing.take().filter(|_| json::is(completed.kind, "error"));
                self.reconnecting = None;
                self.tell(&completed, builder);
                item(&completed, builder)?;
            }
            "turn.completed" => {
                builder.close(Ending::Well);
                (self.failing, self.reconnecting) = (None, None);
                self.count(event.usage);
            }
            "turn.failed" => {
                let message = message(event.error);
                // The event after a retried connection shows how the retry ended.
                self.reconnecting = None;
                builder.close(Ending::of_error(&message));
                builder.fail("", &message);
            }
            "error" => {
                // It also reports retried connections, so only the end shows its meaning.
                let message = bare(json::text(event.message).unwrap_or_default());
                self.failing = Some(Ending::of_error(&message));
                if message.starts_with(RECONNECTING) {
                    self.reconnecting = Some(message);
                } else {
                    self.reconnecting = None;
                    builder.fail("", &message);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reports an item that is the call of a tool, once: some are not reported when they begin.
    fn tell(&mut self, item: &CodexItem<'_>, builder: &mut TranscriptBuilder) {
        if builder.events.is_none() {
            return;
        }
        let text = |field| json::text(field).unwrap_or_default();
        let (tool, argument) = match text(item.kind).as_str() {
            "command_execution" => ("shell".to_owned(), text(item.command)),
            "web_search" => ("web search".to_owned(), text(item.query)),
            "mcp_tool_call" => {
                let input: Input<'_> = json::object(item.arguments).unwrap_or_default();
                (format!("{}.{}", text(item.server), text(item.tool)), input.argument(item.arguments))
            }
            "file_change" => {
                let mut paths = Vec::new();
                let _ = json::items(item.changes, &mut |change| {
                    paths.extend(json::object::<FileChange<'_>>(change).and_then(|change| json::text(change.path)));
                    Ok(())
                });
                ("edit".to_owned(), paths.join(", "))
            }
            _ => return,
        };
        // A search has its query only when it is over.
        if argument.is_empty() && item.query.is_some() {
            return;
        }
        let id = text(item.id);
        if !id.is_empty() && self.begun.contains(&id) {
            return;
        }
        self.begun.truncate(MAX_BEGUN - 1);
        self.begun.push_front(id);
        builder.call(&tool, || argument);
    }

    /// Counts a turn. Figures are totals of the thread, not of the turn. If they become smaller, they come from a
    /// version that has them by turn. Tokens from the cache are part of the tokens that were read.
    fn count(&mut self, usage: Field<'_>) {
        let Some(usage) = json::object::<CodexUsage<'_>>(usage) else { return };
        let (Some(read), Some(written)) = (json::count(usage.input_tokens), json::count(usage.output_tokens)) else {
            return;
        };
        self.tokens = Some(match self.tokens {
            Some((before, before_written)) if read < before || written < before_written => {
                (before.saturating_add(read), before_written.saturating_add(written))
            }
            _ => (read, written),
        });
    }

    fn end_thread(&mut self) {
        if let Some((read, written)) = self.tokens.take() {
            let (before, before_written) = self.earlier.unwrap_or_default();
            self.earlier = Some((before.saturating_add(read), before_written.saturating_add(written)));
        }
    }

    /// Returns the tokens so far: a stream has them at the end of each turn, a rollout file after each answer of the
    /// model.
    pub(super) fn spending(&self) -> AgentSpending {
        let of_threads = AgentSpending::of_tokens(self.earlier).and(AgentSpending::of_tokens(self.tokens));
        if of_threads.is_known() { of_threads } else { AgentSpending::of_tokens(self.rollout.tokens()) }
    }

    pub(super) fn finish(&mut self, builder: &mut TranscriptBuilder) {
        if let Some(message) = self.reconnecting.take() {
            builder.fail("", &message);
        }
        if let Some(ending) = self.failing.take() {
            builder.close(ending);
        }
    }
}

fn item(item: &CodexItem<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
    let is_failed = json::is(item.status, "failed") || json::is(item.status, "declined");
    match json::text(item.kind).unwrap_or_default().as_str() {
        "agent_message" | "assistant_message" => builder.say(&json::text(item.text).unwrap_or_default()),
        "command_execution" => {
            let line = json::text(item.command).unwrap_or_default();
            let words = shlex::split(&line).unwrap_or_default();
            let line = script(&words).unwrap_or(&line);
            builder.ran(line);
            let code = item.exit_code.and_then(|code| code.get().parse::<i64>().ok());
            if is_failed || code.is_some_and(|code| code != 0) {
                let how = match code {
                    Some(code) => format!("Exit code {code}"),
                    None if json::is(item.status, "declined") => "declined".to_owned(),
                    None => "failed".to_owned(),
                };
                let output = json::text(item.aggregated_output).unwrap_or_default();
                builder.fail(&command(line), &format!("{how}\n{output}"));
            }
        }
        "file_change" if !is_failed => json::items(item.changes, &mut |change| {
            let change: FileChange<'_> = json::part(change)?.unwrap_or_default();
            let Some(path) = json::text(change.path).and_then(|path| builder.files.within(&path)) else {
                return Ok(());
            };
            match json::text(change.kind).unwrap_or_default().as_str() {
                "add" => builder.files.note(path, Done::Created),
                "delete" => builder.files.remove(path),
                _ => builder.files.note(path, Done::Modified),
            }
            Ok(())
        })?,
        "file_change" => {
            let how = if json::is(item.status, "declined") { "declined" } else { "failed" };
            builder.fail("file change", how);
        }
        "mcp_tool_call" if is_failed || item.error.is_some() => {
            let name = |field| json::text(field).unwrap_or_default();
            builder.fail(&format!("{}.{}", name(item.server), name(item.tool)), &message(item.error));
        }
        "error" => builder.fail("", &json::text(item.message).unwrap_or_default()),
        _ => {}
    }
    Ok(())
}

/// Returns the message of an error.
fn message(error: Field<'_>) -> String {
    let message: Option<CodexMessage<'_>> = json::object(error);
    bare(message.and_then(|error| json::text(error.message)).or_else(|| json::text(error)).unwrap_or_default())
}

/// Returns the message in a server's answer, which Codex passes on unchanged if the server refused a request.
fn bare(text: String) -> String {
    let answer = json::event::<CodexAnswer<'_>>(&text).ok();
    let inner = answer.and_then(|answer| json::object::<CodexMessage<'_>>(answer.error)?.message);
    json::text(inner).unwrap_or(text)
}
