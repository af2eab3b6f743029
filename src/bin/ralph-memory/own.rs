//! A person's own memory: where it is, who may write in it, and where it is read beside a project's.

use std::path::{Path, PathBuf};

use ralph_memory::memory::OWN;
use ralph_memory::system::posix::variable;
use ralph_memory::{Error, Id, Memory};

use crate::authors::{is_run_by_agent, run_of_environment};
use crate::error::UsageError;

/// Returns its folder, which may not exist; `None` without a home.
fn folder() -> Option<PathBuf> {
    // The base directory specification says that relative paths are ignored.
    let set = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local").join("share")))?;
    Some(data.join("ralph-memory").join(OWN))
}

/// Returns the folder where it is read beside a project: neither in a run nor in CI, whose results others see.
pub(crate) fn to_read() -> Option<PathBuf> {
    let is_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    folder().filter(|_| !is_ci && run_of_environment().is_none())
}

/// Returns the folder for a command that a person gives.
pub(crate) fn to_write() -> Result<PathBuf, UsageError> {
    leave_to_person()?;
    folder().ok_or_else(|| {
        let message = "there is no place for your own memory: neither HOME nor XDG_DATA_HOME is an absolute path";
        UsageError::new(message, "set HOME")
    })
}

/// Returns the folder of the one that exists.
pub(crate) fn existing() -> anyhow::Result<PathBuf> {
    let folder = to_write()?;
    if folder.join(".ralph").symlink_metadata().is_err() {
        return Err(Error::NoMemory { start: folder, above: None }.into());
    }
    Memory::check_own(&folder)?;
    Ok(folder)
}

/// Fails if a coding agent runs this process: only the person writes there.
pub(crate) fn leave_to_person() -> Result<(), UsageError> {
    if !is_run_by_agent() {
        return Ok(());
    }
    let message = "a person's own memory is theirs to change, and a coding agent runs this command";
    let hint = "add it to the project's memory, where the person reviews it with `ralph-memory list --unreviewed`, or tell \
                the person, who gives the command in a terminal of their own";
    Err(UsageError::new(message, hint))
}

/// Returns whether it is in this folder.
pub(crate) fn is_at(root: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(root);
    // An agent can set HOME and XDG_DATA_HOME, so the name alone is enough.
    root.ends_with("ralph-memory/own") || folder().is_some_and(|own| real(&own) == root)
}

/// Fails if this folder has it, for a command that is for projects alone.
pub(crate) fn leave_to_projects(root: &Path) -> Result<(), UsageError> {
    let message = "this command works on a project, not in your own memory";
    let refused = UsageError::new(message, "give it in the project's folder, without `--own`");
    if is_at(root) { Err(refused) } else { Ok(()) }
}

/// Fails as if there were no memory for a client's server or hook that is called in its folder.
pub(crate) fn hide_from_client(memory: Memory) -> anyhow::Result<Memory> {
    let start = memory.root().to_owned();
    if is_at(&start) { Err(Error::NoMemory { start, above: None }.into()) } else { Ok(memory) }
}

/// Takes `own:` off ids that all have it, and returns whether they had.
///
/// # Errors
///
/// [`UsageError`] if only some of them have it.
pub(crate) fn take_prefix<'a>(ids: impl Iterator<Item = &'a mut Id>) -> Result<bool, UsageError> {
    let (mut n_own, mut n_all) = (0, 0);
    for id in ids {
        n_all += 1;
        if let Some(own) = id.as_str().strip_prefix("own:").and_then(Id::parse) {
            *id = own;
            n_own += 1;
        }
    }
    if n_own > 0 && n_own < n_all {
        let message = "some of the entries are in your own memory, and some in the project's";
        return Err(UsageError::new(message, "call this once for each memory"));
    }
    Ok(n_own > 0)
}
