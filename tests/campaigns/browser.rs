//! A browser that visits `serve`: it opens each page, sends each form, and leaves a stream of events open when the server is ended.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Stands for the newest operation in a form.
const NEWEST: &str = "newest";
/// The pages, and among them some of things that are not there.
pub(crate) const PAGES: [&str; 22] = [
    "",
    "features",
    "feature?id=x",
    "timeline",
    "timeline?since=2020-01-01&outcome=failed",
    "timeline?by=task",
    "reuse?of=errors",
    "task?id=t-1",
    "run?id=run-0000000a",
    "entries",
    "entries?archived=only&sort=title",
    "entry?id=knowledge/note-1",
    "entry?id=knowledge/hostile-0",
    "entry?id=../../etc/passwd",
    "add?supersedes=knowledge/hostile-0",
    "edit?id=knowledge/note-1",
    "edit?id=../../etc/passwd",
    "search?q=nightly+toolchain",
    "search?q=old+words&archived=on",
    "context?task=Use+the+nightly+toolchain",
    "health",
    "events/../health",
];
/// The forms: what each does, and to what.
pub(crate) const FORMS: [(&str, &str); 7] = [
    ("archive", "knowledge/note-4"),
    ("restore", "knowledge/note-4"),
    ("undo", NEWEST),
    ("undo", "1000000"),
    ("archive", "../../outside"),
    ("edit", "knowledge/note-4"),
    ("edit", "../../outside"),
];
/// Longer than an answer takes, on however busy a machine.
const LONGEST: Duration = Duration::from_secs(30);

/// What a visit came to.
#[derive(Debug, Default)]
pub(crate) struct Visit {
    /// The answers: what was asked, the status, and the page. Empty where the server did not start.
    pub(crate) answers: Vec<(String, u16, String)>,
    /// How long the server took to end after the signal.
    pub(crate) ended_in: Duration,
    /// What it printed beside its address.
    pub(crate) stderr: String,
}

/// A server that runs.
struct Server {
    port: u16,
    token: String,
}

/// Visits a server that was started as `serve --json`, with both of its outputs piped, sends these forms, and ends it.
pub(crate) fn visit(child: &mut Child, forms: &[(&str, &str)]) -> Visit {
    let (mut line, mut visit) = (String::new(), Visit::default());
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut errors = child.stderr.take().unwrap();
    let _ = output.read_line(&mut line);
    let answer: Value = serde_json::from_str(&line).unwrap_or_default();
    if let (Some(port), Some(token)) = (answer["port"].as_u64(), answer["token"].as_str()) {
        let server = Server { port: port.try_into().unwrap(), token: token.to_owned() };
        for page in PAGES {
            let (status, body) = server.ask("GET", page, "");
            visit.answers.push((page.to_owned(), status, body));
        }
        for (action, id) in forms {
            let named = if *id == NEWEST { server.newest_operation() } else { (*id).to_owned() };
            let (status, body) = server.ask("POST", action, &format!("token={token}&id={named}"));
            visit.answers.push((format!("{action} {id}"), status, body));
        }
        let (status, _) = server.ask("POST", "archive", "token=wrong&id=knowledge/note-1");
        visit.answers.push(("a wrong token".to_owned(), status, String::new()));
        // Nobody closes it.
        let stream = server.send("GET", "events", "");
        let begun = Instant::now();
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
        let mut rest = String::new();
        let _ = output.read_to_string(&mut rest);
        visit.ended_in = begun.elapsed();
        drop(stream);
    } else {
        visit.stderr = line;
    }
    let _ = errors.read_to_string(&mut visit.stderr);
    visit
}

impl Server {
    fn send(&self, method: &str, page: &str, form: &str) -> Option<TcpStream> {
        let Server { port, token } = self;
        let mut stream = TcpStream::connect(("127.0.0.1", *port)).ok()?;
        stream.set_read_timeout(Some(LONGEST)).ok()?;
        let kind = "Content-Type: application/x-www-form-urlencoded";
        let head =
            format!("{method} /{token}/{page} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{kind}");
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{form}", form.len()).ok()?;
        Some(stream)
    }

    /// Returns the number of the operation that the first page offers to undo. Files that came with a clone may use up numbers.
    fn newest_operation(&self) -> String {
        let (_, page) = self.ask("GET", "", "");
        let form = page.split("action=\"undo\"").nth(1).unwrap_or_default();
        let number = form.split("name=\"id\" value=\"").nth(1).unwrap_or_default();
        number.chars().take_while(char::is_ascii_digit).collect()
    }

    /// Returns the status and the page, without what differs from server to server; 0 where there is no answer.
    fn ask(&self, method: &str, page: &str, form: &str) -> (u16, String) {
        let mut bytes = Vec::new();
        if let Some(mut stream) = self.send(method, page, form) {
            let _ = stream.read_to_end(&mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes).replace(&self.token, "TOKEN");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        // The number of changes that were noticed so far.
        let plain = body.split("data-live=\"").enumerate().map(|(at, rest)| {
            if at == 0 { rest } else { rest.trim_start_matches(|digit: char| digit.is_ascii_digit()) }
        });
        (status, plain.collect())
    }
}
