//! The table of clients: which file gets what, for each client and scope.
//!
//! A row is data; how a file of each format is edited is elsewhere. Files that several clients read have one row, so
//! that setup writes them once.

use super::SetupClient::{
    self, AgentsMd, Amp, Claude, Codex, Copilot, Cursor, Devin, Gemini, Goose, Kiro, OpenCode, Qwen, VsCode, Zed,
};
use super::config_value::{ConfigValue, quoted};
use super::format::ConfigFormat;
use super::hook_line::{OwnCommand, PROGRAM};
use super::hooks::{CLAUDE, CODEX, COPILOT, CURSOR, DEVIN, GEMINI, GOOSE, HookForm, Hooks, KIRO, QWEN, VSCODE};
use super::locate::Base::{self, ClaudeHome, CodexHome, ConfigHome, Home, Project};
use super::seal::sealed;
use super::want::Want;
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
    pub(super) content: Content,
}

/// What a file should contain.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// Entries among those of others.
    Entries(ConfigFormat, Vec<Want>),
    /// The block of instructions.
    Block,
    /// All of the file, which is text.
    Owned(String),
    /// All of the file, which a client runs.
    Script(String),
}

impl Content {
    /// Returns the entries that it has among those of others.
    pub(super) fn wants(&self) -> &[Want] {
        if let Content::Entries(_, wants) = self { wants } else { &[] }
    }

    /// Returns the text of a file that is setup's as a whole.
    pub(super) fn whole(&self) -> Option<&str> {
        if let Content::Owned(text) | Content::Script(text) = self { Some(text) } else { None }
    }
}

/// What a row of the table puts into its file.
enum RowPart {
    /// A server below this key, in a form that is made of the program's name.
    Server(&'static str, fn(ConfigValue) -> ConfigValue),
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
    (&[Kiro], Project, &[".kiro/settings/mcp.json"], Server("mcpServers", plain)),
    (&[Kiro], Project, &[".kiro/hooks/ralph-memory.json"], RowPart::Hooks(&KIRO)),
    (&[Devin], Project, &[".devin/mcp_config.json"], Server("mcpServers", plain)),
    (&[Devin], Project, &[".devin/hooks.v1.json"], RowPart::Hooks(&DEVIN)),
    (&[Goose], Project, &[".agents/plugins/ralph-memory/hooks/hooks.json"], RowPart::Hooks(&GOOSE)),
    (&[Amp], Project, &[".amp/settings.json"], Server("amp.mcpServers", plain)),
    (&[Codex, Cursor, OpenCode, Copilot, VsCode, AgentsMd, Kiro, Devin, Goose, Zed, Amp], Project, &["AGENTS.md"], Block),
    (&[Kiro], Project, &[".kiro/skills/ralph-memory/SKILL.md"], Skill),
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
    (&[Kiro], Home, &[".kiro/settings/mcp.json"], Server("mcpServers", plain)),
    (&[Kiro], Home, &[".kiro/hooks/ralph-memory.json"], RowPart::Hooks(&KIRO)),
    (&[Kiro], Home, &[".kiro/skills/ralph-memory/SKILL.md"], Skill),
    (&[Devin], ConfigHome, &["devin/mcp_config.json"], Server("mcpServers", plain)),
    (&[Goose], ConfigHome, &["goose/config.yaml"], Server("extensions", goose)),
    (&[Goose], Home, &[".agents/plugins/ralph-memory/hooks/hooks.json"], RowPart::Hooks(&GOOSE)),
    (&[Zed], ConfigHome, &["zed/settings.json"], Server("context_servers", plain)),
    (&[Amp], ConfigHome, &["amp/settings.json"], Server("amp.mcpServers", plain)),
    (&[Codex, Cursor, OpenCode, Copilot, Gemini, Devin, Amp], Home, &[".agents/skills/ralph-memory/SKILL.md"], Skill),
];

fn words(words: &[&str]) -> ConfigValue {
    ConfigValue::List(words.iter().copied().map(ConfigValue::text).collect())
}

fn plain(program: ConfigValue) -> ConfigValue {
    ConfigValue::map([("command", program), ("args", words(&["mcp"]))])
}

fn stdio(program: ConfigValue) -> ConfigValue {
    ConfigValue::map([("type", ConfigValue::text("stdio")), ("command", program), ("args", words(&["mcp"]))])
}

fn copilot(program: ConfigValue) -> ConfigValue {
    let (kind, tools) = (ConfigValue::text("local"), words(&["*"]));
    ConfigValue::map([("type", kind), ("command", program), ("args", words(&["mcp"])), ("tools", tools)])
}

fn opencode(program: ConfigValue) -> ConfigValue {
    let command = ConfigValue::List(vec![program, ConfigValue::text("mcp")]);
    ConfigValue::map([("type", ConfigValue::text("local")), ("command", command), ("enabled", ConfigValue::Flag(true))])
}

fn goose(program: ConfigValue) -> ConfigValue {
    ConfigValue::map([
        ("type", ConfigValue::text("stdio")),
        ("name", ConfigValue::text(SERVER)),
        ("cmd", program),
        ("args", words(&["mcp"])),
        ("enabled", ConfigValue::Flag(true)),
        ("timeout", ConfigValue::Number("300".to_owned())),
    ])
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
        let content = match part {
            Block => Content::Block,
            Skill => Content::Owned(sealed(SKILL)),
            ClaudePlugin => Content::Owned(PLUGIN.to_owned()),
            OpenCodePlugin => {
                let name = |program: &str| format!("const PROGRAM = {}\n", quoted(program));
                let plugin = sealed(&OPENCODE.replace(&name(PROGRAM), &name(program)));
                Content::Script(if options.no_tool_hook { without_tool_hook(&plugin) } else { plugin })
            }
            _ => Content::Entries(format(client, paths[0], part), part.wants(&command, options)),
        };
        ClientFile { base: *base, paths, content }
    };
    of_client.map(file).collect()
}

/// Returns opencode's plugin without its hook at calls of tools.
pub(super) fn without_tool_hook(plugin: &str) -> String {
    let parts = plugin.split_once("    \"tool.execute.after\"").and_then(|(before, rest)| {
        let at = rest.find("    dispose:")?;
        Some(sealed(&format!("{before}{}", &rest[at..])))
    });
    parts.unwrap_or_else(|| plugin.to_owned())
}

/// Returns the format of a file with entries.
fn format(client: SetupClient, path: &str, part: &RowPart) -> ConfigFormat {
    match (path.rsplit('.').next(), client, part) {
        (Some("toml"), ..) => ConfigFormat::Toml,
        (Some("yaml"), ..) => ConfigFormat::Yaml,
        (_, Claude, _) | (_, Codex | Cursor, RowPart::Hooks(_)) => ConfigFormat::Json,
        _ => ConfigFormat::Jsonc,
    }
}

/// Returns the hooks in Claude Code's settings.
pub(super) fn claude_hooks(scope: SetupScope) -> Vec<Want> {
    let command = OwnCommand { program: PROGRAM.to_owned(), is_users: scope == SetupScope::User, hook: None };
    RowPart::Hooks(&CLAUDE).wants(&command, SetupOptions::ALL)
}

impl RowPart {
    /// Returns the entries that stand among those of others.
    fn wants(&self, program: &OwnCommand, options: SetupOptions) -> Vec<Want> {
        let at_root = |key, value| Want { path: Vec::new(), key: Some(key), value, command: None };
        match self {
            Server(key, form) => {
                let value = form(ConfigValue::Text(program.text()));
                let server = Want { path: vec![*key], key: Some(SERVER), value, command: Some(program.clone()) };
                // opencode writes it into a file that lacks it, which would then differ from what setup left.
                let schema = at_root("$schema", ConfigValue::text("https://opencode.ai/config.json"));
                (*key == "mcp").then_some(schema).into_iter().chain([server]).collect()
            }
            Tools(name) => {
                let value = ConfigValue::text(*name);
                vec![Want { path: vec!["permissions", "allow"], key: None, value, command: None }]
            }
            RowPart::Hooks(hooks) => {
                let version = hooks.form.version().map(|version| at_root("version", version));
                let events = hooks.events().filter(|(event, ..)| match event {
                    HookEvent::Prompt => options.each_prompt,
                    HookEvent::Tool => !options.no_tool_hook,
                    _ => true,
                });
                let hook = |(event, name, tools, limit)| {
                    let is_listed = matches!(hooks.form, HookForm::Trigger);
                    let path = hooks.key.into_iter().chain((!is_listed).then_some(name)).collect();
                    let command = OwnCommand { hook: Some((event, hooks.agent)), ..program.clone() };
                    let value = hooks.form.value(&command.text(), (event, name, tools, limit));
                    Want { path, key: None, value, command: Some(command) }
                };
                version.into_iter().chain(events.map(hook)).collect()
            }
            Block | Skill | ClaudePlugin | OpenCodePlugin => Vec::new(),
        }
    }
}
