//! Edits clients' files, each in its format. The text is parsed only to locate its values and never regenerated, so
//! everything else in the file keeps its bytes. A parser then checks the result.

use super::config_value::ConfigValue;
use super::lines::split_mark;
use super::recognised::{Recognition, others, presence};
use super::want::{Presence, Want};
use super::{json, toml_config, yaml};

/// The format of a file with entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigFormat {
    Json,
    /// JSON in which a client lets comments pass.
    Jsonc,
    Toml,
    Yaml,
}

impl ConfigFormat {
    /// Returns what a file contains.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(super) fn tree(self, text: &str) -> Result<ConfigValue, String> {
        let (_, text) = split_mark(text);
        match self {
            ConfigFormat::Json | ConfigFormat::Jsonc => json::tree(text, self == ConfigFormat::Jsonc),
            ConfigFormat::Toml => toml_config::tree(text),
            ConfigFormat::Yaml => yaml::tree(text),
        }
    }

    /// Returns a file, without its byte order mark, with what it lacks.
    ///
    /// # Errors
    ///
    /// Those of [`ConfigFormat::tree`], and how the file must be changed where its form takes no further entry.
    pub(super) fn with(self, text: &str, want: &Want) -> Result<String, String> {
        let made = match self {
            ConfigFormat::Json | ConfigFormat::Jsonc => json::with(text, self == ConfigFormat::Jsonc, want)?,
            ConfigFormat::Toml => toml_config::with(text, want),
            ConfigFormat::Yaml => yaml::with(text, want),
        };
        let is_there =
            |tree: &ConfigValue| matches!(presence(tree, want, Recognition::Exact), Ok(Presence::Present(_)));
        let tree = self.tree(&made).ok().filter(is_there);
        // Nothing else has changed.
        let old = self.tree(text)?;
        let is_right = |tree: &ConfigValue| want.key.is_none() || others(tree, want) == others(&old, want);
        let key = want.path.join(".");
        match (tree.filter(is_right), self) {
            (Some(_), _) => Ok(made),
            (None, ConfigFormat::Toml) => {
                Err(format!("`{key}` is written on one line; write it as a table, `[{key}.NAME]`"))
            }
            (None, ConfigFormat::Yaml) => Err(format!("`{key}` is not written with one server on its own lines")),
            (None, _) => Err("its form does not take another entry".to_owned()),
        }
    }

    /// Returns a file, without its byte order mark, without what is recognised as this want, and without what this leaves
    /// empty; `None` if there is no such thing.
    ///
    /// # Errors
    ///
    /// Those of [`ConfigFormat::tree`], and that the entry cannot be told from others.
    pub(super) fn without(self, text: &str, want: &Want, how: Recognition) -> Result<Option<String>, String> {
        let edit = match self {
            ConfigFormat::Json | ConfigFormat::Jsonc => {
                return json::without(text, self == ConfigFormat::Jsonc, want, how);
            }
            ConfigFormat::Toml => toml_config::without,
            ConfigFormat::Yaml => yaml::without,
        };
        let old = self.tree(text)?;
        if !matches!(presence(&old, want, how)?, Presence::Present(_)) {
            return Ok(None);
        }
        let left = edit(text, want).filter(|left| {
            let is_missing = |tree: &ConfigValue| presence(tree, want, how) == Ok(Presence::Missing);
            self.tree(left).is_ok_and(|tree| is_missing(&tree) && others(&tree, want) == others(&old, want))
        });
        left.map(Some)
            .ok_or_else(|| format!("the entry `{}` is mixed with others; remove it by hand", want.keys().join(".")))
    }
}
