//! Forms that Codex uses both in its stream and in its rollout files.

use serde::Deserialize;

use super::json::Field;

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct CodexUsage<'a> {
    #[serde(borrow)]
    pub(super) input_tokens: Field<'a>,
    #[serde(borrow)]
    pub(super) output_tokens: Field<'a>,
}

/// Returns the script of a shell command: Codex runs every command through a shell.
pub(super) fn script(words: &[String]) -> Option<&str> {
    let [shell, flags, script] = words else { return None };
    let is_shell = matches!(shell.rsplit('/').next(), Some("sh" | "bash" | "zsh"));
    (is_shell && matches!(flags.as_str(), "-c" | "-lc")).then_some(script)
}
