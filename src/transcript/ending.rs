//! How an agent's work ended, by what its client says, and the errors that the agent names itself.
//!
//! A limit and a refusal say something of the task: it was too much for one go, or nothing that this model does. An
//! account without money, a server that is overloaded and a crash say nothing of it.

/// How the work ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ending {
    /// As it should.
    #[default]
    Well,
    /// A limit of turns, tokens or money was reached, or the model refused.
    Blocked,
    /// The client, or what it depends on, failed.
    Failed,
    /// Somebody stopped it.
    Interrupted,
}

/// What an error of a limit or a refusal says, in small letters.
const BLOCKED: [&str; 9] = [
    "prompt is too long",
    "output token maximum",
    "max_output_tokens",
    "context window",
    "context_length_exceeded",
    "maximum context length",
    "usage policy",
    "content_filter",
    "content filter",
];
/// Reasons to stop that are limits or refusals: of Claude, and of what opencode makes of all models.
const STOPS: [&str; 5] = ["max_tokens", "model_context_window_exceeded", "refusal", "length", "content-filter"];

impl Ending {
    /// Returns how an error ended the work.
    pub(super) fn of_error(message: &str) -> Ending {
        let message = message.to_lowercase();
        if BLOCKED.iter().any(|part| message.contains(part)) { Ending::Blocked } else { Ending::Failed }
    }
}

/// Returns whether a reason to stop is a limit or a refusal.
pub(super) fn is_stop(reason: &str) -> bool {
    STOPS.contains(&reason)
}

/// Returns the error that a line of the agent's own text names, from its name on: `TypeError: x is undefined`, and
/// `error[E0308]: mismatched types` where a line begins with it.
pub(super) fn own_error(line: &str) -> Option<&str> {
    let bare = line.trim().trim_start_matches(['-', '*', '>', '`', ' ']);
    if bare.starts_with("error[") && bare.contains("]: ") {
        return Some(bare);
    }
    ["Error: ", "Exception: "].iter().find_map(|end| {
        let (before, _) = bare.split_once(end)?;
        let name = before.rsplit(|next: char| !next.is_alphanumeric() && next != '_').next()?;
        let is_name = name.starts_with(|first: char| first.is_ascii_uppercase());
        is_name.then(|| bare[before.len() - name.len()..].trim_end_matches('`'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_own_words_name_errors() {
        let check = |line: &str, expected: Option<&str>| assert_eq!(own_error(line), expected, "{line}");
        check("The test fails with TypeError: x is undefined.", Some("TypeError: x is undefined."));
        check("- `java.lang.IllegalStateException: closed`", Some("IllegalStateException: closed"));
        check("error[E0308]: mismatched types", Some("error[E0308]: mismatched types"));
        check("ValueError:", None);
        check("On Error: go on", None);
        check("No errors: all is well", None);
        check("the error: none", None);
    }
}
