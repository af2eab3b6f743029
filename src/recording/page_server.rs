//! The file that leads a browser to the page of a memory. The address has a secret that lets its holder change the memory, so it
//! is kept in no other file.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::open::Memory;
use crate::store::write_private;

/// The folder below `state/`.
const FOLDER: &str = "page";
/// Arguments of a program can be read by every user, and this file cannot.
const LAUNCHER: &str = "open.html";

impl Memory {
    /// Writes a file that leads a browser to the page at this address, readable for its user only, and returns its path.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`](crate::Error::Locked) where another process kept writing, and [`Error::Io`](crate::Error::Io)
    /// where the state cannot be written.
    #[doc(hidden)]
    pub fn page_launcher(&self, address: &str) -> Result<PathBuf> {
        let folder = self.workspace.store.state().join(FOLDER);
        let _lock = self.workspace.lock_within_git()?;
        let html = format!(
            "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url={address}\"><title>ralph-memory</title>\n"
        );
        let failed = |source| Error::Io { action: "write", path: folder.join(LAUNCHER), source };
        write_private(&folder, LAUNCHER, html.as_bytes()).map_err(failed)
    }
}
