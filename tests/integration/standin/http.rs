//! A server that speaks HTTP 1.1, or HTTPS, for as long as it is held.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What a client asks.
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case, and values.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What it is told.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// How a server fails. All of it can be changed while it runs.
#[derive(Default)]
pub(crate) struct Knobs {
    /// How long each answer takes, in milliseconds.
    pub(crate) delay_ms: AtomicU64,
    /// How many calls are answered at once all the same, from the first on.
    pub(crate) quick: AtomicU64,
    /// Each call whose number this divides is answered with 500; 0 for none.
    pub(crate) fail_every: AtomicU64,
    /// Each call whose number this divides is not answered: its connection ends; 0 for none.
    pub(crate) drop_every: AtomicU64,
    /// Each answer ends in its middle.
    pub(crate) is_cut: AtomicBool,
    /// Each answer is this, with this status.
    pub(crate) instead: Mutex<Option<(u16, String)>>,
    /// How many calls there were.
    pub(crate) n_calls: AtomicU64,
    /// How many bytes the bodies of the calls had.
    pub(crate) n_bytes: AtomicU64,
    /// The paths and the bodies of the calls, if they are kept.
    pub(crate) kept: Mutex<Option<Vec<(String, String)>>>,
}

/// What a server does with a call.
type Answer = dyn Fn(&Call) -> Reply + Send + Sync;
/// A connection, with TLS or without.
trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

struct Shared {
    answer: Box<Answer>,
    tls: Option<Arc<rustls::ServerConfig>>,
    knobs: Arc<Knobs>,
    connections: Mutex<Vec<TcpStream>>,
    is_stopped: Mutex<bool>,
    stopped: Condvar,
}

/// A running server. It ends when this is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts one at a free port of this machine.
    pub(crate) fn start(
        tls: Option<Arc<rustls::ServerConfig>>,
        knobs: Arc<Knobs>,
        answer: impl Fn(&Call) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            tls,
            knobs,
            connections: Mutex::default(),
            is_stopped: Mutex::default(),
            stopped: Condvar::new(),
        });
        let thread = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.accept(&listener)
        });
        Server { url, shared, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        *self.shared.is_stopped.lock().unwrap() = true;
        self.shared.stopped.notify_all();
        // Wakes the thread that accepts.
        let address = self.url.split("://").nth(1).unwrap();
        drop(TcpStream::connect(address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn accept(self: &Arc<Shared>, listener: &TcpListener) {
        let mut threads = Vec::new();
        for connection in listener.incoming().flatten() {
            if *self.is_stopped.lock().unwrap() {
                break;
            }
            self.connections.lock().unwrap().push(connection.try_clone().unwrap());
            let shared = Arc::clone(self);
            threads.push(thread::spawn(move || shared.serve(connection)));
        }
        for connection in self.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
        for thread in threads {
            let _ = thread.join();
        }
    }

    /// Serves a connection until its end. What the other side does wrong ends it too.
    fn serve(&self, connection: TcpStream) {
        let closing = connection.try_clone();
        let stream: Box<dyn Stream> = match &self.tls {
            None => Box::new(connection),
            Some(config) => {
                let session = rustls::ServerConnection::new(Arc::clone(config)).unwrap();
                Box::new(rustls::StreamOwned::new(session, connection))
            }
        };
        let mut stream = BufReader::new(stream);
        while let Ok(Some(call)) = read(&mut stream) {
            if self.reply(&call, stream.get_mut()).is_err() {
                break;
            }
        }
        if let Ok(connection) = closing {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    fn reply(&self, call: &Call, stream: &mut dyn Write) -> io::Result<()> {
        let number = self.knobs.n_calls.fetch_add(1, Ordering::SeqCst) + 1;
        self.knobs.n_bytes.fetch_add(call.body.len() as u64, Ordering::SeqCst);
        if let Some(kept) = &mut *self.knobs.kept.lock().unwrap() {
            kept.push((call.path.clone(), String::from_utf8_lossy(&call.body).into_owned()));
        }
        let is_due = |every: &AtomicU64| {
            let every = every.load(Ordering::SeqCst);
            every > 0 && number.is_multiple_of(every)
        };
        let delay = Duration::from_millis(self.knobs.delay_ms.load(Ordering::SeqCst));
        if !delay.is_zero() && number > self.knobs.quick.load(Ordering::SeqCst) {
            let stopped = self.is_stopped.lock().unwrap();
            drop(self.stopped.wait_timeout_while(stopped, delay, |stopped| !*stopped).unwrap());
        }
        if is_due(&self.knobs.drop_every) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let instead = self.knobs.instead.lock().unwrap().clone();
        let reply = if let Some((status, body)) = instead {
            Reply { status, body: body.into_bytes() }
        } else if is_due(&self.knobs.fail_every) {
            let body = br#"{"status":{"error":"Service internal error: as the test wants it"},"time":0.001}"#.to_vec();
            Reply { status: 500, body }
        } else {
            (self.answer)(call)
        };
        let Reply { status, body } = reply;
        let head = format!("HTTP/1.1 {status} .\r\ncontent-length: {}\r\n\r\n", body.len());
        // In one piece: the second of two would wait until the first is acknowledged.
        let mut bytes = head.into_bytes();
        let is_cut = self.knobs.is_cut.load(Ordering::SeqCst);
        bytes.extend(&body[..if is_cut { body.len() / 2 } else { body.len() }]);
        stream.write_all(&bytes)?;
        stream.flush()?;
        if is_cut { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

/// Reads a call; none at the end of the connection.
fn read(stream: &mut BufReader<Box<dyn Stream>>) -> io::Result<Option<Call>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Some(Call { method, path, headers, body }))
}
