//! Replacing: only what was read, and never another program's version.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::{ALL_ABILITIES, Fixture, assert_conflict, assert_io, assert_outside, now};
use crate::entry::MAX_FILE_BYTES;
use crate::error::Error;
use crate::store::replace_file::WriteStep;
use crate::store::temp::{Access, first_mode};
use crate::store::write::Replaced;

const A: &str = "knowledge/a.md";

#[test]
fn replaces_what_was_read() {
    for abilities in ALL_ABILITIES {
        let fixture = Fixture::with(abilities);
        let lock = fixture.lock();
        fixture.put(A, "old\r\n");
        let replaced = fixture.store.replace(&lock, A, b"old\r\n", b"\xef\xbb\xbfnew\r\n", now()).unwrap();
        assert_eq!(replaced, Replaced { conflict: None });
        assert_eq!(fixture.text(A), "\u{feff}new\r\n");
        assert_eq!(fixture.tree(), ["knowledge/", A]);
    }
}

#[test]
fn keeps_the_mode() {
    for abilities in ALL_ABILITIES {
        for mode in [0o600, 0o644, 0o664, 0o666, 0o755, 0o440] {
            let fixture = Fixture::with(abilities);
            fixture.put(A, "old");
            let path = fixture.store.memory().join(A);
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            fixture.store.replace(&fixture.lock(), A, b"old", b"new", now()).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode, "{mode:o}");
            assert_eq!(fixture.text(A), "new");
        }
    }
}

#[test]
fn keeps_the_owner_where_it_may() {
    if !rustix::process::geteuid().is_root() {
        return; // Only root may give a file away.
    }
    let fixture = Fixture::new();
    fixture.put(A, "old");
    let path = fixture.store.memory().join(A);
    std::os::unix::fs::chown(&path, Some(12345), Some(54321)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o2750)).unwrap();
    fixture.store.replace(&fixture.lock(), A, b"old", b"new", now()).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (12345, 54321));
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o2750);
}

#[test]
fn other_bytes_are_a_conflict() {
    let fixture = Fixture::new();
    let lock = fixture.lock();
    fixture.put(A, "theirs");
    assert_conflict(fixture.store.replace(&lock, A, b"old", b"new", now()));
    // A prefix, an extension, and bytes that are the new ones already.
    assert_conflict(fixture.store.replace(&lock, A, b"their", b"new", now()));
    assert_conflict(fixture.store.replace(&lock, A, b"theirs.", b"new", now()));
    assert_conflict(fixture.store.replace(&lock, A, b"old", b"theirs", now()));
    assert_conflict(fixture.store.replace(&lock, "knowledge/none.md", b"old", b"new", now()));
    assert_conflict(fixture.store.replace(&lock, "none/a.md", b"old", b"new", now()));
    fixture.put("large.md", vec![b'a'; MAX_FILE_BYTES + 1]);
    assert_conflict(fixture.store.replace(&lock, "large.md", b"old", b"new", now()));
    fixture.fifo("fifo.md");
    assert_conflict(fixture.store.replace(&lock, "fifo.md", b"", b"new", now()));
    assert_conflict(fixture.store.replace(&lock, "knowledge", b"", b"new", now()));
    fixture.link(A, "link.md");
    assert_outside(fixture.store.replace(&lock, "link.md", b"theirs", b"new", now()));
    assert_outside(fixture.store.replace(&lock, "../a.md", b"theirs", b"new", now()));
    let large = vec![b'a'; MAX_FILE_BYTES + 1];
    let replaced = fixture.store.replace(&lock, A, b"theirs", &large, now());
    assert!(matches!(replaced, Err(Error::Invalid { .. })), "{replaced:?}");
    assert_eq!(fixture.text(A), "theirs");
    assert_eq!(fixture.tree(), ["fifo.md", "knowledge/", A, "large.md", "link.md"]);
}

#[test]
fn equal_bytes_write_nothing() {
    let fixture = Fixture::new();
    fixture.put(A, "same");
    let folder = fixture.store.folder("knowledge").unwrap();
    let before = (folder.stat().unwrap(), folder.stat_of("a.md").unwrap());
    fixture.store.replace(&fixture.lock(), A, b"same", b"same", now()).unwrap();
    assert_eq!((folder.stat().unwrap(), folder.stat_of("a.md").unwrap()), before);
}

/// Replaces `old` by `new` in a file, and calls `interrupt` at one step.
fn replace_and(fixture: &Fixture, path: &str, at: WriteStep, interrupt: impl Fn()) -> crate::error::Result<Replaced> {
    fixture.put(path, "old");
    let mut called = false;
    let mut at_step = |step| {
        if step == at {
            called = true;
            interrupt();
        }
    };
    let replaced = fixture.store.replace_with(&fixture.lock(), path, b"old", b"new", now(), &mut at_step);
    assert!(called || (at == WriteStep::Exchanged && !fixture.store.root_folder.abilities.rename_flags));
    replaced
}

/// Saves a file as most editors do.
fn save(fixture: &Fixture, path: &str, text: &str) {
    let backup = fixture.root().join("backup~");
    fs::write(&backup, text).unwrap();
    fs::rename(backup, fixture.store.memory().join(path)).unwrap();
}

fn replace_while_an_editor_saves(fixture: &Fixture, path: &str) -> crate::error::Result<Replaced> {
    replace_and(fixture, path, WriteStep::Checked, || save(fixture, path, "theirs"))
}

#[test]
fn the_version_of_an_editor_is_kept() {
    let fixture = Fixture::new();
    let path = "knowledge/sub/b.md";
    for number in ["", "-2", "-3"] {
        let conflict = replace_while_an_editor_saves(&fixture, path).unwrap().conflict.unwrap();
        assert_eq!(conflict, format!("archive/knowledge/sub/b.conflict-20260217T120000Z{number}.md"));
        assert_eq!(fixture.text(&conflict), "theirs");
        assert_eq!(fixture.text(path), "new");
    }
    assert_eq!(fixture.tree().iter().filter(|path| path.contains(".tmp")).count(), 0);
}

#[test]
fn every_version_saved_in_between_is_kept() {
    let fixture = Fixture::new();
    fixture.put("elsewhere.md", "elsewhere");
    let replaced = replace_and(&fixture, A, WriteStep::Checked, || {
        fs::remove_file(fixture.store.memory().join(A)).unwrap();
        fixture.link("../elsewhere.md", A);
    });
    let conflict = replaced.unwrap().conflict.unwrap();
    assert_eq!(fs::read_link(fixture.store.memory().join(&conflict)).unwrap().to_str(), Some("../elsewhere.md"));
    assert_eq!(fixture.text(A), "new");
    assert_eq!(fixture.text("elsewhere.md"), "elsewhere");
}

#[test]
fn without_exchange_the_last_check_decides() {
    for abilities in &ALL_ABILITIES[1..] {
        let fixture = Fixture::with(*abilities);
        assert_conflict(replace_while_an_editor_saves(&fixture, A));
        assert_eq!(fixture.text(A), "theirs");
        assert_eq!(fixture.tree(), ["knowledge/", A]);
    }
}

#[test]
fn a_file_removed_in_between_stays_removed() {
    for abilities in ALL_ABILITIES {
        for step in [WriteStep::Written, WriteStep::Checked] {
            let fixture = Fixture::with(abilities);
            let remove = || fs::remove_file(fixture.store.memory().join(A)).unwrap();
            assert_conflict(replace_and(&fixture, A, step, remove));
            assert_eq!(fixture.tree(), ["knowledge/"]);
        }
    }
}

#[test]
fn an_editor_that_saves_during_the_writing_wins() {
    for abilities in ALL_ABILITIES {
        let fixture = Fixture::with(abilities);
        assert_conflict(replace_and(&fixture, A, WriteStep::Written, || save(&fixture, A, "theirs")));
        assert_eq!(fixture.text(A), "theirs");
        // By writing into the file instead of replacing it.
        assert_conflict(replace_and(&fixture, A, WriteStep::Written, || fixture.put(A, "theirs")));
        assert_eq!(fixture.text(A), "theirs");
        assert_eq!(fixture.tree(), ["knowledge/", A]);
    }
}

#[test]
fn an_editor_that_saves_after_the_exchange_wins() {
    let fixture = Fixture::new();
    let replaced = replace_and(&fixture, A, WriteStep::Exchanged, || save(&fixture, A, "theirs")).unwrap();
    assert_eq!(replaced.conflict, None);
    assert_eq!(fixture.text(A), "theirs");
    assert_eq!(fixture.tree(), ["knowledge/", A]);
}

#[test]
fn a_conflict_is_seen_before_anything_is_written() {
    let fixture = Fixture::new();
    fixture.put(A, "theirs");
    let folder = fixture.store.folder("knowledge").unwrap();
    let before = folder.stat().unwrap();
    assert_conflict(fixture.store.replace(&fixture.lock(), A, b"old", b"new", now()));
    assert_eq!(folder.stat().unwrap(), before);
}

#[test]
fn the_exchange_is_undone_when_the_version_cannot_be_kept() {
    let fixture = Fixture::new();
    fixture.put("archive", "a file where a folder must be");
    assert_io(replace_while_an_editor_saves(&fixture, A), ErrorKind::NotADirectory);
    assert_eq!(fixture.text(A), "theirs");
    assert_eq!(fixture.tree(), ["archive", "knowledge/", A]);
}

/// An editor saves before the exchange and once more after it, and the archive cannot be written.
#[test]
fn no_version_is_lost_when_even_the_undoing_meets_an_editor() {
    let fixture = Fixture::new();
    fixture.put("archive", "a file where a folder must be");
    fixture.put(A, "old");
    let mut at_step = |step| match step {
        WriteStep::Written => {}
        WriteStep::Checked => save(&fixture, A, "first"),
        WriteStep::Exchanged => save(&fixture, A, "second"),
    };
    let replaced = fixture.store.replace_with(&fixture.lock(), A, b"old", b"new", now(), &mut at_step);
    let Err(Error::Conflict { kept: Some(kept), .. }) = replaced else { panic!("{replaced:?}") };
    assert_eq!(fixture.text(A), "first");
    assert_eq!(fs::read(kept).unwrap(), b"second");
    // The next sweep does not remove it.
    fs::remove_file(fixture.store.memory().join("archive")).unwrap();
    let swept = fixture.store.sweep(&fixture.lock()).unwrap();
    assert_eq!(fixture.text(&swept.kept[0]), "second");
}

#[test]
fn a_private_file_is_never_readable_by_others() {
    let fixture = Fixture::new();
    fixture.put("shared.md", "");
    let file = fixture.store.folder("").unwrap().open_file("shared.md").unwrap();
    assert_eq!(first_mode(Access::Like(&file)).as_raw_mode(), 0o600);
    fixture.put(A, "old");
    fs::set_permissions(fixture.store.memory().join(A), fs::Permissions::from_mode(0o600)).unwrap();
    let mut modes = Vec::new();
    let mut look = |step| {
        if step != WriteStep::Checked {
            return;
        }
        for found in fs::read_dir(fixture.store.memory().join("knowledge")).unwrap() {
            modes.push(found.unwrap().metadata().unwrap().permissions().mode() & 0o777);
        }
    };
    fixture.store.replace_with(&fixture.lock(), A, b"old", b"new", now(), &mut look).unwrap();
    assert_eq!(modes, [0o600, 0o600]);
}

/// Returns an access control list that lets one more user read.
#[cfg(target_os = "linux")]
fn access_list() -> Vec<u8> {
    let entry =
        |tag: u16, bits: u16, id: u32| [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat();
    let entries = [entry(1, 6, !0), entry(2, 4, 12_345), entry(4, 4, !0), entry(16, 4, !0), entry(32, 0, !0)];
    [2_u32.to_le_bytes().to_vec(), entries.concat()].concat()
}

#[cfg(target_os = "linux")]
#[test]
fn keeps_what_people_and_the_system_keep_beside_the_bytes() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};

    let large = "x".repeat(2_000);
    let all = [
        ("user.reviewed", b"by me".to_vec()),
        ("user.large", large.into()),
        ("system.posix_acl_access", access_list()),
    ];
    for abilities in ALL_ABILITIES {
        let fixture = Fixture::with(abilities);
        fixture.put(A, "old");
        let path = fixture.store.memory().join(A);
        let has = |name: &str| {
            let mut buffer = [0; 4_096];
            getxattr(&path, name, &mut buffer).ok().map(|size| buffer[..size].to_vec())
        };
        // A file system without them keeps none.
        let set = all.iter().filter(|(name, value)| setxattr(&path, *name, value, XattrFlags::empty()).is_ok());
        let set: Vec<_> = set.map(|(name, _)| (*name, has(name))).collect();
        let mode = fs::metadata(&path).unwrap().mode();
        fixture.store.replace(&fixture.lock(), A, b"old", b"new", now()).unwrap();
        assert_eq!(fixture.text(A), "new");
        assert_eq!(set.iter().map(|(name, _)| (*name, has(name))).collect::<Vec<_>>(), set);
        assert_eq!(fs::metadata(&path).unwrap().mode(), mode);
    }
}

/// The folder lets another user read its new files, and this one is older, or was taken from that user.
#[cfg(target_os = "linux")]
#[test]
fn a_list_of_the_folder_gives_a_replaced_file_to_nobody() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};

    let fixture = Fixture::new();
    fixture.put(A, "old");
    let path = fixture.store.memory().join(A);
    if setxattr(path.parent().unwrap(), "system.posix_acl_default", &access_list(), XattrFlags::empty()).is_err() {
        return;
    }
    fixture.store.replace(&fixture.lock(), A, b"old", b"new", now()).unwrap();
    assert!(getxattr(&path, "system.posix_acl_access", &mut [0; 100]).is_err());
}

#[test]
fn a_name_of_the_longest_kind_is_replaced() {
    let fixture = Fixture::new();
    let path = format!("knowledge/{}.md", "é".repeat(126));
    let conflict = replace_while_an_editor_saves(&fixture, &path).unwrap().conflict.unwrap();
    assert_eq!(fixture.text(&path), "new");
    assert_eq!(fixture.text(&conflict), "theirs");
}
