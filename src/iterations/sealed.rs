//! Files below `state/` that are trusted only if this program wrote them, for this user, on this machine and in this folder.
//!
//! They do not belong into version control, but a repository, an archive or a copy may contain such files. So each ends
//! with a checksum whose key depends on this user, machine and folder (see
//! [`Store::state_key`](crate::store::Store::state_key)). A file without it is not read, whatever git says about it.

use std::io;

use crate::error::{Error, Result};
use crate::git::WorkTree;
use crate::store::{Lock, SealKey};
use crate::workspace::Workspace;

/// The file with the options of the newest run, below `state/`.
const OPTIONS: &str = "run.json";

/// Writes a file below `state/`, with its checksum.
pub(super) fn write_sealed(workspace: &Workspace, lock: &Lock, name: &str, mut text: Vec<u8>) -> Result<()> {
    let key = workspace.store.make_state_key().map_err(|source| no_key(workspace, source))?;
    seal(&mut text, &key);
    workspace.store.write_state(lock, name, &text)
}

/// Appends the checksum to the content of a file.
pub(crate) fn seal(text: &mut Vec<u8>, key: &SealKey) {
    let line = key.line(text);
    text.extend(line);
}

/// Returns the content of a file without its last line, if that proves that it was written here; else why it is not
/// trusted.
pub(crate) fn unsealed(bytes: &[u8], key: Option<SealKey>) -> std::result::Result<&[u8], String> {
    let text = key.and_then(|key| key.unsealed(bytes));
    text.ok_or_else(|| {
        "it was not written by you, on this machine and in this folder, or it is of an older version".to_owned()
    })
}

/// Returns the key of the checksums; `None` if this user never locked anything here, and so wrote nothing.
pub(super) fn state_key(workspace: &Workspace) -> Result<Option<SealKey>> {
    workspace.store.state_key().map_err(|source| no_key(workspace, source))
}

fn no_key(workspace: &Workspace, source: io::Error) -> Error {
    Error::Io { action: "look at", path: workspace.store.state().join("lock"), source }
}

/// Saves the options of a run: any text. It replaces the options of another run.
pub(crate) fn keep_options(workspace: &Workspace, options: &str) -> Result<()> {
    write_sealed(workspace, &workspace.lock_within_git()?, OPTIONS, options.as_bytes().to_owned())
}

/// Returns the text that [`keep_options`] saved on this machine, in this folder. It may name commands, so a file from
/// elsewhere, or one that git tracks, is not trusted.
pub(crate) fn kept_options(workspace: &Workspace) -> Option<String> {
    let path = format!("state/{OPTIONS}");
    let is_tracked = |tree: WorkTree| tree.tracked(&[&path]).map_or(true, |tracked| !tracked.is_empty());
    if workspace.work_tree().is_some_and(is_tracked) {
        return None;
    }
    let file = workspace.store.read(&path).ok()?;
    let bytes = unsealed(&file.bytes, state_key(workspace).ok()?).ok()?;
    String::from_utf8(bytes.to_owned()).ok()
}
