//! Creates the folders that a file needs.

use std::io;

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;

use super::folder::{Folder, check_path};
use super::layout::Store;
use super::temp::Durability;
use super::undo::Change;

/// The mode of a new folder, before the process's umask.
pub(super) const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

impl Store {
    /// Opens the folder at `path` below `.ralph/`, and creates its missing parts, except `.ralph/` itself.
    pub(super) fn make_folders(&self, path: &str, durability: Durability) -> io::Result<Folder> {
        match self.folder(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Those of `cache/` and `state/` are not synced, and nothing in them is logged.
                if durability == Durability::Synced {
                    self.log_folders(path)?;
                }
                make_folders(&self.folder("")?, path, durability)
            }
            result => result,
        }
    }

    /// Writes down which folders are missing, from the outermost on.
    fn log_folders(&self, path: &str) -> io::Result<()> {
        check_path(path)?;
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for folder in ends.map(|end| &path[..end]) {
            if matches!(self.folder(folder), Err(error) if error.kind() == io::ErrorKind::NotFound) {
                self.before(&Change::Folder { path: folder.to_owned() }, b"")?;
            }
        }
        Ok(())
    }
}

/// Opens the folder at `path` below `start`, and creates its missing parts.
pub(super) fn make_folders(start: &Folder, path: &str, durability: Durability) -> io::Result<Folder> {
    let mut folder = start.descend("")?;
    if path.is_empty() {
        return Ok(folder);
    }
    check_path(path)?;
    for part in path.split('/') {
        let inner = match folder.descend(part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match mkdirat(&folder, part, NEW_FOLDER) {
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
