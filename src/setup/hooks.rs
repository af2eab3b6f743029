//! The hooks of clients: the form of an entry, the names of the events, and the limits.

use serde_json::{Value, json};

use crate::sessions::HookEvent::{self, Prompt, SessionEnd, SessionStart, Stop, Tool};

/// The form of a hook's entry.
#[derive(Debug, Clone, Copy)]
pub(super) enum HookForm {
    /// A group with a list of handlers, as in Claude Code.
    Group,
    /// As in Cursor.
    Flat,
    /// As in VS Code.
    Command,
    /// As in the Copilot CLI.
    Bash,
}

/// The hooks of a client.
pub(super) struct Hooks {
    pub(super) form: HookForm,
    pub(super) agent: Option<&'static str>,
    /// The key that holds the events; the root if there is none.
    pub(super) key: Option<&'static str>,
    /// The client's names for the start of a session, a prompt, the end of a turn and the end of a session; empty for an
    /// event that it does not have.
    names: [&'static str; 4],
    /// Its events after a call of a tool whose hooks may add text for the agent, and the tools for which they run; all of them
    /// without a name.
    tools: &'static [(&'static str, &'static str)],
    /// How long a hook may take, in the client's unit.
    limit: u32,
}

const fn hooks(form: HookForm, agent: Option<&'static str>, names: [&'static str; 4]) -> Hooks {
    Hooks { form, agent, key: Some("hooks"), names, tools: &[], limit: 10 }
}

const NAMES: [&str; 4] = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"];
/// It drops the text of a hook at `SessionStart`, so the first prompt brings the briefing; at later prompts of a session,
/// the hook is silent.
const QWEN_NAMES: [&str; 4] = ["UserPromptSubmit", "UserPromptSubmit", "Stop", "SessionEnd"];
const GEMINI_NAMES: [&str; 4] = ["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"];
const MILLISECONDS: u32 = 10_000;

pub(super) const CLAUDE: Hooks = Hooks {
    tools: &[("PostToolUse", "Read|Edit|MultiEdit|Write|NotebookEdit"), ("PostToolUseFailure", "Bash")],
    ..hooks(HookForm::Group, None, NAMES)
};
pub(super) const CODEX: Hooks = Hooks { tools: &[("PostToolUse", "")], ..hooks(HookForm::Group, Some("codex"), NAMES) };
pub(super) const CURSOR: Hooks = Hooks {
    tools: &[("postToolUse", ""), ("postToolUseFailure", "")],
    ..hooks(HookForm::Flat, None, ["sessionStart", "", "stop", "sessionEnd"])
};
pub(super) const COPILOT: Hooks = Hooks {
    tools: &[("postToolUse", ""), ("postToolUseFailure", "")],
    ..hooks(HookForm::Bash, Some("copilot"), ["sessionStart", "", "agentStop", "sessionEnd"])
};
pub(super) const VSCODE: Hooks = Hooks {
    tools: &[("PostToolUse", "")],
    ..hooks(HookForm::Command, Some("vscode"), ["SessionStart", "UserPromptSubmit", "Stop", ""])
};
pub(super) const GEMINI: Hooks =
    Hooks { tools: &[("AfterTool", "")], limit: MILLISECONDS, ..hooks(HookForm::Group, Some("gemini"), GEMINI_NAMES) };
pub(super) const QWEN: Hooks = Hooks { limit: MILLISECONDS, ..hooks(HookForm::Group, Some("qwen"), QWEN_NAMES) };
pub(super) const DEVIN: Hooks = Hooks { key: None, ..hooks(HookForm::Group, Some("devin"), NAMES) };

impl Hooks {
    /// Returns the events that the client has, with its names for them, the tools for which they run, and the limits in its
    /// unit. New ones come last: Codex knows a hook by its place.
    pub(super) fn events(&self) -> impl Iterator<Item = (HookEvent, &'static str, &'static str, u32)> {
        let (limit, is_codex) = (self.limit, self.agent == Some("codex"));
        let named =
            [SessionStart, Prompt, Stop, SessionEnd].into_iter().zip(self.names).map(|(event, name)| (event, name, ""));
        let tools = self.tools.iter().map(|(name, tools)| (Tool, *name, *tools));
        // Codex gives the last one 3 s at most.
        let limit = move |event| if is_codex && event == SessionEnd { 3 } else { limit };
        let events = named.chain(tools).filter(|(_, name, _)| !name.is_empty());
        events.map(move |(event, name, tools)| (event, name, tools, limit(event)))
    }
}

impl HookForm {
    /// Returns whether a file of hooks of this form names its version.
    pub(super) fn has_version(self) -> bool {
        !matches!(self, HookForm::Group)
    }

    /// Returns the entry that runs a line for some tools, or for all of them without a name.
    pub(super) fn value(self, line: &str, tools: &str, timeout: u32) -> Value {
        let handler = json!({"type": "command", "command": line, "timeout": timeout});
        match self {
            HookForm::Group if tools.is_empty() => json!({"hooks": [handler]}),
            HookForm::Group => json!({"matcher": tools, "hooks": [handler]}),
            HookForm::Command => handler,
            HookForm::Flat => json!({"command": line, "timeout": timeout}),
            HookForm::Bash => json!({"type": "command", "bash": line, "timeoutSec": timeout}),
        }
    }
}
