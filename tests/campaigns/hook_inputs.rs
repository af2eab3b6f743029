//! Random and hostile inputs for hooks: whatever a client sends, the exit code is 0, the answer is one document or nothing,
//! and nothing outside of the project's memory and the user's state folder is written.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_memory::{Knowledge, Memory};
use serde_json::{Value, json};

use crate::program::walk;
use crate::random::Random;

const EVENTS: [&str; 5] = ["session-start", "tool", "prompt", "stop", "session-end"];
const CLIENTS: [&str; 12] =
    ["", "claude", "codex", "cursor", "copilot", "vscode", "gemini", "qwen", "kiro", "devin", "opencode", "goose"];
/// The most characters of an answer.
const MAX_ANSWER: usize = 9_000;

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) inputs: usize,
    pub(crate) answers: usize,
    pub(crate) silent: usize,
    /// The longest call while another process held the lock of the entries.
    pub(crate) slowest_locked: Duration,
}

/// Gives `size` inputs to the hooks of a memory in `place`.
pub(crate) fn run(place: &Path, program: &Path, size: usize, seed: u64) -> Outcome {
    let (root, home) = (place.join("project"), place.join("home"));
    fs::create_dir_all(&root).unwrap();
    fs::create_dir_all(&home).unwrap();
    Memory::init(&root).unwrap();
    let memory = Memory::open(&root).unwrap();
    let ports = Knowledge::new("Ports", ["staging"], "The staging database listens on port 5433.");
    memory.add(&Knowledge { files: vec!["src/db.rs".to_owned()], ..ports }).unwrap();
    fs::write(place.join("outside"), "as it was").unwrap();
    let before = outside(place, &root, &home);
    let mut random = Random(seed);
    let mut outcome = Outcome::default();
    for number in 0..size {
        let event = *random.pick(&EVENTS);
        let mut command = Command::new(program);
        command.args(["hook", event]).current_dir(&root).env_clear().env("HOME", &home);
        command.env("RALPH_MEMORY_SESSIONS__RECORD", random.pick(&["reported", "changes", "nothing"]));
        let client = *random.pick(&CLIENTS);
        if !client.is_empty() {
            command.args(["--agent", client]);
        }
        let input = input(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It stops reading at its limit.
        let _ = child.stdin.take().unwrap().write_all(&input);
        let output = child.wait_with_output().unwrap();
        let shown = String::from_utf8_lossy(&input);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{event} {client}: {shown}\n{errors}");
        assert!(!errors.contains("panicked") && !errors.contains('\u{1b}'), "{event} {client}: {shown}\n{errors}");
        assert_fits(event, &String::from_utf8(output.stdout.clone()).unwrap());
        outcome.inputs += 1;
        *(if output.stdout.is_empty() { &mut outcome.silent } else { &mut outcome.answers }) += 1;
    }
    outcome.slowest_locked = slowest_locked(program, &root, &home);
    assert_eq!(outside(place, &root, &home), before);
    assert_eq!(fs::read_to_string(place.join("outside")).unwrap(), "as it was");
    outcome
}

/// Returns the longest of some calls while the lock of the entries is held, as by a stopped process.
fn slowest_locked(program: &Path, root: &Path, home: &Path) -> Duration {
    let lock = fs::File::create(root.join(".ralph/state/lock")).unwrap();
    lock.lock().unwrap();
    let call = |number: usize| {
        let event = ["stop", "session-start"][number % 2];
        let message = format!("<task-done>t-{number}</task-done>");
        let input = json!({"session_id": format!("locked-{number}"), "last_assistant_message": message});
        let mut command = Command::new(program);
        command.args(["hook", event]).current_dir(root).env_clear().env("HOME", home);
        let started = Instant::now();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let took = started.elapsed();
        assert!(
            output.status.success() && String::from_utf8_lossy(&output.stderr).contains("is kept in"),
            "{output:?}"
        );
        took
    };
    (0..8).map(call).max().unwrap()
}

/// Fails unless an answer is one document, or nothing.
#[track_caller]
pub(crate) fn assert_fits(event: &str, answer: &str) {
    assert!(answer.chars().count() <= MAX_ANSWER, "{} characters", answer.chars().count());
    assert!(answer.is_empty() || ["session-start", "tool", "prompt"].contains(&event), "{event}: {answer}");
    if answer.starts_with(['{', '[']) {
        let document: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(document.as_object().unwrap().len(), 1, "{answer}");
    } else {
        assert!(
            answer.is_empty() || answer.starts_with("# Project Memory\n") || answer.starts_with("Project memory, "),
            "{answer}"
        );
    }
}

/// What is in `place` and in the project, without what hooks may write.
fn outside(place: &Path, root: &Path, home: &Path) -> Vec<PathBuf> {
    let own = [root.join(".ralph"), home.join(".local/state/ralph-memory")];
    let mut found = walk(place, &|folder| !own.iter().any(|own| own == folder));
    found.retain(|path| !own[1].starts_with(path) || path == home);
    found
}

/// Returns an input: what a client sends, with hostile values, or damaged, or something else.
pub(crate) fn input(seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    match random.below(12) {
        0 => (0..random.below(2_000)).map(|_| u8::try_from(random.below(256)).unwrap()).collect(),
        1 => "[".repeat(random.below(100_000)).into_bytes(),
        2 => format!("{}{}", "{\"a\":".repeat(5_000), "}".repeat(5_000)).into_bytes(),
        3 => format!("{{\"session_id\":\"s\",\"prompt\":\"{}\"}}", "x".repeat(random.below(1_200_000))).into_bytes(),
        4 => {
            br#"{"session_id":"\ud800","cwd":"\u0000","source":"startup","source":"clear","prompt":"\ud83d"}"#.to_vec()
        }
        _ => {
            let mut text = payload(&mut random).to_string().into_bytes();
            if random.below(3) == 0 && !text.is_empty() {
                let at = random.below(text.len());
                match random.below(3) {
                    0 => text.truncate(at),
                    1 => text[at] = u8::try_from(random.below(256)).unwrap(),
                    _ => text.extend_from_slice(b"{}"),
                }
            }
            text
        }
    }
}

/// Returns an object with the fields of clients, and any values.
fn payload(random: &mut Random) -> Value {
    const KEYS: &str = "session_id sessionId conversation_id cwd working_dir workspace_roots source prompt last_assistant_message \
        assistant_response prompt_response transcript_path transcriptPath model hook_event_name agent_id \
        tool_name tool_input toolArgs tool_input tool_response error exit_code stop_hook_active cursor_version timestamp reason turn_id event";
    let keys: Vec<&str> = KEYS.split(' ').collect();
    let mut object = serde_json::Map::new();
    for _ in 0..random.below(12) {
        let key = random.pick::<&str>(&keys).to_string();
        object.insert(key, value(random));
    }
    Value::Object(object)
}

fn value(random: &mut Random) -> Value {
    const TEXTS: [&str; 26] = [
        "",
        "s-1",
        "../../outside",
        "/",
        "/etc/passwd",
        "/dev/zero",
        "/proc/self/mem",
        "cd src && cat db.rs; sh -c 'cat ../x' |",
        "*** Begin Patch\n*** Update File: src/db.rs\n*** Delete File: ../../x\n",
        "startup",
        "compact",
        "clear",
        "resume",
        "SessionStart",
        "Stop",
        "a\u{0}b",
        "\u{1b}[31mred\n",
        "\u{202e}\u{200b}",
        "🦀🦀🦀",
        "Which port does the staging database listen on?",
        "<task-done>t-1</task-done>",
        "<task-failed>../../x</task-failed><task-done></task-done>",
        "<learning category=\"pitfall\" tags=\"x\">A fact.</learning>",
        "<failure-report>\nwhat_tried: a\nwhy_failed: b\n</failure-report>",
        "<knowledge title=\"\u{1b}\" tags=\"../..\">\u{0}</knowledge>",
        "<knowledge tags=\"x\"><knowledge><knowledge>",
    ];
    match random.below(10) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(random.below(1 << 50)),
        3 => json!([random.pick(&TEXTS), 1]),
        4 => json!({"a": {"b": [random.pick(&TEXTS)]}, "file_path": "src/db.rs", "command": random.pick(&TEXTS)}),
        5 => json!(random.pick(&TEXTS).repeat(random.below(3_000))),
        _ => json!(random.pick(&TEXTS)),
    }
}
