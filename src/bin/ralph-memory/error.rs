//! What a person reads when something goes wrong, and the exit code: the one place that maps
//! errors to them.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use ralph_memory::Error;
use ralph_memory::error::{Argument, Message};
use ralph_memory::memory::record_command;
use serde::Serialize;

use crate::activity;

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
    /// Somebody stopped it.
    Interrupted = 130,
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
    error.downcast_ref::<Error>().map_or(Exit::Bug, exit_of)
}

fn exit_of(error: &Error) -> Exit {
    match error {
        Error::NoSuchEntry { .. } | Error::NotArchived { .. } => Exit::No,
        Error::Invalid { .. } | Error::Settings { .. } => Exit::Usage,
        Error::NoMemory { .. } => Exit::NoMemory,
        Error::NewerFormat { .. }
        | Error::Uneditable { .. }
        | Error::Conflict { .. }
        | Error::Secret { .. }
        | Error::StillWorking { .. }
        | Error::ForeignOwner { .. }
        | Error::OutsideRoot { .. } => Exit::Refused,
        Error::Locked { .. } => Exit::Locked,
        Error::Io { .. } | Error::Git { .. } => Exit::Io,
        Error::NotRecorded { source, .. } | Error::NotKept { source, .. } => exit_of(source),
        _ => Exit::Bug,
    }
}

/// Returns the error as it is shown.
pub(crate) fn report(error: &anyhow::Error) -> Report {
    let mut causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    if error.is::<io::Error>() {
        causes.insert(0, "cannot write the answer".to_owned());
    }
    // What a file says may be in any of them.
    let safe = |text: String| Message::from(text).to_string();
    let mut causes: Vec<String> = causes.into_iter().map(safe).collect();
    let message = causes.remove(0);
    Report { message, causes, hint: hint(error).map(safe), exit_code: exit(error) as u8 }
}

fn hint(error: &anyhow::Error) -> Option<String> {
    if let Some(usage) = error.downcast_ref::<Usage>() {
        return Some(usage.hint.clone());
    }
    if let Some(output) = error.downcast_ref::<io::Error>() {
        return io_hint(output).map(str::to_owned);
    }
    match error.downcast_ref::<Error>() {
        Some(error) => hint_of(error),
        None => Some(bug()),
    }
}

fn bug() -> String {
    format!("this is a bug in {ISSUES}; please report it with the command that you ran")
}

fn hint_of(error: &Error) -> Option<String> {
    let hint = match error {
        Error::NoMemory { above: Some(above), .. } => format!("`--root {}` names that one", above.display()),
        Error::NoMemory { above: None, .. } => {
            "`ralph-memory init` makes one here; `--root FOLDER` names another place".to_owned()
        }
        Error::NewerFormat { .. } => "install a newer ralph-memory".to_owned(),
        Error::Settings { .. } => "`.ralph/config.toml` lists every setting with its default".to_owned(),
        Error::NotArchived { .. } => "`ralph-memory list --archived` shows what the archive has".to_owned(),
        Error::NoSuchEntry { similar, .. } if similar.is_empty() => {
            "`ralph-memory list` shows what there is".to_owned()
        }
        Error::NoSuchEntry { similar, .. } => {
            let similar: Vec<String> = similar.iter().map(|id| format!("`{id}`")).collect();
            format!("did you mean {}?", similar.join(" or "))
        }
        Error::Invalid { what: Argument::Body, .. } => {
            "give it with `--body TEXT` or on standard input, at most 1 MiB".to_owned()
        }
        Error::Invalid { .. } => return None,
        Error::Secret { fingerprint, .. } => format!(
            "leave it out: entries are committed; if it is no secret, give `--allow-secret {fingerprint}`, or put it into \
             `secrets.allowed` of `.ralph/config.toml`"
        ),
        Error::Uneditable { .. } => "mend the file by hand; `ralph-memory check` says where".to_owned(),
        Error::Conflict { kept: None, .. } => "look at what it says by now, and run the command again".to_owned(),
        Error::Conflict { kept: Some(_), .. } => {
            "compare both versions, and delete the one that was kept".to_owned()
        }
        Error::Locked { .. } => {
            "another command is writing; wait for it, or give it longer with RALPH_MEMORY_LOCK__TIMEOUT_MS".to_owned()
        }
        Error::ForeignOwner { path, .. } => {
            let folder = path.parent().filter(|_| path.ends_with(".ralph")).unwrap_or(path);
            format!(
                "if you trust what it says, name it with `--root {0}`, or put `directories = [\"{0}\"]` into the table \
                 `[safe]` of your own settings file; else `ralph-memory init` makes one of your own in this folder",
                folder.display()
            )
        }
        Error::OutsideRoot { .. } => {
            "the memory holds plain files and folders; replace the link by what it points to".to_owned()
        }
        Error::Io { action: "lock", source, .. } if source.kind() == io::ErrorKind::NotFound => {
            "`.ralph` went away meanwhile; what was committed of it comes back by `git checkout .ralph`, and `ralph-memory \
             init` makes a new one"
                .to_owned()
        }
        Error::Io { source, .. } => return io_hint(source).map(str::to_owned),
        Error::StillWorking { pid, .. } => {
            format!("its changes would be taken for those of the new agent; wait until it has ended, or `kill {pid}`")
        }
        Error::NotRecorded { root, kept, source } => {
            let then = format!("`{}` writes it to the journal", record_command(root, kept));
            let first = hint_of(source);
            // Whoever runs the same command again has no second answer for it.
            let first = first.as_deref().map(|hint| hint.trim_end_matches(", and run the command again"));
            first.map_or_else(|| then.clone(), |first| format!("{first}; then {then}"))
        }
        Error::NotKept { source, .. } => {
            let then = "what would be kept follows: put it into a file, which `ralph-memory record --kept FILE` takes later";
            hint_of(source).map_or_else(|| then.to_owned(), |hint| format!("{hint}; {then}"))
        }
        _ => bug(),
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
        io::ErrorKind::FileTooLarge => {
            Some("a file would be larger than this process may write; raise the limit (`ulimit -f`)")
        }
        io::ErrorKind::NotADirectory => Some("a file stands where a folder must be; move it away"),
        io::ErrorKind::IsADirectory => Some("a folder stands where a file must be; move it away"),
        // These have no kind. Their numbers are the same on every Unix.
        _ => match error.raw_os_error() {
            Some(5) => Some("the disk or the way to it fails; see what the system's log says of it"),
            Some(23 | 24) => Some("end what has many files open, or raise the limit (`ulimit -n`)"),
            _ => None,
        },
    }
}

/// Lets a panic say that it is a bug, and where to report it.
pub(crate) fn report_panics() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        use io::Write as _;
        // A cache that makes it panic is made anew.
        if ralph_memory::index::is_guarded() {
            return;
        }
        activity::close();
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
    use super::*;

    #[test]
    fn every_error_has_its_exit_code() {
        let check = |error: Error, expected| assert_eq!(exit(&error.into()), expected);
        let io = || io::Error::from(io::ErrorKind::StorageFull);
        check(Error::NoSuchEntry { id: "a".into(), similar: Vec::new() }, Exit::No);
        check(Error::NotArchived { id: "a".into() }, Exit::No);
        check(Error::Invalid { what: Argument::Named("a".into()), reason: "b".into() }, Exit::Usage);
        check(Error::Settings { place: "a".into(), reason: "b".into() }, Exit::Usage);
        check(Error::NoMemory { start: "a".into(), above: None }, Exit::NoMemory);
        check(Error::NewerFormat { path: "a".into(), found: 2, known: 1 }, Exit::Refused);
        check(Error::Uneditable { path: "a".into(), reason: "b".into() }, Exit::Refused);
        check(Error::Conflict { path: "a".into(), kept: None }, Exit::Refused);
        check(Error::OutsideRoot { path: "a".into() }, Exit::Refused);
        check(Error::ForeignOwner { path: "a".into(), owner: 1, user: 2 }, Exit::Refused);
        check(Error::Secret { what: "a", line: 1, pattern: "b", fingerprint: "c".into() }, Exit::Refused);
        check(Error::Locked { path: "a".into(), waited_ms: 1, holder: None }, Exit::Locked);
        check(Error::Io { action: "read", path: "a".into(), source: io() }, Exit::Io);
        check(Error::Git { command: "a".into(), reason: "b".into() }, Exit::Io);
        check(Error::Index { path: "a".into(), source: "b".into() }, Exit::Bug);
        assert_eq!(exit(&io().into()), Exit::Io);
        assert_eq!(exit(&io::Error::from(io::ErrorKind::BrokenPipe).into()), Exit::Done);
        assert_eq!(exit(&anyhow::anyhow!("what nobody thought of")), Exit::Bug);
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
    fn an_error_says_what_why_and_what_to_do() {
        let source = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
        let shown = report(&Error::Io { action: "create", path: "a.md".into(), source }.into());
        assert_eq!(shown.message, "cannot create `a.md`");
        assert_eq!(shown.causes, ["read-only filesystem or storage medium"]);
        assert!(shown.hint.unwrap().contains("read-only"));
        let bug = report(&Error::Index { path: "a".into(), source: "b".into() }.into());
        assert!(bug.hint.unwrap().contains("please report it"));
    }
}
