//! What to do about each error of the library: one table, with a column for people and one for agents.
//!
//! Exit codes are not here: they follow the error's kind.

use std::io;
use std::path::Path;

use ralph_memory::Error;
use ralph_memory::error::{Argument, ErrorKind};
use ralph_memory::memory::record_command;

/// Where a bug is reported.
pub(crate) const ISSUES: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// What can be done about an error.
#[derive(Debug, Default)]
pub(crate) struct Advice {
    /// By a person at a terminal.
    pub(crate) person: Option<String>,
    /// By an agent that calls a tool, where that is something else.
    pub(crate) agent: Option<String>,
}

impl Advice {
    /// Returns the advice for an error.
    pub(crate) fn of(error: &Error) -> Advice {
        match error {
            Error::NoMemory { above, .. } => both(
                above.as_ref().map_or_else(
                    || "`ralph-memory init` creates one here; `--root FOLDER` names another place".to_owned(),
                    |above| format!("`--root {}` names that one", above.display()),
                ),
                "continue without the memory, and tell the person that `ralph-memory init`, run in the project's folder, \
                 creates one; the next call finds it, and the server need not be started again",
            ),
            Error::NoSuchEntry { similar, .. } => no_such_entry(similar),
            Error::Secret { fingerprint, .. } => secret(fingerprint),
            Error::Uneditable { .. } => both(
                "fix the file by hand; `ralph-memory check` says where",
                "tell the person: the file has to be fixed by hand, and `ralph-memory check` says where; or give your \
                 entry another title, so that it becomes one of its own",
            ),
            Error::Conflict { kept, .. } => both(
                match kept {
                    None => "see what it says by now, and run the command again",
                    Some(_) => "compare both versions, and delete the one that was kept",
                },
                "call read_entry to see what it says by now, and call again if that is needed",
            ),
            Error::Locked { .. } => both(
                "another command is writing; wait for it, or give it longer with RALPH_MEMORY_LOCK__TIMEOUT_MS",
                "another process is writing; call again in a few seconds",
            ),
            Error::ForeignOwner { path, .. } => foreign_owner(path),
            Error::Invalid { what: Argument::Body, .. } => both(
                "give it with `--body TEXT` or on standard input, at most 1 MiB",
                "give what is to be known as markdown, at most 1 MiB",
            ),
            Error::Invalid { .. } => {
                Advice { agent: Some("change that argument, and call again".to_owned()), person: None }
            }
            Error::NotRecorded { root, kept, source } => {
                let then = format!("`{}` writes it to the journal", record_command(root, kept));
                let first = Advice::of(source).person;
                // Whoever runs the same command again has no second answer for it.
                let first = first.as_deref().map(|hint| hint.trim_end_matches(", and run the command again"));
                person(first.map_or_else(|| then.clone(), |first| format!("{first}; then {then}")))
            }
            Error::NotKept { source, .. } => {
                let then = "what would be kept follows: put it into a file, which `ralph-memory record --kept FILE` \
                            takes later";
                let first = Advice::of(source).person;
                person(first.map_or_else(|| then.to_owned(), |hint| format!("{hint}; {then}")))
            }
            Error::StillWorking { pid, .. } => person(format!(
                "its changes would be taken for those of the new agent; wait until it has ended, or `kill {pid}`"
            )),
            Error::Unusable { hint, .. } => person(hint.clone()),
            Error::Io { action: "lock", source, .. } if source.kind() == io::ErrorKind::NotFound => person(
                "`.ralph` went away meanwhile; what was committed of it comes back by `git checkout .ralph`, and \
                 `ralph-memory init` creates a new one",
            ),
            Error::Io { source, .. } => Advice { person: io_hint(source).map(str::to_owned), agent: None },
            error => {
                Advice { person: simple(error).map(str::to_owned).or_else(|| is_bug(error).then(bug)), agent: None }
            }
        }
    }
}

/// Returns the advice that is the same whatever the error says.
fn simple(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::NewerFormat { .. } => "install a newer ralph-memory",
        Error::Settings { .. } => "`.ralph/config.toml` lists every setting with its default",
        Error::NotArchived { .. } => "`ralph-memory list --archived` shows what the archive has",
        Error::OutsideRoot { .. } => "the memory holds plain files and folders; replace the link by what it points to",
        Error::Index { .. } => {
            "delete `.ralph/cache`, which is rebuilt from the files, and check that the disk has room and may be written"
        }
        Error::Git { .. } => "run the `git` command by hand to see what stands in its way",
        _ => return None,
    })
}

fn is_bug(error: &Error) -> bool {
    error.kind() == ErrorKind::Bug
}

fn person(text: impl Into<String>) -> Advice {
    Advice { person: Some(text.into()), agent: None }
}

fn both(person: impl Into<String>, agent: impl Into<String>) -> Advice {
    Advice { person: Some(person.into()), agent: Some(agent.into()) }
}

fn no_such_entry(similar: &[String]) -> Advice {
    let similar: Vec<String> = similar.iter().map(|id| format!("`{id}`")).collect();
    if similar.is_empty() {
        return both(
            "`ralph-memory list` shows what there is",
            "call search_memory with words of what you look for; its answers have ids",
        );
    }
    both(
        format!("did you mean {}?", similar.join(" or ")),
        format!("call again with one of the ids that look alike: {}; or call search_memory", similar.join(", ")),
    )
}

fn secret(fingerprint: &str) -> Advice {
    both(
        format!(
            "leave it out: entries are committed; if it is no secret, give `--allow-secret {fingerprint}`, or put it \
             into `secrets.allowed` of `.ralph/config.toml`"
        ),
        format!(
            "take it out and call again, since entries are committed: say where the secret is kept instead of what it is; \
             if it is not one, only a person can let it pass, by putting {fingerprint} into `secrets.allowed` of \
             `.ralph/config.toml`"
        ),
    )
}

fn foreign_owner(path: &Path) -> Advice {
    let folder = path.parent().filter(|_| path.ends_with(".ralph")).unwrap_or(path);
    both(
        format!(
            "if you trust what it says, name it with `--root {0}`, or put `directories = [\"{0}\"]` into the table `[safe]` \
             of your own settings file; else `ralph-memory init` creates one of your own in this folder",
            folder.display()
        ),
        "continue without the memory, and tell the person: whether another user's memory is to be used is theirs to say, \
         with `--root` or `safe.directories` in their own settings file",
    )
}

/// Returns the advice for a bug.
pub(crate) fn bug() -> String {
    format!("this is a bug in {ISSUES}; please report it with the command that you ran")
}

/// Returns the advice for an error of the file system.
pub(crate) fn io_hint(error: &io::Error) -> Option<&'static str> {
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
