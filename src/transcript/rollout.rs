//! Codex's own record of a session: the rollout files in `~/.codex/sessions/`.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::builder::{TranscriptBuilder, command};
use super::codex_fields::{CodexUsage, script};
use super::ending::Ending;
use super::json::{self, Field};
use super::paths::Done;
use crate::text::floor;

/// How many calls of tools may wait for their results.
const MAX_CALLS: usize = 256;
/// How much of a call is kept, in bytes: a patch may have many files.
const MAX_CALL: usize = 64 * 1024;

/// The state of a rollout.
#[derive(Debug, Default)]
pub(super) struct Rollout {
    /// The calls without a result yet: id, and the command or the patch.
    calls: VecDeque<(String, String)>,
    tokens: Option<(u64, u64)>,
    has_folder: bool,
}

/// The content of a line, whatever its kind.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    cwd: Field<'a>,
    #[serde(borrow)]
    model: Field<'a>,
    #[serde(borrow)]
    role: Field<'a>,
    #[serde(borrow)]
    content: Field<'a>,
    #[serde(borrow)]
    call_id: Field<'a>,
    #[serde(borrow)]
    arguments: Field<'a>,
    #[serde(borrow)]
    input: Field<'a>,
    #[serde(borrow)]
    output: Field<'a>,
    #[serde(borrow)]
    message: Field<'a>,
    #[serde(borrow)]
    codex_error_info: Field<'a>,
    #[serde(borrow)]
    last_agent_message: Field<'a>,
    #[serde(borrow)]
    duration_ms: Field<'a>,
    #[serde(borrow)]
    info: Field<'a>,
    #[serde(borrow)]
    item: Field<'a>,
}

/// Something that Codex did, however the model asked for it.
#[derive(Deserialize, Default)]
#[serde(default)]
struct CompletedItem<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    status: Field<'a>,
    /// The files, each with its change.
    #[serde(borrow)]
    changes: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ChangedFile<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    move_path: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OutputPiece<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    text: Field<'a>,
}

/// The arguments of a tool.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Arguments<'a> {
    #[serde(borrow)]
    cmd: Field<'a>,
    #[serde(borrow)]
    command: Field<'a>,
}

/// A tool's result in older files.
#[derive(Deserialize, Default)]
#[serde(default)]
struct RolloutOutput<'a> {
    #[serde(borrow)]
    output: Field<'a>,
    #[serde(borrow)]
    metadata: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RolloutMetadata<'a> {
    #[serde(borrow)]
    exit_code: Field<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Info<'a> {
    #[serde(borrow)]
    total_token_usage: Field<'a>,
}

impl Rollout {
    /// Reads the content of a line. Unknown kinds are skipped.
    pub(super) fn take(
        &mut self,
        kind: &str,
        payload: Field<'_>,
        builder: &mut TranscriptBuilder,
    ) -> Result<(), String> {
        let payload: Payload<'_> = json::part(payload)?.unwrap_or_default();
        match kind {
            "session_meta" | "turn_context" => {
                if let Some(folder) = json::text(payload.cwd).filter(|_| !self.has_folder) {
                    builder.files.work_in(&folder);
                    self.has_folder = true;
                }
                builder.set_model(json::text(payload.model));
            }
            "response_item" => self.item(&payload, builder)?,
            "event_msg" => self.event(&payload, builder),
            _ => {}
        }
        Ok(())
    }

    /// Returns the tokens that were read and written.
    pub(super) fn tokens(&self) -> Option<(u64, u64)> {
        self.tokens
    }

    fn item(&mut self, payload: &Payload<'_>, builder: &mut TranscriptBuilder) -> Result<(), String> {
        match json::text(payload.kind).unwrap_or_default().as_str() {
            "message" if json::is(payload.role, "assistant") => json::items(payload.content, &mut |piece| {
                let piece: OutputPiece<'_> = json::part(piece)?.unwrap_or_default();
                if json::is(piece.kind, "output_text") {
                    builder.say(&json::text(piece.text).unwrap_or_default());
                }
                Ok(())
            })?,
            "function_call" | "custom_tool_call" => {
                let arguments = json::text(payload.arguments).unwrap_or_default();
                let arguments: Arguments<'_> = json::event(&arguments).unwrap_or_default();
                let mut words = Vec::new();
                json::items(arguments.command, &mut |word| {
                    words.extend(json::text(word));
                    Ok(())
                })?;
                let line = [arguments.cmd, arguments.command, payload.input].into_iter().find_map(json::text);
                let mut line = line.unwrap_or_else(|| script(&words).map_or_else(|| words.join(" "), str::to_owned));
                line.truncate(floor(&line, MAX_CALL));
                // An input is a patch, or a program of the model's own.
                if payload.input.is_none() {
                    builder.ran(&line);
                }
                self.calls.push_back((json::text(payload.call_id).unwrap_or_default(), line));
                if self.calls.len() > MAX_CALLS {
                    self.calls.pop_front();
                }
            }
            "function_call_output" | "custom_tool_call_output" => {
                let id = json::text(payload.call_id).unwrap_or_default();
                let Some(at) = self.calls.iter().position(|(call, _)| *call == id) else { return Ok(()) };
                let line = self.calls.remove(at).map(|(_, line)| line).unwrap_or_default();
                let (code, output) = result(&json::text(payload.output).unwrap_or_default());
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

    fn event(&mut self, payload: &Payload<'_>, builder: &mut TranscriptBuilder) {
        match json::text(payload.kind).unwrap_or_default().as_str() {
            // However the turn before it ended, the work continues.
            "task_started" => (builder.ending, builder.is_complete) = (Ending::Well, false),
            "turn_aborted" => builder.close(Ending::Interrupted),
            "item_completed" => changed_files(payload.item, builder),
            "task_complete" => {
                builder.is_complete = true;
                let duration = json::amount(payload.duration_ms).map(|duration| (duration / 100.0).round() / 10.0);
                builder.duration_secs = duration.or(builder.duration_secs);
                if let Some(text) = json::text(payload.last_agent_message) {
                    builder.close(Ending::Well);
                    builder.end(&text, true);
                }
            }
            "error" => {
                let message = json::text(payload.message).unwrap_or_default();
                // The kind of a refusal, if its message does not name it.
                let kind = json::text(payload.codex_error_info).unwrap_or_default();
                builder.fail("", &message);
                builder.close(Ending::of_error(&format!("{message}\n{kind}")));
            }
            "token_count" => {
                // The totals of the session up to then.
                let info: Info<'_> = json::object(payload.info).unwrap_or_default();
                let usage: CodexUsage<'_> = json::object(info.total_token_usage).unwrap_or_default();
                let counts = json::count(usage.input_tokens).zip(json::count(usage.output_tokens));
                self.tokens = counts.or(self.tokens);
            }
            _ => {}
        }
    }
}

/// Records the files that Codex changed. A model that runs JavaScript makes no call of which the patch can be read.
fn changed_files(item: Field<'_>, builder: &mut TranscriptBuilder) {
    let item: CompletedItem<'_> = json::object(item).unwrap_or_default();
    if !json::is(item.kind, "FileChange") || !json::is(item.status, "completed") {
        return;
    }
    let changes =
        item.changes.and_then(|changes| serde_json::from_str::<BTreeMap<String, &RawValue>>(changes.get()).ok());
    for (path, change) in changes.unwrap_or_default() {
        let change: ChangedFile<'_> = json::object(Some(change)).unwrap_or_default();
        let moved = json::text(change.move_path);
        let done = match json::text(change.kind).unwrap_or_default().as_str() {
            "add" => Some(Done::Created),
            "update" if moved.is_none() => Some(Done::Modified),
            "update" | "delete" => None,
            _ => continue,
        };
        match (builder.files.within(&path), done) {
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
    if let Ok(RolloutOutput { output: Some(printed), metadata }) = json::event::<RolloutOutput<'_>>(output) {
        let metadata: RolloutMetadata<'_> = json::object(metadata).unwrap_or_default();
        let code = metadata.exit_code.and_then(|code| code.get().parse().ok());
        return (code.unwrap_or(0), json::text(Some(printed)).unwrap_or_default());
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
