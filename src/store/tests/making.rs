//! Creating files and folders, for entries, for `init` and in the cache.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Barrier;

use super::{Fixture, RENAMES, assert_io, assert_outside, now};
use crate::entry::MAX_FILE_BYTES;
use crate::error::Error;
use crate::store::temp::{Access, Durability};
use crate::store::{Created, Store};

#[test]
fn create_makes_parents_and_never_replaces() {
    for has_flags in RENAMES {
        let fixture = Fixture::with(has_flags);
        let lock = fixture.lock();
        let create = |path, bytes: &[u8]| fixture.store.create(&lock, path, bytes).unwrap();
        assert_eq!(create("journal/run-1a2b3c4d/0001.md", b"one\r\n"), Created::Made);
        // A taken name is refused before anything is written.
        let folder = fixture.store.folder("journal/run-1a2b3c4d").unwrap();
        let before = folder.stat().unwrap();
        assert_eq!(create("journal/run-1a2b3c4d/0001.md", b"two"), Created::Exists);
        assert_eq!(folder.stat().unwrap(), before);
        assert_eq!(fixture.text("journal/run-1a2b3c4d/0001.md"), "one\r\n");
        // The existing file stays.
        fixture.link("nowhere", "journal/link.md");
        assert_eq!(create("journal/link.md", b"x"), Created::Exists);
        assert_eq!(create("journal/run-1a2b3c4d", b"x"), Created::Exists);
        let expected = ["journal/", "journal/link.md", "journal/run-1a2b3c4d/", "journal/run-1a2b3c4d/0001.md"];
        assert_eq!(fixture.tree(), expected);
    }
}

#[test]
fn one_of_many_creators_wins() {
    for has_flags in RENAMES {
        let fixture = Fixture::with(has_flags);
        let folder =
            fixture.store.make_folder(".ralph/journal").map(|_| fixture.store.folder("journal").unwrap()).unwrap();
        for round in 0..20 {
            let name = format!("{round:04}.md");
            let barrier = Barrier::new(8);
            let made: Vec<usize> = std::thread::scope(|scope| {
                let create = |number: usize| {
                    barrier.wait();
                    let bytes = number.to_string().repeat(1000);
                    // Below the lock, so that the threads meet.
                    let created =
                        folder.create_file(&name, bytes.as_bytes(), Access::New, Durability::Unsynced).unwrap();
                    (created == Created::Made).then_some(number)
                };
                let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || create(number))).collect();
                threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
            });
            let [winner] = made[..] else { panic!("{made:?}") };
            assert_eq!(fixture.text(&format!("journal/{name}")), winner.to_string().repeat(1000));
        }
        assert_eq!(fixture.tree().len(), 21);
    }
}

#[test]
fn new_files_follow_the_umask() {
    let fixture = Fixture::new();
    fixture.store.create(&fixture.lock(), "knowledge/a.md", b"").unwrap();
    fixture.put("plain.md", "");
    let mode = |path| fs::metadata(fixture.store.memory().join(path)).unwrap().permissions().mode();
    // The standard library, too, creates files with 0666 minus the umask.
    assert_eq!(mode("knowledge/a.md"), mode("plain.md"));
}

#[test]
fn nothing_is_written_through_a_link() {
    let fixture = Fixture::new();
    let outside = tempfile::tempdir().unwrap();
    let lock = fixture.lock();
    fixture.link(outside.path(), "knowledge");
    fixture.link(outside.path(), "archive");
    fixture.link(outside.path(), "cache");
    for path in ["knowledge/a.md", "knowledge/sub/a.md", "../a.md", "/tmp/a.md"] {
        assert_outside(fixture.store.create(&lock, path, b"x"));
    }
    assert_outside(fixture.store.init_file(".ralph/knowledge/a.md", b"x"));
    assert_outside(fixture.store.make_folder(".ralph/knowledge/a"));
    assert_outside(fixture.store.make_folder("../a"));
    assert!(fixture.store.write_cache("a", b"x").is_err());
    assert!(fixture.store.append_cache("a").is_err());
    assert!(fixture.store.make_cache_folder("a").is_err());
    assert!(fixture.store.cache_lock().is_none());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    std::os::unix::fs::symlink(outside.path(), fixture.root().join(".claude")).unwrap();
    assert_outside(fixture.store.init_file(".claude/skills/a.md", b"x"));
    fixture.put("skills/a/SKILL.md", "");
    assert_outside(fixture.store.move_skills());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn failures_say_where_and_leave_nothing() {
    let fixture = Fixture::new();
    let lock = fixture.lock();
    fixture.put("knowledge", "a file");
    assert_io(fixture.store.create(&lock, "knowledge/a.md", b"x"), ErrorKind::NotADirectory);
    assert_io(fixture.store.create(&lock, "knowledge/sub/a.md", b"x"), ErrorKind::NotADirectory);
    assert_io(fixture.store.make_folder(".ralph/knowledge"), ErrorKind::NotADirectory);
    assert_io(fixture.store.create(&lock, &"a".repeat(256), b"x"), ErrorKind::InvalidFilename);
    let large = vec![b'a'; MAX_FILE_BYTES + 1];
    assert!(matches!(fixture.store.create(&lock, "a.md", &large), Err(Error::Invalid { .. })));
    assert_eq!(fixture.tree(), ["knowledge"]);
    fs::remove_dir_all(fixture.store.memory()).unwrap();
    // Only `create_root` and `init_file` create `.ralph/` itself.
    assert_io(fixture.store.create(&lock, "knowledge/a.md", b"x"), ErrorKind::NotFound);
}

#[test]
fn a_folder_without_permission_is_an_error() {
    if rustix::process::geteuid().is_root() {
        return; // Root may write everywhere.
    }
    let fixture = Fixture::new();
    let lock = fixture.lock();
    fixture.put("knowledge/a.md", "old");
    let folder = fixture.store.memory().join("knowledge");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let created = fixture.store.create(&lock, "knowledge/b.md", b"x");
    let replaced = fixture.store.replace(&lock, "knowledge/a.md", b"old", b"new", now());
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_io(created, ErrorKind::PermissionDenied);
    assert_io(replaced, ErrorKind::PermissionDenied);
    assert_eq!(fixture.tree(), ["knowledge/", "knowledge/a.md"]);
    assert_eq!(fixture.text("knowledge/a.md"), "old");
}

#[test]
fn create_root_is_done_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create_root(folder.path()).unwrap();
    assert_eq!(store.init_file(".ralph/README.md", b"one").unwrap(), Created::Made);
    let store = Store::create_root(folder.path()).unwrap();
    assert_eq!(store.init_file(".ralph/README.md", b"two").unwrap(), Created::Exists);
    assert_eq!(fs::read(folder.path().join(".ralph/README.md")).unwrap(), b"one");
    assert_io(Store::create_root(&folder.path().join("none")), ErrorKind::NotFound);

    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join(".ralph"), "").unwrap();
    assert_io(Store::create_root(other.path()), ErrorKind::NotADirectory);
    fs::remove_file(other.path().join(".ralph")).unwrap();
    std::os::unix::fs::symlink(folder.path(), other.path().join(".ralph")).unwrap();
    assert_outside(Store::create_root(other.path()));
}

#[test]
fn init_adds_what_is_absent() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    assert!(store.make_folder(".ralph/knowledge/events").unwrap());
    assert!(!store.make_folder(".ralph/knowledge/events").unwrap());
    assert_eq!(store.init_file(".ralph/templates/a.md", b"a").unwrap(), Created::Made);
    assert_eq!(store.init_file(".claude/skills/a/SKILL.md", b"s").unwrap(), Created::Made);
    assert_eq!(store.init_file(".claude/skills/a/SKILL.md", b"t").unwrap(), Created::Exists);
    assert_eq!(store.init_file("CLAUDE.md", b"c").unwrap(), Created::Made);
    assert_eq!(fs::read(fixture.root().join(".claude/skills/a/SKILL.md")).unwrap(), b"s");
    assert_eq!(fs::read(fixture.root().join("CLAUDE.md")).unwrap(), b"c");
    assert_eq!(fixture.tree(), ["knowledge/", "knowledge/events/", "templates/", "templates/a.md"]);
}

#[test]
fn skills_are_moved_unless_the_name_is_taken() {
    for has_flags in RENAMES {
        let fixture = Fixture::with(has_flags);
        let skills = fixture.root().join(".claude/skills");
        assert_eq!(fixture.store.move_skills().unwrap(), Default::default());
        assert!(!skills.exists());

        fixture.store.make_folder(".ralph/skills").unwrap();
        assert_eq!(fixture.store.move_skills().unwrap(), Default::default());
        assert!(!skills.exists() && !fixture.exists("skills"));

        fixture.put_all(
            ["one/SKILL.md", "two/SKILL.md", "three.md", "four.md"].map(|name| format!("skills/{name}")),
            "old",
        );
        fixture.link("three.md", "skills/link.md");
        fs::create_dir_all(skills.join("two")).unwrap();
        fs::write(skills.join("four.md"), "new").unwrap();
        let moved = fixture.store.move_skills().unwrap();
        assert_eq!(moved.0, ["one", "three.md"]);
        assert_eq!(moved.1, ["four.md", "link.md", "two"]);
        let texts = ["one/SKILL.md", "three.md", "four.md"].map(|name| fs::read_to_string(skills.join(name)).unwrap());
        assert_eq!(texts, ["old", "old", "new"]);
        assert_eq!(fs::read_dir(skills.join("two")).unwrap().count(), 0);
        assert_eq!(fixture.text("skills/two/SKILL.md"), "old");

        fs::remove_dir_all(fixture.store.memory().join("skills")).unwrap();
        fixture.put("skills/five.md", "");
        assert_eq!(fixture.store.move_skills().unwrap().0, ["five.md"]);
        assert!(!fixture.exists("skills"));
    }
}

#[test]
fn cache_files_are_replaced_whole() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    store.write_cache("catalog-v1/live/manifest-1", b"one").unwrap();
    let mut before = store.open_cache("catalog-v1/live/manifest-1").unwrap();
    store.write_cache("catalog-v1/live/manifest-1", b"two").unwrap();
    // A reader continues to read the file that it opened.
    let mut bytes = Vec::new();
    before.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"one");
    assert_eq!(fixture.text("cache/catalog-v1/live/manifest-1"), "two");

    store.append_cache("heads").unwrap().write_all(b"a").unwrap();
    store.append_cache("heads").unwrap().write_all(b"b").unwrap();
    assert_eq!(fixture.text("cache/heads"), "ab");
    assert!(store.remove_cache("heads").unwrap());
    assert!(!store.remove_cache("heads").unwrap());
    assert!(!store.remove_cache("none/heads").unwrap());
    store.make_cache_folder("index-v1").unwrap();

    for name in ["", "../a", "/a", "a/../b"] {
        assert!(store.write_cache(name, b"x").is_err(), "{name:?}");
        assert!(store.open_cache(name).is_err(), "{name:?}");
        assert!(store.append_cache(name).is_err(), "{name:?}");
        assert!(store.remove_cache(name).is_err(), "{name:?}");
    }
    // A folder in the way: an error, and no leftover.
    assert!(store.write_cache("index-v1", b"x").is_err());
    fixture.fifo("cache/fifo");
    assert!(store.open_cache("fifo").is_err());
    assert!(store.append_cache("fifo").is_err());
    let mut expected = vec!["cache/", "cache/catalog-v1/", "cache/catalog-v1/live/"];
    expected.extend(["cache/catalog-v1/live/manifest-1", "cache/fifo", "cache/index-v1/"]);
    assert_eq!(fixture.tree(), expected);
}

#[test]
fn state_files_come_and_go() {
    let fixture = Fixture::new();
    let lock = fixture.lock();
    fixture.store.write_state(&lock, "run-1a2b3c4d-0001.json", b"one").unwrap();
    fixture.store.write_state(&lock, "run-1a2b3c4d-0001.json", b"two").unwrap();
    assert_eq!(fixture.store.read("state/run-1a2b3c4d-0001.json").unwrap().bytes, b"two");
    assert!(fixture.store.remove_state(&lock, "run-1a2b3c4d-0001.json").unwrap());
    assert!(!fixture.store.remove_state(&lock, "run-1a2b3c4d-0001.json").unwrap());
    assert_outside(fixture.store.write_state(&lock, "../a", b"x"));
    assert_outside(fixture.store.remove_state(&lock, "../knowledge"));
    assert_eq!(fixture.tree(), Vec::<String>::new());
}

#[test]
fn files_of_an_open_folder_are_its_own() {
    let fixture = Fixture::new();
    let outside = tempfile::tempdir().unwrap();
    let folder = fixture.store.make_cache_folder("index-v1/live").unwrap();
    folder.create_private("one").unwrap().write_all(b"1").unwrap();
    assert_eq!(folder.create_private("one").unwrap_err().kind(), ErrorKind::AlreadyExists);
    folder.replace_file("one", b"2").unwrap();
    assert_eq!(fixture.text("cache/index-v1/live/one"), "2");
    // Another folder has its name now.
    fs::rename(fixture.store.cache(), fixture.root().join("aside")).unwrap();
    fixture.link(outside.path(), "cache");
    folder.replace_file("two", b"2").unwrap();
    folder.open_lock_file("lock").unwrap();
    assert!(fixture.root().join("aside/index-v1/live/two").exists());
    // No link is followed; one that is in the way is itself replaced or removed.
    std::os::unix::fs::symlink(outside.path().join("x"), fixture.root().join("aside/index-v1/live/link")).unwrap();
    assert!(folder.open_file("link").is_err() && folder.open_lock_file("link").is_err());
    assert!(folder.create_private("link").is_err());
    folder.replace_file("link", b"3").unwrap();
    for name in ["", "..", "a/b"] {
        assert!(folder.open_file(name).is_err() && folder.create_private(name).is_err(), "{name}");
        assert!(folder.replace_file(name, b"").is_err() && folder.remove_file(name).is_err(), "{name}");
    }
    fs::create_dir_all(fixture.root().join("aside/index-v1/live/deep/er")).unwrap();
    std::os::unix::fs::symlink(outside.path(), fixture.root().join("aside/index-v1/live/deep/link")).unwrap();
    folder.remove_file("one").unwrap();
    folder.clear().unwrap();
    assert_eq!(folder.names().unwrap().len(), 0);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn git_works_in_a_folder_without_links() {
    let fixture = Fixture::new();
    let outside = tempfile::tempdir().unwrap();
    let scratch = fixture.store.make_scratch().unwrap();
    fixture.put("state/git/objects/ab/cd", "kept");
    assert_eq!(fixture.store.make_scratch().unwrap(), scratch);
    assert_eq!(fixture.text("state/git/objects/ab/cd"), "kept");
    fixture.link(outside.path(), "state/git/objects/ef");
    fixture.store.make_scratch().unwrap();
    assert_eq!(fixture.tree(), ["state/git/", "state/git/objects/"]);
    // Files of an ended process are removed, and so are too many files.
    let own = format!("state/git/index-{}-0", std::process::id());
    let dead = ["state/git/index-4194305-0", "state/git/index-4194305-0.lock"];
    fixture.put_all([&own, dead[0], dead[1], "state/git/objects/ab/cd"], "x");
    fixture.store.make_scratch().unwrap();
    let kept = ["state/git/", &own, "state/git/objects/", "state/git/objects/ab/", "state/git/objects/ab/cd"];
    assert_eq!(fixture.tree(), kept);
    let objects = fixture.store.make_scratch().unwrap().join("objects/ab");
    (0..20_000).for_each(|number| drop(fs::File::create(objects.join(number.to_string())).unwrap()));
    fixture.store.make_scratch().unwrap();
    assert_eq!(fixture.tree(), ["state/git/", "state/git/objects/"]);
    fixture.store.clear_scratch().unwrap();
    fixture.link(outside.path(), "state/git");
    assert!(fixture.store.clear_scratch().is_err());
    fixture.store.make_scratch().unwrap();
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// Two processes may fix at the same time: a removed folder is fine, whoever removed it.
#[test]
fn folders_of_the_cache_are_removed_once_and_for_all() {
    let fixture = Fixture::new();
    let lock = fixture.store.cache_lock().unwrap();
    fixture.put("cache/old/live/meta.json", "x");
    for _ in 0..2 {
        fixture.store.remove_cache_folder(&lock, "old").unwrap();
        assert!(!fixture.store.cache().join("old").exists());
    }
    assert!(fixture.store.remove_cache_folder(&lock, "../knowledge").is_err());
}
