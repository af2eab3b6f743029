//! What happens to files: clocks that lie, damage, full disks, and names that lead elsewhere. Each campaign
//! in small; the example `file_campaigns` makes them as large as one likes.

use std::path::Path;

use crate::{clocks, corruption};
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
