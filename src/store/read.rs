//! Reads one file without trusting it.
//!
//! No kind of file, and no change while it is read, blocks the call or makes it use more memory than the largest entry:
//! links, FIFOs, sockets, devices and large files are recognised here, so that a scan can report each of them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use rustix::fs::{OFlags, Stat, fstat};
use rustix::io::Errno;

use super::folder::{FileKind, FileStat, Folder, is_errno, is_missing, is_outside};
use super::layout::{Store, from_root};
use crate::entry::MAX_FILE_BYTES;
use crate::error::Error;

/// The bytes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    /// All its bytes, at most [`MAX_FILE_BYTES`].
    pub bytes: Vec<u8>,
    /// The file system's data before the first byte was read, so that a change during the reading shows as a difference
    /// the next time.
    pub stat: FileStat,
}

/// Why a file was not read.
#[derive(Debug)]
pub enum Unreadable {
    /// There is no such file.
    Missing,
    /// A part of the path is a link.
    Link,
    /// It is a folder, a FIFO, a socket or a device.
    NotAFile,
    /// It is larger than [`MAX_FILE_BYTES`].
    TooLarge {
        /// Its size in bytes.
        size: u64,
    },
    /// The file system refused, or the path could leave `.ralph/` (`InvalidInput`).
    Io(io::Error),
}

impl Unreadable {
    /// Returns the error of a call that needs the file at `path`.
    pub fn into_error(self, path: impl Into<PathBuf>) -> Error {
        let path = path.into();
        let source = match self {
            Unreadable::Link => return Error::OutsideRoot { path },
            Unreadable::Missing => io::ErrorKind::NotFound.into(),
            Unreadable::NotAFile => io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"),
            Unreadable::TooLarge { size } => {
                io::Error::new(io::ErrorKind::InvalidData, format!("{size} bytes; the limit is {MAX_FILE_BYTES}"))
            }
            Unreadable::Io(error) => error,
        };
        Error::Io { action: "read", path, source }
    }
}

impl Store {
    /// Reads the file at `path`, which is relative to `.ralph/`.
    ///
    /// # Errors
    ///
    /// `Unreadable` says what is there instead of an entry.
    pub fn read(&self, path: &str) -> Result<ReadFile, Unreadable> {
        read_below(&self.root_folder, &from_root(path))
    }

    /// Reads the file at `path`, which may have at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// `Unreadable` says what is there instead.
    pub(crate) fn read_up_to(&self, path: &str, limit: usize) -> Result<Vec<u8>, Unreadable> {
        let (file, raw) = open_regular(&self.root_folder, &from_root(path))?;
        read_all(&file, FileStat::from_raw(&raw).size, limit)
    }
}

/// Reads the file at `path` below `folder`.
pub(super) fn read_below(folder: &Folder, path: &str) -> Result<ReadFile, Unreadable> {
    let (file, raw) = open_regular(folder, path)?;
    let stat = FileStat::from_raw(&raw);
    Ok(ReadFile { bytes: read_all(&file, stat.size, MAX_FILE_BYTES)?, stat })
}

/// Does the same, and returns the open file.
pub(super) fn read_open(folder: &Folder, path: &str) -> Result<(Vec<u8>, File), Unreadable> {
    let (file, raw) = open_regular(folder, path)?;
    Ok((read_all(&file, FileStat::from_raw(&raw).size, MAX_FILE_BYTES)?, file))
}

/// Opens the regular file at `path` below `folder` if it has exactly these bytes; `None` if it has others, and if there is
/// none.
pub(super) fn holds(folder: &Folder, path: &str, expected: &[u8]) -> io::Result<Option<File>> {
    let read = open_regular(folder, path)
        .and_then(|(file, raw)| Ok((read_all(&file, FileStat::from_raw(&raw).size, expected.len())?, file)));
    match read {
        Ok((bytes, file)) => Ok(Some(file).filter(|_| bytes == expected)),
        Err(Unreadable::Io(error)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Opens the file at `path` below `folder`, if it is a regular one.
pub(super) fn open_regular(folder: &Folder, path: &str) -> Result<(File, Stat), Unreadable> {
    // With `NONBLOCK` the open of a FIFO returns at once; on a regular file it means nothing.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(folder.open_below(path, flags)?);
    let raw = fstat(&file).map_err(io::Error::from)?;
    if FileStat::from_raw(&raw).kind != FileKind::File {
        return Err(Unreadable::NotAFile);
    }
    Ok((file, raw))
}

/// Reads a file of this size, which may have at most `limit` bytes.
pub(super) fn read_all(file: &File, size: u64, limit: usize) -> Result<Vec<u8>, Unreadable> {
    if size > limit as u64 {
        return Err(Unreadable::TooLarge { size });
    }
    // One byte more than the file has, so that its end is seen without growing the buffer.
    let room = usize::try_from(size).unwrap_or(limit) + 1;
    let mut bytes = Vec::with_capacity(room);
    // The file may grow while it is read, so its size is not a limit; this is.
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(Unreadable::TooLarge { size: bytes.len() as u64 });
    }
    Ok(bytes)
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Unreadable {
        if is_missing(&error) {
            Unreadable::Missing
        } else if error.kind() != io::ErrorKind::InvalidInput && is_outside(&error) {
            Unreadable::Link
        } else if is_errno(&error, Errno::NXIO) || is_errno(&error, Errno::NODEV) {
            // The system's errors for opening a socket, and a device that does not exist.
            Unreadable::NotAFile
        } else {
            Unreadable::Io(error)
        }
    }
}
