//! Measures the memory that reading a transcript takes.
//!
//! `cargo bench --bench memory -- transcripts FORMAT [LINES] [--print]` generates a stream of so many lines (1,000,000
//! by default) of `claude` or `codex`, or of `text`, reads it without ever having it whole in memory, and prints how
//! long that took and the process's peak memory (`VmHWM`). The lines include long texts, results of tools of 100 KB,
//! broken ones, and some over the limit of a line.

use std::fmt::Write as _;
use std::io::{BufReader, Read, Write as _};
use std::time::Instant;

use ralph_memory::agent_output::transcript::{Format, MAX_LINE, Options, Reader};

/// A stream that is made up while it is read.
struct Stream {
    format: Format,
    n_left: u64,
    line: Vec<u8>,
    at: usize,
    /// How much of a line is left that is made up of one letter.
    n_filling: usize,
}

impl Stream {
    fn next_line(&mut self) {
        let number = self.n_left;
        let mut line = String::new();
        let _ = match (self.format, number % 10) {
            (_, 7) if number % 100_000 == 7 => {
                self.n_filling = 3 * MAX_LINE;
                write!(line, "\"}}")
            }
            (Format::Text, _) => write!(line, "Line {number} of a long answer, with a few more words in it."),
            (_, 0) if number.is_multiple_of(1_000) => write!(line, "{{\"type\":\"assistant\",\"mess"),
            (Format::Codex, 1) => write!(
                line,
                r#"{{"type":"item.completed","item":{{"type":"command_execution","command":"make {number}","aggregated_output":"{}","exit_code":{},"status":"completed"}}}}"#,
                "o".repeat(if number % 1000 == 1 { 100_000 } else { 500 }),
                number % 3
            ),
            (Format::Codex, 2) => write!(
                line,
                r#"{{"type":"item.completed","item":{{"type":"file_change","changes":[{{"path":"src/f{number}.rs","kind":"update"}}],"status":"completed"}}}}"#
            ),
            (Format::Codex, _) => write!(
                line,
                r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"Text {number}. {}\nDecision: {number}"}}}}"#,
                "word ".repeat(20)
            ),
            (_, 1) => write!(
                line,
                r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"c{number}","name":"Edit","input":{{"file_path":"/repo/project/src/f{number}.rs"}}}}]}},"session_id":"s"}}"#
            ),
            (_, 2) => write!(
                line,
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"c{}","is_error":{},"content":"{}"}}]}},"session_id":"s"}}"#,
                number + 9,
                number.is_multiple_of(4),
                "o".repeat(if number % 1000 == 2 { 100_000 } else { 500 })
            ),
            _ => write!(
                line,
                r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"Text {number}. {}\nDecision: {number}"}}]}},"session_id":"s"}}"#,
                "word ".repeat(20)
            ),
        };
        line.push('\n');
        (self.line, self.at) = (line.into_bytes(), 0);
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.n_filling > 0 {
            let n_read = buffer.len().min(self.n_filling);
            buffer[..n_read].fill(b'x');
            self.n_filling -= n_read;
            return Ok(n_read);
        }
        if self.at == self.line.len() {
            if self.n_left == 0 {
                return Ok(0);
            }
            self.next_line();
            self.n_left -= 1;
        }
        let n_read = buffer.len().min(self.line.len() - self.at);
        buffer[..n_read].copy_from_slice(&self.line[self.at..self.at + n_read]);
        self.at += n_read;
        Ok(n_read)
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = arguments.iter().map(String::as_str);
    let format = match arguments.next() {
        Some("claude") => Format::Claude,
        Some("codex") => Format::Codex,
        Some("text") => Format::Text,
        _ => return Err("usage: transcripts claude|codex|text [LINES] [--print]".into()),
    };
    let n_lines: u64 = arguments.next().map_or(Ok(1_000_000), str::parse)?;
    let stream = Stream { format, n_left: n_lines, line: Vec::new(), at: 0, n_filling: 0 };
    let mut out = std::io::stdout().lock();
    if arguments.next() == Some("--print") {
        std::io::copy(&mut BufReader::new(stream), &mut out)?;
        return Ok(());
    }
    let started = Instant::now();
    let options = Options { root: "/repo/project".to_owned(), ..Options::default() };
    let said = Reader::new(options).read(BufReader::new(stream))?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    writeln!(
        out,
        "{n_lines} lines of {}: {:.2} s, peak memory {peak}; {} events, {} bytes of text kept, {} before them not, {} lines no events",
        said.format.name(),
        started.elapsed().as_secs_f64(),
        said.n_events,
        said.text.len(),
        said.n_dropped,
        said.broken.len() as u64 + said.n_more_broken
    )?;
    Ok(())
}
