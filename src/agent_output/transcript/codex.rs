//! The event stream of Codex: `codex exec --json`. Lines of its rollout files go to [`Rollout`].

use std::collections::VecDeque;
use std::mem;

use super::builder::{TranscriptBuilder, command};
use super::ending::Ending;
use super::event::argument;
use super::figures::AgentSpending;
use super::json::{self, Field, Object};
use super::paths::Done;
use super::rollout::{Rollout, script};
use super::stream::ClientStream;

/// The beginning of a message about a retried connection.
const RECONNECTING: &str = "Reconnecting...";
/// How many started items are remembered; only a few are active at once.
const MAX_BEGUN: usize = 64;

/// The state of a stream of Codex.
#[derive(Debug, Default)]
pub(super) struct Codex {
    /// The tokens of the thread so far.
    tokens: AgentSpending,
    /// The tokens of the threads before it.
    earlier: AgentSpending,
    /// How to interpret the error that followed the last successful turn and the last completed item.
    failing: Option<Ending>,
    /// The last attempt to reconnect, while its result is unknown.
    reconnecting: Option<String>,
    /// The last items that were reported when they began.
    begun: VecDeque<String>,
    rollout: Rollout,
}

impl ClientStream for Codex {
    fn take(&mut self, kind: &str, event: &Object<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
        if event.get("payload").is_some() {
            return self.rollout.take(kind, event.get("payload"), builder);
        }
        match kind {
            "thread.started" => self.earlier = self.earlier.and(mem::take(&mut self.tokens)),
            "turn.started" => builder.is_complete = false,
            "item.started" => {
                // If it cannot be read, it is reported on completion.
                self.tell(&event.object("item"), builder);
            }
            "item.completed" => {
                let completed = json::part(event.get("item"))?;
                // Work continues after an error, but an error that is its own item is not work.
                self.failing = self.failing.take().filter(|_| kind_of(&completed) == "error");
                self.reconnecting = None;
                self.tell(&completed, builder);
                item(&completed, builder)?;
            }
            "turn.completed" => {
                builder.close(Ending::Well);
                (self.failing, self.reconnecting) = (None, None);
                self.count(&event.object("usage"));
            }
            "turn.failed" => {
                let message = message(event.get("error"));
                // The event after a retried connection shows how the retry ended.
                self.reconnecting = None;
                builder.close(Ending::of_error(&message));
                builder.fail("", &message);
            }
            "error" => {
                // This event also reports retried connections, so only the end shows what it means.
                let message = bare(event.text("message").unwrap_or_default());
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

    /// Returns the tokens so far: a stream has them at the end of each turn, a rollout file after each answer of the
    /// model.
    fn spending(&self) -> AgentSpending {
        let of_threads = self.earlier.and(self.tokens);
        if of_threads.is_known() { of_threads } else { self.rollout.tokens }
    }

    fn finish(&mut self, builder: &mut TranscriptBuilder) {
        if let Some(message) = self.reconnecting.take() {
            builder.fail("", &message);
        }
        if let Some(ending) = self.failing.take() {
            builder.close(ending);
        }
    }
}

impl Codex {
    /// Reports an item that is the call of a tool, once: some are not reported when they begin.
    fn tell(&mut self, item: &Object<'_>, builder: &mut TranscriptBuilder) {
        if builder.events.is_none() {
            return;
        }
        let text = |field| json::text(field).unwrap_or_default();
        let (tool, argument) = match kind_of(item).as_str() {
            "command_execution" => ("shell".to_owned(), text(item.get("command"))),
            "web_search" => ("web search".to_owned(), text(item.get("query"))),
            "mcp_tool_call" => {
                let input = item.object("arguments");
                (format!("{}.{}", text(item.get("server")), text(item.get("tool"))), argument(&input))
            }
            "file_change" => {
                let changes = json::items(item.get("changes")).map(json::object);
                let paths: Vec<String> = changes.filter_map(|change| change.text("path")).collect();
                ("edit".to_owned(), paths.join(", "))
            }
            _ => return,
        };
        // A search has its query only when it is over.
        if argument.is_empty() && item.get("query").is_some() {
            return;
        }
        let id = text(item.get("id"));
        if !id.is_empty() && self.begun.contains(&id) {
            return;
        }
        self.begun.truncate(MAX_BEGUN - 1);
        self.begun.push_front(id);
        builder.call(&tool, || argument);
    }

    /// Counts a turn. Figures are totals of the thread, not of the turn. If they decrease, they come from a version
    /// that reports them for each turn. Tokens from the cache are part of the tokens that were read.
    fn count(&mut self, usage: &Object<'_>) {
        let Some(turn) = AgentSpending::of_usage(usage) else { return };
        let is_smaller = turn.tokens_in < self.tokens.tokens_in || turn.tokens_out < self.tokens.tokens_out;
        self.tokens = if is_smaller { self.tokens.and(turn) } else { turn };
    }
}

/// Returns the kind of an item, which the first versions named `item_type`.
fn kind_of(item: &Object<'_>) -> String {
    item.text("type").or_else(|| item.text("item_type")).unwrap_or_default()
}

fn item(item: &Object<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
    let is_failed = item.is("status", "failed") || item.is("status", "declined");
    match kind_of(item).as_str() {
        "agent_message" | "assistant_message" => builder.say(&item.text("text").unwrap_or_default()),
        "command_execution" => {
            let line = item.text("command").unwrap_or_default();
            let words = shlex::split(&line).unwrap_or_default();
            let line = script(&words).unwrap_or(&line);
            builder.ran(line);
            let code = item.get("exit_code").and_then(|code| code.get().parse::<i64>().ok());
            if is_failed || code.is_some_and(|code| code != 0) {
                let how = match code {
                    Some(code) => format!("Exit code {code}"),
                    None if item.is("status", "declined") => "declined".to_owned(),
                    None => "failed".to_owned(),
                };
                let output = item.text("aggregated_output").unwrap_or_default();
                builder.fail(&command(line), &format!("{how}\n{output}"));
            }
        }
        "file_change" if !is_failed => json::each(item.get("changes"), |change| {
            let Some(path) = change.text("path").and_then(|path| builder.files.within(&path)) else { return };
            match change.text("kind").unwrap_or_default().as_str() {
                "add" => builder.files.note(path, Done::Created),
                "delete" => builder.files.remove(path),
                _ => builder.files.note(path, Done::Modified),
            }
        })?,
        "file_change" => {
            let how = if item.is("status", "declined") { "declined" } else { "failed" };
            builder.fail("file change", how);
        }
        "mcp_tool_call" if is_failed || item.get("error").is_some() => {
            let name = |field| json::text(field).unwrap_or_default();
            builder
                .fail(&format!("{}.{}", name(item.get("server")), name(item.get("tool"))), &message(item.get("error")));
        }
        "error" => builder.fail("", &item.text("message").unwrap_or_default()),
        _ => {}
    }
    Ok(())
}

fn message(error: Field<'_>) -> String {
    bare(json::object(error).text("message").or_else(|| json::text(error)).unwrap_or_default())
}

/// Returns the message in a server's answer. Codex passes the answer on unchanged if the server refused a request.
fn bare(text: String) -> String {
    let answer = json::event(&text).unwrap_or_default();
    answer.object("error").text("message").unwrap_or(text)
}
