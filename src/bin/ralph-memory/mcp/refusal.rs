//! The answer to a call that fails: what went wrong, why, and what to do.

use ralph_memory::Error;

use super::shown;
use crate::advice::Advice;
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
pub(super) fn describe(error: &anyhow::Error) -> String {
    let report = error::report(error);
    let mut message = report.message;
    for cause in &report.causes {
        message.push_str(": ");
        message.push_str(cause);
    }
    let hint = hint(error).or(report.hint);
    let message = shown::line(&message);
    hint.map_or_else(|| format!("{message}."), |hint| format!("{message}.\nWhat to do: {}.", shown::line(&hint)))
}

/// Returns the advice for an agent, if it differs from that for a person at a terminal.
fn hint(error: &anyhow::Error) -> Option<String> {
    if let Some(unfit) = error.downcast_ref::<Unfit>() {
        return Some(unfit.hint.clone());
    }
    error.downcast_ref::<Error>().and_then(|error| Advice::of(error).agent)
}
