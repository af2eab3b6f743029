//! What goes wrong, in two strengths.
//!
//! An [`Error`] stops a call. A [`Problem`] is found in one file while a call goes on with the
//! others, and is reported beside its result. This module knows nothing of terminals or exit codes:
//! the program maps errors to them in one place.

mod argument;
mod findings;
mod kind;
mod problem;

use std::path::{Path, PathBuf};

pub use self::argument::Argument;
pub(crate) use self::findings::Findings;
pub use self::findings::{MAX_IN_ALL, MAX_OF_FILE, Tally};
pub use self::kind::ErrorKind;
pub use self::problem::{Message, Problem, Severity};

/// The result of a call that can be stopped by an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call could not do what it was asked.
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
    /// There is no `.ralph/` folder here, or none here and above.
    #[error("no `.ralph` folder in `{start}`{}", elsewhere(above.as_deref()))]
    NoMemory {
        /// Where it was looked for.
        start: PathBuf,
        /// The nearest folder above that has one, where only `start` was looked at.
        above: Option<PathBuf>,
    },
    /// The folder was made by a newer program.
    #[error("`{path}` has format {found}, and this program knows formats up to {known}")]
    NewerFormat {
        /// The settings file that says so.
        path: PathBuf,
        /// The format it names.
        found: u64,
        /// The newest format known.
        known: u64,
    },
    /// A settings file or variable does not say what it must.
    #[error("cannot read the settings in `{place}`: {reason}")]
    Settings {
        /// The file, with the line where known, or the environment variable.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No entry has this id.
    #[error("there is no entry `{id}`")]
    NoSuchEntry {
        /// The id that was asked for.
        id: String,
        /// Ids that look alike, nearest first.
        similar: Vec<String>,
    },
    /// The archive has nothing to bring back.
    #[error("the archive has no version of `{id}`")]
    NotArchived {
        /// The live entry that was asked for.
        id: String,
    },
    /// The caller gave something that no entry can hold.
    #[error("{what}: {reason}")]
    Invalid {
        /// The argument.
        what: Argument,
        /// What is wrong with it.
        reason: String,
    },
    /// The caller gave what looks like a secret, which would be committed.
    #[error("{what}, line {line}: this looks like a secret: {pattern}, fingerprint {fingerprint}")]
    Secret {
        /// The argument, as the caller knows it.
        what: &'static str,
        /// The line in it, counted from 1.
        line: u32,
        /// What sort of secret.
        pattern: &'static str,
        /// What it can be allowed by.
        fingerprint: String,
    },
    /// A file cannot be changed without harming what it says.
    #[error("cannot edit `{path}`: {reason}")]
    Uneditable {
        /// The file, relative to the folder that holds `.ralph/`.
        path: String,
        /// What stands in the way.
        reason: String,
    },
    /// A file changed between reading and replacing it.
    #[error("`{path}` was changed by another program at the same time")]
    Conflict {
        /// The file.
        path: PathBuf,
        /// Where the other program's version was kept, when it had to be moved.
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
    /// A memory that was found by looking upward belongs to another user, who may have put it there for this one.
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
        /// What was attempted, as a verb: "read", "write", "create".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The search index failed in a way that a rebuild did not fix.
    #[error("cannot use the search index in `{path}`")]
    Index {
        /// The index folder.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An attempt could not be written to the journal. All of it is in a file outside of the project, from which
    /// [`Memory::record_kept`](crate::Memory::record_kept) writes it.
    #[error("cannot record the attempt in `{root}`; what its agent said is kept in `{kept}`")]
    NotRecorded {
        /// The folder that holds `.ralph/`, or should.
        root: PathBuf,
        /// The file.
        kept: PathBuf,
        /// Why it could not be recorded.
        source: Box<Error>,
    },
    /// An attempt could neither be written to the journal nor kept outside of the project.
    #[error("cannot record the attempt in `{root}`, nor keep what its agent said: {reason}")]
    NotKept {
        /// The folder that holds `.ralph/`, or should.
        root: PathBuf,
        /// What would have been kept, for whoever can put it into a file.
        text: String,
        /// Why it could not be kept.
        reason: String,
        /// Why it could not be recorded.
        source: Box<Error>,
    },
    /// An agent is at work that nobody waits for.
    #[error(
        "cannot begin an iteration: the agent of iteration {number} of {run_id} is still at work, as process {pid}"
    )]
    StillWorking {
        /// The run, which was killed.
        run_id: String,
        /// The number of the agent's iteration in it.
        number: u32,
        /// The agent's process.
        pid: u32,
    },
    /// A run cannot use what it was given: a command, a prompt template, a checklist, or a folder for logs.
    #[error("{message}")]
    Unusable {
        /// What cannot be used, and why.
        message: String,
        /// What to give instead.
        hint: String,
    },
    /// A bug ended the call.
    #[error("a bug stopped the call: {message}")]
    Panicked {
        /// What the panic said.
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
}

fn elsewhere(above: Option<&Path>) -> String {
    above.map_or_else(|| " or above it".to_owned(), |above| format!("; the one above it is in `{}`", above.display()))
}

fn holder_suffix(holder: Option<&String>) -> String {
    holder.map(|holder| format!(" by {holder}")).unwrap_or_default()
}

/// Adds the path and the action to an I/O error.
pub(crate) trait IoContext<T> {
    /// Wraps the error, if there is one, as [`Error::Io`].
    fn io(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T, E: Into<std::io::Error>> IoContext<T> for std::result::Result<T, E> {
    fn io(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|source| Error::Io { action, path: path.into(), source: source.into() })
    }
}
