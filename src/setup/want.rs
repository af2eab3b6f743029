//! What a file of JSON should contain, and what it has in that place.

use super::config_value::ConfigValue;
use crate::hook::HookEvent;

/// Something that a file should contain.
#[derive(Debug, Clone)]
pub(super) struct Want {
    /// The keys that lead to the object or list that gets it.
    pub(super) path: Vec<&'static str>,
    /// Its key; `None` for an element of a list.
    pub(super) key: Option<&'static str>,
    pub(super) value: ConfigValue,
    pub(super) mark: Mark,
}

/// How something of set-up's is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    /// A server under this program's name, which runs this program.
    Server,
    /// A handler that runs this program's line for the event.
    Hook(HookEvent),
    /// A text in a list.
    Text,
    /// Any value under the key. It is not enough to call a file wired, and is only removed with the file.
    Any,
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
