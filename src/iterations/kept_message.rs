//! Messages that are not recorded yet, each saved in a file outside of the project.
//!
//! Like a saved attempt, a message is saved before the memory is touched, without its secrets, in a folder that only
//! its user can read and write. So it survives a lock that stays taken, a full disk and a kill, and no file of a
//! repository is taken for one.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::kept_file::{canonical, prefix};
use super::process_identity::ProcessIdentity;
use super::session_message::SessionMessage;
use super::state_folders::StateFolders;
use crate::journal::check_run_name;
use crate::secret::redact;
use crate::store::{private_names, read_if_begins, write_private};
use crate::workspace::Workspace;

/// The format of the files.
const VERSION: u64 = 1;
/// The beginning of each of them.
const START: &[u8] = b"{\"ralph_memory_message\":";
/// The end of their names.
const EXTENSION: &str = ".message";
/// How many are read at once.
const MAX_READ: usize = 100;
/// The largest file that is read, in bytes: a message of 1 MiB, escaped at its worst.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageFile {
    ralph_memory_message: u64,
    /// The folder that holds `.ralph/`, without links.
    root: String,
    kept_at: DateTime<Utc>,
    /// The process that is recording it.
    holder: Option<ProcessIdentity>,
    run: Option<String>,
    /// The session, and when it began.
    #[serde(default)]
    session: Option<(String, DateTime<Utc>)>,
    model: Option<String>,
    redacted: bool,
    text: String,
}

/// Saves a message, and returns the file; `None` if no folder can be written.
pub(crate) fn keep_message(workspace: &Workspace, folders: &StateFolders, message: &SessionMessage) -> Option<PathBuf> {
    let text = redact(&message.text, &workspace.settings.allowed_secrets);
    let root = canonical(workspace.root());
    let process = std::process::id();
    let name = format!("{}{:016x}-{process}{EXTENSION}", prefix(&root), xxh3_64(text.as_bytes()));
    let file = MessageFile {
        ralph_memory_message: VERSION,
        root,
        kept_at: message.at,
        holder: ProcessIdentity::this_process(),
        run: message.run.clone(),
        session: message.session.clone(),
        model: message.model.clone(),
        redacted: message.is_redacted || text != message.text,
        text,
    };
    let bytes = serde_json::to_vec(&file).ok()?;
    folders.0.iter().find_map(|folder| write_private(folder, &name, &bytes).ok())
}

/// Returns the saved messages of this memory that no process is recording, the oldest first, at most [`MAX_READ`].
pub(crate) fn kept_messages(workspace: &Workspace, folders: &StateFolders) -> Vec<(PathBuf, SessionMessage)> {
    let root = canonical(workspace.root());
    let start = prefix(&root);
    let mut kept = Vec::new();
    for folder in &folders.0 {
        let mut names = private_names(folder).unwrap_or_default();
        names.retain(|name| name.starts_with(&start) && name.ends_with(EXTENSION));
        names.sort();
        let paths = names.into_iter().map(|name| folder.join(name));
        kept.extend(paths.filter_map(|path| Some((read(&path, &root)?, path))).map(|(message, path)| (path, message)));
    }
    kept.sort_by_key(|(_, message)| message.at);
    kept.truncate(MAX_READ);
    kept
}

/// Reads a saved message of the memory in `root`; `None` if the file is not one, or a process is recording it.
fn read(path: &Path, root: &str) -> Option<SessionMessage> {
    let bytes = read_if_begins(path, START, MAX_BYTES).ok().flatten()?;
    let file: MessageFile = serde_json::from_slice(&bytes).ok()?;
    let is_free = !file.holder.as_ref().is_some_and(ProcessIdentity::is_alive);
    let is_run = file.run.as_ref().is_none_or(|run| check_run_name(run).is_ok());
    (file.ralph_memory_message == VERSION && file.root == root && is_free && is_run).then_some(SessionMessage {
        run: file.run,
        text: file.text,
        model: file.model,
        at: file.kept_at,
        session: file.session,
        is_redacted: file.redacted,
        was_kept: true,
    })
}
