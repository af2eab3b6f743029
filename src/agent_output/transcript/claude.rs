//! Claude Code: the event stream of `claude -p --output-format stream-json --verbose`, and the session files in
//! `~/.claude/projects/`, which have the same messages and no final event.

use std::ops::Add;

use super::builder::{TranscriptBuilder, command};
use super::ending::{Ending, is_stop};
use super::event::argument;
use super::figures::{AgentSpending, MessageFigures, sum};
use super::json::{self, Field, Object};
use super::paths::Done;
use super::stream::{ClientStream, PendingCalls};
use crate::text::floor;

/// How many sessions may alternate. Most streams have one.
const MAX_SESSIONS: usize = 64;
/// How much of a call is kept, in bytes.
const MAX_SUBJECT: usize = 4096;

/// The state of a stream of Claude Code.
#[derive(Debug, Default)]
pub(super) struct Claude {
    /// The calls without a result yet.
    calls: PendingCalls<ToolCall>,
    /// The last sessions with the totals that their last results have. The session of the last result comes last.
    sessions: Vec<(Option<String>, AgentSpending)>,
    /// What the sessions before them spent.
    earlier: AgentSpending,
    /// How long all turns took.
    duration_ms: Option<f64>,
    /// Whether work began or resumed after the last result.
    is_open: bool,
    /// The last text of the program itself, usually an error.
    program_said: String,
    /// Whether the agent's working folder is known.
    has_folder: bool,
    /// The tokens of messages that no result includes: those of the current turn, or all of a session file.
    messages: MessageFigures,
}

/// A call of a tool.
#[derive(Debug)]
struct ToolCall {
    name: String,
    /// The file or the command.
    subject: String,
}

impl ClientStream for Claude {
    fn take(&mut self, kind: &str, event: &Object<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
        let is_init = kind == "system" && event.is("subtype", "init");
        // Other events may follow the end, such as an idle session or suggestions for the next request.
        self.is_open |= is_init || matches!(kind, "assistant" | "user");
        if (is_init || event.get("sessionId").is_some())
            && !self.has_folder
            && let Some(folder) = event.text("cwd")
        {
            builder.files.work_in(&folder);
            self.has_folder = event.get("sessionId").is_some();
        }
        match kind {
            "assistant" => return self.assistant(event, builder),
            "user" => return self.user(event, builder),
            "result" => self.result(event, builder),
            _ if is_init => builder.set_model(event.short("model")),
            _ => {}
        }
        Ok(())
    }

    fn spending(&self) -> AgentSpending {
        let earlier = self.earlier.and(self.messages.sum());
        self.sessions.iter().fold(earlier, |sum, (_, spending)| sum.and(*spending))
    }

    fn finish(&mut self, builder: &mut TranscriptBuilder) {
        builder.is_complete &= !self.is_open;
        builder.duration_secs = self.duration_ms.map(|duration| (duration / 100.0).round() / 10.0);
    }
}

impl Claude {
    fn assistant(&mut self, event: &Object<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
        let is_own = event.get("parent_tool_use_id").is_none() && !event.is_true("isSidechain");
        let message = json::part(event.get("message"))?;
        // The model that works may differ from the requested one. Texts of the program itself have no model.
        let model = message.short("model");
        let is_program = model.as_ref().is_some_and(|model| model.starts_with('<'));
        builder.set_model(model.filter(|_| is_own && !is_program));
        if !is_program {
            self.messages.count(message.short("id").unwrap_or_default(), message.get("usage"));
        }
        if event.get("sessionId").is_some() && is_own {
            self.end_turn(&message, builder);
        }
        if event.is_true("isApiErrorMessage") {
            let error = content(message.get("content"));
            builder.fail("", &error);
            builder.close(Ending::of_error(&error));
            self.is_open = false;
            return Ok(());
        }
        if is_program {
            // In a stream, the result repeats it, and states whether it is an error.
            content(message.get("content")).trim().clone_into(&mut self.program_said);
            return Ok(());
        }
        json::each(message.get("content"), |block| {
            if block.is("type", "text") && is_own {
                builder.say(&block.text("text").unwrap_or_default());
            } else if block.is("type", "tool_use") {
                let (Some(id), Some(name)) = (block.short("id"), block.short("name")) else { return };
                let input = block.object("input");
                builder.call(&name, || argument(&input));
                if let Some(line) = input.text("command").filter(|_| name == "Bash") {
                    builder.ran(&line);
                }
                let subjects =
                    [input.get("file_path"), input.get("notebook_path"), input.get("command"), input.get("path")];
                let subject = subjects.into_iter().find_map(json::text);
                let mut subject = subject.unwrap_or_default();
                subject.truncate(floor(&subject, MAX_SUBJECT));
                subject.shrink_to_fit();
                self.calls.push(id, ToolCall { name, subject });
            }
        })
    }

    /// Checks whether a message of a session file is the last one of a turn.
    fn end_turn(&mut self, message: &Object<'_>, builder: &mut TranscriptBuilder) {
        let Some(reason) = message.text("stop_reason") else { return };
        self.is_open = reason == "tool_use";
        if is_stop(&reason) {
            builder.stop(&reason);
        } else {
            builder.close(Ending::Well);
        }
    }

    fn user(&mut self, event: &Object<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
        let message = json::part(event.get("message"))?;
        let mut details = json::object(event.get("tool_use_result").or(event.get("toolUseResult")));
        // If there are several results, it is unknown which one it belongs to.
        let is_result = |block: &Field<'_>| json::object(*block).is("type", "tool_result");
        if (details.get("type").is_some() || details.get("filenames").is_some())
            && json::items(message.get("content")).filter(is_result).count() != 1
        {
            details = Object::default();
        }
        self.interrupt(message.get("content"), builder);
        json::each(message.get("content"), |block| {
            if block.is("type", "text") {
                self.interrupt(block.get("text"), builder);
            }
            if !block.is("type", "tool_result") {
                return;
            }
            let Some(call) = block.short("tool_use_id").and_then(|id| self.calls.take(&id)) else { return };
            if block.is_true("is_error") {
                let what = call.shown(builder);
                builder.fail(&what, &content(block.get("content")));
            } else if matches!(call.name.as_str(), "Grep" | "Glob") {
                let names: Vec<String> = json::items(details.get("filenames")).filter_map(json::text).collect();
                builder.files.note_found(&call.subject, &names);
            } else if let Some(path) = builder.files.within(&call.subject) {
                let done = match call.name.as_str() {
                    "Read" => Done::Read,
                    "Edit" | "MultiEdit" | "NotebookEdit" => Done::Modified,
                    "Write" => written(&details, block.get("content")).unwrap_or_else(|| {
                        // The tool itself refuses to overwrite a file that was not read before.
                        if builder.files.knows(&path) { Done::Modified } else { Done::Created }
                    }),
                    _ => return,
                };
                builder.files.note(path, done);
            }
        })
    }

    /// Reads a text in the role of the user. Claude Code itself writes there that it was interrupted; a session file
    /// has no other sign of that.
    fn interrupt(&mut self, text: Field<'_>, builder: &mut TranscriptBuilder) {
        if json::text(text).is_some_and(|text| text.starts_with("[Request interrupted by user")) {
            builder.close(Ending::Interrupted);
            self.is_open = false;
        }
    }

    fn result(&mut self, event: &Object<'_>, builder: &mut TranscriptBuilder) {
        let subtype = event.short("subtype").unwrap_or_default();
        let is_failed = event.is_true("is_error") || subtype.starts_with("error");
        let text = event.text("result").unwrap_or_default();
        let reason = event.text("stop_reason").unwrap_or_default();
        self.is_open = false;
        let is_stopped = event.text("terminal_reason").is_some_and(|reason| reason.starts_with("aborted_"));
        builder.close(match subtype.as_str() {
            _ if is_stopped => Ending::Interrupted,
            // The limits of turns, of money, and of attempts at an answer in the requested form.
            limit if limit.starts_with("error_max_") => Ending::Blocked,
            _ if is_failed => Ending::of_error(&text),
            _ => Ending::Well,
        });
        if is_stop(&reason) {
            builder.stop(&reason);
        }
        // The program's text about an error is not the agent's text, and is no summary.
        if is_failed && !text.is_empty() && text.trim() == self.program_said {
            builder.end("", false);
        } else {
            builder.end(&text, !is_failed);
        }
        if is_failed && !is_stopped {
            let what = if subtype.starts_with("error") { subtype.as_str() } else { "" };
            let mut errors: Vec<String> = json::items(event.get("errors")).filter_map(json::text).collect();
            if errors.is_empty() {
                errors.push(text);
            }
            for error in &errors {
                builder.fail(what, error);
            }
        }
        let session = event.short("session_id");
        let known = self.sessions.iter().position(|(known, _)| *known == session);
        let before = known.map(|at| self.sessions.remove(at).1).unwrap_or_default();
        if self.sessions.len() >= MAX_SESSIONS {
            self.earlier = self.earlier.and(self.sessions.remove(0).1);
        }
        let spending = spending_of(event);
        if spending.tokens_in.is_some() {
            self.messages.settle();
        }
        self.sessions.push((session, before.or(spending)));
        self.duration_ms = sum(self.duration_ms, event.amount("duration_ms"), Add::add);
    }
}

impl ToolCall {
    /// Returns the form of the call in an error. Paths outside of the project are left out.
    fn shown(&self, builder: &TranscriptBuilder) -> String {
        match self.name.as_str() {
            "Bash" => command(&self.subject),
            name => {
                builder.files.within(&self.subject).map_or_else(|| name.to_owned(), |path| format!("{name} {path}"))
            }
        }
    }
}

/// Returns what a result says that its session has spent.
fn spending_of(event: &Object<'_>) -> AgentSpending {
    let mut spending = AgentSpending { cost_usd: event.amount("total_cost_usd"), ..AgentSpending::default() };
    // The cost includes subagents, and so do these tokens, unlike those of `usage`.
    event.object("modelUsage").values().for_each(|(_, usage)| spending.count(Some(usage)));
    if spending.tokens_in.is_none() {
        spending.count(event.get("usage"));
    }
    spending
}

/// Returns the text of a tool's result, which is one text, or pieces of which some are texts.
fn content(field: Field<'_>) -> String {
    let first = || json::items(field).find_map(|block| json::object(block).text("text"));
    json::text(field).or_else(first).unwrap_or_default()
}

/// Returns what a call of `Write` did, if its result states it.
fn written(details: &Object<'_>, content_field: Field<'_>) -> Option<Done> {
    if details.is("type", "create") {
        return Some(Done::Created);
    }
    if details.is("type", "update") {
        return Some(Done::Modified);
    }
    let text = content(content_field);
    if text.starts_with("File created successfully") {
        Some(Done::Created)
    } else if text.starts_with("The file ") && text.lines().next().is_some_and(|line| line.contains("has been updated"))
    {
        Some(Done::Modified)
    } else {
        None
    }
}
