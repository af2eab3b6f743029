//! The table of clients: which file gets what, for each client and scope.
//!
//! A row is data; how a file of each format is edited is elsewhere. Files that several clients read have one place
//! here, so that set-up writes them once.

use super::client::SetupClient;
use super::config_value::ConfigValue;
use super::hook_line::{OwnCommand, PROGRAM};
use super::hooks::{
    CLAUDE, CODEX, COPILOT, CURSOR, DEVIN, GEMINI, GOOSE, HookForm, Hooks, HooksVersion, KIRO, QWEN, VSCODE,
};
use super::locate::Base;
use super::seal::sealed;
use super::want::{Mark, Want};
use super::{SetupOptions, SetupScope, toml_config, yaml};
use crate::hook::HookEvent;

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
    /// The path; of several, the first one that exists, else the first one.
    pub(super) paths: &'static [&'static str],
    pub(super) content: Content,
}

/// What a file should contain.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// Members and elements in JSON, with comments or without.
    Json { comments: bool, wants: Vec<Want> },
    /// A server in Codex's TOML.
    Toml { program: OwnCommand },
    /// A server in Goose's YAML.
    Yaml { program: OwnCommand },
    /// The block of instructions.
    Block,
    /// All of the file, which is text.
    Owned(String),
    /// All of the file, which a client runs.
    Script(String),
}

impl Content {
    /// Returns the entries that it has among those of others.
    pub(super) fn wants(self) -> Vec<Want> {
        match self {
            Content::Json { wants, .. } => wants,
            Content::Toml { program } => vec![toml_config::want(&program)],
            Content::Yaml { program } => vec![yaml::want(&program)],
            _ => Vec::new(),
        }
    }
}

/// The form of a server's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerForm {
    Plain,
    Stdio,
    OpenCode,
    Copilot,
}

/// What a row is made with.
struct ClientRow<'a> {
    program: &'a str,
    /// Whether the files are the user's own.
    is_users: bool,
    options: SetupOptions,
}

/// Returns the files of a client, in the order in which they are written; none if it has none in this scope.
pub(super) fn files(client: SetupClient, scope: SetupScope, program: &str, options: SetupOptions) -> Vec<ClientFile> {
    // What is committed must work on every machine.
    let program = if scope == SetupScope::Project { PROGRAM } else { program };
    let row = ClientRow { program, is_users: scope == SetupScope::User, options };
    match scope {
        SetupScope::Project => row.of_project(client),
        SetupScope::User => row.of_user(client),
    }
}

/// Returns the hooks in Claude Code's settings.
pub(super) fn claude_hooks(scope: SetupScope) -> Vec<Want> {
    let options = SetupOptions { each_prompt: true, allow_tools: true };
    ClientRow { program: PROGRAM, is_users: scope == SetupScope::User, options }.hook_wants(&CLAUDE)
}

impl ClientRow<'_> {
    fn of_project(&self, client: SetupClient) -> Vec<ClientFile> {
        use Base::Project as P;
        use ServerForm::{Copilot, OpenCode, Plain, Stdio};
        let (block, skill, servers) = (agents_block, agents_skill, "mcpServers");
        match client {
            SetupClient::Claude => vec![
                self.server(P, &[".mcp.json"], false, servers, Plain),
                self.claude_settings(P, &[".claude/settings.json"], true),
                // What Claude Code reads of `AGENTS.md` depends on its version and on what is beside it.
                of_project_file(&[".claude/rules/ralph-memory.md"], Content::Block),
                skill_at(P, &[".claude/skills/ralph-memory/SKILL.md"]),
            ],
            SetupClient::Codex => vec![
                self.codex_server(P, &[".codex/config.toml"]),
                self.hooks(P, &[".codex/hooks.json"], &CODEX, None),
                block(),
                skill(),
            ],
            SetupClient::Cursor => vec![
                self.server(P, &[".cursor/mcp.json"], true, servers, Plain),
                self.hooks(P, &[".cursor/hooks.json"], &CURSOR, Some(HooksVersion::Number)),
                block(),
                skill(),
            ],
            SetupClient::OpenCode => vec![
                self.server(P, &["opencode.json", "opencode.jsonc"], true, "mcp", OpenCode),
                self.opencode_plugin(P, &[".opencode/plugins/ralph-memory.js"]),
                block(),
                skill(),
            ],
            SetupClient::Copilot => vec![
                self.server(P, &[".github/mcp.json"], true, servers, Copilot),
                self.hooks(P, &[".github/hooks/ralph-memory.json"], &COPILOT, Some(HooksVersion::Number)),
                block(),
                skill(),
            ],
            SetupClient::VsCode => vec![
                self.server(P, &[".vscode/mcp.json"], true, "servers", Stdio),
                self.hooks(P, &[".github/hooks/ralph-memory-vscode.json"], &VSCODE, Some(HooksVersion::Number)),
                block(),
                skill(),
            ],
            SetupClient::AgentsMd | SetupClient::Zed => vec![block()],
            other => self.more_of_project(other),
        }
    }

    fn more_of_project(&self, client: SetupClient) -> Vec<ClientFile> {
        use Base::Project as P;
        use ServerForm::Plain;
        let (block, skill, servers) = (agents_block, agents_skill, "mcpServers");
        match client {
            SetupClient::Gemini => vec![
                self.server(P, &[".gemini/settings.json"], true, servers, Plain),
                self.hooks(P, &[".gemini/settings.json"], &GEMINI, None),
                of_project_file(&["GEMINI.md"], Content::Block),
                skill(),
            ],
            SetupClient::Qwen => vec![
                self.server(P, &[".qwen/settings.json"], true, servers, Plain),
                self.hooks(P, &[".qwen/settings.json"], &QWEN, None),
                of_project_file(&["QWEN.md"], Content::Block),
            ],
            SetupClient::Kiro => vec![
                self.server(P, &[".kiro/settings/mcp.json"], true, servers, Plain),
                self.hooks(P, &[".kiro/hooks/ralph-memory.json"], &KIRO, Some(HooksVersion::Name)),
                block(),
                skill_at(P, &[".kiro/skills/ralph-memory/SKILL.md"]),
            ],
            SetupClient::Devin => vec![
                self.server(P, &[".devin/mcp_config.json"], true, servers, Plain),
                self.hooks(P, &[".devin/hooks.v1.json"], &DEVIN, None),
                block(),
                skill(),
            ],
            SetupClient::Goose => {
                vec![self.hooks(P, &[".agents/plugins/ralph-memory/hooks/hooks.json"], &GOOSE, None), block()]
            }
            SetupClient::Amp => {
                vec![self.server(P, &[".amp/settings.json"], true, "amp.mcpServers", Plain), block(), skill()]
            }
            _ => Vec::new(),
        }
    }

    fn of_user(&self, client: SetupClient) -> Vec<ClientFile> {
        use Base::{CodexHome, ConfigHome, Home};
        use ServerForm::{Copilot, OpenCode, Plain};
        let (skill, servers) = (users_skill, "mcpServers");
        match client {
            SetupClient::Claude => self.claude_plugin(),
            SetupClient::Codex => vec![
                self.codex_server(CodexHome, &["config.toml"]),
                self.hooks(CodexHome, &["hooks.json"], &CODEX, None),
                skill(),
            ],
            SetupClient::Cursor => vec![
                self.server(Home, &[".cursor/mcp.json"], true, servers, Plain),
                self.hooks(Home, &[".cursor/hooks.json"], &CURSOR, Some(HooksVersion::Number)),
                skill(),
            ],
            SetupClient::OpenCode => vec![
                self.server(ConfigHome, &["opencode/opencode.json", "opencode/opencode.jsonc"], true, "mcp", OpenCode),
                self.opencode_plugin(ConfigHome, &["opencode/plugins/ralph-memory.js"]),
                skill(),
            ],
            SetupClient::Copilot => vec![
                self.server(Home, &[".copilot/mcp-config.json"], true, servers, Copilot),
                self.hooks(Home, &[".copilot/hooks/ralph-memory.json"], &COPILOT, Some(HooksVersion::Number)),
                skill(),
            ],
            other => self.more_of_user(other),
        }
    }

    fn more_of_user(&self, client: SetupClient) -> Vec<ClientFile> {
        use Base::{ConfigHome, Home};
        use ServerForm::Plain;
        let (skill, servers) = (users_skill, "mcpServers");
        match client {
            SetupClient::Gemini => vec![
                self.server(Home, &[".gemini/settings.json"], true, servers, Plain),
                self.hooks(Home, &[".gemini/settings.json"], &GEMINI, None),
                skill(),
            ],
            SetupClient::Qwen => vec![
                self.server(Home, &[".qwen/settings.json"], true, servers, Plain),
                self.hooks(Home, &[".qwen/settings.json"], &QWEN, None),
            ],
            SetupClient::Kiro => vec![
                self.server(Home, &[".kiro/settings/mcp.json"], true, servers, Plain),
                self.hooks(Home, &[".kiro/hooks/ralph-memory.json"], &KIRO, Some(HooksVersion::Name)),
                skill_at(Home, &[".kiro/skills/ralph-memory/SKILL.md"]),
            ],
            SetupClient::Devin => {
                vec![self.server(ConfigHome, &["devin/mcp_config.json"], true, servers, Plain), skill()]
            }
            SetupClient::Goose => vec![
                ClientFile {
                    base: ConfigHome,
                    paths: &["goose/config.yaml"],
                    content: Content::Yaml { program: self.command(None) },
                },
                self.hooks(Home, &[".agents/plugins/ralph-memory/hooks/hooks.json"], &GOOSE, None),
            ],
            SetupClient::Zed => {
                vec![self.server(ConfigHome, &["zed/settings.json"], true, "context_servers", Plain)]
            }
            SetupClient::Amp => {
                vec![self.server(ConfigHome, &["amp/settings.json"], true, "amp.mcpServers", Plain), skill()]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the plugin in the user's folder of Claude Code.
    fn claude_plugin(&self) -> Vec<ClientFile> {
        use Base::ClaudeHome;
        let manifest = Content::Owned(PLUGIN.to_owned());
        let mut files = vec![
            ClientFile { base: ClaudeHome, paths: &[PLUGIN_MANIFEST], content: manifest },
            self.server(ClaudeHome, &["skills/ralph-memory/.mcp.json"], false, "mcpServers", ServerForm::Plain),
            self.hooks(ClaudeHome, &["skills/ralph-memory/hooks/hooks.json"], &CLAUDE, None),
            skill_at(ClaudeHome, &["skills/ralph-memory/skills/ralph-memory/SKILL.md"]),
        ];
        if self.options.allow_tools {
            files.push(self.claude_settings(ClaudeHome, &["settings.json"], false));
        }
        files
    }

    fn server(
        &self,
        base: Base,
        paths: &'static [&'static str],
        comments: bool,
        key: &'static str,
        form: ServerForm,
    ) -> ClientFile {
        let text = |text: &str| ConfigValue::text(text);
        let list = |items: &[&str]| ConfigValue::List(items.iter().map(|item| text(item)).collect());
        let program = ConfigValue::Command(self.command(None));
        let plain = [("command", program.clone()), ("args", list(&["mcp"]))];
        let value = ConfigValue::Map(match form {
            ServerForm::Plain => plain.to_vec(),
            ServerForm::Stdio => [vec![("type", text("stdio"))], plain.to_vec()].concat(),
            ServerForm::OpenCode => vec![
                ("type", text("local")),
                ("command", ConfigValue::List(vec![program, text("mcp")])),
                ("enabled", ConfigValue::Flag(true)),
            ],
            ServerForm::Copilot => {
                [vec![("type", text("local"))], plain.to_vec(), vec![("tools", list(&["*"]))]].concat()
            }
        });
        let server = Want { path: vec![key], key: Some(SERVER), value, mark: Mark::Server };
        // opencode writes it into a file that lacks it, which would then differ from what set-up left.
        let schema = (form == ServerForm::OpenCode).then(|| Want {
            path: Vec::new(),
            key: Some("$schema"),
            value: text("https://opencode.ai/config.json"),
            mark: Mark::Any,
        });
        ClientFile {
            base,
            paths,
            content: Content::Json { comments, wants: schema.into_iter().chain([server]).collect() },
        }
    }

    fn codex_server(&self, base: Base, paths: &'static [&'static str]) -> ClientFile {
        ClientFile { base, paths, content: Content::Toml { program: self.command(None) } }
    }

    fn opencode_plugin(&self, base: Base, paths: &'static [&'static str]) -> ClientFile {
        let name = |program: &str| format!("const PROGRAM = {}\n", super::config_value::quoted(program));
        let text = sealed(&OPENCODE.replace(&name(PROGRAM), &name(self.program)));
        ClientFile { base, paths, content: Content::Script(text) }
    }

    fn command(&self, hook: Option<(HookEvent, Option<&'static str>)>) -> OwnCommand {
        OwnCommand { program: self.program.to_owned(), is_users: self.is_users, hook }
    }

    fn claude_settings(&self, base: Base, paths: &'static [&'static str], with_hooks: bool) -> ClientFile {
        let mut wants = if with_hooks { self.hook_wants(&CLAUDE) } else { Vec::new() };
        if self.options.allow_tools {
            let tools = if with_hooks { TOOLS } else { TOOLS_OF_PLUGIN };
            let value = ConfigValue::text(tools);
            wants.push(Want { path: vec!["permissions", "allow"], key: None, value, mark: Mark::Text });
        }
        ClientFile { base, paths, content: Content::Json { comments: false, wants } }
    }

    fn hooks(
        &self,
        base: Base,
        paths: &'static [&'static str],
        hooks: &Hooks,
        version: Option<HooksVersion>,
    ) -> ClientFile {
        let version = version.map(|version| match version {
            HooksVersion::Number => ConfigValue::Number(1),
            HooksVersion::Name => ConfigValue::text("v1"),
        });
        let version = version.map(|value| Want { path: Vec::new(), key: Some("version"), value, mark: Mark::Any });
        let wants = version.into_iter().chain(self.hook_wants(hooks)).collect();
        // Of these clients, Claude Code alone refuses comments.
        let comments = hooks.agent.is_some_and(|agent| agent != "codex");
        ClientFile { base, paths, content: Content::Json { comments, wants } }
    }

    fn hook_wants(&self, hooks: &Hooks) -> Vec<Want> {
        let events = hooks.events.iter().filter(|(event, ..)| *event != HookEvent::Prompt || self.options.each_prompt);
        let want = |(event, name, timeout): &(HookEvent, &'static str, u32)| {
            let is_listed = matches!(hooks.form, HookForm::Trigger);
            let path = hooks.key.into_iter().chain((!is_listed).then_some(*name)).collect();
            let line = ConfigValue::Command(self.command(Some((*event, hooks.agent))));
            let value = hooks.form.value(line, *event, name, *timeout);
            Want { path, key: None, value, mark: Mark::Hook(*event) }
        };
        events.map(want).collect()
    }
}

fn of_project_file(paths: &'static [&'static str], content: Content) -> ClientFile {
    ClientFile { base: Base::Project, paths, content }
}

fn skill_at(base: Base, paths: &'static [&'static str]) -> ClientFile {
    ClientFile { base, paths, content: Content::Owned(sealed(SKILL)) }
}

/// Returns the skill in the project's folder that most clients read.
fn agents_skill() -> ClientFile {
    skill_at(Base::Project, &[".agents/skills/ralph-memory/SKILL.md"])
}

/// Returns the skill in the user's folder that most clients read.
fn users_skill() -> ClientFile {
    skill_at(Base::Home, &[".agents/skills/ralph-memory/SKILL.md"])
}

/// Returns the instructions that most clients read.
fn agents_block() -> ClientFile {
    of_project_file(&["AGENTS.md"], Content::Block)
}
