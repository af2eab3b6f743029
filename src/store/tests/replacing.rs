//! Replacing: only what was read, and never another program's version.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::{Fixture, RENAMES, assert_conflict, assert_io, assert_outside, now};
use crate::entry::MAX_FILE_BYTES;
use crate::error::Error;
use crate::store::folder::Folder;
use crate::store::replace_file::WriteStep;
use crate::store::temp::{Access, first_mode};

const A: &str = "knowledge/a.md";

#[test]
fn replaces_what_was_read_and_keeps_the_mode() {
    for has_flags in RENAMES {
        for mode in [0o600, 0o644, 0o664, 0o666, 0o755, 0o440] {
            let fixture = Fixture::with(has_flags);
            fixture.put(A, "old\r\n");
            let path = fixture.store.memory().join(A);
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let replaced = fixture.store.replace(&fixture.lock(), A, b"old\r\n", b"\xef\xbb\xbfnew\r\n", now());
            assert_eq!(replaced.unwrap(), None);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode, "{mode:o}");
            assert_eq!(fixture.text(A), "\u{feff}new\r\n");
            assert_eq!(fixture.tree(), ["knowledge/", A]);
        }
    }
}

#[test]
fn equal_bytes_and_a_conflict_write_nothing() {
    let fixture = Fixture::new();
    fixture.put(A, "same");
    let folder = fixture.store.folder("knowledge").unwrap();
    let stats = || (folder.stat().unwrap(), folder.stat_of("a.md").unwrap());
    let before = stats();
    assert_eq!(fixture.store.replace(&fixture.lock(), A, b"same", b"same", now()).unwrap(), None);
    assert_conflict(fixture.store.replace(&fixture.lock(), A, b"old", b"new", now()));
    assert_eq!(stats(), before);
}

/// Saves a file as most editors do.
fn save(path: &Path, text: &str) {
    let backup = path.with_file_name("backup~");
    fs::write(&backup, text).unwrap();
    fs::rename(backup, path).unwrap();
}

/// What another program does to a file at any moment.
const ACTIONS: [fn(&Path); 5] = [
    |path| save(path, "theirs"),
    |path| fs::write(path, "theirs").unwrap(),
    |path| fs::remove_file(path).unwrap(),
    |path| {
        fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink("../elsewhere.md", path).unwrap();
    },
    |path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    },
];

/// Returns what is at a path, in words.
fn state(path: &Path) -> String {
    match fs::symlink_metadata(path).map(|found| found.file_type()) {
        Err(_) => "nothing".to_owned(),
        Ok(kind) if kind.is_symlink() => format!("link to {}", fs::read_link(path).unwrap().display()),
        Ok(kind) if kind.is_dir() => "folder".to_owned(),
        Ok(_) => fs::read_to_string(path).unwrap(),
    }
}

/// Calls `check` for each of the actions at each step, with what the action turns a file into.
fn at_each_step(check: impl Fn(bool, WriteStep, &dyn Fn(&Path), &str)) {
    for act in ACTIONS {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.md");
        fs::write(&path, "old").unwrap();
        act(&path);
        for has_flags in RENAMES {
            for step in [WriteStep::Written, WriteStep::Checked, WriteStep::Exchanged] {
                // Without an exchange, nothing comes after it.
                if has_flags || step != WriteStep::Exchanged {
                    check(has_flags, step, &act, &state(&path));
                }
            }
        }
    }
}

fn at(step: WriteStep, act: impl Fn()) -> impl FnMut(WriteStep) {
    move |now| {
        if now == step {
            act();
        }
    }
}

#[test]
fn what_another_program_does_to_an_entry_meanwhile_is_kept() {
    at_each_step(|has_flags, step, act, made| {
        let fixture = Fixture::with(has_flags);
        fixture.put(A, "old");
        fixture.put("elsewhere.md", "elsewhere");
        let path = fixture.store.memory().join(A);
        let mut meanwhile = at(step, || act(&path));
        let replaced = fixture.store.replace_with(&fixture.lock(), A, b"old", b"new", now(), &mut meanwhile);
        let case = format!("{has_flags} {step:?} {made}: {replaced:?}");
        // The exchange displaces whatever took the file's place.
        if step == WriteStep::Checked && has_flags && made != "nothing" {
            let kept = replaced.unwrap().unwrap();
            assert_eq!(kept, "archive/knowledge/a.conflict-20260217T120000Z.md", "{case}");
            assert_eq!(
                (state(&path), state(&fixture.store.memory().join(kept))),
                ("new".into(), made.into()),
                "{case}"
            );
        } else {
            match replaced {
                Ok(kept) => assert!(step == WriteStep::Exchanged && kept.is_none(), "{case}"),
                Err(Error::OutsideRoot { .. }) => assert!(made.starts_with("link"), "{case}"),
                conflict => assert_conflict(conflict),
            }
            assert_eq!(state(&path), made, "{case}");
        }
        assert_eq!(fixture.text("elsewhere.md"), "elsewhere", "{case}");
        assert!(!fixture.tree().iter().any(|path| path.contains(".tmp")), "{case}");
    });
}

#[test]
fn what_another_program_does_to_an_outside_file_meanwhile_stays_in_its_place() {
    at_each_step(|has_flags, step, act, made| {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::open(place.path()).unwrap();
        folder.has_rename_flags = has_flags;
        let path = place.path().join("a.md");
        fs::write(&path, "old").unwrap();
        let is_replaced = folder.replace_with("a.md", b"old", b"new", &mut at(step, || act(&path))).unwrap();
        let case = format!("{has_flags} {step:?} {made}");
        assert_eq!((is_replaced, state(&path).as_str()), (step == WriteStep::Exchanged, made), "{case}");
        let names = usize::from(made != "nothing");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), names, "{case}");
    });
}

/// Replaces a file while an editor saves it.
fn replace_while_an_editor_saves(fixture: &Fixture, path: &str) -> crate::error::Result<Option<String>> {
    fixture.put(path, "old");
    let mut meanwhile = at(WriteStep::Checked, || save(&fixture.store.memory().join(path), "theirs"));
    fixture.store.replace_with(&fixture.lock(), path, b"old", b"new", now(), &mut meanwhile)
}

#[cfg(not(feature = "portable"))]
#[test]
fn versions_of_an_editor_are_numbered_and_a_long_name_is_cut() {
    let fixture = Fixture::new();
    let (path, long) = ("knowledge/sub/b.md", format!("knowledge/{}.md", "é".repeat(126)));
    for number in ["", "-2", "-3"] {
        let conflict = replace_while_an_editor_saves(&fixture, path).unwrap().unwrap();
        assert_eq!(conflict, format!("archive/knowledge/sub/b.conflict-20260217T120000Z{number}.md"));
        assert_eq!((fixture.text(&conflict), fixture.text(path)), ("theirs".into(), "new".into()));
    }
    let conflict = replace_while_an_editor_saves(&fixture, &long).unwrap().unwrap();
    assert_eq!((fixture.text(&conflict), fixture.text(&long)), ("theirs".into(), "new".into()));
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
    fixture.put("large.md", vec![b'a'; MAX_FILE_BYTES + 1]);
    fixture.fifo("fifo.md");
    fixture.link(A, "link.md");
    let replace =
        |path, old: &str, new: &str| fixture.store.replace(&lock, path, old.as_bytes(), new.as_bytes(), now());
    // A prefix, an extension, and bytes that already are the new ones.
    for (old, new) in [("old", "new"), ("their", "new"), ("theirs.", "new"), ("old", "theirs")] {
        assert_conflict(replace(A, old, new));
    }
    for path in ["knowledge/none.md", "none/a.md", "large.md", "fifo.md", "knowledge"] {
        assert_conflict(replace(path, "", "new"));
        assert_conflict(replace(path, "old", "new"));
    }
    assert_outside(replace("link.md", "theirs", "new"));
    assert_outside(replace("../a.md", "theirs", "new"));
    let large = vec![b'a'; MAX_FILE_BYTES + 1];
    let replaced = fixture.store.replace(&lock, A, b"theirs", &large, now());
    assert!(matches!(replaced, Err(Error::Invalid { .. })), "{replaced:?}");
    assert_eq!(fixture.text(A), "theirs");
    assert_eq!(fixture.tree(), ["fifo.md", "knowledge/", A, "large.md", "link.md"]);
}

#[cfg(not(feature = "portable"))]
#[test]
fn the_exchange_is_undone_when_the_version_cannot_be_kept() {
    let fixture = Fixture::new();
    fixture.put("archive", "a file where a folder must be");
    assert_io(replace_while_an_editor_saves(&fixture, A), ErrorKind::NotADirectory);
    assert_eq!(fixture.text(A), "theirs");
    assert_eq!(fixture.tree(), ["archive", "knowledge/", A]);
}

/// An editor saves before the exchange and once more after it, and the archive cannot be written.
#[cfg(not(feature = "portable"))]
#[test]
fn no_version_is_lost_when_even_the_undoing_meets_an_editor() {
    let fixture = Fixture::new();
    fixture.put("archive", "a file where a folder must be");
    fixture.put(A, "old");
    let mut at_step = |step| match step {
        WriteStep::Written => {}
        WriteStep::Checked => save(&fixture.store.memory().join(A), "first"),
        WriteStep::Exchanged => save(&fixture.store.memory().join(A), "second"),
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

#[cfg(all(target_os = "linux", not(feature = "portable")))]
fn access_list() -> Vec<u8> {
    let entry =
        |tag: u16, bits: u16, id: u32| [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat();
    let entries = [entry(1, 6, !0), entry(2, 4, 12_345), entry(4, 4, !0), entry(16, 4, !0), entry(32, 0, !0)];
    [2_u32.to_le_bytes().to_vec(), entries.concat()].concat()
}

/// The folder lets another user read its new files, and this one is older, or was taken from that user.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
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
