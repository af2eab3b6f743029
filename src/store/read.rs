//! Reads one file without trusting it.
//!
//! Whatever kind of file it is, and however it changes while it is read, the call never blocks and never uses more
//! memory than the largest entry needs. Links, FIFOs, sockets, devices and large files are recognised here, so that a
//! scan can report each of them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use super::folder::{FileRefusal, FileStat, Folder, is_errno, is_missing, is_outside, regular};
use crate::entry::MAX_FILE_BYTES;
use crate::error::Error;
use crate::system::posix::fs::OFlags;
use crate::system::posix::io::Errno;

/// The bytes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    /// All its bytes, at most [`MAX_FILE_BYTES`].
    pub bytes: Vec<u8>,
    /// The metadata before the first byte was read, so that a change during the read shows up as a difference the next
    /// time.
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
            Unreadable::NotAFile => FileRefusal::Kind.error(),
            Unreadable::TooLarge { size } => {
                io::Error::new(io::ErrorKind::InvalidData, format!("{size} bytes; the limit is {MAX_FILE_BYTES}"))
            }
            Unreadable::Io(error) => error,
        };
        Error::Io { action: "read", path, source }
    }
}

impl Folder {
    /// Opens the regular file at `path` below this folder for reading.
    ///
    /// # Errors
    ///
    /// `NotFound`, `InvalidInput` when it is not a regular file or not a plain path, `ELOOP` when a part of it is a
    /// link, and those of the file system.
    pub(crate) fn open_file(&self, path: &str) -> io::Result<File> {
        // With `NONBLOCK` the open of a FIFO returns at once; on a regular file it means nothing.
        regular(self.open_below(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?.into())
    }

    /// Reads a regular file of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// `Unreadable` says what is there instead.
    pub(crate) fn read(&self, path: &str, limit: usize) -> Result<Vec<u8>, Unreadable> {
        Ok(self.read_open(path, limit)?.0.bytes)
    }

    /// Does the same, and returns the open file.
    pub(super) fn read_open(&self, path: &str, limit: usize) -> Result<(ReadFile, File), Unreadable> {
        let file = self.open_file(path)?;
        let stat = FileStat::of(&file)?;
        Ok((ReadFile { bytes: read_all(&file, stat.size, limit)?, stat }, file))
    }

    /// Opens the regular file at `path` if it has exactly these bytes; `None` if it has other bytes or does not exist.
    pub(super) fn holds(&self, path: &str, expected: &[u8]) -> io::Result<Option<File>> {
        match self.read_open(path, expected.len()) {
            Ok((read, file)) => Ok(Some(file).filter(|_| read.bytes == expected)),
            Err(Unreadable::Io(error)) => Err(error),
            Err(_) => Ok(None),
        }
    }
}

/// Reads a file of this size, which may have at most `limit` bytes.
fn read_all(file: &File, size: u64, limit: usize) -> Result<Vec<u8>, Unreadable> {
    if size > limit as u64 {
        return Err(Unreadable::TooLarge { size });
    }
    // One byte more than the file has, so that the end is detected without growing the buffer.
    let room = usize::try_from(size).unwrap_or(limit) + 1;
    let mut bytes = Vec::with_capacity(room);
    // The file may grow while it is read, so its size is no bound; this is one.
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
        } else if FileRefusal::Kind.is(&error) || is_errno(&error, Errno::NXIO) || is_errno(&error, Errno::NODEV) {
            // The errors for opening a socket or a device that does not exist.
            Unreadable::NotAFile
        } else {
            Unreadable::Io(error)
        }
    }
}
