//! Random lines for the server: valid messages changed in random places, pieces of them, bytes, and long lines. Among
//! them are requests with a value that no parser takes: each of these must be answered under its id.

use std::collections::HashSet;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::{Agent, STATELESS, hello, meta};
use crate::random::Random;

/// What came of them.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) frames: usize,
    pub(crate) answers: usize,
    pub(crate) errors: usize,
    /// How many requests were refused for a value in them, each of which was answered.
    pub(crate) refused: usize,
    pub(crate) slowest_end: Duration,
}

/// Sends `n_frames` lines to servers that `command` starts, `per_server` to each.
pub(crate) fn run(command: &dyn Fn() -> Command, n_frames: usize, per_server: usize, seed: u64) -> Outcome {
    let mut random = Random(seed);
    let mut outcome = Outcome { frames: 0, answers: 0, errors: 0, refused: 0, slowest_end: Duration::ZERO };
    let valid: Vec<Vec<u8>> = messages().iter().map(|message| serde_json::to_vec(message).unwrap()).collect();
    while outcome.frames < n_frames {
        let mut agent = if random.below(2) == 0 { Agent::greeted(command()) } else { Agent::start(command()) };
        let count = per_server.min(n_frames - outcome.frames);
        let mut unanswered: HashSet<String> = HashSet::new();
        let hear = |outcome: &mut Outcome, unanswered: &mut HashSet<String>, message: &Value| {
            count_in(outcome, message);
            if let Some(id) = message["id"].as_str().filter(|_| message.get("error").is_some()) {
                unanswered.remove(id);
            }
        };
        for number in 0..count {
            if random.below(10) == 0 {
                let id = format!("refused-{number}");
                agent.write(&refused(&id, &mut random));
                unanswered.insert(id);
                outcome.refused += 1;
            } else {
                agent.write(&frame(&valid, &mut random));
            }
            for message in agent.heard() {
                hear(&mut outcome, &mut unanswered, &message);
            }
        }
        outcome.frames += count;
        // It still answers what is right.
        let last =
            json!({"jsonrpc": "2.0", "id": "last", "method": "prompts/list", "params": {"_meta": meta(STATELESS)}});
        agent.tell(&last);
        loop {
            let message = agent.next();
            hear(&mut outcome, &mut unanswered, &message);
            if message["id"] == "last" && message.get("method").is_none() {
                break;
            }
        }
        let (status, took, rest) = agent.end();
        assert!(status.success(), "{status}");
        for message in &rest {
            hear(&mut outcome, &mut unanswered, message);
        }
        assert!(unanswered.is_empty(), "the client waits for ever for {unanswered:?}");
        outcome.slowest_end = outcome.slowest_end.max(took);
    }
    outcome
}

fn count_in(outcome: &mut Outcome, message: &Value) {
    outcome.answers += 1;
    outcome.errors += usize::from(message.get("error").is_some());
}

/// What is right, of every kind.
fn messages() -> Vec<Value> {
    let call = |name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let ask =
        |method: &str, parameters: Value| json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": parameters});
    vec![
        ask("initialize", hello("2025-11-25")),
        ask("server/discover", json!({"_meta": meta(STATELESS)})),
        ask("tools/list", json!({"_meta": meta(STATELESS)})),
        ask("resources/list", json!({"cursor": "memory://knowledge/a"})),
        ask("resources/templates/list", json!({})),
        ask("resources/read", json!({"uri": "memory://knowledge/wal-mode"})),
        ask("prompts/list", json!({})),
        ask("prompts/get", json!({"name": "recall", "arguments": {"task": "wal"}})),
        ask("ping", json!({})),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "id": 5, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "x"}}),
        call("search_memory", json!({"query": "readers", "limit": 3})),
        call("read_entry", json!({"id": "knowledge/wal-mode", "from": 2})),
        call("add_knowledge", json!({"title": "Frames", "tags": ["a"], "body": "b"})),
        call("build_context", json!({"task": "wal", "max_characters": 9000})),
        call("record_attempt", json!({"task": "wal", "outcome": "failed", "what_tried": "a", "why_failed": "b"})),
        call("search_feature_memory", json!({"query": "wal", "feature": "db", "min_score": 0.5})),
        call("get_recent_iterations", json!({"count": 2})),
        call("get_feature_files", json!({"feature": "db"})),
        call("get_failed_attempts", json!({"task_id": "t-1"})),
    ]
}

/// Returns a request with this id and, somewhere in it, a value that no parser takes. Its members are in any order.
fn refused(id: &str, random: &mut Random) -> Vec<u8> {
    const VALUES: [&[u8]; 10] = [
        br#""\ud800""#,
        br#""x\udfff\"],}:x""#,
        b"\"\xff\xfe\"",
        b"\"\x01\"",
        br#""\q""#,
        b"1e999",
        b"-",
        b"None",
        b"[1,]",
        b"{\"id\":}",
    ];
    let mut value = random.pick(&VALUES).to_vec();
    if random.below(4) == 0 {
        let depth = 200 + random.below(2000);
        value = [b"[".repeat(depth), value, b"]".repeat(depth)].concat();
    }
    let tool = random.pick(&["search_memory", "build_context", "add_knowledge", "none"]);
    let arguments = [b"{\"query\":\"x\",\"id\":7,\"task\":".as_slice(), &value, b"}"].concat();
    let params = [format!("{{\"name\":\"{tool}\",\"arguments\":").as_bytes(), &arguments, b"}"].concat();
    let mut members = vec![
        b"\"jsonrpc\":\"2.0\"".to_vec(),
        format!("\"id\": \"{id}\"").into_bytes(),
        b"\"method\":\"tools/call\"".to_vec(),
        [b"\"params\":".as_slice(), &params].concat(),
    ];
    let mut line = b"{".to_vec();
    while !members.is_empty() {
        line.extend(members.remove(random.below(members.len())));
        line.extend(if members.is_empty() { b" }" } else { b" ," });
    }
    line
}

fn frame(valid: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    const ODD: [&[u8]; 14] = [
        b"\"",
        b"{",
        b"}",
        b"[",
        b"\\u0000",
        b"\\ud800",
        b"-1",
        b"1e999",
        b"null",
        b"\x00",
        b"\xff\xfe",
        b"\r",
        "\u{202e}".as_bytes(),
        b"99999999999999999999",
    ];
    let mut line = random.pick(valid).clone();
    match random.below(20) {
        0 => line = (0..random.below(200)).map(|_| u8::try_from(random.below(256)).unwrap()).collect(),
        1 => line = b"[".repeat(random.below(3000)),
        2 => line = [b"{\"a\":".repeat(random.below(400)), b"1".to_vec()].concat(),
        // A text that is long, and a line that is too long, which is dear and so is seldom.
        3 => line = serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_memory", "arguments": {"query": "x".repeat(random.below(9000))}}})).unwrap(),
        4 if random.below(50) == 0 => line = vec![b'x'; 9 << 20],
        5 | 8 | 9 => {}
        6 => line.truncate(random.below(line.len())),
        7 => line.extend_from_slice(random.pick::<Vec<u8>>(valid)),
        _ => {
            for _ in 0..=random.below(3) {
                let at = random.below(line.len());
                match random.below(4) {
                    0 => line[at] = u8::try_from(random.below(256)).unwrap(),
                    1 => drop(line.remove(at)),
                    2 => drop(line.splice(at..at, random.pick(&ODD).iter().copied())),
                    _ => {
                        // A piece of another message replaces one of this.
                        let other = random.pick(valid);
                        let (from, to) = (random.below(other.len()), random.below(other.len()));
                        let end = (at + random.below(20)).min(line.len());
                        drop(line.splice(at..end, other[from.min(to)..from.max(to)].iter().copied()));
                    }
                }
            }
        }
    }
    // A line break would make two of it.
    line.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    line
}
