//! The page in a browser: who is refused, what pages contain, and that nothing in an entry gets out of its text.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ralph_memory::Task;
use ralph_memory::memory::Report;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::TestBase;
use crate::timeline::attempt;

/// Longer than anything takes, on however busy a machine.
const LONGEST: Duration = Duration::from_secs(60);

/// The running command; killed if a test fails.
pub(crate) struct PageProcess {
    child: Child,
    answer: Value,
    port: u16,
    pub(crate) token: String,
}

/// An answer over HTTP.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    body: String,
}

impl PageProcess {
    pub(crate) fn start(base: &TestBase) -> PageProcess {
        PageProcess::of(base.with(["serve", "--json", "--port", "0"]).command())
    }

    fn of(mut command: Command) -> PageProcess {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let (port, token) = (answer["port"].as_u64().unwrap(), answer["token"].as_str().unwrap().to_owned());
        PageProcess { child, port: port.try_into().unwrap(), token, answer }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(LONGEST)).unwrap();
        stream
    }

    /// Sends a request as it is.
    fn send(&self, request: &str) -> HttpAnswer {
        let mut stream = self.connect();
        // A server that refuses a long body does not wait for its end.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        HttpAnswer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// Sends a request with these lines of the head after the usual ones.
    fn request(&self, method: &str, path: &str, lines: &[&str], body: &str) -> HttpAnswer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        for line in lines {
            head.push_str(&format!("{line}\r\n"));
        }
        self.send(&format!("{head}\r\n{body}"))
    }

    fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}", self.port)
    }

    /// Returns a page below the token.
    fn get(&self, page: &str) -> HttpAnswer {
        self.request("GET", &format!("/{}/{page}", self.token), &[&self.host()], "")
    }

    /// Sends a form.
    pub(crate) fn post(&self, page: &str, fields: &str, lines: &[&str]) -> HttpAnswer {
        let host = self.host();
        let kind = "Content-Type: application/x-www-form-urlencoded";
        let lines = [&[host.as_str(), kind], lines].concat();
        self.request("POST", &format!("/{}/{page}", self.token), &lines, fields)
    }

    /// Returns the text of a page that is there.
    #[track_caller]
    pub(crate) fn page(&self, page: &str) -> String {
        let answer = self.get(page);
        assert_eq!(answer.status, 200, "{page}: {}", answer.body);
        assert_harmless(page, &answer.body);
        answer.body
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for PageProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns what the command answers with `--json`.
pub(crate) fn answer(base: &TestBase) -> Value {
    PageProcess::start(base).answer.clone()
}

const TAGS: &str = "a article aside bdi blockquote body br button caption code dd del details dialog div dl dt em figcaption figure \
    footer form h1 h2 h3 h4 h5 h6 head header hr html img input kbd label li line link main mark meta nav ol option p pre rect script section \
    select span strong summary svg table tbody td textarea th thead time title tr ul";
const VOID: &str = "br hr img input link meta";
const ATTRIBUTES: &str = "action alt aria-controls aria-current aria-hidden aria-keyshortcuts aria-label aria-labelledby aria-live \
    autocomplete autofocus charset checked class content data-live data-text datetime defer dir for height hidden href http-equiv id lang \
    method min name open placeholder preserveAspectRatio rel required role rows rx scope selected src start tabindex title type value \
    viewBox width x x1 x2 y y1 y2 data-copy data-label";

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

/// Fails if a page has a tag, an attribute or an address that no page of ours has, or is not well-formed.
#[track_caller]
fn assert_harmless(page: &str, html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let rest = html.strip_prefix("<!DOCTYPE html>").unwrap_or_else(|| panic!("{page}: {html}"));
    for (index, part) in rest.split('<').enumerate() {
        if index == 0 {
            assert_eq!(part, "", "{page}");
            continue;
        }
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("{page}: a tag without an end: {part}"));
        assert!(
            !text.contains('>') && text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'),
            "{page}: {text:?}"
        );
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{page}: {part}");
            continue;
        }
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(is_in(TAGS, name), "{page}: <{tag}>");
        if !is_in(VOID, name) {
            open.push(name);
        }
        while !attributes.is_empty() {
            let end = attributes.find([' ', '=']).unwrap_or(attributes.len());
            let (key, after) = attributes.split_at(end);
            assert!(is_in(ATTRIBUTES, key), "{page}: {key} in <{tag}>");
            let Some(value) = after.strip_prefix("=\"") else {
                attributes = after.trim_start();
                continue;
            };
            let (value, after) = value.split_once('"').unwrap_or_else(|| panic!("{page}: <{tag}>"));
            if matches!(key, "href" | "src" | "action") {
                assert_address(page, key, name, value);
            }
            attributes = after.trim_start();
        }
    }
    assert!(open.is_empty(), "{page}: {open:?}");
    assert_eq!(html.matches("<script").count(), 1, "{page}");
    assert_eq!(html.matches("<h1").count(), 1, "{page}");
}

#[track_caller]
fn assert_address(page: &str, key: &str, tag: &str, value: &str) {
    let scheme = value.split(['/', '?', '#']).next().unwrap_or_default().split_once(':').map(|(scheme, _)| scheme);
    let allowed = match scheme {
        None => !value.starts_with('/') && !value.starts_with('\\'),
        Some(scheme) => {
            key == "href" && tag == "a" && ["http", "https", "mailto"].contains(&&*scheme.to_ascii_lowercase())
        }
    };
    assert!(allowed, "{page}: {tag} {key}={value}");
}

/// Returns a memory of which every page has something to say.
fn sample() -> TestBase {
    let base = TestBase::new();
    base.entry(
        "bench",
        "Benches need nightly",
        "cargo, bench",
        "Use `cargo +nightly bench`.\n\nSee [[wal]] and [[nobody]].",
    );
    base.entry("wal", "WAL mode", "sqlite", "Readers go on in WAL mode. [File](bench.md)");
    let body = ["add", "WAL mode", "--tags", "sqlite", "--body", "Readers and one writer."];
    base.run(body).says(0, "knowledge/wal");
    let memory = base.memory();
    let task =
        Task { id: Some("t-benches".into()), feature: Some("bench".into()), ..Task::new("Make the benches run") };
    for (number, outcome) in ["failed", "failed", "done"].into_iter().enumerate() {
        let iteration = memory.begin(&task, &ralph_memory::memory::Run::named("run-sample")).unwrap();
        let why = "what_tried: the stable toolchain\nwhy_failed: it has no bencher\nstack_trace: error: no bencher";
        let text = format!(
            "<failure-report>{why}</failure-report> <task-{outcome}>t-benches</task-{outcome}> number {number}"
        );
        memory.finish(&iteration, &Report { text, ..Report::default() }).unwrap();
    }
    base
}

#[test]
fn every_page_says_what_it_should() {
    let base = sample();
    let server = PageProcess::start(&base);
    for (page, texts) in [
        ("", &["Now", "Last tasks", "Make the benches run", "Last changes", "The memory this week"][..]),
        ("features", &["Success rate", "Recurring errors", "no bencher", ">bench<"]),
        ("feature?id=bench", &["Make the benches run", "run-sample"]),
        ("timeline", &["3 attempts", "failed", "done"]),
        ("timeline?outcome=done", &["1 attempt"]),
        ("timeline?by=task", &["3 attempts", "Outcomes, oldest first"]),
        ("reuse?of=facts", &["Facts reused", "1 entry in the contexts", "Benches need nightly"]),
        ("reuse?of=attempts", &["Successes with a fact", "1 attempt", "Make the benches run"]),
        ("reuse?of=errors", &["Repeated errors", "1 attempt", "journal%2Frun-sample%2F0002"]),
        ("add", &["Add an entry", "Text, in markdown"]),
        ("add?supersedes=bench", &["Replace an entry", "value=\"cargo, bench\""]),
        ("edit?id=bench", &["Edit Benches need nightly", "Use `cargo +nightly bench`.", "name=\"seen\""]),
        ("task?id=t-benches", &["Attempt 3", "What was tried", "the stable toolchain", "Why it failed"]),
        ("run?id=run-sample", &["Attempts, oldest first", "Make the benches run"]),
        ("entries", &["2 entries", "Benches need nightly", "sqlite"]),
        ("entries?kind=all&tag=cargo", &["1 entry"]),
        ("entry?id=bench", &["leads nowhere", "entry?id=knowledge%2Fwal", "<code>cargo +nightly bench</code>"]),
        ("entry?id=wal", &["Links to this entry", "Earlier texts", "class=\"del\"", "Readers and one writer."]),
        ("entry?id=journal/run-sample/0001", &["Attempt #1 of its run", "it has no bencher"]),
        ("search", &["Type the words"]),
        (
            "search?q=nightly+benches",
            &["<mark>Benches</mark> need <mark>nightly</mark>", "The parts of the score", "body"],
        ),
        ("search?q=nightly&until=2020-01-01", &["Nothing found"]),
        (
            "context?task=Make+the+benches+run&feature=bench",
            &["Sections of the context", "Use `cargo +nightly bench`."],
        ),
        ("context?task=Make+it&tokens=1", &["role=\"alert\"", "Hint"]),
        ("context", &["The briefing of a session", "# Project Memory", "Use `cargo +nightly bench`."]),
        ("health", &["What was examined", "leads to no entry", "index"]),
    ] {
        let html = server.page(page);
        for text in texts {
            assert!(html.contains(text), "{page} lacks {text:?}: {html}");
        }
    }
    for page in ["nothing", "entry?id=nobody", "task?id=t-none", "run?id=run-none", "feature?id=none", "entry"] {
        let answer = server.get(page);
        assert_eq!(answer.status, 404, "{page}");
        assert_harmless(page, &answer.body);
    }
    for (file, kind) in [("style.css", "text/css"), ("page.js", "text/javascript"), ("icon.svg", "image/svg+xml")] {
        let answer = server.get(file);
        assert!(answer.status == 200 && answer.head.contains(&format!("content-type: {kind}")), "{file}: {answer:?}");
    }
}

#[test]
fn times_are_exact_and_in_utc_as_the_server_writes_them() {
    let base = TestBase::new();
    let head = "title: Retries\ntags: [api]\ncreated_at: 2026-03-01T09:08:07Z\nupdated_at: 2026-03-02T11:30:00+02:00";
    base.write(".ralph/knowledge/retries.md", format!("---\n{head}\n---\n\nOnly after a 503.\n"));
    let html = PageProcess::start(&base).page("entry?id=retries");
    let created =
        "<time datetime=\"2026-03-01T09:08:07Z\" title=\"2026-03-01 09:08:07 UTC\">2026-03-01 09:08 UTC</time>";
    assert!(html.contains(created), "{html}");
    assert!(html.contains(">2026-03-02 09:30 UTC</time>"), "{html}");
}

/// Returns the part of a page that is not its frame.
pub(crate) fn main_of(html: &str) -> &str {
    html.split("<main").nth(1).and_then(|rest| rest.split("</main>").next()).unwrap()
}

#[test]
fn no_page_repeats_what_it_is_about() {
    let base = sample();
    base.run(["add", "Bench output is noisy", "--tags", "bench", "--feature", "bench", "--body", "Run it alone."])
        .says(0, "knowledge/bench-output-is-noisy");
    let server = PageProcess::start(&base);
    let links = |page: &str, link: &str| {
        let html = server.page(page);
        main_of(&html).matches(&format!("href=\"{link}\"")).count()
    };
    assert_eq!(links("feature?id=bench", "feature?id=bench"), 0, "the attempts and entries of a feature");
    assert_eq!(links("run?id=run-sample", "run?id=run-sample"), 0, "the iterations of a run");
    assert_eq!(links("task?id=t-benches", "task?id=t-benches"), 0, "the attempts at a task");
    assert_eq!(links("entry?id=journal/run-sample/0001", "entry?id=journal%2Frun-sample%2F0001"), 0, "an attempt");
    let attempt = server.page("entry?id=journal/run-sample/0001");
    assert_eq!(main_of(&attempt).matches(">failed<").count(), 1, "its outcome");
    assert!(!main_of(&server.page("run?id=run-sample")).contains("Run run-sample"), "the heading is the id");
    let context = server.page("context?task=Make+the+benches+run&task_id=t-benches&feature=bench");
    assert_eq!(main_of(&context).matches("Previous Attempts").count(), 2, "in the table and as a heading");
}

#[test]
fn the_words_of_a_search_are_marked_and_nothing_else() {
    let base = TestBase::new();
    base.entry(
        "one",
        "<script>alert(1)</script> in <b>titles</b>",
        "x",
        "An alerting </mark><script>alert(2)</script>.",
    );
    base.entry("two", "parseHttpAlert", "x", "It alerts `it` & \u{202e}alerts.");
    let server = PageProcess::start(&base);
    let html = server.page("search?q=alert+the+%3Cmark%3E+it");
    let title = "&lt;script&gt;<mark>alert</mark>(1)&lt;/script&gt; in &lt;b&gt;titles&lt;/b&gt;";
    assert!(html.contains(title), "{html}");
    assert!(html.contains("parseHttp<mark>Alert</mark>"), "a part of an identifier: {html}");
    assert!(html.contains("<mark>alerting</mark> &lt;/"), "a word with the same stem: {html}");
    assert!(!html.contains("<mark>it</mark>") && !html.contains("<mark>in</mark>"), "stop words: {html}");
}

#[test]
fn a_task_that_is_not_done_leads_to_its_next_context() {
    let base = sample();
    let memory = base.memory();
    let task = Task { id: Some("t-open".into()), section: Some("later".into()), ..Task::new("Sign & send") };
    let iteration = memory.begin(&task, &ralph_memory::memory::Run::named("run-open")).unwrap();
    let text = "<failure-report>what_tried: gpg\nwhy_failed: no key</failure-report> <task-failed>t-open</task-failed>";
    memory.finish(&iteration, &Report { text: text.to_owned(), ..Report::default() }).unwrap();
    let server = PageProcess::start(&base);
    let listed = server.page("context");
    assert!(listed.contains("href=\"context?task=Sign%20%26%20send&amp;task_id=t-open\""), "{listed}");
    assert!(!main_of(&listed).contains("task_id=t-benches"), "a task that is done");
    let of_task = server.page("task?id=t-open");
    let address = "context?task=Sign%20%26%20send&amp;task_id=t-open&amp;section=later";
    assert!(of_task.contains(&format!("href=\"{address}\"")), "{of_task}");
    assert!(server.page(&address.replace("&amp;", "&")).contains("no key"));
    assert!(!server.page("task?id=t-benches").contains("context?task="));
}

#[test]
fn only_who_knows_the_token_and_asks_this_host_gets_an_answer() {
    let base = sample();
    let server = PageProcess::start(&base);
    let (host, token) = (server.host(), server.token.clone());
    let own = format!("/{token}/");
    let localhost = format!("Host: localhost:{}", server.port);
    assert_eq!(server.request("GET", &own, &[&localhost], "").status, 200);
    let wrong_token = format!("/{}0/", &token[1..]);
    let other_case = format!("/{}/", token.to_uppercase());
    let cases: [(&str, &str, Vec<String>); 10] = [
        ("GET", "/", vec![host.clone()]),
        ("GET", "/favicon.ico", vec![host.clone()]),
        ("GET", &wrong_token, vec![host.clone()]),
        ("GET", &other_case, vec![host.clone()]),
        ("GET", &own, vec!["Host: evil.example".to_owned()]),
        ("GET", &own, vec![format!("Host: evil.example:{}", server.port)]),
        ("GET", &own, vec!["Host: 127.0.0.1:1".to_owned()]),
        ("GET", &own, vec![host.clone(), "Origin: http://evil.example".to_owned()]),
        ("POST", &own, vec![host.clone(), "Sec-Fetch-Site: cross-site".to_owned()]),
        ("POST", &own, vec![host.clone(), "Origin: null".to_owned()]),
    ];
    let mut bodies = BTreeSet::new();
    for (method, path, lines) in cases {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let answer = server.request(method, path, &lines, "");
        assert_eq!(answer.status, 403, "{method} {path} {lines:?}: {answer:?}");
        bodies.insert(answer.body);
    }
    assert_eq!(bodies.len(), 1, "a refusal says nothing of its reason: {bodies:?}");
    for answer in [server.get(""), server.get("nothing"), server.request("GET", "/", &[&host], "")] {
        for header in [
            "content-security-policy: default-src 'none'; style-src 'self'; script-src 'self';",
            "frame-ancestors 'none'",
            "referrer-policy: no-referrer",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(answer.head.contains(header), "{header}: {}", answer.head);
        }
        assert!(!answer.head.contains("set-cookie") && !answer.head.contains("access-control"), "{}", answer.head);
    }
}

#[test]
fn a_form_needs_the_token_and_changes_what_it_says() {
    let base = sample();
    let server = PageProcess::start(&base);
    let before = base.files(".ralph/knowledge");
    let id = "id=knowledge%2Fbench";
    let token = server.token.clone();
    let wrong = format!("{id}&token={}0", &token[1..]);
    for fields in [id, wrong.as_str(), ""] {
        assert_eq!(server.post("archive", fields, &[]).status, 403, "{fields}");
    }
    let right = format!("{id}&token={token}");
    for lines in [
        &["Origin: http://evil.example"][..],
        &["Sec-Fetch-Site: same-site"],
        &["Origin: null", "Sec-Fetch-Site: cross-site"],
    ] {
        assert_eq!(server.post("archive", &right, lines).status, 403, "{lines:?}");
    }
    let huge = format!("{right}&x={}", "x".repeat(4_000_000));
    assert_eq!(server.post("archive", &huge, &[]).status, 413);
    assert_eq!(server.get("archive").status, 404, "a link changes nothing");
    assert_eq!(base.files(".ralph/knowledge"), before);

    let own = format!("Origin: http://127.0.0.1:{}", server.port);
    let done = server.post("archive", &right, &[&own]);
    assert!(done.status == 303 && done.head.contains("location: entry?id=knowledge%2fbench&done=archive"), "{done:?}");
    assert!(!base.at(".ralph/knowledge/bench.md").exists() && base.at(".ralph/archive/knowledge/bench.md").exists());
    assert!(server.page("entry?id=knowledge/bench&done=archive").contains("Moved to the archive."));
    let browser = ["Origin: null", "Sec-Fetch-Site: same-origin"];
    assert_eq!(server.post("restore", &right, &browser).status, 303, "as browsers send it without a referrer");
    assert_eq!(base.files(".ralph/knowledge"), before);
    assert_eq!(server.post("restore", &right, &[]).status, 404, "the archive has no version of it");

    let health = server.page("health");
    let number = health.split("action=\"undo\"").nth(1).and_then(|form| form.split("name=\"id\" value=\"").nth(1));
    let number = number.and_then(|value| value.split('"').next()).unwrap().to_owned();
    assert_eq!(server.post("undo", &format!("id={number}&token={token}"), &[]).status, 303);
    assert!(base.at(".ralph/archive/knowledge/bench.md").exists(), "the restoring was taken back");
    assert_eq!(server.post("undo", &format!("id=x&token={token}"), &[]).status, 404);
}

/// A replacement once put whole blocks of rules in the place of two selectors, and nothing pulsed any more.
#[test]
fn no_rule_of_the_style_sheet_stands_twice() {
    let base = sample();
    let sheet = PageProcess::start(&base).get("style.css").body;
    let rules = |sheet: &str| {
        let lines = sheet.lines().filter(|line| !line.starts_with(' ') && line.contains('{') && line.contains('}'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let (all, mut distinct) = (rules(&sheet), rules(&sheet));
    distinct.sort();
    distinct.dedup();
    assert!(all.len() > 100 && all.len() == distinct.len(), "{} rules, {} distinct", all.len(), distinct.len());
    let still: Vec<&str> = sheet.lines().filter(|line| line.contains("animation: none")).collect();
    assert_eq!(still, [".offline .pulse::before { animation: none; }", "  .pulse::before { animation: none; }"]);
}

#[test]
fn what_agents_wrote_is_reviewed_on_the_page() {
    let base = TestBase::new();
    base.entry("own", "Ours", "x", "By a person.");
    base.write(".ralph/knowledge/theirs.md", "---\ntitle: Theirs <b>\nsource: agent\n---\n\nUse mold.\n");
    let server = PageProcess::start(&base);
    let list = server.page("entries?author=unreviewed");
    assert!(list.contains("knowledge%2Ftheirs") && !list.contains("knowledge%2Fown"), "{list}");
    let has_button = |id: &str| server.page(&format!("entry?id={id}")).contains("Keep as mine");
    assert!(has_button("theirs") && !has_button("own"));
    let kept = server.post("keep", &format!("id=knowledge%2Ftheirs&token={}", server.token), &[]);
    assert!(kept.status == 303 && kept.head.contains("location: entry?id=knowledge%2ftheirs&done=keep"), "{kept:?}");
    assert!(base.read(".ralph/knowledge/theirs.md").contains("source: \"human\""));
    let page = server.page("entry?id=knowledge/theirs&done=keep");
    assert!(page.contains("Kept: it is yours now") && !page.contains("Keep as mine"), "{page}");
    assert!(server.page("entries?author=unreviewed").contains("No entry matches"));
}

#[test]
fn the_page_goes_further_back_and_forward_again() {
    let base = TestBase::new();
    let titles: Vec<String> = (0..8).map(|number| format!("n{number}")).collect();
    for title in &titles {
        base.run(["add", title, "--tags", "a", "--body", title]).says(0, "created");
    }
    let server = PageProcess::start(&base);
    // What the first button with this label does.
    let press = |label: &str| {
        let page = server.page("health");
        let forms: Vec<&str> = page.split("action=\"undo\"").skip(1).collect();
        let form = forms.into_iter().find(|form| form.contains(&format!("<button>{label}<"))).expect(label);
        let number = form.split("name=\"id\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let done = server.post("undo", &format!("id={number}&token={}", server.token), &[]);
        assert_eq!(done.status, 303, "{done:?}");
        let address = done.head.split("location: ").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap();
        server.page(address.trim_start_matches("./"))
    };
    for left in (0..8).rev() {
        assert!(press("Undo").contains("Taken back:"));
        assert_eq!(base.files(".ralph/knowledge").len(), left);
    }
    assert!(!server.page("health").contains("<button>Undo<"));
    for there in 1..=8 {
        assert!(press("Redo").contains("Brought back:"));
        assert_eq!(base.files(".ralph/knowledge").len(), there);
    }
    assert!(!server.page("health").contains("<button>Redo"));
    press("Undo");
    base.run(["add", "other", "--tags", "a", "--body", "Other."]).says(0, "created");
    assert!(!server.page("health").contains("<button>Redo"), "a change after it leaves nothing to redo");
}

#[test]
fn a_page_says_what_was_done_only_as_long_as_it_is_so() {
    let base = sample();
    let server = PageProcess::start(&base);
    let form = format!("id=knowledge%2Fbench&token={}", server.token);
    assert_eq!(server.post("archive", &form, &[]).status, 303);
    let address = "entry?id=knowledge/bench&done=archive";
    assert!(server.page(address).contains("Moved to the archive."));
    base.run(["undo"]).says(0, "bench");
    let page = server.page(address);
    assert!(page.contains("Move to the archive") && !page.contains("Moved to the archive."), "{page}");
    for page in ["health?done=undo", "?done=undo"] {
        assert!(server.page(page).contains("Taken back:"), "{page}");
    }
    base.run(["add", "Later", "--tags", "x", "--body", "It is newer."]).says(0, "later");
    for page in ["health?done=undo", "?done=undo", "health?done=archive", "entry?id=bench&done=undo"] {
        let text = server.page(page);
        assert!(!text.contains("note good"), "{page}: {text}");
    }
    assert!(server.page("").contains("<p class=\"note\" id=\"offline\" role=\"status\" hidden></p>"));
}

#[test]
fn health_and_entries_say_the_truth_about_what_helped() {
    let base = TestBase::new();
    for (stem, title) in [("mixed", "Helped nobody"), ("gone", "Archived since")] {
        base.entry(stem, title, "x", "It was in contexts.");
    }
    let with_three = "knowledge/mixed, knowledge/gone, knowledge/nobody";
    let attempts = [
        ("failed", with_three),
        ("failed", with_three),
        ("failed", with_three),
        ("partial", "knowledge/mixed"),
        ("interrupted", "knowledge/mixed"),
        ("done", "knowledge/useful"),
    ];
    for (number, (outcome, context)) in (1..).zip(attempts) {
        let fields = format!("outcome: {outcome}\ntask_id: t-{number}\ncontext: [{context}]");
        attempt(&base, &format!("run-a/{number}"), &format!("2026-11-01T10:00:0{number}Z"), &fields, "");
    }
    base.run(["archive", "knowledge/gone"]).says(0, "gone");
    let server = PageProcess::start(&base);
    let health = server.page("health");
    assert!(health.contains("1 entry was in contexts of attempts at several tasks that failed"), "{health}");
    let found = health.split("Last changes").next().unwrap();
    assert!(!found.contains("looks useless") && !found.contains("Archived since"), "{health}");
    let entry = server.page("entry?id=mixed");
    assert!(
        entry.contains(
            "None of the attempts whose contexts had it succeeded; 3 at several tasks failed. Does it mislead?"
        ),
        "{entry}"
    );
    base.run(["archive", "knowledge/mixed"]).says(0, "mixed");
    let health = server.page("health");
    assert!(health.contains("looks useless") && !health.contains("Never helped"), "{health}");
}

#[test]
fn health_files_errors_under_problems() {
    let base = TestBase::new();
    base.write(".ralph/knowledge/twice.md", "---\ntitle: One\ntitle: Two\ntags: [x]\n---\n\nText.\n");
    let health = PageProcess::start(&base).page("health");
    let (before, after) = health.split_once("No two entries say nearly the same.").expect("no duplicate");
    assert!(before.contains("knowledge/twice.md") && !after.contains("knowledge/twice.md"), "{health}");
    assert!(!before.contains("No problem was found"), "{health}");
}

#[test]
fn no_page_waits_for_a_server_that_does_not_answer() {
    let base = sample();
    // It accepts, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let mut command = base.with(["serve", "--json", "--port", "0"]).env("RALPH_MEMORY_OLLAMA__URL", &address).command();
    command.env("RALPH_MEMORY_OLLAMA__TIMEOUT_MS", "60000");
    let server = PageProcess::of(command);
    let health = server.page("health");
    assert!(health.contains("the servers are being asked"), "{health}");
}

#[test]
fn a_tag_with_a_space_is_one_tag() {
    let base = TestBase::new();
    base.run(["add", "Slow builds", "--tags", "slow build,ci", "--feature", "build", "--body", "Cache."])
        .says(0, "slow-builds");
    base.run(["add", "Slow tests", "--tags", "ci", "--body", "Split them."]).says(0, "slow-tests");
    let server = PageProcess::start(&base);
    let link = "entries?kind=all&amp;tag=slow%20build";
    assert!(server.page("entry?id=slow-builds").contains(link));
    for page in [link.replace("&amp;", "&").as_str(), "entries?tag=slow+build,+ci", "search?q=slow&tag=slow+build%2Cci"]
    {
        let html = server.page(page);
        assert!(html.contains("1 entry") && html.contains("Slow builds"), "{page}: {html}");
    }
    // The counts are those of the list, and so are the links.
    let html = server.page("entries?feature=build&tag=slow+build");
    assert!(html.contains("href=\"entries?feature=build&amp;tag=slow%20build%2C%20ci\""), "{html}");
}

#[test]
fn a_field_of_a_form_sends_back_what_it_got() {
    let base = TestBase::new();
    let id = "knowledge/a\u{200b}b";
    base.write(&format!(".ralph/{id}.md"), "---\ntitle: Invisible\ntags: [x]\n---\n\nText.\n");
    let server = PageProcess::start(&base);
    let html = server.page("entry?id=knowledge/a%E2%80%8Bb");
    let value = html.split("name=\"id\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a form");
    assert_eq!(value, "knowledge/a&#8203;b");
    let form = format!("id=knowledge%2Fa%E2%80%8Bb&token={}", server.token);
    assert_eq!(server.post("archive", &form, &[]).status, 303);
    let context = server.page("context?task=x&description=first%0D%0Asecond");
    assert!(context.contains(">first\nsecond</textarea>"), "{context}");
    let search = server.page("search?q=%22%3E%3Cb%3E%C3%A9%E2%80%AE%26amp%3B%1B&feature=%22%26");
    assert!(search.contains("value=\"&#34;&#62;&#60;b&#62;&#233;\\u{202e}&#38;amp;\\u{1b}\""), "{search}");
    assert!(search.contains("value=\"&#34;&#38;\""), "{search}");
}

#[test]
fn lists_say_what_they_leave_out() {
    let base = TestBase::new();
    let files: Vec<String> = (0..25).map(|number| format!("src/{number}.rs")).collect();
    for number in 0..24_u32 {
        for again in 0..2 {
            let error = format!("error: the {} is broken", char::from(b'a' + u8::try_from(number).unwrap()));
            let body = format!("## Error output\n\n{error}\n");
            let at = number * 2 + again;
            let fields = format!("feature: all\nmodel: model-{}\nfiles: {{modified: [{}]}}", at % 7, files.join(", "));
            failure(&base, at + 1, &fields, &body);
        }
    }
    for number in 100..203_u32 {
        failure(&base, number, &format!("task_id: t-2\nfeature: feature-{number}"), "");
    }
    let server = PageProcess::start(&base);
    let first = server.page("features");
    assert!(first.contains("104 features, page 1 of 2") && first.contains("feature-202"), "{first}");
    for rest in
        ["and 4 more, which ralph-memory stats --json lists", "and 5 more, which ralph-memory stats --json lists"]
    {
        assert!(first.contains(rest), "{rest}: {first}");
    }
    let second = server.page("features?page=2");
    assert!(
        second.contains("feature-100<") && second.contains("and 3 more") && !second.contains("feature-202"),
        "{second}"
    );
    assert!(server.page("features?page=9").contains("page 2 of 2"));
}

/// Returns hostile titles and bodies, many of each sort.
fn hostile() -> Vec<(String, String)> {
    let scripts = [
        "<script>alert(1)</script>",
        "<style>*{display:none}</style>",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)><animate onbegin=alert(1)></svg>",
        "</article></main></body><script src=//evil.example></script>",
        "<a href=\"javascript:alert(1)\">x</a>",
        "[x](javascript:alert(1))",
        "[x](  JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:x) [y](file:///etc/passwd) [z](//evil.example) [w](/root)",
        "![x](https://evil.example/pixel.png) ![y](data:image/svg+xml,<svg/onload=alert(1)>)",
        "<javascript:alert(1)> <https://ok.example/\"onmouseover=alert(1)>",
        "[x]: javascript:alert(1)\n\n[x]",
        "\" onmouseover=\"alert(1)\" x=\"",
        "' autofocus onfocus='alert(1)",
        "{{constructor.constructor('alert(1)')()}} ${alert(1)}",
        "<!-- --><![CDATA[ ]]> <?php ?> <!DOCTYPE html>",
        "<form action=//evil.example><input name=token><button>Undo</button></form>",
        "<meta http-equiv=refresh content=\"0;url=//evil.example\"><base href=//evil.example>",
        "`</code><script>alert(1)</script>`",
        "```\n</code></pre><script>alert(1)</script>\n```",
        "| a | <script> |\n|---|---|\n| <b onclick=x> | [x](javascript:y) |",
        "[[<script>alert(1)</script>]] [[\" onclick=\"x]]",
        "a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\u{e0041}f",
        "a\u{1b}[31mb\u{7}c\u{9b}d\u{0}e\u{8}f\u{7f}",
        "&lt;script&gt; &amp;amp; &#x3c;script&#x3e;",
    ];
    let deep = ["> ", "- ", "1. ", "**", "[", "![", "~~", "<div>", "`", "* > "];
    let mut found: Vec<(String, String)> = Vec::new();
    for number in 0..500 {
        let script = scripts[number % scripts.len()];
        let (title, body) = match number % 5 {
            0 => (format!("{script} {number}"), script.to_owned()),
            1 => (script.repeat(10_000 / script.len() + 1), format!("# {script}\n\n- {script}\n\n> {script}")),
            2 if number % 50 == 2 => {
                (format!("Deep {number}"), deep[number / 50].repeat(10_000) + "x" + &"](y)".repeat(10_000))
            }
            2 => (format!("Mixed {number}"), format!("*{script}* **{script}** ~~{script}~~\r\n{script}")),
            3 => (format!("Code {number}"), format!("    {script}\n\n~~~{script}\n{script}\n~~~\n")),
            _ => (format!("Plain {number}"), format!("{script}\n\n{}", scripts[(number * 7) % scripts.len()])),
        };
        found.push((title, body));
    }
    found
}

#[test]
fn nothing_in_an_entry_gets_out_of_its_text() {
    let base = TestBase::new();
    for (number, (title, body)) in hostile().into_iter().enumerate() {
        let title = serde_json::to_string(&title.replace('\n', " ")).unwrap();
        let tag = serde_json::to_string(&format!("<b onclick=x>{number}")).unwrap();
        let head =
            format!("title: {title}\ntags: [{tag}, hostile]\nfeature: {tag}\ncategory: {tag}\nquestions: [{title}]");
        base.write(&format!(".ralph/knowledge/hostile-{number:03}.md"), format!("---\n{head}\n---\n\n{body}\n"));
    }
    let server = PageProcess::start(&base);
    for page in 1..=10 {
        server.page(&format!("entries?page={page}"));
    }
    for number in 0..500 {
        server.page(&format!("entry?id=hostile-{number:03}"));
    }
    for page in [
        "",
        "features",
        "timeline",
        "reuse?of=%3Cscript%3E",
        "health",
        "search?q=script+alert&n=200",
        "search?q=%22%3E%3Cscript%3E&tag=%22%3E%3Cscript%3E",
        "context?task=alert+the+script&feature=%3Cscript%3E",
        "feature?id=%3Cb+onclick%3Dx%3E7",
        "entries?tag=%3Cscript%3E&category=%22onclick%3D",
    ] {
        server.page(page);
    }
    for page in ["entry?id=%3Cscript%3E", "task?id=%22%3E%3Cscript%3E", "feature?id=%00%1b%22%3E", "run?id=..%2F.."] {
        let answer = server.get(page);
        assert_eq!(answer.status, 404, "{page}");
        assert_harmless(page, &answer.body);
    }
}

#[test]
fn a_second_server_says_where_the_first_one_is() {
    let base = sample();
    let first = PageProcess::start(&base);
    assert_eq!(first.answer["already_running"], false);
    let second = base.run(["serve", "--json"]).json(0);
    assert_eq!((&second["address"], &second["pid"]), (&first.answer["address"], &first.answer["pid"]));
    assert_eq!(second["already_running"], true);
    let address = first.answer["address"].as_str().unwrap().to_owned();
    base.run(["serve"]).says(0, &address);
    base.run(["serve", "--port", &first.port.to_string()]).says(0, &address);
    drop(first);
    let third = PageProcess::start(&base);
    assert_eq!(third.answer["already_running"], false, "the first one was killed");
    assert_ne!(third.answer["address"], address.as_str());
    base.run(["serve", "--port", "70000"]).refuses(2, "70000");
}

#[test]
fn a_taken_port_is_refused_by_name() {
    let base = sample();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    base.run(["serve", "--port", &port]).refuses(2, &format!("cannot listen on port {port}"));
}

#[test]
fn a_page_follows_the_settings_and_says_when_there_is_no_memory() {
    let base = TestBase::new();
    let task = Task::new("Sort the index");
    let memory = base.memory();
    let fail = || {
        let report = Report { text: format!("<task-failed>{}</task-failed>", task.own_id()), ..Report::default() };
        memory.finish(&memory.begin(&task, &memory.new_run()).unwrap(), &report).unwrap();
    };
    fail();
    fail();
    let server = PageProcess::start(&base);
    assert!(!server.page("").contains("attempts without success"));
    fail();
    assert!(server.page("").contains("3 attempts without success"));
    base.write(".ralph/config.toml", "[search]\nlimit = \"two\"\n");
    let broken = server.get("");
    assert_ne!(broken.status, 200);
    assert!(broken.body.contains("search.limit"), "{}", broken.body);
    fs::rename(base.at(".ralph"), base.at("elsewhere")).unwrap();
    for page in ["", "entries", "health", "search?q=index"] {
        let answer = server.get(page);
        assert_ne!(answer.status, 200, "{page}");
        assert!(answer.body.contains("no <code>.ralph</code> folder in"), "{page}: {}", answer.body);
        assert_harmless(page, &answer.body);
    }
    fs::rename(base.at("elsewhere"), base.at(".ralph")).unwrap();
    base.write(".ralph/config.toml", "");
    assert!(server.page("").contains("Sort the index"));
}

/// Opens a stream of events, and returns it after its first event.
fn stream(server: &PageProcess) -> (BufReader<TcpStream>, String) {
    let mut stream = server.connect();
    let head = format!("GET /{}/events HTTP/1.1\r\n{}\r\n\r\n", server.token, server.host());
    stream.write_all(head.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let event = next_event(&mut reader);
    (reader, event)
}

fn next_event(reader: &mut BufReader<TcpStream>) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the stream ended");
        assert!(!line.contains("503"), "no room for a stream");
        assert!(!line.starts_with(": alive"), "no event came in time");
        if line.starts_with("data: ") {
            return line;
        }
    }
}

#[test]
fn open_pages_learn_of_a_change() {
    let base = sample();
    let server = PageProcess::start(&base);
    let (mut events, mut last) = stream(&server);
    // The first events say that the server is ready.
    for number in 1..=4 {
        base.entry(&format!("new-{number}"), &format!("Fact {number}"), "x", "It is new.");
        let event = next_event(&mut events);
        assert_ne!(event, last);
        last = event;
        assert!(server.page("entries").contains(&format!("Fact {number}")));
    }
}

#[test]
fn a_page_learns_that_what_its_form_did_was_taken_back_at_once() {
    let base = sample();
    let server = PageProcess::start(&base);
    let (mut events, _) = stream(&server);
    let number = |text: &str| -> u64 { text.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap() };
    for _ in 0..3 {
        let form = format!("id=knowledge%2Fbench&token={}", server.token);
        assert_eq!(server.post("archive", &form, &[]).status, 303);
        let page = server.page("entry?id=knowledge/bench&done=archive");
        assert!(page.contains("Moved to the archive."));
        let shown = number(page.split("data-live=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap());
        base.run(["undo"]).says(0, "bench");
        // The watcher may have seen neither: all files are as they were.
        while number(&next_event(&mut events)) <= shown {}
    }
}

#[test]
fn streams_of_pages_that_were_left_make_room() {
    let base = TestBase::new();
    let server = PageProcess::start(&base);
    for _ in 0..200 {
        drop(stream(&server));
    }
}

#[test]
fn an_interrupt_ends_the_server_with_open_streams() {
    let base = sample();
    for signal in [Signal::INT, Signal::TERM] {
        let mut server = PageProcess::start(&base);
        let (mut events, _) = stream(&server);
        let _half = server.connect().write(b"GET / HTTP/1.1\r\n").unwrap();
        server.signal(signal);
        assert_eq!(server.child.wait().unwrap().code(), Some(130), "{signal:?}");
        let mut rest = String::new();
        let _ = events.read_to_string(&mut rest);
    }
}

#[test]
fn many_pages_at_once_are_all_answered() {
    let base = sample();
    let server = PageProcess::start(&base);
    let pages = ["", "entries", "timeline", "search?q=nightly", "entry?id=bench"];
    std::thread::scope(|scope| {
        let ask = |number: usize| {
            let (server, page) = (&server, pages[number % pages.len()]);
            scope.spawn(move || server.get(page).status)
        };
        let asked: Vec<_> = (0..50).map(ask).collect();
        for status in asked {
            assert_eq!(status.join().unwrap(), 200);
        }
    });
}

/// Writes an attempt that failed; the later in the run, the later in time.
fn failure(base: &TestBase, number: u32, fields: &str, body: &str) {
    let at = format!("2026-11-01T{:02}:{:02}:00Z", 10 + number / 60, number % 60);
    attempt(base, &format!("run-f/{number}"), &at, fields, body);
}

#[test]
fn lists_show_no_secret() {
    let base = TestBase::new();
    let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    for number in [1, 2] {
        failure(&base, number, "feature: search", &format!("## Error output\n\nerror: {token} was refused\n"));
    }
    let server = PageProcess::start(&base);
    for page in ["", "features", "feature?id=search", "timeline", "health"] {
        assert!(!server.page(page).contains(&token), "{page}");
    }
    for page in ["features", "feature?id=search"] {
        assert!(server.page(page).contains("error: [redacted: github-token] was refused"), "{page}");
    }
}

#[test]
fn the_first_page_says_the_next_step_where_no_agent_has_worked() {
    let base = TestBase::new();
    let server = PageProcess::start(&base);
    let empty = server.page("");
    for text in
        ["This memory is empty", "href=\"add\"", "ralph-memory import", "ralph-memory setup", "ralph-memory run"]
    {
        assert!(empty.contains(text), "{text}: {empty}");
    }
    for page in ["features", "timeline"] {
        assert!(server.page(page).contains("<code>ralph-memory setup</code>"), "{page}");
    }
    for number in 0..25 {
        base.entry(&format!("f-{number}"), &format!("Fact {number}"), "x", "The proxy listens on 8443.");
    }
    let known = server.page("");
    for text in ["25 entries", "no agent has recorded an attempt yet", "ralph-memory setup", "Last entries", "on 8443."]
    {
        assert!(known.contains(text), "{text}: {known}");
    }
    for page in [&empty, &known] {
        assert!(!page.contains("No run in progress") && !page.contains("semantic search"), "{page}");
    }
}

/// Returns the number that a page has under a name.
pub(crate) fn figure<'a>(html: &'a str, name: &str) -> &'a str {
    let value = html.split(&format!("<dt>{name}</dt><dd>")).nth(1).unwrap_or_else(|| panic!("{name}: {html}"));
    let value = value.split("</dd>").next().unwrap();
    value.trim_end_matches("</a>").rsplit('>').next().unwrap()
}

#[test]
fn the_first_page_says_at_once_what_runs_what_is_stuck_and_what_the_memory_did() {
    let base = sample();
    let memory = base.memory();
    let task = Task { id: Some("t-stuck".into()), ..Task::new("Sign the archive") };
    for _ in 0..3 {
        let text = "<task-failed>t-stuck</task-failed>".to_owned();
        memory.finish(&memory.begin(&task, &memory.new_run()).unwrap(), &Report { text, ..Report::default() }).unwrap();
    }
    let page = PageProcess::start(&base).page("");
    let figures = ["Running", "Stuck", "Facts reused", "Successes after a failure", "Repeated errors"];
    assert_eq!(figures.map(|name| figure(&page, name)), ["0", "1", "1", "1", "1"], "{page}");
    let places: Vec<_> =
        ["At present", "this week", "Sign the archive", "Last tasks"].map(|text| page.find(text)).into();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?}");
}

#[test]
fn an_attempt_that_nobody_may_work_on_does_not_move() {
    let base = TestBase::new();
    let memory = base.memory();
    memory.begin(&Task::new("Ship the beta"), &memory.new_run()).unwrap();
    let page = PageProcess::start(&base).page("");
    assert!(page.contains("<span class=\"badge plain\">open</span>") && page.contains("Ship the beta"), "{page}");
    assert!(!page.contains("pulse"), "{page}");
    assert_eq!(figure(&page, "Running"), "0");
    assert_eq!(figure(&page, "Attempt of the run"), "#1");
    assert!(page.contains("perhaps abandoned") && !page.contains("Running for"), "{page}");
}

#[test]
fn why_an_attempt_failed_is_what_the_verification_said_where_nobody_reported() {
    let base = TestBase::new();
    let lines: Vec<String> = (1..=30).map(|number| format!("> line {number}")).collect();
    let body = format!(
        "## Summary\n\n> All is well now.\n\n## Why it failed\n\n> Task failed (no structured report)\n\n## Validation \
         output\n\n{}\n",
        lines.join("\n")
    );
    let fields = "outcome: retried\nvalidation: {command: \"make test\", exit_code: 2, duration_ms: 5}";
    attempt(&base, "run-a/1", "2026-11-01T10:00:00Z", fields, &body);
    let page = PageProcess::start(&base).page("task?id=t-1");
    let why = page.split("Why it failed</h4>").nth(1).unwrap().split("<h4>").next().unwrap();
    assert!(why.contains(">line 23\n") && why.contains("line 30<") && !why.contains("line 22"), "{why}");
    assert!(!page.contains("no structured report"), "{page}");
    let said = page.split("The agent's last words</h4>").nth(1).expect("a heading of its own");
    assert!(said.contains("All is well now."), "{said}");
}

#[test]
fn charts_have_scales_and_links_and_nothing_of_the_future() {
    let base = TestBase::new();
    // The program's clock says that it is the 20th.
    let days = [("17", "failed"), ("18", "retried"), ("18", "done"), ("29", "failed")];
    for (number, (day, outcome)) in (1..).zip(days) {
        let fields = format!("outcome: {outcome}\nfeature: api\nmodel: sonnet\nduration_secs: {}", 90 + number);
        attempt(&base, &format!("run-a/{number}"), &format!("2026-11-{day}T10:00:00Z"), &fields, "");
    }
    let server = PageProcess::start(&base);
    let features = server.page("features");
    let (chart, _) = features.split_once("The numbers").unwrap();
    for day in ["2026-11-17", "2026-11-18"] {
        let link = format!("timeline?since={day}&amp;until={day}\" tabindex=\"-1\"");
        assert!(chart.contains(&link), "{link}: {chart}");
    }
    for text in [">2</span>", ">1</span>", ">0</span>", "class=\"warn\"", " retried or blocked", ">today</span>"] {
        assert!(chart.contains(text), "{text}: {chart}");
    }
    assert!(!features.contains("until=2026-11-29"), "{chart}");
    let timeline = server.page("timeline");
    assert!(
        timeline.contains("Duration of 3 attempts, oldest first") && timeline.contains(">2 min</span>"),
        "{timeline}"
    );
    assert!(features.contains("href=\"timeline?model=sonnet\""), "the models of all features: {features}");
}

#[test]
fn filters_offer_the_values_that_there_are() {
    let base = sample();
    base.run(["add", "Long", "--tags", "slow build", "--category", "pitfall", "--feature", "<b>&", "--body", "Cache."])
        .says(0, "long");
    let fields = "model: opus\nfeature: api";
    attempt(&base, "run-m/1", "2026-11-01T10:00:00Z", fields, "");
    let server = PageProcess::start(&base);
    for (page, options) in [
        (
            "entries",
            &[("tag", "slow build"), ("feature", "&#60;b&#62;&#38;"), ("category", "pitfall"), ("tag", "cargo")][..],
        ),
        ("search", &[("tag", "slow build"), ("feature", "bench")]),
        ("timeline", &[("feature", "api"), ("model", "opus"), ("outcome", "retried")]),
    ] {
        let html = server.page(page);
        assert!(html.contains("<details class=\"fold\">") || page == "search", "{html}");
        for (name, value) in options {
            let select =
                html.split(&format!("<select id=\"{name}\"")).nth(1).expect(name).split("</select>").next().unwrap();
            assert!(select.contains(&format!("value=\"{value}\"")), "{page} {name} {value}: {select}");
        }
    }
    base.write(".ralph/knowledge/odd.md", "---\ntitle: Odd\ntags: [\"a\\u202Eb\"]\n---\n\nOdd.\n");
    assert!(!server.page("entries").contains("<option value=\"a\\u{202e}b"), "it would turn the text around");
    let asked = server.page("entries?tag=cargo,+bench&feature=nobody");
    for selected in ["value=\"cargo, bench\" selected", "value=\"nobody\" selected"] {
        assert!(asked.contains(selected), "{selected}: {asked}");
    }
    assert!(asked.contains("Filters (2 set)"));
}

#[test]
fn attempts_at_a_task_are_a_row_and_in_the_order_in_which_one_learns() {
    let base = sample();
    let server = PageProcess::start(&base);
    let by_task = server.page("timeline?by=task");
    assert_eq!(main_of(&by_task).matches(">Make the benches run<").count(), 1, "{by_task}");
    let outcomes: Vec<&str> =
        by_task.split("class=\"sr\">").skip(1).filter_map(|rest| rest.split(" </span>").next()).collect();
    assert!(outcomes.windows(3).any(|found| found == ["failed", "failed", "done"]), "{outcomes:?}");
    let task = server.page("task?id=t-benches");
    let places: Vec<_> = (1..=3).map(|number| task.find(&format!(">Attempt {number}</a>"))).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{places:?}");
}

#[test]
fn every_page_says_where_one_is_and_has_one_field_to_search() {
    let base = sample();
    let server = PageProcess::start(&base);
    for page in ["", "features", "timeline", "entries", "search", "context", "health", "add"] {
        let html = server.page(page);
        assert_eq!(html.matches("type=\"search\"").count(), 1, "{page}");
        assert!(html.contains(" · ralph-memory</title>") && html.contains("class=\"product\">ralph-memory<"), "{page}");
    }
    for (page, steps) in [
        ("task?id=t-benches", &["href=\"features\"", "href=\"feature?id=bench\""][..]),
        ("feature?id=bench", &["href=\"features\""]),
        ("run?id=run-sample", &["href=\"timeline\""]),
        ("entry?id=wal", &["href=\"entries\""]),
        (
            "entry?id=journal/run-sample/0001",
            &["href=\"timeline\"", "href=\"feature?id=bench\"", "href=\"task?id=t-benches\""],
        ),
        ("edit?id=wal", &["href=\"entries\"", "href=\"entry?id=knowledge%2Fwal\""]),
    ] {
        let html = server.page(page);
        let trail = html.split("<nav class=\"trail\"").nth(1).expect(page).split("</nav>").next().unwrap();
        let places: Vec<_> = steps.iter().map(|step| trail.find(step)).collect();
        assert!(places.is_sorted() && places[0].is_some(), "{page}: {trail}");
    }
}

#[test]
fn lists_show_a_line_of_each_entry_and_what_became_of_it() {
    let base = sample();
    let page = PageProcess::start(&base).page("entries");
    let row = page.split("<li class=\"row\">").find(|row| row.contains("Benches need nightly")).unwrap();
    assert!(row.contains("Use cargo +nightly bench.") && row.contains("in 3 contexts, 1 succeeded, 2 failed"), "{row}");
}

/// Returns the value of a hidden field of a page.
pub(crate) fn hidden<'a>(html: &'a str, name: &str) -> &'a str {
    let value = html.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap_or_else(|| panic!("{name}: {html}"));
    value.split('"').next().unwrap()
}

#[test]
fn an_entry_is_added_edited_and_replaced_by_forms() {
    let base = TestBase::new();
    let server = PageProcess::start(&base);
    let token = format!("token={}", server.token);
    assert_eq!(server.post("add", "title=A&body=B", &[]).status, 403, "without the token");
    let refused = server.post("add", &format!("{token}&title=&body=The+port+is+%3Cb%3E8443."), &[]);
    assert!(refused.status == 400 && refused.body.contains("role=\"alert\""), "{refused:?}");
    assert!(refused.body.contains("The port is &#60;b&#62;8443."), "what was typed stays: {}", refused.body);
    assert_harmless("add", &refused.body);
    let fields =
        "title=Port+of+the+proxy&body=%0D%0A%C3%89+8443.%0D%0ANot+443.&tags=proxy,+net&category=pitfall&feature=web";
    let added = server.post("add", &format!("{token}&{fields}"), &[]);
    assert!(
        added.status == 303 && added.head.contains("location: entry?id=knowledge%2fport-of-the-proxy&done=add"),
        "{added:?}"
    );
    let file = ".ralph/knowledge/port-of-the-proxy.md";
    for text in ["É 8443.\nNot 443.\n", "[proxy, net]", "category: pitfall", "feature: web", "source: human"] {
        assert!(base.read(file).contains(text), "{text}: {}", base.read(file));
    }
    // An edit of the text that was shown, with a line end at its beginning, which a browser drops.
    let form = server.page("edit?id=port-of-the-proxy");
    assert!(form.contains(">\n&#201; 8443.\nNot 443.\n</textarea>"), "{form}");
    let seen = hidden(&form, "seen").to_owned();
    let before = base.read(file);
    let edit = |seen: &str, title: &str, body: &str| {
        let fields = format!("{token}&id=port-of-the-proxy&seen={seen}&title={title}&tags=proxy,+net&body={body}");
        server.post("edit", &fields, &[])
    };
    assert_eq!(edit(&seen, "Port+of+the+proxy", "%C3%89+8443.%0D%0ANot+443.").status, 303);
    assert_eq!(base.read(file), before, "nothing was changed");
    assert_eq!(edit(&seen, "Ports+of+the+proxy", "%C3%89+9443.").status, 303);
    let renamed = ".ralph/knowledge/ports-of-the-proxy.md";
    assert!(base.read(renamed).contains("É 9443.\n") && !base.read(renamed).contains("443.\nNot"));
    let listed = base.run(["undo", "--list", "--json"]).json(0);
    assert_eq!(listed["operations"].as_array().unwrap().len(), 2, "an edit is one operation: {listed}");
    // Somebody else has changed it since.
    let conflict = edit(&seen, "Ports+of+the+proxy", "Mine.");
    assert!(conflict.status == 409 && conflict.body.contains("Mine."), "{conflict:?}");
    assert!(!base.read(renamed).contains("Mine."));
    let seen = hidden(&conflict.body, "seen").to_owned();
    assert_eq!(edit(&seen, "Ports+of+the+proxy", "Mine.").status, 303, "with the text that there is now");
    assert!(base.read(renamed).contains("Mine."));
    // Replaced.
    let form = server.page("add?supersedes=ports-of-the-proxy");
    assert_eq!(hidden(&form, "supersedes"), "knowledge/ports-of-the-proxy");
    let fields = "supersedes=knowledge%2Fports-of-the-proxy&title=No+proxy&tags=proxy&body=It+is+gone.";
    assert_eq!(server.post("add", &format!("{token}&{fields}"), &[]).status, 303);
    assert!(server.page("entry?id=ports-of-the-proxy").contains("superseded"));
    assert!(server.page("entry?id=no-proxy").contains("data-copy=\".ralph/knowledge/no-proxy.md\""));
}

#[test]
fn a_form_refuses_a_text_that_it_could_not_give_back() {
    let base = TestBase::new();
    base.entry("odd", "Odd", "x", "a\u{202e}b");
    base.entry("titled", "a\u{202e}b", "x", "Odd in its title.");
    base.entry("even", "Even", "x", "a\u{200b}b\u{fffd}\u{1f600}");
    let server = PageProcess::start(&base);
    for id in ["odd", "titled"] {
        let refused = server.get(&format!("edit?id={id}"));
        assert!(refused.status == 400 && refused.body.contains("in an editor"), "{refused:?}");
    }
    assert!(server.page("edit?id=even").contains("a&#8203;b&#65533;&#128512;\n</textarea>"));
    assert_ne!(server.get("edit?id=journal/run-a/0001").status, 200);
    assert_eq!(server.get("edit?id=nobody").status, 404);
}

#[test]
fn undo_says_what_it_took_back_where_it_was_pressed_and_asks_before_many_files() {
    let base = TestBase::new();
    base.run(["add", "Few", "--tags", "a", "--body", "One file."]).says(0, "created");
    let server = PageProcess::start(&base);
    let undo = |more: &str| {
        let answer = server.post("undo", &format!("token={}&{more}", server.token), &[]);
        assert_eq!(answer.status, 303, "{answer:?}");
        let address = answer.head.split("location: ").nth(1).unwrap().split("\r\n").next().unwrap();
        address.trim_start_matches("./").to_owned()
    };
    let pressed = |from: &str, title: &str| {
        let listed = server.page(from);
        let number = hidden(listed.split("action=\"undo\"").nth(1).unwrap(), "id").to_owned();
        let page = server.page(&undo(&format!("id={number}&from={from}")));
        assert!(page.contains(&format!("<h1 dir=\"auto\">{title}</h1>")), "{page}");
        page.split("class=\"note good\"").nth(1).expect("a note").split("</form>").next().unwrap().to_owned()
    };
    let note = pressed("", "Now");
    for text in ["Taken back:", "<code><bdi>add</bdi></code> · 1 file created", "knowledge/few.md", "<button>Redo<"] {
        assert!(note.contains(text), "{text}: {note}");
    }
    let note = pressed("health", "Health");
    assert!(note.contains("Brought back:") && note.contains("<button>Undo<"), "{note}");
    // Many files.
    let memory = base.memory();
    {
        let _operation = memory.operation("import");
        for number in 0..12 {
            memory
                .add(&ralph_memory::Knowledge::new(format!("Note {number}"), ["n"], format!("Of {number}.")))
                .unwrap();
        }
    }
    let number = memory.operations().unwrap()[0].number;
    let asked = undo(&format!("id={number}&from=health"));
    assert_eq!(asked, format!("undo?id={number}&from=health"));
    assert!(base.at(".ralph/knowledge/note-11.md").exists(), "nothing was taken back");
    let page = server.page(&asked);
    assert!(page.contains("Take back 12 files") && page.contains("knowledge/note-11.md"), "{page}");
    assert_eq!(undo(&format!("id={number}&from=health&sure=1")), "health?done=undo&from=health#changes");
    assert!(!base.at(".ralph/knowledge/note-11.md").exists());
    assert_eq!(server.get("undo?id=99").status, 404);
}
