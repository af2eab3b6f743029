//! Whether Codex runs the hooks: it skips those that nobody has trusted and, without a terminal, does not say so.
//!
//! Codex keeps trust in its settings, under the file and the place of each hook in it. Only Codex knows whether the
//! hash there is still that of the hook; the registered lines never change.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use super::Setup;
use super::config_value::ConfigValue;
use super::draft::read;
use super::format::ConfigFormat;
use super::lines::split_mark;
use super::locate::Base;
use super::program::find_in;
use super::table::ClientFile;
use super::want::Want;

impl Setup {
    /// Returns a file of Codex's with the names of the events whose hook in it nobody has trusted, if there is one. On a
    /// machine without Codex, such as one that checks pull requests, nobody can trust them, and nothing is skipped.
    pub(super) fn untrusted_hooks(&self, file: &ClientFile) -> Option<(PathBuf, String)> {
        if !self.bases.exists(Base::CodexHome, "") && find_in(self.path.as_deref(), "codex").is_none() {
            return None;
        }
        let hooks: Value = serde_json::from_str(split_mark(&self.text(file)?).1).ok()?;
        let place = self.bases.locate(file.base, self.chosen(file)).ok()?;
        let shown = self.bases.shown(file.base, self.chosen(file));
        let paths = [&shown, &place.full()];
        let trusted = self.trusted_hooks();
        let is_trusted =
            |place: &str| paths.iter().any(|path| trusted.contains(&format!("{}:{place}", path.display())));
        let untrusted = |want: &Want| {
            let name = *want.path.last()?;
            let line = format!(" hook {} --agent codex ", want.event()?.as_str());
            let runs = |handler: &Value| handler["command"].as_str().is_some_and(|command| command.contains(&line));
            let groups = hooks["hooks"][name].as_array()?.iter().enumerate();
            let mut handlers = groups.flat_map(|(group, value)| {
                let handlers = value["hooks"].as_array().into_iter().flatten().enumerate();
                handlers.map(move |(number, handler)| (format!("{}:{group}:{number}", snake(name)), handler))
            });
            handlers.any(|(place, handler)| runs(handler) && !is_trusted(&place)).then_some(name)
        };
        let events = file.content.wants().iter().filter_map(untrusted).collect::<Vec<_>>().join(", ");
        (!events.is_empty()).then_some((shown, events))
    }

    /// Returns the places of the hooks that a person has trusted.
    fn trusted_hooks(&self) -> BTreeSet<String> {
        let config = read(&self.bases, Base::CodexHome, "config.toml");
        let config = config.and_then(|text| ConfigFormat::Toml.tree(&text).ok()).unwrap_or(ConfigValue::Null);
        let states = config.members("hooks").flat_map(|hooks| hooks.members("state"));
        let places = states.flat_map(|state| if let ConfigValue::Map(places) = state { &places[..] } else { &[] });
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
