//! Binds derived files to this user, this machine and this folder.
//!
//! A repository, an archive or a copy of a project can contain a `cache/` and a `state/` with arbitrary bytes in them,
//! even with valid checksums. It cannot contain the [key of this user](super::user_key), and a copied file is not the
//! same file as the original. So one empty file of the cache, the anchor, and the lock of the entries in `state/`
//! identify the place. The key of every checksum is derived from the user's key and the stat of that file. Files sealed
//! with another key are not read; those of the cache are rebuilt as if they did not exist.
//!
//! A project that moves within its file system keeps its anchor. A copy gets a new anchor, and so rebuilds its cache.

use std::fs::{File, canonicalize};
use std::io;
use std::path::PathBuf;

use xxhash_rust::xxh3::xxh3_64;

use super::folder::{FileKind, FileStat, is_missing, is_outside};
use super::layout::Store;
use super::lock::LOCK;
use super::seal::{SUM_BYTES, SealKey};
use super::user_key::{UserKey, place_of_file};
use crate::system::posix::fs::OFlags;

/// The name of the file, in `cache/`.
const ANCHOR: &str = "anchor";

impl Store {
    /// Seals files with the key in the first of these folders that has one or can be written.
    pub fn keep_key_in(&mut self, folders: Vec<PathBuf>) {
        self.user_key = UserKey::kept_in(folders);
    }

    /// Returns why this user's key cannot be stored, in which case no other process trusts what this one writes. `None`
    /// if the caller named no folders: it knows.
    pub(crate) fn key_problem(&self) -> Option<io::Error> {
        self.user_key.problem()
    }

    /// Returns the key for files in `state/` that are only valid for this user, on this machine and in this folder. It
    /// is derived from the user's key and the file of the entry lock, which is never removed, and which a clone or a
    /// copy creates anew. `None` if nothing was ever locked, or if this user has sealed nothing.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn state_key(&self) -> io::Result<Option<SealKey>> {
        let file = match self.folder("state").and_then(|state| state.open_file(LOCK)) {
            // A path of another kind is not a lock, and no attempt was begun beside it.
            Err(error) if is_missing(&error) || is_outside(&error) || error.kind() == io::ErrorKind::InvalidInput => {
                return Ok(None);
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && self.has_state_of_other_user() => {
                return Ok(None);
            }
            result => result?,
        };
        let Some(user_key) = self.user_key.get() else { return Ok(None) };
        self.state_key_of(&file, user_key).map(Some)
    }

    fn has_state_of_other_user(&self) -> bool {
        self.folder("").is_ok_and(|memory| {
            memory.is_of_other_user("state") || memory.descend("state").is_ok_and(|state| state.is_of_other_user(LOCK))
        })
    }

    /// Does what [`Store::state_key`] does, and creates the lock file and the user's key if they are missing. Takes no
    /// lock.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn make_state_key(&self) -> io::Result<SealKey> {
        let file = self.make_folders("state")?.open_lock_file(LOCK)?;
        self.state_key_of(&file, self.user_key.make()?)
    }

    fn state_key_of(&self, lock: &File, user_key: SealKey) -> io::Result<SealKey> {
        let memory = || canonicalize(self.memory()).unwrap_or_else(|_| self.memory().to_owned());
        Ok(user_key.derive("state", &place_of_file(lock, memory)?))
    }

    /// Returns the key of the cache's files that were written here. The key is as short and fast as the checksums that it
    /// is for, and safe as long as nobody else reads the cache.
    ///
    /// # Errors
    ///
    /// `NotFound` if nothing in the cache was written here, and those of the file system.
    pub fn cache_key(&self) -> io::Result<u64> {
        let FileStat { kind, ino, ctime, .. } = self.folder("cache")?.stat_of(ANCHOR)?;
        let user_key = self.user_key.kept();
        if kind != FileKind::File || user_key.is_none() && self.user_key.has_folders() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let user_key = user_key.unwrap_or(SealKey::new([0; SUM_BYTES]));
        Ok(xxh3_64(&user_key.sum(&[b"cache\0", format!("{ino} {ctime}").as_bytes()])))
    }

    /// Returns the key of the cache's files, and creates the anchor if it is missing.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn make_cache_key(&self) -> io::Result<u64> {
        if let Ok(key) = self.cache_key() {
            return Ok(key);
        }
        if self.user_key.has_folders() {
            self.user_key.make_kept()?;
        }
        let cache = self.make_folders("cache")?;
        match cache.stat_of(ANCHOR).map(|stat| stat.kind) {
            // Another process created it first.
            Ok(FileKind::File) | Err(_) => {}
            Ok(FileKind::Folder | FileKind::Link | FileKind::Other) => cache.remove_any(ANCHOR)?,
        }
        cache.open_private(ANCHOR, OFlags::WRONLY)?;
        self.cache_key()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_from_elsewhere_are_recognised() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [here, there] = [&one, &other].map(|place| Store::create_root(place.path()).unwrap());
        assert!(here.cache_key().is_err());
        let (own, foreign) = (here.make_cache_key().unwrap(), there.make_cache_key().unwrap());
        assert_eq!((here.make_cache_key().unwrap(), here.cache_key().unwrap()), (own, own));
        assert!(own != foreign);
    }

    #[test]
    fn the_users_key_is_a_part_of_every_key() {
        let place = tempfile::tempdir().unwrap();
        let store = |key: &str| {
            let mut store = Store::create_root(place.path()).unwrap();
            store.keep_key_in(vec![place.path().join(key)]);
            store
        };
        let (one, other) = (store("one"), store("other"));
        assert!(one.cache_key().is_err() && one.state_key().unwrap().is_none(), "nothing was locked");
        let (anchor, state) = (one.make_cache_key().unwrap(), one.make_state_key().unwrap());
        let again = store("one");
        assert_eq!((again.cache_key().unwrap(), again.state_key().unwrap()), (anchor, Some(state)));
        assert!(other.cache_key().is_err() && other.state_key().unwrap() != Some(state));
        let (of_other, state_of_other) = (other.make_cache_key().unwrap(), other.make_state_key().unwrap());
        assert!(of_other != anchor);
        assert_ne!(state_of_other, state);
        std::fs::create_dir(place.path().join(".ralph/knowledge")).unwrap();
        let unkeyed = Store::open(place.path()).unwrap();
        assert!(unkeyed.cache_key().is_ok_and(|unkeyed| unkeyed != anchor));
        // A cache whose key cannot be kept would be rebuilt by every process.
        std::fs::write(place.path().join("file"), "in the way").unwrap();
        assert!(store("file").make_cache_key().is_err() && store("file").key_problem().is_some());
        assert!(one.key_problem().is_none() && unkeyed.key_problem().is_none());
    }

    #[test]
    fn an_obstacle_at_the_anchors_path_is_replaced() {
        for kind in ["folder", "link", "fifo"] {
            let place = tempfile::tempdir().unwrap();
            let store = Store::create_root(place.path()).unwrap();
            store.make_cache_folder("index").unwrap();
            let path = store.cache().join(ANCHOR);
            match kind {
                "folder" => std::fs::create_dir_all(path.join("inside")).unwrap(),
                "link" => std::os::unix::fs::symlink("/dev/null", &path).unwrap(),
                _ => rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
                    .unwrap(),
            }
            assert!(store.cache_key().is_err(), "{kind}");
            assert_eq!(store.make_cache_key().ok(), store.cache_key().ok(), "{kind}");
            assert!(std::fs::symlink_metadata(path).unwrap().is_file(), "{kind}");
        }
    }
}
