//! Tantivy's folder, without the syncs that a cache does not need, and without links.
//!
//! A commit through Tantivy's own directory waits for about ten syncs, which take most of its time. The index can be
//! rebuilt from the entry files, so they gain nothing: after a power cut the checksums are verified once (see
//! [`Committed::open`](super::Committed::open)). Tantivy also opens every file by a path, which may lead through a link
//! by then; here names are resolved in the open folder.
//!
//! Tantivy trusts every byte of its files, and panics at some. So only files that this program wrote here are opened:
//! its two lists have a checksum with a key that is unknown elsewhere, and the list of segments is followed by the
//! state of each of their files at that time. A replaced file differs.
//!
//! Tantivy reports an error in one of its threads as a text, or only reports that the thread is gone. The first error
//! of the file system is kept here, so that a full disk does not look like a bug.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tantivy::TantivyError;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, META_LOCK, MmapDirectory, OwnedBytes, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::io_cause;
use crate::store::{FileStat, Folder};
use crate::system::posix::place_of_open;

/// Raised whenever the form of files changes.
pub(super) const VERSION: u32 = 3;
/// The list of segments.
const META: &str = "meta.json";
/// The longest list that is read, in bytes: a thousand segments have less.
const MAX_LIST: u64 = 8 << 20;

#[derive(Debug, Clone)]
pub(super) struct CacheDirectory {
    folder: Arc<Folder>,
    refused: RefusedFile,
    /// The key of checksums.
    key: u64,
    /// Names the time since the machine was started.
    boot: String,
    files: Arc<Mutex<IndexFiles>>,
}

/// The known state of the files of segments.
#[derive(Debug, Default)]
struct IndexFiles {
    /// Their states when the last list of segments was read or written.
    sealed: BTreeMap<String, FileStat>,
    /// Those that were written through this directory.
    own: BTreeSet<String>,
    /// The `boot` of the process that wrote the list.
    boot: String,
    /// The checksum of the list.
    sum: [u8; SUM],
}

/// The first error of the file system, if there was one.
#[derive(Debug, Clone, Default)]
struct RefusedFile(Arc<OnceLock<i32>>);

impl RefusedFile {
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            // A name that is taken, or missing, is not a fault of the disk.
            let is_fault = !matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound);
            if let Some(number) = error.raw_os_error().filter(|_| is_fault) {
                let _ = self.0.set(number);
            }
        })
    }
}

impl CacheDirectory {
    pub(super) fn new(folder: &Arc<Folder>, key: u64, boot: &str) -> CacheDirectory {
        CacheDirectory {
            folder: Arc::clone(folder),
            refused: RefusedFile::default(),
            key,
            boot: boot.to_owned(),
            files: Arc::default(),
        }
    }

    /// Returns whether the last list of segments that was read was written since the machine was started.
    pub(super) fn is_of_this_boot(&self) -> bool {
        self.files().boot == self.boot
    }

    /// Returns a statement that all checksums of the last list were verified, valid since the machine was started.
    pub(super) fn looked_at(&self) -> String {
        let text = [self.boot.as_bytes(), &self.files().sum].concat();
        format!("{:016x}\n", xxh3_64_with_seed(&text, self.key))
    }

    /// Returns the names of the files after the last list of segments.
    pub(super) fn sealed(&self) -> Vec<String> {
        self.files().sealed.keys().cloned().collect()
    }

    fn files(&self) -> MutexGuard<'_, IndexFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sum(&self, data: &[u8]) -> [u8; SUM] {
        xxh3_64_with_seed(data, self.key).to_le_bytes()
    }

    /// Returns the data after a list of segments: the states of their files. For files of other processes it repeats
    /// the states that were read, not the current ones.
    fn seal(&self) -> Vec<u8> {
        let mut files = self.files();
        let IndexFiles { sealed, own, .. } = &mut *files;
        // Some were merged into others, and are gone.
        sealed.retain(|name, _| self.folder.stat_of(name).is_ok());
        sealed.extend(own.iter().filter_map(|name| Some((name.clone(), self.folder.stat_of(name).ok()?))));
        postcard::to_stdvec(&(&self.boot, &files.sealed)).unwrap_or_default()
    }

    /// Writes the list of segments with the current states of its files, whoever wrote them, and the old `boot`.
    #[cfg(test)]
    pub(super) fn reseal(mut self, list: &[u8]) {
        let known: Vec<String> = self.files().sealed.keys().cloned().collect();
        let boot = self.files().boot.clone();
        self.files().own.extend(known);
        self.boot = boot;
        self.atomic_write(Path::new(META), list).unwrap();
    }

    /// Reads the data after a list of segments.
    fn unseal(&self, sealed: &[u8], sum: [u8; SUM]) -> Option<()> {
        let (boot, sealed) = postcard::from_bytes(sealed).ok()?;
        let mut files = self.files();
        (files.boot, files.sealed, files.sum) = (boot, sealed, sum);
        Some(())
    }

    /// Replaces an unhelpful error with that of the file system.
    pub(super) fn explain(&self, error: TantivyError) -> TantivyError {
        let tells = io_cause(&error).is_some_and(|cause| cause.raw_os_error().is_some());
        match self.refused.0.get() {
            Some(number) if !tells => io::Error::from_raw_os_error(*number).into(),
            _ => error,
        }
    }

    fn open(&self, path: &Path) -> Result<File, OpenReadError> {
        self.refused.note(self.folder.open_file(name(path))).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
            _ => unreadable(path)(error),
        })
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let mut bytes = Vec::new();
        let read = self.refused.note(self.open(path)?.take(MAX_LIST + 1).read_to_end(&mut bytes));
        read.map_err(unreadable(path))?;
        if bytes.len() as u64 > MAX_LIST { Err(torn(path)) } else { Ok(bytes) }
    }
}

/// The minimum size of the footer that Tantivy appends to every file of a segment, in bytes.
const LEAST: u64 = 8;
/// The size of the footer of each of Tantivy's lists, which have no checksum of their own: Tantivy trusts every number
/// in them. In bytes.
const SUM: usize = 8;
/// The size of the length before it, in bytes.
const LENGTH: usize = 8;

fn torn(path: &Path) -> OpenReadError {
    unreadable(path)(io::ErrorKind::InvalidData.into())
}

/// Returns what makes an error of the file system that of reading this file.
fn unreadable(path: &Path) -> impl Fn(io::Error) -> OpenReadError + '_ {
    |error| OpenReadError::wrap_io_error(error, path.to_owned())
}

/// Returns the name that Tantivy uses: it knows only its own folder. An invalid one is refused later.
fn name(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

/// Maps an open file. Mapping needs unsafe code, which this crate forbids, and Tantivy's code takes only paths; so it
/// gets the path of the open file. Each file has a directory of its own, because a directory caches maps by path, and
/// the next file may get the same number.
fn map(file: &File) -> Option<Arc<dyn FileHandle>> {
    let (folder, name) = place_of_open(file)?;
    MmapDirectory::open(folder).ok()?.get_file_handle(Path::new(&name)).ok()
}

impl Directory for CacheDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let file = match self.open(path) {
            // Tantivy treats a segment without a file of positions as one that needs none, and continues. Here every
            // segment has one, so it was merged away while it was being opened.
            Err(OpenReadError::FileDoesNotExist(_)) => return Err(unreadable(path)(io::ErrorKind::NotFound.into())),
            result => result?,
        };
        let stat = self.refused.note(FileStat::of(&file)).map_err(unreadable(path))?;
        let is_known = {
            let files = self.files();
            files.own.contains(name(path)) || files.sealed.get(name(path)) == Some(&stat)
        };
        // With a shorter file, Tantivy expects a longer one at the end, and panics.
        if !is_known || stat.size < LEAST {
            return Err(torn(path));
        }
        if let Some(mapped) = map(&file) {
            return Ok(mapped);
        }
        // A system that does not list open files.
        let mut bytes = Vec::new();
        self.refused.note((&file).take(stat.size).read_to_end(&mut bytes)).map_err(unreadable(path))?;
        Ok(Arc::new(OwnedBytes::new(bytes)))
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
            Err(error) => Err(unreadable(path)(error)),
        }
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        match self.refused.note(self.folder.create_private(name(path))) {
            Ok(file) => {
                self.files().own.insert(name(path).to_owned());
                Ok(BufWriter::new(Box::new(UnsyncedFile { file, refused: self.refused.clone() })))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(OpenWriteError::FileAlreadyExists(path.to_owned()))
            }
            Err(error) => Err(OpenWriteError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let mut bytes = self.read(path)?;
        let length = (|| {
            let (data, sum) = bytes.split_last_chunk::<SUM>()?;
            let (data, length) = data.split_last_chunk::<LENGTH>().filter(|_| self.sum(data) == *sum)?;
            let (list, sealed) = data.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            if name(path) == META {
                self.unseal(sealed, *sum)?;
            }
            Some(list.len())
        })();
        bytes.truncate(length.ok_or_else(|| torn(path))?);
        Ok(bytes)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let sealed = if name(path) == META { self.seal() } else { Vec::new() };
        let bytes = [data, &sealed, &(data.len() as u64).to_le_bytes()].concat();
        self.refused.note(self.folder.replace_file(name(path), &[&bytes[..], &self.sum(&bytes)].concat()))
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if lock.filepath == META_LOCK.filepath {
            // Tantivy holds this one while it opens segments or collects garbage, blocks without a time-out, and needs
            // write access for it. Readers here open again instead if a segment is gone.
            return Ok(DirectoryLock::from(Box::new(())));
        }
        let file =
            self.refused.note(self.folder.open_lock_file(name(&lock.filepath))).map_err(LockError::wrap_io_error)?;
        // The caller has the lock of the cache, so nothing else can hold this one.
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
    refused: RefusedFile,
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
