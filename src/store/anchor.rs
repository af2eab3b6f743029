//! Binds derived files to this machine and this folder.
//!
//! A repository, an archive or a copy of a project can contain a `cache/` with any bytes in it, and with valid
//! checksums. It cannot contain the inode number and the change time that a file gets when it is written here. So one
//! empty file of the cache, the anchor, identifies the place. The checksum of every derived file includes a key made of
//! the anchor's stat. Files with another key are not read: they are rebuilt, as if they did not exist.
//!
//! A project that moves within its file system keeps its anchor. A copy gets a new anchor, and so rebuilds its cache.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::time::UNIX_EPOCH;

use rustix::fs::{AtFlags, OFlags, Stat, openat, statat};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::folder::{FileKind, FileStat};
use super::layout::{Store, is_missing};
use super::lock::LOCK;
use super::temp::{Durability, NEW_FILE};

/// The name of the file, in `cache/`.
const ANCHOR: &str = "anchor";

/// The stat of a file that was made on this machine, in this folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    device: u64,
    stat: FileStat,
}

impl Anchor {
    /// Returns the key for files that can be rebuilt quickly.
    pub fn key(&self) -> u64 {
        xxh3_64(format!("{} {}", self.device, self.lasting_key()).as_bytes())
    }

    /// Returns the key for files that take a server and minutes to rebuild. It leaves out the device, whose number
    /// changes after a restart on some file systems.
    pub fn lasting_key(&self) -> u64 {
        xxh3_64(format!("{} {}", self.stat.ino, self.stat.ctime).as_bytes())
    }

    /// Returns a line for a list in the cache, with its line end and a proof that it was written here.
    pub fn sealed_line(&self, line: &str) -> String {
        format!("{line}\t{:016x}\n", xxh3_64_with_seed(line.as_bytes(), self.lasting_key()))
    }

    /// Returns the content of a line of such a list, if it was written here.
    pub fn unsealed_line<'a>(&self, line: &'a str) -> Option<&'a str> {
        let (line, sum) = line.rsplit_once('\t')?;
        (u64::from_str_radix(sum, 16).ok()? == xxh3_64_with_seed(line.as_bytes(), self.lasting_key())).then_some(line)
    }

    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_fallible_conversions,
        reason = "systems differ in the type"
    )]
    fn of(stat: &Stat) -> Option<Anchor> {
        let device = u64::try_from(stat.st_dev).unwrap_or_default();
        Some(Anchor { device, stat: FileStat::from_raw(stat) }).filter(|anchor| anchor.stat.kind == FileKind::File)
    }
}

/// Returns whether a link is where a file should be.
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

impl Store {
    /// Returns the key for files in `state/` that are only valid on this machine. It is made of the inode number and
    /// the birth time of the entry lock's file, which is never removed, and which a clone or a copy creates anew. If
    /// the file system has no birth times, the number alone counts. `None` if nothing was ever locked.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn state_key(&self) -> io::Result<Option<u64>> {
        let file = match self.folder("state").and_then(|state| state.open_file(LOCK)) {
            Err(error) if is_missing(&error) => return Ok(None),
            // A path of another kind is not a lock, and no iteration was begun beside it.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput || is_link(&error) => return Ok(None),
            result => result?,
        };
        let stat = file.metadata()?;
        let born = stat.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        let born = born.map_or(0, |born| born.as_nanos());
        Ok(Some(xxh3_64(format!("{} {born}", stat.ino()).as_bytes())))
    }

    /// Does what [`Store::state_key`] does, and creates the lock's file if it is missing: nothing is locked.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn make_state_key(&self) -> io::Result<u64> {
        self.make_folders("state", Durability::Unsynced)?.open_lock_file(LOCK)?;
        self.state_key()?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Returns the anchor of the cache; without one, nothing in the cache was made here.
    pub fn anchor(&self) -> Option<Anchor> {
        let cache = self.folder("cache").ok()?;
        Anchor::of(&statat(&cache, ANCHOR, AtFlags::SYMLINK_NOFOLLOW).ok()?)
    }

    /// Returns the anchor of the cache, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn make_anchor(&self) -> io::Result<Anchor> {
        if let Some(anchor) = self.anchor() {
            return Ok(anchor);
        }
        let cache = self.make_folders("cache", Durability::Unsynced)?;
        match cache.stat_of(ANCHOR).map(|stat| stat.kind) {
            // Another process was quicker.
            Ok(FileKind::File) | Err(_) => {}
            Ok(FileKind::Folder | FileKind::Link | FileKind::Other) => cache.remove_any(ANCHOR)?,
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        openat(&cache, ANCHOR, flags, NEW_FILE)?;
        self.anchor().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_from_elsewhere_are_recognised() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [here, there] = [&one, &other].map(|place| Store::create_root(place.path()).unwrap());
        assert_eq!(here.anchor(), None);
        let (own, foreign) = (here.make_anchor().unwrap(), there.make_anchor().unwrap());
        assert_eq!((here.make_anchor().unwrap(), here.anchor()), (own, Some(own)));
        assert!(own.key() != foreign.key() && own.lasting_key() != foreign.lasting_key());
        let line = own.sealed_line("knowledge/a\t0001");
        assert_eq!(own.unsealed_line(line.trim_end()), Some("knowledge/a\t0001"));
        for line in [line.trim_end(), "knowledge/a\t0001", "", "\t", "x\tzz"] {
            assert_eq!(foreign.unsealed_line(line), None, "{line:?}");
        }
        assert_eq!(own.unsealed_line(&line.trim_end().replace("0001", "0002")), None);
    }

    #[test]
    fn an_obstacle_at_the_anchors_path_is_replaced() {
        for kind in ["folder", "link", "fifo"] {
            let place = tempfile::tempdir().unwrap();
            let store = Store::create_root(place.path()).unwrap();
            store.make_cache_folder("").unwrap();
            let path = store.cache().join(ANCHOR);
            match kind {
                "folder" => std::fs::create_dir_all(path.join("inside")).unwrap(),
                "link" => std::os::unix::fs::symlink("/dev/null", &path).unwrap(),
                _ => rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
                    .unwrap(),
            }
            assert_eq!(store.anchor(), None, "{kind}");
            assert_eq!(store.make_anchor().ok(), store.anchor(), "{kind}");
            assert!(std::fs::symlink_metadata(path).unwrap().is_file(), "{kind}");
        }
    }
}
