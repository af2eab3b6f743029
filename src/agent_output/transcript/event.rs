//! The agent's actions, for people who watch it: one line each, as they happen.

use std::collections::VecDeque;

use super::json::{self, Object};
use crate::text::secret::redact;
use crate::text::{floor, one_line};

/// How much of a text is read to make one line of it, in bytes.
const MAX_LINE_BYTES: usize = 4096;

/// How many events are queued. Beyond that, the oldest are dropped.
const MAX_WAITING: usize = 1_000;
/// The names of a call's main argument, the most telling first.
const ARGUMENTS: &str = "command file_path filePath notebook_path pattern url query description skill path";
/// The longest text of an event, in characters: no terminal is wider.
const MAX_SHOWN: usize = 500;

/// An action of an agent, from its event stream. Texts are one line each, at most 500 characters, without secrets. They
/// are not escaped for a terminal.
///
/// ```
/// use ralph_memory::agent_output::transcript::{AgentEvent, Format, Options, Reader};
/// let mut reader = Reader::new(Options { format: Format::Codex, ..Options::default() }).watched();
/// let item = r#"{"type":"agent_message","text":"The tests pass.\nAll 12."}"#;
/// reader.push(format!("{{\"type\":\"item.completed\",\"item\":{item}}}\n").as_bytes());
/// match reader.take_event() {
///     Some(AgentEvent::Message(line)) => assert_eq!(line, "The tests pass."),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// It now works with this model.
    Model(String),
    /// It printed a text, whose first line this is.
    Message(String),
    /// It called a tool.
    ToolCall {
        /// The tool.
        tool: String,
        /// Its main argument: a command, a path, a pattern, an address. Empty if there is none.
        argument: String,
    },
    /// Something failed, or was refused.
    Failure(String),
}

/// Queued events.
#[derive(Debug, Default)]
pub(super) struct Events {
    waiting: VecDeque<AgentEvent>,
    model: Option<String>,
}

impl Events {
    pub(super) fn model(&mut self, model: &str) {
        if self.model.as_deref() != Some(model) {
            self.model = Some(model.to_owned());
            self.push(AgentEvent::Model(shown(one_line(model))));
        }
    }

    pub(super) fn message(&mut self, text: &str, allowed: &[String]) {
        // Redaction comes before the cut to a line: some secrets have several.
        let text = redact(start(text), allowed);
        if let Some(line) = text.lines().map(one_line).find(|line| !line.is_empty()) {
            self.push(AgentEvent::Message(shown(line)));
        }
    }

    pub(super) fn call(&mut self, tool: &str, argument: &str, allowed: &[String]) {
        let line = |text: &str| shown(one_line(&redact(start(text), allowed)));
        self.push(AgentEvent::ToolCall { tool: line(tool), argument: line(argument) });
    }

    pub(super) fn failure(&mut self, line: String) {
        self.push(AgentEvent::Failure(shown(line)));
    }

    pub(super) fn take(&mut self) -> Option<AgentEvent> {
        self.waiting.pop_front()
    }

    fn push(&mut self, event: AgentEvent) {
        if self.waiting.len() >= MAX_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(event);
    }
}

fn shown(text: String) -> String {
    if text.chars().nth(MAX_SHOWN).is_none() { text } else { text.chars().take(MAX_SHOWN).collect() }
}

/// Returns the main argument of a call. For an unknown tool it is the first text among the arguments.
pub(super) fn argument(input: &Object<'_>) -> String {
    let first = || input.values().find_map(|(_, value)| json::text(Some(value)));
    ARGUMENTS.split(' ').find_map(|name| input.text(name)).or_else(first).unwrap_or_default()
}

/// Returns the part of a text that is examined.
pub(super) fn start(text: &str) -> &str {
    let text = text.trim_start();
    &text[..floor(text, MAX_LINE_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Options, Reader};
    use super::*;

    /// Returns the events of a stream, one line each.
    fn told(format: Format, lines: &[&str]) -> Vec<String> {
        let mut reader = Reader::new(Options { format, ..Options::default() }).watched();
        let mut told = Vec::new();
        // In small pieces, as they may arrive.
        for piece in (lines.join("\n") + "\n").as_bytes().chunks(7) {
            reader.push(piece);
            while let Some(event) = reader.take_event() {
                told.push(match event {
                    AgentEvent::Model(model) => format!("model {model}"),
                    AgentEvent::Message(text) => format!("says {text}"),
                    AgentEvent::ToolCall { tool, argument } => format!("calls {tool} {argument}"),
                    AgentEvent::Failure(text) => format!("fails {text}"),
                });
            }
        }
        told
    }

    #[test]
    fn events_of_claude_code_are_reported_as_they_happen() {
        let call = |name: &str, input: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"model":"opus","content":[{{"type":"tool_use","id":"{name}","name":"{name}","input":{input}}}]}}}}"#
            )
        };
        let lines = [
            r#"{"type":"system","subtype":"init","model":"sonnet"}"#.to_owned(),
            r#"{"type":"assistant","message":{"model":"sonnet","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"\n  I look.\nMore."}]}}"#.to_owned(),
            call("Grep", r#"{"path":"src","pattern":"fn main"}"#),
            call("Read", r#"{"file_path":"src/a.rs","limit":3}"#),
            call("WebFetch", r#"{"prompt":"What?","url":"https://example.org"}"#),
            call("mcp__memory__search", r#"{"limit":3,"words":"locks"}"#),
            call("Stop", "7"),
            "no JSON".to_owned(),
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"Read","is_error":true,"content":"<tool_use_error>File does not exist.</tool_use_error>"}]}}"#.to_owned(),
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"Grep","content":"src/a.rs"}]}}"#.to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let expected = [
            "model sonnet",
            "says I look.",
            "model opus",
            "calls Grep fn main",
            "calls Read src/a.rs",
            "calls WebFetch https://example.org",
            "calls mcp__memory__search locks",
            "calls Stop ",
            "fails Read src/a.rs: File does not exist.",
        ];
        assert_eq!(told(Format::Claude, &lines), expected);
    }

    #[test]
    fn events_of_codex_are_reported_once() {
        let item = |event: &str, item: &str| format!(r#"{{"type":"item.{event}","item":{{{item}}}}}"#);
        let lines = [
            r#"{"type":"thread.started","thread_id":"t"}"#.to_owned(),
            item("started", r#""id":"1","type":"command_execution","command":"make\ntest""#),
            item(
                "completed",
                r#""id":"1","type":"command_execution","command":"make\ntest","exit_code":2,"aggregated_output":"no rule""#,
            ),
            item(
                "completed",
                r#""id":"2","type":"file_change","changes":[{"path":"a.rs","kind":"add"},{"path":"b.rs"}],"status":"completed""#,
            ),
            item(
                "started",
                r#""id":"3","type":"mcp_tool_call","server":"memory","tool":"search","arguments":{"query":"locks"}"#,
            ),
            item(
                "completed",
                r#""id":"3","type":"mcp_tool_call","server":"memory","tool":"search","arguments":{"query":"locks"}"#,
            ),
            item("started", r#""id":"4","type":"web_search","query":"""#),
            item("completed", r#""id":"4","type":"web_search","query":"rust locks""#),
            item("completed", r#""id":"5","type":"reasoning","text":"hm""#),
            item("started", r#""id":"6","type":"command_execution","command":7"#),
            item("completed", r#""id":"7","type":"agent_message","text":"Done.""#),
            r#"{"type":"error","message":"stream lost"}"#.to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let expected = [
            "calls shell make test",
            "fails `make`: Exit code 2: no rule",
            "calls edit a.rs, b.rs",
            "calls memory.search locks",
            "calls web search rust locks",
            "calls shell ",
            "says Done.",
            "fails stream lost",
        ];
        assert_eq!(told(Format::Codex, &lines), expected);
    }

    #[test]
    fn events_of_opencode_are_reported() {
        let tool = |state: &str| format!(r#"{{"type":"tool_use","part":{{"tool":"edit","state":{{{state}}}}}}}"#);
        let lines = [
            r#"{"type":"step_start","part":{}}"#.to_owned(),
            tool(r#""status":"completed","input":{"filePath":"src/a.rs","oldString":"x"}"#),
            tool(r#""status":"error","input":{"filePath":"src/b.rs"},"error":"no such file""#),
            r#"{"type":"text","part":{"text":"Done."}}"#.to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let expected =
            ["calls edit src/a.rs", "calls edit src/b.rs", "fails edit src/b.rs: no such file", "says Done."];
        assert_eq!(told(Format::Opencode, &lines), expected);
    }

    #[test]
    fn events_are_short_bounded_and_without_secrets() {
        let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
        // At a place where a cut would leave half of it.
        let text = format!("{} {token}", "x".repeat(MAX_SHOWN - 20));
        let mut events = Events::default();
        events.message(&text, &[]);
        events.call("Bash", &text, &[]);
        events.message(" \n ", &[]);
        let shown = [events.take(), events.take()].map(|event| match event {
            Some(AgentEvent::Message(text) | AgentEvent::ToolCall { argument: text, .. }) => text,
            other => panic!("{other:?}"),
        });
        for text in shown {
            assert!(text.ends_with("[redacted: github-to") || text.contains(" [redacted"), "{text}");
            assert!(text.chars().count() <= MAX_SHOWN && !text.contains(&token[..8]), "{text}");
        }
        assert_eq!(events.take(), None);
        for number in 0..2 * MAX_WAITING {
            events.failure(number.to_string());
        }
        assert_eq!(events.take(), Some(AgentEvent::Failure(MAX_WAITING.to_string())));
        assert_eq!(std::iter::from_fn(|| events.take()).count(), MAX_WAITING - 1);
    }

    #[test]
    fn an_unwatched_reader_keeps_no_events() {
        let mut reader = Reader::new(Options { format: Format::Codex, ..Options::default() });
        reader.push(b"{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Done.\"}}\n");
        assert_eq!(reader.take_event(), None);
        assert_eq!(reader.finish().text, "Done.");
    }
}
