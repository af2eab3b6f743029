//! What a client sends on standard input: one JSON object, possibly with other text around it.
//!
//! Pure. None of it is trusted: a field of another type, or with characters that no path has, counts as missing.

use serde_json::{Map, Value};

use super::dialect::Dialect;
use crate::text::read_json;

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
    /// The messages of the session, as the document that `opencode export` prints.
    pub messages: Option<String>,
    /// The agent's last message.
    pub message: Option<String>,
    pub transcript: Option<String>,
    pub model: Option<String>,
    /// The client's name for the event.
    pub event: Option<String>,
    /// The agent that it is about, if another agent started it.
    pub sub_agent: Option<String>,
    /// Why none of the input could be read.
    pub problem: Option<String>,
    /// The turn that ends with the message.
    pub turn: Option<String>,
}

/// Returns the JSON object of an input. If the input is not an object, returns an empty one and the reason; for an empty input, no
/// reason.
pub(super) fn object(input: &[u8]) -> (Map<String, Value>, Option<String>) {
    if input.trim_ascii().is_empty() {
        return (Map::new(), None);
    }
    match read_json(input) {
        Ok(Value::Object(object)) => (object, None),
        Ok(_) => (Map::new(), Some("the input is not a JSON object, and is ignored".to_owned())),
        Err(error) => (Map::new(), Some(format!("the input is not JSON, and is ignored: {error}"))),
    }
}

impl HookPayload {
    pub(super) fn new(object: &Map<String, Value>, client: &Dialect) -> HookPayload {
        let text = |keys: &[&str]| keys.iter().find_map(|key| first_text(object.get(*key)?));
        // A short field that could be a path or a name.
        let field = |keys: &[&str]| {
            let is_plain = |text: &String| text.len() <= MAX_FIELD && !text.contains(char::is_control);
            text(keys).filter(is_plain)
        };
        HookPayload {
            session: field(client.session),
            folder: field(client.folder),
            source: field(&["source"]),
            prompt: text(&["prompt"]),
            messages: object
                .get("messages")
                .filter(|list| list.is_array())
                .map(|messages| serde_json::json!({ "info": {}, "messages": messages }).to_string()),
            message: text(client.message),
            transcript: field(client.transcript),
            model: field(&["model"]),
            event: field(&["hook_event_name"]),
            sub_agent: text(&["agent_id", "agentId"]),
            problem: None,
            turn: field(&["turn_id", "prompt_id"]),
        }
    }
}

/// Returns a text or the first text of a list, unless it is empty.
fn first_text(value: &Value) -> Option<String> {
    let value = if let Value::Array(list) = value { list.first()? } else { value };
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
