//! The clients: how a process knows that an agent of one runs it, what each sends to a hook, and which form of answer it
//! understands.
//!
//! Pure. One row for each client; everything else about hooks is the same for all of them.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use super::HookEvent;
use crate::entry::{Author, Source};
use crate::text::escaped_json;

/// The most characters of an answer: below the limit of every client.
pub(super) const MAX_ANSWER: usize = 9_000;
/// The longest name of an event that is repeated in an answer, in bytes.
const MAX_EVENT: usize = 40;
/// Events at which text would make the agent continue, or has no use.
const NO_TEXT_AT: [&str; 6] = ["Stop", "SubagentStop", "AfterAgent", "SessionEnd", "agentStop", "subagentStop"];

/// A client: the names of its fields, and the form of an answer.
#[derive(Debug, PartialEq)]
pub(super) struct Dialect {
    /// Its name in `--agent`.
    pub name: &'static str,
    /// The variables that it sets for the commands of its agent, and for no others. Without one, its agent counts as a person
    /// at a terminal.
    variables: &'static [&'static str],
    /// What is in the name that it gives to a server.
    server: &'static str,
    /// The fields of the session's id; the first one that is present counts.
    pub session: &'static [&'static str],
    /// The fields of the folder: a path, or a list that begins with it.
    pub folder: &'static [&'static str],
    /// The fields of the agent's last message.
    pub message: &'static [&'static str],
    /// The fields of the transcript's path.
    pub transcript: &'static [&'static str],
    pub answer: AnswerForm,
    /// The name of the event before a prompt, for an answer to a client that does not name it; `None` if the client drops
    /// an answer.
    pub prompt_event: Option<&'static str>,
    /// Whether it has an event of its own for a call of a tool that failed, so that at the other one none did.
    pub tells_failure: bool,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerForm {
    /// `{"hookSpecificOutput": {"hookEventName": …, "additionalContext": …}}`.
    Nested,
    /// An object with this key alone.
    Flat(&'static str),
    /// The text itself.
    Text,
}

/// The client whose registered commands name no agent.
const CLAUDE: Dialect = Dialect {
    name: "claude",
    variables: &["CLAUDECODE"],
    server: "claude",
    session: &["session_id"],
    folder: &["cwd"],
    message: &["last_assistant_message"],
    transcript: &["transcript_path"],
    answer: AnswerForm::Nested,
    prompt_event: Some("UserPromptSubmit"),
    tells_failure: true,
};

/// Returns the row of a client that has an event of its own for a failed call, and that of one which has none.
const fn like_claude(name: &'static str, variables: &'static [&'static str]) -> Dialect {
    Dialect { name, variables, server: name, ..CLAUDE }
}
const fn other(name: &'static str, variables: &'static [&'static str]) -> Dialect {
    Dialect { tells_failure: false, ..like_claude(name, variables) }
}

/// Every client. The first row is for payloads that identify no other client.
pub(super) static CLIENTS: [Dialect; 13] = [
    CLAUDE,
    // It drops a whole answer if it does not know one of its keys.
    other("codex", &["CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI"]),
    Dialect {
        // The ids of sessions differ between its events.
        session: &["conversation_id", "session_id"],
        folder: &["cwd", "workspace_roots"],
        answer: AnswerForm::Flat("additional_context"),
        prompt_event: None,
        ..like_claude("cursor", &["CURSOR_AGENT"])
    },
    Dialect {
        session: &["sessionId", "session_id"],
        transcript: &["transcriptPath", "transcript_path"],
        answer: AnswerForm::Flat("additionalContext"),
        prompt_event: None,
        ..like_claude("copilot", &["COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"])
    },
    Dialect {
        server: "visual studio code",
        session: &["session_id", "sessionId"],
        ..other("vscode", &["COPILOT_AGENT"])
    },
    Dialect { message: &["prompt_response"], prompt_event: Some("BeforeAgent"), ..other("gemini", &["GEMINI_CLI"]) },
    like_claude("qwen", &["QWEN_CODE", "QWEN_CODE_SESSION_ID"]),
    // It sets none for commands alone: `DEVIN_PROJECT_DIR` is for hooks.
    other("devin", &[]),
    Dialect { answer: AnswerForm::Text, ..other("opencode", &["OPENCODE"]) },
    Dialect { folder: &["working_dir", "cwd"], prompt_event: None, ..other("goose", &["GOOSE_TERMINAL"]) },
    Dialect { message: &["assistant_response"], answer: AnswerForm::Text, ..other("kiro", &["KIRO_SESSION_ID"]) },
    // It sets none: a person's terminal in it has `ZED_TERM`, too. It has no hooks, and neither has the next one.
    other("zed", &[]),
    other("amp", &["AMP_CURRENT_THREAD_ID"]),
];

/// The variables that say that an agent runs a process, whichever client it is of: that of a loop, and those that are proposed
/// for all clients.
const OF_ANY: [&str; 3] = ["RALPH_RUN_ID", "AI_AGENT", "AGENT"];

impl Author {
    /// Returns who runs a process with these environment variables. An unknown program counts as a person.
    #[doc(hidden)]
    pub fn of_process(variable: &dyn Fn(&str) -> Option<OsString>) -> Author {
        let is_set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty() && value != "0");
        let client = CLIENTS.iter().find(|client| client.variables.iter().any(is_set)).map(|client| client.name);
        let client = client.or_else(|| OF_ANY.iter().any(is_set).then_some(Source::Agent.as_str()));
        client.map_or(Author::Person, |client| Author::Agent(client.to_owned()))
    }

    /// Returns the agent whose client gives a server this name.
    #[doc(hidden)]
    pub fn of_server(name: &str) -> Author {
        Author::Agent(of_server(name).unwrap_or(Source::Agent.as_str()).to_owned())
    }
}

/// Returns the client that gives a server this name.
pub(crate) fn of_server(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    CLIENTS.iter().find(|client| name.contains(client.server)).map(|client| client.name)
}

/// Returns the client of this name.
pub(super) fn named(name: &str) -> Option<&'static Dialect> {
    CLIENTS.iter().find(|client| client.name == name)
}

/// Returns the client that a payload and its environment belong to, because several clients run the hooks in one file.
pub(super) fn recognised(
    payload: &Map<String, Value>,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> &'static Dialect {
    let has = |key: &str| payload.contains_key(key);
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let name = if has("cursor_version") {
        "cursor"
    } else if has("sessionId") {
        "copilot"
    } else if has("timestamp") && has("hook_event_name") {
        "vscode"
    } else if is_set("DEVIN_PROJECT_DIR") {
        "devin"
    } else if is_set("COPILOT_CLI") {
        "copilot"
    } else if is_set("CURSOR_VERSION") {
        "cursor"
    } else {
        CLAUDE.name
    };
    named(name).unwrap_or(&CLIENTS[0])
}

impl Dialect {
    /// Returns the document that gives a text to the client's agent at an event; the client may have its own name for
    /// the event. Returns `None` if the client takes no text there, or if the document would be too long.
    pub(super) fn document(&self, event: HookEvent, named: Option<&str>, text: &str) -> Option<String> {
        let is_name = |name: &&str| name.len() <= MAX_EVENT && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let named = named.filter(is_name);
        let own = match event {
            HookEvent::SessionStart => "SessionStart",
            HookEvent::Prompt => self.prompt_event?,
            HookEvent::Tool => "PostToolUse",
            HookEvent::Stop | HookEvent::SessionEnd => return None,
        };
        if text.is_empty() || named.is_some_and(|name| NO_TEXT_AT.contains(&name)) {
            return None;
        }
        let document = match self.answer {
            AnswerForm::Nested => {
                let name = named.unwrap_or(own);
                escaped_json(
                    &json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text } }).to_string(),
                )
            }
            AnswerForm::Flat(key) => escaped_json(&json!({ key: text }).to_string()),
            AnswerForm::Text => text.to_owned(),
        };
        (document.chars().count() <= MAX_ANSWER).then_some(document)
    }
}
