//! Surveys, which change nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Fixture, walk};
use crate::store::{FolderState, LockState, Paths};

/// The id of a process that cannot exist.
const DEAD: u32 = u32::MAX;

#[test]
fn a_survey_creates_no_locks() {
    let fixture = Fixture::new();
    let states = || (fixture.store.lock_state(), fixture.store.cache_lock_state());
    assert_eq!(states(), (LockState::Free, LockState::Free));
    assert!(!fixture.exists("state") && !fixture.exists("cache"));
    let held = fixture.lock();
    let (entries, cache) = states();
    let LockState::Held(Some(holder)) = entries else { panic!("{entries:?}") };
    assert!(holder.starts_with(&format!("pid {} on ", std::process::id())), "{holder}");
    assert_eq!(cache, LockState::Free);
    drop(held);
    let held = fixture.store.cache_lock().unwrap();
    assert!(matches!(states(), (LockState::Free, LockState::Held(Some(_)))));
    drop(held);
    assert_eq!(states(), (LockState::Free, LockState::Free));
    // The survey releases the lock: a writer gets it at once.
    drop(fixture.lock());
    fs::remove_file(fixture.store.state().join("lock")).unwrap();
    fixture.link("/dev/null", "state/lock");
    assert!(matches!(fixture.store.lock_state(), LockState::Unknown(_)));
}

#[test]
fn the_access_to_a_folder_is_reported() {
    let fixture = Fixture::new();
    let state = |name: &str| fixture.store.folder_state(name);
    assert_eq!((state(""), state("cache")), (FolderState::Writable, FolderState::Missing));
    fs::create_dir(fixture.store.cache()).unwrap();
    assert_eq!(state("cache"), FolderState::Writable);
    fixture.put("state", "a file");
    assert_eq!(state("state"), FolderState::Blocked);
    fixture.link("cache", "knowledge");
    assert_eq!(state("knowledge"), FolderState::Blocked);
    fs::set_permissions(fixture.store.cache(), fs::Permissions::from_mode(0o555)).unwrap();
    // Root is refused nothing.
    let may_do_all = fs::write(fixture.store.cache().join("probe"), "x").is_ok();
    assert_eq!(state("cache"), if may_do_all { FolderState::Writable } else { FolderState::ReadOnly });
    fs::set_permissions(fixture.store.cache(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_survey_lists_oddities_and_changes_nothing() {
    let fixture = Fixture::new();
    let dead = format!(".tmp-{DEAD}-0123456789abcdef");
    let alive = format!(".tmp-{}-0123456789abcdef", std::process::id());
    let folders = ["knowledge/a/", "state/", "cache/index/", ""];
    fixture.put_all(folders.iter().flat_map(|path| [&dead, &alive].map(|name| format!("{path}{name}"))), "x");
    fixture.put_all(["knowledge/now.md", "journal/run-1/0001.md"], "x");
    fixture.link("../..", "knowledge/loop");
    fixture.fifo("knowledge/fifo.md");
    let all = || {
        let mut paths = Vec::new();
        walk(fixture.store.memory(), "", &mut paths);
        paths.sort();
        paths
    };
    let before = all();

    let survey = fixture.store.survey();
    let leftovers: Vec<String> =
        ["", "cache/index/", "knowledge/a/", "state/"].map(|path| format!("{path}{dead}")).into();
    assert_eq!(survey.leftovers, Paths { named: leftovers, count: 4 });
    // knowledge, knowledge/a, journal, journal/run-1
    assert_eq!((survey.folders, survey.closed.count), (4, 0));
    assert_eq!(all(), before);
}

#[test]
fn of_many_paths_the_first_are_listed() {
    let fixture = Fixture::new();
    let mut all: Vec<String> = (0..30).map(|at| format!("knowledge/.tmp-{DEAD}-{at:016x}")).collect();
    fixture.put_all(&all, "x");
    all.truncate(20);
    assert_eq!(fixture.store.survey().leftovers, Paths { named: all, count: 30 });
}
