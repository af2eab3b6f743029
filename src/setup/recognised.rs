//! Recognises set-up's own entries in clients' files: servers, handlers of hooks, and permissions.
//!
//! An entry is set-up's if what it runs is exactly what set-up writes: the name alone says nothing, since anybody can
//! write it into a file of a project. This file knows nothing about clients.

use std::collections::BTreeSet;

use super::config_tree::ConfigTree;
use super::config_value::ConfigValue;
use super::want::{Mark, Presence, Want};

/// How much of an entry must be as set-up writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recognition {
    /// All that decides what runs. When it runs, and for how long, may be a person's choice.
    Runs,
    /// Everything.
    Exact,
}

/// Returns whether a value in a file is this one, in whatever order of keys. The program that it runs is put into
/// `program`.
pub(super) fn matches(
    found: &ConfigTree,
    wanted: &ConfigValue,
    how: Recognition,
    program: &mut Option<String>,
) -> bool {
    match (found, wanted) {
        (ConfigTree::Text(text), ConfigValue::Command(command)) => {
            let is_own = command.program_in(text);
            let is_there = is_own.is_some();
            *program = is_own.or_else(|| program.take());
            is_there
        }
        (ConfigTree::List(items), ConfigValue::List(wanted)) => {
            let mut pairs = items.iter().zip(wanted);
            items.len() == wanted.len() && pairs.all(|(item, wanted)| matches(item, wanted, how, program))
        }
        (ConfigTree::Map(members), ConfigValue::Map(wanted)) => {
            let is_users = wanted.iter().any(|(_, value)| value.is_of_user());
            let is_free = |key: &str, value: &ConfigTree| how == Recognition::Runs && is_free(key, value, is_users);
            let there = members.iter().filter(|(key, value)| !is_free(key, value)).count();
            let mut needed =
                wanted.iter().filter(|(key, value)| !scalar(value).is_some_and(|value| is_free(key, &value)));
            let names: BTreeSet<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
            let is_right = |(key, wanted): &(&str, ConfigValue)| {
                found.members(key).next().is_some_and(|value| matches(value, wanted, how, program))
            };
            there == needed.clone().count() && names.len() == members.len() && needed.all(is_right)
        }
        (found, wanted) => scalar(wanted).as_ref() == Some(found),
    }
}

/// Returns whether a member has no say in what runs: a switch, a limit, the occasion, the usual kind of server, where it
/// came from, or nothing at all. In a file of the user's own, what the server may do without a question is one's choice
/// as well. Clients write such members themselves.
fn is_free(key: &str, value: &ConfigTree, is_users: bool) -> bool {
    match (key, value) {
        ("enabled" | "disabled" | "required" | "gallery", ConfigTree::Flag(_))
        | ("timeout" | "timeoutSec" | "startup_timeout_sec" | "tool_timeout_sec", ConfigTree::Number(_))
        | ("enabled_tools" | "disabled_tools" | "disabledTools", ConfigTree::List(_))
        | ("matcher" | "gallery" | "version" | "description", ConfigTree::Text(_)) => true,
        ("autoApprove" | "alwaysAllow" | "trust", _) if is_users => true,
        ("type", ConfigTree::Text(kind)) => ["stdio", "local"].contains(&kind.as_str()),
        (_, value) => value.is_empty(),
    }
}

fn scalar(value: &ConfigValue) -> Option<ConfigTree> {
    match value {
        ConfigValue::Text(text) => Some(ConfigTree::Text(text.clone())),
        ConfigValue::Number(number) => Some(ConfigTree::Number(number.to_string())),
        ConfigValue::Flag(flag) => Some(ConfigTree::Flag(*flag)),
        ConfigValue::Command(_) | ConfigValue::List(_) | ConfigValue::Map(_) => None,
    }
}

/// Returns what a value is that stands where set-up's would.
pub(super) fn presence_of(found: &ConfigTree, wanted: &ConfigValue, how: Recognition) -> Presence {
    let mut program = None;
    if matches(found, wanted, how, &mut program) { Presence::Present(program) } else { Presence::Taken }
}

/// Returns whether an element of a list is set-up's.
pub(super) fn is_own_element(element: &ConfigTree, want: &Want, how: Recognition) -> bool {
    want.key.is_none() && want.mark != Mark::Any && matches(element, &want.value, how, &mut None)
}

/// Returns whether an element is one handler of the group that set-up writes.
pub(super) fn is_own_handler(handler: &ConfigTree, want: &Want) -> bool {
    let group = ConfigTree::Map(vec![("hooks".to_owned(), ConfigTree::List(vec![handler.clone()]))]);
    is_own_element(&group, want, Recognition::Runs)
}

/// Returns whether an entry says that the client does not use it.
pub(super) fn is_switched_off(entry: &ConfigTree) -> bool {
    let says = |key: &str, flag: bool| entry.members(key).any(|value| *value == ConfigTree::Flag(flag));
    says("enabled", false) || says("disabled", true)
}
