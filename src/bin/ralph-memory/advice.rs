//! What to do about each error of the library: one table, with advice for people and advice for agents.
//!
//! Exit codes are elsewhere: they follow the error's kind.

use std::io;
use std::path::Path;

use ralph_memory::Error;
use ralph_memory::error::{Argument, ErrorKind};
use ralph_memory::memory::record_command;
use ralph_memory::text::printed_command;

/// Where to report a bug.
pub(crate) const ISSUES: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// What can be done about an error.
#[derive(Debug, Default)]
pub(crate) struct Advice {
    /// By a person at a terminal.
    pub(crate) person: Option<String>,
    /// For an agent that calls a tool, if it differs.
    pub(crate) agent: Option<String>,
}

impl Advice {
    /// Returns the advice for an error.
    pub(crate) fn of(error: &Error) -> Advice {
        match error {
            Error::NoMemory { start, above } => no_memory(start, above.as_deref()),
            Error::NoSuchEntry { similar, .. } => no_such_entry(similar),
            Error::Secret { fingerprint, .. } => secret(fingerprint),
            Error::Uneditable { .. } => both(
                "fix the file by hand; `ralph-memory check` says where",
                "tell the person: the file has to be fixed by hand, and `ralph-memory check` says where; or give your \
                 entry another title, so that it becomes one of its own",
            ),
            Error::Outdated { .. } => outdated(),
            Error::Conflict { kept, .. } => both(
                match kept {
                    None => "read its current text, and run the command again",
                    Some(_) => "compare both versions, and delete the copy",
                },
                "call read_entry to see its current text, and call again if needed",
            ),
            Error::BudgetTooSmall { unit, least, .. } => larger_budget(unit, *least),
            Error::SupersedesCycle { new, link, .. } => supersedes_cycle(new, link),
            Error::NoVersion { id, path, version } => person(no_version(id, path, version.is_some())),
            Error::NoOperation { number } => person(no_operation(*number)),
            Error::ChangedSince { by, .. } => person(changed_since(*by)),
            Error::Locked { .. } => both(
                "another command is writing; wait for it, and run the command again",
                "another process is writing; call again in a few seconds",
            ),
            Error::ForeignOwner { path, .. } => foreign_owner(path),
            Error::Invalid { what: Argument::Body, .. } => both(
                "give it with `--body TEXT` or on standard input, at most 1 MiB",
                "give the knowledge as markdown, at most 1 MiB",
            ),
            Error::Invalid { .. } => agent("change that argument, and call again"),
            Error::NotRecorded { root, kept, source } => not_recorded(root, kept, source),
            Error::NotKept { source, .. } => not_kept(source),
            Error::PartlySetUp { source, .. } => partly_set_up(source),
            Error::HalfUndone { number, source } => half_undone(*number, source),
            Error::StillWorking { pid, .. } => person(still_working(*pid)),
            Error::Held { .. } => {
                both("wait until the run has ended, or stop it with Ctrl-C", "report it in your final answer")
            }
            Error::Unusable { hint, .. } => person(hint.clone()),
            Error::Io { action: "lock", source, .. } if source.kind() == io::ErrorKind::NotFound => person(
                "`.ralph` was removed meanwhile; `git checkout .ralph` restores what was committed, and \
                 `ralph-memory init` creates a new one",
            ),
            Error::Io { source, .. } => Advice { person: io_hint(source).map(str::to_owned), agent: None },
            error => {
                Advice { person: simple(error).map(str::to_owned).or_else(|| is_bug(error).then(bug)), agent: None }
            }
        }
    }
}

/// Returns the advice that does not depend on the error's values.
fn simple(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::NewerFormat { .. } => "install a newer ralph-memory",
        Error::Settings { .. } => "`ralph-memory help settings` lists every setting with its default",
        Error::NothingToRedo => "`undo --redo` brings back what `undo` took back, until the next change",
        Error::NotUndoable { .. } => "`ralph-memory undo --list` numbers the other operations",
        Error::TitleTaken { .. } => "choose another title; if that entry says the same, archive one of the two",
        Error::AlreadyArchived { .. } => "`ralph-memory restore` brings it back",
        Error::OutsideRoot { .. } => {
            "the memory contains only plain files and folders; replace the link with its target"
        }
        Error::Index { .. } => {
            "delete `.ralph/cache`, which is rebuilt from the files, and check that the disk has room and may be written"
        }
        Error::Git { .. } => "run the `git` command by hand to see why it fails",
        _ => return None,
    })
}

fn is_bug(error: &Error) -> bool {
    error.kind() == ErrorKind::Bug
}

fn person(text: impl Into<String>) -> Advice {
    Advice { person: Some(text.into()), agent: None }
}

fn agent(text: &str) -> Advice {
    Advice { person: None, agent: Some(text.to_owned()) }
}

fn still_working(pid: u32) -> String {
    let command = printed_command("kill PID", &[("PID", &pid.to_string())]);
    format!("its changes would be attributed to the new agent; wait until it has ended, or {command}")
}

fn outdated() -> Advice {
    both(
        "`add --source human` writes it as your own",
        "leave it as it is; if it is wrong today, tell the person, or say in other words what is the case",
    )
}

fn both(person: impl Into<String>, agent: impl Into<String>) -> Advice {
    Advice { person: Some(person.into()), agent: Some(agent.into()) }
}

fn no_operation(number: Option<u64>) -> &'static str {
    if number.is_some() {
        return "`ralph-memory undo --list` shows the operations; the newest 100 can be undone";
    }
    "the log has what commands of this machine changed in entries, and is not read any more if somebody removed \
     `.ralph/state/lock`; `ralph-memory setup --remove` reverses `setup`, and what `init` made is removed by hand"
}

fn not_recorded(root: &Path, kept: &Path, source: &Error) -> Advice {
    let then = format!("{} records it", record_command(root, kept));
    let first = Advice::of(source).person;
    // Running the same command again gives no second answer of the agent.
    let first = first.as_deref().map(|hint| hint.trim_end_matches(", and run the command again"));
    person(first.map_or_else(|| then.clone(), |first| format!("{first}; then {then}")))
}

fn larger_budget(unit: &str, least: usize) -> Advice {
    let option = if unit == "tokens" { "--tokens NUMBER" } else { "--budget NUMBER" };
    let option = printed_command(option, &[("NUMBER", &least.to_string())]);
    both(
        format!("give {option} or more, or leave the option out"),
        format!("give a `max_characters` of {least} or more, or leave it out"),
    )
}

fn supersedes_cycle(new: &str, link: &str) -> Advice {
    let first = format!("if `{new}` is the one that holds, take it out of `supersedes` in `{link}` first");
    both(first.clone(), format!("{first}, which a person does; else leave that id out"))
}

fn no_version(id: &str, path: &str, is_named: bool) -> String {
    if is_named {
        return format!("{} lists them", printed_command("ralph-memory restore ID --list", &[("ID", id)]));
    }
    let log = printed_command("git log -p -- PATH", &[("PATH", path)]);
    let restore = printed_command("git restore --source COMMIT -- PATH", &[("PATH", path)]);
    format!("{log} shows the texts that were committed, and {restore} brings one back")
}

fn no_memory(start: &Path, above: Option<&Path>) -> Advice {
    let person = match above {
        None if start.ends_with("ralph-memory/own") => {
            return both("`ralph-memory init --own` makes your own memory", "continue without it");
        }
        None => "`ralph-memory init` creates one here; `--root FOLDER` names another place".to_owned(),
        Some(above) => {
            let root = above.to_string_lossy();
            format!("{} names that one", printed_command("--root FOLDER", &[("FOLDER", &root)]))
        }
    };
    both(
        person,
        "continue without the memory, and tell the person that `ralph-memory init`, run in the project's folder, \
         creates one; the next call finds it, and the server need not be started again",
    )
}

fn no_such_entry(similar: &[String]) -> Advice {
    let similar: Vec<String> = similar.iter().map(|id| format!("`{id}`")).collect();
    if similar.is_empty() {
        return both(
            "`ralph-memory list --archived` shows all entries",
            "call search_memory with words that describe the entry; its answers have ids",
        );
    }
    both(
        format!("did you mean {}?", similar.join(" or ")),
        format!("call again with one of these similar ids: {}; or call search_memory", similar.join(", ")),
    )
}

fn not_kept(source: &Error) -> Advice {
    let then = "the attempt follows: put it into a file, which `ralph-memory record --kept FILE` takes later";
    let first = Advice::of(source).person;
    person(first.map_or_else(|| then.to_owned(), |hint| format!("{hint}; {then}")))
}

fn partly_set_up(source: &Error) -> Advice {
    let first = Advice::of(source).person.map(|hint| format!("{hint}; ")).unwrap_or_default();
    person(format!("{first}the same command completes it, and with `--remove` it undoes it"))
}

fn changed_since(by: Option<u64>) -> String {
    by.map_or_else(
        || "another program changed them; edit the files by hand, or use git".to_owned(),
        |by| format!("{} takes that operation back first; `--list` shows them all", undo(by)),
    )
}

fn half_undone(number: u64, source: &Error) -> Advice {
    let is_full = matches!(source, Error::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull);
    let first = if is_full { "make room on the disk; " } else { "" };
    person(format!(
        "{first}`ralph-memory undo --redo` takes back what was done of it, and then {} begins again",
        undo(number)
    ))
}

fn undo(number: u64) -> String {
    printed_command("ralph-memory undo NUMBER", &[("NUMBER", &number.to_string())])
}

fn secret(fingerprint: &str) -> Advice {
    both(
        format!(
            "leave it out: entries are committed; if it is not a secret, give {}, or put it into `secrets.allowed` of \
             `.ralph/config.toml`",
            printed_command("--allow-secret FINGERPRINT", &[("FINGERPRINT", fingerprint)])
        ),
        format!(
            "take it out and call again, since entries are committed: say where the secret is stored, not its value; \
             if it is not one, only a person can let it pass, by putting {fingerprint} into `secrets.allowed` of \
             `.ralph/config.toml`"
        ),
    )
}

fn foreign_owner(path: &Path) -> Advice {
    let folder = path.parent().filter(|_| path.ends_with(".ralph")).unwrap_or(path);
    both(
        format!(
            "if you trust its content, name it with {}, or put that path into `safe.directories` of your own settings \
             file; else run `ralph-memory init --here` in a folder that you own",
            printed_command("--root FOLDER", &[("FOLDER", &folder.to_string_lossy())])
        ),
        "continue without the memory, and tell the person: they decide whether to use another user's memory, \
         with `--root` or `safe.directories` in their own settings file",
    )
}

/// Returns the advice for a bug.
pub(crate) fn bug() -> String {
    format!("this is a bug in {ISSUES}; please report it with the command that you ran")
}

fn cause_of(error: &io::Error) -> Option<&io::Error> {
    error.get_ref()?.source()?.downcast_ref()
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
            Some("a file is over the size limit of this process; raise the limit (`ulimit -f`)")
        }
        io::ErrorKind::NotADirectory => Some("a file is where a folder must be; move it away"),
        io::ErrorKind::IsADirectory => Some("a folder is where a file must be; move it away"),
        // These have no kind. Their numbers are the same on every Unix.
        _ => match error.raw_os_error().or_else(|| cause_of(error)?.raw_os_error()) {
            Some(5) => Some("the disk or its connection fails; see the system's log"),
            Some(23 | 24) => Some("close programs that have many files open, or raise the limit (`ulimit -n`)"),
            _ => None,
        },
    }
}
