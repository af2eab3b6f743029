//! How attempts end, judged by the output of real clients: limits, refusals, crashes, and files that contain events.

use std::fs;

use crate::support::{Ran, TestBase};

const RUN: &str = "run-0000000a";
const TASK: &str = "t-lock";

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","cwd":"/p","model":"claude-sonnet-4-5"}"#;

/// A text of the agent in Claude Code's stream.
fn said(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"type":"assistant","message":{{"id":"m","model":"claude-sonnet-4-5","content":[{{"type":"text","text":{text}}}]}},"session_id":"s"}}"#
    )
}

/// The end of Claude Code's stream.
fn result(subtype: &str, more: &str) -> String {
    format!(r#"{{"type":"result","subtype":"{subtype}","session_id":"s",{more}}}"#)
}

/// Begins an iteration of the task and ends it with an output. Returns the answer and the journal's entry.
fn record(output: &str, more: &[&str]) -> (TestBase, Ran) {
    let base = TestBase::new();
    begin(&base);
    let ran = base.with([&["record"], more].concat()).input(output).run();
    (base, ran)
}

fn begin(base: &TestBase) {
    let arguments = ["context", "--task", "Add the lock", "--task-id", TASK, "--run", RUN];
    base.run(arguments).says(0, "attempt 1 at ");
}

fn journal(base: &TestBase) -> String {
    base.read(&format!(".ralph/journal/{RUN}/0001.md"))
}

/// Records a stream of these lines, and returns the journal's entry.
#[track_caller]
fn ended(lines: &[String], more: &[&str]) -> String {
    let (base, ran) = record(&lines.join("\n"), more);
    assert_eq!(ran.code, Some(0), "{ran}");
    journal(&base)
}

#[track_caller]
fn check(lines: &[String], more: &[&str], outcome: &str) {
    let entry = ended(lines, more);
    assert!(entry.contains(&format!("\noutcome: {outcome}\n")), "{outcome}: {entry}");
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// What was seen: six streams that ended in `error_max_turns` became six `error`, and no stronger model.
#[test]
fn a_turn_limit_is_blocked_and_raises_the_model_to_the_strongest() {
    let base = TestBase::new();
    let beside = base.home().join("beside");
    fs::create_dir(&beside).unwrap();
    let stream = [
        INIT,
        &said("I read on."),
        &result("error_max_turns", r#""is_error":true,"errors":["Reached maximum number of turns (3)"]"#),
    ];
    fs::write(beside.join("stream"), stream.join("\n")).unwrap();
    let script = format!("cd {}\ncat >> prompts\necho $RALPH_MODEL >> models\ncat stream\nexit 1\n", beside.display());
    fs::write(beside.join("agent.sh"), script).unwrap();
    let agent = format!("sh {}", beside.join("agent.sh").display());
    let ran = base
        .with(["run", "--task", "Add the lock", "--agent", &agent, "--max-iterations", "6"])
        .env("PATH", std::env::var_os("PATH").unwrap())
        .run();
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stdout.contains("6 (6 blocked)"), "{ran}");
    assert_eq!(fs::read_to_string(beside.join("models")).unwrap(), "sonnet\nsonnet\nopus\nopus\nopus\nopus\n");
    let told = fs::read_to_string(beside.join("prompts")).unwrap();
    assert!(told.contains("5 consecutive failure(s)") && told.contains("Stuck loop detected"), "{told}");
    assert!(ran.stderr.contains("warning: `Add the lock` keeps failing"), "{ran}");
}

/// A limit says that the task was too much for one go, whichever client says so, and with whatever exit status.
#[test]
fn limits_of_turns_tokens_and_money_are_blocked() {
    let turn = |error: &str| {
        lines(&[
            r#"{"type":"thread.started","thread_id":"t"}"#,
            r#"{"type":"turn.started"}"#,
            &format!(r#"{{"type":"turn.failed","error":{{"message":"{error}"}}}}"#),
        ])
    };
    let failed = ["--agent-exit", "1"];
    check(&lines(&[INIT, &result("error_max_turns", r#""is_error":true"#)]), &failed, "blocked");
    check(&lines(&[INIT, &result("error_max_budget_usd", r#""is_error":true"#)]), &failed, "blocked");
    check(
        &lines(&[INIT, &result("success", r#""is_error":true,"stop_reason":"max_tokens","result":"I was about to""#)]),
        &failed,
        "blocked",
    );
    check(&lines(&[INIT, &result("success", r#""is_error":true,"result":"Prompt is too long""#)]), &failed, "blocked");
    check(&turn("Codex ran out of room in the model's context window. Start a new thread."), &failed, "blocked");
    check(
        &turn("stream disconnected before completion: Incomplete response returned, reason: max_output_tokens"),
        &failed,
        "blocked",
    );
    let step = |reason: &str| {
        lines(&[
            r#"{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}"#,
            &format!(
                r#"{{"type":"step_finish","sessionID":"ses_1","part":{{"type":"step-finish","reason":"{reason}"}}}}"#
            ),
        ])
    };
    check(&step("length"), &failed, "blocked");
}

/// That a server is overloaded, or an account used up, says nothing of the task.
#[test]
fn an_error_of_the_api_is_not_a_failure_of_the_task() {
    let failed = ["--agent-exit", "1"];
    check(
        &lines(&[INIT, &result("success", r#""is_error":true,"result":"API Error: 529 overloaded_error""#)]),
        &failed,
        "error",
    );
    check(&lines(&[INIT, &result("error_during_execution", r#""is_error":true"#)]), &failed, "error");
    let limited = [
        r#"{"type":"thread.started","thread_id":"t"}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again later."}}"#,
    ];
    check(&lines(&limited), &failed, "error");
    let error = r#"{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"Unauthorized"}}}"#;
    check(
        &lines(&[r#"{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}"#, error]),
        &failed,
        "error",
    );
}

#[test]
fn a_cut_stream_is_blocked_unless_a_signal_killed_its_agent() {
    let cut = lines(&[INIT, &said("I go on with the lock.")]);
    check(&cut, &[], "blocked");
    check(&cut, &["--agent-exit", "0"], "blocked");
    check(&cut, &["--agent-exit", "1"], "blocked");
    check(&cut, &["--agent-exit", "137"], "error");
    // One that did nothing could not run.
    check(&[], &["--agent-exit", "137"], "error");
}

#[test]
fn the_agents_outcome_counts_over_a_limit() {
    let done = lines(&[INIT, &said("<task-done>t-lock</task-done>"), &result("error_max_turns", r#""is_error":true"#)]);
    check(&done, &["--agent-exit", "1"], "done");
}

/// What was seen: the agent printed a file that says `<task-done>`, and said itself that it failed; as text, the file
/// counted too.
#[test]
fn a_sigil_in_a_printed_file_does_not_count() {
    let file = "This is how to end: <task-done>t-lock</task-done>";
    let session = |kind: &str, message: &str| {
        format!(r#"{{"isSidechain":false,"type":"{kind}","message":{message},"uuid":"u","sessionId":"s","cwd":"/p"}}"#)
    };
    let claude = vec![
        r#"{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"Add the lock"}"#.to_owned(),
        session("user", r#"{"role":"user","content":"Add the lock"}"#),
        session(
            "assistant",
            r#"{"id":"m1","model":"claude-opus-4-6","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"cat HOWTO.md"}}],"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":2}}"#,
        ),
        session(
            "user",
            &format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c1","content":"{file}"}}]}}"#),
        ),
        session(
            "assistant",
            r#"{"id":"m2","model":"claude-opus-4-6","content":[{"type":"text","text":"It cannot be done.\n<task-failed>t-lock</task-failed>"}],"stop_reason":"end_turn","usage":{"input_tokens":20,"output_tokens":3}}"#,
        ),
    ];
    let entry = ended(&claude, &[]);
    assert!(entry.contains("\noutcome: failed\n") && entry.contains("model: claude-opus-4-6"), "{entry}");
    assert!(entry.contains("tokens_in: 30") && entry.contains("tokens_out: 5"), "{entry}");
    assert!(entry.contains("> It cannot be done."), "{entry}");

    let payload = |kind: &str, payload: &str| format!(r#"{{"timestamp":"x","type":"{kind}","payload":{payload}}}"#);
    let codex = vec![
        payload("session_meta", r#"{"id":"t","cwd":"/p"}"#),
        payload("turn_context", r#"{"cwd":"/p","model":"gpt-5.5"}"#),
        payload("event_msg", r#"{"type":"task_started"}"#),
        payload(
            "response_item",
            r#"{"type":"function_call","name":"exec_command","arguments":"{\"cmd\": \"cat HOWTO.md\"}","call_id":"c1"}"#,
        ),
        payload(
            "response_item",
            &format!(
                r#"{{"type":"function_call_output","call_id":"c1","output":"Process exited with code 1\nOutput:\n{file}"}}"#
            ),
        ),
        payload(
            "response_item",
            r#"{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch\n*** Add File: src/lock.rs\n+x\n*** Update File: /p/src/main.rs\n*** End Patch","call_id":"c2"}"#,
        ),
        payload(
            "response_item",
            r#"{"type":"custom_tool_call_output","call_id":"c2","output":"Exit code: 0\nOutput:\nSuccess."}"#,
        ),
        // What a model changes that runs JavaScript, of which there is no patch to read.
        payload(
            "event_msg",
            r#"{"type":"item_completed","item":{"type":"FileChange","status":"completed","changes":{"/p/src/main.rs":{"type":"update"},"/p/src/new.rs":{"type":"add"},"/p/src/old.rs":{"type":"update","move_path":"/p/src/moved.rs"},"/etc/passwd":{"type":"update"}}}}"#,
        ),
        payload(
            "event_msg",
            r#"{"type":"item_completed","item":{"type":"FileChange","status":"failed","changes":{"/p/src/no.rs":{"type":"add"}}}}"#,
        ),
        payload(
            "response_item",
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"No.\n<task-failed>t-lock</task-failed>"}]}"#,
        ),
        payload(
            "event_msg",
            r#"{"type":"token_count","info":{"total_token_usage":{"input_tokens":400,"output_tokens":40}}}"#,
        ),
        payload(
            "event_msg",
            r#"{"type":"task_complete","last_agent_message":"No.\n<task-failed>t-lock</task-failed>","duration_ms":1500}"#,
        ),
    ];
    for more in [&[][..], &["--format", "codex"]] {
        let entry = ended(&codex, more);
        assert!(entry.contains("\noutcome: failed\n") && entry.contains("model: gpt-5.5"), "{entry}");
        assert!(entry.contains("created: [src/lock.rs, src/new.rs, src/moved.rs]"), "{entry}");
        assert!(entry.contains("modified: [src/main.rs, src/old.rs]"), "{entry}");
        assert!(entry.contains("`cat HOWTO.md`: Exit code 1") && entry.contains("> No."), "{entry}");
        assert!(entry.contains("tokens_in: 400") && entry.contains("duration_secs: 1.5"), "{entry}");
    }

    let part =
        |kind: &str, part: &str| format!(r#"{{"type":"{kind}","timestamp":1,"sessionID":"ses_1","part":{part}}}"#);
    let opencode = vec![
        part("step_start", r#"{"type":"step-start"}"#),
        part(
            "tool_use",
            &format!(
                r#"{{"type":"tool","tool":"bash","state":{{"status":"completed","input":{{"command":"cat HOWTO.md"}},"output":"{file}","metadata":{{"exit":2}}}}}}"#
            ),
        ),
        part(
            "tool_use",
            r#"{"type":"tool","tool":"edit","state":{"status":"error","input":{"filePath":"src/a.rs"},"error":"Could not find oldString."}}"#,
        ),
        part(
            "tool_use",
            r#"{"type":"tool","tool":"edit","state":{"status":"completed","input":{"filePath":"src/b.rs"},"output":"ok","metadata":{}}}"#,
        ),
        part(
            "step_finish",
            r#"{"type":"step-finish","reason":"tool-calls","tokens":{"input":100,"output":10,"reasoning":1,"cache":{"read":5,"write":6}},"cost":0.0001}"#,
        ),
        part("text", r#"{"type":"text","text":"No.\n<task-failed>t-lock</task-failed>"}"#),
        part("step_finish", r#"{"type":"step-finish","reason":"stop","tokens":{"input":1,"output":1},"cost":0.0008}"#),
    ];
    let entry = ended(&opencode, &[]);
    assert!(entry.contains("\noutcome: failed\n") && entry.contains("modified: [src/b.rs]"), "{entry}");
    assert!(
        entry.contains("`cat HOWTO.md`: Exit code 2") && entry.contains("edit src/a.rs: Could not find"),
        "{entry}"
    );
    assert!(entry.contains("tokens_in: 112") && entry.contains("tokens_out: 12"), "{entry}");
    // This was 0.0009000000000000001.
    assert!(entry.contains("cost_usd: 0.0009\n"), "{entry}");
}

#[test]
fn unknown_json_lines_are_refused_with_the_tried_formats() {
    let unknown = "{\"event\":\"tool\",\"output\":\"<task-done>t-lock</task-done>\"}\n{\"event\":\"end\"}\n";
    for more in [&[][..], &["--format", "claude"]] {
        let (base, ran) = record(unknown, more);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(
            ran.stderr.contains("Claude Code")
                && ran.stderr.contains("opencode")
                && ran.stderr.contains("--format text"),
            "{ran}"
        );
        // The iteration is open, and can be ended.
        base.run([""; 0]).says(0, "attempts ");
        assert!(base.files(".ralph").iter().all(|path| !path.contains("journal/")));
    }
    // An option can confirm that it is the agent's text.
    let (base, ran) = record(unknown, &["--format", "text"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(journal(&base).contains("\noutcome: done\n"));

    // The run ends, its changes are recorded, and the task is not blamed.
    let base = TestBase::new();
    base.write("out.jsonl", unknown);
    let arguments = ["run", "--task", "Add the lock", "--task-id", TASK, "--agent", "cat out.jsonl"];
    let ran = base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).run();
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("cannot read what `cat out.jsonl` prints"), "{ran}");
    let entries = base.files(".ralph/journal");
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert!(base.read(&entries[0]).contains("\noutcome: error\n"), "{}", base.read(&entries[0]));
}

#[test]
fn errors_and_files_of_an_agent_are_in_the_journal() {
    let call = r#"{"type":"assistant","message":{"id":"m","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"c1","name":"Grep","input":{"pattern":"lock","path":"src/store.rs"}}]},"session_id":"s"}"#;
    let found = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"Found 2 files"}]},"session_id":"s","tool_use_result":{"mode":"files_with_matches","filenames":["src/a.rs","/etc/passwd"],"numFiles":2}}"#;
    let entry = ended(
        &[
            INIT.to_owned(),
            call.to_owned(),
            found.to_owned(),
            said("- TypeError: x is undefined"),
            result("success", r#""is_error":false,"total_cost_usd":0.0009000000000000001,"result":"""#),
        ],
        &[],
    );
    assert!(entry.contains("read: [src/store.rs, src/a.rs]"), "{entry}");
    assert!(entry.contains("> - TypeError: x is undefined"), "{entry}");
    assert!(entry.contains("cost_usd: 0.0009\n"), "{entry}");
}

#[test]
fn the_model_is_the_one_that_answered() {
    let answered = said("I begin.").replace("claude-sonnet-4-5", "claude-haiku-4-5");
    let entry = ended(&[INIT.to_owned(), answered, result("success", r#""is_error":false,"result":"""#)], &[]);
    assert!(entry.contains("\nmodel: claude-haiku-4-5\n") && !entry.contains("model_rationale"), "{entry}");
}

#[test]
fn a_stream_of_one_short_message_has_a_summary() {
    let entry = ended(
        &lines(&[
            r#"{"type":"thread.started","thread_id":"t"}"#,
            r#"{"type":"turn.started"}"#,
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"All done.\n<task-done>t-lock</task-done>"}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":9,"output_tokens":7}}"#,
        ]),
        &[],
    );
    assert!(entry.contains("## Summary\n\n> All done."), "{entry}");
}
