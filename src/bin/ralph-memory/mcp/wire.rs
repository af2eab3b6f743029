//! Input and output lines, and their threads.
//!
//! One thread reads standard input, so that its end is noticed at once. One runs the protocol. A few run calls of the
//! memory. The calling thread writes, because it owns standard output. Input is bounded: the length of a line, the
//! bytes that wait for an answer, and the number of open requests.

use std::collections::HashSet;
use std::future::Future;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, GetMeta as _, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{Notify, mpsc as queue, oneshot};

use super::request_id::request_id;
use super::server::{MAX_CALLS, McpServer};
use crate::exit::Exit;
use crate::session::Globals;

/// The longest line that is read, in bytes: an entry's mebibyte with every character escaped.
const MAX_LINE: usize = 8 << 20;
/// How much of the start and of the end of a longer line is searched for the request's id, in bytes.
const MAX_ID: usize = 4096;
/// The limit of requests that wait for an answer, in bytes. More stays in the pipe.
const MAX_WAITING: usize = 32 << 20;
/// How many requests are open at a time. Others wait.
const MAX_OPEN: usize = 64;
/// How long a call may continue after the client has gone. Its end loses nothing: a file is written whole or not at
/// all.
const GRACE: Duration = Duration::from_millis(400);

type Incoming = RxJsonRpcMessage<RoleServer>;

/// Serves the memory that these options select, until standard input ends. `feature` is that of the agent's task.
pub(crate) fn serve(globals: &Globals, feature: Option<String>, out: &mut dyn Write) -> anyhow::Result<()> {
    let (lines, from_client) = queue::unbounded_channel();
    let (to_client, outgoing) = mpsc::channel();
    let backlog = Arc::new(Backlog::default());
    let wire = Wire { from_client, to_client, backlog: Arc::clone(&backlog), open: Arc::default(), begun: false };
    let server = McpServer::new(globals.of_feature(feature));
    let named = |name: &str| thread::Builder::new().name(name.to_owned());
    named("mcp-input").spawn(move || {
        read_all(&mut io::stdin().lock(), &lines, &backlog);
        drop(lines);
        thread::sleep(GRACE);
        #[expect(clippy::exit, reason = "the others may wait for a lock, or for a client that does not read")]
        std::process::exit(Exit::Done as i32)
    })?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(MAX_CALLS).build()?;
    named("mcp-protocol").spawn(move || {
        runtime.block_on(async {
            // An end before the handshake is not a failure: a client may only check that the program exists.
            if let Ok(running) = serve_server(server, wire).await {
                let _ = running.waiting().await;
            }
        });
        runtime.shutdown_background();
    })?;
    // It ends when the protocol has ended, and no sender is left.
    for Outgoing { line, written } in outgoing {
        out.write_all(&line)?;
        out.flush()?;
        let _ = written.send(());
    }
    Ok(())
}

/// A message to the client.
struct Outgoing {
    line: Vec<u8>,
    written: oneshot::Sender<()>,
}

/// A line from the client, and how long it was.
struct WireLine {
    message: Result<Incoming, (ErrorData, Option<RequestId>)>,
    length: usize,
}

/// The bytes that wait for an answer.
#[derive(Default)]
struct Backlog {
    waiting: Mutex<usize>,
    less: Condvar,
}

impl Backlog {
    fn waiting(&self) -> MutexGuard<'_, usize> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line when there is room for it.
    fn add(&self, length: usize) {
        let full = |waiting: &mut usize| *waiting > 0 && *waiting + length > MAX_WAITING;
        *self.less.wait_while(self.waiting(), full).unwrap_or_else(PoisonError::into_inner) += length;
    }

    fn remove(&self, length: usize) {
        let mut waiting = self.waiting();
        *waiting = waiting.saturating_sub(length);
        self.less.notify_all();
    }
}

/// Reads lines until there are no more, or the receiver is gone.
fn read_all(input: &mut impl BufRead, lines: &queue::UnboundedSender<WireLine>, backlog: &Backlog) {
    let mut line = Vec::new();
    // A line that cannot be read is also the end: nothing can follow it.
    while let Ok(Some(length)) = read_line(input, &mut line) {
        let message = if length > MAX_LINE {
            let error = format!("the message has {length} bytes; the limit is {MAX_LINE}");
            Err((ErrorData::invalid_request(error, None), request_id(&line[..MAX_ID], &line[MAX_ID..])))
        } else if line.trim_ascii().is_empty() {
            continue;
        } else {
            parse(&line)
        };
        let length = length.min(MAX_LINE);
        backlog.add(length);
        if lines.send(WireLine { message, length }).is_err() {
            return;
        }
    }
}

/// Reads a line without its end, and returns its length. Of a line over the limit the start and the end are kept. `None`
/// at the end.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<usize>> {
    line.clear();
    let mut length = 0;
    loop {
        let available = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            available => available?,
        };
        let end = available.iter().position(|byte| *byte == b'\n');
        let is_over = end.is_some() || available.is_empty();
        let taken = end.unwrap_or(available.len());
        length += taken;
        line.extend_from_slice(&available[..taken]);
        if length > MAX_LINE {
            line.drain(MAX_ID..line.len() - MAX_ID);
            line.shrink_to(16 * MAX_ID);
        }
        input.consume(taken + usize::from(end.is_some()));
        if is_over {
            // The last line may have no line end.
            return Ok((end.is_some() || length > 0).then_some(length));
        }
    }
}

/// Reads a message. The error says why it is invalid and, if possible, which request it belongs to.
fn parse(line: &[u8]) -> Result<Incoming, (ErrorData, Option<RequestId>)> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    serde_json::from_slice(line).map_err(|_| {
        let message = "this is not a message of JSON-RPC 2.0: a request has `jsonrpc`, `id`, `method` and, where it needs \
            them, `params`";
        let error = match serde_json::from_slice::<Value>(line) {
            Ok(_) => ErrorData::invalid_request(message, None),
            Err(error) => ErrorData::parse_error(format!("this is not JSON: {error}"), None),
        };
        (error, request_id(line, line))
    })
}

/// The requests without an answer yet.
#[derive(Default)]
struct Open {
    ids: Mutex<HashSet<RequestId>>,
    fewer: Notify,
}

impl Open {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, id: &RequestId) {
        self.ids().remove(id);
        self.fewer.notify_one();
    }

    async fn has_room(&self) {
        while self.ids().len() >= MAX_OPEN {
            self.fewer.notified().await;
        }
    }
}

/// The protocol's end of the lines.
struct Wire {
    from_client: queue::UnboundedReceiver<WireLine>,
    to_client: mpsc::Sender<Outgoing>,
    backlog: Arc<Backlog>,
    open: Arc<Open>,
    /// Whether a request has named the client's protocol revision. The SDK would end the server because of a
    /// notification that comes before it, so such notifications are dropped.
    begun: bool,
}

impl Wire {
    fn write(&self, message: &ServerJsonRpcMessage) -> io::Result<oneshot::Receiver<()>> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let (written, done) = oneshot::channel();
        self.to_client.send(Outgoing { line, written }).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(done)
    }
}

/// Returns whether a request names the client's protocol revision: a handshake, or the client information in a request
/// of
/// 2026-07-28. A request that only lists capabilities does not begin the session.
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

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let sent = self.write(&message);
        let open = Arc::clone(&self.open);
        async move {
            let done = sent?.await;
            if let Some(id) = id {
                open.close(&id);
            }
            done.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            self.open.has_room().await;
            let WireLine { message, length } = self.from_client.recv().await?;
            self.backlog.remove(length);
            match message {
                Err((error, id)) => {
                    // A client that does not read gets no more of them.
                    let _ = self.write(&JsonRpcMessage::error(error, id)).ok()?.await;
                }
                Ok(message) => {
                    match &message {
                        JsonRpcMessage::Request(request) => {
                            self.begun = self.begun || begins(&request.request);
                            self.open.ids().insert(request.id.clone());
                        }
                        JsonRpcMessage::Notification(notification) => {
                            if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                                && let Some(id) = &cancelled.params.request_id
                            {
                                // Nothing will be sent for it.
                                self.open.close(id);
                            }
                        }
                        _ => {}
                    }
                    if self.begun || matches!(message, JsonRpcMessage::Request(_)) {
                        return Some(message);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    #[test]
    fn lines_are_read_up_to_their_bound() {
        let long = vec![b'x'; MAX_LINE + 1];
        let input = [b"one\r\n\n".as_slice(), &long, b"\ntwo\nlast"].concat();
        let (mut rest, mut line, mut read) = (input.as_slice(), Vec::new(), Vec::new());
        while let Some(length) = read_line(&mut rest, &mut line).unwrap() {
            read.push((length, String::from_utf8(line.clone()).unwrap()));
        }
        let some = |text: &str| (text.len(), text.to_owned());
        let ends = (MAX_LINE + 1, "x".repeat(2 * MAX_ID));
        assert_eq!(read, [some("one\r"), some(""), ends, some("two"), some("last")]);
    }

    #[test]
    fn an_error_of_a_message_names_its_request() {
        let check = |line: &str, code: i32, id: Option<NumberOrString>| {
            let (error, found) = parse(line.as_bytes()).unwrap_err();
            assert_eq!((error.code.0, found), (code, id), "{line}");
        };
        check("{", -32700, None);
        check("[1]", -32600, None);
        check("{\"jsonrpc\":\"2.0\",\"id\":7}", -32600, Some(NumberOrString::Number(7)));
        check(
            "{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}",
            -32600,
            Some(NumberOrString::String("a".into())),
        );
        assert!(parse("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r".as_bytes()).is_ok());
    }
}
