//! A client of the MCP server: it starts the program, sends requests, and checks that every line of output is a
//! message.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// The two revisions.
pub(crate) const HANDSHAKE: &str = "2025-11-25";
pub(crate) const STATELESS: &str = "2026-07-28";

/// A running server.
pub(crate) struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    n_asked: u64,
    /// What every request has in `_meta`; nothing where there was a handshake.
    meta: Option<Value>,
}

impl Agent {
    /// Starts the program, without a message.
    pub(crate) fn start(mut command: Command) -> Agent {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                if send.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Agent { child, input, lines, n_asked: 0, meta: None }
    }

    /// Starts the program, and begins as 2025-11-25 does.
    pub(crate) fn greeted(command: Command) -> Agent {
        let mut agent = Agent::start(command);
        let hello = agent.ask("initialize", hello(HANDSHAKE));
        assert_eq!(hello["result"]["protocolVersion"], HANDSHAKE, "{hello}");
        agent.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    /// Starts the program, and asks as 2026-07-28 does, which needs no beginning.
    pub(crate) fn stateless(command: Command) -> Agent {
        let mut agent = Agent::start(command);
        agent.meta = Some(meta(STATELESS));
        agent
    }

    /// Writes a line. If the server has gone, waiting for an answer shows that.
    pub(crate) fn write(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        let _ = input.write_all(line).and_then(|()| input.write_all(b"\n"));
    }

    /// Writes a message.
    pub(crate) fn tell(&mut self, message: &Value) {
        self.write(&serde_json::to_vec(message).unwrap());
    }

    /// Sends a request, without waiting; returns its id.
    pub(crate) fn begin(&mut self, method: &str, mut parameters: Value) -> u64 {
        self.n_asked += 1;
        if let Some(meta) = &self.meta {
            parameters["_meta"] = meta.clone();
        }
        let id = self.n_asked;
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}));
        id
    }

    /// Sends a request, and returns the whole message that answers it.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.begin(method, parameters);
        self.answer(&json!(id))
    }

    /// Waits for the answer to a request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: &Value) -> Value {
        loop {
            let message = self.next();
            if message["id"] == *id {
                return message;
            }
        }
    }

    /// Waits for the next message.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Value {
        message(&self.lines.recv_timeout(PATIENCE).expect("the server says nothing more"))
    }

    /// Calls a tool, and returns its result.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Ends the input, and does something else over and over until the server has ended, at most so many times. Returns the
    /// exit status and the remaining output.
    #[track_caller]
    pub(crate) fn end_during(mut self, most: usize, mut other: impl FnMut()) -> (ExitStatus, Vec<Value>) {
        drop(self.input.take());
        let mut n_done = 0;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(n_done < most, "the server runs after something else was done {n_done} times");
            other();
            n_done += 1;
        };
        let mut rest = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            rest.push(message(&line));
        }
        (status, rest)
    }

    /// Returns the most memory that it had so far, in bytes.
    #[cfg(target_os = "linux")]
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The parameters of `initialize`.
pub(crate) fn hello(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

/// What a request of 2026-07-28 says of its client.
pub(crate) fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Reads a line of the server, which is a message whatever it was asked.
#[track_caller]
fn message(line: &[u8]) -> Value {
    let text = String::from_utf8_lossy(line);
    let message: Value = serde_json::from_slice(line).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(text.ends_with('\n'), "{text}");
    assert_eq!(message["jsonrpc"], "2.0", "{text}");
    let kinds = ["result", "error", "method"].into_iter().filter(|kind| message.get(kind).is_some());
    assert_eq!(kinds.count(), 1, "{text}");
    message
}
