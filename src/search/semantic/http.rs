//! HTTP requests with JSON in both directions, each with one time limit for the whole request.
//!
//! It knows no particular server. A key is never logged, and no redirect is followed.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::Request;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Timeout};

/// The largest response that is read, in bytes: a batch of vectors has about one megabyte, and at most three.
const MAX_ANSWER: u64 = 16 * 1024 * 1024;
/// The largest error response that is read, in bytes: one line of it is shown.
const MAX_REFUSAL: u64 = 64 * 1024;
/// How much of a response that is not JSON is quoted in a message, in characters.
const MAX_TEXT: usize = 200;
/// How many times a request that may succeed later is sent at most.
const MAX_TRIES: u32 = 3;
/// The pause before the second try; before the third it is twice as long.
const PAUSE: Duration = Duration::from_millis(100);

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Nothing answers at the address. Has the system's reason.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// It took longer than this many milliseconds.
    #[error("it did not answer within {0} ms")]
    TimedOut(u64),
    /// The server answered with an error.
    #[error("it answered {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's message, in one line.
        message: String,
    },
    /// The response is not one that this server should give, for this reason.
    #[error("its answer cannot be used: {0}")]
    Broken(String),
}

impl RequestError {
    /// Returns whether the same request may succeed a moment later: the server is busy or fails now and then.
    pub fn is_transient(&self) -> bool {
        matches!(self, RequestError::Refused { status: 429 | 500..=599, .. })
    }
}

/// How long requests may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeouts {
    /// During another call: all requests together take no longer than one may.
    Query,
    /// In a call for vectors: each request may take its time.
    Batch,
}

/// The time for requests, from its creation on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimit {
    /// In milliseconds.
    limit: u64,
    /// When it began, if all requests share the time.
    started: Option<Instant>,
}

impl TimeLimit {
    /// Returns the limit of this many milliseconds, for all requests or for each.
    pub(super) fn new(limit: u64, timeouts: Timeouts) -> TimeLimit {
        TimeLimit { limit, started: (timeouts == Timeouts::Query).then(Instant::now) }
    }

    fn left(&self) -> Result<Duration, RequestError> {
        let spent = self.started.map_or(Duration::ZERO, |started| started.elapsed());
        let left = Duration::from_millis(self.limit).saturating_sub(spent);
        if left.is_zero() { Err(self.timed_out()) } else { Ok(left) }
    }

    /// Returns the error of a server that did not answer in time. It names the whole limit, however little time was
    /// left.
    fn timed_out(&self) -> RequestError {
        RequestError::TimedOut(self.limit)
    }
}

/// A server that speaks JSON.
#[derive(Clone)]
pub(super) struct JsonServer {
    url: String,
    agent: Agent,
    key: Option<(&'static str, String)>,
}

impl fmt::Debug for JsonServer {
    /// Shows all but the key, which must not appear in a log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("JsonServer").field("url", &self.url).finish_non_exhaustive()
    }
}

impl JsonServer {
    /// Returns the server at `url`. `key` is a header and its value.
    ///
    /// Proxies of the environment are used for servers on other machines. Redirects are not followed.
    pub(super) fn new(url: &str, key: Option<(&'static str, String)>) -> JsonServer {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder().http_status_as_error(false).max_redirects(0).tls_config(tls);
        let config = if is_local(url) { config.proxy(None) } else { config };
        JsonServer { url: url.trim_end_matches('/').to_owned(), agent: config.build().new_agent(), key }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Returns whether others on the network can read the key.
    pub(super) fn exposes_key(&self) -> bool {
        self.key.is_some() && !self.url.starts_with("https://") && !is_local(&self.url)
    }

    /// Sends a request with a body that is not null, repeats it if that may help, and returns the response, all within
    /// the remaining time.
    pub(super) fn call(
        &self,
        method: &str,
        path: &str,
        body: &impl Serialize,
        time: &TimeLimit,
    ) -> Result<Value, RequestError> {
        let body = serde_json::to_string(body).map_err(|error| RequestError::Broken(error.to_string()))?;
        let body = if body == "null" { "" } else { &body };
        let (started, limit) = (Instant::now(), time.left()?);
        let mut tries = 1;
        let text = loop {
            let left = limit.saturating_sub(started.elapsed());
            let result = self.call_once(method, path, body.as_bytes(), left);
            let pause = PAUSE * tries;
            match result {
                Err(RequestError::TimedOut(_)) => return Err(time.timed_out()),
                Err(error) if error.is_transient() && tries < MAX_TRIES && started.elapsed() + pause < limit => {
                    // It may wake early, which does no harm.
                    park_timeout(pause);
                    tries += 1;
                }
                result => break result?,
            }
        };
        serde_json::from_slice(&text).map_err(|error| {
            RequestError::Broken(first_line(&self.without_key(format!("{error}, in {}", first_line(&text)).as_bytes())))
        })
    }

    fn call_once(&self, method: &str, path: &str, body: &[u8], left: Duration) -> Result<Vec<u8>, RequestError> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        if let Some((name, key)) = &self.key {
            request = request.header(*name, key);
        }
        let request = request.body(body).map_err(|error| RequestError::Broken(error.to_string()))?;
        // A time-out of zero would mean none.
        let left = left.max(Duration::from_millis(1));
        let request = self.agent.configure_request(request).timeout_global(Some(left)).build();
        let mut response = self.agent.run(request).map_err(request_error)?;
        let status = response.status();
        let limit = if status.is_success() { MAX_ANSWER } else { MAX_REFUSAL };
        let text = response.body_mut().with_config().limit(limit).read_to_vec().map_err(request_error)?;
        if status.is_success() {
            Ok(text)
        } else {
            Err(RequestError::Refused { status: status.as_u16(), message: error_message(&self.without_key(&text)) })
        }
    }

    /// Returns a response without the key: a server that refuses the key may repeat it.
    fn without_key(&self, text: &[u8]) -> Vec<u8> {
        match &self.key {
            Some((_, key)) if !key.is_empty() => {
                String::from_utf8_lossy(text).replace(key.as_str(), "(key)").into_bytes()
            }
            _ => text.to_vec(),
        }
    }
}

/// Takes a field out of a response.
///
/// # Errors
///
/// [`RequestError::Broken`] where it is missing, or of another type. Its value is not quoted, since it may be the key.
pub(super) fn take<T: DeserializeOwned>(answer: &mut Value, name: &str) -> Result<T, RequestError> {
    let field = answer.get_mut(name).and_then(|field| serde_json::from_value(field.take()).ok());
    field.ok_or_else(|| RequestError::Broken(format!("it has no usable `{name}`")))
}

fn request_error(error: ureq::Error) -> RequestError {
    match error {
        ureq::Error::Timeout(Timeout::Await100) => RequestError::Broken("it sends no answer".to_owned()),
        // The caller knows the limit.
        ureq::Error::Timeout(_) => RequestError::TimedOut(0),
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => RequestError::TimedOut(0),
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            RequestError::Unreachable("the connection was refused".to_owned())
        }
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            RequestError::Broken("it ends too early".to_owned())
        }
        ureq::Error::Io(error) => unreachable_by(&error),
        ureq::Error::HostNotFound => RequestError::Unreachable("there is no host of that name".to_owned()),
        error
        @ (ureq::Error::Protocol(_) | ureq::Error::BodyExceedsLimit(_) | ureq::Error::LargeResponseHeader(..)) => {
            RequestError::Broken(error.to_string())
        }
        error => unreachable_by(&error),
    }
}

/// Returns why a server cannot be reached. A rejected certificate arrives as one of several errors, with the same
/// words.
fn unreachable_by(error: &dyn fmt::Display) -> RequestError {
    let text = error.to_string();
    match text.split_once("invalid peer certificate: ") {
        Some((_, reason)) => RequestError::Unreachable(format!("its certificate is not trusted here: {reason}")),
        None => RequestError::Unreachable(text),
    }
}

/// Returns the message of an error response: Ollama's `{"error": "…"}`, Qdrant's `{"status": {"error": "…"}}`, or the
/// text itself.
fn error_message(text: &[u8]) -> String {
    let value: Value = serde_json::from_slice(text).unwrap_or_default();
    let error = value["error"].as_str().or_else(|| value["status"]["error"].as_str());
    first_line(error.map_or(text, str::as_bytes))
}

fn first_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no message");
    line.chars().map(|character| if character.is_control() { ' ' } else { character }).take(MAX_TEXT).collect()
}

/// Returns whether an address is on this machine.
fn is_local(url: &str) -> bool {
    let rest = url.split("://").nth(1).unwrap_or_default().split('/').next().unwrap_or_default();
    let host = match rest.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => rest.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_recognised() {
        for local in ["http://localhost:11434", "http://127.0.0.1:1/x", "http://[::1]:1", "http://127.9.9.9"] {
            assert!(is_local(local), "{local}");
        }
        for other in ["http://localhost.example.org", "https://10.0.0.1:6333", "http://[2001:db8::1]:1"] {
            assert!(!is_local(other), "{other}");
        }
    }

    #[test]
    fn errors_are_shown_in_one_line() {
        assert_eq!(error_message(br#"{"error":"model \"x\" not found"}"#), "model \"x\" not found");
        assert_eq!(error_message(br#"{"status":{"error":"Not found"},"time":0.1}"#), "Not found");
        assert_eq!(error_message(b"\n  Must provide\x1b an API key\nmore"), "Must provide  an API key");
        assert_eq!(error_message(b""), "no message");
        assert_eq!(error_message("ä".repeat(300).as_bytes()).chars().count(), MAX_TEXT);
    }
}
