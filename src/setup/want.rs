//! What a file should contain, and what it has in that place.

use super::config_value::ConfigValue;
use super::hook_line::OwnCommand;
use crate::sessions::HookEvent;

/// Something that a file should contain: a server or a hook, which run a command; a text in a list; or, without a
/// command, any value under the key. The last does not make a file connected, and is only removed with the file.
#[derive(Debug, Clone)]
pub(super) struct Want {
    /// The keys that lead to the object or list that gets it.
    pub(super) path: Vec<&'static str>,
    /// Its key; `None` for an element of a list.
    pub(super) key: Option<&'static str>,
    /// The text of the command stands in it as it is written.
    pub(super) value: ConfigValue,
    pub(super) command: Option<OwnCommand>,
}

impl Want {
    /// Returns the keys that lead to it, its own included.
    pub(super) fn keys(&self) -> Vec<&'static str> {
        self.path.iter().chain(&self.key).copied().collect()
    }

    /// Returns whether it is a server under this program's name.
    pub(super) fn is_server(&self) -> bool {
        self.command.is_some() && self.event().is_none()
    }

    /// Returns the event of a hook.
    pub(super) fn event(&self) -> Option<HookEvent> {
        self.command.as_ref()?.hook.map(|(event, _)| event)
    }

    /// Returns whether it only accompanies what connects the client: the version of a file, or its schema.
    pub(super) fn is_any(&self) -> bool {
        self.command.is_none() && self.key.is_some()
    }

    /// Returns what a file without it lacks, in words; `None` if that says nothing to a person.
    pub(super) fn described(&self) -> Option<String> {
        match self.event() {
            // A client may have two events for it.
            Some(HookEvent::Tool) => Some(format!("the hook `tool` at `{}`", self.path.last()?)),
            Some(event) => Some(format!("the hook `{}`", event.as_str())),
            None if self.is_server() => Some("the server".to_owned()),
            None => (!self.is_any()).then(|| "the permission".to_owned()),
        }
    }
}

/// What a file has in the place of a [`Want`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Presence {
    Missing,
    /// It is there, and runs this program, if it runs one.
    Present(Option<String>),
    /// The place is taken by something else.
    Taken,
}
