//! The page in a browser: who is refused, what pages show, what the buttons do, and that nothing in an entry gets out of its text.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ralph_memory::Task;
use ralph_memory::memory::{Report, Run};
use ralph_memory::text::address_part;
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
        let (port, token) = (answer["port"].as_u64().unwrap(), answer["token"].as_str().unwrap_or_default().to_owned());
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

const TAGS: &str = "a article aside bdi blockquote body br button code dd del details div dl dt em footer form h1 h2 h3 h4 h5 h6 head header \
    hr html img input label li link main meta nav ol option p pre script section select span strong summary table tbody td th thead time \
    title tr ul caption";
const VOID: &str = "br hr img input link meta";
const ATTRIBUTES: &str = "action alt aria-current aria-hidden aria-label aria-labelledby autocomplete charset class content data-copy \
    data-label data-live datetime defer dir for height hidden href id lang method name placeholder rel role scope selected src start tabindex \
    title type value width";

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
        assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{page}: {text:?}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{page}: {part}");
            continue;
        }
        let tag = tag.trim_end_matches(['/', ' ']);
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
    base.entry("wal", "WAL mode", "sqlite", "Readers go on in WAL mode.");
    let memory = base.memory();
    let task =
        Task { id: Some("t-benches".into()), feature: Some("bench".into()), ..Task::new("Make the benches run") };
    for outcome in ["failed", "done", "failed", "failed", "failed"] {
        let attempt = memory.begin(&task, &Run::named("run-sample")).unwrap();
        let why = "what_tried: the stable toolchain\nwhy_failed: it has no bencher";
        let text = format!("<failure-report>{why}</failure-report> <task-{outcome}>t-benches</task-{outcome}>");
        memory.finish(&attempt, &Report { text, ..Report::default() }).unwrap();
    }
    base.write(".ralph/knowledge/theirs.md", "---\ntitle: Theirs <b>\nsource: agent\n---\n\nUse mold.\n");
    base.write(".ralph/knowledge/newer.md", "---\ntitle: Newer\nsource: agent\nsupersedes: [wal]\n---\n\nNo WAL.\n");
    base
}

#[test]
fn every_page_shows_what_its_command_prints() {
    let base = sample();
    let server = PageProcess::start(&base);
    let log = base.run(["log", "--json"]).json(0)["attempts"][0]["id"].as_str().unwrap().replace('/', "%2F");
    for (page, texts) in [
        ("", &["3 attempts without success", "it has no bencher", "All 5 attempts", log.as_str()][..]),
        ("features", &[">bench<", "it has no bencher", "Failures in a row"]),
        ("timeline", &["5 attempts", "href=\"task?id=t-benches\""]),
        ("timeline?outcome=done&feature=bench", &["1 attempt<", ">done<"]),
        ("task?id=t-benches", &["Attempt 5", "What was tried", "the stable toolchain", ">stuck<"]),
        ("run?id=run-sample", &["Attempts, oldest first", "Make the benches run"]),
        ("entries", &["4 entries", "Benches need nightly", ">sqlite<", "by agent"]),
        ("entries?author=agents&tag=", &["2 entries", "Use mold."]),
        ("entries?tag=cargo,+bench", &["1 entry<"]),
        (
            "entry?id=bench",
            &[
                "leads nowhere",
                "entry?id=knowledge%2Fwal",
                "<code>cargo +nightly bench</code>",
                "ralph-memory edit knowledge/bench",
            ],
        ),
        ("entry?id=wal", &["Links to this entry", "Would be replaced, if you confirm it, by", "knowledge%2Fnewer"]),
        ("entry?id=journal/run-sample/0001", &["the stable toolchain", "outcome"]),
        ("search", &["Type the words"]),
        ("search?q=nightly+benches", &["entries<", "Benches need nightly"]),
        (
            "review",
            &[
                "2 entries that nobody has confirmed",
                "Theirs &lt;b&gt;",
                "an agent wants this entry to replace",
                "--supersedes",
            ],
        ),
    ] {
        let html = server.page(page);
        for text in texts {
            assert!(html.contains(text), "{page} lacks {text:?}: {html}");
        }
    }
    for page in ["nothing", "entry?id=nobody", "task?id=t-none", "run?id=run-none", "entry", "health", "edit?id=bench"]
    {
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
fn the_first_page_says_the_next_step_where_no_agent_has_worked() {
    let base = TestBase::new();
    let server = PageProcess::start(&base);
    for page in ["", "timeline", "features"] {
        assert!(server.page(page).contains("<code>ralph-memory setup</code>"), "{page}");
    }
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

/// Returns the fields of the first form of a page that does something.
fn form(server: &PageProcess, page: &str, action: &str) -> String {
    let html = server.page(page);
    let form = html.split(&format!("action=\"{action}\">")).nth(1).unwrap_or_else(|| panic!("{action}: {html}"));
    let fields = form.split("</form>").next().unwrap().split("name=\"").skip(1).map(|field| {
        let (name, rest) = field.split_once("\" value=\"").unwrap();
        format!("{name}={}", address_part(&rest.split('"').next().unwrap().replace("&#8203;", "\u{200b}")))
    });
    fields.collect::<Vec<_>>().join("&")
}

#[test]
fn a_form_needs_the_token_and_changes_what_it_says() {
    let base = sample();
    let server = PageProcess::start(&base);
    let before = base.files(".ralph/knowledge");
    let right = form(&server, "entry?id=bench", "archive");
    let wrong = right.replace(&server.token, &format!("{}0", &server.token[1..]));
    for (fields, lines) in [
        (wrong.as_str(), &[][..]),
        ("id=knowledge%2Fbench", &[]),
        ("", &[]),
        (&right, &["Origin: http://evil.example"]),
        (&right, &["Sec-Fetch-Site: same-site"]),
        (&right, &["Origin: null", "Sec-Fetch-Site: cross-site"]),
    ] {
        assert_eq!(server.post("archive", fields, lines).status, 403, "{fields} {lines:?}");
    }
    assert_eq!(server.post("archive", &format!("{right}&x={}", "x".repeat(20_000)), &[]).status, 413);
    assert_eq!(server.get("archive").status, 404, "a link changes nothing");
    assert_eq!(base.files(".ralph/knowledge"), before);

    let own = format!("Origin: http://127.0.0.1:{}", server.port);
    let done = server.post("archive", &right, &[&own]);
    assert!(done.status == 303 && done.head.contains("location: entry?id=knowledge%2fbench&done=archive"), "{done:?}");
    assert!(!base.at(".ralph/knowledge/bench.md").exists() && base.at(".ralph/archive/knowledge/bench.md").exists());
    let page = server.page("entry?id=knowledge/bench&done=archive");
    assert!(page.contains("Moved to the archive.") && !page.contains("action=\"archive\""), "{page}");
    assert_eq!(server.post("archive", &right, &[]).status, 404, "it is not there any more");

    let undo = form(&server, "entry?id=knowledge/bench&done=archive", "undo");
    let browser = ["Origin: null", "Sec-Fetch-Site: same-origin"];
    let undone = server.post("undo", &undo, &browser);
    assert!(undone.status == 303 && undone.head.contains("location: ./?done=undo"), "{undone:?}");
    assert_eq!(base.files(".ralph/knowledge"), before);
    assert!(server.page("?done=undo").contains("Taken back."));
    assert_eq!(server.post("undo", &undo, &[]).status, 409, "it was taken back already");
    assert_eq!(server.post("undo", &format!("id=x&token={}", server.token), &[]).status, 404);
    let page = server.page("entry?id=knowledge/bench&done=archive");
    assert!(!page.contains("Moved to the archive."), "that is not so any more: {page}");
}

#[test]
fn what_an_agent_wrote_is_kept_by_a_button() {
    let base = sample();
    let server = PageProcess::start(&base);
    assert!(!server.page("entry?id=bench").contains("action=\"keep\""), "a person wrote it");
    let kept = server.post("keep", &form(&server, "entry?id=theirs", "keep"), &[]);
    assert!(kept.status == 303 && kept.head.contains("location: entry?id=knowledge%2ftheirs&done=keep"), "{kept:?}");
    assert!(base.read(".ralph/knowledge/theirs.md").contains("source: \"human\""));
    assert!(!server.page("review").contains("Theirs"));
    assert!(!server.page("review").contains("action=\"keep\""), "a suggestion is confirmed by its command");
    base.run(["edit", "newer", "--supersedes", "wal"]).says(0, "updated");
    base.write(".ralph/knowledge/last.md", "---\ntitle: Last\nsource: agent\n---\n\nUse lld.\n");
    let kept = server.post("keep", &form(&server, "review", "keep"), &[]);
    assert!(kept.status == 303 && kept.head.contains("location: review?done=keep"), "{kept:?}");
    let review = server.page("review?done=keep");
    for text in
        ["Kept: it is yours now", "nothing that a person has not confirmed", "No agent wants", "action=\"undo\""]
    {
        assert!(review.contains(text), "{text}: {review}");
    }
    assert!(server.page("entry?id=wal").contains("superseded"));
}

#[test]
fn a_server_that_an_agent_started_has_no_buttons_and_changes_nothing() {
    let base = sample();
    let of_person = PageProcess::start(&base);
    let before = base.files(".ralph/knowledge");
    // Its address is for the person's browser, to which `--open` gives it in a file.
    let serve = ["serve", "--json", "--port", "0", "--open"];
    let mut server = PageProcess::of(base.with(serve).env("CLAUDECODE", "1").command());
    assert_eq!(
        (&server.answer["token"], server.answer["address"].as_str().unwrap().matches('/').count()),
        (&Value::Null, 3)
    );
    let launcher = base.at(".ralph/state/page/open.html");
    while !launcher.exists() {
        std::thread::yield_now();
    }
    let address = fs::read_to_string(launcher).unwrap();
    server.token = address.split('/').find(|part| part.len() == 32).unwrap().to_owned();
    assert_ne!(server.token, of_person.token, "the address of a person's page has buttons");
    for page in ["", "review", "entry?id=theirs", "entry?id=bench"] {
        assert!(!server.page(page).contains("method=\"post\""), "{page}");
    }
    for (action, id) in [("keep", "knowledge%2Ftheirs"), ("archive", "knowledge%2Fbench"), ("undo", "1")] {
        let refused = server.post(action, &format!("id={id}&token={}", server.token), &[]);
        assert!(refused.status == 403 && refused.body.contains("a coding agent started this server"), "{refused:?}");
        assert_harmless(action, &refused.body);
    }
    assert_eq!(base.files(".ralph/knowledge"), before);
    assert!(!base.read(".ralph/knowledge/theirs.md").contains("human"));
    // No file has the secret of a person's page.
    for file in base.files(".ralph") {
        let text = fs::read(base.at(&file)).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains(&of_person.token), "{file}");
    }
}

/// Returns hostile texts.
fn hostile() -> Vec<String> {
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
    let deep = deep.iter().map(|mark| mark.repeat(1_000) + "x" + &"](y)".repeat(1_000));
    let mixed = scripts.iter().map(|text| {
        format!("# {text}\n\n- *{text}*\n\n> **{text}**\r\n{text}\n\n    {text}\n\n~~~{text}\n{text}\n~~~\n")
    });
    scripts.iter().map(|text| (*text).to_owned()).chain(mixed).chain(deep).collect()
}

#[test]
fn nothing_in_an_entry_gets_out_of_its_text() {
    let base = TestBase::new();
    let texts = hostile();
    for (number, body) in texts.iter().enumerate() {
        let title = serde_json::to_string(&body.replace('\n', " ").chars().take(2_000).collect::<String>()).unwrap();
        let tag = serde_json::to_string(&format!("<b onclick=x>{number}")).unwrap();
        let head = format!(
            "title: {title}\ntags: [{tag}, hostile]\nfeature: {tag}\ncategory: {tag}\nquestions: [{title}]\nsource: agent"
        );
        base.write(&format!(".ralph/knowledge/hostile-{number}.md"), format!("---\n{head}\n---\n\n{body}\n"));
        let fields = format!("task_id: {tag}\ntask_title: {title}\nfeature: {tag}\nmodel: {tag}");
        let at = format!("2026-11-01T{:02}:{:02}:00Z", number / 60, number % 60);
        attempt(&base, &format!("run-a/{}", number + 1), &at, &fields, &format!("## Why it failed\n\n{body}\n"));
    }
    let server = PageProcess::start(&base);
    for number in 0..texts.len() {
        server.page(&format!("entry?id=hostile-{number}"));
        // What YAML refuses is no task.
        assert_harmless("task", &server.get(&format!("task?id=%3Cb+onclick%3Dx%3E{number}")).body);
        server.page(&format!("entry?id=journal/run-a/{:04}", number + 1));
    }
    for page in [
        "",
        "review",
        "features",
        "timeline?feature=%22%3E%3Cscript%3E",
        "timeline?page=2",
        "run?id=run-a",
        "entries?page=2",
        "entries?tag=%3Cscript%3E&category=%22onclick%3D&page=x",
        "search?q=script+alert",
        "search?q=%22%3E%3Cscript%3E%C3%A9%E2%80%AE&scope=%22%3E%3Cscript%3E",
    ] {
        server.page(page);
    }
    for page in ["entry?id=%3Cscript%3E", "task?id=%22%3E%3Cscript%3E", "run?id=..%2F.."] {
        let answer = server.get(page);
        assert_eq!(answer.status, 404, "{page}");
        assert_harmless(page, &answer.body);
    }
}

#[test]
fn a_button_sends_back_the_id_that_it_got() {
    let base = TestBase::new();
    base.write(".ralph/knowledge/a\u{200b}b.md", "---\ntitle: Invisible\ntags: [x]\n---\n\nText.\n");
    let server = PageProcess::start(&base);
    let fields = form(&server, "entry?id=knowledge/a%E2%80%8Bb", "archive");
    assert_eq!(server.post("archive", &fields, &[]).status, 303, "{fields}");
}

#[test]
fn lists_show_no_secret() {
    let base = TestBase::new();
    let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let body = format!("## Error output\n\nerror: {token} was refused\n");
    for number in [1, 2, 3] {
        attempt(&base, &format!("run-f/{number}"), &format!("2026-11-01T10:0{number}:00Z"), "feature: search", &body);
    }
    let server = PageProcess::start(&base);
    for page in ["", "features", "timeline", "review"] {
        assert!(!server.page(page).contains(&token), "{page}");
    }
}

#[test]
fn a_second_server_has_an_address_of_its_own_and_a_port_that_is_taken_is_named() {
    let base = sample();
    let (first, second) = (PageProcess::start(&base), PageProcess::start(&base));
    assert!(first.token != second.token && second.page("").contains("wal") == first.page("").contains("wal"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    base.run(["serve", "--port", &port]).refuses(2, &format!("cannot listen on port {port}"));
}

#[test]
fn a_page_follows_the_settings_and_says_when_there_is_no_memory() {
    let base = sample();
    let server = PageProcess::start(&base);
    base.write(".ralph/config.toml", "[search]\nlimit = \"two\"\n");
    let broken = server.get("");
    assert!(broken.status == 400 && broken.body.contains("search.limit"), "{broken:?}");
    fs::rename(base.at(".ralph"), base.at("elsewhere")).unwrap();
    for page in ["", "entries", "review", "search?q=index"] {
        let answer = server.get(page);
        assert_eq!(answer.status, 404, "{page}");
        assert!(answer.body.contains("no memory in"), "{page}: {}", answer.body);
        assert_harmless(page, &answer.body);
    }
    fs::rename(base.at("elsewhere"), base.at(".ralph")).unwrap();
    base.write(".ralph/config.toml", "");
    assert!(server.page("").contains("Make the benches run"));
}

#[test]
fn many_pages_at_once_are_answered_and_an_interrupt_ends_the_server() {
    let base = sample();
    let mut server = PageProcess::start(&base);
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
    let mut half = server.connect();
    half.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    kill_process(Pid::from_child(&server.child), Signal::INT).unwrap();
    assert_eq!(server.child.wait().unwrap().code(), Some(130));
}

#[test]
fn connections_that_never_read_hold_nobody_up() {
    let base = TestBase::new();
    for number in 0..300 {
        base.entry(&format!("e-{number}"), &format!("Entry {number}"), "x", &"word ".repeat(400));
    }
    let server = PageProcess::start(&base);
    let request = format!("GET /{}/entries HTTP/1.1\r\n{}\r\n\r\n", server.token, server.host());
    // More than the server has places, each with an answer on its way that nobody takes.
    let held: Vec<TcpStream> = (0..270)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(request.repeat(8).as_bytes()).unwrap();
            stream
        })
        .collect();
    let silent: Vec<TcpStream> = (0..270).map(|_| server.connect()).collect();
    server.page("");
    drop((held, silent));
}
