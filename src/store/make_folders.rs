//! Creates the folders that a file needs.

use std::io;

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;

use super::folder::{Folder, check_path};
use super::layout::Store;
use super::temp::Durability;

/// The mode of a new folder, before the process's umask.
pub(super) const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);
/// The folders that only their user can read, below `.ralph/`.
const PRIVATE: [&str; 2] = ["state", "cache"];
/// Their mode.
const PRIVATE_FOLDER: Mode = Mode::from_raw_mode(0o700);

impl Store {
    /// Opens the folder at `path` below `.ralph/`, and creates its missing parts, except `.ralph/` itself.
    pub(super) fn make_folders(&self, path: &str, durability: Durability) -> io::Result<Folder> {
        match self.folder(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_folders(&self.folder("")?, path, mode_of(path), durability)
            }
            result => result,
        }
    }
}

/// Returns the mode of what is created in a folder below `.ralph/`, before the process's umask.
fn mode_of(path: &str) -> Mode {
    let first = path.split('/').next().unwrap_or_default();
    if PRIVATE.contains(&first) { PRIVATE_FOLDER } else { NEW_FOLDER }
}

/// Opens the folder at `path` below `start`, and creates its missing parts with this mode.
pub(super) fn make_folders(start: &Folder, path: &str, mode: Mode, durability: Durability) -> io::Result<Folder> {
    let mut folder = start.descend("")?;
    if path.is_empty() {
        return Ok(folder);
    }
    check_path(path)?;
    for part in path.split('/') {
        let inner = match folder.descend(part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match mkdirat(&folder, part, mode) {
                    Ok(()) if durability == Durability::Synced => folder.sync()?,
                    // Another process may have created it just now.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                folder.descend(part)?
            }
            result => result?,
        };
        folder = inner;
    }
    Ok(folder)
}
