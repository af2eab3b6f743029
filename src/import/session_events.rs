//! What the events of clients say about the session that they are of: which one, when, and in which folder.

use chrono::{DateTime, Datelike as _, Utc};
use serde_json::Value;

use crate::agent_output::transcript::Format;
use crate::entry::parse_time;

/// A kind of event that names its session.
struct SessionMark {
    format: Format,
    /// Whether it is of a stream that somebody saved, and not of the client's own file.
    is_stream: bool,
    /// The types of the event; empty for any.
    kinds: &'static [&'static str],
    /// Where the session's id is.
    id: &'static str,
    /// A value that such an event has as well. The names of ids alone are too common.
    value: &'static str,
}

/// The kinds of events that name their session. The first one that fits counts.
#[rustfmt::skip]
const MARKS: [SessionMark; 7] = [
    SessionMark { format: Format::Codex, is_stream: false, kinds: &["session_meta"], id: "/payload/id", value: "/payload" },
    SessionMark { format: Format::Claude, is_stream: false, kinds: &[], id: "/sessionId", value: "" },
    SessionMark { format: Format::Claude, is_stream: true, kinds: &["system", "result"], id: "/session_id", value: "/subtype" },
    SessionMark { format: Format::Claude, is_stream: true, kinds: &["assistant", "user"], id: "/session_id", value: "/message/role" },
    SessionMark { format: Format::Codex, is_stream: true, kinds: &["thread.started"], id: "/thread_id", value: "" },
    SessionMark { format: Format::Opencode, is_stream: true, kinds: &[], id: "/sessionID", value: "/part/type" },
    SessionMark { format: Format::Opencode, is_stream: true, kinds: &["error"], id: "/sessionID", value: "/error" },
];

/// The session of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventSession {
    pub(super) format: Format,
    pub(super) is_stream: bool,
    pub(super) id: String,
}

/// Returns the session that an event names.
pub(super) fn session_of(event: &Value) -> Option<EventSession> {
    let kind = event["type"].as_str();
    MARKS.iter().find_map(|mark| {
        let is_kind = mark.kinds.is_empty() || kind.is_some_and(|kind| mark.kinds.contains(&kind));
        let has_value = event.pointer(mark.value).is_some_and(|value| !value.is_null());
        let id = event.pointer(mark.id)?.as_str().filter(|_| is_kind && has_value)?;
        Some(EventSession { format: mark.format, is_stream: mark.is_stream, id: id.to_owned() })
    })
}

/// Returns when an event was: a text, or milliseconds since 1970.
pub(super) fn time_of(event: &Value) -> Option<DateTime<Utc>> {
    time(&event["timestamp"])
}

/// Returns the time that a value has, if calendars have it.
pub(super) fn time(value: &Value) -> Option<DateTime<Utc>> {
    let at = match value {
        Value::String(text) => parse_time(text),
        value => value.as_i64().and_then(DateTime::from_timestamp_millis),
    };
    at.filter(|at| (1..=9_999).contains(&at.year()))
}

/// Returns the folder that an event names as that of its session.
pub(super) fn folder_of(event: &Value) -> Option<&str> {
    event["cwd"].as_str().or_else(|| event["payload"]["cwd"].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_name_their_session() {
        let check = |event: Value, expected: Option<(Format, bool)>| {
            let found = session_of(&event);
            assert_eq!(found.as_ref().map(|found| (found.format, found.is_stream)), expected, "{event}");
            assert!(found.is_none_or(|found| found.id == "s"), "{event}");
        };
        check(json!({"type": "session_meta", "payload": {"id": "s"}}), Some((Format::Codex, false)));
        check(json!({"type": "user", "sessionId": "s"}), Some((Format::Claude, false)));
        check(json!({"type": "system", "subtype": "init", "session_id": "s"}), Some((Format::Claude, true)));
        check(json!({"type": "result", "subtype": "success", "session_id": "s"}), Some((Format::Claude, true)));
        check(
            json!({"type": "assistant", "message": {"role": "assistant"}, "session_id": "s"}),
            Some((Format::Claude, true)),
        );
        check(json!({"type": "thread.started", "thread_id": "s"}), Some((Format::Codex, true)));
        check(json!({"type": "text", "sessionID": "s", "part": {"type": "text"}}), Some((Format::Opencode, true)));
        check(
            json!({"type": "error", "sessionID": "s", "error": {"name": "APIError"}}),
            Some((Format::Opencode, true)),
        );
        // What other programs remember of a session.
        check(json!({"type": "learning", "session_id": "s", "message": "Run the tests."}), None);
        check(json!({"type": "user", "session_id": "s", "message": "Run the tests."}), None);
        check(json!({"type": "system", "subtype": null, "session_id": "s"}), None);
        check(json!({"type": "note", "sessionID": "s", "text": "x"}), None);
        check(json!({"type": "turn.started"}), None);
        check(json!({"sessionId": 7}), None);
        check(json!(["s"]), None);
    }

    #[test]
    fn times_are_those_that_calendars_have() {
        let check = |value: Value, expected: Option<&str>| {
            assert_eq!(time_of(&json!({"timestamp": value})).map(|at| at.to_rfc3339()).as_deref(), expected, "{value}");
        };
        check(json!("2026-11-03T09:00:00.5Z"), Some("2026-11-03T09:00:00.500+00:00"));
        check(json!(1_793_696_400_000_u64), Some("2026-11-03T09:00:00+00:00"));
        check(json!(i64::MAX), None);
        check(json!(253_402_300_800_000_u64), None);
        check(json!("+262142-12-31T23:59:59Z"), None);
        check(json!(null), None);
    }
}
