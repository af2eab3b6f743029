//! Locks.

use std::fs;
use std::io::ErrorKind;
use std::time::Duration;

use super::{Fixture, assert_io, assert_outside};
use crate::error::Error;
use crate::store::lock::Guarded;

#[test]
fn a_time_out_names_the_holder() {
    let fixture = Fixture::new();
    let held = fixture.lock();
    let error = fixture.store.lock(Duration::from_millis(30)).unwrap_err();
    let Error::Locked { path, waited_ms, holder } = error else { panic!("{error:?}") };
    assert_eq!(path, fixture.store.state().join("lock"));
    assert!(waited_ms >= 30, "{waited_ms}");
    let holder = holder.unwrap();
    assert!(holder.starts_with(&format!("pid {} on ", std::process::id())), "{holder}");
    assert!(holder.contains("(ralph_memory") && holder.ends_with(')'), "{holder}");
    drop(held);
    fixture.store.lock(Duration::ZERO).unwrap();
}

#[test]
fn a_waiting_process_gets_the_lock() {
    let fixture = Fixture::new();
    let held = fixture.lock();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| fixture.store.lock(Duration::from_secs(60)).map(drop));
        drop(held);
        waiter.join().unwrap().unwrap();
    });
}

#[test]
fn the_holders_text_is_sanitised() {
    let fixture = Fixture::new();
    let held = fixture.lock();
    let path = fixture.store.state().join("lock");
    let holder = || match fixture.store.lock(Duration::ZERO) {
        Err(Error::Locked { holder, .. }) => holder,
        other => panic!("{other:?}"),
    };
    fs::write(&path, format!("\x1b[31mred\u{9b}\nsecond{}", "x".repeat(1000))).unwrap();
    assert_eq!(holder().as_deref(), Some("[31mred"));
    fs::write(&path, "x".repeat(1000)).unwrap();
    assert_eq!(holder().unwrap().len(), 200);
    fs::write(&path, "").unwrap();
    assert_eq!(holder(), None);
    fs::write(&path, b"\xff \n").unwrap();
    assert_eq!(holder().as_deref(), Some("\u{fffd}"));
    drop(held);
}

#[test]
fn a_longer_message_is_written_over() {
    let fixture = Fixture::new();
    fixture.put("state/lock", "x".repeat(1000));
    let _held = fixture.lock();
    let text = fixture.text("state/lock");
    assert!(text.starts_with("pid ") && text.ends_with(")\n") && text.lines().count() == 1, "{text}");
}

#[test]
fn a_removed_lock_file_locks_nobody() {
    let fixture = Fixture::new();
    let held = fixture.lock();
    let open = fs::File::open(fixture.store.state().join("lock")).unwrap();
    fs::remove_dir_all(fixture.store.state()).unwrap();
    // The old file is still locked, but no process can find it; only the new one counts.
    assert!(open.try_lock().is_err());
    let new = fixture.lock();
    drop(held);
    assert!(matches!(fixture.store.lock(Duration::ZERO), Err(Error::Locked { .. })));
    drop(new);
}

#[test]
fn a_lock_file_removed_before_it_is_locked_is_not_taken() {
    let removals: [fn(&Fixture); 3] = [
        |fixture| fs::remove_dir_all(fixture.store.state()).unwrap(),
        |fixture| fs::remove_file(fixture.store.state().join("lock")).unwrap(),
        |fixture| {
            fs::remove_file(fixture.store.state().join("lock")).unwrap();
            fixture.put("state/lock", "");
        },
    ];
    for remove in removals {
        let fixture = Fixture::new();
        let mut n_opened = 0;
        let mut interrupt = || {
            n_opened += 1;
            if n_opened == 1 {
                remove(&fixture);
            }
        };
        let held = fixture.store.take_lock(Guarded::Entries, Duration::ZERO, &mut interrupt).unwrap();
        assert_eq!(n_opened, 2);
        assert!(matches!(fixture.store.lock(Duration::ZERO), Err(Error::Locked { .. })));
        drop(held);
    }
}

#[test]
fn an_invalid_lock_file_is_refused() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.store.state()).unwrap();
    fixture.fifo("state/lock");
    assert_io(fixture.store.lock(Duration::ZERO), ErrorKind::InvalidInput);
    fs::remove_file(fixture.store.state().join("lock")).unwrap();
    fixture.link("../README.md", "state/lock");
    assert_outside(fixture.store.lock(Duration::ZERO));
    assert!(!fixture.exists("README.md"));
    fs::remove_dir_all(fixture.store.state()).unwrap();
    fixture.put("state", "");
    assert_io(fixture.store.lock(Duration::ZERO), ErrorKind::NotADirectory);
}

#[test]
fn the_cache_has_its_own_lock() {
    let fixture = Fixture::new();
    let entries = fixture.lock();
    let cache = fixture.store.cache_lock().unwrap();
    cache.assert_guards(Guarded::Cache);
    entries.assert_guards(Guarded::Entries);
    assert!(fixture.store.cache_lock().is_none());
    drop(cache);
    assert!(fixture.store.cache_lock().is_some());
    fs::remove_dir_all(fixture.store.cache()).unwrap();
    fixture.put("cache", "a file");
    assert!(fixture.store.cache_lock().is_none());
}

#[test]
fn a_killed_holder_is_noticed() {
    let fixture = Fixture::new();
    let path = fixture.store.state().join("lock");
    for (text, expected) in [(None, false), (Some(""), false), (Some("pid 1 on host (ralph-memory add)\n"), true)] {
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
        }
        assert_eq!(fixture.lock().was_abandoned(), expected, "{text:?}");
        // This holder released it.
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
        assert!(!fixture.lock().was_abandoned());
    }
}

/// Taking the lock of the cache removes leftovers of processes that have ended.
#[test]
fn taking_the_cache_lock_after_a_kill_sweeps() {
    let fixture = Fixture::new();
    drop(fixture.store.cache_lock().unwrap());
    // No process has this id: it is beyond the range of Linux.
    let (dead, alive) = (".tmp-4194305-0123456789abcdef", format!(".tmp-{}-0123456789abcdef", std::process::id()));
    fixture.put(&format!("cache/deep/{dead}"), "x");
    fixture.put(&format!("cache/{alive}"), "x");
    drop(fixture.store.cache_lock().unwrap());
    assert!(fixture.store.cache().join("deep").join(dead).exists(), "no process was killed");
    fs::write(fixture.store.cache().join("lock"), "pid 4194305 on host (ralph-memory index)\n").unwrap();
    drop(fixture.store.cache_lock().unwrap());
    assert!(!fixture.store.cache().join("deep").join(dead).exists());
    assert!(fixture.store.cache().join(alive).exists());
}
