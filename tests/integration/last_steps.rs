//! What fails between the end of an agent and the journal's entry. Linux on x86-64 alone.

use std::path::Path;

use crate::last_step::{self, TROUBLES, Trouble, WAYS, Way};
use crate::program::quick_folder;
use crate::support::PROGRAM;

/// Of so many file operations one fails; which ones they are is as good as any other.
const STEP: usize = 23;
const FIRST: usize = 2;

#[track_caller]
fn campaign(way: Way) {
    let place = quick_folder();
    let tally = last_step::faults(place.path(), Path::new(PROGRAM), way, (FIRST, STEP), true);
    tally.assert_no_fault();
    // Some operations keep the attempt from the journal, and others do not matter.
    assert!(tally["brought back"] >= 1 && tally["runs"] > tally["brought back"], "{tally:?}");
}

#[test]
fn no_failure_loses_agent_output() {
    for way in WAYS {
        for trouble in TROUBLES {
            let place = quick_folder();
            let tally = last_step::trouble(place.path(), Path::new(PROGRAM), way, trouble);
            tally.assert_no_fault();
            let is_of_one = matches!(trouble, Trouble::Uneditable | Trouble::Linked | Trouble::Saved);
            assert_eq!(tally["brought back"] == 1, !is_of_one, "{way:?}, {trouble:?}");
        }
    }
}

#[test]
fn record_loses_no_output_at_any_sampled_failure() {
    campaign(Way::Record);
}

#[test]
fn run_loses_no_output_at_any_sampled_failure() {
    campaign(Way::Run);
}
