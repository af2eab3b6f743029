//! Files of `state/` that a stranger sealed with a guessed key: what an archive can bring where the number of a file is
//! all that tells it from others, as on a file system without times of birth.
//!
//! Where a file system has these times, as most have, the guess is wrong, and the files are as any others from elsewhere.
//! So the campaign `hostile-clone-sealed` is for a file system of its own.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use ralph_memory::memory::ProcessIdentity;
use serde_json::{Value, json};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::MARK;
use super::repository::put;
use crate::random::Random;

/// A word that only forged files have.
pub(super) const FORGED: &str = "zqforged";

/// Puts forged files into a memory whose lock is there by then: all of them, or most.
pub(super) fn plant(memory: &Path, outside: &Path, random: &mut Random) {
    let state = memory.join("state");
    put(&state.join("lock"), "");
    let Ok(lock) = fs::symlink_metadata(state.join("lock")) else { return };
    let key = xxh3_64(format!("{} 0", lock.ino()).as_bytes());
    let process = serde_json::to_value(ProcessIdentity::this_process()).unwrap();
    let (command, transcript) = (format!("touch {MARK}"), outside.join("transcript.jsonl"));
    put(&transcript, transcript_text());
    let files: [(&str, Value); 6] = [
        (
            "run.json",
            json!({"run_id": "run-0000000b", "agent": command, "verify": command, "summarize": command, "max_iterations": 1}),
        ),
        (
            "iterations/run-0000000b-0009.json",
            json!({
                "run_id": "run-0000000b", "number": 9, "attempt": 1, "model": FORGED, "rationale": FORGED, "rung": 0,
                "task": {"title": FORGED, "description": FORGED, "id": FORGED, "feature": null, "section": null, "files": []},
                "started_at": "2026-11-20T09:59:00Z", "entries": [], "left_out": [], "tree": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            }),
        ),
        (
            "live/run-0000000b.json",
            json!({
                "holder": process, "written_at": 1_795_439_704,
                "current": {
                    "run_id": "run-0000000b", "phase": "agent", "pid": process["pid"], "iteration": 9, "task_id": FORGED,
                    "task_title": FORGED, "feature": null, "attempt": 1, "model": FORGED, "started_at": "2026-11-20T09:59:00Z",
                    "updated_at": "2026-11-20T09:59:00Z", "last_line": FORGED,
                },
            }),
        ),
        (
            "sessions/hints.json",
            json!([{"at": "2026-11-20T09:59:00Z", "run": "run-0000000a", "newest": 0, "ids": [FORGED]}]),
        ),
        ("page/server.json", json!({"port": 9, "token": FORGED, "process": process})),
        (
            // The session that the steps name.
            "sessions/6c0a94fc1286f81b.json",
            json!({
                "client": "claude", "began_at": "2026-11-20T09:58:00Z", "acted_at": "2026-11-20T09:59:00Z", "run": "claude-6c0a94fc1286f81b",
                "transcript": transcript, "briefed": ["2026-11-20T09:58:00Z", "startup"], "shown": [FORGED], "taken": [],
                "is_closed": false, "seen_size": null, "is_settled": false,
            }),
        ),
    ];
    for (name, content) in files {
        if random.below(4) > 0 {
            let mut bytes = content.to_string().into_bytes();
            let sum = xxh3_64_with_seed(&bytes, key);
            bytes.extend(format!("\n{sum:016x}\n").bytes());
            put(&state.join(name), bytes);
        }
    }
    if random.below(4) > 0 {
        operation(memory, key);
    }
}

/// Puts an operation into the log, which would replace the bytes of an entry by forged ones.
fn operation(memory: &Path, key: u64) {
    let Ok(bytes) = fs::read(memory.join("knowledge/note-1.md")) else { return };
    let before = format!("---\ntitle: {FORGED}\ntags: [{FORGED}]\n---\n\n{FORGED}\n");
    let head = json!({"number": 900, "at": "2026-11-20T09:59:00Z", "command": FORGED, "undoes": null});
    let change = json!({
        "kind": "replace", "path": "knowledge/note-1.md", "before": xxh3_64(before.as_bytes()), "after": xxh3_64(&bytes),
    });
    let (mut file, mut key) = (Vec::new(), key);
    for (mut line, raw) in [(head, ""), (change, before.as_str())] {
        line["n_bytes"] = raw.len().into();
        let start = file.len();
        file.extend(format!("{line}\n{raw}").bytes());
        key = xxh3_64_with_seed(&file[start..], key);
        file.extend(format!("\n{key:016x}\n").bytes());
    }
    put(&memory.join("state/undo/00000900"), file);
}

/// Returns a session of a client in which a file was changed.
fn transcript_text() -> String {
    let line = json!({
        "type": "assistant", "sessionId": "s-1", "timestamp": "2026-11-20T09:59:30Z", "cwd": "/",
        "message": {"role": "assistant", "content": [
            {"type": "text", "text": format!("<learning category=\"pitfall\" tags=\"x\">{FORGED}</learning>")},
            {"type": "tool_use", "name": "Write", "input": {"file_path": "/src/a.rs", "content": "x"}},
        ]},
    });
    format!("{line}\n")
}
