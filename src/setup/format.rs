//! Edits clients' files, each in its format: the text is parsed for the places of its values, and is never written from
//! them, so whatever is in the file keeps its bytes. A parser then checks the result.

use super::config_value::ConfigValue;
use super::recognised::{Recognition, others, presence};
use super::want::{Presence, Want};
use super::{json, toml_config, yaml};

pub(super) const BOM: &str = "\u{feff}";

/// The format of a file with entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    /// JSON in which a client lets comments pass.
    Jsonc,
    Toml,
    Yaml,
}

impl Format {
    /// Returns what a file contains.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(super) fn tree(self, text: &str) -> Result<ConfigValue, String> {
        let (_, text) = split_mark(text);
        match self {
            Format::Json | Format::Jsonc => json::tree(text, self == Format::Jsonc),
            Format::Toml => toml_config::tree(text),
            Format::Yaml => yaml::tree(text),
        }
    }

    /// Returns a file, without its byte order mark, with what it lacks.
    ///
    /// # Errors
    ///
    /// Those of [`Format::tree`], and how the file must be changed where its form takes no further entry.
    pub(super) fn with(self, text: &str, want: &Want) -> Result<String, String> {
        let made = match self {
            Format::Json | Format::Jsonc => json::with(text, self == Format::Jsonc, want)?,
            Format::Toml => toml_config::with(text, want),
            Format::Yaml => yaml::with(text, want),
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
            (None, Format::Toml) => Err(format!("`{key}` is written on one line; write it as a table, `[{key}.NAME]`")),
            (None, Format::Yaml) => Err(format!("`{key}` is not written with one server on its own lines")),
            (None, _) => Err("its form does not take another entry".to_owned()),
        }
    }

    /// Returns a file, without its byte order mark, without what is recognised as this want, and without what this leaves
    /// empty; `None` if there is no such thing.
    ///
    /// # Errors
    ///
    /// Those of [`Format::tree`], and that the entry cannot be told from others.
    pub(super) fn without(self, text: &str, want: &Want, how: Recognition) -> Result<Option<String>, String> {
        let edit = match self {
            Format::Json | Format::Jsonc => return json::without(text, self == Format::Jsonc, want, how),
            Format::Toml => toml_config::without,
            Format::Yaml => yaml::without,
        };
        let old = self.tree(text)?;
        if !matches!(presence(&old, want, how)?, Presence::Present(_)) {
            return Ok(None);
        }
        let left = edit(text, want).filter(|left| {
            let is_missing = |tree: &ConfigValue| presence(tree, want, how) == Ok(Presence::Missing);
            self.tree(left).is_ok_and(|tree| is_missing(&tree) && others(&tree, want) == others(&old, want))
        });
        let name = want.path.iter().chain(&want.key).copied().collect::<Vec<_>>().join(".");
        left.map(Some).ok_or_else(|| format!("the entry `{name}` is mixed with others; remove it by hand"))
    }
}

/// Returns the byte order mark of a text, and the rest.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BOM) { BOM.len() } else { 0 })
}

/// Returns the line end that a file uses: that of its first line.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns where a line begins, behind an empty line in front of it. Set-up puts one there.
pub(super) fn with_empty_line(text: &str, start: usize) -> usize {
    let ends = |line_end: &&&str| text[..start].ends_with(&line_end.repeat(2));
    start - ["\r\n", "\n"].iter().find(ends).map_or(0, |line_end| line_end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found() {
        assert_eq!((line_end("a\r\nb\n"), line_end("a\nb\r\n"), line_end("a")), ("\r\n", "\n", "\n"));
        assert_eq!(
            (with_empty_line("a\r\n\r\nb", 5), with_empty_line("a\n\nb", 3), with_empty_line("a\nb", 2)),
            (3, 2, 2)
        );
    }
}
