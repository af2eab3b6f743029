//! The folder that Tantivy writes to, without the syncs that a cache does not need, and without links.
//!
//! A commit through Tantivy's own directory waits for about ten syncs, which are most of its time.
//! The index can be made again from the entry files, so nothing is gained by them: after a power cut
//! the checksums are looked at once (see [`Committed::open`](super::Committed::open)). And it opens every
//! file by a path, which a link may have come into in the meantime; here it is the open folder that counts.
//!
//! Tantivy tells of an error in one of its threads by a text, or says that the thread is gone. What the file system
//! said first is kept here, so that a full disk is not taken for a bug.

use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Read as _, Write};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::TantivyError;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, META_LOCK, MmapDirectory, OwnedBytes, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};
use xxhash_rust::xxh3::xxh3_64;

use super::io_cause;
use crate::store::Folder;

/// Where a process finds what it has open, by number.
const OPEN_FILES: &str = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };

/// Raised whenever files are written in another form.
pub(super) const VERSION: u32 = 1;

#[derive(Debug, Clone)]
pub(super) struct CacheDirectory {
    folder: Arc<Folder>,
    refused: Refused,
}

/// The first error of the file system, where there was one.
#[derive(Debug, Clone, Default)]
struct Refused(Arc<Mutex<Option<i32>>>);

impl Refused {
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            // A name that is taken, or is not, is no fault of the disk.
            let is_fault = !matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound);
            if let Some(number) = error.raw_os_error().filter(|_| is_fault) {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(number);
            }
        })
    }
}

impl CacheDirectory {
    pub(super) fn new(folder: &Arc<Folder>) -> CacheDirectory {
        CacheDirectory { folder: Arc::clone(folder), refused: Refused::default() }
    }

    /// Puts what the file system said in the place of an error that does not tell.
    pub(super) fn explain(&self, error: TantivyError) -> TantivyError {
        let tells = io_cause(&error).is_some_and(|cause| cause.raw_os_error().is_some());
        match *self.refused.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(number) if !tells => io::Error::from_raw_os_error(number).into(),
            _ => error,
        }
    }

    fn open(&self, path: &Path) -> Result<File, OpenReadError> {
        self.refused.note(self.folder.open_file(name(path))).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
            _ => OpenReadError::wrap_io_error(error, path.to_owned()),
        })
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let mut bytes = Vec::new();
        let read = self.refused.note(self.open(path)?.read_to_end(&mut bytes));
        read.map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()))?;
        Ok(bytes)
    }
}

/// What Tantivy puts behind every file of a segment has at least so many bytes.
const LEAST: u64 = 8;
/// What stands behind each of Tantivy's lists, which have no checksum of their own: it believes every number in
/// them. In bytes.
const SUM: usize = 8;

fn sum(data: &[u8]) -> [u8; SUM] {
    xxh3_64(data).to_le_bytes()
}

fn torn(path: &Path) -> OpenReadError {
    OpenReadError::wrap_io_error(io::ErrorKind::InvalidData.into(), path.to_owned())
}

/// Returns the name that Tantivy means: it knows of no folder but its own. What is none is refused later.
fn name(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

/// Maps an open file. Mapping takes code that this crate forbids itself, and Tantivy's knows paths alone; so it
/// is given the one of the open file. Each has a directory of its own, since that keeps what it mapped by path,
/// and the next file may get the number of this one.
fn map(file: &File) -> Option<Arc<dyn FileHandle>> {
    let number = file.as_raw_fd().to_string();
    MmapDirectory::open(OPEN_FILES).ok()?.get_file_handle(Path::new(&number)).ok()
}

impl Directory for CacheDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let file = match self.open(path) {
            // Tantivy takes a segment without a file of positions for one that needs none, and goes on; here every
            // segment has one, so that it was merged away while it was being opened.
            Err(OpenReadError::FileDoesNotExist(path)) => {
                return Err(OpenReadError::wrap_io_error(io::ErrorKind::NotFound.into(), path));
            }
            result => result?,
        };
        let length = file.metadata().map_or(0, |stat| stat.len());
        if length < LEAST {
            // Of such a file Tantivy takes the end for one that is longer, and panics.
            return Err(torn(path));
        }
        match map(&file) {
            Some(mapped) => Ok(mapped),
            // A system that does not show what is open.
            None => Ok(Arc::new(OwnedBytes::new(self.read(path)?))),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.folder.remove_file(name(path)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => DeleteError::FileDoesNotExist(path.to_owned()),
            _ => DeleteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() },
        })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        match self.folder.stat_of(name(path)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(OpenReadError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        match self.refused.note(self.folder.make_file(name(path))) {
            Ok(file) => Ok(BufWriter::new(Box::new(UnsyncedFile { file, refused: self.refused.clone() }))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(OpenWriteError::FileAlreadyExists(path.to_owned()))
            }
            Err(error) => Err(OpenWriteError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let mut bytes = self.read(path)?;
        let end = bytes.len().checked_sub(SUM).ok_or_else(|| torn(path))?;
        if bytes[end..] != sum(&bytes[..end]) {
            return Err(torn(path));
        }
        bytes.truncate(end);
        Ok(bytes)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.refused.note(self.folder.replace_file(name(path), &[data, &sum(data)].concat()))
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if lock.filepath == META_LOCK.filepath {
            // Tantivy holds this one while it opens segments or collects garbage, blocking without a
            // time-out, and needs write access for it. Readers here open a second time instead when a
            // segment is gone.
            return Ok(DirectoryLock::from(Box::new(())));
        }
        let file =
            self.refused.note(self.folder.open_lock_file(name(&lock.filepath))).map_err(LockError::wrap_io_error)?;
        // The caller has the lock of the cache, so nobody else can be meant to have this one.
        match file.try_lock() {
            Ok(()) => Ok(DirectoryLock::from(Box::new(file))),
            Err(TryLockError::WouldBlock) => Err(LockError::LockBusy),
            Err(TryLockError::Error(error)) => Err(LockError::wrap_io_error(error)),
        }
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

struct UnsyncedFile {
    file: File,
    refused: Refused,
}

impl Write for UnsyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.refused.note(self.file.write(bytes))
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for UnsyncedFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.file.flush()
    }
}
