//! Who runs this process: a person, or a coding agent, as its environment says.

use ralph_memory::Source;

/// The variables that tell a process that a coding agent runs it: a loop's own; those that Claude Code, Codex, Cursor,
/// Gemini CLI and opencode set for the commands that they run; and the one that is proposed for all of them.
const OF_AGENTS: [&str; 9] = [
    "RALPH_RUN_ID",
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
    "AI_AGENT",
];

/// Returns the run that a loop names in the environment.
pub(crate) fn run_of_environment() -> Option<String> {
    std::env::var("RALPH_RUN_ID").ok().filter(|run| !run.is_empty())
}

/// Returns the author: the one that the option names, else an agent if one runs this process, else a person.
pub(crate) fn writer(named: Option<Source>) -> Source {
    named.unwrap_or(if is_run_by_agent() { Source::Agent } else { Source::Human })
}

/// Returns whether a coding agent runs this process.
pub(crate) fn is_run_by_agent() -> bool {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    OF_AGENTS.iter().any(is_set)
}
