//! What a person reads when something goes wrong, and the exit code: the one place that maps
//! errors to them.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use ralph_memory::Error;
use serde::Serialize;

/// Where a bug is reported.
const ISSUES: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// It did what it was asked; an empty list and a closed pipe are no failures.
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
    /// The file system said no.
    Io = 6,
    /// A bug in this program.
    Bug = 70,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// A command line that was understood and makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Usage {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// An error as it is shown.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    /// What was attempted, and on what.
    pub(crate) message: String,
    /// Why, from the outermost cause to the innermost.
    pub(crate) causes: Vec<String>,
    /// What to do now.
    pub(crate) hint: Option<String>,
    /// The exit code.
    pub(crate) exit_code: u8,
}

/// Returns how the program ends after this error.
pub(crate) fn exit(error: &anyhow::Error) -> Exit {
    if error.is::<Usage>() {
        return Exit::Usage;
    }
    if let Some(output) = error.downcast_ref::<io::Error>() {
        // The library names the file of every failure, so this is one of writing the answer.
        return if output.kind() == io::ErrorKind::BrokenPipe { Exit::Done } else { Exit::Io };
    }
    match error.downcast_ref::<Error>() {
        Some(Error::NoSuchEntry { .. }) => Exit::No,
        Some(Error::Invalid { .. } | Error::Settings { .. }) => Exit::Usage,
        Some(Error::NoMemory { .. }) => Exit::NoMemory,
        Some(
            Error::NewerFormat { .. } | Error::Uneditable { .. } | Error::Conflict { .. } | Error::OutsideRoot { .. },
        ) => Exit::Refused,
        Some(Error::Locked { .. }) => Exit::Locked,
        Some(Error::Io { .. } | Error::Git { .. }) => Exit::Io,
        Some(_) | None => Exit::Bug,
    }
}

/// Returns the error as it is shown.
pub(crate) fn report(error: &anyhow::Error) -> Report {
    let message = error.to_string();
    let causes = error.chain().skip(1).map(ToString::to_string).collect();
    Report { message, causes, hint: hint(error), exit_code: exit(error) as u8 }
}

fn hint(error: &anyhow::Error) -> Option<String> {
    if let Some(usage) = error.downcast_ref::<Usage>() {
        return Some(usage.hint.clone());
    }
    if let Some(output) = error.downcast_ref::<io::Error>() {
        return io_hint(output).map(str::to_owned);
    }
    let hint = match error.downcast_ref::<Error>() {
        Some(Error::NoMemory { .. }) => {
            "`ralph-memory init` makes one here; `--root FOLDER` names another place".to_owned()
        }
        Some(Error::NewerFormat { .. }) => "install a newer ralph-memory".to_owned(),
        Some(Error::Settings { .. }) => "`.ralph/config.toml` lists every setting with its default".to_owned(),
        Some(Error::NoSuchEntry { similar, .. }) if similar.is_empty() => {
            "`ralph-memory list` shows what there is".to_owned()
        }
        Some(Error::NoSuchEntry { similar, .. }) => {
            let similar: Vec<String> = similar.iter().map(|id| format!("`{id}`")).collect();
            format!("did you mean {}?", similar.join(" or "))
        }
        Some(Error::Invalid { .. }) => return None,
        Some(Error::Uneditable { .. }) => "mend the file by hand; `ralph-memory check` says where".to_owned(),
        Some(Error::Conflict { kept: None, .. }) => "look at what it says by now, and run the command again".to_owned(),
        Some(Error::Conflict { kept: Some(_), .. }) => {
            "compare both versions, and delete the one that was kept".to_owned()
        }
        Some(Error::Locked { .. }) => {
            "another command is writing; wait for it, or give it longer with RALPH_MEMORY_LOCK__TIMEOUT_MS".to_owned()
        }
        Some(Error::OutsideRoot { .. }) => {
            "the memory holds plain files and folders; replace the link by what it points to".to_owned()
        }
        Some(Error::Io { source, .. }) => return io_hint(source).map(str::to_owned),
        Some(_) | None => format!("this is a bug in {ISSUES}; please report it with the command that you ran"),
    };
    Some(hint)
}

fn io_hint(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Some("check who owns the folder and who may write to it"),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("make room on the disk, and run the command again")
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            Some("the file system is mounted read-only; only reading commands work there")
        }
        io::ErrorKind::NotADirectory => Some("a file stands where a folder must be; move it away"),
        io::ErrorKind::IsADirectory => Some("a folder stands where a file must be; move it away"),
        _ => None,
    }
}

/// Lets a panic say that it is a bug, and where to report it.
pub(crate) fn report_panics() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        use io::Write as _;
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
