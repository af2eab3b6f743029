//! Transcripts: the content of an agent's output, which may be plain text, or the events of Claude Code, Codex or
//! opencode, streamed or from a session file.
//!
//! Pure. A [`Reader`] takes the output piece by piece, in constant memory, and returns a [`Transcript`]: the agent's
//! own text, which may have sigils, and the files, errors, decisions, cost and model from its tool calls and its final
//! message. Unknown events and fields are skipped, as both vendors recommend. A line that is not an event is reported
//! and stops nothing.
//!
//! Lines are parsed field by field, and unused values are never built: only the failure flag of a tool's result of 5 MB
//! is read.

mod builder;
mod claude;
mod codex;
mod content;
mod detect;
mod ending;
mod event;
mod figures;
mod json;
mod opencode;
mod opencode_export;
mod paths;
mod printed;
mod rollout;
mod stream;
mod tail;

use std::io::{self, BufRead};
use std::mem;

use self::builder::TranscriptBuilder;
use self::claude::Claude;
use self::codex::Codex;
use self::detect::Detecting;
use self::event::Events;
use self::opencode::Opencode;
use self::printed::Printed;
use self::stream::ClientStream;
use self::tail::Tail;
use crate::text::{Utf16Decoder, decoded, repaired_json};

pub use self::content::{Format, Options, Transcript};
pub use self::event::AgentEvent;
// Parts of answers: their fields are read, and nobody has to name them.
pub(crate) use self::paths::within_project;
#[doc(hidden)]
pub use self::{content::Broken, figures::AgentSpending};

/// How much of the end of an agent's text is kept, in bytes. That is two million tokens, more than any session has, but
/// little enough that recording any output takes less than 50 MB.
pub const MAX_TEXT: usize = 8 * 1024 * 1024;
/// The longest line of a stream that is read, in bytes: several times the largest image that a tool returns.
pub const MAX_LINE: usize = 8 * 1024 * 1024;
/// How many lines that are not events are reported one by one.
pub const MAX_BROKEN: usize = 20;

/// The error of an output of [`Format::Unknown`].
pub const UNKNOWN_FORMAT: &str = "it is JSON without a known event; tried: Claude Code \
    (`stream-json`, session file), Codex (`exec --json`, rollout file) and opencode (`run --format json`, `export`)";

/// Reads an agent's output, piece by piece.
///
/// ```
/// use ralph_memory::agent_output::transcript::{Format, Options, Reader};
/// let stream = concat!(
///     r#"{"type":"thread.started","thread_id":"1"}"#, "\n",
///     r#"{"type":"item.completed","item":{"type":"agent_message","text":"<task-done>t-1</task-done>"}}"#, "\n",
///     r#"{"type":"turn.completed","usage":{"input_tokens":90,"output_tokens":7}}"#, "\n",
/// );
/// let said = Reader::new(Options::default()).read(stream.as_bytes())?;
/// assert_eq!((said.format, said.text.as_str()), (Format::Codex, "<task-done>t-1</task-done>"));
/// assert_eq!((said.tokens_in, said.tokens_out), (Some(90), Some(7)));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    mode: ReaderMode,
    /// Whether the format has to be detected.
    is_auto: bool,
    builder: TranscriptBuilder,
    /// The output may be UTF-16.
    decoder: Utf16Decoder,
    /// The output of a stream without an event so far: it may be plain text.
    plain: Tail,
    /// The incomplete last line.
    line: Vec<u8>,
    /// Whether that line is too long, so that the rest of it is skipped.
    is_over_long: bool,
    n_lines: u64,
    n_events: u64,
    broken: Vec<Broken>,
    n_more_broken: u64,
}

/// The mode of a reader.
#[derive(Debug)]
enum ReaderMode {
    Detecting(Detecting),
    Text(Tail),
    Stream(Format, Box<dyn ClientStream>),
    Unknown(Tail),
}

impl Reader {
    /// Returns a reader that has read nothing yet.
    pub fn new(options: Options) -> Reader {
        Reader {
            mode: ReaderMode::of(options.format),
            is_auto: options.format == Format::Auto,
            builder: TranscriptBuilder::new(&options.root, options.allowed_secrets),
            decoder: Utf16Decoder::default(),
            plain: Tail::default(),
            line: Vec::new(),
            is_over_long: false,
            n_lines: 0,
            n_events: 0,
            broken: Vec::new(),
            n_more_broken: 0,
        }
    }

    /// Reads the next piece of the output, which may end anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        let decoded = self.decoder.push(bytes);
        self.push_decoded(&decoded);
    }

    fn push_decoded(&mut self, bytes: &[u8]) {
        match &mut self.mode {
            ReaderMode::Text(tail) | ReaderMode::Unknown(tail) => tail.push(bytes),
            ReaderMode::Detecting(detecting) => {
                if let Some(format) = detecting.push(bytes) {
                    self.decide(format);
                }
            }
            ReaderMode::Stream(..) => {
                if self.n_events == 0 {
                    self.plain.push(bytes);
                }
                self.push_lines(bytes);
                if self.n_events > 0 {
                    self.plain = Tail::default();
                }
            }
        }
    }

    /// Reads an output to its end.
    ///
    /// # Errors
    ///
    /// The error of reading; an interrupted read is repeated.
    pub fn read(mut self, mut from: impl BufRead) -> io::Result<Transcript> {
        loop {
            let piece = match from.fill_buf() {
                Ok([]) => return Ok(self.finish()),
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.push(piece);
            let n_read = piece.len();
            from.consume(n_read);
        }
    }

    /// Returns the format, once it is known.
    pub fn format(&self) -> Option<Format> {
        match &self.mode {
            ReaderMode::Detecting(_) => None,
            ReaderMode::Text(_) => Some(Format::Text),
            ReaderMode::Stream(format, _) => Some(*format),
            ReaderMode::Unknown(_) => Some(Format::Unknown),
        }
    }

    /// Makes [`Reader::take_event`] return the agent's actions as they are read.
    #[must_use]
    pub fn watched(mut self) -> Reader {
        self.builder.events = Some(Events::default());
        self
    }

    /// Returns the next action of the agent in the stream so far; nothing if the reader is not
    /// [watched](Reader::watched). If over a thousand are queued, the oldest are lost.
    ///
    /// ```
    /// use ralph_memory::agent_output::transcript::{AgentEvent, Options, Reader};
    /// let mut reader = Reader::new(Options::default()).watched();
    /// let item = r#"{"id":"1","type":"command_execution","command":"cargo test"}"#;
    /// reader.push(format!("{{\"type\":\"turn.started\"}}\n{{\"type\":\"item.started\",\"item\":{item}}}\n").as_bytes());
    /// let call = AgentEvent::ToolCall { tool: "shell".into(), argument: "cargo test".into() };
    /// assert_eq!((reader.take_event(), reader.take_event()), (Some(call), None));
    /// ```
    pub fn take_event(&mut self) -> Option<AgentEvent> {
        self.builder.events.as_mut()?.take()
    }

    /// Returns what the agent has spent so far, according to the events of the stream. Claude Code names the tokens of
    /// each message and, at the end, the cost; Codex the tokens of each turn; opencode both for each step.
    ///
    /// ```
    /// use ralph_memory::agent_output::transcript::{Format, Options, Reader};
    /// let mut reader = Reader::new(Options { format: Format::Opencode, ..Options::default() });
    /// let part = r#"{"reason":"tool-calls","cost":0.02,"tokens":{"input":900,"output":80}}"#;
    /// reader.push(format!("{{\"type\":\"step_finish\",\"part\":{part}}}\n").as_bytes());
    /// assert_eq!((reader.spending().tokens(), reader.spending().cost_usd), (Some(980), Some(0.02)));
    /// ```
    pub fn spending(&self) -> AgentSpending {
        if let ReaderMode::Stream(_, stream) = &self.mode {
            stream.spending().rounded()
        } else {
            AgentSpending::default()
        }
    }

    /// Returns the transcript; the output so far is complete.
    pub fn finish(mut self) -> Transcript {
        let rest = self.decoder.finish();
        self.push_decoded(&rest);
        if let ReaderMode::Detecting(detecting) = &mut self.mode {
            let format = detecting.at_end();
            self.decide(format);
        }
        if let Some(lines) = self.exported() {
            self.mode = ReaderMode::of(Format::Opencode);
            (self.line, self.n_lines, self.broken, self.n_more_broken) = (Vec::new(), 0, Vec::new(), 0);
            self.push_decoded(lines.as_bytes());
            return self.finish();
        }
        if let ReaderMode::Text(tail) = &mut self.mode
            && self.is_auto
        {
            let (text, n_dropped) = mem::replace(tail, Tail::new(0)).into_text();
            self.mode = match printed::look(text) {
                Printed::Text(text) => ReaderMode::Text(Tail::of(text, n_dropped)),
                Printed::Unknown(text) => ReaderMode::Unknown(Tail::of(text, n_dropped)),
                Printed::Stream(format, text) => {
                    self.mode = ReaderMode::of(format);
                    self.push_decoded(text.as_bytes());
                    return self.finish();
                }
            };
        }
        if !self.line.is_empty() || self.is_over_long {
            self.end_line();
        }
        let mut format = self.format().unwrap_or_default();
        if let ReaderMode::Stream(_, stream) = &mut self.mode {
            stream.finish(&mut self.builder);
        }
        let spending = self.spending();
        let mut said = match self.mode {
            ReaderMode::Text(tail) => {
                let (text, n_dropped) = tail.into_text();
                self.builder.decide(&text);
                Transcript { text, n_dropped, is_complete: true, ..self.builder.finish(false) }
            }
            ReaderMode::Unknown(tail) => {
                self.plain = tail;
                self.builder.finish(true)
            }
            ReaderMode::Stream(..) => self.builder.finish(true),
            ReaderMode::Detecting(_) => Transcript::default(),
        };
        let mut is_unknown = false;
        if format != Format::Text && self.n_events == 0 && said.text.is_empty() {
            (said.text, said.n_dropped) = self.plain.into_text();
            // A detected format has an event, unless the event is unreadable after all.
            is_unknown = self.is_auto || Detecting::of(said.text.as_bytes()) == Format::Unknown;
        }
        if is_unknown {
            format = Format::Unknown;
            (said.is_failed, said.is_complete, said.errors) = (true, true, vec![UNKNOWN_FORMAT.to_owned()]);
        }
        (said.tokens_in, said.tokens_out, said.cost_usd) = (spending.tokens_in, spending.tokens_out, spending.cost_usd);
        (said.format, said.n_events) = (format, self.n_events);
        (said.broken, said.n_more_broken) = (self.broken, self.n_more_broken);
        said
    }

    /// Returns the lines of a session file of opencode if the output is one, which is a document without a line that is
    /// an event.
    fn exported(&self) -> Option<String> {
        let tail = match &self.mode {
            ReaderMode::Text(tail) | ReaderMode::Unknown(tail) if self.is_auto => tail,
            ReaderMode::Stream(Format::Opencode, _) if self.n_events == 0 => &self.plain,
            _ => return None,
        };
        opencode_export::lines(std::str::from_utf8(tail.bytes()?).ok()?)
    }

    /// Continues in a format that is now known, with the output so far.
    fn decide(&mut self, format: Format) {
        if let ReaderMode::Detecting(detecting) = mem::replace(&mut self.mode, ReaderMode::of(format)) {
            self.push_decoded(&detecting.into_bytes());
        }
    }

    fn push_lines(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(at);
            rest = &after[1..];
            if self.line.is_empty() && !self.is_over_long && line.len() <= MAX_LINE {
                self.take_line(line);
            } else {
                self.grow_line(line);
                self.end_line();
            }
        }
        self.grow_line(rest);
    }

    fn grow_line(&mut self, part: &[u8]) {
        if self.is_over_long || self.line.len() + part.len() > MAX_LINE {
            self.is_over_long = true;
            // Discarding text also frees its memory.
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(part);
        }
    }

    fn end_line(&mut self) {
        if mem::take(&mut self.is_over_long) {
            self.n_lines += 1;
            self.break_line(format!("it has more than {} MiB", MAX_LINE / (1024 * 1024)));
        } else {
            let mut line = mem::take(&mut self.line);
            self.take_line(&line);
            line.clear();
            // Memory for one long line is not kept for the others.
            if line.capacity() <= 1024 * 1024 {
                self.line = line;
            }
        }
    }

    fn take_line(&mut self, line: &[u8]) {
        self.n_lines += 1;
        let line = decoded(line);
        let line = repaired_json(line.trim());
        let line = &*line;
        if line.is_empty() {
            return;
        }
        let ReaderMode::Stream(format, stream) = &mut self.mode else { return };
        let mut take = |line: &str| {
            let event = json::event(line)?;
            let kind = event.get("type").ok_or("it has no `type`")?;
            stream.take(&json::text(Some(kind)).unwrap_or_default(), &event, &mut self.builder)
        };
        let taken = if *format == Format::Claude && line.starts_with("[{") {
            // All of its events in one list, as `--output-format json --verbose` prints them.
            json::list(line).and_then(|list| {
                let events = json::items(Some(list)).flatten();
                json::first_failure(events.map(|event| take(event.get())))
            })
        } else {
            take(line)
        };
        match taken {
            Ok(()) => self.n_events += 1,
            Err(reason) => self.break_line(reason),
        }
    }

    fn break_line(&mut self, reason: String) {
        if self.broken.len() < MAX_BROKEN {
            self.broken.push(Broken { line: self.n_lines, reason });
        } else {
            self.n_more_broken += 1;
        }
    }
}

impl ReaderMode {
    fn of(format: Format) -> ReaderMode {
        match format {
            Format::Auto => ReaderMode::Detecting(Detecting::default()),
            Format::Text => ReaderMode::Text(Tail::default()),
            Format::Claude => ReaderMode::Stream(format, Box::<Claude>::default()),
            Format::Codex => ReaderMode::Stream(format, Box::<Codex>::default()),
            Format::Opencode => ReaderMode::Stream(format, Box::<Opencode>::default()),
            Format::Unknown => ReaderMode::Unknown(Tail::default()),
        }
    }
}

#[cfg(test)]
mod tests;
