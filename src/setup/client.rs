//! The clients that set-up knows: their names, how they are found here, and what only a person can do.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::locate::Base;
use crate::error::Error;
use crate::text::nearest;

/// A client of coding agents, or a kind of file that several of them read.
///
/// ```
/// use ralph_memory::setup::SetupClient;
///
/// assert_eq!("codex".parse::<SetupClient>()?, SetupClient::Codex);
/// let error = "codx".parse::<SetupClient>().unwrap_err();
/// assert!(error.to_string().contains("did you mean `codex`?"));
/// # Ok::<(), ralph_memory::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SetupClient {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Cursor, the editor and its command line.
    Cursor,
    /// opencode.
    #[serde(rename = "opencode")]
    OpenCode,
    /// GitHub Copilot's command line.
    Copilot,
    /// Visual Studio Code.
    #[serde(rename = "vscode")]
    VsCode,
    /// Instructions in `AGENTS.md`, for any client that reads them.
    AgentsMd,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// Kiro.
    Kiro,
    /// Devin, formerly Windsurf.
    Devin,
    /// Goose.
    Goose,
    /// Zed.
    Zed,
    /// Amp.
    Amp,
}

/// Where a client leaves traces: files and folders by which it is found, and programs in `PATH`.
pub(super) struct Traces {
    pub(super) paths: &'static [(Base, &'static str)],
    pub(super) programs: &'static [&'static str],
}

impl SetupClient {
    /// All of them.
    pub const ALL: [SetupClient; 14] = [
        SetupClient::Claude,
        SetupClient::Codex,
        SetupClient::Cursor,
        SetupClient::OpenCode,
        SetupClient::Copilot,
        SetupClient::VsCode,
        SetupClient::AgentsMd,
        SetupClient::Gemini,
        SetupClient::Qwen,
        SetupClient::Kiro,
        SetupClient::Devin,
        SetupClient::Goose,
        SetupClient::Zed,
        SetupClient::Amp,
    ];

    /// Returns its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            SetupClient::Claude => "claude",
            SetupClient::Codex => "codex",
            SetupClient::Cursor => "cursor",
            SetupClient::OpenCode => "opencode",
            SetupClient::Copilot => "copilot",
            SetupClient::VsCode => "vscode",
            SetupClient::AgentsMd => "agents-md",
            SetupClient::Gemini => "gemini",
            SetupClient::Qwen => "qwen",
            SetupClient::Kiro => "kiro",
            SetupClient::Devin => "devin",
            SetupClient::Goose => "goose",
            SetupClient::Zed => "zed",
            SetupClient::Amp => "amp",
        }
    }

    /// Returns its name in sentences.
    pub fn title(self) -> &'static str {
        match self {
            SetupClient::Claude => "Claude Code",
            SetupClient::Codex => "Codex",
            SetupClient::Cursor => "Cursor",
            SetupClient::OpenCode => "opencode",
            SetupClient::Copilot => "Copilot CLI",
            SetupClient::VsCode => "VS Code",
            SetupClient::AgentsMd => "AGENTS.md",
            SetupClient::Gemini => "Gemini CLI",
            SetupClient::Qwen => "Qwen Code",
            SetupClient::Kiro => "Kiro",
            SetupClient::Devin => "Devin",
            SetupClient::Goose => "Goose",
            SetupClient::Zed => "Zed",
            SetupClient::Amp => "Amp",
        }
    }

    /// Returns by what it is found. A folder that `init` creates, `.claude/skills`, is no trace.
    pub(super) fn traces(self) -> Traces {
        use Base::{ClaudeHome, CodexHome, ConfigHome, Home, Project};
        let (paths, programs): (&[(Base, &str)], &[&str]) = match self {
            SetupClient::Claude => (
                &[
                    (Project, "CLAUDE.md"),
                    (Project, "CLAUDE.local.md"),
                    (Project, ".claude/CLAUDE.md"),
                    (Project, ".claude/settings.json"),
                    (Project, ".claude/settings.local.json"),
                    (ClaudeHome, ""),
                ],
                &["claude"],
            ),
            SetupClient::Codex => (&[(Project, ".codex"), (CodexHome, "")], &["codex"]),
            SetupClient::Cursor => (&[(Project, ".cursor"), (Home, ".cursor")], &["cursor", "cursor-agent"]),
            SetupClient::OpenCode => (
                &[
                    (Project, ".opencode"),
                    (Project, "opencode.json"),
                    (Project, "opencode.jsonc"),
                    (ConfigHome, "opencode"),
                ],
                &["opencode"],
            ),
            SetupClient::Copilot => (&[(Project, ".github/copilot-instructions.md"), (Home, ".copilot")], &["copilot"]),
            SetupClient::VsCode => (&[(Project, ".vscode")], &["code"]),
            SetupClient::AgentsMd => (&[(Project, "AGENTS.md")], &[]),
            SetupClient::Gemini => (&[(Project, ".gemini"), (Home, ".gemini")], &["gemini"]),
            SetupClient::Qwen => (&[(Project, ".qwen"), (Home, ".qwen")], &["qwen"]),
            SetupClient::Kiro => (&[(Project, ".kiro"), (Home, ".kiro")], &["kiro", "kiro-cli"]),
            SetupClient::Devin => (&[(Project, ".devin"), (ConfigHome, "devin")], &["devin"]),
            SetupClient::Goose => (&[(ConfigHome, "goose")], &["goose"]),
            SetupClient::Zed => (&[(Project, ".zed"), (ConfigHome, "zed")], &["zed"]),
            SetupClient::Amp => (&[(Project, ".amp"), (ConfigHome, "amp")], &["amp"]),
        };
        Traces { paths, programs }
    }

    /// Returns what only a person can do after set-up.
    pub(super) fn step(self, is_project: bool, allows_tools: bool) -> Option<&'static str> {
        Some(match (self, is_project) {
            (SetupClient::Claude, true) if allows_tools => {
                "start it in this folder, trust the folder, and approve the server; `/mcp` shows its state. Sessions in a \
                 subfolder have the server and no hooks"
            }
            (SetupClient::Claude, true) => {
                "start it in this folder, trust the folder, and approve the server; `/mcp` shows its state. Sessions in a \
                 subfolder have the server and no hooks. `claude -p` refuses the tools until they are allowed: \
                 `ralph-memory setup claude --allow-tools`"
            }
            (SetupClient::Claude, false) if allows_tools => "restart it; the plugin `ralph-memory` is loaded by itself",
            (SetupClient::Claude, false) => {
                "restart it; the plugin `ralph-memory` is loaded by itself. `claude -p` refuses the tools until they are \
                 allowed: `ralph-memory setup claude --scope user --allow-tools`"
            }
            (SetupClient::Codex, true) => "trust the folder when it asks, then run `/hooks` and trust the new hooks",
            (SetupClient::Codex, false) => "run `/hooks` and trust the new hooks",
            (SetupClient::Cursor, _) => "restart it, and enable the server `ralph-memory` in its MCP settings",
            (SetupClient::Copilot, _) => "trust the folder when it asks",
            (SetupClient::VsCode, _) => "trust the server when it asks; `MCP: List Servers` shows its state",
            (SetupClient::Gemini | SetupClient::Qwen, true) => "trust the folder, and restart it",
            (SetupClient::Kiro | SetupClient::Devin | SetupClient::Amp, _) => {
                "restart it, and approve the server when it asks"
            }
            (SetupClient::AgentsMd, _) => return None,
            (_, _) => "restart it",
        })
    }
}

impl fmt::Display for SetupClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for SetupClient {
    type Err = Error;

    /// Reads the name of a client.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], which names a similar client, or all.
    fn from_str(name: &str) -> Result<SetupClient, Error> {
        if let Some(known) = SetupClient::ALL.into_iter().find(|known| known.as_str() == name) {
            return Ok(known);
        }
        let names = SetupClient::ALL.map(SetupClient::as_str);
        let hint = nearest(name, names.into_iter()).map_or_else(
            || format!("the known ones are {}", names.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        Err(Error::invalid("AGENT", format!("`{name}` is not a known client; {hint}")))
    }
}
