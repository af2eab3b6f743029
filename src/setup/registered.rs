//! Which file of a client is used, and whether it registers the server.

use std::path::PathBuf;

use super::draft::Draft;
use super::json::{self, Mark, Presence};
use super::table::{ClientFile, Content};
use super::{Setup, toml_config, yaml};

impl Setup {
    /// Returns whether a file registers the server.
    pub(super) fn has_server(&self, file: &ClientFile) -> bool {
        let Ok(location) = self.bases.locate(file.base, self.chosen(file)) else { return false };
        let mut draft = Draft::default();
        let Ok(found) = draft.file(&location, PathBuf::new()) else { return false };
        let text = found.original.as_deref().unwrap_or_default().trim_start_matches('\u{feff}');
        match &file.content {
            Content::Json { comments, wants } => {
                let server = wants.iter().find(|want| want.mark == Mark::Server);
                server.is_some_and(|want| matches!(json::presence(text, *comments, want), Ok(Presence::Present(_))))
            }
            Content::Toml { .. } => matches!(toml_config::presence(text), Ok(Presence::Present(_))),
            Content::Yaml { .. } => matches!(yaml::presence(text), Ok(Presence::Present(_))),
            _ => false,
        }
    }

    /// Returns which of a file's paths is used.
    pub(super) fn chosen(&self, file: &ClientFile) -> &'static str {
        if matches!(file.content, Content::ClaudeBlock) {
            let own = file.paths[0];
            let text = self.bases.locate(file.base, own).ok().and_then(|place| {
                let mut draft = Draft::default();
                draft.file(&place, PathBuf::new()).ok()?.original.clone()
            });
            // Claude Code reads `AGENTS.md` by itself only if there is no `CLAUDE.md`.
            let imports =
                |text: &String| text.split_whitespace().any(|word| word == "@AGENTS.md" || word == "@./AGENTS.md");
            return if self.bases.exists(file.base, own) && !text.as_ref().is_some_and(imports) {
                own
            } else {
                "AGENTS.md"
            };
        }
        file.paths.iter().copied().find(|path| self.bases.exists(file.base, path)).unwrap_or(file.paths[0])
    }
}
