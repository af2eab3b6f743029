//! What a session did, from the transcript that its client keeps.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _};
use std::path::Path;

use serde_json::Value;

use super::message::says_anything;
use crate::agent_output::transcript::{Format, Transcript};
use crate::entry::{Outcome, Sections};
use crate::journal::history::Report;
use crate::recording::reader;
use crate::store::open_own_file;
use crate::text::{decoded, first_sentence, read_json};
use crate::workspace::Workspace;

/// How much of a transcript is searched for what the person asked first, in bytes.
const MAX_BEGINNING: u64 = 1024 * 1024;
/// The longest title, in characters.
const MAX_TITLE: usize = 120;
/// How many of the last commands are reported as what was tried.
const MAX_COMMANDS: usize = 5;

/// The work of a session, according to its transcript.
#[derive(Debug, PartialEq)]
pub(super) enum TranscribedWork {
    /// It changed no file of the project.
    Nothing,
    /// The transcript has more bytes than may be read now.
    TooLarge(u64),
    /// It changed files; what the person asked for, and the report.
    Changes(String, Box<Report>),
}

/// Reads a transcript of at most `limit` bytes.
///
/// # Errors
///
/// `PermissionDenied` if the file belongs to another user, `InvalidInput` if it is not a regular one, and those of the
/// file system.
pub(super) fn work(workspace: &Workspace, path: &Path, limit: u64) -> io::Result<TranscribedWork> {
    if !path.is_absolute() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = open_own_file(path)?;
    let size = file.metadata()?.len();
    if size > limit {
        return Ok(TranscribedWork::TooLarge(size));
    }
    let title = first_prompt(&file)?;
    file.rewind()?;
    // The file may grow meanwhile.
    Ok(work_in(reader(workspace, Format::Auto).read(BufReader::new(file.take(limit)))?, title))
}

/// Like [`work`], but for the messages of a session in the document that `opencode export` prints.
pub(super) fn work_of_messages(workspace: &Workspace, document: &str) -> TranscribedWork {
    let mut reader = reader(workspace, Format::Auto);
    reader.push(document.as_bytes());
    let messages: Value = serde_json::from_str::<Value>(document).unwrap_or_default()["messages"].take();
    let of_user = messages.as_array().into_iter().flatten().find(|message| message["info"]["role"] == "user");
    let mut parts = of_user.and_then(|message| message["parts"].as_array()).into_iter().flatten();
    let text = parts.find_map(|part| part["text"].as_str());
    let title = text.map(|text| first_sentence(text, MAX_TITLE)).filter(|title| !title.is_empty());
    work_in(reader.finish(), title)
}

fn work_in(transcript: Transcript, title: Option<String>) -> TranscribedWork {
    let is_known = matches!(transcript.format, Format::Claude | Format::Codex | Format::Opencode);
    let has_changes = !transcript.files.created.is_empty() || !transcript.files.modified.is_empty();
    if !is_known || !has_changes {
        return TranscribedWork::Nothing;
    }
    let title = title.unwrap_or_else(|| "A session without a report".to_owned());
    let report = if says_anything(&transcript.text) {
        Report { transcript: Some(transcript), ..Report::default() }
    } else {
        // Without a report, nobody knows whether it is done.
        let last = transcript.commands.len().saturating_sub(MAX_COMMANDS);
        let commands = transcript.commands[last..].join("; ");
        let what_tried = if commands.is_empty() { title.clone() } else { format!("{title}\nCommands: {commands}") };
        let sections = Sections { what_tried, ..Sections::default() };
        Report { outcome: Some(Outcome::Partial), sections, transcript: Some(transcript), ..Report::default() }
    };
    TranscribedWork::Changes(title, Box::new(report))
}

/// Returns the first line that a person wrote in a session of Claude Code or Codex.
fn first_prompt(file: &File) -> io::Result<Option<String>> {
    let mut beginning = Vec::new();
    file.take(MAX_BEGINNING).read_to_end(&mut beginning)?;
    let text = decoded(&beginning);
    let mut events = text.lines().filter_map(|line| read_json::<Value>(line.as_bytes()).ok());
    Ok(events.find_map(|event| prompt_in(&event).map(|said| first_sentence(said, MAX_TITLE))))
}

/// Returns what a person asked for in an event of a session of Claude Code or Codex, if it is that.
pub(crate) fn prompt_in(event: &Value) -> Option<&str> {
    fn text(content: &Value) -> Option<&str> {
        content.as_str().or_else(|| content.as_array()?.iter().find_map(|part| part["text"].as_str()))
    }
    // Not what a client or an agent says to an agent.
    fn is_own(event: &Value) -> bool {
        let marks = ["isSidechain", "isMeta", "isSynthetic"];
        marks.iter().all(|mark| event[*mark] != true) && event["parent_tool_use_id"].is_null()
    }
    let payload = &event["payload"];
    let said = match event["type"].as_str()? {
        "user" if is_own(event) => text(&event["message"]["content"]),
        "event_msg" if payload["type"] == "user_message" => text(&payload["message"]),
        "response_item" if payload["role"] == "user" => text(&payload["content"]),
        _ if payload["item"]["type"] == "UserMessage" => text(&payload["item"]["content"]),
        _ => None,
    };
    // What a client puts before a prompt is in an element, or is the project's instructions.
    let said = said?.trim();
    (!said.is_empty() && !["<", "# AGENTS.md", "Caveat:"].iter().any(|own| said.starts_with(own))).then_some(said)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_prompt_is_what_a_person_wrote() {
        let part = |text: &str| json!([{"type": "image"}, {"type": "input_text", "text": text}]);
        let said = |content: Value| json!({"type": "user", "message": {"content": content}});
        let codex = |text: &str| json!({"type": "event_msg", "payload": {"type": "user_message", "message": text}});
        let item = |role: &str| json!({"type": "response_item", "payload": {"role": role, "content": part("Fix it")}});
        let completed =
            json!({"type": "event_msg", "payload": {"item": {"type": "UserMessage", "content": part("Fix it")}}});
        let with = |name: &str| json!({"type": "user", name: true, "message": {"content": "Fix it"}});
        for (event, expected) in [
            (said(" Fix it\n".into()), Some("Fix it")),
            (said(part("Fix it")), Some("Fix it")),
            (codex("Fix it"), Some("Fix it")),
            (item("user"), Some("Fix it")),
            (completed, Some("Fix it")),
            (item("assistant"), None),
            (with("isSidechain"), None),
            (with("isMeta"), None),
            (with("isSynthetic"), None),
            (with("parent_tool_use_id"), None),
            (said("<command-name>/clear".into()), None),
            (said("# AGENTS.md instructions".into()), None),
            (codex("Caveat: what follows"), None),
            (said(" ".into()), None),
            (json!({"type": "assistant", "message": {"content": "Fix it"}}), None),
            (json!({"message": {"content": "Fix it"}}), None),
        ] {
            assert_eq!(prompt_in(&event), expected, "{event}");
        }
    }
}
