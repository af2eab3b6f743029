//! Error messages for people, and the exit code of each kind of error. The kinds are in the library (`src/error/kind.rs`), the hints in
//! `advice.rs`.

use std::io;
use std::panic::{self, AssertUnwindSafe};

use ralph_memory::error::{ErrorKind, INCOMPLETE, Message};
use ralph_memory::{Error, Problem};
use serde::Serialize;

use crate::advice::{self, Advice, ISSUES, io_hint};
use crate::authors::is_run_by_agent;
use crate::exit::Exit;

/// A command line that parses but makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct UsageError {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl UsageError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> UsageError {
        UsageError { message: message.into(), hint: hint.into() }
    }
}

/// An argument that names something that there is not.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct NothingFound {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// An answer that lacks entries, since the system had too little of something to read them all.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct IncompleteAnswer {
    message: String,
    hint: String,
}

/// Why a command that answers with its exit code has no answer.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct NoAnswer(pub(crate) anyhow::Error);

/// Fails if the problems of an answer say that it lacks entries that are there.
pub(crate) fn check_whole(problems: &[Problem]) -> Result<(), IncompleteAnswer> {
    let found = problems.iter().find(|problem| problem.code == INCOMPLETE);
    let failed = |problem: &Problem| IncompleteAnswer { message: problem.to_string(), hint: problem.hint.to_string() };
    found.map_or(Ok(()), |problem| Err(failed(problem)))
}

/// An error in its displayed form.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ErrorReport {
    /// The attempted action, and its object.
    pub(crate) message: String,
    /// Why, from the outermost cause to the innermost.
    pub(crate) causes: Vec<String>,
    /// What to do next.
    pub(crate) hint: Option<String>,
    /// The exit code.
    pub(crate) exit_code: u8,
}

/// Returns the exit code of this error.
pub(crate) fn exit(error: &anyhow::Error) -> Exit {
    if let Some(NoAnswer(error)) = error.downcast_ref() {
        let exit = exit(error);
        return if matches!(exit, Exit::Done | Exit::Usage) { exit } else { Exit::NoAnswer };
    }
    if let Some((exit, _)) = of_program(error) {
        return exit;
    }
    if let Some(output) = error.downcast_ref::<io::Error>() {
        // The library names the file in every failure, so this one comes from writing the answer.
        return if output.kind() == io::ErrorKind::BrokenPipe { Exit::Done } else { Exit::Io };
    }
    error.downcast_ref::<Error>().map_or(Exit::Bug, exit_of)
}

/// Returns the exit code and the hint of an error that is the program's own.
fn of_program(error: &anyhow::Error) -> Option<(Exit, &str)> {
    let usage = error.downcast_ref().map(|UsageError { hint, .. }| (Exit::Usage, hint));
    let nothing = || error.downcast_ref().map(|NothingFound { hint, .. }| (Exit::No, hint));
    let incomplete = || error.downcast_ref().map(|IncompleteAnswer { hint, .. }| (Exit::Io, hint));
    usage.or_else(nothing).or_else(incomplete).map(|(exit, hint)| (exit, hint.as_str()))
}

fn exit_of(error: &Error) -> Exit {
    match error.kind() {
        ErrorKind::NotFound => Exit::No,
        ErrorKind::Usage => Exit::Usage,
        ErrorKind::NoMemory => Exit::NoMemory,
        ErrorKind::Refused => Exit::Refused,
        ErrorKind::Busy => Exit::Locked,
        ErrorKind::Environment => Exit::Io,
        ErrorKind::Bug => Exit::Bug,
    }
}

/// Returns the displayed form of the error.
pub(crate) fn report(error: &anyhow::Error) -> ErrorReport {
    let mut causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    if error.is::<io::Error>() {
        causes.insert(0, "cannot write the answer".to_owned());
    }
    // Each of these may quote a file.
    let safe = |text: String| Message::from(text).to_string();
    let mut causes: Vec<String> = causes.into_iter().map(safe).collect();
    let message = causes.remove(0);
    ErrorReport { message, causes, hint: hint(error).map(safe), exit_code: exit(error) as u8 }
}

fn hint(error: &anyhow::Error) -> Option<String> {
    if let Some(NoAnswer(error)) = error.downcast_ref() {
        return hint(error);
    }
    if let Some((_, hint)) = of_program(error) {
        return Some(hint.to_owned());
    }
    if let Some(output) = error.downcast_ref::<io::Error>() {
        return io_hint(output).map(str::to_owned);
    }
    match error.downcast_ref::<Error>() {
        // A person may write what an agent may not.
        Some(error @ Error::Outdated { .. }) if is_run_by_agent() => Advice::of(error).agent,
        Some(error) => Advice::of(error).person,
        None => Some(advice::bug()),
    }
}

/// Makes a panic say that it is a bug, and where to report it.
pub(crate) fn report_panics() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        use io::Write as _;
        // A cache that causes a panic is rebuilt.
        if ralph_memory::memory::is_guarded() {
            return;
        }
        default(panic);
        let _ = writeln!(
            io::stderr(),
            "hint: this is a bug in {ISSUES}; please report it with the command that you ran and the lines above"
        );
    }));
}

/// Runs the program; a panic ends it as a bug.
pub(crate) fn guarded(run: impl FnOnce() -> Exit) -> Exit {
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or(Exit::Bug)
}

#[cfg(test)]
mod tests {
    use ralph_memory::error::Argument;

    use super::*;

    #[test]
    fn every_error_has_its_exit_code() {
        let check = |error: Error, expected| assert_eq!(exit(&error.into()), expected);
        let io = || io::Error::from(io::ErrorKind::StorageFull);
        check(Error::NoSuchEntry { id: "a".into(), similar: Vec::new() }, Exit::No);
        check(Error::NoVersion { id: "a".into(), path: "a".into(), version: None }, Exit::No);
        check(Error::AlreadyArchived { id: "a".into() }, Exit::No);
        check(Error::TitleTaken { title: "a".into(), id: "b".into() }, Exit::Refused);
        check(Error::InvalidEdit { path: "a".into(), problems: Vec::new() }, Exit::Refused);
        check(Error::NoOperation { number: None }, Exit::No);
        check(Error::NothingToRedo, Exit::No);
        check(Error::NotUndoable { number: 1, reason: "a".into() }, Exit::Refused);
        check(Error::ChangedSince { number: 1, files: vec!["a".into()], by: None }, Exit::Refused);
        check(Error::Invalid { what: Argument::Named("a".into()), reason: "b".into() }, Exit::Usage);
        check(Error::BudgetTooSmall { text: "context", unit: "tokens", given: 1, least: 2 }, Exit::Usage);
        check(Error::Settings { place: "a".into(), reason: "b".into() }, Exit::Usage);
        check(Error::NoMemory { start: "a".into(), above: None }, Exit::NoMemory);
        check(Error::NewerFormat { path: "a".into(), found: 2, known: 1 }, Exit::Refused);
        check(Error::Uneditable { path: "a".into(), reason: "b".into() }, Exit::Refused);
        check(Error::Conflict { path: "a".into(), kept: None }, Exit::Refused);
        check(Error::OutsideRoot { path: "a".into() }, Exit::Refused);
        check(Error::SupersedesCycle { new: "a".into(), old: "b".into(), link: "b".into() }, Exit::Refused);
        check(Error::ForeignOwner { path: "a".into(), owner: 1, user: 2 }, Exit::Refused);
        check(Error::Secret { what: "a", line: 1, pattern: "b", fingerprint: "c".into() }, Exit::Refused);
        check(Error::Locked { path: "a".into(), waited_ms: 1, holder: None }, Exit::Locked);
        check(Error::Io { action: "read", path: "a".into(), source: io() }, Exit::Io);
        check(Error::Git { command: "a".into(), reason: "b".into() }, Exit::Io);
        check(Error::Index { path: "a".into(), source: "b".into() }, Exit::Io);
        check(Error::Unusable { message: "a".into(), hint: "b".into() }, Exit::Usage);
        let source = Box::new(Error::Conflict { path: "a".into(), kept: None });
        check(Error::PartlySetUp { written: vec!["a".into()], source }, Exit::Refused);
        check(Error::HalfUndone { number: 1, source: Box::new(Error::NoOperation { number: None }) }, Exit::No);
        check(Error::Panicked { message: "a".into() }, Exit::Bug);
        assert_eq!(exit(&io().into()), Exit::Io);
        assert_eq!(exit(&io::Error::from(io::ErrorKind::BrokenPipe).into()), Exit::Done);
        assert_eq!(exit(&anyhow::anyhow!("an unforeseen error")), Exit::Bug);
    }

    #[test]
    fn a_panic_is_a_bug() {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| {}));
        let exit = guarded(|| panic!("on purpose"));
        panic::set_hook(hook);
        assert_eq!(exit, Exit::Bug);
        assert_eq!(guarded(|| Exit::No), Exit::No);
    }

    #[test]
    fn an_error_has_a_message_causes_and_a_hint() {
        let source = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
        let shown = report(&Error::Io { action: "create", path: "a.md".into(), source }.into());
        assert_eq!(shown.message, "cannot create `a.md`");
        assert_eq!(shown.causes, ["read-only filesystem or storage medium"]);
        assert!(shown.hint.unwrap().contains("read-only"));
        let bug = report(&Error::Panicked { message: "a".into() }.into());
        assert!(bug.hint.unwrap().contains("please report it"));
    }
}
