//! Recognises set-up's own entries in files of JSON: servers, handlers of hooks, and permissions.
//!
//! Whether something connects a client is asked generously: a person may have written it, in a form of their own. Whether
//! set-up may take it out is asked strictly. This file knows nothing about clients.

use jsonc_parser::ast::Value;

use super::config_value::ConfigValue;
use super::hook_line::{is_own_line, is_own_program, program_of};
use super::want::{Mark, Presence, Want};
use crate::hook::HookEvent;

/// What set-up takes for its own when it takes something out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recognition {
    /// The entry that it has inserted by its record, also if somebody has changed that since.
    Inserted,
    /// Exactly the value that it writes: there is no record, so a person may have written anything else.
    Exact,
}

/// Returns whether a value in a file is this one, in whatever layout and order of keys.
pub(super) fn equals(value: &Value<'_>, wanted: &ConfigValue) -> bool {
    match (value, wanted) {
        (Value::StringLit(text), ConfigValue::Text(wanted)) => text.value == *wanted,
        (Value::NumberLit(number), ConfigValue::Number(wanted)) => number.value == wanted.to_string(),
        (Value::BooleanLit(flag), ConfigValue::Flag(wanted)) => flag.value == *wanted,
        (Value::Array(list), ConfigValue::List(wanted)) => {
            list.elements.len() == wanted.len()
                && list.elements.iter().zip(wanted).all(|(value, wanted)| equals(value, wanted))
        }
        (Value::Object(object), ConfigValue::Map(wanted)) => {
            let has = |(key, wanted): &(&str, ConfigValue)| {
                object.get(key).is_some_and(|property| equals(&property.value, wanted))
            };
            object.properties.len() == wanted.len() && wanted.iter().all(has)
        }
        _ => false,
    }
}

fn text_of<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    value.as_string_lit().map(|text| text.value.as_ref())
}

/// Returns the program of a server's entry, if it is this one.
pub(super) fn server_program(value: &Value<'_>) -> Option<String> {
    let Value::Object(object) = value else { return None };
    let command = &object.get("command")?.value;
    let program = match command {
        Value::Array(list) => text_of(list.elements.first()?)?,
        value => text_of(value)?,
    };
    is_own_program(program).then(|| program.to_owned())
}

/// Returns whether an entry says that the client does not use it.
pub(super) fn is_switched_off(entry: &Value<'_>) -> bool {
    let Value::Object(object) = entry else { return false };
    let says = |key: &str, flag: bool| {
        object
            .get(key)
            .is_some_and(|property| matches!(&property.value, Value::BooleanLit(found) if found.value == flag))
    };
    says("enabled", false) || says("disabled", true)
}

/// Returns what an element of a list is: set-up's, alone or in a group, or missing.
pub(super) fn element_presence(element: &Value<'_>, want: &Want) -> Presence {
    match (&want.mark, &want.value) {
        (Mark::Text, ConfigValue::Text(wanted)) if text_of(element) == Some(wanted) => Presence::Present(None),
        (Mark::Hook(event), _) => {
            handler_program(element, *event).map_or(Presence::Missing, |program| Presence::Present(Some(program)))
        }
        _ => Presence::Missing,
    }
}

/// Returns the program of the first handler for the event, in any of the clients' forms.
fn handler_program(handler: &Value<'_>, event: HookEvent) -> Option<String> {
    let Value::Object(object) = handler else { return None };
    object.properties.iter().find_map(|property| match (property.name.as_str(), &property.value) {
        ("hooks", Value::Array(list)) => list.elements.iter().find_map(|inner| handler_program(inner, event)),
        ("action", action) => handler_program(action, event),
        (_, value) => program_of(text_of(value)?, event),
    })
}

/// Returns whether an element has nothing but what set-up writes, apart from limits and the like.
pub(super) fn is_own_element(element: &Value<'_>, want: &Want) -> bool {
    let Mark::Hook(event) = want.mark else { return equals(element, &want.value) };
    let Value::Object(object) = element else { return false };
    match object.get("hooks").map(|property| &property.value) {
        Some(Value::Array(list)) => {
            !list.elements.is_empty() && list.elements.iter().all(|handler| is_own_element(handler, want))
        }
        _ => object.properties.iter().any(|property| match (property.name.as_str(), &property.value) {
            ("action", action) => is_own_element(action, want),
            (_, value) => text_of(value).is_some_and(|line| is_own_line(line, event)),
        }),
    }
}
