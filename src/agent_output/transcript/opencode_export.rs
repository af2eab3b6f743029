//! The session file of opencode: what `opencode export` prints, one JSON document.
//!
//! It has the messages of a session, whose parts are those that the stream has as events. So it is read as a stream:
//! each part of the agent's messages becomes a line.

use serde_json::value::RawValue;

use super::json::{self, Field, Object};
use crate::text::repaired_json;

/// Returns the session as lines of the stream; `None` if the text is not a session.
pub(super) fn lines(text: &str) -> Option<String> {
    let text = repaired_json(text.trim_start_matches('\u{feff}').trim());
    let session = json::event(&text).ok()?;
    session.get("info")?;
    let (mut lines, mut is_session) = (String::new(), false);
    for message in json::items(session.get("messages")).map(json::object) {
        let info = message.object("info");
        is_session |= info.text("sessionID").is_some();
        lines += &lines_of(&info, json::items(message.get("parts")));
    }
    is_session.then_some(lines)
}

fn lines_of<'a>(info: &Object<'_>, parts: impl Iterator<Item = Field<'a>>) -> String {
    if !info.is("role", "assistant") {
        return String::new();
    }
    let parts = parts.filter_map(|part| line_of(part, info.get("modelID")));
    parts.chain(info.get("error").map(|error| line("error", "error", error, None))).collect()
}

/// Returns the line of a part, if the stream has one for it.
fn line_of(part: Field<'_>, model: Field<'_>) -> Option<String> {
    let kind = json::object(part);
    let event = match kind.text("type")?.as_str() {
        "step-start" => "step_start",
        "text" => "text",
        "tool" => "tool_use",
        "step-finish" => "step_finish",
        _ => return None,
    };
    Some(line(event, "part", part?, model))
}

fn line(event: &str, name: &str, value: &RawValue, model: Field<'_>) -> String {
    let model = model.map_or_else(String::new, |model| format!(",\"model\":{}", on_one_line(model)));
    format!("{{\"type\":\"{event}\"{model},\"{name}\":{}}}\n", on_one_line(value))
}

/// Returns a value without its line breaks. No text in JSON has line breaks.
fn on_one_line(value: &RawValue) -> String {
    value.get().lines().map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_agents_messages_becomes_a_line() {
        let message = |role: &str, parts: &str| {
            format!(
                "{{\"info\": {{\"role\": \"{role}\", \"sessionID\": \"s\", \"modelID\": \"m\"}},\n \"parts\": [{parts}]}}"
            )
        };
        let text = "{\"type\": \"text\",\n  \"text\": \"one\\ntwo\"}";
        let (own, prompt) = (message("assistant", &format!("{text}, {{\"type\": \"patch\"}}")), message("user", text));
        let session = format!("\u{feff}{{\"info\": {{}},\n\"messages\": [{prompt}, {own}]\n}}\n");
        let expected = "{\"type\":\"text\",\"model\":\"m\",\"part\":{\"type\": \"text\",\"text\": \"one\\ntwo\"}}\n";
        assert_eq!(lines(&session).as_deref(), Some(expected));
        for other in [
            "",
            "{}",
            "{\"info\": {}, \"messages\": []}",
            "{\"info\": {}, \"messages\": [{\"parts\": []}]}",
            &session[3..90],
        ] {
            assert_eq!(lines(other), None, "{other}");
        }
    }
}
