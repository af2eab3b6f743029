//! Claude Code: the event stream of `claude -p --output-format stream-json --verbose`, and the session files in
//! `~/.claude/projects/`, which have the same messages and no final event.

use std::collections::VecDeque;

use serde::Deserialize;

use super::builder::{TranscriptBuilder, command};
use super::ending::{Ending, is_stop};
use super::event::Input;
use super::figures::{AgentSpending, Figures, MessageFigures};
use super::json::{self, Field};
use super::paths::Done;
use crate::text::floor;

/// How many calls of tools may wait for their results; an agent makes a few at once.
const MAX_CALLS: usize = 256;
/// How many sessions may alternate; most streams have one.
const MAX_SESSIONS: usize = 64;
/// How much of a call is kept, in bytes.
const MAX_SUBJECT: usize = 4096;

/// The state of a stream of Claude Code.
#[derive(Debug, Default)]
pub(super) struct Claude {
    /// The calls without a result yet, the oldest first.
    calls: VecDeque<ToolCall>,
    /// The last sessions with their figures; the session of the last result comes last.
    sessions: Vec<(Option<String>, Figures)>,
    /// The figures of the sessions before them.
    earlier: Figures,
    /// Whether work began or resumed after the last result.
    is_open: bool,
    /// The last text of the program itself, mostly an error.
    program_said: String,
    /// Whether the agent's working folder is known.
    has_folder: bool,
    /// The tokens of messages that no result includes: those of the current turn, or all of a session file.
    messages: MessageFigures,
}

/// A call of a tool.
#[derive(Debug)]
struct ToolCall {
    id: String,
    name: String,
    /// The file or the command.
    subject: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClaudeEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    subtype: Field<'a>,
    #[serde(borrow)]
    session_id: Field<'a>,
    #[serde(borrow, rename = "sessionId")]
    file_session_id: Field<'a>,
    #[serde(borrow, rename = "isSidechain")]
    is_sidechain: Field<'a>,
    #[serde(borrow, rename = "isApiErrorMessage")]
    is_api_error: Field<'a>,
    #[serde(borrow, rename = "toolUseResult")]
    file_tool_use_result: Field<'a>,
    #[serde(borrow)]
    stop_reason: Field<'a>,
    #[serde(borrow)]
    terminal_reason: Field<'a>,
    #[serde(borrow)]
    cwd: Field<'a>,
    #[serde(borrow)]
    model: Field<'a>,
    #[serde(borrow)]
    parent_tool_use_id: Field<'a>,
    #[serde(borrow)]
    message: Field<'a>,
    #[serde(borrow)]
    tool_use_result: Field<'a>,
    #[serde(borrow)]
    is_error: Field<'a>,
    #[serde(borrow)]
    result: Field<'a>,
    #[serde(borrow)]
    errors: Field<'a>,
    #[serde(borrow)]
    total_cost_usd: Field<'a>,
    #[serde(borrow)]
    duration_ms: Field<'a>,
    #[serde(borrow)]
    usage: Field<'a>,
    #[serde(borrow, rename = "modelUsage")]
    model_usage: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClaudeMessage<'a> {
    #[serde(borrow)]
    id: Field<'a>,
    #[serde(borrow)]
    model: Field<'a>,
    #[serde(borrow)]
    content: Field<'a>,
    #[serde(borrow)]
    stop_reason: Field<'a>,
    #[serde(borrow)]
    usage: Field<'a>,
}

/// A part of a message: a text, the call of a tool, or its result.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ContentBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    text: Field<'a>,
    #[serde(borrow)]
    id: Field<'a>,
    #[serde(borrow)]
    name: Field<'a>,
    #[serde(borrow)]
    input: Field<'a>,
    #[serde(borrow)]
    tool_use_id: Field<'a>,
    #[serde(borrow)]
    is_error: Field<'a>,
    #[serde(borrow)]
    content: Field<'a>,
}

/// The program's own description of a tool's result.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Details<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    filenames: Field<'a>,
}

impl Claude {
    /// Reads a line. Fails if it is not an event, and skips unknown events.
    pub(super) fn take(&mut self, line: &str, builder: &mut TranscriptBuilder) -> Result<(), String> {
        let event: ClaudeEvent<'_> = json::event(line)?;
        let Some(kind) = event.kind else { return Err("it has no `type`".to_owned()) };
        let kind = Some(kind);
        let is_init = json::is(kind, "system") && json::is(event.subtype, "init");
        // Other events also follow the end: that the session is idle, or suggestions for the next request.
        self.is_open |= is_init || json::is(kind, "assistant") || json::is(kind, "user");
        if (is_init || event.file_session_id.is_some())
            && !self.has_folder
            && let Some(folder) = json::text(event.cwd)
        {
            builder.files.work_in(&folder);
            self.has_folder = event.file_session_id.is_some();
        }
        if json::is(kind, "assistant") {
            self.assistant(&event, builder)?;
        } else if json::is(kind, "user") {
            self.user(&event, builder)?;
        } else if json::is(kind, "result") {
            self.result(&event, builder);
        } else if is_init {
            builder.set_model(json::short(event.model));
        }
        Ok(())
    }

    fn assistant(&mut self, event: &ClaudeEvent<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
        let is_own = event.parent_tool_use_id.is_none() && !json::is_true(event.is_sidechain);
        let message: ClaudeMessage<'_> = json::part(event.message)?.unwrap_or_default();
        // The model that works may differ from the requested one; texts of the program itself have no model.
        let model = json::short(message.model);
        let is_program = model.as_ref().is_some_and(|model| model.starts_with('<'));
        builder.set_model(model.filter(|_| is_own && !is_program));
        if !is_program {
            self.messages.count(json::short(message.id).unwrap_or_default(), message.usage);
        }
        if event.file_session_id.is_some() && is_own {
            self.end_turn(&message, builder);
        }
        if json::is_true(event.is_api_error) {
            let error = content(message.content);
            builder.fail("", &error);
            builder.close(Ending::of_error(&error));
            self.is_open = false;
            return Ok(());
        }
        if is_program {
            // In a stream, the result repeats it, and states whether it is an error.
            content(message.content).trim().clone_into(&mut self.program_said);
            return Ok(());
        }
        json::items(message.content, &mut |block| {
            let Some(block) = json::part::<ContentBlock<'_>>(block)? else { return Ok(()) };
            if json::is(block.kind, "text") && is_own {
                builder.say(&json::text(block.text).unwrap_or_default());
            } else if json::is(block.kind, "tool_use") {
                let (Some(id), Some(name)) = (json::short(block.id), json::short(block.name)) else { return Ok(()) };
                let input: Input<'_> = json::object(block.input).unwrap_or_default();
                builder.call(&name, || input.argument(block.input));
                if let Some(line) = input.command.filter(|_| name == "Bash").and_then(|line| json::text(Some(line))) {
                    builder.ran(&line);
                }
                let subjects = [input.file_path, input.notebook_path, input.command, input.path];
                let subject = subjects.into_iter().find_map(json::text);
                let mut subject = subject.unwrap_or_default();
                subject.truncate(floor(&subject, MAX_SUBJECT));
                subject.shrink_to_fit();
                self.calls.push_back(ToolCall { id, name, subject });
                if self.calls.len() > MAX_CALLS {
                    self.calls.pop_front();
                }
            }
            Ok(())
        })
    }

    /// Checks whether a message of a session file is the last one of a turn.
    fn end_turn(&mut self, message: &ClaudeMessage<'_>, builder: &mut TranscriptBuilder) {
        let Some(reason) = json::text(message.stop_reason) else { return };
        self.is_open = reason == "tool_use";
        if is_stop(&reason) {
            builder.stop(&reason);
        } else {
            builder.close(Ending::Well);
        }
    }

    fn user(&mut self, event: &ClaudeEvent<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
        let message: ClaudeMessage<'_> = json::part(event.message)?.unwrap_or_default();
        let mut details: Details<'_> =
            json::object(event.tool_use_result.or(event.file_tool_use_result)).unwrap_or_default();
        // If there are several results, it is unknown which one it belongs to.
        if (details.kind.is_some() || details.filenames.is_some()) && n_results(message.content) != 1 {
            details = Details::default();
        }
        self.interrupt(message.content, builder);
        json::items(message.content, &mut |block| {
            let block = json::part::<ContentBlock<'_>>(block)?;
            let text = block.as_ref().filter(|block| json::is(block.kind, "text"));
            self.interrupt(text.and_then(|block| block.text), builder);
            let block = block.filter(|block| json::is(block.kind, "tool_result"));
            let Some(block) = block else { return Ok(()) };
            let Some(call) = json::short(block.tool_use_id).and_then(|id| self.call(&id)) else { return Ok(()) };
            if json::is_true(block.is_error) {
                let what = call.shown(builder);
                builder.fail(&what, &content(block.content));
            } else if matches!(call.name.as_str(), "Grep" | "Glob") {
                builder.files.note_found(&call.subject, &filenames(details.filenames));
            } else if let Some(path) = builder.files.within(&call.subject) {
                let done = match call.name.as_str() {
                    "Read" => Done::Read,
                    "Edit" | "MultiEdit" | "NotebookEdit" => Done::Modified,
                    "Write" => written(&details, block.content).unwrap_or_else(|| {
                        // The tool itself refuses to overwrite a file that was not read before.
                        if builder.files.knows(&path) { Done::Modified } else { Done::Created }
                    }),
                    _ => return Ok(()),
                };
                builder.files.note(path, done);
            }
            Ok(())
        })
    }

    /// Reads a text in the role of the user. Claude Code itself writes there that it was interrupted; a session's file
    /// has no other sign of that.
    fn interrupt(&mut self, text: Field<'_>, builder: &mut TranscriptBuilder) {
        if json::text(text).is_some_and(|text| text.starts_with("[Request interrupted by user")) {
            builder.close(Ending::Interrupted);
            self.is_open = false;
        }
    }

    fn result(&mut self, event: &ClaudeEvent<'_>, builder: &mut TranscriptBuilder) {
        let subtype = json::short(event.subtype).unwrap_or_default();
        let is_failed = json::is_true(event.is_error) || subtype.starts_with("error");
        let text = json::text(event.result).unwrap_or_default();
        let reason = json::text(event.stop_reason).unwrap_or_default();
        self.is_open = false;
        let is_stopped = json::text(event.terminal_reason).is_some_and(|reason| reason.starts_with("aborted_"));
        builder.close(match subtype.as_str() {
            _ if is_stopped => Ending::Interrupted,
            // Limits of turns, money, and attempts at an answer in the requested form.
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
            let mut n_told = 0;
            let _ = json::items(event.errors, &mut |error| {
                if let Some(error) = json::text(error) {
                    builder.fail(what, &error);
                    n_told += 1;
                }
                Ok(())
            });
            if n_told == 0 {
                builder.fail(what, &text);
            }
        }
        let session = json::short(event.session_id);
        let known = self.sessions.iter().position(|(known, _)| *known == session);
        let before = known.map(|at| self.sessions.remove(at).1).unwrap_or_default();
        if self.sessions.len() >= MAX_SESSIONS {
            self.earlier = self.earlier.and(self.sessions.remove(0).1);
        }
        let figures = Figures::of(event);
        if figures.spending.tokens_in.is_some() {
            self.messages.settle();
        }
        self.sessions.push((session, before.or(figures)));
    }

    /// Removes the call with this id from the waiting ones, and returns it.
    fn call(&mut self, id: &str) -> Option<ToolCall> {
        let at = self.calls.iter().position(|call| call.id == id)?;
        self.calls.remove(at)
    }

    /// Returns the figures so far. Only results have a cost.
    fn figures(&self) -> Figures {
        let messages = Figures { spending: self.messages.sum(), ..Figures::default() };
        let earlier = self.earlier.and(messages);
        self.sessions.iter().fold(earlier, |sum, (_, figures)| sum.and(*figures))
    }

    pub(super) fn spending(&self) -> AgentSpending {
        self.figures().spending
    }

    pub(super) fn finish(&mut self, builder: &mut TranscriptBuilder) {
        builder.is_complete &= !self.is_open;
        builder.duration_secs = self.figures().duration_ms.map(|duration| (duration / 100.0).round() / 10.0);
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

impl Figures {
    fn of(event: &ClaudeEvent<'_>) -> Figures {
        let mut figures = Figures { duration_ms: json::amount(event.duration_ms), ..Figures::default() };
        figures.spending.cost_usd = json::amount(event.total_cost_usd);
        // The cost includes subagents, and so do these tokens, unlike those of `usage`.
        json::values(event.model_usage, &mut |usage| figures.spending.count(usage));
        if figures.spending.tokens_in.is_none() {
            figures.spending.count(event.usage);
        }
        figures
    }
}

/// Returns the names of the files that a search found.
fn filenames(field: Field<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let _ = json::items(field, &mut |name| {
        names.extend(json::text(name));
        Ok(())
    });
    names
}

/// Returns how many results of tools are in a message.
fn n_results(content: Field<'_>) -> usize {
    let mut n_results = 0;
    let _ = json::items(content, &mut |block| {
        let block: ContentBlock<'_> = json::object(block).unwrap_or_default();
        n_results += usize::from(json::is(block.kind, "tool_result"));
        Ok(())
    });
    n_results
}

/// Returns the text of a tool's result: a text, or pieces of which some are.
fn content(field: Field<'_>) -> String {
    if let Some(text) = json::text(field) {
        return text;
    }
    let mut first = None;
    let _ = json::items(field, &mut |block| {
        let block: ContentBlock<'_> = json::object(block).unwrap_or_default();
        first = first.take().or_else(|| json::text(block.text));
        Ok(())
    });
    first.unwrap_or_default()
}

/// Returns what a call of `Write` did, if its result states it.
fn written(details: &Details<'_>, content_field: Field<'_>) -> Option<Done> {
    if json::is(details.kind, "create") {
        return Some(Done::Created);
    }
    if json::is(details.kind, "update") {
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
