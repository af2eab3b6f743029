//! Opens folders and files without following a link.
//!
//! Every path is walked from an open descriptor, so a link in the tree, even one swapped in during a call, is never
//! followed. This file knows nothing about the folder layout and writes nothing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::system;
use crate::system::posix::fd::{AsFd, BorrowedFd, OwnedFd};
use crate::system::posix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, open, openat, statat};
use crate::system::posix::io::Errno;
use crate::system::posix::process::geteuid;
use crate::system::posix::{os_string, sync_folder};

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, whatever it points at.
    Link,
    /// A FIFO, a socket or a device.
    Other,
}

/// The metadata of a file. If two are equal, the file is the same and unchanged, as far as the file system's clock can
/// tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileStat {
    /// Its kind.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// When its bytes last changed, in nanoseconds since 1970; times out of range are clamped to its ends (1677 and
    /// 2262).
    pub mtime: i64,
    /// When its bytes, its name or its mode last changed, in the same unit.
    pub ctime: i64,
    /// Its inode number.
    pub ino: u64,
}

impl FileStat {
    /// Reads the fields that matter here.
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_fallible_conversions,
        reason = "the fields have other types on other systems"
    )]
    pub(super) fn from_raw(stat: &Stat) -> FileStat {
        let nanoseconds = |seconds: i64, part: i64| seconds.saturating_mul(1_000_000_000).saturating_add(part);
        FileStat {
            kind: FileKind::from_raw(FileType::from_raw_mode(stat.st_mode)),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime: nanoseconds(i64::from(stat.st_mtime), i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            ctime: nanoseconds(i64::from(stat.st_ctime), i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
            ino: u64::from(stat.st_ino),
        }
    }

    /// Reads the metadata of an open file.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn of(file: &File) -> io::Result<FileStat> {
        Ok(FileStat::from_raw(&fstat(file)?))
    }
}

impl FileKind {
    fn from_raw(file_type: FileType) -> FileKind {
        match file_type {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Folder,
            FileType::Symlink => FileKind::Link,
            _ => FileKind::Other,
        }
    }
}

/// An open folder that was reached without following a link.
///
/// It stays the same folder even if its name is given to another one.
#[derive(Debug)]
pub struct Folder {
    descriptor: OwnedFd,
    /// Whether to ask the file system to rename without replacing, and to exchange two names: it may refuse, and tests do
    /// without.
    pub(super) has_rename_flags: bool,
}

impl Folder {
    /// Returns the metadata of this folder. Its `mtime` changes whenever a name in it is created, removed or given to
    /// another file.
    pub fn stat(&self) -> io::Result<FileStat> {
        Ok(FileStat::from_raw(&fstat(&self.descriptor)?))
    }

    /// Returns the user id of its owner.
    pub(super) fn owner(&self) -> io::Result<u32> {
        Ok(fstat(&self.descriptor)?.st_uid)
    }

    /// Returns the metadata of `name` in this folder; a link is not followed. The error kind is `NotFound` if nothing
    /// has that name, and `InvalidInput` if `name` is not a single name.
    pub fn stat_of(&self, name: &str) -> io::Result<FileStat> {
        check_name(name)?;
        self.stat_of_os(OsStr::new(name))
    }

    /// Returns the metadata of `name` in a folder in this one; only the link at the end of a path is not followed.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::stat_of`].
    pub(crate) fn stat_in(&self, folder: &str, name: &str) -> io::Result<FileStat> {
        check_name(folder)?;
        check_name(name)?;
        self.stat_of_os(OsStr::new(&format!("{folder}/{name}")))
    }

    /// Returns whether whatever has this name belongs to another user, who wrote it while using this memory or gave it
    /// to this user.
    pub(crate) fn is_of_other_user(&self, name: &str) -> bool {
        let stat = statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| stat.st_uid != geteuid().as_raw())
    }

    /// Returns the names in this folder in arbitrary order, without `.` and `..`.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        Ok(self.listing()?.into_iter().map(|(name, _)| name).collect())
    }

    /// Opens a folder by a path from the user, and follows links in it.
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder::from(open(path, flags, Mode::empty())?))
    }

    /// Does the same, and creates the missing parts of the path.
    pub(crate) fn make(path: &Path) -> io::Result<Folder> {
        std::fs::create_dir_all(path)?;
        Folder::open(path)
    }

    /// Opens a folder. A link in the last part of the path is an error.
    pub(super) fn open_no_link(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Folder::from(open(path, flags, Mode::empty())?))
    }

    /// Opens a folder that this user owns, as [`Folder::open_no_link`].
    ///
    /// # Errors
    ///
    /// `PermissionDenied` if it belongs to another user, and those of the file system.
    pub(super) fn open_own(path: &Path) -> io::Result<Folder> {
        let folder = Folder::open_no_link(path)?;
        if folder.owner()? == geteuid().as_raw() { Ok(folder) } else { Err(foreign_folder()) }
    }

    /// Opens the folder at `path` below this one; the empty path opens this folder again.
    pub(crate) fn descend(&self, path: &str) -> io::Result<Folder> {
        let descriptor = match path {
            "" => self.descriptor.try_clone()?,
            path => self.open_below(path, OFlags::RDONLY | OFlags::DIRECTORY)?,
        };
        Ok(Folder { descriptor, has_rename_flags: self.has_rename_flags })
    }

    /// Opens the folder of the file at `path` below this one, and returns it with the file's name.
    pub(super) fn parent<'a>(&self, path: &'a str) -> io::Result<(Folder, &'a str)> {
        check_path(path)?;
        let (folder, name) = split(path);
        Ok((self.descend(folder)?, name))
    }

    /// Opens what is at `path` below this folder. A link in any part of it is the error `ELOOP`.
    pub(super) fn open_below(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        check_path(path)?;
        // Without `NOFOLLOW`, which would turn the error for a link at the end into `ENOTDIR`.
        if let Some(opened) = system::open_beneath(self, path, flags) {
            return Ok(opened?);
        }
        self.open_by_parts(path, flags)
    }

    /// Does what [`Folder::open_below`] does on every system.
    pub(super) fn open_by_parts(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        check_path(path)?;
        let Some((parents, name)) = path.rsplit_once('/') else {
            return self.open_name(path, flags);
        };
        let mut folder: Option<Folder> = None;
        for part in parents.split('/') {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            let descriptor = folder.as_ref().unwrap_or(self).open_name(part, flags)?;
            folder = Some(Folder::from(descriptor));
        }
        folder.as_ref().unwrap_or(self).open_name(name, flags)
    }

    fn open_name(&self, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.descriptor, name, flags, Mode::empty()) {
            Ok(descriptor) => Ok(descriptor),
            // Systems return different errors for a link.
            Err(error) => match self.stat_of_os(OsStr::new(name)) {
                Ok(FileStat { kind: FileKind::Link, .. }) => Err(Errno::LOOP.into()),
                _ => Err(error.into()),
            },
        }
    }

    /// Opens the folder `name` in this one.
    pub(super) fn enter(&self, name: &OsStr) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Folder {
            descriptor: openat(&self.descriptor, name, flags, Mode::empty())?,
            has_rename_flags: self.has_rename_flags,
        })
    }

    /// Returns the names in this folder with their kinds, in arbitrary order, without `.` and `..`. A name that is
    /// removed meanwhile may be missing.
    pub fn listing(&self) -> io::Result<Vec<(OsString, FileKind)>> {
        let mut listing = Vec::new();
        for found in Dir::read_from(&self.descriptor)? {
            let found = found?;
            let name = found.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let name = os_string(name.to_vec());
            let kind = match found.file_type() {
                FileType::Unknown => match self.stat_of_os(&name) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    stat => stat?.kind,
                },
                file_type => FileKind::from_raw(file_type),
            };
            listing.push((name, kind));
        }
        Ok(listing)
    }

    /// Does what [`Folder::stat_of`] does, for a name that was checked.
    pub(super) fn stat_of_os(&self, name: &OsStr) -> io::Result<FileStat> {
        Ok(FileStat::from_raw(&statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Makes changes to the names in this folder durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        match sync_folder(&self.descriptor) {
            // Some network and FUSE file systems cannot sync folders.
            Err(error) if is_unsupported(&error) => Ok(()),
            result => result,
        }
    }
}

impl From<OwnedFd> for Folder {
    fn from(descriptor: OwnedFd) -> Folder {
        Folder { descriptor, has_rename_flags: system::HAS_RENAME_FLAGS }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Refuses an open file that is not a regular one.
pub(super) fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(FileRefusal::Kind.error()) }
}

/// Returns the error of a folder that belongs to another user.
pub(super) fn foreign_folder() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the folder belongs to another user")
}

/// Why this program refused something that the system would have allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FileRefusal {
    /// A path could leave the folder.
    #[error("not a plain path below the folder")]
    Path,
    /// An open file is not a regular one.
    #[error("not a regular file")]
    Kind,
}

impl FileRefusal {
    pub(super) fn error(self) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, self)
    }

    /// Returns whether an error is this one.
    pub(super) fn is(self, error: &io::Error) -> bool {
        error.get_ref().is_some_and(|source| source.downcast_ref() == Some(&self))
    }
}

/// Splits a path into the path of its folder and the name in that folder.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Refuses anything but a relative path of plain names: absolute paths, `.`, `..` and empty parts are errors.
pub(super) fn check_path(path: &str) -> io::Result<()> {
    path.split('/').try_for_each(check_name)
}

/// Refuses anything but a single name.
pub(super) fn check_name(name: &str) -> io::Result<()> {
    // On Windows, a name has no other separator either, and no stream.
    let is_special = |byte| matches!(byte, b'/' | 0) || cfg!(windows) && matches!(byte, b'\\' | b':');
    if matches!(name, "" | "." | "..") || name.bytes().any(is_special) {
        return Err(FileRefusal::Path.error());
    }
    Ok(())
}

/// Returns whether a path was refused, or led through a link.
pub(super) fn is_outside(error: &io::Error) -> bool {
    FileRefusal::Path.is(error) || is_errno(error, Errno::LOOP)
}

/// Returns the folder of a file that a person named.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns whether there is nothing at a path.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns whether the file system has no such operation.
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    [Errno::NOSYS, Errno::INVAL, Errno::NOTSUP, Errno::OPNOTSUPP].iter().any(|&errno| is_errno(error, errno))
}

/// Returns whether the error has this `errno`.
pub(super) fn is_errno(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// Describes what failed on which path, and distinguishes a path that leaves the folder from other failures.
pub(super) fn explain(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Error {
    let path = path.into();
    if is_outside(&source) { Error::OutsideRoot { path } } else { Error::Io { action, path, source } }
}
