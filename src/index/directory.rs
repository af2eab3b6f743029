//! The folder that Tantivy writes to, without the syncs that a cache does not need.
//!
//! A commit through Tantivy's own directory waits for about ten syncs, which are most of its time.
//! The index can be made again from the entry files, so nothing is gained by them: after a power cut
//! the checksums are looked at once (see [`Committed::open`](super::Committed::open)).
//!
//! Tantivy tells of an error in one of its threads by a text, or says that the thread is gone. What the file system
//! said first is kept here, so that a full disk is not taken for a bug.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::TantivyError;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, META_LOCK, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use super::io_cause;

#[derive(Debug, Clone)]
pub(super) struct CacheDirectory {
    folder: PathBuf,
    mapped: MmapDirectory,
    refused: Refused,
}

/// The first error of the file system, where there was one.
#[derive(Debug, Clone, Default)]
struct Refused(Arc<Mutex<Option<i32>>>);

impl Refused {
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| self.keep(error))
    }

    fn note_read<T>(&self, result: Result<T, OpenReadError>) -> Result<T, OpenReadError> {
        if let Err(OpenReadError::IoError { io_error, .. }) = &result {
            self.keep(io_error);
        }
        result
    }

    fn keep(&self, error: &io::Error) {
        // A name that is taken is no fault of the disk.
        if let Some(number) = error.raw_os_error().filter(|_| error.kind() != io::ErrorKind::AlreadyExists) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(number);
        }
    }
}

impl CacheDirectory {
    pub(super) fn open(folder: &Path) -> Result<CacheDirectory, OpenDirectoryError> {
        let refused = |io_error: io::Error| OpenDirectoryError::wrap_io_error(io_error, folder.to_owned());
        let is_there = fs::metadata(folder).map_err(refused)?.is_dir();
        let mapped = MmapDirectory::open(folder).map_err(|error| match error {
            // It takes what it cannot look at for absent.
            OpenDirectoryError::DoesNotExist(_) | OpenDirectoryError::NotADirectory(_) if is_there => {
                refused(io::Error::other("the folder cannot be looked at"))
            }
            error => error,
        })?;
        Ok(CacheDirectory { folder: folder.to_owned(), mapped, refused: Refused::default() })
    }

    /// Puts what the file system said in the place of an error that does not tell.
    pub(super) fn explain(&self, error: TantivyError) -> TantivyError {
        let tells = io_cause(&error).is_some_and(|cause| cause.raw_os_error().is_some());
        match *self.refused.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(number) if !tells => io::Error::from_raw_os_error(number).into(),
            _ => error,
        }
    }
}

impl Directory for CacheDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.refused.note_read(self.mapped.get_file_handle(path))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let full = self.folder.join(path);
        match self.refused.note(OpenOptions::new().write(true).create_new(true).open(&full)) {
            Ok(file) => Ok(BufWriter::new(Box::new(UnsyncedFile { file, refused: self.refused.clone() }))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(OpenWriteError::FileAlreadyExists(full)),
            Err(error) => Err(OpenWriteError::wrap_io_error(error, full)),
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.refused.note_read(self.mapped.atomic_read(path))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        // The writer's lock is held, so the name is this process's alone.
        let temporary = self.folder.join(format!("{}.tmp", path.display()));
        self.refused.note(fs::write(&temporary, data))?;
        self.refused.note(fs::rename(&temporary, self.folder.join(path)))
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
        // Tantivy's own way takes every error for a lock that another process has.
        let refused = |error| LockError::IoError(Arc::new(error));
        let path = self.folder.join(&lock.filepath);
        let file = File::options().create(true).truncate(false).write(true).open(path).map_err(refused)?;
        match file.try_lock() {
            Ok(()) => Ok(DirectoryLock::from(Box::new(file))),
            Err(TryLockError::WouldBlock) => Err(LockError::LockBusy),
            Err(TryLockError::Error(error)) => Err(refused(error)),
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
