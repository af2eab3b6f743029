//! `import transcripts`: past sessions become attempts, each once.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{TestBase, utf16};

/// The project's folder in fixtures of transcripts.
const PROJECT: &str = "/home/dev/project";

/// Copies a folder of `fixtures/import/` to another folder, with the project's own folder in transcripts.
fn copy(base: &TestBase, from: &str, to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(from);
    let mut folders = vec![from.clone()];
    while let Some(folder) = folders.pop() {
        for found in fs::read_dir(folder).unwrap() {
            let path = found.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let to = to.join(path.strip_prefix(&from).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            fs::write(to, text.replace(PROJECT, &base.root().display().to_string())).unwrap();
        }
    }
}

/// Returns Claude Code's folder of the project.
fn claude_folder(base: &TestBase) -> std::path::PathBuf {
    let root = base.root().canonicalize().unwrap().display().to_string();
    let slug: String = root.chars().map(|next| if next.is_ascii_alphanumeric() { next } else { '-' }).collect();
    base.home().join(".claude/projects").join(slug)
}

/// Returns every file below `.ralph/` that is not derived, with its bytes.
fn tree(base: &TestBase) -> BTreeMap<String, Vec<u8>> {
    let is_kept = |path: &String| !path.starts_with(".ralph/cache/") && !path.starts_with(".ralph/state/");
    let files = base.files(".ralph").into_iter().filter(is_kept);
    files.map(|path| (path.clone(), fs::read(base.at(&path)).unwrap())).collect()
}

/// Returns the entries as text, one after another, with the mark of a temporary folder replaced.
fn entries(base: &TestBase) -> String {
    let mut text = String::new();
    for path in tree(base).keys().filter(|path| path.contains("/knowledge/") || path.contains("/journal/")) {
        let entry = base.read(path);
        let (start, end) = match entry.find(".md@") {
            Some(at) => (&entry[..at + 4], format!("[MARK]{}", &entry[at + 12..])),
            None => (entry.as_str(), String::new()),
        };
        text.push_str(&["==> ", path, "\n", start, &end].concat());
    }
    text
}

/// Returns a text of each item of an import's answer; empty where it is null.
fn each(answer: &Value, name: &str) -> Vec<String> {
    let items = answer["items"].as_array().unwrap().iter();
    items.map(|item| item[name].as_str().unwrap_or_default().to_owned()).collect()
}

/// Returns what became of the item of an import's answer whose path has this part, and why.
fn became(answer: &Value, part: &str) -> [String; 2] {
    let mut items = answer["items"].as_array().unwrap().iter();
    let item = items.find(|item| item["from"]["path"].as_str().unwrap().contains(part)).unwrap();
    ["action", "reason"].map(|name| item[name].as_str().unwrap_or_default().to_owned())
}

/// Replaces a text in each file of a folder.
fn replace_in(folder: &Path, text: &str, by: &str) {
    for path in fs::read_dir(folder).unwrap() {
        let path = path.unwrap().path();
        fs::write(&path, fs::read_to_string(&path).unwrap().replace(text, by)).unwrap();
    }
}

/// Imports, and returns what became of the items, as words with counts.
#[track_caller]
fn import(base: &TestBase, arguments: &[&str], code: i32) -> String {
    counted(&base.run([&["import"], arguments, &["--json"]].concat()).json(code))
}

/// Returns how many items became what, as a summary has it.
fn counted(answer: &Value) -> String {
    let counts = counts(answer);
    counts.iter().map(|(action, count)| format!("{count} {action}")).collect::<Vec<_>>().join(", ")
}

/// Returns the counts of an import's answer.
fn counts(answer: &Value) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for item in answer["items"].as_array().unwrap() {
        *counts.entry(item["action"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// Imports twice after a dry run: the dry run writes nothing and announces the first, the second changes nothing.
#[track_caller]
fn import_twice(base: &TestBase, arguments: &[&str], code: i32) -> String {
    let before = tree(base);
    let announced = base.run([&["import"], arguments, &["--dry-run", "--json"]].concat()).json(code);
    assert_eq!(tree(base), before, "a dry run writes nothing");
    let ran = base.run([&["import"], arguments].concat());
    assert_eq!(ran.code, Some(code), "{ran}");
    let after = tree(base);
    let again = base.run([&["import"], arguments, &["--json"]].concat()).json(code);
    assert_eq!(tree(base), after, "twice is once");
    let (first, second) = (counts(&announced), counts(&again));
    let done = |counts: &BTreeMap<String, usize>| {
        ["added", "unchanged"].iter().map(|action| counts.get(*action).unwrap_or(&0)).sum::<usize>()
    };
    assert_eq!(second.get("added"), None, "{again}");
    assert!(done(&second) >= done(&first), "{announced}\n{again}");
    ran.to_string()
}

/// Puts the sessions where their clients do.
fn with_sessions(base: &TestBase) {
    copy(base, "transcripts", &base.home().join("all"));
    for found in fs::read_dir(base.home().join("all")).unwrap() {
        let path = found.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let folder = if name.starts_with("rollout-") {
            base.home().join(".codex/sessions/2026/11/04")
        } else {
            claude_folder(base)
        };
        fs::create_dir_all(&folder).unwrap();
        fs::rename(&path, folder.join(name)).unwrap();
    }
}

#[test]
fn past_sessions_become_attempts_once() {
    let base = TestBase::new();
    with_sessions(&base);
    let path = claude_folder(&base).join("11111111-0000-4000-8000-000000000001.jsonl");
    fs::write(&path, utf16(&fs::read_to_string(&path).unwrap())).unwrap();
    let ran = import_twice(&base, &["transcripts"], 0);
    assert_snapshot!("import-transcripts", format!("{ran}\n{}", entries(&base)));
    let memory = base.memory();
    assert_eq!(memory.recent_iterations(None, 9).in_all, 3);
    // Also when the attempts are in the archive.
    fs::create_dir_all(base.at(".ralph/archive")).unwrap();
    fs::rename(base.at(".ralph/journal"), base.at(".ralph/archive/journal")).unwrap();
    assert_eq!(import(&base, &["transcripts"], 0), "1 skipped, 3 unchanged");
}

#[test]
fn sessions_of_other_projects_old_ones_and_the_one_that_goes_on_are_left_alone() {
    let base = TestBase::new();
    with_sessions(&base);
    let import =
        |arguments: &[&str]| base.with([&["import", "transcripts", "--dry-run", "--json"], arguments].concat());
    let items = |answer: &Value| answer["items"].as_array().unwrap().len();
    assert_eq!(items(&import(&[]).run().json(0)), 4);
    assert_eq!(items(&import(&["--since", "18"]).run().json(0)), 2, "those of the last 18 days");
    let id = "11111111-0000-4000-8000-000000000003";
    let goes_on = ["skipped", "it may still be going on; import it when it has ended"];
    assert_eq!(became(&import(&[]).env("CLAUDE_CODE_SESSION_ID", id).run().json(0), id), goes_on);
    assert_eq!(became(&import(&[]).now("2026-11-03T09:05:00Z").run().json(0), id), goes_on);
    // The same folder name may belong to another project.
    replace_in(&claude_folder(&base), &format!("\"{}\"", base.root().display()), "\"/home/dev/other\"");
    assert_eq!(items(&import(&[]).run().json(0)), 1);
}

#[test]
fn sessions_that_began_in_a_subfolder_are_found() {
    let base = TestBase::new();
    with_sessions(&base);
    let own = claude_folder(&base);
    let [below, beside] = ["-web", "-2"].map(|end| Path::new(&format!("{}{end}", own.display())).to_owned());
    let root = format!("\"{}", base.root().display());
    fs::rename(&own, &beside).unwrap();
    with_sessions(&base);
    fs::rename(&own, &below).unwrap();
    // Another project, whose name begins alike.
    replace_in(&beside, &root, "\"/home/dev/other");
    replace_in(&below, &format!("{root}\""), &format!("{root}/web\""));
    let answer = base.run(["import", "transcripts", "--dry-run", "--json"]).json(0);
    assert_eq!(answer["items"].as_array().unwrap().len(), 4, "{answer}");
}

#[test]
fn what_the_journal_has_is_not_imported_from_a_transcript() {
    let base = TestBase::new();
    with_sessions(&base);
    // A loop recorded the first, an agent without a loop the second, and the third began when both had ended.
    for (task, at) in [("t-importer", "2026-11-03T09:00:10Z"), ("t-other", "2026-11-01T09:00:03Z")] {
        base.with(["record", "--task-id", task, "--outcome", "failed"]).now(at).input("x").run().says(0, "recorded");
    }
    let answer = base.run(["import", "transcripts", "--dry-run", "--json"]).json(0);
    let known = "the journal has an attempt of that time or that output already";
    let nothing = "no file was changed in it, and its agent reported nothing";
    let expected = [known, nothing, known, ""];
    assert_eq!(each(&answer, "reason"), expected);
}

/// Sessions of two clients that changed files, with what the client says at their end.
fn recorded_sessions(base: &TestBase) -> [(&'static str, &'static str, Value); 2] {
    with_sessions(base);
    let (claude, codex) = ("11111111-0000-4000-8000-000000000003", "22222222-0000-4000-8000-000000000001");
    let rollout = base.home().join(format!(".codex/sessions/2026/11/04/rollout-2026-11-04T09-00-00-{codex}.jsonl"));
    let transcript = claude_folder(base).join(format!("{claude}.jsonl"));
    [("claude", claude, json!({"transcript_path": transcript})), ("codex", codex, json!({"transcript_path": rollout}))]
}

/// Returns how many attempts the sessions of a client have.
fn attempts_of(base: &TestBase, client: &str) -> usize {
    base.files(".ralph/journal").iter().filter(|path| path.contains(&format!("/{client}-"))).count()
}

/// Fires a hook of a session, with the setting that a session without a report is recorded as well.
#[track_caller]
fn fire(base: &TestBase, event: &str, client: &str, session: &str, now: &str, more: &Value) {
    let mut input = json!({"session_id": session});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let run = base.with(["hook", event, "--agent", client]).env("RALPH_MEMORY_SESSIONS__RECORD", "changes");
    let ran = run.input(input.to_string()).now(now).run();
    assert_eq!(ran.code, Some(0), "{ran}");
}

/// Imports the sessions, and returns what became of one.
fn import_of(base: &TestBase, session: &str) -> String {
    let [action, _] = became(&base.run(["import", "transcripts", "--json"]).json(0), session);
    action
}

#[test]
fn a_session_that_a_hook_recorded_is_not_imported() {
    let base = TestBase::new();
    let sessions = recorded_sessions(&base);
    for (client, session, end) in &sessions {
        // Long after the session: the time does not say that they are the same.
        fire(&base, "session-end", client, session, "2026-11-18T10:00:00Z", end);
        assert_eq!(attempts_of(&base, client), 1, "{:?}", base.files(".ralph/journal"));
    }
    for (_, session, _) in sessions {
        assert_eq!(import_of(&base, session), "unchanged");
    }
    let files = base.files(".ralph/journal");
    assert!(base.run(["import", "transcripts"]).stderr.contains("3 unchanged, 1 skipped"));
    assert_eq!(base.files(".ralph/journal"), files);
    // A message of the agent is as good as a transcript.
    let base = TestBase::new();
    for (client, session, _) in recorded_sessions(&base) {
        let message = json!({"last_assistant_message": "<task-done>t-other</task-done>"});
        fire(&base, "stop", client, session, "2026-11-18T10:00:00Z", &message);
        assert_eq!(import_of(&base, session), "unchanged");
    }
}

#[test]
fn a_session_that_was_imported_is_not_recorded_by_a_hook() {
    let base = TestBase::new();
    let sessions = recorded_sessions(&base);
    // A message that waits for a lock while the transcripts are imported.
    fs::create_dir_all(base.at(".ralph/state")).unwrap();
    let lock = fs::File::create(base.at(".ralph/state/lock")).unwrap();
    lock.lock().unwrap();
    let at = ["2026-11-03T09:00:30Z", "2026-11-04T09:00:06Z"];
    for ((client, session, _), at) in sessions.iter().zip(at) {
        let message = format!("<task-done>t-kept-{client}</task-done>");
        fire(&base, "stop", client, session, at, &json!({"last_assistant_message": message}));
    }
    drop(lock);
    // The user's key is there, too.
    let files = || fs::read_dir(base.home().join(".local/state/ralph-memory")).unwrap();
    let kept = || files().filter(|file| file.as_ref().unwrap().file_name() != "key").count();
    assert_eq!(kept(), 2);
    assert_eq!(import_of(&base, sessions[0].1), "added");
    let before = base.files(".ralph/journal");
    for (client, session, end) in &sessions {
        fire(&base, "session-end", client, session, "2026-11-18T10:00:00Z", end);
    }
    assert_eq!((base.files(".ralph/journal"), kept()), (before.clone(), 0));
    // Who goes on with the session later and reports something has a new attempt.
    let (client, session, _) = &sessions[0];
    let message = json!({"last_assistant_message": "<task-failed>t-importer</task-failed>"});
    fire(&base, "stop", client, session, "2026-11-18T11:00:00Z", &message);
    assert_eq!(base.files(".ralph/journal").len(), before.len() + 1);
}

/// When the files of streams were written.
const WRITTEN: &str = "2026-11-06T10:00:00Z";

/// The stream of a client that changed a file in this folder, without a time in Codex's.
fn stream(client: &str, id: &str, root: &str, said: &str) -> String {
    let events = match client {
        "claude" => vec![
            json!({"type": "system", "subtype": "init", "cwd": root, "session_id": id, "model": "claude-sonnet-4-5"}),
            json!({"type": "assistant", "session_id": id, "message": {"id": "m", "role": "assistant", "content": [
                {"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": format!("{root}/src/{client}.rs")}}]}}),
            json!({"type": "user", "session_id": id, "parent_tool_use_id": "t", "message": {"role": "user", "content": [
                {"type": "text", "text": "What one agent asks another."}]}}),
            json!({"type": "user", "session_id": id, "timestamp": "2026-11-06T09:00:04.000Z", "message": {"role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": "Done."}]}}),
            json!({"type": "result", "subtype": "success", "is_error": false, "duration_ms": 5_000, "session_id": id,
                "result": said, "usage": {"input_tokens": 700, "output_tokens": 70}}),
        ],
        "codex" => vec![
            json!({"type": "thread.started", "thread_id": id}),
            json!({"type": "turn.started"}),
            json!({"type": "item.completed", "item": {"id": "1", "type": "file_change", "status": "completed",
                "changes": [{"path": format!("{root}/src/{client}.rs"), "kind": "update"}]}}),
            json!({"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": said}}),
            json!({"type": "turn.completed", "usage": {"input_tokens": 800, "output_tokens": 80}}),
        ],
        _ => vec![
            json!({"type": "step_start", "timestamp": 1_793_955_600_000_u64, "sessionID": id, "part": {"type": "step-start"}}),
            json!({"type": "tool_use", "timestamp": 1_793_955_630_000_u64, "sessionID": id, "part": {"type": "tool",
                "tool": "edit", "state": {"status": "completed", "input": {"filePath": format!("{root}/src/{client}.rs")}}}}),
            json!({"type": "text", "timestamp": 1_793_955_659_000_u64, "sessionID": id, "part": {"type": "text", "text": said}}),
            json!({"type": "step_finish", "timestamp": 1_793_955_660_000_u64, "sessionID": id, "part": {
                "type": "step-finish", "reason": "stop", "tokens": {"input": 900, "output": 90}}}),
        ],
    };
    events.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n"
}

/// Writes the file of a stream outside of the project, at that time.
fn with_stream(base: &TestBase, name: &str, text: &str, written: &str) -> std::path::PathBuf {
    let path = base.home().join("runs").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let at = chrono::DateTime::parse_from_rfc3339(written).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(at.into()).unwrap();
    path
}

/// The clients whose streams are read, each with the id of a session and what an attempt has of its times.
const STREAMS: [(&str, &str, &str); 3] = [
    ("claude", "33333333-0000-4000-8000-000000000001", "\"2026-11-06T08:59:59Z\"\nduration_secs: 5.0\n"),
    ("codex", "44444444-0000-4000-8000-000000000001", "\"2026-11-06T10:00:00Z\"\ntokens_in: 800\n"),
    ("opencode", "ses_9a", "\"2026-11-06T09:00:00Z\"\nduration_secs: 60.0\n"),
];

#[test]
fn saved_streams_become_attempts_once() {
    let base = TestBase::new();
    let root = base.root().canonicalize().unwrap().display().to_string();
    let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
    for (client, id, times) in STREAMS {
        let text = stream(client, id, &root, &format!("The {client} page loads again with {token}."));
        let path = with_stream(&base, &format!("{client}.jsonl"), &text, WRITTEN);
        let path = path.to_str().unwrap();
        base.run(["import", path]).says(0, &format!("1 added; read {client}.jsonl"));
        base.run(["import", "transcripts", path]).says(0, "1 unchanged");
        let files = base.files(".ralph/journal");
        let attempt = base.read(files.iter().find(|file| file.contains(&format!("/{client}-"))).unwrap());
        assert!(attempt.contains(&format!("files: {{modified: [src/{client}.rs]}}")), "{attempt}");
        assert!(attempt.contains(&format!("started_at: {times}")), "{attempt}");
        assert!(attempt.contains(&format!("task_title: \"The {client} page loads again with ")), "{attempt}");
        assert!(!attempt.contains(&token), "{attempt}");
        assert!(id.starts_with("ses_") || files.iter().any(|file| file.contains(id)), "{files:?}");
    }
    let runs = base.home().join("runs");
    assert_eq!(import(&base, &["transcripts", runs.to_str().unwrap()], 0), "3 unchanged");
    assert_eq!(import(&base, &[runs.to_str().unwrap()], 0), "3 unchanged");
}

#[test]
fn a_file_with_several_streams_has_as_many_attempts() {
    for (client, id, _) in STREAMS {
        let base = TestBase::new();
        let root = base.root().canonicalize().unwrap().display().to_string();
        let ids = ["1", "2", "3"].map(|end| format!("{}{end}", &id[..id.len() - 1]));
        let [one, two, three] = ids.each_ref().map(|id| stream(client, id, &root, &format!("Decision: keep {id}")));
        // Two that ran at the same time take turns.
        let turns = if client == "codex" {
            format!("{two}{three}")
        } else {
            two.lines().zip(three.lines()).flat_map(|(one, other)| [one, "\n", other, "\n"]).collect()
        };
        let path = with_stream(&base, "all.jsonl", &format!("starting\n{one}\nagain\n{turns}"), WRITTEN);
        let answer = base.run(["import", "transcripts", path.to_str().unwrap(), "--json"]).json(0);
        assert_eq!(each(&answer, "action"), ["added"; 3], "{answer}");
        assert_eq!(attempts_of(&base, client), 3);
        for file in base.files(".ralph/journal") {
            let attempt = base.read(&file);
            assert_eq!(ids.iter().filter(|id| attempt.contains(*id)).count(), 1, "{attempt}");
            assert!(attempt.contains(&format!("modified: [src/{client}.rs]")), "{attempt}");
        }
    }
}

#[test]
fn streams_that_are_nobodys_unfinished_or_known_are_left_alone() {
    let base = TestBase::new();
    let root = base.root().canonicalize().unwrap().display().to_string();
    let check = |name: &str, text: &str, written: &str, expected: [&str; 2]| {
        let path = with_stream(&base, name, text, written);
        let answer = base.run(["import", "transcripts", path.to_str().unwrap(), "--json"]).json(0);
        assert_eq!(became(&answer, name), expected, "{name}");
        fs::remove_file(path).unwrap();
    };
    let [claude, codex, opencode] = STREAMS.map(|(client, id, _)| stream(client, id, &root, "It loads again."));
    let elsewhere = claude.replace(&root, "/home/dev/other");
    check("other.jsonl", &elsewhere, WRITTEN, ["skipped", "it is a session in another folder"]);
    let goes_on = ["skipped", "it may still be going on; import it when it has ended"];
    check("new.jsonl", &codex, "2026-11-20T09:55:00Z", goes_on);
    let nothing = ["skipped", "no file was changed in it, and its agent reported nothing"];
    check("read.jsonl", &opencode.replace("\"edit\"", "\"read\""), WRITTEN, nothing);
    let other = ["skipped", "it is not a session of Claude Code or Codex, nor a stream of an agent"];
    check("notes.jsonl", "{\"title\":\"Ports\",\"session_id\":\"s\"}\n", WRITTEN, other);
    // A loop that ended with the stream recorded it; somebody recorded the stream days later; a hook did.
    let known = ["skipped", "the journal has an attempt of that time or that output already"];
    let record = |now: &str, input: &str| {
        base.with(["record", "--task-id", "t-page", "--outcome", "partial"])
            .now(now)
            .input(input)
            .run()
            .says(0, "recorded");
    };
    record("2026-11-06T09:57:00Z", &claude.replace("\"duration_ms\":5000", "\"duration_ms\":180000"));
    check("loop.jsonl", &codex, WRITTEN, known);
    record("2026-11-09T10:00:00Z", &opencode);
    check("recorded.jsonl", &opencode, WRITTEN, known);
    let message = json!({"last_assistant_message": "<task-done>t-page</task-done>"});
    fire(&base, "stop", "claude", STREAMS[0].1, "2026-11-18T10:00:00Z", &message);
    check("hook.jsonl", &claude, WRITTEN, ["unchanged", ""]);
    // A folder may have links.
    let path = with_stream(&base, "real.txt", &claude, WRITTEN);
    symlink(&path, path.with_file_name("link.jsonl")).unwrap();
    let answer = base.run(["import", "transcripts", path.parent().unwrap().to_str().unwrap(), "--json"]).json(0);
    assert_eq!(became(&answer, "link.jsonl"), ["skipped", "it is a link, and links are not followed"]);
}
