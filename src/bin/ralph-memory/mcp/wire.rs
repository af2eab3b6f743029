//! Standard input and output, and the threads.
//!
//! One thread reads standard input, so that its end is noticed at once. The calling thread runs the protocol, and writes. One
//! thread runs the calls of the memory, one after the other. rmcp's transport has the messages; what it gets is filtered, so
//! that no line ends the server.

use std::future::Future;
use std::io::{self, BufRead, Read as _, Write};
use std::thread;
use std::time::Duration;

use ralph_memory::text::{decoded, escaped_json, read_json, repaired_json};
use rmcp::model::{ClientRequest, ErrorCode, GetMeta as _, JsonRpcMessage, ProtocolVersion};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::runtime::{Builder, Handle};

use super::server::McpServer;
use crate::exit::Exit;
use crate::session::Globals;

/// The longest line that is read, in bytes: an entry's mebibyte with every character escaped.
const MAX_LINE: usize = 8 << 20;
/// How much may wait in each direction, in bytes. More stays in the pipe.
const MAX_WAITING: usize = 32 << 20;
/// How long the answers may take after the end of the input; rmcp waits for calls for five seconds. The end of the process
/// loses nothing: a file is written whole or not at all.
const GRACE: Duration = Duration::from_secs(6);

/// Serves the memory that these options select, until standard input ends. `feature` is that of the agent's task.
pub(crate) fn serve(globals: &Globals, feature: Option<String>, out: &mut dyn Write) -> anyhow::Result<()> {
    let runtime = Builder::new_current_thread().enable_time().max_blocking_threads(1).build()?;
    let (client, server) = tokio::io::duplex(MAX_WAITING);
    let (mut answers, requests) = tokio::io::split(client);
    let (read, write) = tokio::io::split(server);
    let handle = runtime.handle().clone();
    thread::Builder::new().name("mcp-input".to_owned()).spawn(move || {
        read_all(&mut io::stdin().lock(), requests, &handle);
        thread::sleep(GRACE);
        #[expect(clippy::exit, reason = "the others may wait for a lock, or for a client that does not read")]
        std::process::exit(Exit::Done as i32)
    })?;
    let transport = AsyncRwTransport::new_server(read, write).with_max_line_length(2 * MAX_LINE);
    let (service, transport) =
        (McpServer::new(globals.of_feature(feature)), FilteredTransport { transport, begun: false });
    runtime.spawn(async {
        // An end before the handshake is not a failure: a client may only check that the program exists.
        if let Ok(running) = serve_server(service, transport).await {
            let _ = running.waiting().await;
        }
    });
    // It ends when the protocol has ended.
    let written = runtime.block_on(async {
        let mut bytes = Vec::new();
        while answers.read_buf(&mut bytes).await? > 0 {
            let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else { continue };
            let rest = bytes.split_off(end + 1);
            out.write_all(escaped_json(&String::from_utf8_lossy(&bytes)).as_bytes())?;
            out.flush()?;
            bytes = rest;
        }
        Ok(())
    });
    runtime.shutdown_background();
    written
}

/// Passes on the lines of the client, until there are no more or nobody reads them. A line that is too long is left out.
fn read_all(input: &mut impl BufRead, mut requests: impl AsyncWrite + Unpin, handle: &Handle) {
    let mut line = Vec::new();
    // A line that cannot be read is also the end: nothing can follow it.
    while let Ok(true) = read_line(input, &mut line) {
        let text = decoded(&line);
        let text = repaired_json(&text);
        let broken = serde_json::from_str::<IgnoredAny>(&text).err().filter(|_| !text.trim().is_empty());
        let line = broken.map_or_else(|| text.to_string(), |error| parse_error(&text, &error)) + "\n";
        if handle.block_on(requests.write_all(line.as_bytes())).is_err() {
            return;
        }
    }
    let _ = handle.block_on(requests.shutdown());
}

/// Returns the error that answers a line that is not JSON, with its id where that can be read.
fn parse_error(line: &str, error: &serde_json::Error) -> String {
    let rest = line.split_once("\"id\":").map_or("", |(_, rest)| rest);
    let id: Option<Value> = serde_json::Deserializer::from_str(rest).into_iter().next().and_then(Result::ok);
    let error = json!({"code": ErrorCode::PARSE_ERROR, "message": format!("the line is not JSON: {error}")});
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

/// Returns a call whose arguments are JSON in a text, as a call.
fn with_arguments(request: &ClientRequest) -> Option<ClientRequest> {
    let mut request = serde_json::to_value(request).ok()?;
    let arguments = request.pointer_mut("/params/arguments")?;
    *arguments = read_json::<Value>(arguments.as_str()?.as_bytes()).ok().filter(Value::is_object)?;
    serde_json::from_value(request).ok()
}

/// Reads a line without its end; an empty one in place of a line over the limit. Returns whether there was one.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let length = input.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', line)?;
    if line.pop_if(|last| *last == b'\n').is_none() && length > MAX_LINE {
        line.clear();
        input.skip_until(b'\n')?;
    }
    Ok(length > 0)
}

/// A transport without what would end rmcp's server: messages that are not requests, before the session has begun.
struct FilteredTransport<T> {
    transport: T,
    begun: bool,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for FilteredTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let mut message = self.transport.receive().await?;
            match &mut message {
                // A line was not JSON: it came as its answer.
                JsonRpcMessage::Error(error) if error.error.code == ErrorCode::PARSE_ERROR => {
                    self.transport.send(JsonRpcMessage::Error(error.clone())).await.ok()?;
                    continue;
                }
                JsonRpcMessage::Request(request) => {
                    if let Some(called) = with_arguments(&request.request) {
                        request.request = called;
                    }
                    self.begun = self.begun || begins(&request.request);
                }
                _ if !self.begun => continue,
                _ => {}
            }
            return Some(message);
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.transport.close()
    }
}

/// Returns whether a request begins a session: a handshake, or a request of 2026-07-28 that describes its client. Listing
/// what the server can do begins none.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        _ => {
            let meta = request.get_meta();
            let is_known =
                meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
            is_known && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_up_to_their_bound() {
        let (most, over) = (vec![b'x'; MAX_LINE], vec![b'x'; MAX_LINE + 1]);
        let input = [b"one\r\n\n".as_slice(), &most, b"\n", &over, b"\ntwo\nlast"].concat();
        let (mut rest, mut line, mut read) = (input.as_slice(), Vec::new(), Vec::new());
        while read_line(&mut rest, &mut line).unwrap() {
            read.push(line.clone());
        }
        assert_eq!(read, [b"one\r".as_slice(), b"", &most, b"", b"two", b"last"]);
    }
}
