//! Which process serves the page of a memory, so that a second one finds the first.
//!
//! The address contains a token that lets its holder change the memory. So only its user can read the file, and it is
//! trusted only if a process that is still running wrote it, on this machine and in this folder.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::process_identity::ProcessIdentity;
use super::sealed;
use crate::error::{Error, Result};
use crate::store::write_private;
use crate::workspace::Workspace;

/// The folder below `state/`, and the file there with the server.
const FOLDER: &str = "page";
const SERVER: &str = "page/server.json";
/// A file that leads a browser to the page: arguments of a program can be read by every user, and this file cannot.
const LAUNCHER: &str = "open.html";

/// A server of the page of a memory.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::PageServer;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let first = PageServer { port: 7171, token: "b7f3".into(), process: None };
/// assert_eq!(memory.claim_page(&first)?, None);
/// assert_eq!(first.address(), "http://127.0.0.1:7171/b7f3/");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageServer {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The secret part of the address.
    pub token: String,
    /// The process; without one, nobody finds this server.
    pub process: Option<ProcessIdentity>,
}

impl PageServer {
    /// Returns the address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    fn is_alive(&self) -> bool {
        self.process.as_ref().is_some_and(ProcessIdentity::is_alive)
    }
}

/// Notes that `server` serves the page of this memory. Returns the server that does so already, if there is one; then nothing
/// is noted.
pub(crate) fn claim_page(workspace: &Workspace, server: &PageServer) -> Result<Option<PageServer>> {
    let lock = workspace.lock_within_git()?;
    if let Some(other) = page_server(workspace).filter(|other| other.process != server.process) {
        return Ok(Some(other));
    }
    sealed::write(workspace, &lock, SERVER, server)?;
    Ok(None)
}

/// Returns the server of the page of this memory that runs now, if there is one.
pub(crate) fn page_server(workspace: &Workspace) -> Option<PageServer> {
    sealed::read(workspace, SERVER).filter(PageServer::is_alive)
}

/// Writes a file that leads a browser to the page, and returns its path.
pub(crate) fn page_launcher(workspace: &Workspace, server: &PageServer) -> Result<PathBuf> {
    let folder = workspace.store.state().join(FOLDER);
    let _lock = workspace.lock_within_git()?;
    let is_safe = server.token.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let address = if is_safe { server.address() } else { String::new() };
    let html = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url={address}\"><title>ralph-memory</title>\n"
    );
    let failed = |source| Error::Io { action: "write", path: folder.join(LAUNCHER), source };
    write_private(&folder, LAUNCHER, html.as_bytes()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::memory::Memory;

    fn server(port: u16) -> PageServer {
        PageServer { port, token: "t".to_owned(), process: ProcessIdentity::this_process() }
    }

    #[test]
    fn only_a_living_server_of_this_memory_is_found() {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        let memory = Memory::open(folder.path()).unwrap();
        assert_eq!(memory.page_server(), None);
        assert_eq!(memory.claim_page(&server(1)).unwrap(), None);
        assert_eq!(memory.page_server(), Some(server(1)));

        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let other = PageServer { process: ProcessIdentity::of(child.id()), ..server(2) };
        assert_eq!(memory.claim_page(&other).unwrap(), Some(server(1)), "the first one runs");
        assert_eq!(memory.page_server(), Some(server(1)));
        fs::remove_dir_all(folder.path().join(".ralph/state/page")).unwrap();
        assert_eq!(memory.claim_page(&other).unwrap(), None);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(memory.page_server(), None, "a server that was killed");
        assert_eq!(memory.claim_page(&server(3)).unwrap(), None);

        let file = folder.path().join(".ralph/state/page/server.json");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let forged = fs::read_to_string(&file).unwrap().replace("\"port\":3", "\"port\":4");
        fs::write(&file, forged).unwrap();
        assert_eq!(memory.page_server(), None, "a file from elsewhere");
    }
}
