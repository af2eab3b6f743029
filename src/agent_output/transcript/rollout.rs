//! Codex's own record of a session: the rollout files in `~/.codex/sessions/`.

use super::builder::{TranscriptBuilder, command};
use super::ending::Ending;
use super::figures::AgentSpending;
use super::json::{self, Field, Object};
use super::paths::Done;
use super::stream::PendingCalls;
use crate::text::floor;

/// How much of a call is kept, in bytes: a patch may have many files.
const MAX_CALL: usize = 64 * 1024;

/// The state of a rollout.
#[derive(Debug, Default)]
pub(super) struct Rollout {
    /// The calls without a result yet: the command or the patch.
    calls: PendingCalls<String>,
    /// The tokens of the session so far.
    pub(super) tokens: AgentSpending,
    has_folder: bool,
}

impl Rollout {
    /// Reads the content of a line. Unknown kinds are skipped.
    pub(super) fn take(
        &mut self,
        kind: &str,
        payload: Field<'_>,
        builder: &mut TranscriptBuilder,
    ) -> Result<(), String> {
        let payload = json::part(payload)?;
        match kind {
            "session_meta" | "turn_context" => {
                if let Some(folder) = payload.text("cwd").filter(|_| !self.has_folder) {
                    builder.files.work_in(&folder);
                    self.has_folder = true;
                }
                builder.set_model(payload.text("model"));
            }
            "response_item" => self.item(&payload, builder)?,
            "event_msg" => self.event(&payload, builder),
            _ => {}
        }
        Ok(())
    }

    fn item(&mut self, payload: &Object<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
        match payload.text("type").unwrap_or_default().as_str() {
            "message" if payload.is("role", "assistant") => json::each(payload.get("content"), |piece| {
                if piece.is("type", "output_text") {
                    builder.say(&piece.text("text").unwrap_or_default());
                }
            })?,
            "function_call" | "custom_tool_call" => {
                let arguments = payload.text("arguments").unwrap_or_default();
                let arguments = json::event(&arguments).unwrap_or_default();
                let words: Vec<String> = json::items(arguments.get("command")).filter_map(json::text).collect();
                let line = [arguments.get("cmd"), arguments.get("command"), payload.get("input")]
                    .into_iter()
                    .find_map(json::text);
                let mut line = line.unwrap_or_else(|| script(&words).map_or_else(|| words.join(" "), str::to_owned));
                line.truncate(floor(&line, MAX_CALL));
                // An input is a patch, or a program of the model's own.
                if payload.get("input").is_none() {
                    builder.ran(&line);
                }
                self.calls.push(payload.text("call_id").unwrap_or_default(), line);
            }
            "function_call_output" | "custom_tool_call_output" => {
                let id = payload.text("call_id").unwrap_or_default();
                let Some(line) = self.calls.take(&id) else { return Ok(()) };
                let (code, output) = result(&payload.text("output").unwrap_or_default());
                let is_patch = line.contains("*** Begin Patch");
                if code != 0 {
                    let what = if is_patch { "file change".to_owned() } else { command(&line) };
                    builder.fail(&what, &format!("Exit code {code}\n{output}"));
                } else if is_patch {
                    patch(&line, builder);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn event(&mut self, payload: &Object<'_>, builder: &mut TranscriptBuilder) {
        match payload.text("type").unwrap_or_default().as_str() {
            // The work continues, however the turn before it ended.
            "task_started" => (builder.ending, builder.is_complete) = (Ending::Well, false),
            "turn_aborted" => builder.close(Ending::Interrupted),
            "item_completed" => changed_files(payload.get("item"), builder),
            "task_complete" => {
                builder.is_complete = true;
                let duration = payload.amount("duration_ms").map(|duration| (duration / 100.0).round() / 10.0);
                builder.duration_secs = duration.or(builder.duration_secs);
                if let Some(text) = payload.text("last_agent_message") {
                    builder.close(Ending::Well);
                    builder.end(&text, true);
                }
            }
            "error" => {
                let message = payload.text("message").unwrap_or_default();
                // The kind of a refusal, if its message does not name it.
                let kind = payload.text("codex_error_info").unwrap_or_default();
                builder.fail("", &message);
                builder.close(Ending::of_error(&format!("{message}\n{kind}")));
            }
            "token_count" => {
                // The totals of the session up to then.
                let usage = payload.object("info").object("total_token_usage");
                self.tokens = AgentSpending::of_usage(&usage).unwrap_or(self.tokens);
            }
            _ => {}
        }
    }
}

/// Records the files that Codex changed. A model that runs JavaScript makes no call from which the patch can be read.
fn changed_files(item: Field<'_>, builder: &mut TranscriptBuilder) {
    let item = json::object(item);
    if !item.is("type", "FileChange") || !item.is("status", "completed") {
        return;
    }
    for (path, change) in item.object("changes").values() {
        let change = json::object(Some(change));
        let moved = change.text("move_path");
        let done = match change.text("type").unwrap_or_default().as_str() {
            "add" => Some(Done::Created),
            "update" if moved.is_none() => Some(Done::Modified),
            "update" | "delete" => None,
            _ => continue,
        };
        match (builder.files.within(path), done) {
            (Some(path), Some(done)) => builder.files.note(path, done),
            (Some(path), None) => builder.files.remove(path),
            (None, _) => {}
        }
        if let Some(path) = moved.and_then(|path| builder.files.within(&path)) {
            builder.files.note(path, Done::Created);
        }
    }
}

/// Returns a tool's exit status, 0 if it is unknown, and its output.
fn result(output: &str) -> (i64, String) {
    let answer = json::event(output).unwrap_or_default();
    if answer.get("output").is_some() {
        let code = answer.object("metadata").get("exit_code").and_then(|code| code.get().parse().ok());
        return (code.unwrap_or(0), answer.text("output").unwrap_or_default());
    }
    let (head, printed) = output.split_once("Output:\n").unwrap_or((output, output));
    let code = head.lines().find_map(|line| {
        let code = line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "))?;
        code.trim().parse().ok()
    });
    (code.unwrap_or(0), printed.to_owned())
}

/// Records the files of a patch.
pub(super) fn patch(text: &str, builder: &mut TranscriptBuilder) {
    for line in text.lines() {
        let file = |mark: &str| line.strip_prefix(mark).and_then(|path| builder.files.within(path.trim()));
        if let Some(path) = file("*** Add File: ").or_else(|| file("*** Move to: ")) {
            builder.files.note(path, Done::Created);
        } else if let Some(path) = file("*** Update File: ") {
            builder.files.note(path, Done::Modified);
        } else if let Some(path) = file("*** Delete File: ") {
            builder.files.remove(path);
        }
    }
}

/// Returns the script of a shell command: Codex runs every command through a shell.
pub(super) fn script(words: &[String]) -> Option<&str> {
    let [shell, flags, script] = words else { return None };
    let is_shell = matches!(shell.rsplit('/').next(), Some("sh" | "bash" | "zsh"));
    (is_shell && matches!(flags.as_str(), "-c" | "-lc")).then_some(script)
}
