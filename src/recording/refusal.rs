//! Which errors concern only one fact in an agent's output, so that the rest is still written, and their messages.
//!
//! Facts that no entry could store go into the notes of the attempt, so that no learning is lost because of a file.

use std::io::ErrorKind;

use crate::entry::knowledge::Knowledge;
use crate::error::Error;

/// Errors of the system that have no kind; their numbers are the same on every Unix.
const EIO: i32 = 5;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// Returns whether an error concerns one fact of the agent's output, or its entry. An error of the whole memory, such
/// as a full disk or a lock, would affect everything else as well.
pub(super) fn is_of_one(error: &Error) -> bool {
    let Error::Io { action, source, .. } = error else {
        return matches!(
            error,
            Error::Invalid { .. }
                | Error::Secret { .. }
                | Error::Outdated { .. }
                | Error::Uneditable { .. }
                | Error::Conflict { .. }
                | Error::OutsideRoot { .. }
        );
    };
    match source.kind() {
        ErrorKind::StorageFull
        | ErrorKind::QuotaExceeded
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::FileTooLarge
        | ErrorKind::OutOfMemory => false,
        // A damaged file is one file, a failing disk is all of them.
        _ if source.raw_os_error() == Some(EIO) => *action == "read",
        // If no new file can be created, the entry is not the cause.
        _ => !matches!(*action, "lock" | "create") && !matches!(source.raw_os_error(), Some(ENFILE | EMFILE)),
    }
}

/// Returns whether the agent can do better the next time.
pub(super) fn is_of_agent(error: &Error) -> bool {
    matches!(error, Error::Invalid { .. } | Error::Secret { .. } | Error::Outdated { .. })
}

/// Returns the message of a refusal.
pub(super) fn reason_of(error: &Error) -> String {
    match error {
        // No fingerprint: the journal is committed, and a fingerprint confirms guesses at a weak password.
        Error::Secret { what, line, pattern, .. } => {
            format!("{what}, line {line}: this looks like a secret: {pattern}; leave it out")
        }
        error => {
            let reason = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
            format!("{error}{reason}")
        }
    }
}

/// Returns the notes with the knowledge that could not be stored, and the reasons.
pub(super) fn notes_with(notes: Option<String>, left_over: &[(Knowledge, String)]) -> Option<String> {
    let refused = left_over.iter().map(|(Knowledge { title, tags, body, .. }, reason)| {
        format!("Not taken over as knowledge: {reason}\n\n**{title}** ({})\n\n{}", tags.join(", "), body.trim())
    });
    let all: Vec<String> = notes.into_iter().chain(refused).collect();
    Some(all.join("\n\n")).filter(|notes| !notes.is_empty())
}
