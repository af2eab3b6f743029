//! What lies around a memory and is none of its business: no name, no byte and no time of it may change. Where
//! the file system notes when a file or a folder was last read, that may not change either.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, FileTimes};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A word of every file out there, and of some names.
pub(crate) const CANARY: &str = "zqcanarytext";

/// All that a file system says of a file, and what it holds.
#[derive(PartialEq, Eq)]
struct Seen {
    /// Inode, size, mode, and the times of its last change, of its bytes and of all of it.
    stat: [i64; 7],
    /// When it was last read.
    read: Option<(i64, i64)>,
    bytes: Vec<u8>,
}

impl fmt::Debug for Seen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "stat {:?}, read {:?}, {} bytes", self.stat, self.read, self.bytes.len())
    }
}

/// A folder with a project in it, and many files that are not the memory's.
pub(crate) struct Sentinel {
    place: PathBuf,
    /// Folders that are not looked at.
    without: Vec<PathBuf>,
    /// Whether reading is noted here.
    sees_reading: bool,
    before: BTreeMap<PathBuf, Seen>,
}

impl Sentinel {
    /// Puts files around the memory in `place/project`, among them those that links and paths with `..` may
    /// hope for. What is below `without` may change.
    pub(crate) fn new(place: &Path, without: &[PathBuf]) -> Sentinel {
        let entry = |title: &str| {
            format!("---\ntitle: \"{title} {CANARY}\"\ntags: [{CANARY}, nightly]\n---\n\nA nightly {CANARY}.\n")
        };
        for folder in ["", "project", "project/src", "outside"] {
            let folder = place.join(folder);
            fs::create_dir_all(&folder).unwrap();
            for name in ["canary.md", "note-1.md", "config.toml", "passwd"] {
                fs::write(folder.join(name), entry("Canary")).unwrap();
            }
        }
        // The targets of links that replace files of the memory.
        let outside = place.join("outside");
        for folder in ["knowledge", "knowledge/team", "archive/knowledge", "archive/knowledge/team"] {
            fs::create_dir_all(outside.join(folder)).unwrap();
            for name in ["canary.md", "note-1.md", "note-4.md", "note-5.md", "added-1.md"] {
                fs::write(outside.join(folder).join(name), entry("Canary")).unwrap();
            }
            symlink("nowhere", outside.join(folder).join(format!("{CANARY}-link"))).unwrap();
            fs::create_dir_all(outside.join(folder).join(CANARY)).unwrap();
            let odd = [CANARY.as_bytes(), b"\xe9.md"].concat();
            fs::write(outside.join(folder).join(std::ffi::OsStr::from_bytes(&odd)), "").unwrap();
        }
        for (path, text) in [
            ("journal/run-0000000a/0001.md", "A nightly zqcanarytext.\n"),
            ("state/lock", "pid 1 zqcanarytext\n"),
            ("state/attempts/run-0000000a-0002.json", "zqcanarytext"),
            ("state/git/index", "zqcanarytext"),
            ("cache/lock", "pid 1 zqcanarytext\n"),
        ] {
            fs::create_dir_all(outside.join(path).parent().unwrap()).unwrap();
            fs::write(outside.join(path), text).unwrap();
        }
        let probe = place.join("probe");
        fs::write(&probe, "x").unwrap();
        forget_reading(&probe);
        fs::read(&probe).unwrap();
        let sees_reading = last_read(&probe) != OLD;
        fs::remove_file(probe).unwrap();
        let mut sentinel =
            Sentinel { place: place.to_owned(), without: without.to_vec(), sees_reading, before: BTreeMap::new() };
        sentinel.look_again();
        sentinel
    }

    /// Returns whether it would be seen that something was read.
    pub(crate) fn sees_reading(&self) -> bool {
        self.sees_reading
    }

    /// Takes everything for granted as it is now.
    pub(crate) fn look_again(&mut self) {
        if self.sees_reading {
            for path in self.seen().keys().filter(|path| !path.is_symlink()) {
                forget_reading(path);
            }
        }
        self.before = self.seen();
        if self.sees_reading {
            // This look has read them.
            for (path, seen) in &mut self.before {
                if !path.is_symlink() {
                    forget_reading(path);
                }
                *seen = Seen { bytes: std::mem::take(&mut seen.bytes), ..look_at(path, true) };
            }
        }
    }

    /// Fails unless all is as it was.
    pub(crate) fn check(&mut self, what: &str) {
        let now = self.seen();
        for (path, seen) in &now {
            let before = self.before.get(path);
            assert!(before.is_some(), "{what}: {} was made", path.display());
            let is_same = before == Some(seen);
            assert!(is_same, "{what}: {} was changed or read: {before:?}, {seen:?}", path.display());
        }
        for path in self.before.keys() {
            assert!(now.contains_key(path), "{what}: {} is gone", path.display());
        }
        self.look_again();
    }

    fn seen(&self) -> BTreeMap<PathBuf, Seen> {
        let mut seen = BTreeMap::new();
        let mut paths = vec![self.place.clone()];
        while let Some(path) = paths.pop() {
            // The stat first: what follows reads it.
            let mut found = look_at(&path, self.sees_reading);
            if path.is_symlink() {
                found.bytes = fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec();
            } else if path.is_dir() {
                let inner = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
                paths.extend(inner.filter(|path| !self.without.contains(path)));
            } else {
                found.bytes = fs::read(&path).unwrap();
            }
            seen.insert(path, found);
        }
        seen
    }
}

fn look_at(path: &Path, sees_reading: bool) -> Seen {
    let stat = fs::symlink_metadata(path).unwrap();
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    Seen {
        stat: [
            number(stat.ino()),
            number(stat.size()),
            i64::from(stat.mode()),
            stat.mtime(),
            stat.mtime_nsec(),
            stat.ctime(),
            stat.ctime_nsec(),
        ],
        // A link is read whenever a path leads through it.
        read: Some((stat.atime(), stat.atime_nsec())).filter(|_| sees_reading && !stat.is_symlink()),
        bytes: Vec::new(),
    }
}

/// A time so long ago that reading changes it, however rarely the system notes that.
const OLD: (i64, i64) = (86_400, 0);

fn forget_reading(path: &Path) {
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(OLD.0.unsigned_abs());
    File::open(path).unwrap().set_times(FileTimes::new().set_accessed(old)).unwrap();
}

fn last_read(path: &Path) -> (i64, i64) {
    let stat = fs::metadata(path).unwrap();
    (stat.atime(), stat.atime_nsec())
}
