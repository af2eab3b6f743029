//! One call of a hook: the event, and what the client passes with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::dialect::{self, Dialect};
use super::payload::{HookPayload, object};
use super::tool_call::ToolUse;
use crate::error::{Error, Result};
use crate::text::choice;

/// The variables that name the project's folder, for clients whose payload does not.
const FOLDERS: [&str; 3] = ["CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "DEVIN_PROJECT_DIR"];

choice! {
    /// An event of an agent's session.
    ///
    /// ```
    /// use ralph_memory::memory::HookEvent;
    /// assert_eq!(HookEvent::parse("session-start"), Some(HookEvent::SessionStart));
    /// let names: Vec<&str> = HookEvent::ALL.iter().map(|event| event.as_str()).collect();
    /// assert_eq!(names, ["session-start", "tool", "prompt", "stop", "session-end"]);
    /// ```
    pub enum HookEvent {
        /// A session began, was resumed, or was compacted.
        SessionStart = "session-start",
        /// The agent called a tool.
        Tool = "tool",
        /// A person wrote a prompt.
        Prompt = "prompt",
        /// The agent ended its turn.
        Stop = "stop",
        /// The session ended.
        SessionEnd = "session-end",
    }
}

/// A call of a hook by an agent's client.
///
/// ```
/// use std::path::Path;
/// use ralph_memory::memory::{HookCall, HookEvent};
/// let input = br#"{"session_id": "s-1", "cwd": "/", "source": "startup"}"#;
/// let call = HookCall::new(HookEvent::SessionStart, Some("codex"), input, &|_| None)?;
/// assert_eq!((call.client(), call.folder()), ("codex", Some(Path::new("/"))));
/// assert!(HookCall::new(HookEvent::Stop, Some("nobody"), b"", &|_| None).is_err());
/// // Input that is not what a client sends is like none.
/// assert_eq!(HookCall::new(HookEvent::Stop, None, b"{\"cwd\": [[[", &|_| None)?.folder(), None);
/// # Ok::<(), ralph_memory::Error>(())
/// ```
#[derive(Debug)]
pub struct HookCall {
    pub(super) event: HookEvent,
    pub(super) client: &'static Dialect,
    pub(super) payload: HookPayload,
    /// What the client says about the call of a tool; nothing at another event.
    pub(super) tool: ToolUse,
    /// When the client started the program, as far as that is known.
    pub(super) began: Instant,
    folder: Option<PathBuf>,
    /// The run of the loop in which it happens.
    pub(super) run: Option<String>,
}

/// The result of a hook.
///
/// ```
/// use ralph_memory::memory::{HookCall, HookEvent};
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// Memory::open(root)?.add(&Knowledge::new("Ports", ["staging"], "PostgreSQL listens on 5433."))?;
/// let fire = |input: &[u8]| {
///     let call = HookCall::new(HookEvent::SessionStart, None, input, &|_| None)?;
///     Ok::<_, ralph_memory::Error>(Memory::open(root)?.hook(&call, &|| false))
/// };
/// let input = br#"{"session_id": "s-1", "source": "startup", "hook_event_name": "SessionStart"}"#;
/// assert!(fire(input)?.output.contains("PostgreSQL listens on 5433."));
/// assert_eq!(fire(input)?.output, "", "a session gets its briefing once");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// What the client reads on standard output: one document, or nothing.
    pub output: String,
    /// What went wrong, one line each, for standard error.
    pub notes: Vec<String>,
}

impl HookCall {
    /// The names of the clients, for [`HookCall::new`].
    pub fn clients() -> Vec<&'static str> {
        dialect::CLIENTS.iter().map(|client| client.name).collect()
    }

    /// Reads the `input` that a client gives to a hook. `agent` is the client's name; without one, the input and the
    /// environment `variable`s decide. No input does harm: if it has no valid fields, the call has none.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if there is no client of this name.
    pub fn new(
        event: HookEvent,
        agent: Option<&str>,
        input: &[u8],
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<HookCall> {
        let (object, problem) = object(input);
        let client = match agent {
            Some(name) => dialect::named(name).ok_or_else(|| {
                let names = HookCall::clients().join(", ");
                Error::invalid("agent", format!("`{name}` is not one of {names}"))
            })?,
            None => dialect::recognised(&object, variable),
        };
        let tool = if event == HookEvent::Tool { ToolUse::new(&object, client) } else { ToolUse::default() };
        let payload = HookPayload { problem, ..HookPayload::new(&object, client) };
        let variables = FOLDERS.iter().filter_map(|name| variable(name)).map(PathBuf::from);
        let mut folders = payload.folder.iter().map(PathBuf::from).chain(variables);
        let folder = folders.find(|folder| folder.is_absolute() && folder.is_dir());
        let run = variable("RALPH_RUN_ID").and_then(|run| run.into_string().ok()).filter(|run| !run.is_empty());
        Ok(HookCall { event, client, payload, tool, folder, run, began: Instant::now() })
    }

    /// Adds a problem of the input, for the log of the hooks.
    #[must_use]
    pub fn with_problem(mut self, problem: Option<String>) -> HookCall {
        self.payload.problem = problem.or(self.payload.problem);
        self
    }

    /// Says when the program was started, for the time that a call of a tool waits.
    #[must_use]
    pub fn started_at(self, began: Instant) -> HookCall {
        HookCall { began, ..self }
    }

    /// Returns the client's name.
    pub fn client(&self) -> &'static str {
        self.client.name
    }

    /// Returns the folder of the session, if the client names one that exists.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}
