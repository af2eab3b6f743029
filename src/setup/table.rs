//! The table of clients: which file gets what, for each client and scope.
//!
//! A row is data; how a file of each format is edited is elsewhere. Files that several clients read have one row, so
//! that setup writes them once.

use serde_json::{Value, json};

use super::SetupClient::{
    self, AgentsMd, Amp, Claude, Codex, Copilot, Cursor, Devin, Gemini, OpenCode, Qwen, VsCode, Zed,
};
use super::entry::ConfigEntry;
use super::format::ConfigFormat;
use super::hook_line::{OwnCommand, PROGRAM};
use super::hooks::{CLAUDE, CODEX, COPILOT, CURSOR, DEVIN, GEMINI, Hooks, QWEN, VSCODE};
use super::locate::Base::{self, ClaudeHome, CodexHome, ConfigHome, Home, Project};
use super::want::{Want, Whole};
use super::{SetupOptions, SetupScope};
use crate::sessions::HookEvent;

/// The name of the server in every client.
const SERVER: &str = "ralph-memory";
const SKILL: &str = include_str!("../../integrations/claude/skills/ralph-memory/SKILL.md");
const PLUGIN: &str = include_str!("../../integrations/claude/.claude-plugin/plugin.json");
const OPENCODE: &str = include_str!("../../integrations/opencode/ralph-memory.js");
/// Claude Code's rules for the tools of the server, from `.mcp.json` and from the plugin.
pub(super) const TOOLS: &str = "mcp__ralph-memory";
pub(super) const TOOLS_OF_PLUGIN: &str = "mcp__plugin_ralph-memory_ralph-memory";
/// The manifest of the plugin in the user's folder of Claude Code.
pub(super) const PLUGIN_MANIFEST: &str = "skills/ralph-memory/.claude-plugin/plugin.json";

/// A file that a client reads, and what it should contain.
#[derive(Debug, Clone)]
pub(super) struct ClientFile {
    pub(super) base: Base,
    /// The path; of several, the first that exists, or else the first.
    pub(super) paths: &'static [&'static str],
    pub(super) wants: Vec<Want>,
}

/// What a row of the table puts into its file.
enum RowPart {
    /// A server below this key, in a form that is made of the program's name.
    Server(&'static str, fn(&str) -> Value),
    Hooks(&'static Hooks),
    /// The permission to call these tools.
    Tools(&'static str),
    Block,
    Skill,
    ClaudePlugin,
    OpenCodePlugin,
}

use self::RowPart::{Block, ClaudePlugin, OpenCodePlugin, Server, Skill, Tools};

/// The files, for each client in the order in which they are written.
#[rustfmt::skip]
const ROWS: &[(&[SetupClient], Base, &[&str], RowPart)] = &[
    (&[Claude], Project, &[".mcp.json"], Server("mcpServers", plain)),
    (&[Claude], Project, &[".claude/settings.json"], RowPart::Hooks(&CLAUDE)),
    (&[Claude], Project, &[".claude/settings.json"], Tools(TOOLS)),
    // What Claude Code reads of `AGENTS.md` depends on its version and on what is beside it.
    (&[Claude], Project, &[".claude/rules/ralph-memory.md"], Block),
    (&[Claude], Project, &[".claude/skills/ralph-memory/SKILL.md"], Skill),
    (&[Codex], Project, &[".codex/config.toml"], Server("mcp_servers", plain)),
    (&[Codex], Project, &[".codex/hooks.json"], RowPart::Hooks(&CODEX)),
    (&[Cursor], Project, &[".cursor/mcp.json"], Server("mcpServers", plain)),
    (&[Cursor], Project, &[".cursor/hooks.json"], RowPart::Hooks(&CURSOR)),
    (&[OpenCode], Project, &["opencode.json", "opencode.jsonc"], Server("mcp", opencode)),
    (&[OpenCode], Project, &[".opencode/plugins/ralph-memory.js"], OpenCodePlugin),
    (&[Copilot], Project, &[".github/mcp.json"], Server("mcpServers", copilot)),
    (&[Copilot], Project, &[".github/hooks/ralph-memory.json"], RowPart::Hooks(&COPILOT)),
    (&[VsCode], Project, &[".vscode/mcp.json"], Server("servers", stdio)),
    (&[VsCode], Project, &[".github/hooks/ralph-memory-vscode.json"], RowPart::Hooks(&VSCODE)),
    (&[Gemini], Project, &[".gemini/settings.json"], Server("mcpServers", plain)),
    (&[Gemini], Project, &[".gemini/settings.json"], RowPart::Hooks(&GEMINI)),
    (&[Gemini], Project, &["GEMINI.md"], Block),
    (&[Qwen], Project, &[".qwen/settings.json"], Server("mcpServers", plain)),
    (&[Qwen], Project, &[".qwen/settings.json"], RowPart::Hooks(&QWEN)),
    (&[Qwen], Project, &["QWEN.md"], Block),
    (&[Devin], Project, &[".devin/mcp_config.json"], Server("mcpServers", plain)),
    (&[Devin], Project, &[".devin/hooks.v1.json"], RowPart::Hooks(&DEVIN)),
    (&[Amp], Project, &[".amp/settings.json"], Server("amp.mcpServers", plain)),
    (&[Codex, Cursor, OpenCode, Copilot, VsCode, AgentsMd, Devin, Zed, Amp], Project, &["AGENTS.md"], Block),
    (&[Codex, Cursor, OpenCode, Copilot, VsCode, Gemini, Devin, Amp], Project, &[".agents/skills/ralph-memory/SKILL.md"], Skill),

    (&[Claude], ClaudeHome, &[PLUGIN_MANIFEST], ClaudePlugin),
    (&[Claude], ClaudeHome, &["skills/ralph-memory/.mcp.json"], Server("mcpServers", plain)),
    (&[Claude], ClaudeHome, &["skills/ralph-memory/hooks/hooks.json"], RowPart::Hooks(&CLAUDE)),
    (&[Claude], ClaudeHome, &["skills/ralph-memory/skills/ralph-memory/SKILL.md"], Skill),
    (&[Claude], ClaudeHome, &["settings.json"], Tools(TOOLS_OF_PLUGIN)),
    (&[Codex], CodexHome, &["config.toml"], Server("mcp_servers", plain)),
    (&[Codex], CodexHome, &["hooks.json"], RowPart::Hooks(&CODEX)),
    (&[Cursor], Home, &[".cursor/mcp.json"], Server("mcpServers", plain)),
    (&[Cursor], Home, &[".cursor/hooks.json"], RowPart::Hooks(&CURSOR)),
    (&[OpenCode], ConfigHome, &["opencode/opencode.json", "opencode/opencode.jsonc"], Server("mcp", opencode)),
    (&[OpenCode], ConfigHome, &["opencode/plugins/ralph-memory.js"], OpenCodePlugin),
    (&[Copilot], Home, &[".copilot/mcp-config.json"], Server("mcpServers", copilot)),
    (&[Copilot], Home, &[".copilot/hooks/ralph-memory.json"], RowPart::Hooks(&COPILOT)),
    (&[Gemini], Home, &[".gemini/settings.json"], Server("mcpServers", plain)),
    (&[Gemini], Home, &[".gemini/settings.json"], RowPart::Hooks(&GEMINI)),
    (&[Qwen], Home, &[".qwen/settings.json"], Server("mcpServers", plain)),
    (&[Qwen], Home, &[".qwen/settings.json"], RowPart::Hooks(&QWEN)),
    (&[Devin], ConfigHome, &["devin/mcp_config.json"], Server("mcpServers", plain)),
    (&[Zed], ConfigHome, &["zed/settings.json"], Server("context_servers", plain)),
    (&[Amp], ConfigHome, &["amp/settings.json"], Server("amp.mcpServers", plain)),
    (&[Codex, Cursor, OpenCode, Copilot, Gemini, Devin, Amp], Home, &[".agents/skills/ralph-memory/SKILL.md"], Skill),
];

fn plain(program: &str) -> Value {
    json!({"command": program, "args": ["mcp"]})
}

fn stdio(program: &str) -> Value {
    json!({"type": "stdio", "command": program, "args": ["mcp"]})
}

fn copilot(program: &str) -> Value {
    json!({"type": "local", "command": program, "args": ["mcp"], "tools": ["*"]})
}

fn opencode(program: &str) -> Value {
    json!({"type": "local", "command": [program, "mcp"], "enabled": true})
}

/// Returns the files of a client, in the order in which they are written; none if it has none in this scope.
pub(super) fn files(client: SetupClient, scope: SetupScope, program: &str, options: SetupOptions) -> Vec<ClientFile> {
    let is_users = scope == SetupScope::User;
    // What is committed must work on every machine.
    let program = if is_users { program } else { PROGRAM };
    let command = OwnCommand { program: program.to_owned(), is_users, hook: None };
    let of_client = ROWS.iter().filter(|(clients, base, _, part)| {
        let is_allowed = options.allow_tools || !matches!(part, Tools(_));
        clients.contains(&client) && is_users == (*base != Project) && is_allowed
    });
    let file = |(_, base, paths, part): &(_, Base, &'static [&'static str], RowPart)| {
        let wants = part.wants(format(client, paths[0], part), &command, options);
        ClientFile { base: *base, paths, wants }
    };
    of_client.map(file).collect()
}

/// Returns opencode's plugin, with the variant that other options write.
fn opencode_plugin(command: &OwnCommand, no_tool_hook: bool) -> Whole {
    let name = |program: &str| format!("const PROGRAM = {}\n", Value::from(program));
    let plugin = OPENCODE.replace(&name(PROGRAM), &name(&command.program));
    let without = plugin.split_once("    \"tool.execute.after\"").and_then(|(before, rest)| {
        let at = rest.find("    dispose:")?;
        Some(format!("{before}{}", &rest[at..]))
    });
    let mut texts: Vec<String> = [plugin].into_iter().chain(without).collect();
    if no_tool_hook {
        texts.reverse();
    }
    Whole { texts, command: Some(command.clone()) }
}

fn format(client: SetupClient, path: &str, part: &RowPart) -> ConfigFormat {
    match (path.rsplit('.').next(), client, part) {
        (Some("toml"), ..) => ConfigFormat::Toml,
        (_, Claude, _) | (_, Codex | Cursor, RowPart::Hooks(_)) => ConfigFormat::Json,
        _ => ConfigFormat::Jsonc,
    }
}

/// Returns the hooks in Claude Code's settings.
pub(super) fn claude_hooks(scope: SetupScope) -> Vec<Want> {
    let command = OwnCommand { program: PROGRAM.to_owned(), is_users: scope == SetupScope::User, hook: None };
    RowPart::Hooks(&CLAUDE).wants(ConfigFormat::Json, &command, SetupOptions::ALL)
}

impl RowPart {
    fn wants(&self, format: ConfigFormat, program: &OwnCommand, options: SetupOptions) -> Vec<Want> {
        let entry = |path, key, value, command| Want::Entry(format, ConfigEntry { path, key, value, command });
        let whole = |text: &str| vec![Want::Whole(Whole { texts: vec![text.to_owned()], command: None })];
        match self {
            Server(key, form) => {
                vec![entry(vec![*key], Some(SERVER), form(&program.text()), Some(program.clone()))]
            }
            Tools(name) => vec![entry(vec!["permissions", "allow"], None, json!(name), None)],
            RowPart::Hooks(hooks) => {
                let version = hooks.form.has_version().then(|| entry(Vec::new(), Some("version"), json!(1), None));
                let events = hooks.events().filter(|(event, ..)| match event {
                    HookEvent::Prompt => options.each_prompt,
                    HookEvent::Tool => !options.no_tool_hook,
                    _ => true,
                });
                let hook = |(event, name, tools, limit)| {
                    let command = OwnCommand { hook: Some((event, hooks.agent)), ..program.clone() };
                    let value = hooks.form.value(&command.text(), tools, limit);
                    entry(hooks.key.into_iter().chain([name]).collect(), None, value, Some(command))
                };
                version.into_iter().chain(events.map(hook)).collect()
            }
            Block => vec![Want::Block],
            Skill => whole(SKILL),
            // A version would be another text with each version.
            ClaudePlugin => {
                whole(&PLUGIN.replace(concat!("  \"version\": \"", env!("CARGO_PKG_VERSION"), "\",\n"), ""))
            }
            OpenCodePlugin => vec![Want::Whole(opencode_plugin(program, options.no_tool_hook))],
        }
    }
}
