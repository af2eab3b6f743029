//! Files outside of a memory: those of a project, of a home, and of a folder that a person named.
//!
//! This is the only way in which such a file is written or removed; `private.rs` has those that only their user can
//! read. A folder may be named through links. Below it, every path is opened part by part and never through a link, and
//! nothing but a regular file is replaced or removed: only with bytes that the caller has read, so that what another
//! program saves is not lost. A reader sees the old bytes or the new ones. This file knows nothing about their meaning.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, accessat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::folder::{Abilities, FileStat, Folder, check_name, check_path, parent_of};
use super::make_folders::NEW_FOLDER;
use super::read::{Unreadable, open_regular, read_all};
use super::replace_file::{WriteStep, replace_in};
use super::temp::{Access, Durability, Temp, rename_new};
use crate::error::{self, Error};

/// The largest file that [`write_file`] replaces, in bytes.
const MAX_REPLACED: usize = 64 * 1024 * 1024;
/// The mode of files for this user alone.
const PRIVATE: Mode = Mode::from_raw_mode(0o600);

/// Writes a file outside of a memory: a new one, with the folders that it needs, or all of a regular one.
///
/// ```
/// use ralph_memory::memory::write_file;
///
/// # let folder = tempfile::tempdir()?;
/// let page = folder.path().join("man1/loop.1");
/// write_file(&page, b"old")?;
/// write_file(&page, b"new")?;
/// assert_eq!(std::fs::read(&page)?, b"new");
///
/// let link = folder.path().join("link");
/// std::os::unix::fs::symlink(&page, &link)?;
/// assert!(write_file(&link, b"other").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Unusable`] where a link, a folder, a pipe or a device has the name: nothing is written through it.
/// [`Error::Conflict`] if another program writes the file at the same moment, and [`Error::Io`].
pub fn write_file(path: &Path, bytes: &[u8]) -> error::Result<()> {
    let failed = |source| Error::Io { action: "write", path: path.to_owned(), source };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
    let folder = OutsideFolder::make(parent_of(path)).map_err(failed)?;
    let written = match folder.read(name, MAX_REPLACED) {
        Ok(old) if old == bytes => Ok(true),
        Ok(old) => match folder.protection(name).map_err(failed)? {
            Some(reason) => return Err(not_written(path, reason)),
            None => folder.replace(name, &old, bytes),
        },
        Err(Unreadable::Missing) => folder.create(name, bytes).map(|_| true),
        Err(unreadable) => return Err(not_replaced(path, unreadable)),
    };
    match written {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::Conflict { path: path.to_owned(), kept: None }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::Conflict { path: path.to_owned(), kept: None })
        }
        Err(error) => Err(failed(error)),
    }
}

/// Returns the error of a file that cannot be replaced.
fn not_replaced(path: &Path, unreadable: Unreadable) -> Error {
    let reason = match unreadable {
        Unreadable::Link => "it is a link, and links are not followed",
        Unreadable::NotAFile => "it is not a regular file",
        Unreadable::TooLarge { .. } => "the file there is over 64 MiB",
        other => return other.into_error(path),
    };
    not_written(path, reason)
}

fn not_written(path: &Path, reason: &str) -> Error {
    let message = format!("cannot write `{}`: {reason}", path.display());
    Error::unusable(message, "move it away, or name another place")
}

/// Returns whether something is mounted at this name alone, as containers do with a single file.
#[cfg(target_os = "linux")]
fn is_mount(folder: &Folder, name: &str) -> bool {
    use rustix::fs::{StatxAttributes, StatxFlags, statx};

    statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty())
        .is_ok_and(|stat| stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(not(target_os = "linux"))]
fn is_mount(_: &Folder, _: &str) -> bool {
    false
}

/// A folder outside of a memory, and everything below it.
#[derive(Debug)]
pub(crate) struct OutsideFolder {
    folder: Folder,
    pub(super) abilities: Abilities,
}

impl OutsideFolder {
    /// Opens a folder by a path from the user, and follows links in it.
    pub(crate) fn open(path: &Path) -> io::Result<OutsideFolder> {
        Ok(OutsideFolder { folder: Folder::open_root(path)?, abilities: Abilities::ALL })
    }

    /// Does the same, and creates what is missing of the path.
    pub(crate) fn make(path: &Path) -> io::Result<OutsideFolder> {
        std::fs::create_dir_all(path)?;
        OutsideFolder::open(path)
    }

    /// Reads a regular file of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// `Unreadable` says what is there instead.
    pub(crate) fn read(&self, path: &str, limit: usize) -> Result<Vec<u8>, Unreadable> {
        let (file, raw) = open_regular(&self.folder, path)?;
        read_all(&file, FileStat::from_raw(&raw).size, limit)
    }

    /// Returns why a file must not, or cannot, be replaced; `None` where nothing is known against it.
    pub(crate) fn protection(&self, path: &str) -> io::Result<Option<&'static str>> {
        let (folder, name) = self.parent(path)?;
        let mode = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode;
        let is_denied = |name: &str| {
            let answer = accessat(&folder, name, rustix::fs::Access::WRITE_OK, AtFlags::EACCESS);
            matches!(answer, Err(Errno::ACCESS | Errno::ROFS))
        };
        Ok(if mode & 0o222 == 0 || is_denied(name) {
            // The rights of its folder would let this user put a file of their own into its place.
            Some("it is read-only")
        } else if is_denied(".") {
            Some("its folder is read-only")
        } else if is_mount(&folder, name) {
            Some("it is a mount of its own, and cannot be replaced")
        } else {
            None
        })
    }

    /// Creates a file of this name that only this user can read, and opens it for writing. A name that is taken, also by a
    /// link, is the error `AlreadyExists`.
    pub(crate) fn create_private(&self, name: &str) -> io::Result<File> {
        check_name(name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.folder, name, flags, PRIVATE)?.into())
    }

    /// Removes a file that this program has made for itself under a name that nobody else uses.
    pub(crate) fn discard(&self, name: &str) -> io::Result<()> {
        self.folder.remove_file(name)
    }

    /// Removes everything in the folder, which this program has made for itself.
    pub(crate) fn clear(&self) -> io::Result<()> {
        self.folder.clear()
    }

    /// Creates a file, and the folders that it needs; returns these, outermost first. A name that is taken is the error
    /// `AlreadyExists`.
    pub(crate) fn create(&self, path: &str, bytes: &[u8]) -> io::Result<Vec<String>> {
        let mut made = Vec::new();
        let created = self.create_with_folders(path, bytes, &mut made);
        if created.is_err() {
            for folder in made.iter().rev() {
                let _ = unlinkat(&self.folder, folder.as_str(), AtFlags::REMOVEDIR);
            }
        }
        created.map(|()| made)
    }

    fn create_with_folders(&self, path: &str, bytes: &[u8], made: &mut Vec<String>) -> io::Result<()> {
        check_path(path)?;
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folder = self.folder.descend("")?;
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
        rename_new(self.abilities, (&folder, temp.name()), (&folder, name))?;
        temp.keep();
        // The file is in place; the rest depends on the system.
        let _ = folder.sync();
        Ok(())
    }

    /// Replaces the bytes of a file, if they are `expected`, with `new`; its mode stays. Returns `false`, and changes
    /// nothing, if it no longer contains `expected`, also where another program saves it at this very moment.
    ///
    /// # Errors
    ///
    /// Those of the file system. One names the version of another program that has no name of its own now, after a second
    /// save at that moment.
    pub(crate) fn replace(&self, path: &str, expected: &[u8], new: &[u8]) -> io::Result<bool> {
        self.replace_with(path, expected, new, &mut |_| {})
    }

    /// Does the same, and calls `interrupt` after each step, so that tests can interfere there.
    pub(super) fn replace_with(
        &self,
        path: &str,
        expected: &[u8],
        new: &[u8],
        interrupt: &mut dyn FnMut(WriteStep),
    ) -> io::Result<bool> {
        let (folder, name) = self.parent(path)?;
        replace_in((&folder, name), self.abilities, expected, new, interrupt)
    }

    /// Removes a file, if its bytes are `expected`. Returns `false`, and removes nothing, if they are not.
    #[cfg(feature = "setup")]
    pub(crate) fn remove(&self, path: &str, expected: &[u8]) -> io::Result<bool> {
        let (folder, name) = self.parent(path)?;
        if super::read::holds(&folder, name, expected)?.is_none() {
            return Ok(false);
        }
        let is_removed = super::replace_file::remove_if(&folder, name, self.abilities, expected)?;
        let _ = folder.sync();
        Ok(is_removed)
    }

    /// Removes the temporary files that processes left in a folder below when they were killed.
    #[cfg(feature = "setup")]
    pub(crate) fn sweep(&self, path: &str) {
        if let Ok(folder) = self.folder.descend(path) {
            super::sweep::sweep_outside(&folder);
        }
    }

    /// Removes a folder if it is empty. Returns whether it is gone.
    #[cfg(feature = "setup")]
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
        Ok((self.folder.descend(parents)?, name))
    }
}
