//! What `check` says about the clients: whether each is connected, by which file, and what is doubtful.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use super::client::SetupClient;
use super::client_files::read;
use super::hook_line::PROGRAM;
use super::lines::split_mark;
use super::locate::Base;
use super::program::runs;
use super::table::{ClientFile, PLUGIN_MANIFEST, TOOLS, TOOLS_OF_PLUGIN, claude_hooks, files};
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
    pub(super) with_hooks: Vec<PathBuf>,
    /// The settings that switch off our hooks, and how.
    hooks_disabled: Option<(PathBuf, String)>,
    /// The settings that reject the project's server.
    server_disabled: Option<PathBuf>,
    /// The settings that deny our tools or commands, and how.
    denied: Option<(PathBuf, String)>,
    /// Whether the tools may be called without a question.
    pub(super) allows_tools: bool,
}

impl ClaudeSettings {
    pub(super) fn read(setup: &Setup) -> ClaudeSettings {
        let places = [
            (Base::ClaudeHome, "settings.json"),
            (Base::Project, ".claude/settings.json"),
            (Base::Project, ".claude/settings.local.json"),
        ];
        let managed = setup.bases.managed_settings();
        let managed = managed.iter().map(|path| (Base::Managed, path.as_str()));
        let mut found = ClaudeSettings::default();
        let mut only_managed = None;
        // The later one overrides the earlier one; what one of them denies is denied.
        for (base, path) in places.into_iter().chain(managed) {
            let shown = setup.bases.shown(base, path);
            let Some(text) = read(&setup.bases, base, path) else { continue };
            let Ok(settings) = serde_json::from_str::<Value>(split_mark(&text).1) else { continue };
            let texts = |list: &Value| -> Vec<String> { serde_json::from_value(list.clone()).unwrap_or_default() };
            // A project may name any plugin so.
            let plugins = settings["enabledPlugins"].as_object().filter(|_| base == Base::ClaudeHome);
            let is_own =
                |(name, on): &(&String, &Value)| name.starts_with("ralph-memory@") && **on == Value::Bool(true);
            let own = plugins.into_iter().flatten().find(is_own).map(|(name, _)| name.clone());
            found.enabled_plugin = found.enabled_plugin.or(own);
            let because = |reason: &str| Some((shown.clone(), reason.to_owned()));
            if let Some(is_off) = settings["disableAllHooks"].as_bool() {
                found.hooks_disabled = because("`disableAllHooks` is set, so no hook runs").filter(|_| is_off);
            }
            if let Some(is_on) = settings["allowManagedHooksOnly"].as_bool().filter(|_| base == Base::Managed) {
                let reason = "`allowManagedHooksOnly` is set, so no other hook runs";
                only_managed = because(reason).filter(|_| is_on);
            }
            if let Some(rule) = texts(&settings["permissions"]["deny"]).into_iter().find(|rule| denies(rule)) {
                found.denied = because(&format!("`permissions.deny` has `{rule}`, so no agent may call that"));
            }
            if texts(&settings["disabledMcpjsonServers"]).iter().any(|server| server == PROGRAM) {
                found.server_disabled.get_or_insert_with(|| shown.clone());
            }
            let allowed = texts(&settings["permissions"]["allow"]);
            found.allows_tools |= allowed.iter().any(|tool| [TOOLS, TOOLS_OF_PLUGIN].contains(&tool.as_str()));
            if base == Base::Managed {
                continue;
            }
            let scope = if base == Base::Project { SetupScope::Project } else { SetupScope::User };
            if claude_hooks(scope).iter().any(|hook| hook.compare(Some(&text)).is_there()) {
                found.with_hooks.push(shown);
            }
        }
        found.hooks_disabled = found.hooks_disabled.or(only_managed);
        found
    }

    /// Returns the settings that switch something off, with the reason why it is not used.
    pub(super) fn switched_off(&self, scope: SetupScope) -> impl Iterator<Item = (PathBuf, String)> {
        let server = self.server_disabled.clone().filter(|_| scope == SetupScope::Project);
        let reason = "`disabledMcpjsonServers` names the server, so it is not used";
        let server = server.map(|path| (path, reason.to_owned()));
        server.into_iter().chain(self.denied.clone()).chain(self.hooks_disabled.clone())
    }
}

/// Returns whether a rule of permissions is about a tool of the server or a command of the program. A rule about all
/// commands is about none.
fn denies(rule: &str) -> bool {
    let (tool, command) = rule.trim().split_once('(').unwrap_or((rule.trim(), ""));
    if tool == "Bash" {
        let program = command.trim_start().strip_prefix(PROGRAM);
        return program
            .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || "-_".contains(next)));
    }
    [TOOLS, TOOLS_OF_PLUGIN].into_iter().any(|server| {
        let is_tool = tool.strip_prefix(server).is_some_and(|rest| rest.is_empty() || rest.starts_with("__"));
        // `mcp__*`, and `mcp__ralph-*`.
        is_tool || tool.strip_suffix('*').is_some_and(|start| server.starts_with(start))
    })
}

impl Setup {
    /// Returns a finding for each client that is connected or found here.
    ///
    /// ```
    /// use ralph_memory::setup::Setup;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (project, program) = (folder.path(), folder.path().join("ralph-memory"));
    /// let setup = Setup::new(project, &program, &|_| None);
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
            SetupClient::Claude => ClaudeSettings::read(self),
            _ => ClaudeSettings::default(),
        }
    }

    /// Returns why a client that is connected may not use the memory, and what to do about it.
    fn doubt(&self, client: SetupClient, settings: &ClaudeSettings, tables: &[ClientFile]) -> Option<(String, String)> {
        let again = printed_command("ralph-memory setup CLIENT --remove", &[("CLIENT", client.as_str())]);
        let parts = || tables.iter().flat_map(|file| self.compared(file).into_iter().map(move |part| (file, part.1)));
        let mut programs = parts().filter_map(|(_, part)| part.program);
        if let Some(program) = programs.find(|program| !runs(program, self.path.as_deref())) {
            let hint = format!("{again}, then set it up again; or install `ralph-memory` in a folder of `PATH`");
            return Some((format!("it runs `{program}`, which is not found"), hint));
        }
        let has_plugin = self.bases.exists(Base::ClaudeHome, PLUGIN_MANIFEST) || settings.enabled_plugin.is_some();
        if has_plugin && !settings.with_hooks.is_empty() {
            let doubt = "both the plugin and the settings have the hooks, which run twice";
            return Some((doubt.to_owned(), format!("{again}, or remove the plugin")));
        }
        let off = parts().find(|(_, part)| part.is_off).map(|(file, _)| {
            let reason = "the entry of ralph-memory is there, but it is switched off".to_owned();
            (self.bases.shown(file.base, self.chosen(file)), reason)
        });
        let (path, reason) = off.or_else(|| settings.switched_off(SetupScope::Project).next())?;
        let path = self.bases.relative(&path).display();
        Some((format!("{path}: {reason}"), "switch it on in the client or in this file".to_owned()))
    }

    fn shown(&self, file: &ClientFile) -> String {
        let shown = self.bases.shown(file.base, self.chosen(file));
        self.bases.relative(&shown).display().to_string()
    }
}

fn finding(state: Severity, detail: String, hint: String) -> Problem {
    Problem::new(state, MEMORY_FOLDER, "client", detail, hint)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_of_claude_code_count_by_precedence() {
        const OFF: &str = r#"{"disableAllHooks": true}"#;
        const ON: &str = r#"{"disableAllHooks": false}"#;
        const ONLY: &str = r#"{"allowManagedHooksOnly": true}"#;
        let (user, project, local) =
            ("home/.claude/settings.json", ".claude/settings.json", ".claude/settings.local.json");
        let (managed, first, last) =
            ("etc/managed-settings.json", "etc/managed-settings.d/10.json", "etc/managed-settings.d/20.json");
        let deny = |rule: &str| format!("{{\"permissions\": {{\"deny\": [\"Read(./.env)\", \"{rule}\"]}}}}");
        let check = |files: &[(&str, &str)], expected: Option<(&str, &str)>| {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            for (path, text) in [(user, "{}")].iter().chain(files) {
                fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
                fs::write(root.join(path), text).unwrap();
            }
            let home = root.join("home");
            let mut setup =
                Setup::new(&root, &root.join("ralph-memory"), &|name| (name == "HOME").then(|| home.clone().into()));
            setup.bases.managed = root.join("etc");
            let off = ClaudeSettings::read(&setup).switched_off(SetupScope::Project).next();
            let off = off.map(|(path, reason)| (path.strip_prefix(&root).unwrap().display().to_string(), reason));
            let found = off.as_ref().map(|(path, reason)| (path.as_str(), reason.as_str()));
            let is_as_expected = match (found, expected) {
                (Some((path, reason)), Some((at, part))) => path == at && reason.contains(part),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(is_as_expected, "{files:?}: {found:?}");
        };
        check(&[], None);
        check(&[(user, OFF)], Some((user, "disableAllHooks")));
        check(&[(project, OFF)], Some((project, "disableAllHooks")));
        check(&[(user, OFF), (local, ON)], None);
        check(&[(user, OFF), (project, ON)], None);
        check(&[(project, ON), (local, OFF)], Some((local, "disableAllHooks")));
        check(&[(project, OFF), (local, ON)], None);
        check(&[(user, ON), (managed, OFF)], Some((managed, "disableAllHooks")));
        check(&[(local, ON), (managed, OFF)], Some((managed, "disableAllHooks")));
        check(&[(local, OFF), (managed, ON)], None);
        check(&[(managed, OFF), (first, ON)], None);
        check(&[(first, OFF), (last, ON)], None);
        check(&[(first, ON), (last, OFF)], Some((last, "disableAllHooks")));
        check(&[(managed, ONLY)], Some((managed, "allowManagedHooksOnly")));
        check(&[(first, ONLY)], Some((first, "allowManagedHooksOnly")));
        check(&[(user, ONLY), (local, ONLY)], None);
        check(&[(managed, r#"{"allowManagedHooksOnly": false}"#)], None);
        for rule in [
            "mcp__ralph-memory",
            "mcp__ralph-memory__*",
            "mcp__ralph-memory__add_knowledge",
            "mcp__*",
            "*",
            "mcp__plugin_ralph-memory_ralph-memory",
            "Bash(ralph-memory:*)",
            "Bash(ralph-memory search *)",
            "Bash(ralph-memory)",
        ] {
            for path in [user, project, local, managed, last] {
                check(&[(local, "{}"), (path, &deny(rule))], Some((path, rule)));
            }
        }
        for rule in [
            "mcp__ralph",
            "mcp__ralph-memory-2",
            "mcp__other__*",
            "Bash",
            "Bash(rm:*)",
            "Bash(ralph-memory-old:*)",
            "Read(ralph-memory)",
        ] {
            check(&[(user, &deny(rule))], None);
        }
    }
}
