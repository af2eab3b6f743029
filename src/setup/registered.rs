//! Which file of a client is used, and whether what is exactly set-up's in it connects the client.

use std::path::PathBuf;

use super::draft::{BOM, Draft};
use super::json;
use super::recognised::Recognition;
use super::table::{ClientFile, Content};
use super::want::{Mark, Presence};
use super::{Setup, toml_config, yaml};
use crate::text::own_block;

/// Returns whether a text has a server of this program's, or a hook, of the `wanted` kind.
pub(super) fn has_part(content: &Content, text: &str, wanted: &dyn Fn(&Mark) -> bool) -> bool {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let is_there = |presence| matches!(presence, Ok(Presence::Present(_)));
    match content {
        Content::Json { comments, wants } => wants.iter().any(|want| {
            let is_part = matches!(want.mark, Mark::Server | Mark::Hook(_));
            is_part && wanted(&want.mark) && is_there(json::presence(text, *comments, want))
        }),
        Content::Toml { program } => {
            wanted(&Mark::Server) && is_there(toml_config::presence(text, program, Recognition::Runs))
        }
        Content::Yaml { program } => {
            wanted(&Mark::Server) && is_there(yaml::presence(text, program, Recognition::Runs))
        }
        _ => false,
    }
}

/// Returns whether a text has something of this program's that is switched off.
pub(super) fn is_off(content: &Content, text: &str) -> bool {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    match content {
        Content::Json { comments, wants } => wants.iter().any(|want| json::is_off(text, *comments, want)),
        Content::Toml { .. } => toml_config::is_off(text),
        Content::Yaml { .. } => yaml::is_off(text),
        _ => false,
    }
}

impl Setup {
    /// Returns whether a file registers the server.
    pub(super) fn has_server(&self, file: &ClientFile) -> bool {
        self.text(file).is_some_and(|text| has_part(&file.content, &text, &|mark| *mark == Mark::Server))
    }

    /// Returns whether a file has the server or a hook.
    pub(super) fn has_any_part(&self, file: &ClientFile) -> bool {
        self.text(file).is_some_and(|text| has_part(&file.content, &text, &|_| true))
    }

    /// Returns whether a file has the block of instructions.
    pub(super) fn has_block(&self, file: &ClientFile) -> bool {
        self.text(file).is_some_and(|text| matches!(own_block(&text), Ok(Some(_))))
    }

    /// Returns the text of a file, if it can be read.
    pub(super) fn text(&self, file: &ClientFile) -> Option<String> {
        let location = self.bases.locate(file.base, self.chosen(file)).ok()?;
        Draft::default().file(&location, PathBuf::new()).ok()?.original.clone()
    }

    /// Returns which of a file's paths is used.
    pub(super) fn chosen(&self, file: &ClientFile) -> &'static str {
        file.paths.iter().copied().find(|path| self.bases.exists(file.base, path)).unwrap_or(file.paths[0])
    }
}
