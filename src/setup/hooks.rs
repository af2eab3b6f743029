//! The hooks of clients: the form of an entry, the names of the events, and the limits.

use super::config_value::ConfigValue;
use crate::hook::HookEvent;

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
    /// A list of all hooks with their triggers, as in Kiro.
    Trigger,
}

/// The hooks of a client: the list of events with its names for them and their limits, in the client's unit.
pub(super) struct Hooks {
    pub(super) form: HookForm,
    pub(super) agent: Option<&'static str>,
    /// The key that holds the events; the root if there is none.
    pub(super) key: Option<&'static str>,
    pub(super) events: &'static [(HookEvent, &'static str, u32)],
}

use HookEvent::{Prompt, SessionEnd, SessionStart, Stop};

const CLAUDE_EVENTS: &[(HookEvent, &str, u32)] = &[
    (SessionStart, "SessionStart", 10),
    (Prompt, "UserPromptSubmit", 10),
    (Stop, "Stop", 10),
    (SessionEnd, "SessionEnd", 10),
];
/// Codex gives the last one 3 s at most.
const CODEX_EVENTS: &[(HookEvent, &str, u32)] = &[
    (SessionStart, "SessionStart", 10),
    (Prompt, "UserPromptSubmit", 10),
    (Stop, "Stop", 10),
    (SessionEnd, "SessionEnd", 3),
];
const CURSOR_EVENTS: &[(HookEvent, &str, u32)] =
    &[(SessionStart, "sessionStart", 10), (Stop, "stop", 10), (SessionEnd, "sessionEnd", 10)];
const COPILOT_EVENTS: &[(HookEvent, &str, u32)] =
    &[(SessionStart, "sessionStart", 10), (Stop, "agentStop", 10), (SessionEnd, "sessionEnd", 10)];
const VSCODE_EVENTS: &[(HookEvent, &str, u32)] =
    &[(SessionStart, "SessionStart", 10), (Prompt, "UserPromptSubmit", 10), (Stop, "Stop", 10)];
/// In milliseconds.
const GEMINI_EVENTS: &[(HookEvent, &str, u32)] = &[
    (SessionStart, "SessionStart", 10_000),
    (Prompt, "BeforeAgent", 10_000),
    (Stop, "AfterAgent", 10_000),
    (SessionEnd, "SessionEnd", 10_000),
];
/// In milliseconds. It drops the text of a hook at `SessionStart`, so the first prompt brings the briefing; at later
/// prompts of a session, the hook is silent.
const QWEN_EVENTS: &[(HookEvent, &str, u32)] = &[
    (SessionStart, "UserPromptSubmit", 10_000),
    (Prompt, "UserPromptSubmit", 10_000),
    (Stop, "Stop", 10_000),
    (SessionEnd, "SessionEnd", 10_000),
];

const fn hooks(
    form: HookForm,
    agent: Option<&'static str>,
    key: Option<&'static str>,
    events: &'static [(HookEvent, &'static str, u32)],
) -> Hooks {
    Hooks { form, agent, key, events }
}

pub(super) const CLAUDE: Hooks = hooks(HookForm::Group, None, Some("hooks"), CLAUDE_EVENTS);
pub(super) const CODEX: Hooks = hooks(HookForm::Group, Some("codex"), Some("hooks"), CODEX_EVENTS);
pub(super) const CURSOR: Hooks = hooks(HookForm::Flat, None, Some("hooks"), CURSOR_EVENTS);
pub(super) const COPILOT: Hooks = hooks(HookForm::Bash, Some("copilot"), Some("hooks"), COPILOT_EVENTS);
pub(super) const VSCODE: Hooks = hooks(HookForm::Command, Some("vscode"), Some("hooks"), VSCODE_EVENTS);
pub(super) const GEMINI: Hooks = hooks(HookForm::Group, Some("gemini"), Some("hooks"), GEMINI_EVENTS);
pub(super) const QWEN: Hooks = hooks(HookForm::Group, Some("qwen"), Some("hooks"), QWEN_EVENTS);
pub(super) const KIRO: Hooks = hooks(HookForm::Trigger, Some("kiro"), Some("hooks"), CLAUDE_EVENTS);
pub(super) const DEVIN: Hooks = hooks(HookForm::Group, Some("devin"), None, CLAUDE_EVENTS);
pub(super) const GOOSE: Hooks = hooks(HookForm::Group, Some("goose"), Some("hooks"), CLAUDE_EVENTS);

impl HookForm {
    /// Returns the version that a file of hooks of this form names.
    pub(super) fn version(self) -> Option<ConfigValue> {
        match self {
            HookForm::Group => None,
            HookForm::Flat | HookForm::Command | HookForm::Bash => Some(ConfigValue::Number("1".to_owned())),
            HookForm::Trigger => Some(ConfigValue::text("v1")),
        }
    }

    /// Returns the entry that runs a line.
    pub(super) fn value(self, line: &str, event: HookEvent, name: &str, timeout: u32) -> ConfigValue {
        let (kind, line) = (ConfigValue::text("command"), ConfigValue::text(line));
        let timeout = ConfigValue::Number(timeout.to_string());
        match self {
            HookForm::Group => {
                let handler = ConfigValue::map([("type", kind), ("command", line), ("timeout", timeout)]);
                ConfigValue::map([("hooks", ConfigValue::List(vec![handler]))])
            }
            HookForm::Trigger => ConfigValue::map([
                ("name", ConfigValue::Text(format!("ralph-memory {}", event.as_str()))),
                ("trigger", ConfigValue::text(name)),
                ("action", ConfigValue::map([("type", kind), ("command", line)])),
                ("timeout", timeout),
                ("enabled", ConfigValue::Flag(true)),
            ]),
            HookForm::Command => ConfigValue::map([("type", kind), ("command", line), ("timeout", timeout)]),
            HookForm::Flat => ConfigValue::map([("command", line), ("timeout", timeout)]),
            HookForm::Bash => ConfigValue::map([("type", kind), ("bash", line), ("timeoutSec", timeout)]),
        }
    }
}
