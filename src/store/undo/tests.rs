//! Tests of the log on real files.

use std::time::Duration;

use chrono::DateTime;
use xxhash_rust::xxh3::xxh3_64;

use super::super::layout::Store;

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create_root(folder.path()).unwrap();
    (folder, store)
}

#[test]
fn an_operation_over_the_limit_keeps_nothing_and_says_so() {
    let (_folder, store) = store();
    let lock = store.lock(Duration::ZERO).unwrap();
    let bytes = |number: u8| vec![number; crate::entry::MAX_FILE_BYTES];
    store.create(&lock, "knowledge/a.md", &bytes(0)).unwrap();
    for number in 0..40 {
        store.replace(&lock, "knowledge/a.md", &bytes(number), &bytes(number + 1), DateTime::UNIX_EPOCH).unwrap();
    }
    drop(lock);
    let operations = store.operations().unwrap();
    assert!(operations.len() == 1 && operations[0].is_too_large());
    let stat = store.folder("state/undo").unwrap().stat_of("00000001").unwrap();
    assert!(stat.size < 1_000, "{stat:?}");
    // One that is smaller takes its place, and the older ones go when they are too many bytes together.
    for number in 40..80 {
        let lock = store.lock(Duration::ZERO).unwrap();
        store.replace(&lock, "knowledge/a.md", &bytes(number), &bytes(number + 1), DateTime::UNIX_EPOCH).unwrap();
        drop(lock);
    }
    let numbers: Vec<u64> = store.operations().unwrap().iter().map(|operation| operation.head.number).collect();
    assert_eq!((numbers.len(), numbers[0]), (31, 41));
}

#[test]
fn what_changed_nothing_is_no_operation() {
    let (_folder, store) = store();
    let lock = store.lock(Duration::ZERO).unwrap();
    store.create(&lock, "knowledge/a.md", b"a").unwrap();
    let copy = store.archive_copy(&lock, "knowledge/a.md", b"a", DateTime::UNIX_EPOCH).unwrap();
    store.discard_copy(&lock, &copy, b"a").unwrap();
    store.remove_all(&lock, &[("knowledge/a.md", xxh3_64(b"a"))]).unwrap();
    drop(lock);
    assert!(store.operations().unwrap().is_empty());
}

#[test]
fn a_file_with_a_huge_number_that_came_with_the_memory_is_removed() {
    let (folder, store) = store();
    std::fs::create_dir_all(folder.path().join(".ralph/state/undo")).unwrap();
    let foreign = folder.path().join(format!(".ralph/state/undo/{}", u64::MAX));
    std::fs::write(&foreign, "{\"number\":1}\n").unwrap();
    let lock = store.lock(Duration::ZERO).unwrap();
    store.create(&lock, "knowledge/a.md", b"a").unwrap();
    drop(lock);
    assert!(!foreign.exists());
    assert_eq!(store.operations().unwrap()[0].head.number, 1);
}

#[test]
fn a_change_that_cannot_be_logged_is_not_made() {
    let (folder, store) = store();
    let lock = store.lock(Duration::ZERO).unwrap();
    // A folder in the place of the next file of the log.
    std::fs::create_dir_all(folder.path().join(".ralph/state/undo/00000001")).unwrap();
    let failed = store.create(&lock, "knowledge/a.md", b"a");
    assert!(matches!(failed, Err(crate::error::Error::Io { .. })), "{failed:?}");
    assert!(!folder.path().join(".ralph/knowledge/a.md").exists());
}
