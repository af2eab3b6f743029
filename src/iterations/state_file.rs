//! Files of sessions below `state/sessions/`, each read and written under a lock of its own.
//!
//! A file names paths to read, so only one that this program wrote, for this user and in this folder, is believed
//! (see [`unsealed`]). A torn or foreign one is as good as empty: at worst a session gets its briefing twice, or an attempt
//! lacks what its context showed.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::sealed::{seal, unsealed};
use crate::store::SealKey;
use crate::workspace::Workspace;

/// The folder, below `state/`.
pub(crate) const FOLDER: &str = "sessions";
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// How long to wait for another hook, which has the lock for less than a millisecond.
const TIMEOUT: Duration = Duration::from_millis(25);
/// How long to wait before the next try.
const PAUSE: Duration = Duration::from_millis(1);

/// Changes the content of a file, which is created if it is missing. Returns the result of `change`, which also
/// gets whether the file is new.
///
/// # Errors
///
/// `WouldBlock` if another process keeps the file locked, and those of the file system.
pub(crate) fn update<Content: Default + Serialize + DeserializeOwned, T>(
    workspace: &Workspace,
    name: &str,
    change: impl FnOnce(&mut Content, bool) -> T,
) -> io::Result<T> {
    let key = workspace.store.make_state_key()?;
    let file = workspace.store.make_state_folder(FOLDER)?.open_lock_file(name)?;
    lock(&file, File::try_lock)?;
    let bytes = read(&file)?;
    let mut content = content(&bytes, key).unwrap_or_default();
    let result = change(&mut content, bytes.is_empty());
    let mut bytes = serde_json::to_vec(&content)?;
    seal(&mut bytes, &key);
    file.set_len(0)?;
    file.write_all_at(&bytes, 0)?;
    Ok(result)
}

/// Returns the content of a file that this program wrote; the default if there is none.
pub(crate) fn read_only<Content: Default + DeserializeOwned>(workspace: &Workspace, name: &str) -> Content {
    let read = || {
        let key = workspace.store.state_key().ok()??;
        let file = workspace.store.folder(&format!("state/{FOLDER}")).ok()?.open_file(name).ok()?;
        // Whoever writes it empties it first.
        lock(&file, File::try_lock_shared).ok()?;
        content(&read(&file).ok()?, key)
    };
    read().unwrap_or_default()
}

fn lock(file: &File, try_lock: fn(&File) -> Result<(), TryLockError>) -> io::Result<()> {
    let started = Instant::now();
    loop {
        match try_lock(file) {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if started.elapsed() < TIMEOUT => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn read(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn content<Content: DeserializeOwned>(bytes: &[u8], key: SealKey) -> Option<Content> {
    serde_json::from_slice(unsealed(bytes, Some(key)).ok()?).ok()
}
