//! The exit codes.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The command succeeded; an empty list and a closed pipe are not failures.
    Done = 0,
    /// The answer is no: nothing was found, or a check found something.
    No = 1,
    /// The command line, a value or a setting makes no sense.
    Usage = 2,
    /// There is no memory here.
    NoMemory = 3,
    /// It would do harm: a conflict, a newer format, a file that cannot be edited.
    Refused = 4,
    /// Another process kept its lock.
    Locked = 5,
    /// The file system refused.
    Io = 6,
    /// A command that answers with its exit code has no answer.
    NoAnswer = 7,
    /// A bug in this program.
    Bug = 70,
    /// A person interrupted it.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
