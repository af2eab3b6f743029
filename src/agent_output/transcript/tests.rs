//! Whole streams, odd streams, and arbitrary bytes.

use proptest::prelude::*;

use super::*;

const CLAUDE: &str = include_str!("../../../fixtures/transcripts/claude-done.jsonl");
const CODEX: &str = include_str!("../../../fixtures/transcripts/codex-done.jsonl");

fn read(text: &str, format: Format) -> Transcript {
    read_in("/repo/project", text.as_bytes(), format)
}

fn read_in(root: &str, bytes: &[u8], format: Format) -> Transcript {
    let options = Options { format, root: root.to_owned(), ..Options::default() };
    Reader::new(options).read(bytes).unwrap()
}

/// A line of Claude Code with this piece of a message.
fn said(piece: &str) -> String {
    format!(r#"{{"type":"assistant","message":{{"content":[{piece}]}},"session_id":"s"}}"#)
}

fn text_of(text: &str) -> String {
    said(&format!(r#"{{"type":"text","text":{}}}"#, serde_json::to_string(text).unwrap()))
}

fn result(session: &str, cost: f64, tokens: u64) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"{session}","total_cost_usd":{cost},"duration_ms":1000,"usage":{{"input_tokens":{tokens},"output_tokens":1}}}}"#
    )
}

/// Every field of the transcripts of the fixtures: thoughts and subagents are left out, a result is not repeated, a
/// failed change is not a change, and what happened elsewhere does not belong to the project.
#[test]
fn whole_streams_are_understood() {
    for name in ["claude-done", "codex-done", "claude-max-turns", "codex-failed", "claude-cut"] {
        let path = format!("{}/fixtures/transcripts/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let said = read(&std::fs::read_to_string(path).unwrap(), Format::Auto);
        insta::assert_snapshot!(name, serde_json::to_string_pretty(&said).unwrap());
    }
}

#[test]
fn an_error_of_a_server_is_no_summary() {
    let error = r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529","session_id":"s"}"#;
    let said = read(error, Format::Auto);
    assert_eq!((said.is_failed, said.text.as_str(), said.summary.as_str()), (true, "API Error: 529", ""));
    assert_eq!(said.errors, ["API Error: 529"]);
}

#[test]
fn plain_text_stays_as_it_is() {
    let text = include_str!("../../../fixtures/transcripts/text-with-braces.txt");
    let said = read(text, Format::Auto);
    assert_eq!((said.format, said.text.as_str(), said.summary.as_str()), (Format::Text, text, ""));
    assert_eq!(said.decisions, ["this stays plain text"]);
    assert_eq!(read(CLAUDE, Format::Text).text, CLAUDE);
    assert_eq!(read_in("/p", b"a\xffb", Format::Auto).text, "a\u{fffd}b");
    let said = read("nothing of the kind\n", Format::Codex);
    assert_eq!((said.text.as_str(), said.n_events, said.broken.len()), ("nothing of the kind\n", 0, 1));
    let said = read(&format!("nothing of the kind\n{CODEX}"), Format::Codex);
    assert_eq!((said.text, said.broken.len()), (read(CODEX, Format::Codex).text, 1));
}

#[test]
fn fields_of_an_unexpected_type_count_as_missing() {
    let lines = [
        r#"{"type":"system","subtype":"init","session_id":"s","cwd":7,"model":["x"]}"#,
        r#"{"type":"assistant","message":"x","session_id":"s"}"#,
        r#"{"type":"assistant","message":{"content":"x"},"session_id":"s"}"#,
        r#"{"type":"assistant","message":["a"],"session_id":"s"}"#,
        r#"{"type":7}"#,
        &said(r#"7,null,[],{"type":"text"},{"type":"text","text":{"a":1}},{"type":"tool_use","id":1,"name":"Read"}"#),
        &text_of("\u{1f600} \\ \" é"),
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"unknown","is_error":true}]},"session_id":"s"}"#,
        r#"{"type":"result","subtype":"success","is_error":"no","session_id":"s","total_cost_usd":-1,"usage":{"input_tokens":-1},"modelUsage":[1]}"#,
    ];
    let said = read(&lines.join("\n"), Format::Claude);
    assert_eq!((said.text.as_str(), said.broken.len(), said.n_events), ("\u{1f600} \\ \" é", 0, 9));
    assert_eq!((said.cost_usd, said.tokens_in, said.model, said.is_failed), (None, None, None, false));
    assert!(said.errors.is_empty());
    for line in ["[]", "{", "{}", "{\"type\":\"x\",\"type\":\"y\"}", "\u{0}", "7", &"[".repeat(100_000)] {
        assert_eq!(read(line, Format::Claude).broken.len(), 1, "{line:.20}");
        assert_eq!(read(line, Format::Codex).broken.len(), 1, "{line:.20}");
    }
    let deep = format!(r#"{{"type":"x","a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!((read(&deep, Format::Claude).broken.len(), read(&deep, Format::Codex).broken.len()), (0, 0));
}

/// What JavaScript writes when it cuts an emoji.
#[test]
fn a_text_with_half_a_character_loses_nothing() {
    let cut = r#"{"type":"text","text":"cut \ud83d one\nDecision: \ud83d kept\n<task-done>t-1</task-done>"}"#;
    let expected = "cut \u{fffd} one\nDecision: \u{fffd} kept\n<task-done>t-1</task-done>";
    let told = |lines: &[&str], format: Format| {
        let told = read(&lines.join("\n"), format);
        assert_eq!((told.broken.as_slice(), told.n_events), (&[][..], lines.len() as u64), "{lines:?}");
        told
    };
    let said_it = told(&[&said(cut)], Format::Auto);
    assert_eq!((said_it.text.as_str(), &said_it.decisions[..]), (expected, &["\u{fffd} kept".to_owned()][..]));
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"session_id":"s","result":"boom \ud83d.\n<task-done>t-1</task-done>"}"#;
    let failed = told(&[failed], Format::Auto);
    assert_eq!(
        (failed.text.as_str(), failed.errors[0].as_str()),
        ("boom \u{fffd}.\n<task-done>t-1</task-done>", "boom \u{fffd}.")
    );
    // Names, paths, commands and keys.
    let calls = [
        r#"{"type":"tool_use","id":"\ud83d1","name":"Write","input":{"\udc00":1,"file_path":"a\ud83d.rs"}}"#,
        r#"{"type":"tool_use","id":"2","name":"Bash","input":{"command":"echo \ud83d","\ud83d":1},"\ud83d":1}"#,
    ];
    let results = [
        r#"{"type":"tool_result","tool_use_id":"\ud83d1"}"#,
        r#"{"type":"tool_result","tool_use_id":"2","is_error":true,"content":[{"type":"text","text":"no \ud83d"}]}"#,
    ];
    let results = said(&results.join(",")).replace("assistant", "user").replacen('{', r#"{"\ud83d":1,"#, 1);
    let worked = told(&[&said(&calls.join(",")), &results], Format::Claude);
    assert_eq!(
        (worked.files.created, worked.errors),
        (vec!["a\u{fffd}.rs".to_owned()], vec!["`echo \u{fffd}`: no \u{fffd}".to_owned()])
    );
    let codex = [
        r#"{"type":"thread.started","thread_id":"t"}"#,
        r#"{"type":"item.completed","item":{"\ud83d":1,"type":"agent_message","text":"cut \ud83d <task-done>t-1</task-done>"}}"#,
        r#"{"type":"error","message":"lost \ud83d"}"#,
    ];
    let codex = told(&codex, Format::Auto);
    assert_eq!(
        (codex.text.as_str(), codex.errors[0].as_str()),
        ("cut \u{fffd} <task-done>t-1</task-done>", "lost \u{fffd}")
    );
}

#[test]
fn a_line_with_an_unreadable_part_is_reported() {
    let twice = r#"{"type":"text","text":"lost","text":"lost"}"#;
    let told = read(&[said(&format!(r#"{twice},{{"type":"text","text":"kept"}}"#))].join("\n"), Format::Claude);
    let broken = vec![Broken { line: 1, reason: "a part of it cannot be read".to_owned() }];
    assert_eq!((told.text.as_str(), &told.broken), ("kept", &broken));
    let item = r#"{"type":"item.completed","item":{"type":"agent_message","text":"lost","text":"lost"}}"#;
    assert_eq!(read(item, Format::Codex).broken, broken);
}

#[test]
fn a_result_adds_only_new_text() {
    let end = |text: &str| {
        format!(r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"{text}"}}"#)
    };
    let text = |lines: &[String]| read(&lines.join("\n"), Format::Claude).text;
    assert_eq!(text(&[text_of("a"), text_of("b"), end("b")]), "a\n\nb");
    assert_eq!(text(&[text_of("a"), end("b")]), "a\n\nb");
    assert_eq!(text(&[end("b")]), "b");
    assert_eq!(text(&[text_of("a"), end("")]), "a");
    // A part of an earlier text, and two texts joined.
    assert_eq!(text(&[text_of("a"), text_of("bc"), text_of("d"), end("b")]), "a\n\nbc\n\nd");
    assert_eq!(text(&[text_of("a"), text_of("b"), end(r"a\n\nb")]), "a\n\nb");
    // An earlier text as a whole.
    assert_eq!(text(&[text_of("a"), end("b"), end("b"), end("a"), end("b")]), "a\n\nb");
    assert_eq!(text(&[end("a"), text_of("b"), end("b"), end("a")]), "a\n\nb");
}

#[test]
fn text_is_searched_for_one_result_only() {
    let end = |number: u64| {
        format!(r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"{number}"}}"#)
    };
    let mut lines = vec![text_of("107 of 200")];
    // One is a part of a text before the first of them.
    lines.extend((100..200).map(end));
    let said = read(&lines.join("\n"), Format::Claude);
    let texts: Vec<&str> = said.text.split("\n\n").collect();
    assert_eq!((texts.len(), texts[0], texts[8]), (101, "107 of 200", "107"));
}

#[test]
fn several_results_in_one_event_are_distinguished() {
    let write = |name: &str| {
        format!(r#"{{"type":"tool_use","id":"{name}","name":"Write","input":{{"file_path":"/repo/project/{name}"}}}}"#)
    };
    let written =
        |name: &str, text: &str| format!(r#"{{"type":"tool_result","tool_use_id":"{name}","content":"{text}"}}"#);
    let files = |results: &[String]| {
        let results = said(&results.join(",")).replace("assistant", "user");
        let results = results.replacen('{', r#"{"tool_use_result":{"type":"create"},"#, 1);
        let files = read(&[said(&[write("a"), write("b")].join(",")), results].join("\n"), Format::Claude).files;
        (files.created, files.modified)
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let update = written("b", "The file /repo/project/b has been updated.");
    let create = written("a", "File created successfully at: /repo/project/a");
    assert_eq!(files(&[create, update.clone()]), (names(&["a"]), names(&["b"])));
    // A single result belongs to that call.
    assert_eq!(files(&[update]), (names(&["b"]), names(&[])));
}

#[test]
fn only_work_reopens_a_stream_after_its_end() {
    let is_complete = |more: &[&str]| {
        read(&[&[&*text_of("a"), &result("s", 1.0, 1)], more].concat().join("\n"), Format::Claude).is_complete
    };
    let idle = r#"{"type":"system","subtype":"session_state_changed","state":"idle","session_id":"s"}"#;
    let suggestion = r#"{"type":"prompt_suggestion","suggestion":"run it","session_id":"s"}"#;
    let hook = r#"{"type":"system","subtype":"hook_response","session_id":"s"}"#;
    assert!(is_complete(&[]) && is_complete(&[idle, suggestion, hook, r#"{"type":"of_tomorrow"}"#]));
    let init = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
    let user = r#"{"type":"user","message":{"content":"go on"},"session_id":"s"}"#;
    for work in [init, user, &text_of("b")] {
        assert!(!is_complete(&[work]) && !is_complete(&[idle, work, suggestion]), "{work}");
        assert!(is_complete(&[work, &result("s", 2.0, 2), idle]), "{work}");
    }
    assert!(!read(&[init, idle].join("\n"), Format::Claude).is_complete);
}

#[test]
fn figures_are_those_of_all_sessions() {
    let figures = |lines: &[String]| {
        let said = read(&lines.join("\n"), Format::Claude);
        (said.cost_usd, said.tokens_in, said.tokens_out, said.duration_secs)
    };
    assert_eq!(figures(&[result("a", 1.0, 10)]), (Some(1.0), Some(10), Some(1), Some(1.0)));
    // A later result of a session includes the earlier one.
    assert_eq!(figures(&[result("a", 1.0, 10), result("a", 2.0, 30)]), (Some(2.0), Some(30), Some(1), Some(2.0)));
    assert_eq!(figures(&[result("a", 1.0, 10), result("b", 2.0, 30)]), (Some(3.0), Some(40), Some(2), Some(2.0)));
    // Sessions that alternate. Each result has the cost of its session up to then.
    let turns = [result("a", 1.0, 10), result("b", 2.0, 30), result("a", 4.0, 15), result("b", 8.0, 31)];
    assert_eq!(figures(&turns), (Some(12.0), Some(46), Some(2), Some(4.0)));
    let many: Vec<String> = (0..200).map(|number| result(&number.to_string(), 1.0, 10)).collect();
    assert_eq!(figures(&many), (Some(200.0), Some(2_000), Some(200), Some(200.0)));
    assert_eq!(figures(&[text_of("a")]), (None, None, None, None));
    let thread = r#"{"type":"thread.started","thread_id":"t"}"#;
    let turn =
        |read: u64| format!(r#"{{"type":"turn.completed","usage":{{"input_tokens":{read},"output_tokens":1}}}}"#);
    let tokens = |turns: &[&str]| read(&turns.join("\n"), Format::Codex).tokens_in;
    assert_eq!(tokens(&[thread, &turn(10), &turn(15), thread, &turn(7)]), Some(22));
    assert_eq!(tokens(&[thread, &turn(10), &turn(7)]), Some(17));
    assert_eq!(tokens(&[thread]), None);
}

#[test]
fn recovered_errors_are_not_failures() {
    let failed = |lines: &[&str]| read(&lines.join("\n"), Format::Codex).is_failed;
    let (error, failing) = (r#"{"type":"error","message":"x"}"#, r#"{"type":"turn.failed","error":{"message":"x"}}"#);
    let completed = r#"{"type":"turn.completed","usage":{}}"#;
    assert!(failed(&[error]) && failed(&[failing]) && failed(&[completed, error]));
    assert!(!failed(&[error, completed]) && !failed(&[failing, completed]));
}

#[test]
fn a_stream_that_is_cut_after_a_recovered_error_is_incomplete() {
    let ended = |lines: &[&str]| {
        let said = read(&[&[r#"{"type":"turn.started"}"#], lines].concat().join("\n"), Format::Codex);
        (said.is_failed, said.is_complete, said.errors.len())
    };
    let error = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
    let message = r#"{"type":"item.completed","item":{"type":"agent_message","text":"a"}}"#;
    let begun = r#"{"type":"item.started","item":{"type":"command_execution","command":"make"}}"#;
    let warning = r#"{"type":"item.completed","item":{"type":"error","message":"Reconnecting... 1/5"}}"#;
    assert_eq!(ended(&[message, error, message, begun]), (false, false, 0));
    // The last event about it.
    assert_eq!(ended(&[message, error]), (true, true, 1));
    assert_eq!(ended(&[error, begun]), (true, true, 1));
    assert_eq!(ended(&[error, warning]), (true, true, 1));
    assert_eq!(ended(&[error, message, error]), (true, true, 1));
    assert_eq!(ended(&[error, message, r#"{"type":"turn.failed","error":{"message":"x"}}"#]), (true, true, 1));
}

#[test]
fn lines_that_are_too_long_are_passed_over() {
    let long = format!("{}{}", r#"{"type":"x","a":""#, "x".repeat(MAX_LINE + 1));
    let stream = [text_of("a"), long, text_of("b"), "x\n".repeat(MAX_BROKEN + 3)].join("\n");
    let said = read(&stream, Format::Claude);
    assert_eq!(said.text, "a\n\nb");
    assert_eq!(said.broken[0], Broken { line: 2, reason: "it has more than 8 MiB".to_owned() });
    assert_eq!((said.broken.len(), said.n_more_broken), (MAX_BROKEN, 4));
    // A line of exactly the limit is read.
    let full = text_of("");
    let full = text_of(&"y".repeat(MAX_LINE - full.len()));
    assert_eq!((full.len(), read(&full, Format::Claude).text.len()), (MAX_LINE, MAX_LINE - text_of("").len()));
}

#[test]
fn everything_has_its_limit() {
    let mut reader = Reader::new(Options { format: Format::Claude, ..Options::default() });
    for number in 0..1_200 {
        let call =
            format!(r#"{{"type":"tool_use","id":"c{number}","name":"Read","input":{{"file_path":"/p/f{number}"}}}}"#);
        let failed =
            format!(r#"{{"type":"tool_use","id":"e{number}","name":"Bash","input":{{"command":"make {number}"}}}}"#);
        reader.push(format!("{}\n", said(&[call, failed].join(","))).as_bytes());
        let results = format!(
            r#"{{"type":"tool_result","tool_use_id":"c{number}"}},{{"type":"tool_result","tool_use_id":"e{number}","is_error":true}}"#
        );
        reader.push(said(&results).replace("assistant", "user").as_bytes());
        reader.push(b"\n");
        reader.push(text_of(&format!("Decision: {number}\n{}", "x".repeat(20_000))).as_bytes());
        reader.push(b"\n");
    }
    let said = reader.finish();
    assert_eq!((said.errors.len(), said.decisions.len(), said.broken.len()), (200, 200, 0));
    assert!(said.text.len() <= MAX_TEXT && said.n_dropped > 0 && said.text.ends_with('x'));
    assert!(said.text.starts_with("Decision: ") || said.text.starts_with('x') || said.text.starts_with('\n'));
}

/// Reads in pieces of this size.
fn in_pieces(bytes: &[u8], size: usize, format: Format) -> Transcript {
    let options = Options { format, root: "/repo/project".to_owned(), ..Options::default() };
    let mut reader = Reader::new(options);
    bytes.chunks(size).for_each(|piece| reader.push(piece));
    reader.finish()
}

proptest! {
    #[test]
    fn any_bytes_are_read_the_same_in_any_pieces(bytes: Vec<u8>, size in 1usize..40) {
        for format in [Format::Auto, Format::Text, Format::Claude, Format::Codex] {
            let whole = read_in("/repo/project", &bytes, format);
            prop_assert_eq!(&in_pieces(&bytes, size, format), &whole);
            if whole.format == Format::Text {
                prop_assert_eq!(whole.text, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }

    /// Streams that are cut, or have changed bytes, are read as far as possible.
    #[test]
    fn damaged_streams_are_read(
        is_codex: bool,
        size in 1usize..3000,
        end in 0usize..20_000,
        changes in prop::collection::vec((0usize..20_000, any::<u8>()), 0..20)
    ) {
        let mut bytes = if is_codex { CODEX } else { CLAUDE }.as_bytes().to_vec();
        bytes.truncate(end);
        for (at, byte) in changes {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        for format in [Format::Auto, Format::Claude, Format::Codex] {
            let whole = read_in("/repo/project", &bytes, format);
            prop_assert_eq!(&in_pieces(&bytes, size, format), &whole);
            let n_lines = bytes.split(|byte| *byte == b'\n').count() as u64;
            prop_assert!(whole.format == Format::Text || whole.n_events + whole.broken.len() as u64 <= n_lines);
            prop_assert!(whole.broken.iter().all(|broken| broken.line >= 1 && broken.line <= n_lines));
            for path in [&whole.files.created, &whole.files.modified, &whole.files.read].into_iter().flatten() {
                prop_assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."));
            }
        }
    }
}

#[test]
fn a_retried_connection_is_reported_if_nothing_else_is() {
    let error = |message: &str| format!(r#"{{"type":"error","message":"{message}"}}"#);
    let begun = r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}"#;
    let tried = [error("Reconnecting... 1/5 (no route)"), error("Reconnecting... 2/5 (no route)")].join("\n");
    let errors = |rest: &str| read(&format!("{begun}\n{tried}\n{rest}"), Format::Auto).errors;
    assert_eq!(errors(""), ["Reconnecting... 2/5 (no route)"]);
    assert_eq!(errors(r#"{"type":"turn.failed","error":{"message":"no route"}}"#), ["no route"]);
    assert_eq!(errors(&error("no route")), ["no route"]);
    let answer = r#"{"type":"item.completed","item":{"type":"agent_message","text":"On it."}}"#;
    assert_eq!(errors(answer), [""; 0]);
}

#[test]
fn an_error_in_a_servers_answer_is_reported_without_its_json() {
    let answer = r#"{\"type\": \"error\", \"error\": {\"message\": \"no such model\"}}"#;
    let stream =
        format!("{{\"type\":\"turn.started\"}}\n{{\"type\":\"turn.failed\",\"error\":{{\"message\":\"{answer}\"}}}}");
    assert_eq!(read(&stream, Format::Auto).errors, ["no such model"]);
}

#[test]
fn a_command_is_reported_without_its_shell() {
    let item = |command: &str| {
        let command = serde_json::to_string(command).unwrap();
        let item =
            format!(r#"{{"type":"command_execution","command":{command},"aggregated_output":"no","exit_code":1}}"#);
        let stream = format!("{{\"type\":\"turn.started\"}}\n{{\"type\":\"item.completed\",\"item\":{item}}}");
        read(&stream, Format::Auto).errors.join("")
    };
    assert_eq!(item("/bin/bash -lc 'cargo test'"), "`cargo test`: Exit code 1: no");
    assert_eq!(item(r#"/usr/bin/zsh -lc "echo 'a b'""#), "`echo 'a b'`: Exit code 1: no");
    assert_eq!(item("bash run.sh 'a b'"), "`bash run.sh 'a b'`: Exit code 1: no");
    assert_eq!(item("it's"), "`it's`: Exit code 1: no");
    let call = r#"{"type":"response_item","payload":{"type":"function_call","arguments":"{\"command\":[\"bash\",\"-lc\",\"make all\"]}","call_id":"c"}}"#;
    let output = r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"Exit code: 2\nOutput:\nno rule"}}"#;
    assert_eq!(read(&format!("{call}\n{output}"), Format::Auto).errors, ["`make all`: Exit code 2: no rule"]);
}

/// Text that clients add, for people or for the model, is not the agent's text.
#[test]
fn text_of_a_client_is_not_its_agents() {
    let part = |part: &str| format!(r#"{{"type":"text","sessionID":"ses_1","part":{part}}}"#);
    let stream = [
        r#"{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}"#.to_owned(),
        part(r#"{"type":"text","synthetic":true,"text":"Continue. <task-done>t</task-done>"}"#),
        part(r#"{"type":"text","text":"I go on."}"#),
    ];
    assert_eq!(read(&stream.join("\n"), Format::Auto).text, "I go on.");

    let own = r#"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 500"}]},"session_id":"s"}"#;
    let end = r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 500","session_id":"s"}"#;
    let said = read(&[&text_of("I go on."), own, end].join("\n"), Format::Auto);
    assert_eq!((said.text.as_str(), said.summary.as_str()), ("I go on.", ""));
    assert_eq!((said.errors, said.is_failed), (vec!["API Error: 500".to_owned()], true));
}

#[test]
fn an_interrupted_agent_did_not_fail() {
    let check = |lines: &[&str], is_interrupted: bool| {
        let said = read(&lines.join("\n"), Format::Auto);
        assert_eq!((said.is_interrupted, said.is_failed, said.is_blocked), (is_interrupted, false, false), "{lines:?}");
        assert_eq!(said.errors, [""; 0], "{lines:?}");
    };
    let asked = r#"{"type":"user","message":{"content":"Add the lock"},"uuid":"u","sessionId":"s"}"#;
    let stopped = r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]},"uuid":"u","sessionId":"s"}"#;
    let answer = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn"},"uuid":"u","sessionId":"s"}"#;
    check(&[asked, stopped], true);
    check(&[asked, stopped, asked, answer], false);
    let payload = |payload: &str| format!(r#"{{"type":"event_msg","payload":{payload}}}"#);
    let begun = payload(r#"{"type":"task_started"}"#);
    let aborted = payload(r#"{"type":"turn_aborted","reason":"interrupted"}"#);
    let complete = payload(r#"{"type":"task_complete","last_agent_message":"Done."}"#);
    check(&[&begun, &aborted], true);
    check(&[&begun, &aborted, &begun, &complete], false);
    // A session that ends without a message, and one that is still at work.
    check(&[&begun, &aborted, &begun, &payload(r#"{"type":"task_complete","last_agent_message":null}"#)], false);
    check(&[&begun, &aborted, &begun], false);
    let stopped = r#"{"type":"user","message":{"content":"[Request interrupted by user]"},"uuid":"u","sessionId":"s"}"#;
    check(&[asked, stopped], true);
    check(&[asked, stopped, asked, answer], false);
    let step = r#"{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}"#;
    let aborted = r#"{"type":"error","sessionID":"ses_1","error":{"name":"MessageAbortedError","data":{"message":"The operation was aborted."}}}"#;
    check(&[step, aborted], true);
}

#[test]
fn a_refusal_is_known_by_its_kind() {
    let ended = |line: &str| {
        let said = read(line, Format::Auto);
        (said.is_blocked, said.is_failed, said.errors.len())
    };
    let of_codex = |kind: &str| {
        let payload = format!(r#"{{"type":"error","message":"No.","codex_error_info":{kind}}}"#);
        ended(&format!(r#"{{"type":"event_msg","payload":{payload}}}"#))
    };
    assert_eq!(of_codex(r#""cyber_policy""#), (true, false, 1));
    assert_eq!(of_codex(r#""server_overloaded""#), (false, true, 1));
    assert_eq!(of_codex(r#"{"connection_failed":{"http_status_code":null}}"#), (false, true, 1));
    let of_opencode = |name: &str, data: &str| {
        let error = format!(r#"{{"name":"{name}","data":{data}}}"#);
        ended(&format!(r#"{{"type":"error","sessionID":"ses_1","error":{error}}}"#))
    };
    assert_eq!(of_opencode("ContentFilterError", r#"{"message":"No."}"#), (true, false, 1));
    let message = "usage policy service unavailable";
    let data = |status: u32| format!(r#"{{"message":"{message}","statusCode":{status},"isRetryable":true}}"#);
    assert_eq!(of_opencode("APIError", &data(500)), (false, true, 1));
    assert_eq!(of_opencode("APIError", &data(400)), (true, false, 1));
}

#[test]
fn a_patch_of_opencode_names_its_files() {
    let files = |tool: &str, status: &str| {
        let patch = r"*** Begin Patch\n*** Add File: src/a.rs\n+x\n*** Update File: /repo/project/src/b.rs\n@@\n-x\n+y\n*** Delete File: c.rs\n*** End Patch";
        let state =
            format!(r#"{{"status":"{status}","input":{{"patchText":"{patch}"}},"output":"Done","error":"no"}}"#);
        let part = format!(r#"{{"type":"tool","tool":"{tool}","callID":"c","state":{state}}}"#);
        let files = read(&format!(r#"{{"type":"tool_use","sessionID":"ses_1","part":{part}}}"#), Format::Auto).files;
        (files.created, files.modified)
    };
    let expected = (vec!["src/a.rs".to_owned()], vec!["src/b.rs".to_owned(), "c.rs".to_owned()]);
    assert_eq!(files("apply_patch", "completed"), expected);
    assert_eq!(files("patch", "completed"), expected);
    assert_eq!(files("apply_patch", "error"), (Vec::new(), Vec::new()));
}

/// The output of `claude --output-format json --verbose` was mistaken for plain text, in which a file that the agent
/// printed counts.
#[test]
fn a_list_of_events_is_a_stream() {
    let file = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"<task-done>t</task-done>"}]},"session_id":"s"}"#;
    let list = format!("[{},{file},{}]\n", text_of("I go on."), result("s", 0.5, 7));
    let said = read(&list, Format::Auto);
    assert_eq!((said.format, said.text.as_str(), said.n_events), (Format::Claude, "I go on.", 1));
    assert_eq!((said.tokens_in, said.cost_usd), (Some(7), Some(0.5)));
    assert_eq!(read("[x] I ticked it.\n[1, 2]\n", Format::Auto).format, Format::Text);
}

#[test]
fn a_session_file_of_opencode_is_read_as_its_stream() {
    let session = include_str!("../../../fixtures/transcripts/opencode-export.json");
    let compact = serde_json::from_str::<serde_json::Value>(session).unwrap().to_string();
    for (text, format) in [(session, Format::Auto), (&compact, Format::Auto), (session, Format::Opencode)] {
        let said = read_in("/home/dev/project", text.as_bytes(), format);
        assert_eq!((said.format, said.is_complete, said.model.as_deref()), (Format::Opencode, true, Some("opus-6")));
        assert_eq!(said.text, "I add the lock.\n\nIt holds.\n\n<task-done>t-1</task-done>");
        assert_eq!((said.files.modified, said.errors.len()), (vec!["src/lock.rs".to_owned()], 1));
        assert_eq!((said.tokens_in, said.tokens_out, said.broken.len()), (Some(220), Some(34), 0));
    }
}

/// Seen by a new user: of an agent that was killed in its second line, nothing was recorded.
#[test]
fn a_stream_that_is_cut_in_its_second_line_is_one() {
    for (first, format) in [
        ("{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"tools\":[]}", Format::Claude),
        ("{\"type\":\"thread.started\",\"thread_id\":\"1\"}", Format::Codex),
    ] {
        let said = read(&format!("{first}\n{{\"type\":\"item.comp"), Format::Auto);
        assert_eq!((said.format, said.n_events, said.is_complete), (format, 1, false), "{first}");
        let other = read(&format!("{first}\nand then some words"), Format::Auto);
        assert_eq!(other.format, Format::Text, "one event in a text is no stream");
    }
}

/// A file that an agent printed over many lines was mistaken as well.
#[test]
fn a_document_of_json_is_no_text() {
    let document = "{\n  \"messages\": [\n    {\n      \"output\": \"<task-done>t</task-done>\"\n    }\n  ]\n}\n";
    let said = read(document, Format::Auto);
    assert_eq!((said.format, said.errors), (Format::Unknown, vec![UNKNOWN_FORMAT.to_owned()]));
    assert_eq!(read(document, Format::Text).format, Format::Text);
    // Nothing that follows says how the work ended.
    assert_eq!(read(&format!("{document}This is what it printed."), Format::Auto).format, Format::Unknown);
    let said = read(&format!("{document}This is what it printed.\n<task-failed>t</task-failed>"), Format::Auto);
    assert_eq!((said.format, said.text.matches("<task-").count()), (Format::Text, 1));
}
