//! Progress on a terminal while a command works: it appears once the work takes long, and disappears at the end.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use rustix::process::Signal;

use crate::pty::Terminal;
use crate::support::{Run, TestBase};

const WAITING: &str = "Waiting for another process to finish writing";

/// Takes the lock of the entries, as another process would have it.
fn held(base: &TestBase) -> File {
    base.write(".ralph/state/lock", "");
    let lock = File::options().write(true).open(base.at(".ralph/state/lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// Returns a lock of the entries, and a command on a terminal that waits for it.
fn waiting(base: &TestBase) -> (File, Terminal) {
    let lock = held(base);
    let mut terminal = Terminal::start(add(base).lock_timeout(600_000).command());
    terminal.wait_for(WAITING);
    (lock, terminal)
}

fn add(base: &TestBase) -> Run<'_> {
    base.with(["add", "Benches need nightly", "--tags", "cargo", "--body", "Use nightly."])
}

#[test]
fn a_wait_is_shown_and_leaves_no_trace() {
    let base = TestBase::new();
    let (lock, terminal) = waiting(&base);
    drop(lock);
    let (status, screen, _) = terminal.end();
    assert!(status.success(), "{screen}");
    assert!(screen.starts_with("created knowledge/benches-need-nightly"), "{screen}");
    assert!(!screen.contains("Waiting"), "{screen}");
}

/// Seen: the line was drawn under a lock that the work took, too, so that a terminal paused by Ctrl-S kept the entries
/// locked, and no signal ended the program.
#[test]
fn a_paused_terminal_blocks_no_other_process() {
    let base = TestBase::new();
    let (lock, terminal) = waiting(&base);
    terminal.pause();
    drop(lock);
    let is_written = || base.at(".ralph/knowledge/benches-need-nightly.md").exists();
    let n_looks = (0..500).take_while(|_| !is_written() && base.run(["list"]).code == Some(0)).count();
    assert!(is_written(), "after {n_looks} looks");
    let other = base.with(["add", "Other", "--tags", "x", "--body", "Other."]).lock_timeout(60000).run();
    assert_eq!(other.code, Some(0), "{other}");
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.ended().signal(), Some(Signal::TERM.as_raw()));
}

/// An agent that prints these lines of Claude Code, and the later ones on a signal.
fn agent(base: &TestBase, first: &[&str], then: &[&str]) {
    base.write("first", first.join("\n") + "\n").write("then", then.join("\n") + "\n");
    base.write("agent.sh", "cat > /dev/null\ncat first\nread -r go < go\ncat then\n");
    assert!(Command::new("mkfifo").arg(base.at("go")).status().unwrap().success());
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-5"}"#;
const RUN: [&str; 7] = ["run", "--task", "Add the tables", "--agent", "sh agent.sh {model}", "--max-iterations", "1"];

#[test]
fn actions_of_an_agent_are_shown_as_they_happen() {
    let base = TestBase::new();
    // In pieces, so that scanners do not report it.
    let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
    let text = r#"{"type":"assistant","session_id":"s","message":{"content":[{"type":"text","text":"I run the tests.\nAll of them."}]}}"#;
    let call = format!(
        r#"{{"type":"assistant","session_id":"s","message":{{"content":[{{"type":"tool_use","id":"1","name":"Bash","input":{{"command":"make 語\u001b[2J\u202e {token}"}}}}]}}}}"#
    );
    let failed = r#"{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":"Exit code 2\nmake: no rule"}]}}"#;
    let odd = r#"{"type":"assistant","#;
    let result = r#"{"type":"result","subtype":"success","session_id":"s","is_error":false,"result":"Not done.","total_cost_usd":0.02,"usage":{"input_tokens":12000,"output_tokens":340}}"#;
    agent(&base, &[INIT, text, &call], &[failed, odd, result]);
    let mut terminal = Terminal::start(base.with(RUN).command());
    for shown in
        ["  model claude-sonnet-4-5\n", "  I run the tests.\n", "  → Bash make 語\\u{1b}[2J\\u{202e} [redacted"]
    {
        terminal.wait_for(shown);
    }
    // It still works: the moving line is below.
    terminal.wait_for(" attempt 1 of 1 · sonnet · ");
    fs::write(base.at("go"), "\n").unwrap();
    let (status, screen, bytes) = terminal.end();
    assert_eq!(status.code(), Some(1), "{screen}");
    assert!(screen.contains("\n  failed: `make 語"), "{screen}");
    assert!(screen.contains("\n  Not done.\nattempt 1 of 1 · sonnet · blocked · "), "{screen}");
    assert!(screen.contains(" · $0.02 · 12,340 tokens · no <task-done>\n in its answer\n"), "{screen}");
    assert!(
        !bytes.contains(['\u{202e}']) && !bytes.contains("\u{1b}[2J") && !bytes.contains(&token[..12]),
        "{bytes:?}"
    );
}

#[test]
fn the_question_after_an_interrupt_comes_below_the_actions() {
    let base = TestBase::new();
    agent(&base, &[INIT, INIT], &[]);
    let mut terminal = Terminal::start(base.with(RUN).command());
    terminal.wait_for("  model claude-sonnet-4-5\n");
    terminal.wait_for(" attempt 1 of 1 · sonnet · ");
    terminal.signal(Signal::INT);
    terminal.wait_for("What should the next attempt know?");
    terminal.wait_for("\n>");
    terminal.type_in("Use the lock.\n");
    terminal.wait_for("\n> Use the lock.\n>");
    terminal.type_in("\n");
    let (status, screen, _) = terminal.end();
    assert_eq!(status.code(), Some(130), "{screen}");
    // Of the line that moved nothing is left above the question.
    assert!(screen.contains("  model claude-sonnet-4-5\n\nWhat should"), "{screen}");
    assert!(screen.contains("\nattempt 1 of 1 · sonnet · interrupted · "), "{screen}");
}

#[test]
fn no_progress_without_a_terminal_or_with_quiet() {
    let base = TestBase::new();
    let lock = held(&base);
    // Longer than it takes until something would be shown.
    let add = || add(&base).lock_timeout(800);
    let piped = add().run();
    assert_eq!((piped.code, piped.stdout.as_str()), (Some(5), ""));
    assert!(piped.stderr.starts_with("error: ") && !piped.stderr.contains(['\r', '\u{1b}']), "{piped}");
    for (argument, term) in [("--quiet", "xterm"), ("--json", "xterm"), ("--allow-secret=00000000", "dumb")] {
        let mut command = add().env("TERM", term).env("NO_COLOR", "1").command();
        command.arg(argument);
        let (status, _, bytes) = Terminal::start(command).end();
        assert_eq!(status.code(), Some(5), "{bytes}");
        assert!(!bytes.contains("Waiting") && !bytes.contains('\u{1b}'), "{argument} {bytes:?}");
    }
    drop(lock);
}
