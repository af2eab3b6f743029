//! What hooks answer each client, what they record, and that nothing makes them fail.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use ralph_memory::context::BriefingRequest;
use ralph_memory::entry::{Validation, parse_time};
use ralph_memory::memory::{
    Activity, HookAnswer, HookCall, HookEvent, OpenAttempt, Report, Run, StateFolders, Step, Work,
};
use ralph_memory::{Memory, Task};
use serde_json::{Value, json};

use crate::support::{NOW, Ran, TestBase};

/// The registered events.
const EVENTS: [&str; 4] = ["session-start", "prompt", "stop", "session-end"];
const LEARNING: &str = "The proxy cuts bodies over 1 MiB";

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hooks").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A memory with an entry about the prompt of the fixtures.
fn sample() -> TestBase {
    let base = TestBase::new();
    let body = "In staging, the database of the shop listens on port 5433.";
    base.entry("staging", "Ports of the staging database", "staging", body);
    base
}

/// The clients that `setup` gives hooks. The others are known for who speaks.
fn with_hooks() -> impl Iterator<Item = &'static str> {
    HookCall::clients().into_iter().filter(|client| !["goose", "kiro", "zed", "amp"].contains(client))
}

fn fire(base: &TestBase, arguments: &[&str], input: &Value) -> Ran {
    base.with([&["hook"], arguments].concat()).input(input.to_string()).run()
}

/// Returns the text that an answer gives to an agent of Claude Code.
#[track_caller]
fn text(ran: Ran) -> String {
    let stdout = ran.answer(0);
    if stdout.is_empty() {
        return stdout;
    }
    let answer: Value = serde_json::from_str(&stdout).unwrap();
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

fn started(session: &str, source: &str) -> Value {
    json!({"session_id": session, "hook_event_name": "SessionStart", "source": source})
}

fn stopped(session: &str, message: &str) -> Value {
    json!({"session_id": session, "hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": message})
}

/// The files of sessions.
fn sessions(base: &TestBase) -> Vec<String> {
    let mut files = base.files(".ralph/state/sessions");
    files.retain(|file| Path::new(file).extension().is_some_and(|extension| extension == "json"));
    files
}

/// The files of the journal.
fn journal(base: &TestBase) -> Vec<String> {
    base.files(".ralph/journal")
}

fn with_agent<'a>(event: &'a str, client: &'a str) -> Vec<&'a str> {
    // The lines of Claude Code and Cursor name no agent.
    if ["claude", "cursor"].contains(&client) { vec![event] } else { vec![event, "--agent", client] }
}

#[test]
fn each_client_gets_its_form_of_the_briefing() {
    let nested = |event: &'static str| move |text: &str| json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}});
    let check = |client: &str, wrap: &dyn Fn(&str) -> Value| {
        let base = sample();
        let request = BriefingRequest { by_tools: true, ..BriefingRequest::default() };
        let briefing = base.memory().briefing(&request).unwrap().text;
        assert!(briefing.contains("listens on port 5433"), "{briefing}");
        let input = fixture(&format!("{client}-session-start.json"));
        let arguments = [&["hook"][..], &with_agent("session-start", client)].concat();
        let answer = base.with(arguments).input(input).run().answer(0);
        let expected = match wrap(&briefing) {
            Value::String(text) => text,
            object => object.to_string(),
        };
        if expected.starts_with('{') {
            let [answer, expected]: [Value; 2] = [&answer, &expected].map(|text| serde_json::from_str(text).unwrap());
            assert_eq!(answer, expected, "{client}");
        } else {
            assert_eq!(answer, expected, "{client}");
        }
    };
    for client in ["claude", "codex", "vscode", "gemini", "devin"] {
        check(client, &|text| nested("SessionStart")(text));
    }
    // It drops the text at the beginning of a session, so the same command is registered before a prompt.
    check("qwen", &|text| nested("UserPromptSubmit")(text));
    check("cursor", &|text| json!({"additional_context": text}));
    check("copilot", &|text| json!({"additionalContext": text}));
    check("opencode", &|text| Value::String(text.to_owned()));
}

#[test]
fn each_client_gets_its_form_of_a_reminder() {
    for client in with_hooks() {
        let base = sample();
        let input = fixture(&format!("{client}-prompt.json"));
        let arguments = [&["hook"][..], &with_agent("prompt", client)].concat();
        let answer = base.with(arguments).input(&input).run().answer(0);
        match client {
            // They drop the answer.
            "cursor" | "copilot" => assert_eq!(answer, "", "{client}"),
            "opencode" => assert!(answer.starts_with("# Project Memory\n"), "{client}: {answer}"),
            _ => {
                let answer: Value = serde_json::from_str(&answer).unwrap();
                let own: Value = serde_json::from_str(&input).unwrap();
                assert_eq!(answer["hookSpecificOutput"]["hookEventName"], own["hook_event_name"], "{client}");
                let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
                assert!(text.contains("listens on port 5433. (`knowledge/staging`)"), "{client}: {text}");
            }
        }
    }
}

#[test]
fn of_each_client_what_its_last_message_reports_is_recorded() {
    for client in with_hooks() {
        let base = sample();
        let input = fixture(&format!("{client}-stop.json"));
        let arguments = [&["hook"][..], &with_agent("stop", client)].concat();
        assert_eq!(base.with(arguments).input(&input).run().answer(0), "", "{client}");
        let files = journal(&base);
        // These hand over no message.
        if ["cursor", "copilot", "vscode"].contains(&client) {
            assert_eq!(files, [""; 0], "{client}");
            continue;
        }
        let [file] = &files[..] else { panic!("{client}: {files:?}") };
        let attempt = base.read(file);
        assert!(attempt.contains("task_id: t-42") && attempt.contains("outcome: done"), "{client}: {attempt}");
        let learned = base.run(["search", "proxy bodies", "--json"]).json(0);
        assert_eq!(learned["entries"][0]["source"], "agent", "{client}: {learned}");
    }
}

#[test]
fn at_the_end_of_a_session_no_client_is_told_anything() {
    for client in with_hooks().filter(|client| *client != "vscode") {
        let base = sample();
        let input = fixture(&format!("{client}-session-end.json"));
        let arguments = [&["hook"][..], &with_agent("session-end", client)].concat();
        assert_eq!(base.with(arguments).input(&input).run().answer(0), "", "{client}");
        let checked = base.run(["check"]).answer(0);
        assert!(checked.contains(&format!("last fired by {client}: session-end at 2026-11-20 10:00")), "{checked}");
    }
}

#[test]
fn a_session_gets_its_briefing_once_and_again_when_it_was_lost() {
    let base = sample();
    let speaks = |session: &str, source: &str, now: &str| {
        let input = started(session, source).to_string();
        !base.with(["hook", "session-start"]).input(input).now(now).run().answer(0).is_empty()
    };
    let later = "2026-11-20T11:00:00Z";
    assert!(speaks("s-1", "startup", NOW) && !speaks("s-1", "startup", NOW));
    assert!(!speaks("s-1", "resume", later) && !speaks("s-9", "resume", NOW));
    assert!(speaks("s-1", "compact", later) && !speaks("s-1", "compact", later));
    assert!(speaks("s-1", "clear", later) && speaks("s-2", "startup", NOW));
    // Several clients report one session under one id.
    let codex = base.with(["hook", "session-start", "--agent", "codex"]).input(started("s-2", "startup").to_string());
    assert_eq!(codex.run().answer(0), "");
    // Without an id, nobody knows.
    assert!(!base.with(["hook", "session-start"]).run().answer(0).is_empty());
    assert!(!base.with(["hook", "session-start"]).run().answer(0).is_empty());
}

#[test]
fn a_forked_session_has_the_briefing_already() {
    let base = sample();
    assert_eq!(fire(&base, &["session-start"], &started("s-2", "fork")).answer(0), "");
    assert!(!fire(&base, &["session-start"], &started("s-2", "compact")).answer(0).is_empty());
}

#[test]
fn a_session_is_told_how_to_report_also_if_nothing_is_known_yet() {
    for base in [TestBase::new(), sample()] {
        let briefing = text(fire(&base, &["session-start"], &started("s-1", "startup")));
        let told: Vec<&str> = briefing.lines().rev().take(2).collect();
        assert!(told[1].contains("`record_attempt`") && told[1].contains("`add_knowledge`"), "{briefing}");
        assert!(told[0].contains("`<failure-report>`") && told[0].contains("`<learning category="), "{briefing}");
        assert!(!briefing.contains("`ralph-memory "), "a client may refuse commands: {briefing}");
        // An agent that quotes the lines reports nothing, and one that follows them does.
        assert_eq!(fire(&base, &["stop"], &stopped("s-1", &told.join("\n"))).answer(0), "");
        assert_eq!(journal(&base), [""; 0]);
        let report = "<failure-report>\nwhat_tried: a larger pool\nwhy_failed: the server closes it\n</failure-report>";
        let learned = "<learning category=\"pitfall\" tags=\"server\">The server closes idle pools.</learning>";
        let message = format!("It did not help.\n\n{report}\n{learned}");
        assert_eq!(fire(&base, &["stop"], &stopped("s-1", &message)).answer(0), "");
        let next = text(fire(&base, &["session-start"], &started("s-2", "startup")));
        assert!(next.contains("a larger pool") && next.contains("The server closes idle pools."), "{next}");
    }
}

#[test]
fn of_many_hooks_at_once_exactly_one_speaks() {
    let base = sample();
    let spawn = |_| {
        let mut command = base.with(["hook", "session-start"]).command();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(started("s-1", "startup").to_string().as_bytes()).unwrap();
        child
    };
    let children: Vec<_> = (0..12).map(spawn).collect();
    let answers = children.into_iter().map(|child| child.wait_with_output().unwrap().stdout);
    assert_eq!(answers.filter(|answer| !answer.is_empty()).count(), 1);
}

#[test]
fn where_no_state_can_be_kept_the_briefing_is_given_each_time() {
    let base = sample();
    base.write(".ralph/state", "a file is in the way");
    for _ in 0..2 {
        assert!(!fire(&base, &["session-start"], &started("s-1", "startup")).answer(0).is_empty());
    }
    assert_eq!(fire(&base, &["session-start"], &started("s-1", "resume")).answer(0), "");
}

#[test]
fn hooks_are_silent_where_they_have_no_business() {
    let base = sample();
    let input = started("s-1", "startup").to_string();
    let silent = |run: crate::support::Run<'_>| {
        let ran = run.input(&input).run();
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""), "{ran}");
    };
    for event in EVENTS {
        silent(base.with(["hook", event]).env("RALPH_RUN_ID", "run-1a2b3c4d"));
        silent(base.with(["hook", event]).env("RALPH_MEMORY", "0"));
        silent(TestBase::without_memory().with(["hook", event]));
    }
    let sub_agent = json!({"session_id": "s-1", "agent_id": "a-1", "source": "startup", "prompt": "x",
        "last_assistant_message": "<task-done>t-1</task-done>"});
    for event in EVENTS {
        assert_eq!(fire(&base, &[event], &sub_agent).answer(0), "");
    }
    assert_eq!(journal(&base), [""; 0]);
    assert!(!base.at(".ralph/state").exists(), "nothing was noted");
    // Text at these events would make the agent go on.
    let misplaced = json!({"session_id": "s-1", "hook_event_name": "Stop"});
    assert_eq!(fire(&base, &["session-start"], &misplaced).answer(0), "");
}

#[test]
fn wrong_calls_end_well_and_say_what_is_wrong() {
    let base = sample();
    let says = |arguments: &[&str], expected: &str| {
        let ran = base.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran}");
        assert!(ran.stderr.contains(expected), "{ran}");
    };
    says(&["hook"], "<EVENT>");
    says(&["hook", "compact"], "must be one of session-start, tool, prompt, stop, session-end");
    says(&["hook", "stop", "--each"], "unexpected argument '--each'");
    says(&["hook", "stop", "--json", "--each"], "unexpected argument '--each'");
    says(&["--json", "hook", "stop", "more"], "unexpected argument 'more'");
    says(&["hook", "stop", "--agent"], "a value is required for '--agent <NAME>'");
    says(&["hook", "stop", "--agent", "nobody"], "`nobody` is not one of claude, codex,");
    says(&["hook", "stop", "--root", "/nowhere", "--agent", "\u{1b}[31m"], "is not one of");
    // Only the command itself is meant, not its name anywhere.
    base.run(["search", "hook", "--each"]).says(2, "unexpected argument '--each'");
    base.run(["search"]).says(2, "<QUERY>");
    assert!(base.run(["hook", "--help"]).answer(0).contains("Usage: ralph-memory hook [OPTIONS] <EVENT>"));
}

#[test]
fn a_memory_that_cannot_be_used_is_named_on_standard_error_alone() {
    let base = sample();
    let says = |settings: &str, expected: &str| {
        base.write(".ralph/config.toml", settings);
        for event in EVENTS {
            let ran = fire(&base, &[event], &started("s-1", "startup"));
            assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (Some(0), "", 1), "{ran}");
            assert!(ran.stderr.starts_with(&format!("ralph-memory: hook {event}: ")), "{ran}");
            assert!(ran.stderr.contains(expected), "{ran}");
        }
    };
    says("format = 99\n", "has format 99, and this program knows formats up to 1");
    says("format = 1\nsearch.limit = 0\n", "`search.limit` must be a whole number from 1 to 1000");
}

#[test]
fn the_folder_is_that_of_the_session() {
    let base = sample();
    let elsewhere = TestBase::without_memory();
    let deep = base.at("src/deep");
    fs::create_dir_all(&deep).unwrap();
    let root = deep.display().to_string();
    let speaks = |session: &str, folder: Value, variables: &[(&str, &str)]| {
        let input = json!({"session_id": session, "source": "startup", "cwd": folder});
        let mut run = elsewhere.with(["hook", "session-start"]).input(input.to_string());
        for (name, value) in variables {
            run = run.env(name, value);
        }
        !run.run().answer(0).is_empty()
    };
    assert!(speaks("s-1", json!(root), &[]));
    assert!(!speaks("s-2", json!("src/deep"), &[]) && !speaks("s-3", json!("/no/such/folder"), &[]));
    assert!(speaks("s-4", json!(null), &[("CLAUDE_PROJECT_DIR", &root)]));
    assert!(speaks("s-5", json!(7), &[("CURSOR_PROJECT_DIR", &root)]));
    assert!(speaks("s-6", json!("/no/such/folder"), &[("DEVIN_PROJECT_DIR", &root), ("CLAUDE_PROJECT_DIR", "")]));
    let here = elsewhere.root().display().to_string();
    assert!(!speaks("s-7", json!(here), &[("CLAUDE_PROJECT_DIR", &root)]), "the session's own folder counts");
}

#[test]
fn a_client_that_never_closes_its_output_gets_an_answer() {
    let base = sample();
    let mut answers = Vec::new();
    for input in [started("s-1", "startup").to_string(), "{\"session_id\": \"s-2\", \"sour".to_owned(), String::new()] {
        let mut command = base.with(["hook", "session-start"]).command();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(input.as_bytes()).unwrap();
        answers.push(child.wait_with_output().unwrap().stdout);
        drop(pipe);
    }
    assert!(answers.iter().all(|answer| answer.starts_with(b"{\"hookSpecificOutput\"")), "{answers:?}");
}

#[test]
fn an_answer_that_nobody_reads_is_no_failure() {
    let base = sample();
    let mut command = base.with(["hook", "session-start"]).command();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = command.stdin(Stdio::null()).stdout(full).status().unwrap();
    assert!(status.success(), "{status}");
}

#[test]
fn a_message_is_recorded_once_and_nothing_without_sigils() {
    let base = sample();
    let files = || base.files(".ralph");
    let before = files();
    assert_eq!(fire(&base, &["stop"], &stopped("s-1", "I looked at `<task-done>t-1</task-done>`.")).answer(0), "");
    assert_eq!(files(), before, "nothing is written");
    let message = format!(
        "<learning category=\"pitfall\" tags=\"proxy\">{LEARNING}.</learning>\n<task-done>t-1</task-done>\n\
         <task-failed>t-2</task-failed>"
    );
    for client in ["claude", "codex", "claude"] {
        let ran = fire(&base, &["stop", "--agent", client], &stopped("s-1", &message));
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{ran}");
    }
    let attempts: Vec<String> = journal(&base).iter().map(|file| base.read(file)).collect();
    assert_eq!(attempts.len(), 2, "{attempts:?}");
    assert!(attempts[0].contains("task_id: t-1") && attempts[0].contains("outcome: done"), "{}", attempts[0]);
    assert!(attempts[1].contains("task_id: t-2") && attempts[1].contains("outcome: failed"), "{}", attempts[1]);
    assert!(attempts.iter().all(|attempt| !attempt.contains("duration_secs:")), "nobody measured them: {attempts:?}");
    let learned = base.files(".ralph/knowledge");
    assert_eq!(learned.len(), 2, "{learned:?}");
    // Another session may report the same; a fact stays one entry.
    assert_eq!(fire(&base, &["stop"], &stopped("s-2", &message)).answer(0), "");
    assert_eq!((journal(&base).len(), base.files(".ralph/knowledge").len()), (4, 2));
    assert_eq!(base.kept().len(), 0, "nothing is left over");
}

#[test]
fn knowledge_without_a_task_is_recorded_without_an_attempt() {
    let base = sample();
    let message = format!("Noted.\n<knowledge title=\"Proxy\" tags=\"proxy\">{LEARNING}.</knowledge>");
    assert_eq!(fire(&base, &["stop"], &stopped("s-1", &message)).answer(0), "");
    let shown = base.run(["show", "proxy", "--json"]).json(0);
    assert_eq!(
        (&shown["entry"]["source"], &shown["entry"]["task_id"], journal(&base).len()),
        (&json!("agent"), &Value::Null, 0),
        "{shown}"
    );
}

#[test]
fn events_without_a_task_are_recorded_if_a_setting_allows_it() {
    let base = sample();
    let list = "[{\"scope\": \"task\", \"event_type\": \"hint\", \"summary\": \"Mind the order.\"},\
                {\"scope\": \"project\", \"event_type\": \"decision\", \"summary\": \"Use a queue.\"}]";
    let input = stopped("s-1", &format!("## MEMORY_SUGGESTIONS\n\n```json\n{list}\n```\n"));
    assert_eq!(fire(&base, &["stop"], &input).answer(0), "");
    assert_eq!(base.files(".ralph/knowledge").len(), 1);
    let run = base.with(["hook", "stop"]).env("RALPH_MEMORY_EVENTS__FROM_OUTPUT", "true");
    let ran = run.input(stopped("s-2", input["last_assistant_message"].as_str().unwrap()).to_string()).run();
    assert!(ran.stderr.ends_with("MEMORY_SUGGESTIONS entry 1: scope: the message names no task\n"), "{ran}");
    let events = base.run(["list", "--json", "--category", "decision"]).json(0);
    assert_eq!(events["entries"].as_array().unwrap().len(), 1, "{events}");
}

#[test]
fn one_message_ends_a_limited_number_of_tasks() {
    let base = sample();
    let message = (0..25).map(|number| format!("<task-done>t-{number}</task-done>\n")).collect::<Vec<_>>().concat();
    let ran = fire(&base, &["stop"], &stopped("s-1", &message));
    assert!(ran.stderr.contains("report: the message ends 5 more tasks; one message has at most 20"), "{ran}");
    assert_eq!((ran.code, journal(&base).len()), (Some(0), 20));
}

#[test]
fn a_failure_without_a_task_is_one_attempt() {
    let base = sample();
    let report = "<failure-report>\nwhat_tried: A larger pool\nwhy_failed: the server closes it\n</failure-report>";
    assert_eq!(fire(&base, &["stop"], &stopped("s-1", report)).answer(0), "");
    let [file] = &journal(&base)[..] else { panic!() };
    let attempt = base.read(file);
    assert!(!attempt.contains("task_") && attempt.contains("outcome: failed"), "{attempt}");
    assert!(base.run(["log"]).answer(0).contains("failed       (no task)\n"));
    let told = "### (no task)\n\n- **Task:** its agent named none, failed once, last on 2026-11-20\n- **Tried:** A larger pool\n\
                - **Why it failed:** the server closes it\n";
    assert!(base.run(["context"]).answer(0).contains(told));
    // The next session is told once, and again when it lost what it was told.
    let briefing = |session: &str, source: &str| text(fire(&base, &["session-start"], &started(session, source)));
    assert!(briefing("s-2", "startup").contains(told));
    assert!(!briefing("s-3", "startup").contains("(no task)"));
    assert!(briefing("s-2", "compact").contains(told));
    let in_a_week = base.with(["context"]).now("2026-11-28T10:00:00Z").run().answer(0);
    assert!(!in_a_week.contains("(no task)"), "{in_a_week}");
}

#[test]
fn a_failure_without_a_task_is_that_of_the_only_open_task_of_its_session() {
    let base = sample();
    let report = |tried: &str| format!("<failure-report>\nwhat_tried: {tried}\nwhy_failed: no\n</failure-report>");
    // Titles and placeholders are taken with a warning.
    let stop = |base: &TestBase, session: &str, message: &str, now: &str| {
        let ran = base.with(["hook", "stop"]).input(stopped(session, message).to_string()).now(now).run();
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran}");
    };
    stop(&base, "s-1", "<task-failed>Fix the login</task-failed>", NOW);
    stop(&base, "s-1", &report("the second way"), "2026-11-20T10:05:00Z");
    stop(&base, "s-1", &format!("<task-done>TASK-ID</task-done>{}", report("the third way")), "2026-11-20T10:10:00Z");
    let titles = |base: &TestBase| -> Vec<(String, String)> {
        let log = base.with(["log", "--json"]).now("2026-11-21T10:00:00Z").run().json(0);
        let attempts = log["attempts"].as_array().unwrap().iter().rev();
        let text = |attempt: &Value, key: &str| attempt[key].as_str().unwrap_or_default().to_owned();
        attempts.map(|attempt| (text(attempt, "task_title"), text(attempt, "outcome"))).collect()
    };
    let login = |outcome: &str| ("Fix the login".to_owned(), outcome.to_owned());
    assert_eq!(titles(&base), [login("failed"), login("failed"), login("done")]);
    // It is done, so the next one is at no known task; and so is the one of a session with two open tasks.
    stop(&base, "s-1", &report("something else"), "2026-11-20T10:15:00Z");
    stop(&base, "s-2", "<task-failed>Sort the list</task-failed><task-failed>SHOP-1</task-failed>", LATER);
    stop(&base, "s-2", &report("both"), "2026-11-20T10:35:00Z");
    let (of_none, all) = ((String::new(), "failed".to_owned()), titles(&base));
    assert_eq!((&all[3], &all[6]), (&of_none, &of_none), "{all:?}");
}

/// Fires the hook at which a session's agent stops with this message.
fn stop(base: &TestBase, session: &str, message: &str, now: &str) {
    let ran = base.with(["hook", "stop"]).input(stopped(session, message).to_string()).now(now).run();
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""), "{ran}");
}

/// Begins an attempt at `login`, as a loop does that lives as long as this process.
fn begin(base: &TestBase) -> OpenAttempt {
    let task = Task { id: Some("login".to_owned()), ..Task::new("Fix the login") };
    base.memory().with_clock(|| parse_time(NOW).unwrap().into()).begin(&task, &Run::named("run-0000000a")).unwrap()
}

/// Asks for the prompt of a task, as a session's agent does.
fn ask_context(base: &TestBase, session: &str, id: &str) {
    let context = base.with(["context", "Accept large files", "--task-id", id]);
    context.env("CLAUDE_CODE_SESSION_ID", session).run().says(0, "## What to Report");
}

const LATER: &str = "2026-11-20T10:30:00Z";
const MUCH_LATER: &str = "2026-11-20T16:30:00Z";
const REPORT: &str = "<failure-report>\nwhat_tried: a larger pool\nwhy_failed: the server closes it\n</failure-report>";

#[test]
fn an_attempt_of_a_loop_is_recorded_by_the_loop_alone() {
    let base = sample();
    let begun = begin(&base);
    stop(&base, "s-1", "All done. <task-done>login</task-done>", "2026-11-20T10:01:00Z");
    assert_eq!((journal(&base), base.kept().len()), (Vec::new(), 1), "it waits for the loop");
    let validation = Some(Validation { command: "cargo test".into(), exit_code: 1, duration_ms: 1 });
    let text = "All done. <task-done>login</task-done>".to_owned();
    let report = Report { text, validation, duration_secs: Some(60.0), ..Report::default() };
    base.memory().finish(&begun, &report).unwrap();
    stop(&base, "s-2", "", LATER);
    let [file] = &journal(&base)[..] else { panic!("{:?}", journal(&base)) };
    assert!(base.read(file).contains("outcome: retried"));
    assert_eq!(base.kept().len(), 0, "the message is recorded");
}

#[test]
fn a_message_of_a_loop_that_gave_up_is_recorded() {
    let base = sample();
    let begun = begin(&base);
    stop(&base, "s-1", "All done. <task-done>login</task-done>", "2026-11-20T10:02:00Z");
    stop(&base, "s-2", "", LATER);
    assert_eq!(journal(&base), [""; 0]);
    base.memory().cancel(&begun).unwrap();
    stop(&base, "s-2", "", MUCH_LATER);
    let [file] = &journal(&base)[..] else { panic!("{:?}", journal(&base)) };
    assert!(base.read(file).contains("outcome: done"), "{}", base.read(file));
}

#[test]
fn a_failure_without_a_task_is_of_the_task_that_its_own_session_asked_for() {
    let base = sample();
    ask_context(&base, "s-1", "large");
    stop(&base, "s-2", REPORT, NOW);
    stop(&base, "s-1", REPORT, LATER);
    stop(&base, "s-1", "<task-done>large</task-done>", LATER);
    ask_context(&base, "s-1", "larger");
    stop(&base, "s-1", &REPORT.replace("larger", "smaller"), LATER);
    let mut attempts: Vec<String> = journal(&base).iter().map(|file| base.read(file)).collect();
    let of_other = attempts.iter().position(|attempt| !attempt.contains("task_title")).map(|at| attempts.remove(at));
    assert!(of_other.is_some_and(|attempt| attempt.contains("a larger pool")), "{attempts:?}");
    let found = [("large", "failed", "a larger pool"), ("large", "done", ""), ("larger", "failed", "a smaller pool")];
    assert_eq!(attempts.len(), found.len(), "{attempts:?}");
    for (attempt, (id, outcome, tried)) in attempts.iter().zip(found) {
        let parts = [format!("task_id: {id}\n"), format!("outcome: {outcome}\n"), tried.to_owned()];
        assert!(parts.iter().all(|part| attempt.contains(part)), "{attempt}");
    }
}

#[test]
fn each_task_of_a_message_gets_what_is_said_about_it() {
    let base = sample();
    let message = format!("{REPORT} <task-failed> cache </task-failed> Then: <task-done>readme</task-done>");
    stop(&base, "s-1", &message, NOW);
    let attempts: Vec<String> = journal(&base).iter().map(|file| base.read(file)).collect();
    let [cache, readme] = &attempts[..] else { panic!("{attempts:?}") };
    assert!(cache.contains("task_id: cache\n") && cache.contains("a larger pool"), "{cache}");
    assert!(readme.contains("task_id: readme\n") && !readme.contains("a larger pool"), "{readme}");
    let checked = base.run(["check"]);
    assert!(!checked.stdout.contains("not recorded"), "{checked}");
}

#[test]
fn the_last_message_counts_also_after_another_hook_made_the_agent_go_on() {
    let base = sample();
    stop(&base, "s-1", "All done. <task-done>t-7</task-done>", NOW);
    let mut input = stopped("s-1", &format!("{REPORT} <task-failed>t-7</task-failed>"));
    input["stop_hook_active"] = json!(true);
    assert_eq!(fire(&base, &["stop"], &input).answer(0), "");
    let briefing = base.run(["context"]).answer(0);
    assert!(briefing.contains("the server closes it"), "{briefing}");
}

#[test]
fn the_same_words_in_another_turn_are_another_attempt() {
    let base = sample();
    for (message, now) in [("done", NOW), ("failed", LATER), ("done", MUCH_LATER)] {
        stop(&base, "s-1", &format!("<task-{message}>t-1</task-{message}>"), now);
    }
    assert_eq!(journal(&base).len(), 3);
    let briefing = base.with(["context"]).now(MUCH_LATER).run().answer(0);
    assert!(!briefing.contains("t-1"), "the task is done: {briefing}");
}

#[test]
fn a_message_that_no_settings_let_be_recorded_is_kept() {
    let base = sample();
    let settings = base.read(".ralph/config.toml");
    base.write(".ralph/config.toml", format!("<<<<<<< HEAD\n{settings}"));
    let ran = fire(&base, &["stop"], &stopped("s-1", "<task-failed>lost</task-failed>"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran}");
    base.write(".ralph/config.toml", &settings);
    let checked = base.run(["check"]).stdout;
    assert!(checked.contains("(stop of claude): cannot read the settings in `.ralph/config.toml:1`"), "{checked}");
    let _ = fire(&base, &["session-start"], &started("s-2", "startup"));
    assert_eq!(journal(&base).len(), 1);
}

#[test]
fn half_a_surrogate_pair_loses_nothing_and_garbage_is_named() {
    let base = sample();
    let stop = |input: &[u8]| base.with(["hook", "stop"]).input(String::from_utf8(input.to_vec()).unwrap()).run();
    let message = br#"{"session_id": "s-1", "last_assistant_message": "cut \ud83d <task-failed>t-1</task-failed>"}"#;
    assert_eq!(stop(message).answer(0), "");
    assert_eq!(journal(&base).len(), 1);
    let garbage = stop(b"{\"session_id\": ");
    assert!(garbage.stderr.contains("the input is not JSON, and is ignored"), "{garbage}");
    let checked = base.run(["check"]).stdout;
    assert!(checked.contains("the input is not JSON"), "{checked}");
}

#[test]
fn a_session_is_one_attempt_also_if_its_message_was_kept_or_it_was_resumed() {
    let base = sample();
    let path = transcript(&base, "one.jsonl");
    let of = |session: &str, mut input: Value| {
        input["session_id"] = json!(session);
        input["transcript_path"] = json!(path);
        input
    };
    let end = json!({"hook_event_name": "SessionEnd"});
    let _ = with_changes(&base, "session-start", &of("s-1", started("", "startup")), NOW);
    let lock = fs::File::create(base.at(".ralph/state/lock")).unwrap();
    lock.lock().unwrap();
    let message = of("s-1", stopped("", "<task-failed>t-1</task-failed>"));
    assert!(with_changes(&base, "stop", &message, NOW).stderr.contains("is kept in `"));
    let _ = with_changes(&base, "session-end", &of("s-1", end.clone()), NOW);
    drop(lock);
    let _ = with_changes(&base, "session-start", &started("s-2", "startup"), LATER);
    assert_eq!(journal(&base).len(), 1, "{:?}", journal(&base));
    // Another session looks around at first, and changes a file when it is resumed.
    let whole = fs::read_to_string(&path).unwrap();
    let first = whole.lines().next().unwrap();
    fs::write(&path, format!("{first}\n")).unwrap();
    let _ = with_changes(&base, "session-start", &of("s-3", started("", "startup")), LATER);
    let _ = with_changes(&base, "session-end", &of("s-3", end.clone()), LATER);
    assert_eq!(journal(&base).len(), 1);
    fs::write(&path, whole).unwrap();
    let _ = with_changes(&base, "session-start", &of("s-3", started("", "resume")), MUCH_LATER);
    let _ = with_changes(&base, "session-end", &of("s-3", end), MUCH_LATER);
    assert_eq!(journal(&base).len(), 2, "{:?}", journal(&base));
}

#[test]
fn what_is_refused_is_named_and_stays_in_the_log() {
    let base = sample();
    let secret = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let message = format!(
        "<knowledge title=\"Token\" tags=\"deploy\">The token is {secret} here.</knowledge>\n\
         <knowledge title=\"No tags\">x</knowledge>\n<journal>Notes</journal>"
    );
    let ran = fire(&base, &["stop"], &stopped("s-1", &message));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran}");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(lines.len() == 3 && lines[1].ends_with("report: line 2: <knowledge> without tags"), "{ran}");
    assert!(lines[0].contains("line 1: <knowledge>: body, line 1: this looks like a secret: "), "{ran}");
    assert!(lines[2].contains("<journal> belongs to an attempt"), "{ran}");
    for file in base.files(".ralph") {
        assert!(!String::from_utf8_lossy(&fs::read(base.at(&file)).unwrap()).contains(&secret), "{file}");
    }
    assert!(!ran.stderr.contains(&secret) && base.files(".ralph/knowledge").len() == 1, "{ran}");
    let checked = base.run(["check", "--json"]).json(0);
    let problems = checked["problems"].as_array().unwrap();
    let hooks = problems.iter().find(|problem| problem["code"] == "hooks").unwrap();
    assert_eq!(hooks["severity"], "warning", "{hooks}");
    assert!(hooks["message"].as_str().unwrap().contains("(stop of claude): report: <journal>"), "{hooks}");
}

#[test]
fn a_message_that_cannot_be_recorded_in_time_is_kept_for_the_next_hook() {
    let base = sample();
    let message = format!(
        "<task-done>t-1</task-done> <knowledge title=\"Proxy\" tags=\"proxy\">{LEARNING}.</knowledge> {}",
        ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat()
    );
    fs::create_dir_all(base.at(".ralph/state")).unwrap();
    let lock = fs::File::create(base.at(".ralph/state/lock")).unwrap();
    lock.lock().unwrap();
    let ran = fire(&base, &["stop"], &stopped("s-1", &message));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran}");
    assert!(ran.stderr.contains("is kept in `") && ran.stderr.contains(", and the next hook records it"), "{ran}");
    let files = base.kept();
    let [file] = &files[..] else { panic!("{files:?}") };
    assert!(!fs::read_to_string(file).unwrap().contains("ghp_"), "a kept message has no secret");
    // Another hook while the lock is still taken loses nothing, and says so again.
    let again = fire(&base, &["session-start"], &started("s-2", "startup"));
    assert!(again.stderr.contains("is kept in `") && again.stdout.contains("port 5433"), "{again}");
    drop(lock);
    assert_eq!(journal(&base), [""; 0]);
    let next = fire(&base, &["session-start"], &started("s-3", "resume"));
    assert_eq!((next.stdout.as_str(), next.stderr.as_str()), ("", ""), "{next}");
    assert_eq!((journal(&base).len(), base.files(".ralph/knowledge").len()), (1, 2));
    assert_eq!(base.kept().len(), 0);
}

#[test]
fn sessions_are_recorded_as_far_as_the_person_says() {
    let base = sample();
    let message = "<task-done>t-1</task-done>";
    let stop = |value: &str| {
        let input = stopped("s-1", message).to_string();
        base.with(["hook", "stop"]).env("RALPH_MEMORY_SESSIONS__RECORD", value).input(input).run()
    };
    assert_eq!(stop("nothing").answer(0), "");
    assert_eq!(journal(&base), [""; 0]);
    // A repository has no say in it.
    base.write(".ralph/config.toml", "format = 1\nsessions.record = \"changes\"\n");
    assert!(base.run(["check"]).stdout.contains("`sessions.record` decides what is written down"));
    assert_eq!(stop("reported").answer(0), "");
    assert_eq!(journal(&base).len(), 1);
}

/// Puts the transcript of a session into a folder, and returns its path.
fn transcript(base: &TestBase, name: &str) -> String {
    let path = base.home().join(name);
    let root = base.root().canonicalize().unwrap().display().to_string();
    fs::write(&path, fixture("session.jsonl").replace("ROOT", &root)).unwrap();
    path.display().to_string()
}

fn with_changes(base: &TestBase, event: &str, input: &Value, now: &str) -> Ran {
    let run = base.with(["hook", event]).env("RALPH_MEMORY_SESSIONS__RECORD", "changes");
    run.input(input.to_string()).now(now).run()
}

#[test]
fn a_session_that_changed_files_is_one_attempt_if_the_person_wants_it() {
    let base = sample();
    let path = transcript(&base, "one.jsonl");
    let mut start = started("s-1", "startup");
    start["transcript_path"] = json!(path);
    let end = json!({"session_id": "s-1", "transcript_path": path, "hook_event_name": "SessionEnd"});
    let _ = fire(&base, &["session-start"], &start);
    assert_eq!(fire(&base, &["session-end"], &end).answer(0), "");
    assert_eq!(journal(&base), [""; 0], "by default, only what is reported");
    for _ in 0..2 {
        let ran = with_changes(&base, "session-end", &end, NOW);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""), "{ran}");
    }
    let [file] = &journal(&base)[..] else { panic!("{:?}", journal(&base)) };
    let attempt = base.read(file);
    let title = "task_title: \"Make the upload accept large files.\"";
    assert!(attempt.contains(title) && attempt.contains("outcome: partial"), "{attempt}");
    assert!(attempt.contains("nginx.conf") && attempt.contains("model: claude-sonnet-4-5"), "{attempt}");
    // A session that reported an attempt is not written twice.
    let two = transcript(&base, "two.jsonl");
    assert_eq!(with_changes(&base, "stop", &stopped("s-2", "<task-done>t-1</task-done>"), NOW).answer(0), "");
    let end = json!({"session_id": "s-2", "transcript_path": two, "hook_event_name": "SessionEnd"});
    assert_eq!(with_changes(&base, "session-end", &end, NOW).answer(0), "");
    assert_eq!(journal(&base).len(), 2);
}

#[test]
fn a_session_of_opencode_that_changed_files_is_one_attempt_and_is_briefed() {
    let base = sample();
    let root = base.root().canonicalize().unwrap().display().to_string();
    let mut end: Value = serde_json::from_str(&fixture("opencode-session-end.json").replace("ROOT", &root)).unwrap();
    end["cwd"] = json!(root);
    let with_agent = |value: &str, end: &Value| {
        let run = base.with(["hook", "session-end", "--agent", "opencode"]);
        run.env("RALPH_MEMORY_SESSIONS__RECORD", value).input(end.to_string()).run().answer(0)
    };
    let mut reading = end.clone();
    reading["session_id"] = json!("ses_0");
    reading["messages"].as_array_mut().unwrap().remove(2);
    assert_eq!(with_agent("reported", &end) + &with_agent("changes", &reading), "");
    assert_eq!(journal(&base), [""; 0]);
    for _ in 0..2 {
        assert_eq!(with_agent("changes", &end), "");
    }
    let [file] = &journal(&base)[..] else { panic!("{:?}", journal(&base)) };
    let attempt = base.read(file);
    let title = "task_title: \"Make the upload accept large files.\"";
    assert!(attempt.contains(title) && attempt.contains("outcome: partial"), "{attempt}");
    let tried = "> Make the upload accept large files.\n> Commands: `nginx -t`; `cargo test upload`";
    assert!(attempt.contains("nginx.conf") && attempt.contains(tried), "{attempt}");
    assert!(attempt.contains("model: scripted") && attempt.contains("tokens_in: 100"), "{attempt}");
    let briefing = text(fire(&base, &["session-start"], &started("s-2", "startup")));
    let tried = "- **Tried:** Make the upload accept large files. Commands: `nginx -t`; `cargo test upload`";
    assert!(briefing.contains(", not reported as done, last on ") && briefing.contains(tried), "{briefing}");
    // What is nobody's messages is nobody's work.
    for messages in [json!([]), json!([null, 7, {"info": 1}]), json!({"a": 1}), json!("x")] {
        let end = json!({"session_id": "ses_2", "cwd": root, "messages": messages});
        assert_eq!(with_agent("changes", &end), "");
    }
    assert_eq!(journal(&base).len(), 1);
}

#[test]
fn a_session_without_an_end_is_recorded_when_the_next_one_begins() {
    let base = sample();
    let path = transcript(&base, "one.jsonl");
    let written = fs::File::options().append(true).open(&path).unwrap();
    written.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
    let mut start = started("s-1", "startup");
    start["transcript_path"] = json!(path);
    let _ = with_changes(&base, "session-start", &start, NOW);
    // It may still be at work.
    let _ = with_changes(&base, "session-start", &started("s-2", "startup"), "2026-11-20T10:30:00Z");
    assert_eq!(journal(&base), [""; 0]);
    let ran = with_changes(&base, "session-start", &started("s-3", "startup"), "2026-11-20T12:00:00Z");
    assert!(text(ran).contains("port 5433"));
    assert_eq!(journal(&base).len(), 1);
    let _ = with_changes(&base, "session-start", &started("s-4", "startup"), "2026-11-20T14:00:00Z");
    assert_eq!(journal(&base).len(), 1);
}

#[test]
fn only_a_file_of_the_user_is_read_as_a_transcript() {
    let base = sample();
    let end = |session: &str, path: &str| {
        let end = json!({"session_id": session, "transcript_path": path});
        let ran = with_changes(&base, "session-end", &end, NOW);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran}");
        ran.stderr
    };
    let fifo = base.home().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    assert!(end("s-1", &fifo.display().to_string()).contains("not a regular file"));
    assert!(end("s-2", &base.home().display().to_string()).contains("not a regular file"));
    assert!(end("s-3", "one.jsonl").contains("cannot read `one.jsonl`"));
    assert_eq!(end("s-4", "/no/such/file"), "");
    assert!(end("s-5", "/dev/zero").contains("not a regular file"));
    let large = base.home().join("large.jsonl");
    fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    assert!(end("s-6", &large.display().to_string()).contains("has 1099511627776 bytes; the limit is 8388608"));
    // A file that is no transcript is nobody's work.
    let notes = base.home().join("notes");
    fs::write(&notes, "I wrote /etc/passwd. <task-done>t-1</task-done>").unwrap();
    assert_eq!(end("s-8", &notes.display().to_string()), "");
    assert_eq!(journal(&base), [""; 0]);
}

#[test]
fn state_from_a_clone_names_no_file_to_read() {
    let base = sample();
    let path = transcript(&base, "one.jsonl");
    let mut start = started("s-1", "startup");
    start["transcript_path"] = json!(path);
    let _ = fire(&base, &["session-start"], &start);
    let folder = ".ralph/state/sessions";
    let [file] = &sessions(&base)[..] else {
        panic!("{:?}", base.files(folder));
    };
    let bytes = base.read(file);
    assert!(bytes.contains(&path), "{bytes}");
    // The same bytes in another folder, as in a copy or a clone.
    let clone = sample();
    clone.write(file, &bytes);
    clone.write(&format!("{folder}/log"), base.read(&format!("{folder}/log")));
    let ran = with_changes(&clone, "session-start", &started("s-2", "startup"), "2026-12-20T12:00:00Z");
    assert!(text(ran).contains("port 5433"));
    assert_eq!(journal(&clone), [""; 0]);
    let checked = clone.run(["check"]).answer(0);
    assert!(checked.contains("last fired by claude: session-start at 2026-12-20 12:00"), "{checked}");
    // Links lead nowhere.
    let outside = clone.home().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir_all(clone.at(folder)).unwrap();
    symlink(&outside, clone.at(folder)).unwrap();
    assert!(text(fire(&clone, &["session-start"], &started("s-3", "startup"))).contains("port 5433"));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn sessions_of_last_week_are_forgotten() {
    let base = sample();
    for number in 0..3 {
        let _ = fire(&base, &["session-start"], &started(&format!("s-{number}"), "startup"));
    }
    let folder = ".ralph/state/sessions";
    for file in base.files(folder) {
        let file = fs::File::options().append(true).open(base.at(&file)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
    }
    base.write(&format!("{folder}/other.txt"), "not ours");
    let _ = fire(&base, &["session-start"], &started("s-9", "startup"));
    let left = base.files(folder);
    assert_eq!(sessions(&base).len(), 1, "{left:?}");
    assert!(left.iter().any(|file| file.ends_with("other.txt")), "{left:?}");
}

#[test]
fn a_session_is_shown_an_entry_once() {
    let base = sample();
    let prompt = json!({"session_id": "s-1", "hook_event_name": "UserPromptSubmit",
        "prompt": "Which port does the staging database of the shop listen on?"});
    assert!(text(fire(&base, &["prompt"], &prompt)).contains("`knowledge/staging`"));
    assert_eq!(fire(&base, &["prompt"], &prompt).answer(0), "");
    // What is in the briefing was shown as well.
    let mut other = prompt.clone();
    other["session_id"] = json!("s-2");
    assert!(text(fire(&base, &["session-start"], &started("s-2", "startup"))).contains("`knowledge/staging`"));
    assert_eq!(fire(&base, &["prompt"], &other).answer(0), "");
}

#[test]
fn prompts_without_a_subject_get_no_reminder() {
    let base = TestBase::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/search/.ralph/knowledge");
    for entry in fs::read_dir(golden).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), base.at(".ralph/knowledge").join(entry.file_name())).unwrap();
    }
    base.memory().update_index().unwrap();
    let speaks = |prompt: &str| {
        let input = json!({"prompt": prompt}).to_string();
        let call = HookCall::new(HookEvent::Prompt, None, input.as_bytes(), &|_| None).unwrap();
        !base.memory().hook(&call, &|| false).output.is_empty()
    };
    let prompts = fixture("prompts-without-a-subject.txt");
    let loud: Vec<&str> = prompts.lines().filter(|prompt| speaks(prompt)).collect();
    assert!(loud.len() <= 1 && prompts.lines().count() == 50, "{loud:?}");
    assert!(!speaks("yes, go on") && !speaks("fix the tests"));
    let tasks = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/search/tasks.jsonl")).unwrap();
    let title = |line: &str| serde_json::from_str::<Value>(line).unwrap()["title"].as_str().unwrap().to_owned();
    let n_answered = tasks.lines().filter(|line| speaks(&title(line))).count();
    assert!(n_answered >= 60, "{n_answered} of 165");
}

#[test]
fn a_prompt_waits_for_no_server() {
    let base = sample();
    let prompt = json!({"prompt": "Which port does the staging database of the shop listen on?"});
    let run = base.with(["hook", "prompt"]).env("RALPH_MEMORY_OLLAMA__URL", "http://127.0.0.1:9");
    let ran = run.input(prompt.to_string()).run();
    assert!(ran.stderr.is_empty() && !ran.stdout.is_empty(), "{ran}");
}

/// Returns the answer of a hook whose time is over as `is_over` says, and how many entries it read or indexed.
fn fire_until(base: &TestBase, event: HookEvent, input: &Value, is_over: &dyn Fn() -> bool) -> (HookAnswer, usize) {
    let n_read = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&n_read);
    let count = move |activity: Activity| {
        let reads = matches!(activity.work, Work::Reading | Work::Indexing) && activity.step == Step::Advanced;
        counted.fetch_add(usize::from(reads), Ordering::Relaxed);
    };
    let memory = Memory::open(&base.root()).unwrap().keeping_in(StateFolders::new([base.home()])).with_observer(count);
    let call = HookCall::new(event, None, input.to_string().as_bytes(), &|_| None).unwrap();
    let answer = memory.hook(&call, is_over);
    (answer, n_read.load(Ordering::Relaxed))
}

/// What was seen in 0.1.0: 60 entries of 1 MiB took 10 s at each prompt.
#[test]
fn what_a_hook_reads_is_read_once() {
    const N_ENTRIES: usize = 40;
    const MOST: usize = 15;
    let base = sample();
    for number in 0..N_ENTRIES {
        base.entry(&format!("n{number}"), &format!("Note {number}"), "x", &"a\nb\n".repeat(8_000));
    }
    let prompt = json!({"prompt": "Which port does the staging database of the shop listen on?"});
    let fire = || {
        let n_asked = AtomicUsize::new(0);
        fire_until(&base, HookEvent::Prompt, &prompt, &|| n_asked.fetch_add(1, Ordering::Relaxed) >= MOST)
    };
    let (mut n_read, mut n_calls) = (0, 0);
    let answer = loop {
        let (answer, n) = fire();
        (n_read, n_calls) = (n_read + n, n_calls + 1);
        assert!(n <= MOST && n_calls < 20, "call {n_calls}: {n}");
        if !answer.output.is_empty() {
            break answer;
        }
    };
    assert!(answer.output.contains("knowledge/staging") && n_calls > 2, "{n_calls}: {answer:?}");
    // What was written in the same moment is read again, but not parsed.
    assert!((N_ENTRIES..=N_ENTRIES + MOST).contains(&n_read), "{n_read}");
    assert!(fire().1 * 32_000 <= 256 * 1024, "only what is read in no time is read again");
    assert_eq!(
        base.run(["search", "note", "--json", "--limit", "99"]).json(0)["entries"].as_array().unwrap().len(),
        N_ENTRIES
    );
}

#[test]
fn a_hook_whose_time_is_over_is_silent_and_loses_no_message() {
    let kept = |base: &TestBase| {
        let names = fs::read_dir(base.home()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".message")).count()
    };
    let base = sample();
    let message = format!("Done.\n<learning category=\"pitfall\" tags=\"proxy\">{LEARNING}.</learning>");
    let prompt = json!({"session_id": "s-1", "prompt": "Which port does the staging database of the shop listen on?"});
    let calls = [
        (HookEvent::SessionStart, started("s-1", "startup")),
        (HookEvent::Prompt, prompt),
        (HookEvent::Stop, stopped("s-1", &message)),
        (HookEvent::SessionEnd, json!({"session_id": "s-1"})),
    ];
    for (event, input) in &calls {
        // Whoever calls may end the process from this question on.
        let is_over = || {
            assert_eq!(kept(&base), usize::from(matches!(event, HookEvent::Stop | HookEvent::SessionEnd)));
            true
        };
        let (answer, n_read) = fire_until(&base, *event, input, &is_over);
        assert_eq!((answer.output.as_str(), n_read), ("", 0), "{event:?}");
        let is_told = answer.notes.iter().any(|note| note.contains("and a later hook records it"));
        assert_eq!(is_told, *event == HookEvent::Stop, "{answer:?}");
    }
    assert_eq!(base.files(".ralph/knowledge").len(), 1);
    // The process that kept it is this one, which lives: the next hook of another process records it.
    let mut names = fs::read_dir(base.home()).unwrap().map(|entry| entry.unwrap().path());
    let file = names.find(|path| path.extension().is_some_and(|extension| extension == "message")).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once("\"holder\":").unwrap();
    let (_, after) = rest.split_once(",\"content\"").unwrap();
    fs::write(&file, format!("{before}\"holder\":null,\"content\"{after}")).unwrap();
    fire_until(&base, HookEvent::SessionStart, &started("s-2", "startup"), &|| false);
    assert_eq!((base.files(".ralph/knowledge").len(), kept(&base)), (2, 0));
}

#[test]
fn long_answers_are_shortened_to_what_every_client_takes() {
    let base = TestBase::new();
    for number in 0..60 {
        // Each of these characters takes two in JSON.
        base.entry(&format!("n{number}"), &format!("Note {number}"), "x", &"\"\\".repeat(140));
    }
    let answer = fire(&base, &["session-start"], &started("s-1", "startup")).answer(0);
    assert!(answer.chars().count() <= 9_000 && answer.starts_with("{\"hookSpecificOutput\""), "{}", answer.len());
}

/// What a client could send in a field, or somebody else would.
fn values() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(vec![
        "",
        "s-1",
        "../../outside",
        "/dev/zero",
        "cd src && cat db.rs; sh -c 'cat ../x' |",
        "*** Begin Patch\n*** Update File: src/db.rs\n*** Delete File: ../../x\n",
        "startup",
        "SessionStart",
        "a\u{0}b",
        "\u{1b}[31mred\n\u{202e}\u{200b}",
        "Which port does the staging database listen on?",
        "<task-failed>../../x</task-failed><task-done></task-done>",
        "<learning category=\"pitfall\" tags=\"x\">A fact.</learning>",
        "<knowledge title=\"\u{1b}\" tags=\"../..\">\u{0}</knowledge><knowledge tags=\"x\"><knowledge>",
    ]);
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<u64>().prop_map(Value::from),
        1 => text.clone().prop_map(|text| json!([text, 1])),
        1 => text.clone().prop_map(|text| json!({"a": {"b": [text]}, "file_path": "src/db.rs", "command": text})),
        1 => (text.clone(), 0usize..3_000).prop_map(|(text, times)| json!(text.repeat(times))),
        6 => text.prop_map(Value::from),
    ]
}

/// An object with fields of clients, cut off somewhere or whole.
fn inputs() -> impl Strategy<Value = Vec<u8>> {
    const KEYS: &str = "session_id sessionId conversation_id cwd workspace_roots source prompt last_assistant_message \
        assistant_response prompt_response transcript_path model hook_event_name agent_id tool_name tool_input toolArgs \
        tool_response error exit_code stop_hook_active cursor_version timestamp reason turn_id event";
    let key = prop::sample::select(KEYS.split(' ').collect::<Vec<_>>());
    let fields = prop::collection::vec((key, values()), 0..12);
    (fields, prop_oneof![Just(usize::MAX), 0usize..600]).prop_map(|(fields, end)| {
        let object: serde_json::Map<String, Value> =
            fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let mut text = Value::Object(object).to_string().into_bytes();
        text.truncate(end);
        text
    })
}

/// Fails unless an answer is one document, or nothing, and not too long for a client.
#[track_caller]
fn assert_fits(event: &str, answer: &str) {
    assert!(answer.chars().count() <= 9_000, "{} characters", answer.chars().count());
    assert!(answer.is_empty() || ["session-start", "tool", "prompt"].contains(&event), "{event}: {answer}");
    if answer.starts_with(['{', '[']) {
        assert_eq!(serde_json::from_str::<Value>(answer).unwrap().as_object().unwrap().len(), 1, "{answer}");
    } else {
        let is_text = ["# Project Memory\n", "Project memory, "].iter().any(|start| answer.starts_with(start));
        assert!(answer.is_empty() || is_text, "{answer}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_does_harm(
        input in prop_oneof![inputs(), prop::collection::vec(any::<u8>(), 0..200)],
        client in prop::sample::select(vec![None, Some("codex"), Some("cursor"), Some("copilot"), Some("gemini")]),
    ) {
        let base = sample();
        let n_before = fs::read_dir(base.root()).unwrap().count();
        for event in HookEvent::ALL.iter().copied() {
            let call = HookCall::new(event, client, &input, &|_| None).unwrap();
            let answer = ralph_memory::Memory::open(&base.root()).unwrap().hook(&call, &|| false);
            assert_fits(event.as_str(), &answer.output);
        }
        prop_assert_eq!(fs::read_dir(base.home()).unwrap().count(), 0);
        prop_assert_eq!(fs::read_dir(base.root()).unwrap().count(), n_before);
    }
}

#[test]
fn inputs_that_no_client_sends_get_an_answer_or_nothing() {
    let base = sample();
    let odd = [
        "[".repeat(100_000),
        format!("{}{}", "{\"a\":".repeat(5_000), "}".repeat(5_000)),
        format!("{{\"session_id\":\"s\",\"prompt\":\"{}\"}}", "x".repeat(1_200_000)),
        r#"{"session_id":"\ud800","cwd":"\u0000","source":"startup","source":"clear","prompt":"\ud83d"}"#.to_owned(),
    ];
    for (event, input) in ["session-start", "tool", "prompt", "stop", "session-end"]
        .iter()
        .flat_map(|event| odd.iter().map(move |input| (event, input)))
    {
        let ran = base.with(["hook", event]).input(input.as_str()).run();
        assert!(ran.code == Some(0) && !ran.stderr.contains("panicked"), "{event}: {ran}");
        assert_fits(event, &ran.stdout);
    }
}
