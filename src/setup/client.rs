//! The clients that setup knows: their names, how they are detected, and what only a person can do.

use self::SetupClient::{AgentsMd, Amp, Claude, Codex, Copilot, Cursor, Devin, Gemini, OpenCode, Qwen, VsCode, Zed};
use super::locate::Base::{self, ClaudeHome, CodexHome, ConfigHome, Home, Project};
use crate::text::choice;

choice! {
    /// A client of coding agents, or a kind of file that several of them read.
    ///
    /// ```
    /// use ralph_memory::setup::SetupClient;
    ///
    /// assert_eq!((SetupClient::VsCode.as_str(), SetupClient::VsCode.title()), ("vscode", "VS Code"));
    /// assert_eq!(SetupClient::ALL.len(), 12);
    /// ```
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum SetupClient {
        /// Claude Code.
        Claude = "claude",
        /// Codex.
        Codex = "codex",
        /// Cursor, the editor and its command line.
        Cursor = "cursor",
        /// opencode.
        OpenCode = "opencode",
        /// GitHub Copilot's command line.
        Copilot = "copilot",
        /// Visual Studio Code.
        VsCode = "vscode",
        /// Instructions in `AGENTS.md`, for any client that reads them.
        AgentsMd = "agents-md",
        /// Gemini CLI.
        Gemini = "gemini",
        /// Qwen Code.
        Qwen = "qwen",
        /// Devin, formerly Windsurf.
        Devin = "devin",
        /// Zed.
        Zed = "zed",
        /// Amp.
        Amp = "amp",
    }
}

/// What setup knows about a client: its name in sentences, and the files, folders and programs in `PATH` that reveal
/// it. `.claude/skills`, which `init` creates, reveals nothing.
type ClientFacts = (SetupClient, &'static str, &'static [(Base, &'static str)], &'static [&'static str]);

/// The clients, in the order in which the enum has them.
#[rustfmt::skip]
const CLIENTS: [ClientFacts; 12] = [
    (Claude, "Claude Code", &[
        (Project, "CLAUDE.md"), (Project, "CLAUDE.local.md"), (Project, ".claude/CLAUDE.md"),
        (Project, ".claude/settings.json"), (Project, ".claude/settings.local.json"), (ClaudeHome, ""),
    ], &["claude"]),
    (Codex, "Codex", &[(Project, ".codex"), (CodexHome, "")], &["codex"]),
    (Cursor, "Cursor", &[(Project, ".cursor"), (Home, ".cursor")], &["cursor", "cursor-agent"]),
    (OpenCode, "opencode", &[
        (Project, ".opencode"), (Project, "opencode.json"), (Project, "opencode.jsonc"), (ConfigHome, "opencode"),
    ], &["opencode"]),
    (Copilot, "Copilot CLI", &[(Project, ".github/copilot-instructions.md"), (Home, ".copilot")], &["copilot"]),
    (VsCode, "VS Code", &[(Project, ".vscode")], &["code"]),
    (AgentsMd, "AGENTS.md", &[(Project, "AGENTS.md")], &[]),
    (Gemini, "Gemini CLI", &[(Project, ".gemini"), (Home, ".gemini")], &["gemini"]),
    (Qwen, "Qwen Code", &[(Project, ".qwen"), (Home, ".qwen")], &["qwen"]),
    (Devin, "Devin", &[(Project, ".devin"), (ConfigHome, "devin")], &["devin"]),
    (Zed, "Zed", &[(Project, ".zed"), (ConfigHome, "zed")], &["zed"]),
    (Amp, "Amp", &[(Project, ".amp"), (ConfigHome, "amp")], &["amp"]),
];

impl SetupClient {
    fn facts(self) -> &'static ClientFacts {
        &CLIENTS[self as usize]
    }

    /// Returns its name in sentences.
    pub fn title(self) -> &'static str {
        self.facts().1
    }

    /// Returns the files and folders by which it is found, and the programs in `PATH`.
    pub(super) fn traces(self) -> (&'static [(Base, &'static str)], &'static [&'static str]) {
        (self.facts().2, self.facts().3)
    }

    /// Returns what only a person can do after setup.
    pub(super) fn step(self, is_project: bool, allows_tools: bool) -> Option<String> {
        let step = match (self, is_project) {
            (Claude, true) => {
                "start it in this folder, trust the folder, and approve the server; `/mcp` shows its state. Sessions in a \
                 subfolder have the server and no hooks"
            }
            (Claude, false) => "restart it; the plugin `ralph-memory` is loaded by itself",
            (Codex, true) => "trust the folder when it asks, then run `/hooks` and trust the new hooks",
            (Codex, false) => "run `/hooks` and trust the new hooks",
            (Cursor, _) => "restart it, and enable the server `ralph-memory` in its MCP settings",
            (Copilot, _) => "trust the folder when it asks",
            (VsCode, _) => "trust the server when it asks; `MCP: List Servers` shows its state",
            (Gemini | Qwen, true) => "trust the folder, and restart it",
            (Devin | Amp, _) => "restart it, and approve the server when it asks",
            (AgentsMd, _) => return None,
            (_, _) => "restart it",
        };
        if self != Claude || allows_tools {
            return Some(step.to_owned());
        }
        let allow = if is_project {
            "`ralph-memory setup claude --allow-tools`"
        } else {
            "`ralph-memory setup claude --scope user --allow-tools`"
        };
        Some(format!("{step}. `claude -p` refuses the tools until they are allowed: {allow}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_row() {
        for client in SetupClient::ALL {
            assert_eq!(client.facts().0, *client);
        }
    }
}
