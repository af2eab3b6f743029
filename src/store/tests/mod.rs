//! Tests of the whole module, on the real file system in temporary folders.

mod leftovers;
mod locking;
mod making;
mod moving;
mod opening;
mod outside;
mod replacing;
mod surveying;

use std::fs;
use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, Utc};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::{Lock, Store};
use crate::system::HAS_RENAME_FLAGS;

/// Whether to rename with flags, which not every file system supports.
const RENAMES: [bool; 2] = [HAS_RENAME_FLAGS, false];

/// A memory in a temporary folder.
struct Fixture {
    folder: TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create_root(folder.path()).unwrap();
        Fixture { folder, store }
    }

    fn with(has_rename_flags: bool) -> Fixture {
        let mut fixture = Fixture::new();
        fixture.store.root_folder.has_rename_flags = has_rename_flags;
        fixture
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn lock(&self) -> Lock {
        self.store.lock(Duration::ZERO).unwrap()
    }

    /// Writes a file below `.ralph/` as another program would.
    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.store.memory().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    #[track_caller]
    fn text(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.store.memory().join(path)).unwrap()).unwrap()
    }

    /// Writes these files, with the same text.
    fn put_all<Path: AsRef<str>>(&self, paths: impl IntoIterator<Item = Path>, text: &str) {
        for path in paths {
            self.put(path.as_ref(), text);
        }
    }

    fn exists(&self, path: &str) -> bool {
        fs::symlink_metadata(self.store.memory().join(path)).is_ok()
    }

    fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.store.memory().join(path)).unwrap();
    }

    fn fifo(&self, path: &str) {
        let path = self.store.memory().join(path);
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    }

    /// Returns every path below `.ralph/`, sorted, except those of locks and the undo log; folders end in `/`.
    fn tree(&self) -> Vec<String> {
        let mut paths = Vec::new();
        walk(self.store.memory(), "", &mut paths);
        paths.retain(|path| path != "state/" && path != "state/lock" && !path.starts_with("state/undo/"));
        paths.sort();
        paths
    }
}

fn walk(folder: &Path, prefix: &str, paths: &mut Vec<String>) {
    for found in fs::read_dir(folder).unwrap() {
        let found = found.unwrap();
        let path = format!("{prefix}{}", found.file_name().to_string_lossy());
        if found.file_type().unwrap().is_dir() {
            let path = format!("{path}/");
            walk(&found.path(), &path, paths);
            paths.push(path);
        } else {
            paths.push(path);
        }
    }
}

/// 2026-02-17T12:00:00Z.
fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_771_329_600, 0).unwrap()
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "it is given the call itself")]
fn assert_outside<T: std::fmt::Debug>(result: crate::error::Result<T>) {
    assert!(matches!(result, Err(crate::error::Error::OutsideRoot { .. })), "{result:?}");
}

#[track_caller]
fn assert_io<T: std::fmt::Debug>(result: crate::error::Result<T>, expected: std::io::ErrorKind) {
    match result {
        Err(crate::error::Error::Io { path, source, .. }) => {
            assert_eq!(source.kind(), expected, "{source}");
            assert!(path.is_absolute(), "{}", path.display());
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "it is given the call itself")]
fn assert_conflict<T: std::fmt::Debug>(result: crate::error::Result<T>) {
    assert!(matches!(result, Err(crate::error::Error::Conflict { kept: None, .. })), "{result:?}");
}
