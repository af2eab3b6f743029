//! What a killed command began is taken back. Linux on x86-64 only.

use std::path::Path;

use crate::kill_undo::{self, VICTIMS};
use crate::program::quick_folder;
use crate::support::PROGRAM;
use crate::tally::Tally;

/// Of so many changes of files a kill comes before one; which ones they are is as good as any other.
const STEP: usize = 4;

#[test]
fn what_a_killed_command_began_is_taken_back_as_a_whole() {
    let mut all = Tally::default();
    for (number, victim) in VICTIMS.iter().enumerate() {
        let place = quick_folder();
        let tally = kill_undo::run(place.path(), Path::new(PROGRAM), victim, (1 + number % STEP, STEP));
        tally.assert_no_fault();
        assert!(tally["kills"] > 1, "{}: {tally:?}", victim.name);
        all.join(tally);
    }
    assert!(all["half done"] >= 10 && all["not begun"] >= 10, "{all:?}");
}
