//! Whether Codex runs the hooks: it skips those that nobody has trusted, and without a terminal says nothing of it.
//!
//! Codex keeps trust in its settings, under the file and the place of each hook in it. Whether the hash there is still
//! that of the hook, only Codex knows; the registered lines never change.

use std::path::PathBuf;

use serde_json::Value;

use super::config_tree::ConfigTree;
use super::draft::{BOM, Draft};
use super::locate::Base;
use super::table::{ClientFile, Content};
use super::want::{Mark, Want};
use super::{Setup, toml_config};

/// Codex's settings, in its folder.
const CONFIG: &str = "config.toml";

impl Setup {
    /// Returns a file of Codex's with the names of the events whose hook in it nobody has trusted, if there is one.
    pub(super) fn untrusted_hooks(&self, file: &ClientFile) -> Option<(PathBuf, String)> {
        let Content::Json { wants, .. } = &file.content else { return None };
        let hooks: Value = serde_json::from_str(self.text(file)?.trim_start_matches(BOM)).ok()?;
        let location = self.bases.locate(file.base, self.chosen(file)).ok()?;
        let shown = self.bases.shown(file.base, self.chosen(file));
        let paths = [&shown, &location.full()];
        let trusted = self.trusted_hooks();
        let is_trusted =
            |place: &str| paths.iter().any(|path| trusted.contains(&format!("{}:{place}", path.display())));
        let untrusted = |want: &Want| {
            let Mark::Hook(event) = want.mark else { return None };
            let name = *want.path.last()?;
            let line = format!(" hook {} --agent codex ", event.as_str());
            let runs = |handler: &Value| handler["command"].as_str().is_some_and(|command| command.contains(&line));
            let groups = hooks["hooks"][name].as_array()?.iter().enumerate();
            let mut handlers = groups.flat_map(|(group, value)| {
                let handlers = value["hooks"].as_array().into_iter().flatten().enumerate();
                handlers.map(move |(number, handler)| (format!("{}:{group}:{number}", snake(name)), handler))
            });
            handlers.any(|(place, handler)| runs(handler) && !is_trusted(&place)).then_some(name)
        };
        let events = wants.iter().filter_map(untrusted).collect::<Vec<_>>().join(", ");
        (!events.is_empty()).then_some((shown, events))
    }

    /// Returns the places of the hooks that a person has trusted.
    fn trusted_hooks(&self) -> Vec<String> {
        let read = || {
            let location = self.bases.locate(Base::CodexHome, CONFIG).ok()?;
            let text = Draft::default().file(&location, location.full()).ok()?.original.clone()?;
            toml_config::tree(text.trim_start_matches(BOM)).ok()
        };
        let config = read().unwrap_or(ConfigTree::Map(Vec::new()));
        let states = config.members("hooks").flat_map(|hooks| hooks.members("state"));
        let places = states.flat_map(|state| match state {
            ConfigTree::Map(places) => places.as_slice(),
            _ => &[],
        });
        let trusted = places.filter(|(_, state)| state.members("trusted_hash").next().is_some());
        trusted.map(|(place, _)| place.clone()).collect()
    }
}

/// Returns the name of an event as Codex's settings have it: `session_start` for `SessionStart`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
