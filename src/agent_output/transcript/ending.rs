//! How an agent's work ended according to its client, and which errors the agent itself names.
//!
//! A limit and a refusal are about the task: it was too large for one attempt, or the model does not do it. An account
//! without money, an overloaded server and a crash say nothing about the task.

use crate::agent_output::elements::in_list;

/// How the work ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ending {
    /// Normally.
    #[default]
    Well,
    /// A limit of turns, tokens or money was reached, or the model refused.
    Blocked,
    /// The client, or something it depends on, failed.
    Failed,
    /// A person stopped it.
    Interrupted,
}

/// Texts of limits and refusals, in lower case.
const BLOCKED: [&str; 21] = [
    "prompt is too long",
    "conversation too long",
    "request too large",
    "exceed context limit",
    "context limit reached",
    "output token maximum",
    "max_output_tokens",
    "context window",
    "context_window_exceeded",
    "context_length_exceeded",
    "maximum context length",
    "session budget exceeded",
    "usage policy",
    "safety policy",
    "for safety reasons",
    "policy violation",
    "cyber_policy",
    "flagged for possible cybersecurity risk",
    "flagged for possible biological risk",
    "content_filter",
    "content filter",
];
/// Texts before the status of a server's answer, in lower case.
const BEFORE_STATUS: [&str; 3] = ["api error", "unexpected status", "exceeded retry limit, last status"];
/// Beginnings of errors about a connection or an overloaded server, also after [`BEFORE_STATUS`].
const UNREACHED: [&str; 7] = [
    "connection error",
    "connection failed",
    "unable to connect",
    "error sending request",
    "overloaded",
    "repeated 529",
    "internal server error",
];
/// Stop reasons that are limits or refusals: those of Claude, and those that opencode uses for all models.
const STOPS: [&str; 5] = ["max_tokens", "model_context_window_exceeded", "refusal", "length", "content-filter"];

impl Ending {
    /// Returns how an error ended the work.
    pub(super) fn of_error(message: &str) -> Ending {
        let message = message.to_lowercase();
        if !is_of_server(&message) && BLOCKED.iter().any(|part| message.contains(part)) {
            Ending::Blocked
        } else {
            Ending::Failed
        }
    }
}

/// Returns whether an error is about a server that failed or could not be reached, whatever else it contains. If the
/// error also has the text of a limit, that text belongs to the server's name or task.
fn is_of_server(message: &str) -> bool {
    let message = message.trim_start();
    let behind = BEFORE_STATUS.iter().find_map(|before| message.strip_prefix(before));
    let told = behind.unwrap_or(message).trim_start_matches(|next: char| !next.is_alphanumeric());
    let n_digits = told.bytes().take_while(u8::is_ascii_digit).count();
    let is_status = behind.is_some() && n_digits == 3 && told.starts_with('5');
    // Claude Code's text for a status that it does not print.
    is_status || UNREACHED.iter().any(|start| told.starts_with(start)) || message.contains("a server-side issue")
}

/// Returns whether a stop reason is a limit or a refusal.
pub(super) fn is_stop(reason: &str) -> bool {
    STOPS.contains(&reason)
}

/// Returns the error that a line of the agent's own text begins with, after the marks of lists and quotes:
/// `TypeError: x is undefined`, `error[E0308]: mismatched types`. An error inside a sentence is only its topic, and may
/// have been fixed.
pub(super) fn own_error(line: &str) -> Option<&str> {
    let line = in_list(line.trim());
    let mut bare = line.trim_start_matches(['-', '*', '>', '`', '"', '\'', ' ']);
    for mark in line[..line.len() - bare.len()].chars().filter(|mark| ['*', '`', '"', '\''].contains(mark)) {
        bare = bare.strip_suffix(mark).unwrap_or(bare);
    }
    if bare.starts_with("error[") && bare.contains("]: ") {
        return Some(bare);
    }
    let (path, _) = bare.split_once(": ")?;
    let of = path.strip_suffix("Error").or_else(|| path.strip_suffix("Exception"))?;
    // `java.lang.IllegalStateException`, and `Faraday::TimeoutError`.
    let start = of.rfind(['.', ':']).map_or(0, |at| at + 1);
    let is_path = of.chars().all(|next| next.is_alphanumeric() || "_.:$".contains(next));
    let is_name = of[start..].starts_with(|first: char| first.is_ascii_uppercase());
    (is_path && is_name).then(|| &bare[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_own_words_name_errors() {
        let check = |line: &str, expected: Option<&str>| assert_eq!(own_error(line), expected, "{line}");
        check("TypeError: x is undefined.", Some("TypeError: x is undefined."));
        check("1. \"KeyError: 'port'\"", Some("KeyError: 'port'"));
        check("> **ValueError: no port**", Some("ValueError: no port"));
        check("Faraday::TimeoutError: no answer", Some("TimeoutError: no answer"));
        check("The test fails with TypeError: x is undefined.", None);
        check("I fixed the TypeError: there is no RuntimeError: any more.", None);
        check("Note: a TypeError: x", None);
        check("- `java.lang.IllegalStateException: closed`", Some("IllegalStateException: closed"));
        check("error[E0308]: mismatched types", Some("error[E0308]: mismatched types"));
        check("ValueError:", None);
        check("On Error: go on", None);
        check("No errors: all is well", None);
        check("the error: none", None);
    }

    #[track_caller]
    fn ends(message: &str, expected: Ending) {
        assert_eq!(Ending::of_error(message), expected, "{message}");
    }

    #[test]
    fn limits_and_refusals_block() {
        for message in [
            "API Error: 400 input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
            "Request too large (max 32MB). Try with a smaller file.",
            "Context limit reached · /compact or /clear to continue",
            "Conversation too long. Press esc twice to go up a few messages and try again.",
            "Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 41000.",
            "Codex ran out of room in the model's context window. Start a new thread.",
            "stream disconnected before completion: Incomplete response returned, reason: content_filter",
            "The request was refused by the safety policy.",
            "This request has been flagged for possible cybersecurity risk.",
            "This request was blocked due to a misalignment policy violation.",
            "Invalid prompt: we've limited access to this content for safety reasons.",
            "cyber_policy",
            "Claude Code is unable to respond to this request, which appears to violate our Usage Policy",
        ] {
            ends(message, Ending::Blocked);
        }
    }

    #[test]
    fn a_failed_server_does_not_block_the_task() {
        for message in [
            "API Error: 500 {\"error\":{\"message\":\"usage policy service unavailable\"}}",
            "API Error (529 content filter is overloaded)",
            "API Error: Repeated 529 Overloaded errors: context window service",
            "API Error: The content filter did not answer. This is a server-side issue, usually temporary",
            "API Error: Connection error: content filter",
            "Unable to connect to API (usage policy)",
            "unexpected status 503 Service Unavailable: content_filter, url: http://x",
            "exceeded retry limit, last status: 500 Internal Server Error, usage policy",
        ] {
            ends(message, Ending::Failed);
        }
        ends("API Error: 400 prompt is too long: 500 tokens", Ending::Blocked);
        ends("500 tokens more than the context window", Ending::Blocked);
    }
}
