//! What an agent is told when a call cannot be answered: what went wrong, why, and what to do.

use ralph_memory::Error;
use ralph_memory::error::Argument;

use super::shown;
use crate::error;

/// An argument that makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Unfit {
    pub(super) message: String,
    /// What to give instead.
    pub(super) hint: String,
}

/// Returns an error that says which argument is wrong, and what to give instead.
pub(super) fn unfit(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    Unfit { message: message.into(), hint: hint.into() }.into()
}

/// Returns the error as an agent reads it.
pub(super) fn told(error: &anyhow::Error) -> String {
    let report = error::report(error);
    let mut said = report.message;
    for cause in &report.causes {
        said.push_str(": ");
        said.push_str(cause);
    }
    let hint = hint(error).or(report.hint);
    let said = shown::line(&said);
    hint.map_or_else(|| format!("{said}."), |hint| format!("{said}.\nWhat to do: {}.", shown::line(&hint)))
}

/// Returns what an agent can do, where that is not what a person at a terminal can.
fn hint(error: &anyhow::Error) -> Option<String> {
    if let Some(unfit) = error.downcast_ref::<Unfit>() {
        return Some(unfit.hint.clone());
    }
    let hint = match error.downcast_ref::<Error>()? {
        Error::NoMemory { .. } => {
            "go on without the memory, and tell the person that `ralph-memory init`, run in the project's folder, makes \
             one; the next call finds it, and the server need not be started again"
                .to_owned()
        }
        Error::ForeignOwner { .. } => {
            "go on without the memory, and tell the person: whether another user's memory is to be used is theirs to say, \
             with `--root` or `safe.directories` in their own settings file"
                .to_owned()
        }
        Error::NoSuchEntry { similar, .. } if similar.is_empty() => {
            "call search_memory with words of what you look for; its answers have ids".to_owned()
        }
        Error::NoSuchEntry { similar, .. } => {
            let similar: Vec<String> = similar.iter().map(|id| format!("`{id}`")).collect();
            format!("call again with one of the ids that look alike: {}; or call search_memory", similar.join(", "))
        }
        Error::Secret { fingerprint, .. } => format!(
            "take it out and call again, since entries are committed: say where the secret is kept instead of what it is; \
             if it is none, only a person can let it pass, by putting {fingerprint} into `secrets.allowed` of \
             `.ralph/config.toml`"
        ),
        Error::Locked { .. } => "another process is writing; call again in a few seconds".to_owned(),
        Error::Conflict { .. } => "call read_entry to see what it says by now, and call again if that is needed".to_owned(),
        Error::Uneditable { .. } => {
            "tell the person: the file has to be mended by hand, and `ralph-memory check` says where; or give your entry \
             another title, so that it becomes one of its own"
                .to_owned()
        }
        Error::Invalid { what: Argument::Body, .. } => "give what is to be known as markdown, at most 1 MiB".to_owned(),
        Error::Invalid { .. } => "change that argument, and call again".to_owned(),
        _ => return None,
    };
    Some(hint)
}
