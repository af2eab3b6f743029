//! What a reader takes and what it returns: plain data.

use serde::{Deserialize, Serialize};

use super::figures::AgentSpending;
use crate::entry::Files;

/// The format of an agent's output.
///
/// ```
/// use ralph_memory::agent_output::transcript::{Format, Options, Reader};
/// let mut reader = Reader::new(Options::default());
/// reader.push(b"{\"type\":\"step_start\",\"sessionID\":\"ses_1\",\"part\":{\"type\":\"step-start\"}}\n");
/// assert_eq!(reader.finish().format, Format::Opencode);
/// assert_eq!(Format::Opencode.name(), "opencode");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Detected: a stream if most of its first lines are events of one client, else plain text.
    #[default]
    Auto,
    /// Plain text.
    Text,
    /// What `claude -p --output-format stream-json --verbose` prints, or Claude Code's file of a session.
    Claude,
    /// What `codex exec --json` prints, or Codex's rollout file.
    Codex,
    /// What `opencode run --format json` or `opencode export` prints.
    Opencode,
    /// Lines of JSON that are not events of these clients. They have no text of the agent.
    Unknown,
}

impl Format {
    /// Returns the name of its program, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Format::Auto => "any format",
            Format::Text => "plain text",
            Format::Claude => "Claude Code",
            Format::Codex => "Codex",
            Format::Opencode => "opencode",
            Format::Unknown => "an unknown format",
        }
    }
}

/// A line of a stream that is not an event.
///
/// ```
/// use ralph_memory::agent_output::transcript::{Format, Options, Reader};
/// let output = "{\"type\":\"turn.started\"}\n\nnpm warn deprecated\n";
/// let transcript = Reader::new(Options { format: Format::Codex, ..Options::default() }).read(output.as_bytes())?;
/// assert_eq!((transcript.n_events, transcript.broken[0].line), (1, 3));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broken {
    /// The line, from 1.
    pub line: u64,
    /// The reason, without any content of the line.
    pub reason: String,
}

/// The content of an agent's output.
///
/// ```
/// use ralph_memory::agent_output::transcript::{Options, Reader};
/// let output = "I read the code.\n- Decision: keep the old parser\n<task-done>t-3</task-done>\n";
/// let transcript = Reader::new(Options::default()).read(output.as_bytes())?;
/// assert_eq!(transcript.decisions, ["keep the old parser"]);
/// assert!(transcript.is_complete && !transcript.is_failed);
/// assert_eq!(transcript.cost_usd, None, "plain text does not say what it cost");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each way to end has its own flag")]
pub struct Transcript {
    /// The format; a [`Reader`](super::Reader) never returns [`Format::Auto`].
    pub format: Format,
    /// The agent's own text: in a stream its messages, in order, with a blank line between two of them, without
    /// thoughts, tools and subagents. If the stream has no event, it is all of the output. At most the last
    /// [`MAX_TEXT`](super::MAX_TEXT) bytes are kept.
    pub text: String,
    /// How many bytes of the text's beginning were not kept.
    pub n_dropped: u64,
    /// The project's files that its tools created, modified and read, each in one list.
    pub files: Files,
    /// The errors of its tools and of the agent itself, a line each, in order, without secrets.
    pub errors: Vec<String>,
    /// The commands that its tools ran, each once, in order, in backticks, cut and without secrets.
    #[serde(default)]
    pub commands: Vec<String>,
    /// Its decisions, a line each, in order, without secrets: lines that begin, after the mark of a list, a heading or
    /// emphasis, with `Decision:`, `Decided:`, `I decided to` and the like. Code fences and quotations do not count.
    pub decisions: Vec<String>,
    /// The agent's final message, without sigils; empty for plain text.
    pub summary: String,
    /// Its cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How many tokens the model read, including those from its cache.
    pub tokens_in: Option<u64>,
    /// How many tokens the model wrote.
    pub tokens_out: Option<u64>,
    /// The model that the agent reports.
    pub model: Option<String>,
    /// Its duration, in seconds.
    pub duration_secs: Option<f64>,
    /// Whether the stream reports that the agent itself failed, rather than the task.
    pub is_failed: bool,
    /// Whether the stream reports that a limit of turns, tokens or money ended the work, or that the model refused it.
    #[serde(default)]
    pub is_blocked: bool,
    /// Whether the stream reports that a person stopped the work.
    #[serde(default)]
    pub is_interrupted: bool,
    /// Whether the stream has its final event.
    pub is_complete: bool,
    /// How many lines were events.
    pub n_events: u64,
    /// The lines that were not events, the first [`MAX_BROKEN`](super::MAX_BROKEN).
    pub broken: Vec<Broken>,
    /// How many more there were.
    pub n_more_broken: u64,
}

impl Transcript {
    /// Returns the tokens and the money that the agent spent.
    pub fn spending(&self) -> AgentSpending {
        AgentSpending { tokens_in: self.tokens_in, tokens_out: self.tokens_out, cost_usd: self.cost_usd }
    }
}

/// The options of a [`Reader`](super::Reader).
///
/// ```
/// use ralph_memory::agent_output::transcript::{Format, Options, Reader};
/// let change = r#"{"type":"file_change","changes":[{"path":"/app/src/main.rs","kind":"add"}],"status":"completed"}"#;
/// let output = format!(r#"{{"type":"item.completed","item":{change}}}"#);
/// let options = Options { format: Format::Codex, root: "/app".into(), ..Options::default() };
/// let transcript = Reader::new(options).read(output.as_bytes())?;
/// assert_eq!(transcript.files.touched(), ["src/main.rs"], "relative to the project");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The format of the output.
    pub format: Format,
    /// The full path of the project's folder. File names are made relative to it. If the agent worked in another
    /// folder, such as a container's or a second work tree, that folder counts as the project's.
    pub root: String,
    /// The fingerprints of texts that look like secrets but are not.
    pub allowed_secrets: Vec<String>,
}
