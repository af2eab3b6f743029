//! What happens to files: clocks that lie, damage, full disks, and names that lead elsewhere. Each campaign
//! in small; the example `file_campaigns` makes them as large as one likes.

use std::path::Path;

use crate::{clocks, corruption, full_disk};
use crate::support::PROGRAM;

#[test]
fn no_clock_makes_an_answer_stale() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = clocks::run(folder.path(), Path::new(PROGRAM), 100, 5);
    assert_eq!(outcome.edits, 100);
    assert!(outcome.by_library > 50 && outcome.by_process > 20 && outcome.same_size > 20, "{outcome:?}");
}

#[test]
fn damage_to_cache_and_state_changes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = corruption::run(folder.path(), Path::new(PROGRAM), 50, 6);
    assert_eq!(outcome.damaged, 50);
    // All that can happen has happened.
    assert!(outcome.kinds.iter().all(|count| *count > 0) && outcome.in_state > 0 && outcome.noticed > 0, "{outcome:?}");
}

#[test]
fn a_full_disk_loses_nothing_and_is_lived_through() {
    let own = ["campaigns::a_full_disk_loses_nothing_and_is_lived_through", "--exact"];
    let Some(place) = full_disk::own_disk(&own) else { return };
    let outcome = full_disk::run(&place, Path::new(PROGRAM), 2, 7);
    assert!(outcome.fills == 2 && outcome.written.len() == 4, "{outcome:?}");
    full_disk::got_there(&place);
}

#[test]
fn what_can_only_be_read_is_read() {
    let Some(place) = full_disk::own_disk(&["campaigns::what_can_only_be_read_is_read", "--exact"]) else { return };
    full_disk::read_only(&place, Path::new(PROGRAM));
    full_disk::got_there(&place);
}
