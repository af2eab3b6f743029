//! What happens to files: clocks that lie, damage, full disks, and names that lead elsewhere. Each campaign
//! in small; the example `file_campaigns` makes them as large as one likes.

use std::path::Path;

use crate::own_disk::{COARSE, SMALL, got_there, own_disk};
use crate::support::PROGRAM;
use crate::{clocks, corruption, full_disk, paths};

#[test]
fn no_clock_makes_an_answer_stale() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = clocks::run(folder.path(), Path::new(PROGRAM), 100, 5);
    assert_eq!(outcome.edits, 100);
    assert!(outcome.by_library > 50 && outcome.by_process > 20 && outcome.same_size > 20, "{outcome:?}");
}

#[test]
fn no_coarse_clock_makes_an_answer_stale() {
    let own = ["campaigns::no_coarse_clock_makes_an_answer_stale", "--exact"];
    let Some(place) = own_disk(COARSE, &own) else { return };
    let outcome = clocks::run(&place.join("disk"), Path::new(PROGRAM), 100, 5);
    assert!(outcome.same_stat > 0, "{outcome:?}");
    got_there(&place);
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
    let Some(place) = own_disk(SMALL, &own) else { return };
    let outcome = full_disk::run(&place, Path::new(PROGRAM), 2, 7);
    assert!(outcome.fills == 2 && outcome.written.len() == 4, "{outcome:?}");
    got_there(&place);
}

#[test]
fn what_can_only_be_read_is_read() {
    let own = ["campaigns::what_can_only_be_read_is_read", "--exact"];
    let Some(place) = own_disk(SMALL, &own) else { return };
    full_disk::read_only(&place, Path::new(PROGRAM));
    got_there(&place);
}

#[test]
fn no_name_and_no_link_leads_outside() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = paths::run(folder.path(), Path::new(PROGRAM), 1_000, 8);
    assert_eq!((outcome.titles, outcome.ids, outcome.under_swaps), (900, 50, 50));
    assert!(outcome.refused < 450 && outcome.done > 0 && outcome.done_under_swaps > 0, "{outcome:?}");
}
