//! What fails between the end of an agent and the journal's entry. Linux on x86-64 alone.

use std::path::Path;

use crate::last_step::{self, TROUBLES, Trouble, WAYS, Way};
use crate::support::PROGRAM;

/// Of so many file operations one fails; which ones they are is as good as any other.
const STEP: usize = 23;
const FIRST: usize = 2;

#[track_caller]
fn campaign(way: Way) {
    let place = tempfile::tempdir().unwrap();
    let outcome = last_step::faults(place.path(), Path::new(PROGRAM), way, (FIRST, STEP), true);
    assert!(outcome.faults.is_empty(), "{}", outcome.faults.join("\n"));
    // Some operations keep the attempt from the journal, and others do not matter.
    assert!(outcome.brought_back >= 1 && outcome.runs > outcome.brought_back, "{outcome:?}");
}

#[test]
fn no_failure_loses_agent_output() {
    for way in WAYS {
        for trouble in TROUBLES {
            let place = tempfile::tempdir().unwrap();
            let (faults, brought_back) = last_step::trouble(place.path(), Path::new(PROGRAM), way, trouble);
            assert!(faults.is_empty(), "{way:?}, {trouble:?}: {}", faults.join("\n"));
            let is_of_one = matches!(trouble, Trouble::Uneditable | Trouble::Linked | Trouble::Saved);
            assert_eq!(brought_back, !is_of_one, "{way:?}, {trouble:?}");
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
