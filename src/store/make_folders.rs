//! Creates the folders that a file needs.

use std::io;

use super::folder::{Folder, check_path, split};
use super::layout::Store;
use super::temp::Durability;
use crate::system::posix::fs::{Mode, mkdirat};
use crate::system::posix::io::Errno;

/// The mode of a new folder, before the process's umask.
pub(super) const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);
/// The folders that only their user can read, below `.ralph/`.
const PRIVATE: [&str; 2] = ["state", "cache"];
/// Their mode.
const PRIVATE_FOLDER: Mode = Mode::from_raw_mode(0o700);

impl Store {
    /// Opens the folder at `path` below `.ralph/`, and creates its missing parts, except `.ralph/` itself. They are not made
    /// durable.
    pub(super) fn make_folders(&self, path: &str) -> io::Result<Folder> {
        self.check_writable()?;
        let is_private = PRIVATE.contains(&path.split('/').next().unwrap_or_default());
        let mode = if is_private { PRIVATE_FOLDER } else { NEW_FOLDER };
        self.folder("")?.make_folders(path, mode, Durability::Unsynced, &mut |_| Ok(()))
    }

    /// Opens the folder of the file at `path`, creates its missing parts, and returns it with the file's name.
    pub(super) fn make_parent<'a>(&self, path: &'a str) -> io::Result<(Folder, &'a str)> {
        check_path(path)?;
        let (folder, name) = split(path);
        Ok((self.make_folders(folder)?, name))
    }
}

impl Folder {
    /// Opens the folder at `path` below this one, and creates its missing parts with this mode; `before` is called with
    /// the path of each that is missing.
    pub(super) fn make_folders(
        &self,
        path: &str,
        mode: Mode,
        durability: Durability,
        before: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> io::Result<Folder> {
        match self.descend(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => return result,
        }
        let mut folder = self.descend("")?;
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for (part, end) in path.split('/').zip(ends) {
            folder = match folder.descend(part) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    before(&path[..end])?;
                    match mkdirat(&folder, part, mode) {
                        Ok(()) if durability == Durability::Synced => folder.sync()?,
                        // Another process may have just created it.
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    folder.descend(part)?
                }
                result => result?,
            };
        }
        Ok(folder)
    }
}
