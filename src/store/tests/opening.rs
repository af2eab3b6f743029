//! Opening and reading: what is refused, and what the metadata says.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;

use rustix::fs::OFlags;

use super::{Fixture, assert_outside};
use crate::entry::MAX_FILE_BYTES;
use crate::error::Error;
use crate::store::folder::{check_path, is_outside};
use crate::store::{FileKind, Store, Trust, Unreadable};

#[test]
fn open_needs_a_real_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    assert!(matches!(Store::open(root), Err(Error::NoMemory { start, .. }) if start == root));
    assert!(matches!(Store::open(&root.join("none")), Err(Error::NoMemory { .. })));
    fs::write(root.join(".ralph"), "").unwrap();
    assert!(matches!(Store::open(root), Err(Error::NoMemory { .. })));
    fs::remove_file(root.join(".ralph")).unwrap();

    fs::create_dir(root.join("real")).unwrap();
    std::os::unix::fs::symlink("real", root.join(".ralph")).unwrap();
    assert_outside(Store::open(root));
    assert_outside(discover(root));
    fs::remove_file(root.join(".ralph")).unwrap();

    fs::create_dir(root.join(".ralph")).unwrap();
    assert!(matches!(Store::open(root), Err(Error::NoMemory { .. })));
    fs::create_dir(root.join(".ralph/knowledge")).unwrap();
    let store = Store::open(root).unwrap();
    assert_eq!(store.root(), root);
    assert_eq!(store.memory(), root.join(".ralph"));
    assert_eq!(store.cache(), root.join(".ralph/cache"));
    assert_eq!(store.state(), root.join(".ralph/state"));
}

fn discover(start: &std::path::Path) -> crate::error::Result<Store> {
    let user = rustix::process::geteuid().as_raw();
    Store::discover(start, &Trust::new(user, None, &[]))
}

#[test]
fn a_memory_of_another_user_is_found_and_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::create_dir_all(root.join("a/.ralph/knowledge")).unwrap();
    fs::create_dir_all(root.join(".ralph/knowledge")).unwrap();
    let own = rustix::process::geteuid().as_raw();
    let (other, safe) = (own + 1, [root.join("a").display().to_string()]);
    // For another user, all of this belongs to a stranger.
    let found = |safe: &[String]| Store::discover(&root.join("a/b"), &Trust::new(other, None, safe));
    match found(&[]) {
        Err(Error::ForeignOwner { path, owner, user }) => {
            assert_eq!((path, owner, user), (root.join("a"), own, other));
        }
        found => panic!("{found:?}"),
    }
    assert_eq!(found(&safe).unwrap().root(), root.join("a"));
    assert_eq!(discover(&root.join("a/b")).unwrap().root(), root.join("a"));
    // A named memory is used, whoever owns it.
    assert!(Store::open(&root.join("a")).is_ok());
}

#[test]
fn discover_takes_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("a/b/c")).unwrap();
    fs::write(root.join("a/b/c/file"), "").unwrap();
    fs::create_dir_all(root.join(".ralph/knowledge")).unwrap();
    fs::create_dir_all(root.join("a/.ralph/knowledge")).unwrap();
    // A file is not a memory: the search continues.
    fs::write(root.join("a/b/.ralph"), "").unwrap();
    assert_eq!(discover(&root.join("a/b/c")).unwrap().root(), root.join("a"));
    assert_eq!(discover(&root.join("a/b/c/file")).unwrap().root(), root.join("a"));
    assert_eq!(discover(root).unwrap().root(), root);
    fs::remove_dir_all(root.join("a/.ralph")).unwrap();
    assert_eq!(discover(&root.join("a/b/c")).unwrap().root(), root);
    fs::remove_dir_all(root.join(".ralph")).unwrap();
    let start = root.join("a/b/c");
    assert!(matches!(discover(&start), Err(Error::NoMemory { start: named, .. }) if named == start));
}

#[test]
fn memory_may_be_removed_and_made_again() {
    let fixture = Fixture::new();
    fixture.put("knowledge/a.md", "old");
    fs::remove_dir_all(fixture.store.memory()).unwrap();
    assert_eq!(read(&fixture, "knowledge/a.md"), "missing");
    assert_eq!(fixture.store.folder("").unwrap_err().kind(), ErrorKind::NotFound);
    fixture.put("knowledge/a.md", "new");
    assert_eq!(read(&fixture, "knowledge/a.md"), "new");
}

/// Returns what reading the file at a path gives: its text, or a word for why it is not read.
fn read(fixture: &Fixture, path: &str) -> String {
    match fixture.store.read(path) {
        Ok(read) => String::from_utf8(read.bytes).unwrap(),
        Err(Unreadable::Missing) => "missing".to_owned(),
        Err(Unreadable::Link) => "link".to_owned(),
        Err(Unreadable::NotAFile) => "not a file".to_owned(),
        Err(Unreadable::TooLarge { size }) => format!("{size} bytes"),
        Err(Unreadable::Io(error)) => format!("{:?}", error.kind()),
    }
}

#[test]
fn only_regular_files_on_a_plain_path_are_read() {
    for path in ["..", "../a", "a/../b", "/a", "a//b", "a/", "/", ".", "./a", "a/./b", "a\0b", "a/.."] {
        assert!(check_path(path).is_err_and(|error| is_outside(&error)), "{path:?}");
    }
    for path in ["a", "a/b.md", "a/...", ".hidden", "a/ b", "a\\b", "é"] {
        assert!(check_path(path).is_ok(), "{path:?}");
    }
    let fixture = Fixture::new();
    fixture.put("knowledge/sub/a.md", "secret");
    fixture.put("knowledge/empty.md", "");
    fixture.link("knowledge", "linked");
    fixture.link("sub", "knowledge/linked");
    fixture.link("a.md", "knowledge/sub/linked.md");
    fixture.link("/etc/passwd", "knowledge/absolute.md");
    fixture.link("nowhere", "knowledge/dangling.md");
    fixture.fifo("knowledge/fifo.md");
    let _socket = UnixListener::bind(fixture.store.memory().join("knowledge/socket.md")).unwrap();
    let root = &fixture.store.root_folder;
    for (path, expected) in [
        ("knowledge/sub/a.md", "secret"),
        ("knowledge/empty.md", ""),
        ("knowledge/../knowledge/empty.md", "InvalidInput"),
        ("/etc/passwd", "InvalidInput"),
        ("../.ralph/knowledge/empty.md", "InvalidInput"),
        ("knowledge//empty.md", "InvalidInput"),
        ("linked/sub/a.md", "link"),
        ("linked", "link"),
        ("linked/sub", "link"),
        ("knowledge/linked", "link"),
        ("knowledge/linked/a.md", "link"),
        ("knowledge/sub/linked.md", "link"),
        ("knowledge/absolute.md", "link"),
        ("knowledge/dangling.md", "link"),
        ("", "not a file"),
        ("knowledge", "not a file"),
        ("knowledge/fifo.md", "not a file"),
        ("knowledge/socket.md", "not a file"),
        ("knowledge/none.md", "missing"),
        ("none/a.md", "missing"),
        ("knowledge/sub/a.md/b.md", "missing"),
    ] {
        assert_eq!(read(&fixture, path), expected, "{path}");
        // There is no folder either, and the path for systems without `openat2` gives the same answer.
        match expected {
            "InvalidInput" => {
                let folder = fixture.store.folder(path);
                assert!(folder.is_err_and(|error| error.kind() == ErrorKind::InvalidInput), "{path}");
            }
            "link" => {
                assert!(fixture.store.folder(path).is_err_and(|error| is_outside(&error)), "{path}");
                for flags in [OFlags::RDONLY, OFlags::RDONLY | OFlags::DIRECTORY] {
                    let by_parts = root.open_by_parts(&format!(".ralph/{path}"), flags);
                    assert!(by_parts.is_err_and(|error| is_outside(&error)), "{path}");
                }
            }
            _ => {}
        }
    }
    assert!(root.open_by_parts(".ralph/knowledge/sub/a.md", OFlags::RDONLY).is_ok());
}

#[test]
fn bytes_are_returned_unchanged_up_to_the_limit() {
    let fixture = Fixture::new();
    let bytes = b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\n\xff\0\r";
    fixture.put("a.md", bytes);
    let read_file = fixture.store.read("a.md").unwrap();
    assert_eq!(read_file.bytes, bytes);
    assert_eq!(read_file.stat, fixture.store.folder("").unwrap().stat_of("a.md").unwrap());
    fixture.put("a.md", vec![b'a'; MAX_FILE_BYTES]);
    assert_eq!(read(&fixture, "a.md").len(), MAX_FILE_BYTES);
    for (size, expected) in
        [(1_048_577, "1048577 bytes"), (2_097_152, "2097152 bytes"), (1 << 40, "1099511627776 bytes")]
    {
        let file = fs::File::options().write(true).open(fixture.store.memory().join("a.md")).unwrap();
        file.set_len(size).unwrap();
        assert_eq!(read(&fixture, "a.md"), expected);
    }
}

#[test]
fn memory_that_becomes_a_link_is_refused() {
    let fixture = Fixture::new();
    fixture.put("knowledge/a.md", "");
    fs::rename(fixture.store.memory(), fixture.root().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", fixture.store.memory()).unwrap();
    assert_eq!(read(&fixture, "knowledge/a.md"), "link");
    assert_outside(fixture.store.lock(std::time::Duration::ZERO));
}

/// A file that has bytes but reports no size stands in for one that grows while it is read.
#[test]
#[cfg(target_os = "linux")]
fn the_limit_holds_whatever_the_size_says() {
    let process = crate::store::folder::Folder::open("/proc/self".as_ref()).unwrap();
    let (read, file) = process.read_open("status", MAX_FILE_BYTES).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 0);
    assert!(read.bytes.starts_with(b"Name:"));
}

#[test]
fn stat_matches_the_system() {
    let fixture = Fixture::new();
    fixture.put("knowledge/a.md", "four");
    fixture.link("a.md", "knowledge/link.md");
    fixture.fifo("knowledge/fifo.md");
    fixture.put("knowledge/sub/b.md", "");
    let folder = fixture.store.folder("knowledge").unwrap();
    let stat = folder.stat_of("a.md").unwrap();
    let expected = fs::metadata(fixture.store.memory().join("knowledge/a.md")).unwrap();
    assert_eq!((stat.kind, stat.size, stat.ino), (FileKind::File, 4, expected.ino()));
    assert_eq!(stat.mtime, expected.mtime() * 1_000_000_000 + expected.mtime_nsec());
    assert_eq!(stat.ctime, expected.ctime() * 1_000_000_000 + expected.ctime_nsec());
    assert_eq!(folder.stat_of("link.md").unwrap().kind, FileKind::Link);
    assert_eq!(folder.stat_of("fifo.md").unwrap().kind, FileKind::Other);
    assert_eq!(folder.stat_of("sub").unwrap().kind, FileKind::Folder);
    assert_eq!(folder.stat_of("none.md").unwrap_err().kind(), ErrorKind::NotFound);
    for name in ["", ".", "..", "sub/b.md", "/etc"] {
        assert_eq!(folder.stat_of(name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
    }
    let own = fs::metadata(fixture.store.memory().join("knowledge")).unwrap();
    assert_eq!(folder.stat().unwrap().ino, own.ino());
    assert_eq!(folder.stat().unwrap().kind, FileKind::Folder);

    let sorted = || {
        let mut names = folder.names().unwrap();
        names.sort();
        names
    };
    assert_eq!(sorted(), ["a.md", "fifo.md", "link.md", "sub"]);
    // A second listing starts from the beginning and includes new names.
    fixture.put("knowledge/c.md", "");
    assert_eq!(sorted(), ["a.md", "c.md", "fifo.md", "link.md", "sub"]);
}

#[test]
fn extreme_times_are_cut() {
    let fixture = Fixture::new();
    fixture.put("a.md", "");
    let folder = fixture.store.folder("").unwrap();
    let mut raw = rustix::fs::statat(&folder, "a.md", rustix::fs::AtFlags::empty()).unwrap();
    raw.st_mtime = 9_999_999_999_999;
    assert_eq!(crate::store::FileStat::from_raw(&raw).mtime, i64::MAX);
}
