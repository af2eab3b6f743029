//! Small files below `state/` that are trusted only if this program wrote them, for this user, on this machine and in this
//! folder.
//!
//! They do not belong in version control, but a repository, an archive or a copy may contain such files. So each ends
//! with a checksum whose key depends on this user, machine and folder (see
//! [`Store::state_key`](crate::store::Store::state_key)). A file without it is not read, whatever git says about it. A
//! torn or foreign file counts as missing.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::git::WorkTree;
use crate::open::Memory;
use crate::store::{Lock, SealKey};
use crate::system::posix::FileExt as _;
use crate::workspace::Workspace;

/// The folder of the files that [`update`] changes, below `state/`.
pub(crate) const SESSIONS: &str = "sessions";
/// The file with the options of the newest run, below `state/`.
const OPTIONS: &str = "run.json";
/// The largest file in that folder that is read, in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// How long to wait at most for another process. It has the lock for less than a millisecond, unless the machine lets it
/// stand still meanwhile: a note that is lost makes two attempts of one.
const TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait with what is written again soon.
#[cfg(feature = "runner")]
const SHORT_TIMEOUT: Duration = Duration::from_millis(25);
/// How long to wait before the next try.
const PAUSE: Duration = Duration::from_millis(1);

/// Writes the file `name` below `state/`, which only this user can read. A reader sees a whole file.
pub(super) fn write(workspace: &Workspace, lock: &Lock, name: &str, content: impl Serialize) -> Result<()> {
    let failed = |source| Error::Io { action: "write", path: workspace.store.state().join(name), source };
    let key = workspace.store.make_state_key().map_err(failed)?;
    workspace.store.write_state(lock, name, &sealed(&content, &key).map_err(failed)?)
}

/// Returns the content of the file `name` below `state/` if this program wrote it here; `None` if there is none.
pub(super) fn read<Content: DeserializeOwned>(workspace: &Workspace, name: &str) -> Option<Content> {
    let file = workspace.store.read(&format!("state/{name}")).ok()?;
    content(&file.bytes, state_key(workspace).ok()?).ok()
}

/// Changes the content of a file in [`SESSIONS`] under a lock of its own. The file is created if it is missing. Returns the
/// result of `change`, which also gets whether the file is new.
///
/// # Errors
///
/// `WouldBlock` if another process keeps the file locked, and those of the file system.
pub(crate) fn update<Content: Default + Serialize + DeserializeOwned, T>(
    workspace: &Workspace,
    name: &str,
    change: impl FnOnce(&mut Content, bool) -> T,
) -> io::Result<T> {
    let open = OpenSealed::open(workspace, SESSIONS, name)?;
    lock(&open.file, File::try_lock, timeout(workspace))?;
    let bytes = bytes_of(&open.file)?;
    let mut content = content(&bytes, Some(open.key)).unwrap_or_default();
    let result = change(&mut content, bytes.is_empty());
    open.rewrite(&content)?;
    Ok(result)
}

/// A sealed file that stays open, and is written in place, under a lock of its own.
pub(super) struct OpenSealed {
    file: File,
    key: SealKey,
}

impl OpenSealed {
    /// Opens the file `name` in a folder below `state/`, and creates it if it is missing.
    pub(super) fn open(workspace: &Workspace, folder: &str, name: &str) -> io::Result<OpenSealed> {
        let key = workspace.store.make_state_key()?;
        Ok(OpenSealed { file: workspace.store.make_state_folder(folder)?.open_lock_file(name)?, key })
    }

    /// Replaces the content. Nothing is created, also where the file was removed.
    #[cfg(feature = "runner")]
    pub(super) fn replace(&self, content: &impl Serialize) -> io::Result<()> {
        lock(&self.file, File::try_lock, SHORT_TIMEOUT)?;
        let written = self.rewrite(content);
        self.file.unlock()?;
        written
    }

    fn rewrite(&self, content: &impl Serialize) -> io::Result<()> {
        let bytes = sealed(content, &self.key)?;
        self.file.set_len(0)?;
        self.file.write_all_at(&bytes, 0)
    }
}

/// Returns the content of a file that [`update`] wrote; the default if there is none.
pub(crate) fn read_locked<Content: Default + DeserializeOwned>(workspace: &Workspace, name: &str) -> Content {
    let read = || content(&bytes_locked(workspace, SESSIONS, name).ok()?, state_key(workspace).ok()?).ok();
    read().unwrap_or_default()
}

/// Returns the bytes of a file in a folder below `state/` that is written in place.
///
/// # Errors
///
/// `WouldBlock` if another process keeps the file locked, and those of the file system.
pub(super) fn bytes_locked(workspace: &Workspace, folder: &str, name: &str) -> io::Result<Vec<u8>> {
    let file = workspace.store.folder(&format!("state/{folder}"))?.open_file(name)?;
    // Whoever writes it empties it first.
    lock(&file, File::try_lock_shared, timeout(workspace))?;
    bytes_of(&file)
}

/// Returns the bytes of a file with this content, its checksum included.
pub(super) fn sealed(content: &impl Serialize, key: &SealKey) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(content)?;
    bytes.extend(key.line(&bytes));
    Ok(bytes)
}

/// Returns the content of a file that [`sealed`] made; else the reason why it is not trusted.
pub(super) fn content<Content: DeserializeOwned>(
    bytes: &[u8],
    key: Option<SealKey>,
) -> std::result::Result<Content, String> {
    let text = key.and_then(|key| key.unsealed(bytes)).ok_or_else(|| {
        "it was not written by you, on this machine and in this folder, or it is of an older version".to_owned()
    })?;
    // Without the text itself, which may be anything, and long.
    serde_json::from_slice(text)
        .map_err(|error| format!("line {}, column {} is not what this program writes", error.line(), error.column()))
}

/// Returns the key of the checksums; `None` if this user never locked anything here, and so wrote nothing.
pub(super) fn state_key(workspace: &Workspace) -> Result<Option<SealKey>> {
    let path = || workspace.store.state().join("lock");
    workspace.store.state_key().map_err(|source| Error::Io { action: "look at", path: path(), source })
}

impl Memory {
    /// Keeps the options that a run was started with, for a caller that resumes it, as any text. They replace those of
    /// an earlier run.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] and [`Error::Io`].
    pub fn keep_options(&self, options: &str) -> Result<()> {
        let options: &RawValue =
            serde_json::from_str(options).map_err(|error| Error::invalid("options", error.to_string()))?;
        write(&self.workspace, &self.workspace.lock_within_git()?, OPTIONS, options)
    }

    /// Returns what [`Memory::keep_options`] kept on this machine, in this folder. It may name commands, so a text that
    /// was written elsewhere, or that git tracks, is not trusted.
    pub fn kept_options(&self) -> Option<String> {
        let is_tracked =
            |tree: WorkTree| tree.tracked(&[&format!("state/{OPTIONS}")]).map_or(true, |all| !all.is_empty());
        if self.workspace.work_tree().is_some_and(is_tracked) {
            return None;
        }
        read::<Box<RawValue>>(&self.workspace, OPTIONS).map(|options| options.get().to_owned())
    }
}

/// Returns how long this caller waits for a lock; a hook waits a shorter time.
fn timeout(workspace: &Workspace) -> Duration {
    TIMEOUT.min(workspace.lock_timeout())
}

fn lock(
    file: &File,
    try_lock: fn(&File) -> std::result::Result<(), TryLockError>,
    timeout: Duration,
) -> io::Result<()> {
    let started = Instant::now();
    loop {
        match try_lock(file) {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if started.elapsed() < timeout => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn bytes_of(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
