//! Tests of the log on real files.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use xxhash_rust::xxh3::xxh3_64;

use super::super::layout::Store;
use super::super::operation_log::record::LoggedChange;
use crate::error::Error;

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create_root(folder.path()).unwrap();
    (folder, store)
}

fn text(number: u8) -> Vec<u8> {
    vec![number; crate::entry::MAX_FILE_BYTES]
}

/// Creates an entry with this name, in an operation of its own.
fn create(store: &Store, name: &str) {
    let lock = store.lock(Duration::ZERO).unwrap();
    store.create(&lock, &format!("knowledge/{name}.md"), b"a").unwrap();
}

fn numbers(store: &Store) -> Vec<u64> {
    store.operations().unwrap().iter().map(|operation| operation.head.number).collect()
}

/// Replaces each of these texts by the next one, in an operation of its own.
fn replace_each(store: &Store, numbers: std::ops::Range<u8>) {
    for number in numbers {
        let lock = store.lock(Duration::ZERO).unwrap();
        store.replace(&lock, "knowledge/a.md", &text(number), &text(number + 1), DateTime::UNIX_EPOCH).unwrap();
    }
}

/// Returns the numbers of the texts in the log, the newest first.
fn texts(store: &Store) -> Vec<u8> {
    let mut found = Vec::new();
    store
        .visit_operations(&mut |operation| {
            found.extend(operation.changes().rev().filter_map(|(_, text)| text.first().copied()));
        })
        .unwrap();
    found
}

#[test]
fn an_operation_over_the_limit_keeps_its_texts_and_cannot_be_taken_back() {
    let (_folder, store) = store();
    let lock = store.lock(Duration::ZERO).unwrap();
    store.create(&lock, "knowledge/a.md", &text(0)).unwrap();
    for number in 0..40 {
        store.replace(&lock, "knowledge/a.md", &text(number), &text(number + 1), DateTime::UNIX_EPOCH).unwrap();
    }
    drop(lock);
    let operations = store.operations().unwrap();
    let found: Vec<_> = operations.iter().map(|found| (found.head.number, found.is_too_large())).collect();
    // The first file is full, so it is one of the older ones at once.
    assert_eq!(found, [(2, true)]);
    assert_eq!(texts(&store), (0..40).rev().collect::<Vec<u8>>());
    // The newest ones take their place. Their texts stay until all of them together exceed the limit.
    replace_each(&store, 40..80);
    assert_eq!((numbers(&store).len(), numbers(&store)[0]), (31, 42));
    assert_eq!(texts(&store), (31..80).rev().collect::<Vec<u8>>());
    replace_each(&store, 80..140);
    let found = texts(&store);
    assert!((60..=64).contains(&found.len()) && found.iter().rev().is_sorted() && found[0] == 139, "{found:?}");
}

#[test]
fn older_operations_stay_for_their_texts_and_for_a_year() {
    let (folder, store) = store();
    let path = folder.path().join(".ralph/knowledge/a.md");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, [0]).unwrap();
    let day = |number: i64| DateTime::UNIX_EPOCH + TimeDelta::days(number);
    let edit = |number: u8, at: i64| {
        let _operation = store.operation("edit", day(at));
        let lock = store.lock(Duration::ZERO).unwrap();
        store.replace(&lock, "knowledge/a.md", &[number], &[number + 1], day(at)).unwrap();
    };
    let add = |name: &str, at: i64| {
        let _operation = store.operation("add", day(at));
        create(&store, name);
    };
    (0..3).for_each(|number| edit(number, 1));
    edit(3, 200);
    (0..310).for_each(|number| add(&number.to_string(), 300));
    assert_eq!((store.operations().unwrap().len(), texts(&store)), (300, vec![3, 2, 1, 0]));
    // A year later: never more than two at once, and nothing but those that are old enough.
    for (number, expected) in [(4, &[3, 2][..]), (5, &[3]), (6, &[3])] {
        edit(number, 400);
        (0..300).for_each(|name| add(&format!("{number}-{name}"), 400));
        let of_old: Vec<u8> = texts(&store).into_iter().filter(|text| *text < 4).collect();
        assert_eq!(of_old, expected, "{number}");
    }
    // Nothing is left of them.
    let lock = store.lock(Duration::ZERO).unwrap();
    store.forget_operations(&lock).unwrap();
    assert_eq!(texts(&store), [0; 0]);
    assert_eq!(std::fs::read_dir(store.state().join("undo")).unwrap().count(), 1);
}

#[test]
fn what_changed_nothing_is_no_operation() {
    let (_folder, store) = store();
    let lock = store.lock(Duration::ZERO).unwrap();
    store.create(&lock, "knowledge/a.md", b"a").unwrap();
    store.replace(&lock, "knowledge/a.md", b"a", b"b", DateTime::UNIX_EPOCH).unwrap();
    store.remove_all(&lock, &[("knowledge/a.md", xxh3_64(b"b"))], true).unwrap();
    drop(lock);
    assert!(store.operations().unwrap().is_empty());
}

#[test]
fn a_file_with_a_huge_number_that_came_with_the_memory_is_removed() {
    let (folder, store) = store();
    std::fs::create_dir_all(folder.path().join(".ralph/state/undo")).unwrap();
    let foreign = folder.path().join(format!(".ralph/state/undo/{}", u64::MAX));
    std::fs::write(&foreign, "{\"number\":1}\n").unwrap();
    create(&store, "a");
    assert!(!foreign.exists());
    assert_eq!(numbers(&store), [1]);
}

#[test]
fn a_change_that_cannot_be_logged_is_not_made_and_the_error_names_the_log() {
    let (folder, store) = store();
    let lock = store.lock(Duration::ZERO).unwrap();
    store.create(&lock, "knowledge/a.md", b"a").unwrap();
    let read_only = std::fs::File::open("/dev/null").unwrap();
    let id = std::thread::current().id();
    store.undo_log.threads().get_mut(&id).unwrap().file.as_mut().unwrap().file = read_only;
    let failed = store.create(&lock, "knowledge/b.md", b"b");
    let Err(Error::Io { source, .. }) = failed else { panic!("{failed:?}") };
    assert_eq!(source.to_string(), format!("cannot write the undo log in `{}`", store.state().join("undo").display()));
    let cause = std::error::Error::source(&source).unwrap().to_string();
    assert!(cause.contains("Bad file descriptor"), "{cause}");
    assert!(!folder.path().join(".ralph/knowledge/b.md").exists());
}

#[test]
fn what_came_with_the_memory_neither_stops_a_write_nor_hides_the_log() {
    let (folder, store) = store();
    let log = folder.path().join(".ralph/state/undo");
    let deep = ["x"; 40].join("/");
    std::fs::create_dir_all(log.join("00000001").join(&deep)).unwrap();
    std::fs::create_dir_all(log.join("100000001").join(&deep)).unwrap();
    create(&store, "a");
    assert_eq!(numbers(&store), [2]);
    for number in 101..=401 {
        std::fs::write(log.join(format!("00000{number}")), b"").unwrap();
    }
    assert_eq!(numbers(&store), [2]);
    create(&store, "b");
    assert_eq!(numbers(&store), [402], "the older one is over the limit");
    for number in 403..720 {
        create(&store, &format!("b-{number}"));
    }
    assert_eq!((numbers(&store).len(), numbers(&store)[0]), (299, 719));
    // Whatever is older than the kept operations is removed; only what is nested deeper than this program's own files
    // stays.
    assert_eq!(std::fs::read_dir(&log).unwrap().count(), 301);
}

#[test]
fn numbers_are_not_used_again_after_the_log_was_emptied() {
    let (_folder, store) = store();
    for name in ["a", "b"] {
        create(&store, name);
    }
    for (forgotten, number) in [(2, 3), (1, 4), (1, 5)] {
        let lock = store.lock(Duration::ZERO).unwrap();
        assert_eq!(store.forget_operations(&lock).unwrap(), forgotten);
        assert!(store.operations().unwrap().is_empty());
        let left = std::fs::read_to_string(store.state().join(format!("undo/{:08}", number - 1))).unwrap();
        assert!(!left.contains("knowledge") && left.contains("forgotten"), "only the number is left: {left}");
        assert_eq!(store.forget_operations(&lock).unwrap(), 0);
        drop(lock);
        create(&store, &number.to_string());
        assert_eq!(numbers(&store), [number]);
    }
}

#[test]
fn a_removed_file_comes_back_for_those_who_could_read_it() {
    let (folder, store) = store();
    let path = folder.path().join(".ralph/knowledge/a.md");
    create(&store, "a");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let lock = store.lock(Duration::ZERO).unwrap();
    store.remove_all(&lock, &[("knowledge/a.md", xxh3_64(b"a"))], true).unwrap();
    drop(lock);
    let operations = store.operations().unwrap();
    let Some((LoggedChange::Remove { path: removed, mode, .. }, bytes)) = operations[0].changes().next() else {
        panic!("{operations:?}")
    };
    let lock = store.lock(Duration::ZERO).unwrap();
    store.restore(&lock, removed, bytes, *mode).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
