//! Files outside of a memory: those of a project, of a home, and of a folder that a person named.
//!
//! This is the only way in which such a file is written or removed; `private.rs` has those that only their user can
//! read. A folder may be named through links. Below it, every path is opened part by part and never through a link, and
//! only a regular file with bytes that the caller has read is replaced or removed, so that what another program saves
//! is not lost. A reader sees the old bytes or the new ones. This file knows nothing about their meaning.

use std::io;
use std::path::Path;

use super::folder::{Folder, parent_of};
use super::read::Unreadable;
use super::replace_file::{ExchangeResult, WriteStep, put_back, replace_in};
use crate::error::{self, Error};
use crate::system;
use crate::system::posix::fs::{Access, AtFlags, accessat, statat};
use crate::system::posix::io::Errno;

/// The largest file that [`write_file`] replaces, in bytes.
const MAX_REPLACED: usize = 64 * 1024 * 1024;

/// Writes a file outside of a memory: creates it and the folders that it needs, or replaces a regular file.
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
/// [`Error::Unusable`] if the name is that of a link, a folder, a pipe or a device: nothing is written through it.
/// [`Error::Conflict`] if another program writes the file at the same moment, and [`Error::Io`].
pub fn write_file(path: &Path, bytes: &[u8]) -> error::Result<()> {
    let failed = |source| Error::Io { action: "write", path: path.to_owned(), source };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
    let folder = Folder::make(parent_of(path)).map_err(failed)?;
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

impl Folder {
    /// Returns why a file must not or cannot be replaced; `None` if there is no known reason.
    pub(crate) fn protection(&self, path: &str) -> io::Result<Option<&'static str>> {
        let (folder, name) = self.parent(path)?;
        let mode = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode;
        let is_denied = |name: &str| {
            let answer = accessat(&folder, name, Access::WRITE_OK, AtFlags::EACCESS);
            matches!(answer, Err(Errno::ACCESS | Errno::ROFS))
        };
        Ok(if mode & 0o222 == 0 || is_denied(name) {
            // The permissions of its folder would still let this user put another file in its place.
            Some("it is read-only")
        } else if is_denied(".") {
            Some("its folder is read-only")
        } else if system::is_mount(&folder, name) {
            Some("it is a mount of its own, and cannot be replaced")
        } else {
            None
        })
    }

    /// Replaces the bytes of a file, if they are `expected`, with `new`; its mode stays. Returns `false`, and changes
    /// nothing, if it no longer contains `expected`, even if another program saves it at this very moment.
    ///
    /// # Errors
    ///
    /// Those of the file system. After a second save at that moment, the error names the file with the displaced
    /// version of the other program.
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
        let mut step = |step| {
            interrupt(step);
            Ok(())
        };
        let (temp, error) = match replace_in((&folder, name), expected, new, &mut step)? {
            ExchangeResult::Done => return Ok(true),
            ExchangeResult::Refused => return Ok(false),
            ExchangeResult::Displaced(temp, error) => (temp, error),
        };
        match put_back(&folder, name, temp, new) {
            None => error.map_or(Ok(false), Err),
            Some(kept) => {
                let message =
                    format!("another program saved it meanwhile; one of its versions is in `{kept}` beside it");
                Err(io::Error::other(message))
            }
        }
    }

    /// Removes a file, if its bytes are `expected`. Returns `false`, and removes nothing, if they are not.
    #[cfg(feature = "setup")]
    pub(crate) fn remove(&self, path: &str, expected: &[u8]) -> io::Result<bool> {
        let (folder, name) = self.parent(path)?;
        if folder.holds(name, expected)?.is_none() {
            return Ok(false);
        }
        let is_removed = super::replace_file::remove_if(&folder, name, expected)?;
        let _ = folder.sync();
        Ok(is_removed)
    }
}
