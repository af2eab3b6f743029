//! The formats of files with entries. The text is parsed only to locate its values and never written from the parsed
//! values, so everything else in the file keeps its bytes. The parser then checks the result.

use serde_json::Value;

use super::entry::{ConfigEntry, WantState};
use super::lines::split_mark;
use super::{json, toml_config};

/// The format of a file with entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigFormat {
    Json,
    /// JSON in which the client allows comments.
    Jsonc,
    Toml,
}

impl ConfigFormat {
    /// Parses a file; an empty one is `null`.
    ///
    /// # Errors
    ///
    /// Why it cannot be parsed, or why nobody can say what the entry is in it.
    pub(super) fn tree(self, text: &str, entry: &ConfigEntry) -> Result<Value, String> {
        let (_, text) = split_mark(text);
        match self {
            ConfigFormat::Json | ConfigFormat::Jsonc => json::tree(text, self == ConfigFormat::Jsonc, entry),
            ConfigFormat::Toml => toml_config::tree(text),
        }
    }

    /// Adds an entry that is missing to a text without a byte order mark.
    ///
    /// # Errors
    ///
    /// Those of [`ConfigFormat::tree`], and how the file must be changed where its form takes no further entry.
    pub(super) fn with(self, text: &str, entry: &ConfigEntry) -> Result<String, String> {
        let made = match self {
            ConfigFormat::Json | ConfigFormat::Jsonc => json::with(text, self == ConfigFormat::Jsonc, entry)?,
            ConfigFormat::Toml => toml_config::with(text, entry),
        };
        let key = entry.path.join(".");
        match self.tree(&made, entry) {
            Ok(tree) if entry.compare(&tree).state == WantState::Unchanged => Ok(made),
            _ if self == ConfigFormat::Toml => {
                Err(format!("`{key}` is written on one line; write it as a table, `[{key}.NAME]`"))
            }
            _ => Err(format!("`{key}` does not take another entry")),
        }
    }

    /// Returns whether an entry that is there can be taken out: in TOML, it is on lines of its own.
    pub(super) fn can_remove(self, text: &str, entry: &ConfigEntry) -> bool {
        self != ConfigFormat::Toml || toml_config::without(split_mark(text).1, entry).is_some()
    }

    /// Takes an entry that is as setup writes it out of a text without a byte order mark, and with it the objects and
    /// lists that held nothing else.
    ///
    /// # Errors
    ///
    /// Those of [`ConfigFormat::tree`].
    pub(super) fn without(self, text: &str, entry: &ConfigEntry) -> Result<String, String> {
        match self {
            ConfigFormat::Json | ConfigFormat::Jsonc => json::without(text, self == ConfigFormat::Jsonc, entry),
            ConfigFormat::Toml => Ok(toml_config::without(text, entry).unwrap_or_else(|| text.to_owned())),
        }
    }
}
