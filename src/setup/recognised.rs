//! Recognises setup's own entries in clients' files: servers, handlers of hooks, and permissions.
//!
//! An entry is setup's if what it runs is exactly what setup writes: the name alone says nothing, since anybody can
//! write it into a file of a project. This file knows nothing about clients.

use std::collections::BTreeSet;

use super::config_value::ConfigValue;
use super::hook_line::OwnCommand;
use super::want::{Presence, Want};

/// How much of an entry must be as setup writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recognition {
    /// Everything that decides what runs. When it runs, and for how long, may be a person's choice.
    Runs,
    /// Everything.
    Exact,
}

/// Returns whether a value in a file is this one, in any order of keys. Puts the program that it runs into `program`.
fn matches(
    found: &ConfigValue,
    wanted: &ConfigValue,
    command: Option<&OwnCommand>,
    how: Recognition,
    program: &mut Option<String>,
) -> bool {
    match (found, wanted, command) {
        (ConfigValue::Text(text), ConfigValue::Text(wanted), Some(command)) if *wanted == command.text() => {
            let own = command.program_in(text);
            let is_own = own.is_some();
            *program = own.or_else(|| program.take());
            is_own
        }
        (ConfigValue::List(items), ConfigValue::List(wanted), _) => {
            let mut pairs = items.iter().zip(wanted);
            items.len() == wanted.len() && pairs.all(|(item, wanted)| matches(item, wanted, command, how, program))
        }
        (ConfigValue::Map(members), ConfigValue::Map(wanted), _) => {
            let is_users = command.is_some_and(|command| command.is_users);
            let counts =
                |(key, value): &&(String, ConfigValue)| how == Recognition::Exact || !is_free(key, value, is_users);
            let names: BTreeSet<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
            let mut needed = wanted.iter().filter(counts);
            let is_right = |(key, wanted): &(String, ConfigValue)| {
                // Goose's name of the server is that of the program, too.
                let command = command.filter(|_| key != "name");
                found.members(key).next().is_some_and(|value| matches(value, wanted, command, how, program))
            };
            let has_no_other = members.iter().filter(counts).count() == needed.clone().count();
            has_no_other && names.len() == members.len() && needed.all(is_right)
        }
        _ => found == wanted,
    }
}

/// Returns whether a member does not affect what runs: a switch, a limit, the occasion, the usual kind of server, where
/// it came from, or nothing at all. In the user's own files, so may what the server can do without asking. Clients
/// write such members themselves.
fn is_free(key: &str, value: &ConfigValue, is_users: bool) -> bool {
    match (key, value) {
        ("enabled" | "disabled" | "required" | "gallery", ConfigValue::Flag(_))
        | ("timeout" | "timeoutSec" | "startup_timeout_sec" | "tool_timeout_sec", ConfigValue::Number(_))
        | ("enabled_tools" | "disabled_tools" | "disabledTools", ConfigValue::List(_))
        | ("matcher" | "gallery" | "version" | "description", ConfigValue::Text(_)) => true,
        ("autoApprove" | "alwaysAllow" | "trust", _) if is_users => true,
        ("type", ConfigValue::Text(kind)) => ["stdio", "local"].contains(&kind.as_str()),
        (_, value) => value.is_empty(),
    }
}

/// Returns what a value is that stands where setup's would.
pub(super) fn presence_of(found: &ConfigValue, want: &Want, how: Recognition) -> Presence {
    let mut program = None;
    let is_own = matches(found, &want.value, want.command.as_ref(), how, &mut program);
    if is_own { Presence::Present(program) } else { Presence::Taken }
}

/// Returns whether a value is setup's.
pub(super) fn is_own(found: &ConfigValue, want: &Want, how: Recognition) -> bool {
    presence_of(found, want, how) != Presence::Taken
}

/// Returns whether an element is one handler of the group that setup writes.
pub(super) fn is_own_handler(handler: &ConfigValue, want: &Want) -> bool {
    is_own(&ConfigValue::map([("hooks", ConfigValue::List(vec![handler.clone()]))]), want, Recognition::Runs)
}

/// Returns the values that stand in the place of a want: the one under its key, or the elements of its list.
///
/// # Errors
///
/// What stands where an object or a list should be, and which key occurs twice.
fn candidates<'t>(tree: &'t ConfigValue, want: &Want) -> Result<Vec<&'t ConfigValue>, String> {
    let mut found = tree;
    for (position, key) in want.keys().into_iter().enumerate() {
        if *found == ConfigValue::Null {
            return Ok(Vec::new());
        }
        if !matches!(found, ConfigValue::Map(_)) {
            return Err(not_a(&want.path[..position], "an object"));
        }
        let mut members = found.members(key);
        let Some(member) = members.next() else { return Ok(Vec::new()) };
        if members.next().is_some() {
            return Err(format!("the key `{key}` occurs twice"));
        }
        found = member;
    }
    match (found, want.key) {
        (_, Some(_)) => Ok(vec![found]),
        (ConfigValue::List(items), None) => Ok(items.iter().collect()),
        (ConfigValue::Null, None) => Ok(Vec::new()),
        (_, None) => Err(not_a(&want.path, "a list")),
    }
}

/// Says that a value is of another kind.
pub(super) fn not_a(path: &[&str], kind: &str) -> String {
    format!("`{}` is not {kind}", path.join("."))
}

/// Returns what a file has in the place of a want.
///
/// # Errors
///
/// What stands where an object or a list should be, and which key occurs twice.
pub(super) fn presence(tree: &ConfigValue, want: &Want, how: Recognition) -> Result<Presence, String> {
    let found = candidates(tree, want)?;
    let mut all = found.iter().map(|value| presence_of(value, want, how));
    Ok(match want.key {
        _ if found.is_empty() => Presence::Missing,
        Some(_) if want.is_any() => Presence::Present(None),
        Some(_) => all.next().unwrap_or(Presence::Missing),
        None => all.find(|presence| *presence != Presence::Taken).unwrap_or(Presence::Missing),
    })
}

/// Returns whether a want is there, and the client does not use it.
pub(super) fn is_off(tree: &ConfigValue, want: &Want) -> bool {
    let says =
        |entry: &ConfigValue, key: &str, flag: bool| entry.members(key).any(|value| *value == ConfigValue::Flag(flag));
    candidates(tree, want).unwrap_or_default().into_iter().any(|entry| {
        (want.key.is_some() || is_own(entry, want, Recognition::Runs))
            && (says(entry, "enabled", false) || says(entry, "disabled", true))
    })
}

/// Returns a file without the entry under a want's key, and without objects that this leaves empty, for a comparison.
pub(super) fn others(tree: &ConfigValue, want: &Want) -> ConfigValue {
    fn prune(value: &ConfigValue, keys: &[&str]) -> ConfigValue {
        let (ConfigValue::Map(members), [first, rest @ ..]) = (value, keys) else { return value.clone() };
        let pruned = members.iter().filter_map(|(key, value)| match key == first {
            true if rest.is_empty() => None,
            true => Some((key.clone(), prune(value, rest))).filter(|(_, value)| !value.is_empty()),
            false => Some((key.clone(), value.clone())),
        });
        ConfigValue::Map(pruned.collect())
    }
    match prune(tree, &want.keys()) {
        ConfigValue::Null => ConfigValue::Map(Vec::new()),
        pruned => pruned,
    }
}
