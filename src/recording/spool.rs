//! The spool: what is saved outside of the project until the journal has it, one file each.
//!
//! A file is written before the memory is touched, and removed once the journal has its content. So an attempt or a
//! message survives everything in between: a full disk, a lock that stays taken, a removed `.ralph/`, a kill. The files
//! are in folders that only their user can read. They contain no secrets. A file may come from anywhere, so names and
//! numbers in it are checked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::ended::EndedAttempt;
use super::open_attempt::{OpenAttempt, is_tree};
use super::process_identity::ProcessIdentity;
use crate::context::Task;
use crate::error::{Error, Problem, Result};
use crate::journal::history::RedactedReport;
use crate::journal::{check_name, check_number, check_run_name};
use crate::open::{NAME, StateFolders};
use crate::store::{private_names, read_if_begins, write_private};
use crate::text::secret::redact;
use crate::workspace::Workspace;

/// The format of the files.
const VERSION: u64 = 1;
/// The beginning of each of them, in every version. It distinguishes them from the output of an agent.
const START: &[u8] = b"{\"ralph_memory_kept\":";
/// The largest file that is read, in bytes: the longest answer, escaped at its worst, and everything else in it.
const MAX_BYTES: u64 = 128 * 1024 * 1024;
/// The ends of the names: of attempts, and of messages.
pub(super) const ATTEMPT: &str = ".json";
const MESSAGE: &str = ".message";
/// How many messages are returned at once.
const MAX_MESSAGES: usize = 100;

/// A message of an agent in a session, which a hook records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionMessage {
    /// The run that new attempts belong to; the default is the active one.
    pub run: Option<String>,
    /// Its text, without secrets.
    pub text: String,
    /// The model that wrote it, if known.
    pub model: Option<String>,
    /// When it was written.
    pub at: DateTime<Utc>,
    /// The session that it belongs to, and when that began, if known.
    pub session: Option<(String, DateTime<Utc>)>,
    /// Whether secrets were removed from the text.
    pub is_redacted: bool,
    /// Whether it comes from a file, which a call may have left behind after it recorded the message.
    #[serde(skip)]
    pub was_kept: bool,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Spooled {
    /// An attempt whose iteration is known.
    Attempt(Box<EndedAttempt>),
    /// An agent's output, for [`Memory::record`](crate::Memory::record). Without a task, it is about that which it names.
    Output { run: Option<String>, task: Option<Task>, said: Box<RedactedReport>, at: DateTime<Utc> },
    /// A message of a session.
    Message(SessionMessage),
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpoolFile {
    ralph_memory_kept: u64,
    /// The folder that holds `.ralph/`, without links.
    pub(super) root: String,
    /// The process that is writing it to the journal.
    holder: Option<ProcessIdentity>,
    pub(super) content: Spooled,
}

impl SpoolFile {
    pub(super) fn new(root: &Path, content: Spooled) -> SpoolFile {
        SpoolFile { ralph_memory_kept: VERSION, root: canonical(root), holder: None, content }
    }

    /// Returns the same file, which other processes leave alone while this one runs.
    pub(super) fn held(self) -> SpoolFile {
        SpoolFile { holder: ProcessIdentity::this_process(), ..self }
    }

    /// Writes it into the first writable folder, and returns its path.
    pub(super) fn write(&self, folders: &StateFolders) -> Result<PathBuf> {
        let mut failed = None;
        for folder in &folders.0 {
            let bytes = serde_json::to_vec(self).map_err(io::Error::from);
            match bytes.and_then(|bytes| write_private(folder, &self.name(), &bytes)) {
                Ok(path) => return Ok(path),
                Err(source) => failed = Some(Error::Io { action: "write to", path: folder.clone(), source }),
            }
        }
        let nowhere = || Error::Io { action: "find", path: NAME.into(), source: io::ErrorKind::NotFound.into() };
        Err(failed.unwrap_or_else(nowhere))
    }

    /// Returns its name: the same for the same content, and another one for any other.
    fn name(&self) -> String {
        let place = prefix(&self.root);
        match &self.content {
            // Whoever calls again because the first call failed tells the same attempt.
            Spooled::Attempt(ended) if ended.iteration.is_unmeasured => {
                format!("{place}{}-{:016x}{ATTEMPT}", ended.iteration.task_id(), hash(&ended.said))
            }
            // Its report grows until it is finished.
            Spooled::Attempt(ended) => {
                let (OpenAttempt { run_id, number, .. }, text) = (&ended.iteration, &ended.said.transcript.text);
                format!("{place}{run_id}-{number:04}-{:016x}{ATTEMPT}", xxh3_64(text.as_bytes()))
            }
            Spooled::Output { run, task, said, .. } => {
                format!("{place}unnamed-{:016x}{ATTEMPT}", hash(&(run, task, said)))
            }
            // Each of two hooks removes its own.
            Spooled::Message(message) => {
                let hash = xxh3_64(message.text.as_bytes());
                format!("{place}{hash:016x}-{}{MESSAGE}", std::process::id())
            }
        }
    }

    /// Reads a file; `None` where it is another file, such as the output of an agent.
    pub(super) fn read(path: &Path) -> Result<Option<SpoolFile>> {
        let failed = |source| Error::Io { action: "read", path: path.to_owned(), source };
        let Some(bytes) = read_if_begins(path, START, MAX_BYTES).map_err(failed)? else { return Ok(None) };
        let what = || format!("`{}`", path.display());
        let digits: Vec<u8> = bytes[START.len()..].iter().copied().take_while(u8::is_ascii_digit).take(18).collect();
        let found = String::from_utf8_lossy(&digits).parse().unwrap_or(0);
        if found > VERSION {
            return Err(Error::NewerFormat { path: path.to_owned(), found, known: VERSION });
        }
        let file: SpoolFile = serde_json::from_slice(&bytes)
            .map_err(|error| Error::invalid(what(), format!("it is damaged: {error}")))?;
        match file.check() {
            Err(Error::Invalid { what: part, reason }) => Err(Error::invalid(what(), format!("{part}: {reason}"))),
            checked => checked.map(|()| Some(file)),
        }
    }

    fn check(&self) -> Result<()> {
        let (run, task) = match &self.content {
            Spooled::Attempt(ended) => {
                check_number(ended.iteration.number)?;
                if ![&ended.iteration.tree, &ended.changes.tree].into_iter().flatten().all(|tree| is_tree(tree)) {
                    return Err(Error::invalid("tree", "it is not a git object's name"));
                }
                (Some(&ended.iteration.run_id), Some(&ended.iteration.task))
            }
            Spooled::Output { run, task, .. } => (run.as_ref(), task.as_ref()),
            Spooled::Message(message) => (message.run.as_ref(), None),
        };
        run.map_or(Ok(()), |run| check_run_name(run))?;
        task.map_or(Ok(()), |task| check_name("task id", &task.own_id()))
    }

    pub(super) fn is_of(&self, root: &str) -> bool {
        match self.content {
            // Without a memory, its folder was unknown.
            Spooled::Output { .. } => Path::new(&self.root).starts_with(root),
            Spooled::Attempt(_) | Spooled::Message(_) => self.root == root,
        }
    }

    /// Returns the error for an attempt that could not be saved, with all of it.
    pub(super) fn not_kept(&self, error: &Error, source: Error) -> Error {
        let reason = std::error::Error::source(error).map_or_else(String::new, |reason| format!(": {reason}"));
        Error::NotKept {
            root: self.root.clone().into(),
            text: serde_json::to_string(self).unwrap_or_default(),
            reason: format!("{error}{reason}"),
            source: Box::new(source),
        }
    }
}

/// Returns the files of a kind that this memory has in the spool and no process works on, and the problems of others.
pub(super) fn saved(
    workspace: &Workspace,
    folders: &StateFolders,
    extension: &str,
) -> (Vec<(PathBuf, SpoolFile)>, Vec<Problem>) {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    let root = canonical(workspace.root());
    let start = prefix(&root);
    for folder in &folders.0 {
        let mut names = private_names(folder).unwrap_or_else(|error| {
            let message = format!("saved attempts here cannot be read: {error}");
            problems.push(problem(folder, message, "check who owns the folder, and its permissions".to_owned()));
            Vec::new()
        });
        names.retain(|name| name.starts_with(&start) && name.ends_with(extension));
        names.sort();
        for path in names.into_iter().map(|name| folder.join(name)) {
            match SpoolFile::read(&path) {
                Ok(Some(file)) => {
                    let is_held = file.holder.as_ref().is_some_and(ProcessIdentity::is_alive);
                    all.extend((!is_held && file.is_of(&root)).then_some((path, file)));
                }
                Ok(None) => {}
                Err(error) => problems.push(problem(
                    &path,
                    format!("a saved attempt here cannot be read: {error}"),
                    "read it, and delete it".to_owned(),
                )),
            }
        }
    }
    (all, problems)
}

/// Saves a message, and returns the file; `None` if no folder can be written.
pub(crate) fn keep_message(workspace: &Workspace, folders: &StateFolders, message: &SessionMessage) -> Option<PathBuf> {
    SpoolFile::new(workspace.root(), Spooled::Message(message.clone())).held().write(folders).ok()
}

/// Returns the saved messages of this memory that no process is recording, the oldest first, at most [`MAX_MESSAGES`].
pub(crate) fn kept_messages(workspace: &Workspace, folders: &StateFolders) -> Vec<(PathBuf, SessionMessage)> {
    let messages = saved(workspace, folders, MESSAGE).0.into_iter().filter_map(|(path, file)| match file.content {
        Spooled::Message(message) => Some((path, SessionMessage { was_kept: true, ..message })),
        Spooled::Attempt(_) | Spooled::Output { .. } => None,
    });
    let mut messages: Vec<_> = messages.collect();
    messages.sort_by_key(|(_, message)| message.at);
    messages.truncate(MAX_MESSAGES);
    messages
}

impl SessionMessage {
    /// Returns the message without secrets.
    pub(crate) fn redacted(self, allowed: &[String]) -> SessionMessage {
        let text = redact(&self.text, allowed);
        SessionMessage { is_redacted: self.is_redacted || text != self.text, text, ..self }
    }
}

pub(super) fn problem(path: &Path, message: String, hint: String) -> Problem {
    Problem::warning(path.display().to_string(), "not-recorded", message, hint)
}

/// Returns the canonical path of a folder, or the given path if it cannot be resolved.
pub(super) fn canonical(root: &Path) -> String {
    fs::canonicalize(root).unwrap_or_else(|_| root.to_owned()).to_string_lossy().into_owned()
}

fn hash(content: &impl Serialize) -> u64 {
    xxh3_64(&serde_json::to_vec(content).unwrap_or_default())
}

fn prefix(root: &str) -> String {
    format!("{:016x}-", xxh3_64(root.as_bytes()))
}
