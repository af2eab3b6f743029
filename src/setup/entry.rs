//! Entries among those of others, and how a file compares with them.
//!
//! An entry is setup's if what it runs is exactly what setup writes: the name alone says nothing, since anybody can write
//! it into a file of a project. This file knows nothing about clients.

use serde_json::{Value, json};

use super::hook_line::OwnCommand;
use crate::sessions::HookEvent;

/// A server or a hook, which run a command; a text in a list; or, without a command, any value under the key. The last
/// does not make a file connected, and is only removed with the file.
#[derive(Debug, Clone)]
pub(super) struct ConfigEntry {
    /// The keys that lead to the object or list that gets it.
    pub(super) path: Vec<&'static str>,
    /// Its key; `None` for an element of a list.
    pub(super) key: Option<&'static str>,
    /// The text of the command stands in it as it is written.
    pub(super) value: Value,
    pub(super) command: Option<OwnCommand>,
}

/// What a file has in the place of something that it should contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WantState {
    /// What setup writes.
    Unchanged,
    /// Nothing: setup adds it.
    Added,
    /// What setup writes, as a person, a client or another version has changed it.
    Changed,
    /// Something else: setup neither replaces nor removes it.
    Taken,
    /// The file cannot be parsed, or has a key twice.
    Broken(String),
}

/// A comparison, with what else the file says of the want.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) state: WantState,
    /// The program that it runs.
    pub(super) program: Option<String>,
    /// Whether a client does not use it.
    pub(super) is_off: bool,
}

impl Compared {
    pub(super) fn new(state: WantState) -> Compared {
        Compared { state, program: None, is_off: false }
    }

    /// Returns whether it is there, whoever changed it.
    pub(super) fn is_there(&self) -> bool {
        matches!(self.state, WantState::Unchanged | WantState::Changed)
    }
}

impl ConfigEntry {
    /// Returns the keys that lead to it, its own included.
    pub(super) fn keys(&self) -> Vec<&'static str> {
        self.path.iter().chain(&self.key).copied().collect()
    }

    pub(super) fn is_any(&self) -> bool {
        self.command.is_none() && self.key.is_some()
    }

    pub(super) fn described(&self) -> String {
        match self.command.as_ref().map(|command| command.hook) {
            // A client may have two events for it.
            Some(Some((HookEvent::Tool, _))) => {
                format!("the hook `tool` at `{}`", self.path.last().copied().unwrap_or_default())
            }
            Some(Some((event, _))) => format!("the hook `{}`", event.as_str()),
            Some(None) => "the server".to_owned(),
            None if self.is_any() => String::new(),
            None => "the permission".to_owned(),
        }
    }

    /// Compares it with what a file contains.
    pub(super) fn compare(&self, tree: &Value) -> Compared {
        let found = match self.candidates(tree) {
            Ok(found) => found,
            Err(reason) => return Compared::new(WantState::Broken(reason)),
        };
        let one_of = |is_exact: bool| {
            found.iter().find_map(|value| {
                let mut program = None;
                self.matches(value, is_exact, &mut program).then_some((*value, program))
            })
        };
        let says = |value: &Value, key: &str, flag: bool| value.get(key) == Some(&Value::Bool(flag));
        let there = |state, (value, program): (&Value, _)| {
            let is_off = says(value, "enabled", false) || says(value, "disabled", true);
            Compared { state, program, is_off }
        };
        match (one_of(true), one_of(false), self.key) {
            (Some(found), ..) => there(WantState::Unchanged, found),
            (_, Some(found), _) => there(WantState::Changed, found),
            (.., Some(_)) if !found.is_empty() && self.is_any() => Compared::new(WantState::Unchanged),
            (.., Some(_)) if !found.is_empty() => Compared::new(WantState::Taken),
            _ => Compared::new(WantState::Added),
        }
    }

    /// Returns whether a value is exactly what setup writes.
    pub(super) fn is_own(&self, found: &Value) -> bool {
        self.matches(found, true, &mut None)
    }

    /// Returns whether a value runs what setup writes, or is exactly that. Puts the program into `program`.
    fn matches(&self, found: &Value, is_exact: bool, program: &mut Option<String>) -> bool {
        let command = self.command.as_ref();
        let is_one_of = |handlers: &Vec<Value>, program: &mut Option<String>| {
            let mut groups = handlers.iter().map(|handler| json!({"hooks": [handler]}));
            groups.any(|group| matches(&group, &self.value, command, false, program))
        };
        matches(found, &self.value, command, is_exact, program)
            // A person has added a handler to the group.
            || !is_exact && found["hooks"].as_array().is_some_and(|handlers| is_one_of(handlers, program))
    }

    /// Returns the values that stand in its place: the one under its key, or the elements of its list.
    fn candidates<'t>(&self, tree: &'t Value) -> Result<Vec<&'t Value>, String> {
        let mut found = tree;
        for (position, key) in self.keys().into_iter().enumerate() {
            if found.is_null() {
                return Ok(Vec::new());
            }
            let Value::Object(members) = found else { return Err(not_a(&self.path[..position], "an object")) };
            let Some(member) = members.get(key) else { return Ok(Vec::new()) };
            found = member;
        }
        match (found, self.key) {
            (_, Some(_)) => Ok(vec![found]),
            (Value::Array(items), None) => Ok(items.iter().collect()),
            (Value::Null, None) => Ok(Vec::new()),
            (_, None) => Err(not_a(&self.path, "a list")),
        }
    }
}

/// Says that a value is of another kind.
pub(super) fn not_a(path: &[&str], kind: &str) -> String {
    format!("`{}` is not {kind}", path.join("."))
}

/// Returns whether a value in a file is this one, in any order of keys: exactly, or in everything that decides what runs.
fn matches(
    found: &Value,
    wanted: &Value,
    command: Option<&OwnCommand>,
    is_exact: bool,
    program: &mut Option<String>,
) -> bool {
    match (found, wanted, command) {
        (Value::String(text), Value::String(wanted), Some(command)) if *wanted == command.text() => {
            let own = command.program_in(text);
            let is_own = own.is_some();
            *program = own.or_else(|| program.take());
            is_own
        }
        (Value::Array(items), Value::Array(wanted), _) => {
            let mut pairs = items.iter().zip(wanted);
            items.len() == wanted.len() && pairs.all(|(item, wanted)| matches(item, wanted, command, is_exact, program))
        }
        (Value::Object(members), Value::Object(wanted), _) => {
            let is_users = command.is_some_and(|command| command.is_users);
            let counts = |(key, value): &(&String, &Value)| is_exact || !is_free(key, value, is_users);
            let needed: Vec<_> = wanted.iter().filter(counts).collect();
            members.iter().filter(counts).count() == needed.len()
                && needed.into_iter().all(|(key, wanted)| {
                    members.get(key).is_some_and(|value| matches(value, wanted, command, is_exact, program))
                })
        }
        _ => found == wanted,
    }
}

/// Returns whether a member does not affect what runs: a switch, a limit, the occasion, the usual kind of server, where
/// it came from, or nothing at all. In the user's own files, so may what the server can do without asking. Clients
/// write such members themselves.
fn is_free(key: &str, value: &Value, is_users: bool) -> bool {
    match (key, value) {
        ("enabled" | "disabled" | "required" | "gallery", Value::Bool(_))
        | ("timeout" | "timeoutSec" | "startup_timeout_sec" | "tool_timeout_sec", Value::Number(_))
        | ("enabled_tools" | "disabled_tools" | "disabledTools", Value::Array(_))
        | ("matcher" | "gallery" | "version" | "description", Value::String(_))
        | (_, Value::Null) => true,
        ("autoApprove" | "alwaysAllow" | "trust", _) if is_users => true,
        ("type", Value::String(kind)) => ["stdio", "local"].contains(&kind.as_str()),
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(members)) => members.is_empty(),
        _ => false,
    }
}
