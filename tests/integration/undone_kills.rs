//! What a killed command began is taken back. Linux on x86-64 only.

use std::path::Path;

use crate::kill_undo::{self, VICTIMS};
use crate::support::PROGRAM;

/// Of so many changes of files a kill comes before one; which ones they are is as good as any other.
const STEP: usize = 4;

#[test]
fn what_a_killed_command_began_is_taken_back_as_a_whole() {
    let (mut n_in_between, mut n_refused) = (0, 0);
    for (number, victim) in VICTIMS.iter().enumerate() {
        let place = tempfile::tempdir().unwrap();
        let outcome = kill_undo::run(place.path(), Path::new(PROGRAM), victim, (1 + number % STEP, STEP));
        assert!(outcome.faults.is_empty(), "{}", outcome.faults.join("\n"));
        assert!(outcome.kills > 1, "{}: {}", victim.name, outcome.counts());
        (n_in_between, n_refused) = (n_in_between + outcome.in_between, n_refused + outcome.refused);
    }
    assert!(n_in_between >= 10 && n_refused >= 10, "{n_in_between} and {n_refused}");
}
