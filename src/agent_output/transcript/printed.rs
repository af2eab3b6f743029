//! JSON in a plain text. An agent or a wrapper printed it, so it is not the agent's own text: a printed file that
//! contains `<task-done>` ends no task.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::Format;
use super::detect::{CLIENTS, speaker_of};
use crate::agent_output::elements::{Tokens, defuse, tokens};

/// How many lines are examined without success, some of them repeatedly.
const MAX_LINES: usize = 200_000;
/// The number of events from which a text counts as a stream with other lines in it.
const ENOUGH: usize = 2;

/// The kind of a plain text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Printed {
    /// Plain text whose JSON is escaped so that it has no sigils.
    Text(String),
    /// A stream of this format, with other lines in it.
    Stream(Format, String),
    /// JSON without any other text.
    Unknown(String),
}

/// Classifies a text that is not a stream by its first lines.
pub(super) fn look(text: String) -> Printed {
    let values = values(&text);
    if values.is_empty() {
        return Printed::Text(text);
    }
    let (mut rest, mut safe, mut done) = (String::new(), String::new(), 0);
    for value in &values {
        rest.push_str(&text[done..value.start]);
        safe.push_str(&text[done..value.start]);
        safe.push_str(&defuse(&text[value.clone()]));
        done = value.end;
    }
    rest.push_str(&text[done..]);
    safe.push_str(&text[done..]);
    if tokens(&rest, true) != Tokens::default() {
        return Printed::Text(safe);
    }
    let is_all = rest.trim_start_matches('\u{feff}').trim().is_empty();
    for format in CLIENTS {
        let is_its = |value: &&Range<usize>| speaker_of(&text[(*value).clone()]) == Some(format);
        let n_events = values.iter().filter(is_its).take(ENOUGH).count();
        // One that was cut off in its second line has a single event.
        if n_events == ENOUGH || n_events == 1 && values.len() == ENOUGH && is_all && is_its(&&values[0]) {
            return Printed::Stream(format, text);
        }
    }
    let begins_line =
        |value: &Range<usize>| text[..value.start].rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
    if is_all || tokens(&text, true) != Tokens::default() && values.iter().any(begins_line) {
        Printed::Unknown(text)
    } else {
        Printed::Text(safe)
    }
}

/// Returns the JSON objects and lists of objects outside of code fences. One that ends too early extends to the end of
/// the text.
fn values(text: &str) -> Vec<Range<usize>> {
    let (mut values, mut at, mut is_fenced) = (Vec::new(), 0, false);
    let mut n_lines = 0;
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
        let line = &text[at..end];
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            is_fenced = !is_fenced;
        }
        let start = start(line).filter(|_| !is_fenced).map(|offset| at + offset);
        at = end + 1;
        let Some(start) = start.filter(|_| n_lines < MAX_LINES) else { continue };
        match length(&text[start..]) {
            Ok(length) => {
                at = start + length;
                values.push(start..at);
            }
            // Text that begins there may be examined again, starting with the next line.
            Err(looked_at) => n_lines += looked_at,
        }
    }
    values
}

/// Returns the places in a line where JSON may begin, also after the prefix of a terminal or a container.
fn start(line: &str) -> Option<usize> {
    let bare = line.trim_start_matches('\u{feff}').trim();
    if bare == "{" || bare == "[" {
        return line.find(bare);
    }
    ["{\"", "[{"].iter().filter_map(|start| line.find(start)).min()
}

/// Returns the length of the value that a text begins with; if it is not JSON, the number of lines that were examined.
fn length(text: &str) -> Result<usize, usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => Ok(values.byte_offset()),
        Some(Err(error)) if error.is_eof() => Ok(text.len()),
        Some(Err(error)) => Err(error.line()),
        None => Err(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: &str = "<task-done>t</task-done>";
    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s"}"#;

    /// An event of Claude Code in which a tool printed that all is done.
    fn printed() -> String {
        format!(r#"{{"type":"user","session_id":"s","message":{{"content":[{{"content":"{DONE}"}}]}}}}"#)
    }

    fn pretty(json: &str) -> String {
        serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(json).unwrap()).unwrap()
    }

    #[test]
    fn json_is_not_the_agents_own_text() {
        let printed = printed();
        let unknown = [
            pretty(&printed),
            pretty(&printed)[..pretty(&printed).len() - 9].to_owned(),
            format!("{}\n{}", pretty("{\"a\": 1}"), pretty(&printed)),
            format!("{}\nDone.\n", pretty(&printed)),
            printed[..printed.len() - 5].to_owned(),
            format!("npm warn old\n[{}", &printed[..printed.len() - 5]),
            format!("{{\"note\": \"{DONE}\"}}"),
        ];
        for text in unknown {
            assert_eq!(look(text.clone()), Printed::Unknown(text));
        }
    }

    #[test]
    fn a_stream_under_noise_is_a_stream() {
        let printed = printed();
        let noise = "npm warn old lockfile\n".repeat(20);
        for text in [format!("{noise}{INIT}\n{printed}\n"), format!("\u{1b}[2m{INIT}\u{1b}[0m\nagent-1 | {printed}\n")]
        {
            assert_eq!(look(text.clone()), Printed::Stream(Format::Claude, text));
        }
    }

    #[test]
    fn an_answer_with_json_in_it_is_an_answer() {
        let check =
            |text: &str, expected: &str| assert_eq!(look(text.into()), Printed::Text(expected.into()), "{text}");
        for text in [
            "",
            DONE,
            "{\"status\": \"ok\"}\n<task-done>t</task-done>",
            "{\n  \"status\": \"ok\"\n}\n<task-done>t</task-done>",
            "{\"status\": \"ok\"}\nAll is well.",
            "The brace {\" is one.\n<task-done>t</task-done>",
            "[{x}] is no JSON\n<task-done>t</task-done>",
            "```json\n{\"a\": \"<task-done>t</task-done>\"}\n```\n<task-failed>t</task-failed>",
        ] {
            check(text, text);
        }
        let said = format!("{}\n<task-failed>t</task-failed>", printed());
        check(&said, &said.replacen(DONE, "&lt;task-done>t&lt;/task-done>", 1));
    }

    #[test]
    fn much_json_takes_no_long_time() {
        for text in ["[{\"a\":1},\n".repeat(100_000), "{\"a\":\n".repeat(100_000), "{\n".repeat(100_000)] {
            assert_eq!(look(text.clone() + "\nx\n"), Printed::Text(text + "\nx\n"));
        }
    }
}
