//! What `check` says about the clients: whether each is connected, by which file, and what is doubtful.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use super::client::SetupClient;
use super::draft::read;
use super::format::ConfigFormat;
use super::hook_line::PROGRAM;
use super::lines::split_mark;
use super::locate::{Base, Bases};
use super::program::runs;
use super::registered::{is_off, programs};
use super::table::{ClientFile, Content, PLUGIN_MANIFEST, TOOLS, TOOLS_OF_PLUGIN, claude_hooks, files};
use super::{Setup, SetupOptions, SetupScope};
use crate::entry::path::MEMORY_FOLDER;
use crate::error::{Problem, Severity};
use crate::text::printed_command;

/// What Claude Code's settings say that setup has to know.
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
            let shown = bases.shown(base, path);
            let Some(text) = read(bases, base, path) else { continue };
            let Ok(settings) = serde_json::from_str::<Value>(split_mark(&text).1) else { continue };
            let texts = |list: &Value| -> Vec<String> { serde_json::from_value(list.clone()).unwrap_or_default() };
            // A project may name any plugin so.
            let plugins = settings["enabledPlugins"].as_object().filter(|_| base == Base::ClaudeHome);
            let is_own =
                |(name, on): &(&String, &Value)| name.starts_with("ralph-memory@") && **on == Value::Bool(true);
            let own = plugins.into_iter().flatten().find(is_own).map(|(name, _)| name.clone());
            found.enabled_plugin = found.enabled_plugin.or(own);
            if settings["disableAllHooks"].as_bool() == Some(true) {
                found.hooks_disabled.get_or_insert_with(|| shown.clone());
            }
            if texts(&settings["disabledMcpjsonServers"]).iter().any(|server| server == PROGRAM) {
                found.server_disabled.get_or_insert_with(|| shown.clone());
            }
            let allowed = texts(&settings["permissions"]["allow"]);
            found.allows_tools |= allowed.iter().any(|tool| [TOOLS, TOOLS_OF_PLUGIN].contains(&tool.as_str()));
            let scope = if base == Base::Project { SetupScope::Project } else { SetupScope::User };
            let hooks = Content::Entries(ConfigFormat::Json, claude_hooks(scope));
            if !programs(&hooks, &text, |_| true).is_empty() {
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
        let found: BTreeSet<SetupClient> = SetupScope::ALL.iter().flat_map(|scope| self.found(*scope)).collect();
        let findings = SetupClient::ALL.iter().copied().filter(|client| *client != SetupClient::AgentsMd);
        findings.filter_map(|client| self.finding(client, found.contains(&client))).collect()
    }

    fn finding(&self, client: SetupClient, is_found: bool) -> Option<Problem> {
        for &scope in SetupScope::ALL {
            if let Some(danger) = self.dangers(client, scope).first() {
                let state = if scope == SetupScope::Project { Severity::Error } else { Severity::Warning };
                let values = [("CLIENT", client.as_str()), ("SCOPE", scope.as_str())];
                let check = printed_command("ralph-memory setup CLIENT --scope SCOPE --check", &values);
                return Some(finding(state, danger.to_string(), format!("{check} says what to do")));
            }
        }
        let tables: Vec<ClientFile> =
            SetupScope::ALL.iter().flat_map(|scope| files(client, *scope, PROGRAM, SetupOptions::default())).collect();
        let servers: Vec<&ClientFile> = tables.iter().filter(|file| self.has_server(file)).collect();
        let settings = self.claude_settings(client);
        let title = client.title();
        if servers.is_empty() && settings.enabled_plugin.is_none() {
            let connect = printed_command("ralph-memory setup CLIENT", &[("CLIENT", client.as_str())]);
            let hint = format!("{connect} connects it");
            return is_found.then(|| finding(Severity::Notice, format!("{title}: not connected"), hint));
        }
        let mut paths: Vec<String> = servers.iter().map(|file| self.shown(file)).collect();
        paths.extend(settings.enabled_plugin.iter().map(|plugin| format!("plugin {plugin}")));
        let detail = format!("{title}: connected by {}", paths.join(", "));
        Some(match self.doubt(client, &settings, &tables) {
            Some((doubt, hint)) => finding(Severity::Warning, format!("{detail}; {doubt}"), hint),
            None => finding(Severity::Notice, detail, String::new()),
        })
    }

    /// Returns what Claude Code's settings say, if it is about that client.
    pub(super) fn claude_settings(&self, client: SetupClient) -> ClaudeSettings {
        match client {
            SetupClient::Claude => ClaudeSettings::read(&self.bases),
            _ => ClaudeSettings::default(),
        }
    }

    /// Returns the files in which something is switched off, with the reason why it is not used, and what to do about it.
    pub(super) fn unused(
        &self,
        scope: SetupScope,
        table: &[ClientFile],
        settings: &ClaudeSettings,
    ) -> Vec<(PathBuf, &'static str, &'static str)> {
        let off = table.iter().filter(|file| self.text(file).is_some_and(|text| is_off(&file.content, &text)));
        let off: BTreeSet<PathBuf> = off.map(|file| self.bases.shown(file.base, self.chosen(file))).collect();
        let reason = "the entry of ralph-memory is there, but it is switched off";
        let in_entry = off.into_iter().map(|path| (path, reason, "switch it on in the client or in this file"));
        let is_rejected = settings.server_disabled.as_ref().filter(|_| scope == SetupScope::Project);
        let in_settings = [
            is_rejected.map(|path| (path, "`disabledMcpjsonServers` names the server, so it is not used")),
            settings.hooks_disabled.as_ref().map(|path| (path, "`disableAllHooks` is set, so no hook runs")),
        ];
        let in_settings = in_settings.into_iter().flatten();
        in_entry
            .chain(in_settings.map(|(path, reason)| (path.clone(), reason, "remove that from these settings")))
            .collect()
    }

    /// Returns why a client that is connected may not use the memory, and what to do about it.
    fn doubt(&self, client: SetupClient, settings: &ClaudeSettings, tables: &[ClientFile]) -> Option<(String, String)> {
        let again = printed_command("ralph-memory setup CLIENT --remove", &[("CLIENT", client.as_str())]);
        let texts = || tables.iter().filter_map(|file| Some((file, self.text(file)?)));
        let mut started = texts().flat_map(|(file, text)| programs(&file.content, &text, |_| true));
        if let Some(program) = started.find(|program| !runs(program, self.path.as_deref())) {
            let hint = format!("{again}, then set it up again; or install `ralph-memory` in a folder of `PATH`");
            return Some((format!("it runs `{program}`, which is not found"), hint));
        }
        let has_plugin = self.bases.exists(Base::ClaudeHome, PLUGIN_MANIFEST) || settings.enabled_plugin.is_some();
        if has_plugin && !settings.with_hooks.is_empty() {
            let doubt = "both the plugin and the settings have the hooks, which run twice";
            return Some((doubt.to_owned(), format!("{again}, or remove the plugin")));
        }
        if let Some((path, reason, hint)) = self.unused(SetupScope::Project, tables, settings).into_iter().next() {
            return Some((format!("{}: {reason}", self.bases.relative(&path).display()), hint.to_owned()));
        }
        let mut hooks = tables.iter().filter(|_| client == SetupClient::Codex);
        let (file, events) = hooks.find_map(|file| self.untrusted_hooks(file))?;
        let file = self.bases.relative(&file).display();
        let hint = "start Codex in this folder, trust the folder, then run `/hooks` and trust the hooks";
        Some((format!("nobody has trusted the hooks in {file} ({events}), so it skips them"), hint.to_owned()))
    }

    fn shown(&self, file: &ClientFile) -> String {
        let shown = self.bases.shown(file.base, self.chosen(file));
        self.bases.relative(&shown).display().to_string()
    }
}

fn finding(state: Severity, detail: String, hint: String) -> Problem {
    Problem::new(state, MEMORY_FOLDER, "client", detail, hint)
}
