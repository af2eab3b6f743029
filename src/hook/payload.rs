//! What a client sends on standard input: one JSON object, whatever else came.
//!
//! Pure. Nothing of it is trusted: a field of another type, or with characters that no path has, is as good as missing.

use serde_json::{Map, Value};

use super::dialect::Dialect;

/// The longest id, source or path that is read, in bytes.
const MAX_FIELD: usize = 4_096;

/// The fields of a payload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HookPayload {
    pub session: Option<String>,
    pub folder: Option<String>,
    /// Why the session began.
    pub source: Option<String>,
    pub prompt: Option<String>,
    /// The agent's last message.
    pub message: Option<String>,
    pub transcript: Option<String>,
    pub model: Option<String>,
    /// The client's name for the event.
    pub event: Option<String>,
    /// Whether it is about an agent that another agent started.
    pub is_of_sub_agent: bool,
    /// Whether a hook made the agent go on.
    pub is_continued: bool,
}

/// Returns the object of an input; an empty one if the input is anything else.
pub(super) fn object(input: &[u8]) -> Map<String, Value> {
    match serde_json::from_slice(input) {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

impl HookPayload {
    pub(super) fn new(object: &Map<String, Value>, client: &Dialect) -> HookPayload {
        let text = |keys: &[&str]| keys.iter().find_map(|key| first_text(object.get(*key)?));
        // A short field that a path or a name could be.
        let field = |keys: &[&str]| {
            let is_plain = |text: &String| text.len() <= MAX_FIELD && !text.contains(char::is_control);
            text(keys).filter(is_plain)
        };
        let is_true = |keys: &[&str]| keys.iter().any(|key| object.get(*key) == Some(&Value::Bool(true)));
        HookPayload {
            session: field(client.session),
            folder: field(client.folder),
            source: field(&["source"]),
            prompt: text(&["prompt"]),
            message: text(client.message),
            transcript: field(client.transcript),
            model: field(&["model"]),
            event: field(&["hook_event_name"]),
            is_of_sub_agent: text(&["agent_id", "agentId"]).is_some(),
            is_continued: is_true(&["stop_hook_active", "stopHookActive"]),
        }
    }
}

/// Returns a text, or the first of a list, if it has any characters.
fn first_text(value: &Value) -> Option<String> {
    let value = if let Value::Array(list) = value { list.first()? } else { value };
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
