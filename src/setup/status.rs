//! What `check` says of the clients: whether each is connected, by which file, and what is doubtful.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use super::client::SetupClient;
use super::draft::{ClientPart, Draft};
use super::hook_line::PROGRAM;
use super::json;
use super::locate::{Base, Bases};
use super::program::runs;
use super::registered::is_off;
use super::table::{ClientFile, Content, PLUGIN_MANIFEST, TOOLS, TOOLS_OF_PLUGIN, claude_hooks, files};
use super::want::{Presence, Want};
use super::{Setup, SetupOptions, SetupScope};
use crate::entry::path::MEMORY_FOLDER;
use crate::error::{Problem, Severity};
use crate::text::printed_command;

/// What Claude Code's settings say that set-up has to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClaudeSettings {
    /// The plugin of a marketplace that is this program.
    pub(super) enabled_plugin: Option<String>,
    /// The settings that have the hooks, the user's first.
    pub(super) with_hooks: Vec<(Base, PathBuf)>,
    /// The settings that switch off all hooks.
    pub(super) hooks_disabled: Option<PathBuf>,
    /// The settings that reject the project's server.
    pub(super) server_disabled: Option<PathBuf>,
    /// Whether the tools may be called without a question.
    pub(super) allows_tools: bool,
}

impl ClaudeSettings {
    pub(super) fn read(bases: &Bases) -> ClaudeSettings {
        let places = [
            (Base::ClaudeHome, "settings.json"),
            (Base::Project, ".claude/settings.json"),
            (Base::Project, ".claude/settings.local.json"),
        ];
        let mut found = ClaudeSettings::default();
        for (base, path) in places {
            let Ok(location) = bases.locate(base, path) else { continue };
            let mut draft = Draft::default();
            let Ok(file) = draft.file(&location, location.full()) else { continue };
            let text = file.original.as_deref().unwrap_or_default().trim_start_matches('\u{feff}');
            let Ok(settings) = serde_json::from_str::<Value>(text) else { continue };
            // A project may name any plugin so.
            let plugins = settings["enabledPlugins"].as_object().filter(|_| base == Base::ClaudeHome);
            let is_own =
                |(name, on): &(&String, &Value)| name.starts_with("ralph-memory@") && **on == Value::Bool(true);
            let own = plugins.into_iter().flatten().find(is_own).map(|(name, _)| name.clone());
            found.enabled_plugin = found.enabled_plugin.or(own);
            let shown = bases.shown(base, path);
            if settings["disableAllHooks"].as_bool() == Some(true) {
                found.hooks_disabled.get_or_insert_with(|| shown.clone());
            }
            let mut rejected = settings["disabledMcpjsonServers"].as_array().into_iter().flatten();
            if rejected.any(|server| server.as_str() == Some(PROGRAM)) {
                found.server_disabled.get_or_insert_with(|| shown.clone());
            }
            let mut allowed = settings["permissions"]["allow"].as_array().into_iter().flatten();
            found.allows_tools |= allowed.any(|tool| [TOOLS, TOOLS_OF_PLUGIN].map(Some).contains(&tool.as_str()));
            let scope = if base == Base::Project { SetupScope::Project } else { SetupScope::User };
            let is_there = |want: &Want| matches!(json::presence(text, false, want), Ok(Presence::Present(_)));
            if claude_hooks(scope).iter().any(is_there) {
                found.with_hooks.push((base, shown));
            }
        }
        found
    }
}

impl Setup {
    /// Returns a finding for each client that is connected or found here.
    ///
    /// ```
    /// use ralph_memory::memory::StateFolders;
    /// use ralph_memory::setup::Setup;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (project, program) = (folder.path(), folder.path().join("ralph-memory"));
    /// let setup = Setup::new(project, &program, StateFolders::default(), &|_| None);
    /// std::fs::create_dir(project.join(".cursor"))?;
    /// assert_eq!(setup.findings()[0].message, "Cursor: not connected");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn findings(&self) -> Vec<Problem> {
        let scopes = [SetupScope::Project, SetupScope::User];
        let found: BTreeSet<SetupClient> = scopes.into_iter().flat_map(|scope| self.found(scope)).collect();
        let findings = SetupClient::ALL.into_iter().filter(|client| *client != SetupClient::AgentsMd);
        findings.filter_map(|client| self.finding(client, found.contains(&client))).collect()
    }

    fn finding(&self, client: SetupClient, is_found: bool) -> Option<Problem> {
        let scopes = [SetupScope::Project, SetupScope::User];
        let tables = scopes.map(|scope| files(client, scope, PROGRAM, SetupOptions::default()));
        let servers: Vec<&ClientFile> = tables.iter().flatten().filter(|file| self.has_server(file)).collect();
        let title = client.title();
        for scope in scopes {
            if let Some(danger) = self.dangers(client, scope).first() {
                let state = if scope == SetupScope::Project { Severity::Error } else { Severity::Warning };
                let values = [("CLIENT", client.as_str()), ("SCOPE", scope.as_str())];
                let check = printed_command("ralph-memory setup CLIENT --scope SCOPE --check", &values);
                let hint = format!("{check} says what to do");
                return Some(finding(state, danger.to_string(), Some(hint)));
            }
        }
        let settings =
            if client == SetupClient::Claude { ClaudeSettings::read(&self.bases) } else { ClaudeSettings::default() };
        if servers.is_empty() && settings.enabled_plugin.is_none() {
            let detail = format!("{title}: not connected");
            let connect = printed_command("ralph-memory setup CLIENT", &[("CLIENT", client.as_str())]);
            let hint = format!("{connect} connects it");
            return is_found.then(|| finding(Severity::Notice, detail, Some(hint)));
        }
        let mut paths: Vec<String> = servers.iter().map(|file| self.shown(file)).collect();
        paths.extend(settings.enabled_plugin.iter().map(|plugin| format!("plugin {plugin}")));
        let detail = format!("{title}: connected by {}", paths.join(", "));
        let again = printed_command("ralph-memory setup CLIENT --remove", &[("CLIENT", client.as_str())]);
        let gone =
            servers.iter().flat_map(|file| self.programs(file)).find(|program| !runs(program, self.path.as_deref()));
        if let Some(program) = gone {
            let hint = format!("{again}, then set it up again; or install `ralph-memory` in a folder of `PATH`");
            let detail = format!("{detail}; it runs `{program}`, which is not found");
            return Some(finding(Severity::Warning, detail, Some(hint)));
        }
        let has_plugin = self.bases.exists(Base::ClaudeHome, PLUGIN_MANIFEST) || settings.enabled_plugin.is_some();
        if has_plugin && !settings.with_hooks.is_empty() && client == SetupClient::Claude {
            let detail = format!("{detail}; both the plugin and the settings have the hooks, which run twice");
            return Some(finding(Severity::Warning, detail, Some(format!("{again}, or remove the plugin"))));
        }
        if let Some(off) =
            tables.iter().flatten().find(|file| self.text(file).is_some_and(|text| is_off(&file.content, &text)))
        {
            let detail = format!("{detail}; the entry in {} is switched off", self.shown(off));
            return Some(finding(Severity::Warning, detail, Some("switch it on in the client".to_owned())));
        }
        let untrusted = || tables.iter().flatten().find_map(|file| self.untrusted_hooks(file));
        if let Some((file, events)) = untrusted().filter(|_| client == SetupClient::Codex) {
            let file = self.bases.relative(&file).display();
            let detail = format!("{detail}; nobody has trusted the hooks in {file} ({events}), so it skips them");
            let hint = "start Codex in this folder, trust the folder, then run `/hooks` and trust the hooks";
            return Some(finding(Severity::Warning, detail, Some(hint.to_owned())));
        }
        if settings.server_disabled.is_some() {
            let detail = format!("{detail}; `disabledMcpjsonServers` names the server, so it is not used");
            return Some(finding(Severity::Warning, detail, Some("remove it from the settings".to_owned())));
        }
        if settings.hooks_disabled.is_some() {
            let detail = format!("{detail}; `disableAllHooks` is set, so sessions begin without the memory");
            return Some(finding(Severity::Warning, detail, Some("remove it from the settings".to_owned())));
        }
        Some(finding(Severity::Notice, detail, None))
    }

    fn shown(&self, file: &ClientFile) -> String {
        let shown = self.bases.shown(file.base, self.chosen(file));
        self.bases.relative(&shown).display().to_string()
    }

    /// Returns the programs that the entries in a file run.
    fn programs(&self, file: &ClientFile) -> BTreeSet<String> {
        let Ok(location) = self.bases.locate(file.base, self.chosen(file)) else { return BTreeSet::new() };
        let mut draft = Draft::default();
        let is_server = matches!(file.content, Content::Json { .. } | Content::Toml { .. } | Content::Yaml { .. });
        let (shown, client) = (location.full(), SetupClient::AgentsMd);
        let part = ClientPart { location: &location, shown, client, content: &file.content };
        if !is_server || draft.add(part).is_err() {
            return BTreeSet::new();
        }
        draft.files.remove(&location).map(|file| file.programs).unwrap_or_default()
    }
}

fn finding(state: Severity, detail: String, hint: Option<String>) -> Problem {
    Problem::new(state, MEMORY_FOLDER, "client", detail, hint.unwrap_or_default())
}
