//! The file that leads a browser to the page of a memory. The address has a secret that lets its holder change the memory, so it
//! is kept in no other file.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::store::write_private;
use crate::workspace::Workspace;

/// The folder below `state/`.
const FOLDER: &str = "page";
/// Arguments of a program can be read by every user, and this file cannot.
const LAUNCHER: &str = "open.html";

/// Writes a file that leads a browser to this address, and returns its path.
pub(crate) fn page_launcher(workspace: &Workspace, address: &str) -> Result<PathBuf> {
    let folder = workspace.store.state().join(FOLDER);
    let _lock = workspace.lock_within_git()?;
    let html = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url={address}\"><title>ralph-memory</title>\n"
    );
    let failed = |source| Error::Io { action: "write", path: folder.join(LAUNCHER), source };
    write_private(&folder, LAUNCHER, html.as_bytes()).map_err(failed)
}
