//! The answer to a call that fails: what went wrong, why, and what to do.

use std::fmt::Display;

use ralph_memory::Error;

use super::shown;
use crate::advice::Advice;
use crate::error::{self, UsageError};

/// Returns an error that says which argument is wrong, and what to give instead.
pub(super) fn unfit(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    UsageError { message: message.into(), hint: hint.into() }.into()
}

/// Returns the value of an argument, or an error that says what is wrong with it, and what to give instead.
pub(super) fn parsed<T>(parsed: Result<T, String>, what: impl Display, hint: &str) -> anyhow::Result<T> {
    parsed.map_err(|reason| unfit(format!("{what} {reason}"), hint))
}

/// Returns the error as an agent reads it.
pub(super) fn describe(error: &anyhow::Error) -> String {
    let report = error::report(error);
    let mut message = report.message;
    for cause in &report.causes {
        message.push_str(": ");
        message.push_str(cause);
    }
    // The advice for an agent may differ from that for a person at a terminal.
    let hint = error.downcast_ref::<Error>().and_then(|error| Advice::of(error).agent).or(report.hint);
    let message = shown::line(&message);
    hint.map_or_else(|| format!("{message}."), |hint| format!("{message}.\nWhat to do: {}.", shown::line(&hint)))
}
