//! Distinguishes streams from plain text by their first lines.
//!
//! A text may begin with a brace, or with a quoted line of a stream. So most of the first lines must be events, with
//! fields that distinguish them from other JSON. A few other lines are allowed, such as the output of a wrapper before
//! the agent begins. If most lines are JSON objects but not known events, the output is not plain text either: it may
//! be a file that the agent printed, and not its own text.

use super::Format;
use super::json::{self, Object};
use crate::text::{decoded, repaired_json};

/// How many lines with content are examined.
const MAX_LINES: usize = 16;
/// How much is examined, in bytes.
const MAX_BYTES: usize = 1024 * 1024;
/// The formats that are streams of events.
pub(super) const CLIENTS: [Format; 3] = [Format::Claude, Format::Codex, Format::Opencode];
/// The number of events after which the format is decided early.
const ENOUGH: usize = 2;

/// The beginning of an output of unknown format.
#[derive(Debug, Default)]
pub(super) struct Detecting {
    bytes: Vec<u8>,
    /// How many of its bytes are lines that were examined.
    n_seen: usize,
    n_lines: usize,
    /// How many lines are events of each of [`CLIENTS`].
    n_events: [usize; CLIENTS.len()],
    /// How many lines are JSON objects, events or not.
    n_objects: usize,
    /// Whether there is a code fence. No stream has one outside of its JSON.
    has_fence: bool,
}

impl Detecting {
    /// Reads the next piece, and returns the format if it is known.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<Format> {
        let mut start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        while let Some(at) = self.bytes[start..].iter().position(|byte| *byte == b'\n') {
            let end = start + at;
            // The result must not depend on how the output is split: a complete line would have been too long.
            if end > MAX_BYTES {
                return Some(self.verdict());
            }
            self.look(end);
            (self.n_seen, start) = (end + 1, end + 1);
            if self.has_fence {
                return Some(Format::Text);
            }
            if self.majority().is_some() && self.n_events.iter().any(|n_events| *n_events >= ENOUGH) {
                return self.majority();
            }
            if self.n_lines >= MAX_LINES {
                return Some(self.verdict());
            }
        }
        if self.bytes.len() <= MAX_BYTES {
            return None;
        }
        // For example, all events in one line.
        self.look(self.bytes.len());
        Some(self.verdict())
    }

    /// Returns the format at the end of the output.
    pub(super) fn at_end(&mut self) -> Format {
        self.look(self.bytes.len());
        self.n_seen = self.bytes.len();
        self.verdict()
    }

    fn verdict(&self) -> Format {
        let is_json = self.n_objects * 2 > self.n_lines && !self.has_fence;
        self.majority().unwrap_or(if is_json { Format::Unknown } else { Format::Text })
    }

    /// Returns the format of a whole text.
    pub(super) fn of(bytes: &[u8]) -> Format {
        let mut detecting = Detecting::default();
        detecting.push(bytes).unwrap_or_else(|| detecting.at_end())
    }

    /// Returns the output so far.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Counts the line that ends there.
    fn look(&mut self, end: usize) {
        let line = decoded(&self.bytes[self.n_seen..end]);
        let line = repaired_json(line.trim());
        let line = &*line;
        if line.is_empty() {
            return;
        }
        self.n_lines += 1;
        self.has_fence |= line.starts_with("```") || line.starts_with("~~~");
        let speaker = speaker_of(line);
        if speaker.is_none() && json::event(line).is_err() {
            return;
        }
        self.n_objects += 1;
        if let Some(client) = CLIENTS.iter().position(|client| Some(*client) == speaker) {
            self.n_events[client] += 1;
        }
    }

    fn majority(&self) -> Option<Format> {
        let client = self.n_events.iter().position(|n_events| n_events * 2 > self.n_lines)?;
        Some(CLIENTS[client]).filter(|_| !self.has_fence)
    }
}

/// Returns the client that a line, or the first item of a list, is an event of. The end of the list may be missing.
pub(super) fn speaker_of(line: &str) -> Option<Format> {
    let event = if line.starts_with("[{") { json::list_head(line) } else { json::event(line).ok() };
    speaker(&event?)
}

/// Returns the client that this is an event of. The type `error` alone is too common.
fn speaker(event: &Object<'_>) -> Option<Format> {
    let kind = event.text("type")?;
    match kind.as_str() {
        "thread.started" if event.text("thread_id").is_some() => return Some(Format::Codex),
        "turn.started" => return Some(Format::Codex),
        "turn.completed" if event.get("usage").is_some() => return Some(Format::Codex),
        "turn.failed" if event.get("error").is_some() => return Some(Format::Codex),
        "item.started" | "item.updated" | "item.completed" => {
            return event.object("item").get("type").map(|_| Format::Codex);
        }
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "world_state" | "compacted"
        | "token_usage_record" => return event.get("payload").map(|_| Format::Codex),
        "summary" if event.get("leafUuid").is_some() => return Some(Format::Claude),
        "file-history-snapshot" if event.get("snapshot").is_some() => return Some(Format::Claude),
        _ => {}
    }
    if event.text("sessionID").is_some() {
        return [event.get("part"), event.get("error")].iter().any(Option::is_some).then_some(Format::Opencode);
    }
    if event.text("sessionId").is_some() {
        let parts = [event.get("message"), event.get("uuid"), event.get("operation"), event.get("leafUuid")];
        return parts.iter().any(Option::is_some).then_some(Format::Claude);
    }
    // Wrappers and older versions of Claude Code leave the session out.
    let is_claude = match kind.as_str() {
        "system" => event.is("subtype", "init"),
        "assistant" | "user" => event.object("message").get("content").is_some(),
        "result" => event.text("result").is_some() && event.get("is_error").or(event.get("subtype")).is_some(),
        _ => false,
    };
    if is_claude {
        return Some(Format::Claude);
    }
    event.text("session_id")?;
    [event.get("subtype"), event.get("message"), event.get("uuid")]
        .iter()
        .any(Option::is_some)
        .then_some(Format::Claude)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
    const SAID: &str = r#"{"type":"assistant","message":{"content":[]},"session_id":"s"}"#;
    const THREAD: &str = r#"{"type":"thread.started","thread_id":"t"}"#;
    const TURN: &str = r#"{"type":"turn.started"}"#;

    #[track_caller]
    fn check(lines: &[&str], expected: Format) {
        let text = lines.join("\n");
        for size in [1, 7, text.len().max(1)] {
            let mut detecting = Detecting::default();
            let early = text.as_bytes().chunks(size).find_map(|piece| detecting.push(piece));
            assert_eq!(early.unwrap_or_else(|| detecting.at_end()), expected, "{size}");
        }
    }

    #[test]
    fn streams_are_recognised_by_their_first_lines() {
        check(&[INIT, SAID], Format::Claude);
        check(&[INIT], Format::Claude);
        check(&["\u{feff}", "", &format!("  {INIT}\r"), SAID], Format::Claude);
        check(&[r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s"}"#], Format::Claude);
        check(&[THREAD, TURN], Format::Codex);
        check(&[THREAD, r#"{"type":"error","message":"x"}"#, r#"{"type":"turn.failed","error":{}}"#], Format::Codex);
        check(&["> build", "warning: no network", INIT, SAID, SAID], Format::Claude);
        // Without sessions.
        let used = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read","input":{}}]}}"#;
        let ended = r#"{"type":"result","subtype":"success","is_error":false,"result":"Done."}"#;
        check(&[used, ended], Format::Claude);
        check(&[r#"{"type":"system","subtype":"init","tools":[]}"#, used], Format::Claude);
        check(&[ended], Format::Claude);
    }

    #[test]
    fn unknown_json_lines_are_not_text() {
        check(&["{}", "{}"], Format::Unknown);
        check(&[r#"{"type":"result","ok":true}"#], Format::Unknown);
        check(&[r#"{"type":"error","message":"boom"}"#], Format::Unknown);
        check(&[r#"{"scope":"task","session_id":7,"type":"system","subtype":"x"}"#], Format::Unknown);
        check(&["starting", r#"{"level":"info"}"#, r#"{"level":"info"}"#, "<task-done>t</task-done>"], Format::Text);
    }

    #[test]
    fn session_files_of_clients_are_recognised() {
        let queued = r#"{"type":"queue-operation","operation":"enqueue","sessionId":"s"}"#;
        let asked = r#"{"isSidechain":false,"type":"user","message":{},"uuid":"u","sessionId":"s"}"#;
        check(&[queued, asked], Format::Claude);
        check(&[r#"{"type":"summary","summary":"x","leafUuid":"u"}"#, asked], Format::Claude);
        let meta = r#"{"timestamp":"x","type":"session_meta","payload":{"id":"t"}}"#;
        check(&[meta, r#"{"timestamp":"x","type":"event_msg","payload":{"type":"task_started"}}"#], Format::Codex);
        let step = r#"{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}"#;
        check(&[step, r#"{"type":"error","sessionID":"ses_1","error":{}}"#], Format::Opencode);
    }

    #[test]
    fn text_that_begins_with_a_brace_is_text() {
        check(&[], Format::Text);
        check(&["{"], Format::Text);
        check(&["{}", "I printed that.", "It is empty."], Format::Text);
        check(&["{{task}}", "{% raw %}"], Format::Text);
        // A quoted stream.
        check(&[INIT, "is the first event.", "It has the session."], Format::Text);
        check(&["```json", THREAD, TURN, "```", "These two begin it."], Format::Text);
        let much = format!("{{{}", "x".repeat(MAX_BYTES + 1));
        check(&[&much, INIT, SAID, SAID], Format::Text);
    }
}
