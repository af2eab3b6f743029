//! The folder that Tantivy writes to, without the syncs that a cache does not need.
//!
//! A commit through Tantivy's own directory waits for about ten syncs, which are most of its time.
//! The index can be made again from the entry files, so nothing is gained by them: after a power cut
//! the checksums are looked at once (see [`Committed::open`](super::Committed::open)).

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, META_LOCK, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

#[derive(Debug, Clone)]
pub(super) struct CacheDirectory {
    folder: PathBuf,
    mapped: MmapDirectory,
}

impl CacheDirectory {
    pub(super) fn open(folder: &Path) -> Result<CacheDirectory, OpenDirectoryError> {
        Ok(CacheDirectory { folder: folder.to_owned(), mapped: MmapDirectory::open(folder)? })
    }
}

impl Directory for CacheDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.mapped.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let full = self.folder.join(path);
        match OpenOptions::new().write(true).create_new(true).open(&full) {
            Ok(file) => Ok(BufWriter::new(Box::new(UnsyncedFile(file)))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(OpenWriteError::FileAlreadyExists(full)),
            Err(error) => Err(OpenWriteError::wrap_io_error(error, full)),
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        // The writer's lock is held, so the name is this process's alone.
        let temporary = self.folder.join(format!("{}.tmp", path.display()));
        fs::write(&temporary, data)?;
        fs::rename(&temporary, self.folder.join(path))
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
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

struct UnsyncedFile(File);

impl Write for UnsyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for UnsyncedFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}
