//! What binds derived files to this machine and this folder.
//!
//! A repository, an archive or a copy of a project can bring a `cache/` with any bytes in it, checksums recomputed.
//! What it cannot bring is the inode number and the change time that a file gets when it is written here. So one empty
//! file of the cache, the anchor, stands for the place, and every derived file is summed up with a key that is made of
//! the anchor's stat. Files with sums of another key are not read: they are made again, as if they were not there.
//!
//! A project that is moved on its file system takes its anchor along. One that is copied gets a new anchor, and so
//! makes its cache again.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::time::UNIX_EPOCH;

use rustix::fs::{AtFlags, OFlags, Stat, openat, statat, unlinkat};
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
    /// Returns the key for files that are quickly made again.
    pub fn key(&self) -> u64 {
        xxh3_64(format!("{} {}", self.device, self.lasting_key()).as_bytes())
    }

    /// Returns the key for files that take a server and minutes to make again. It leaves the device out, whose number
    /// is another one after a restart on some file systems.
    pub fn lasting_key(&self) -> u64 {
        xxh3_64(format!("{} {}", self.stat.ino, self.stat.ctime).as_bytes())
    }

    /// Returns a line for a list in the cache, with its end, and what shows that it was written here.
    pub fn sealed_line(&self, line: &str) -> String {
        format!("{line}\t{:016x}\n", xxh3_64_with_seed(line.as_bytes(), self.lasting_key()))
    }

    /// Returns what a line of such a list says, if it was written here.
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

/// Returns whether a link stands where a file should.
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

impl Store {
    /// Returns the key for what is written to `state/` and must not be believed of another machine: it is made of the
    /// inode number and the time of birth of the entry lock's file, which stays for ever and which a clone or a copy makes
    /// anew. Where the file system knows no time of birth, the number alone counts. `None` where nothing was locked yet.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn state_key(&self) -> io::Result<Option<u64>> {
        let file = match self.folder("state").and_then(|state| state.open_file(LOCK)) {
            Err(error) if is_missing(&error) => return Ok(None),
            // What stands in its place is no lock, and nothing was begun beside it.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput || is_link(&error) => return Ok(None),
            result => result?,
        };
        let stat = file.metadata()?;
        let born = stat.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        let born = born.map_or(0, |born| born.as_nanos());
        Ok(Some(xxh3_64(format!("{} {born}", stat.ino()).as_bytes())))
    }

    /// Returns the anchor of the cache; without one, nothing in the cache was made here.
    pub fn anchor(&self) -> Option<Anchor> {
        let cache = self.folder("cache").ok()?;
        Anchor::of(&statat(&cache, ANCHOR, AtFlags::SYMLINK_NOFOLLOW).ok()?)
    }

    /// Returns the anchor of the cache, and makes it where there is none.
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
            Ok(FileKind::Folder) => {
                cache.descend(ANCHOR)?.clear()?;
                unlinkat(&cache, ANCHOR, AtFlags::REMOVEDIR)?;
            }
            Ok(FileKind::Link | FileKind::Other) => unlinkat(&cache, ANCHOR, AtFlags::empty())?,
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
    fn what_was_written_elsewhere_is_told_from_what_was_written_here() {
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
    fn whatever_lies_in_the_place_of_the_anchor_gives_way() {
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
