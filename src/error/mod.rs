//! Errors and problems.
//!
//! An [`Error`] stops a call. A [`Problem`] concerns one file; the call continues with the others and reports the
//! problem beside its result. This module knows nothing about terminals and exit codes: the program maps
//! [kinds](ErrorKind) of errors to exit codes, and errors to hints.

mod argument;
mod findings;
mod kind;
mod problem;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use self::argument::Argument;
pub(crate) use self::findings::Findings;
#[doc(hidden)]
pub use self::findings::Tally;
pub use self::findings::{MAX_IN_ALL, MAX_OF_FILE};
pub use self::kind::ErrorKind;
pub use self::problem::{INCOMPLETE, Message, Problem, Severity};

/// The result of a call that can be stopped by an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
///
/// ```
/// use ralph_memory::{Error, Id, Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Rate limits", ["api"], "60 a minute."))?;
/// match memory.show(&Id::parse("rate-limit").ok_or("not an id")?) {
///     Err(Error::NoSuchEntry { similar, .. }) => assert_eq!(similar, ["knowledge/rate-limits"]),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no `.ralph/` folder with a memory here, or neither here nor above.
    #[error("no memory in `{start}`{}", elsewhere(above.as_deref()))]
    NoMemory {
        /// The folder where the search began.
        start: PathBuf,
        /// The nearest folder above that has one, if only `start` was searched.
        above: Option<PathBuf>,
    },
    /// The folder was made by a newer program.
    #[error("`{path}` has format {found}, and this program knows formats up to {known}")]
    NewerFormat {
        /// The settings file with that format.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest format known.
        known: u64,
    },
    /// A settings file or variable has an invalid value.
    #[error("cannot read the settings in `{place}`: {reason}")]
    Settings {
        /// The file, with the line where known, or the environment variable.
        place: String,
        /// The reason.
        reason: String,
    },
    /// No entry has this id.
    #[error("there is no entry `{id}`")]
    NoSuchEntry {
        /// The requested id.
        id: String,
        /// Similar ids, nearest first.
        similar: Vec<String>,
    },
    /// The undo log has no earlier text of the entry, or none with that name.
    #[error("the undo log has no {} of `{id}`", version.as_ref().map_or("earlier text".to_owned(), |name| format!("text `{name}`")))]
    NoVersion {
        /// The requested live entry.
        id: String,
        /// Its file, relative to the folder that holds `.ralph/`.
        path: String,
        /// The requested version.
        version: Option<String>,
    },
    /// Another entry of the same scope has this title.
    #[error("`{id}` already has the title \"{title}\"")]
    TitleTaken {
        /// The requested title.
        title: String,
        /// The other entry.
        id: String,
    },
    /// The entry is in the archive, not among the live entries.
    #[error("`{id}` is already in the archive")]
    AlreadyArchived {
        /// The requested entry.
        id: String,
    },
    /// The log has no operation that could be taken back, or none with this number.
    #[error("{}", no_operation(*.number))]
    NoOperation {
        /// The requested number.
        number: Option<u64>,
    },
    /// Nothing was taken back since the last change, so nothing can be brought back.
    #[error("there is nothing to redo")]
    NothingToRedo,
    /// An operation cannot be taken back.
    #[error("cannot undo operation {number}: {reason}")]
    NotUndoable {
        /// Its number.
        number: u64,
        /// The reason.
        reason: String,
    },
    /// An operation cannot be taken back, because its files have changed since.
    #[error("cannot undo operation {number}: {} changed since{}", list_some(.files), in_operation(*.by))]
    ChangedSince {
        /// Its number.
        number: u64,
        /// The files, relative to the folder that holds `.ralph/`.
        files: Vec<String>,
        /// The newest operation that changed one of them; `None` if another program did.
        by: Option<u64>,
    },
    /// Taking back an operation failed half-way, and the finished part could not be reverted.
    #[error("operation {number} was taken back only in part")]
    HalfUndone {
        /// The number of the operation that was to be taken back.
        number: u64,
        /// Why the rest was not.
        source: Box<Error>,
    },
    /// An argument is invalid.
    #[error("{what}: {reason}")]
    Invalid {
        /// The argument.
        what: Argument,
        /// The reason.
        reason: String,
    },
    /// An argument looks like a secret, which would be committed.
    #[error("{what}, line {line}: this looks like a secret: {pattern}, fingerprint {fingerprint}")]
    Secret {
        /// The argument, in the caller's terms.
        what: &'static str,
        /// The line in it, counted from 1.
        line: u32,
        /// The kind of secret.
        pattern: &'static str,
        /// The fingerprint that allows it.
        fingerprint: String,
    },
    /// A file cannot be edited safely.
    #[error("cannot edit `{path}`: {reason}")]
    Uneditable {
        /// The file, relative to the folder that holds `.ralph/`.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The text that the editor saved is not valid for the entry.
    #[error("the new text of `{path}` is not valid: {}", first(.problems))]
    InvalidEdit {
        /// The entry's file, relative to the folder that holds `.ralph/`.
        path: String,
        /// What is wrong with it.
        problems: Vec<Problem>,
    },
    /// A budget has no room for the parts that a text always has.
    #[error("a {text} needs at least {least} {unit}, but the budget is {given}")]
    BudgetTooSmall {
        /// The text: "context" or "briefing".
        text: &'static str,
        /// The unit of the budget: "characters" or "tokens".
        unit: &'static str,
        /// The budget.
        given: usize,
        /// The smallest budget that is enough.
        least: usize,
    },
    /// An entry cannot replace one that replaces it.
    #[error("`{new}` cannot replace `{old}`: `{link}` replaces `{new}`")]
    SupersedesCycle {
        /// The entry that was to replace the other one.
        new: String,
        /// The other one.
        old: String,
        /// The entry whose `supersedes` names `new`: `old`, or one that `old` replaces.
        link: String,
    },
    /// An agent's text is one that an entry had before.
    #[error("`{id}` said that before, and {reason}")]
    Outdated {
        /// The entry.
        id: String,
        /// What happened to that text, and what the entry says now.
        reason: String,
    },
    /// A file changed between reading and replacing it.
    #[error("`{path}` was changed by another program at the same time")]
    Conflict {
        /// The file.
        path: PathBuf,
        /// Where the other program's version is, if it had to be moved.
        kept: Option<PathBuf>,
    },
    /// Another process held a lock for longer than the time-out.
    #[error("`{path}` was still locked after {waited_ms} ms{}", holder_suffix(.holder.as_ref()))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long this process waited, in milliseconds.
        waited_ms: u64,
        /// What the holder wrote about itself.
        holder: Option<String>,
    },
    /// A path leaves the folder, or goes through a link.
    #[error("`{path}` is outside the memory folder or reached through a link")]
    OutsideRoot {
        /// The path.
        path: PathBuf,
    },
    /// A memory in a parent folder belongs to another user, who may have put it there on purpose.
    #[error("`{path}` belongs to the user with id {owner}, and you are the one with id {user}")]
    ForeignOwner {
        /// The folder: `.ralph`, or the one that holds it.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
        /// The user id of this process.
        user: u32,
    },
    /// The file system refused.
    #[error("cannot {action} `{path}`")]
    Io {
        /// The attempted action, as a verb: "read", "write", "create".
        action: &'static str,
        /// Its object.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The search index failed in a way that a rebuild did not fix.
    #[error("cannot use the search index in `{path}`")]
    Index {
        /// The index folder.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An attempt could not be written to the journal. All of it is in a file outside of the project, from which
    /// [`Memory::record_kept`](crate::Memory::record_kept) writes it.
    #[error("cannot record the attempt in `{root}`; its agent's output is saved in `{kept}`")]
    NotRecorded {
        /// The folder that holds `.ralph/`, or should.
        root: PathBuf,
        /// The file.
        kept: PathBuf,
        /// Why it could not be recorded.
        source: Box<Error>,
    },
    /// An attempt could neither be written to the journal nor kept outside of the project.
    #[error("cannot record the attempt in `{root}`, nor save its agent's output: {reason}")]
    NotKept {
        /// The folder that holds `.ralph/`, or should.
        root: PathBuf,
        /// The content of the file, so that the caller can save it.
        text: String,
        /// Why it could not be kept.
        reason: String,
        /// Why it could not be recorded.
        source: Box<Error>,
    },
    /// An agent is still running although its run has ended.
    #[error("cannot begin an attempt: the agent of attempt {number} of {run_id} is still running as process {pid}")]
    StillWorking {
        /// The run, which was killed.
        run_id: String,
        /// The number of the agent's attempt in it.
        number: u32,
        /// The agent's process.
        pid: u32,
    },
    /// A run in progress records its own attempts.
    #[error("a run is working on this task and records its attempts: attempt {number} of {run_id}")]
    Held {
        /// The run.
        run_id: String,
        /// The number of its attempt.
        number: u32,
    },
    /// An argument cannot be used: a command, a prompt template, a checklist, a folder for logs, or a file to write.
    #[error("{message}")]
    Unusable {
        /// The reason.
        message: String,
        /// What to use instead.
        hint: String,
    },
    /// Some files of clients were written before the next one failed.
    #[error("setup stopped half-way; it has written {}", list(.written))]
    PartlySetUp {
        /// The files that were written.
        written: Vec<PathBuf>,
        /// Why the next one could not be written.
        source: Box<Error>,
    },
    /// A bug ended the call.
    #[error("a bug stopped the call: {message}")]
    Panicked {
        /// The message of the panic.
        message: String,
    },
    /// `git` could not be run or refused.
    #[error("`git {command}` failed: {reason}")]
    Git {
        /// The arguments.
        command: String,
        /// The last line that it wrote to its error output.
        reason: String,
    },
}

impl Error {
    /// Returns an [`Error::Invalid`].
    pub(crate) fn invalid(what: impl Into<Argument>, reason: impl Into<String>) -> Error {
        Error::Invalid { what: what.into(), reason: reason.into() }
    }

    /// Returns the message and those of the causes in one line, from the outermost to the innermost.
    #[cfg(feature = "runner")]
    pub(crate) fn with_causes(&self) -> String {
        let causes = std::iter::successors(Some(self as &dyn std::error::Error), |error| error.source());
        causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    }
}

fn elsewhere(above: Option<&Path>) -> String {
    above.map_or_else(
        || " or above it".to_owned(),
        |above| format!("; the nearest one above is in `{}`", above.display()),
    )
}

fn no_operation(number: Option<u64>) -> String {
    number.map_or_else(
        || "there is nothing to undo".to_owned(),
        |number| format!("there is no operation {number} in the undo log"),
    )
}

/// Describes the first problem, and counts the others.
fn first(problems: &[Problem]) -> String {
    let Some(first) = problems.first() else { return String::new() };
    let line = first.line.map(|line| format!("line {line}: ")).unwrap_or_default();
    let more = if problems.len() > 1 { format!(" (and {} more)", problems.len() - 1) } else { String::new() };
    format!("{line}{}{more}", first.message)
}

/// Lists the first files.
fn list_some(files: &[String]) -> String {
    const MAX: usize = 5;
    let shown: Vec<String> = files.iter().take(MAX).map(|file| format!("`{file}`")).collect();
    let more = files.len().saturating_sub(MAX);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

fn in_operation(number: Option<u64>) -> String {
    number.map(|number| format!(", in operation {number}")).unwrap_or_default()
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ")
}

fn holder_suffix(holder: Option<&String>) -> String {
    holder.map(|holder| format!(" by {holder}")).unwrap_or_default()
}

/// Reads to the end. Returns `None` if there are more than `limit` bytes; it reads at most one byte beyond the limit.
///
/// # Errors
///
/// Those of reading.
pub fn read_limited(from: impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Adds the path and the action to an I/O error.
pub(crate) trait IoContext<T> {
    /// Wraps the error, if there is one, as [`Error::Io`].
    fn io(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T, E: Into<io::Error>> IoContext<T> for std::result::Result<T, E> {
    fn io(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|source| Error::Io { action, path: path.into(), source: source.into() })
    }
}
