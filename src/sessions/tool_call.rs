//! What a client says about a call of a tool: the files that it read or changed, and the output in which it may have failed.
//!
//! Pure. Clients name the same things differently, so the names are tables, and every client is read by all of them.

use serde_json::{Map, Value};

use super::dialect::Dialect;
use crate::text::floor;

/// The fields of the tool's arguments, and of its result.
const ARGUMENTS: [&str; 5] = ["tool_input", "toolInput", "toolArgs", "tool_args", "args"];
const RESULTS: [&str; 6] = ["error", "tool_response", "toolResponse", "tool_output", "toolResult", "tool_result"];
/// The arguments that name a file, a command, and a patch.
const FILES: [&str; 7] = ["file_path", "filePath", "notebook_path", "absolute_path", "target_file", "filename", "path"];
const COMMANDS: [&str; 2] = ["command", "cmd"];
const PATCHES: [&str; 4] = ["patchText", "patch", "input", "command"];
/// The arguments of an edit: the text that it replaces, and the new one.
const OLD: [&str; 3] = ["old_string", "oldString", "old_str"];
const NEW: [&str; 3] = ["new_string", "newString", "new_str"];
/// The fields of an exit code.
const EXITS: [&str; 5] = ["exit_code", "exitCode", "exit", "code", "returnCode"];
/// The fields of the tool's name, and what is in the name of one that writes files, in lower case.
const NAMES: [&str; 4] = ["tool_name", "toolName", "tool", "name"];
const WRITERS: [&str; 7] = ["edit", "write", "replace", "create", "insert", "patch", "update"];
/// What names a file in a patch.
const PATCHED: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
/// Programs that print what others wrote: the words of an error in their output are no error of theirs.
const PRINTERS: [&str; 34] = [
    "ag", "awk", "bat", "cat", "cd", "column", "cut", "diff", "echo", "env", "fd", "file", "find", "git", "grep",
    "head", "history", "jq", "less", "ls", "more", "nl", "printf", "pwd", "rg", "sed", "sort", "stat", "tail", "tree",
    "uniq", "wc", "which", "xxd",
];
/// How much of each end of an output is read, in bytes.
const MAX_END: usize = 32 * 1024;
/// How deep a result is searched for text.
const MAX_DEPTH: usize = 4;

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ToolUse {
    /// The files that it read or changed, as the client names them.
    pub(super) files: Vec<String>,
    /// Whether it changed them.
    pub(super) writes: bool,
    /// The output of a command that failed, or may have failed.
    pub(super) output: String,
    /// What an edit replaced, and by what; and all of the file before, if the client says it.
    pub(super) replaced: Option<(String, String)>,
    pub(super) original: Option<String>,
}

impl ToolUse {
    /// Reads the payload of a client's hook.
    pub(super) fn new(payload: &Map<String, Value>, client: &Dialect) -> ToolUse {
        let arguments = first(payload, &ARGUMENTS).map(parsed).unwrap_or_default();
        let text = |keys: &[&str]| arguments.as_object().and_then(|object| first(object, keys)).map(joined);
        let command = text(&COMMANDS);
        let patch = text(&PATCHES).filter(|text| text.contains("*** "));
        let mut files: Vec<String> = patch.as_deref().map(patched).unwrap_or_default();
        match &command {
            Some(command) if patch.is_none() => files.extend(printed(command)),
            _ => files.extend(text(&FILES)),
        }
        files.retain(|file| !file.is_empty());
        let result = first(payload, &RESULTS);
        let name = first(payload, &NAMES).and_then(Value::as_str).unwrap_or_default().to_lowercase();
        let has_failed = has_failed(payload, client);
        let replaced = text(&OLD).zip(text(&NEW));
        let is_same = replaced.as_ref().is_some_and(|(old, new)| old == new);
        let is_writer = WRITERS.iter().any(|part| name.contains(part)) && command.as_deref() != Some("view");
        let writes = has_failed != Some(true) && !is_same && (patch.is_some() || is_writer);
        let is_read = match has_failed {
            Some(has_failed) => has_failed,
            None => {
                command.as_deref().is_some_and(|command| simple_commands(command).iter().any(|command| runs(command)))
            }
        };
        let mut output = String::new();
        if is_read && let Some(result) = result {
            collect(result, MAX_DEPTH, &mut output);
        }
        let original = result.and_then(|result| result.get("originalFile")).and_then(Value::as_str).map(str::to_owned);
        ToolUse { files, writes, output: without_escapes(&ends(&output)), replaced, original }
    }
}

/// Returns whether the call failed, if the client says so.
fn has_failed(payload: &Map<String, Value>, client: &Dialect) -> Option<bool> {
    let event = payload.get("hook_event_name").and_then(Value::as_str).unwrap_or_default();
    if event.to_lowercase().ends_with("failure") || payload.get("error").is_some_and(Value::is_string) {
        return Some(true);
    }
    let exit = |object: &Map<String, Value>| {
        let says = |key, failed| (object.get(key)?.as_bool()? == failed).then_some(1);
        let says = says("success", false).or_else(|| says("is_error", true)).or_else(|| says("isError", true));
        says.or_else(|| first(object, &EXITS).and_then(Value::as_i64))
    };
    let of_result = RESULTS.iter().find_map(|key| exit(payload.get(*key)?.as_object()?));
    of_result.or_else(|| exit(payload)).map(|exit| exit != 0).or(client.tells_failure.then_some(false))
}

fn first<'a>(object: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| object.get(*key).filter(|value| !value.is_null()))
}

fn parsed(value: &Value) -> Value {
    value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

fn joined(value: &Value) -> String {
    match value {
        Value::Array(words) => shlex::try_join(words.iter().filter_map(Value::as_str)).unwrap_or_default(),
        value => value.as_str().unwrap_or_default().to_owned(),
    }
}

/// Collects the texts of a result, each on lines of its own.
fn collect(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::String(part) => {
            text.push_str(part);
            text.push('\n');
        }
        Value::Array(parts) if depth > 0 => parts.iter().for_each(|part| collect(part, depth - 1, text)),
        Value::Object(parts) if depth > 0 => parts.values().for_each(|part| collect(part, depth - 1, text)),
        _ => {}
    }
}

fn patched(patch: &str) -> Vec<String> {
    let of_line = |line: &str| PATCHED.iter().find_map(|start| line.trim().strip_prefix(start)).map(str::to_owned);
    patch.lines().filter_map(of_line).collect()
}

/// Returns the words of each simple command in a line of a shell.
fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let words = shlex::split(line).unwrap_or_else(|| line.split_whitespace().map(str::to_owned).collect());
    // `bash -lc 'cat x'` runs the command in its last word.
    if let [shell, flag, inner] = words.as_slice()
        && shell.ends_with("sh")
        && flag.starts_with('-')
        && flag.ends_with('c')
    {
        return simple_commands(inner);
    }
    let mut commands = vec![Vec::new()];
    for word in words {
        let is_end = matches!(word.as_str(), "&&" | "||" | "|" | ";" | "&");
        let ends_after = word.len() > 1 && word.ends_with(';');
        if !is_end && let Some(command) = commands.last_mut() {
            command.push(word.trim_end_matches(';').to_owned());
        }
        if is_end || ends_after {
            commands.push(Vec::new());
        }
    }
    commands
}

/// Returns the name of the program that a simple command runs, without its folder.
fn program(command: &[String]) -> &str {
    let word = command.iter().find(|word| !word.contains('=')).map_or("", String::as_str);
    word.rsplit('/').next().unwrap_or(word)
}

fn runs(command: &[String]) -> bool {
    !matches!(program(command), "") && !PRINTERS.contains(&program(command))
}

fn printed(line: &str) -> Vec<String> {
    let is_file = |word: &&String| !word.starts_with('-') && word.len() > 2 && word.contains(['.', '/']);
    let printers = simple_commands(line).into_iter().filter(|command| PRINTERS.contains(&program(command)));
    printers.flat_map(|command| command.iter().skip(1).filter(is_file).cloned().collect::<Vec<_>>()).collect()
}

fn ends(text: &str) -> String {
    if text.len() <= 2 * MAX_END {
        return text.to_owned();
    }
    format!("{}\n{}", &text[..floor(text, MAX_END)], &text[floor(text, text.len() - MAX_END)..])
}

/// Returns a text without the escape sequences that colour it on a terminal.
fn without_escapes(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|character: char| !matches!(character, '0'..='?')).unwrap_or(after.len());
        rest = after[end..].char_indices().nth(1).map_or("", |(next, _)| &after[end + next..]);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sessions::dialect::named;

    #[track_caller]
    fn check(client: &str, payload: &Value, files: &[&str], output: &str) {
        let call = ToolUse::new(payload.as_object().unwrap(), named(client).unwrap());
        assert_eq!(
            (call.files, call.output.trim()),
            (files.iter().map(|file| (*file).to_owned()).collect(), output),
            "{payload}"
        );
    }

    #[test]
    fn the_files_of_a_call_are_found() {
        let read = json!({"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": "/p/a.rs"}, "tool_response": {"file": {"content": "error: x"}}});
        check("claude", &read, &["/p/a.rs"], "");
        check("copilot", &json!({"toolName": "view", "toolArgs": "{\"path\": \"a.rs\"}"}), &["a.rs"], "");
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** Add File: b.rs\n+z\n*** End Patch";
        let patch = json!({"tool_name": "apply_patch", "tool_input": {"command": patch}, "tool_response": "Success"});
        let call = ToolUse::new(patch.as_object().unwrap(), named("codex").unwrap());
        assert_eq!(call.files, ["src/a.rs", "b.rs"]);
        let shell = |line: &str| json!({"tool_name": "Bash", "tool_input": {"command": line}, "tool_response": "text"});
        check("codex", &shell("cd src && sed -n 1,20p a.rs | head -5"), &["a.rs"], "");
        check("codex", &shell("bash -lc 'cat src/a.rs; rg -n foo src/b.rs'"), &["src/a.rs", "src/b.rs"], "");
        check("codex", &json!({"tool_input": {"command": ["bash", "-lc", "cat a.rs"]}}), &["a.rs"], "");
        check("codex", &shell("cargo test --lib"), &[], "text");
        check("codex", &shell("it's"), &[], "text");
        check("codex", &json!({"tool_input": 3}), &[], "");
    }

    #[test]
    fn only_the_output_of_what_may_have_failed_is_read() {
        let bash = |event: &str, more: Value| {
            let mut payload =
                json!({"hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "make x"}});
            payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            payload
        };
        let failed = "Exit code 2\nerror: no rule";
        check("claude", &bash("PostToolUseFailure", json!({"error": failed})), &[], failed);
        check("claude", &bash("PostToolUse", json!({"tool_response": {"stdout": "error: x"}})), &[], "");
        check("codex", &bash("PostToolUse", json!({"tool_response": "error: x"})), &[], "error: x");
        check("opencode", &bash("", json!({"tool_response": "error: x", "exit": 1})), &[], "error: x");
        check("opencode", &bash("", json!({"tool_response": "error: x", "exit": 0})), &[], "");
        check(
            "gemini",
            &bash("AfterTool", json!({"tool_response": {"llmContent": "\u{1b}[31merror\u{1b}[0m: x", "exitCode": 1}})),
            &[],
            "error: x",
        );
        let printed = json!({"tool_input": {"command": "cat log.txt | grep error"}, "tool_response": "error: x"});
        check("codex", &printed, &["log.txt"], "");
    }
}
