//! Files outside of a memory, below a folder that the user chose: a project, or a home.
//!
//! Every path is opened below that folder, part by part and never through a link. A reader sees the old bytes or the
//! new ones, and only bytes that the caller has read are replaced or removed. This file knows nothing about their meaning.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{AtFlags, OFlags, fstat, mkdirat, unlinkat};
use rustix::io::Errno;

use super::folder::{Abilities, FileKind, FileStat, Folder, check_path};
use super::layout::is_missing;
use super::make_folders::NEW_FOLDER;
use super::read::Unreadable;
use super::replace_file::replace_in;
use super::sweep::sweep_outside;
use super::temp::{Access, Durability, Temp, rename_new};

/// A folder outside of a memory, and everything below it.
#[derive(Debug)]
pub(crate) struct OutsideFolder(Folder);

impl OutsideFolder {
    /// Opens a folder by a path from the user, and follows links in it.
    pub(crate) fn open(path: &Path) -> io::Result<OutsideFolder> {
        Ok(OutsideFolder(Folder::open_root(path)?))
    }

    /// Reads a regular file of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// `Unreadable` says what is there instead.
    pub(crate) fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, Unreadable> {
        // With `NONBLOCK` the open of a FIFO returns at once; on a regular file it means nothing.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(self.0.open_below(path, flags)?);
        let stat = FileStat::of(&file)?;
        if stat.kind != FileKind::File {
            return Err(Unreadable::NotAFile);
        }
        let mut bytes = Vec::new();
        // The file may grow while it is read, so its size is not a limit; this is.
        file.take(limit + 1).read_to_end(&mut bytes)?;
        let size = stat.size.max(bytes.len() as u64);
        if size > limit { Err(Unreadable::TooLarge { size }) } else { Ok(bytes) }
    }

    /// Returns whether nobody may write the file, as its mode says.
    pub(crate) fn is_read_only(&self, path: &str) -> io::Result<bool> {
        let file = self.0.open_below(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        Ok(fstat(&file)?.st_mode & 0o222 == 0)
    }

    /// Creates a file, and the folders that it needs; returns these, outermost first. A name that is taken is the error
    /// `AlreadyExists`.
    pub(crate) fn create(&self, path: &str, bytes: &[u8]) -> io::Result<Vec<String>> {
        let mut made = Vec::new();
        let created = self.create_with_folders(path, bytes, &mut made);
        if created.is_err() {
            for folder in made.iter().rev() {
                let _ = self.remove_folder(folder);
            }
        }
        created.map(|()| made)
    }

    fn create_with_folders(&self, path: &str, bytes: &[u8], made: &mut Vec<String>) -> io::Result<()> {
        check_path(path)?;
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folder = self.0.descend("")?;
        let mut at = String::new();
        for part in parents.split('/').filter(|part| !part.is_empty()) {
            at = if at.is_empty() { part.to_owned() } else { format!("{at}/{part}") };
            folder = match folder.descend(part) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match mkdirat(&folder, part, NEW_FOLDER) {
                        Ok(()) => {
                            made.push(at.clone());
                            folder.sync()?;
                        }
                        // Another process may have created it just now.
                        Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    folder.descend(part)?
                }
                result => result?,
            };
        }
        let temp = Temp::write(&folder, bytes, Access::New, Durability::Synced)?;
        let abilities = Abilities { rename_flags: true, hard_links: true };
        rename_new(abilities, (&folder, temp.name()), (&folder, name))?;
        temp.keep();
        // The file is in place; the rest depends on the system.
        let _ = folder.sync();
        Ok(())
    }

    /// Replaces the bytes of a file, if they are `expected`, with `new`; its mode stays. Returns `false`, and changes
    /// nothing, if it no longer contains `expected`.
    pub(crate) fn replace(&self, path: &str, expected: &[u8], new: &[u8]) -> io::Result<bool> {
        let (folder, name) = self.parent(path)?;
        replace_in(&folder, OsStr::new(name), new, || self.contains(path, expected))
    }

    /// Removes a file, if its bytes are `expected`. Returns `false`, and removes nothing, if they are not.
    pub(crate) fn remove(&self, path: &str, expected: &[u8]) -> io::Result<bool> {
        let (folder, name) = self.parent(path)?;
        if !self.contains(path, expected)? {
            return Ok(false);
        }
        unlinkat(&folder, name, AtFlags::empty())?;
        let _ = folder.sync();
        Ok(true)
    }

    /// Removes the temporary files that processes left in a folder below when they were killed.
    pub(crate) fn sweep(&self, path: &str) {
        if let Ok(folder) = self.0.descend(path) {
            sweep_outside(&folder);
        }
    }

    /// Removes a folder if it is empty. Returns whether it is gone.
    pub(crate) fn remove_folder(&self, path: &str) -> io::Result<bool> {
        let (parent, name) = self.parent(path)?;
        match unlinkat(&parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn parent<'a>(&self, path: &'a str) -> io::Result<(Folder, &'a str)> {
        check_path(path)?;
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.0.descend(parents)?, name))
    }

    fn contains(&self, path: &str, expected: &[u8]) -> io::Result<bool> {
        match self.read(path, expected.len() as u64) {
            Ok(bytes) => Ok(bytes == expected),
            Err(Unreadable::Io(error)) if !is_missing(&error) => Err(error),
            Err(_) => Ok(false),
        }
    }
}
