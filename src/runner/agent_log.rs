//! Keeps the full, unchanged output of agents: one file for each attempt, in a folder that the user named.
//!
//! Nothing in it is redacted. So it is never in the memory's folder, which is committed, and git ignores it if it is
//! created in the project.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use super::private_file::{create_new, random_name};
use crate::error::{Error, Result};
use crate::store::Folder;

/// The memory's folder, and those in it that may lie elsewhere behind a link.
const OWN: [&str; 4] = [".ralph", ".ralph/knowledge", ".ralph/journal", ".ralph/archive"];

/// A folder that keeps the full output of each agent, one file per attempt. Secrets are not redacted there.
///
/// ```
/// use ralph_memory::runner::AgentLog;
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// let log = AgentLog::open(&root.join("logs"), root)?;
/// assert!(root.join("logs").is_dir());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct AgentLog {
    folder: PathBuf,
}

/// The file of one attempt.
#[derive(Debug)]
pub(super) struct AgentLogFile {
    path: PathBuf,
    file: File,
    failed: Option<io::Error>,
}

impl AgentLog {
    /// Opens the folder, and creates it if it does not exist. `root` is the folder that holds `.ralph/`.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if it is in the memory, or cannot be written.
    pub fn open(folder: &Path, root: &Path) -> Result<AgentLog> {
        let refuse = |source: &io::Error| cannot_write(folder, source);
        let real = resolved(folder).map_err(|source| refuse(&source))?;
        if OWN.iter().filter_map(|own| fs::canonicalize(root.join(own)).ok()).any(|own| real.starts_with(own)) {
            return Err(Error::unusable(
                format!("the folder for agents' outputs lies in the memory: {}", folder.display()),
                "name another one: agents' outputs may hold secrets, and the memory is committed",
            ));
        }
        let project = fs::canonicalize(root).map_err(|source| refuse(&source))?;
        let is_in_project = real.starts_with(&project);
        if !is_in_project && [root, &project].iter().any(|root| is_named_below(folder, root)) {
            return Err(Error::unusable(
                format!("a link leads the folder for agents' outputs out of the project: {}", folder.display()),
                format!("name the folder that it leads to, if that is yours: {}", real.display()),
            ));
        }
        let make = || {
            let opened = Folder::make(&real)?;
            let probe = format!(".ralph-memory-{}", random_name());
            opened.create_private(&probe)?;
            opened.remove_file(&probe)?;
            let is_empty = fs::read_dir(&real)?.next().is_none();
            if is_empty && is_in_project {
                // Otherwise each attempt would seem to have created its own log.
                opened.create(".gitignore", b"*\n")?;
            }
            Ok(())
        };
        make().map_err(|source| refuse(&source))?;
        Ok(AgentLog { folder: real })
    }

    /// Creates the file of an attempt.
    pub(super) fn begin(&self, run_id: &str, number: u32) -> Result<AgentLogFile> {
        let names = (1_u64..).map(|time| match time {
            1 => format!("{run_id}-{number:04}.log"),
            time => format!("{run_id}-{number:04}-{time}.log"),
        });
        let folder = Folder::open(&self.folder).map_err(|error| cannot_write(&self.folder, &error))?;
        let (name, file) = create_new(&folder, names).map_err(|error| cannot_write(&self.folder, &error))?;
        Ok(AgentLogFile { path: self.folder.join(name), file, failed: None })
    }
}

impl AgentLogFile {
    /// Adds what the agent wrote. A full disk does not stop the run.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.file.write_all(bytes).err();
        }
    }

    /// Returns what a person should know about it.
    pub(super) fn warning(&self) -> Option<String> {
        let failed = self.failed.as_ref()?;
        Some(format!("`{}` does not have all that the agent wrote: {failed}", self.path.display()))
    }
}

fn cannot_write(path: &Path, source: &io::Error) -> Error {
    let message = format!("cannot write the output of agents to {}: {source}", path.display());
    Error::unusable(message, "name a folder that can be written; it is created where it does not exist")
}

/// Returns whether a path names a place below a folder, wherever its links lead.
fn is_named_below(path: &Path, folder: &Path) -> bool {
    let names = std::path::absolute(path).and_then(|path| Ok((path, std::path::absolute(folder)?)));
    let below = names.as_ref().ok().and_then(|(path, folder)| path.strip_prefix(folder).ok());
    below.is_some_and(|below| !below.components().any(|part| part == Component::ParentDir))
}

/// Returns where a folder is, or will be when it is created.
fn resolved(folder: &Path) -> io::Result<PathBuf> {
    let full = std::path::absolute(folder)?;
    let mut missing = Vec::new();
    for there in full.ancestors() {
        match fs::canonicalize(there) {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |path, name| path.join(name))),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(error) => match there.components().next_back() {
                Some(Component::Normal(name)) => missing.push(name),
                // What is above a missing folder is unknown.
                _ => return Err(error),
            },
        }
    }
    Err(io::ErrorKind::NotFound.into())
}
