//! Each file operation of the writing commands fails once, and the invariants hold. Linux on x86-64 only.

use std::collections::BTreeMap;
use std::path::Path;

use crate::fault_campaign::{self, CASES, Errors};
use crate::program::quick_folder;
use crate::support::PROGRAM;

/// Where the errors come from; another one is as good, and lets other ones of the operations fail.
const SEED: usize = 3;

/// Runs the campaign for these commands.
#[track_caller]
fn campaign(names: &[&str], errors: Errors) {
    for name in names {
        let place = quick_folder();
        let case = CASES.iter().find(|case| case.name == *name).unwrap();
        let number = CASES.iter().position(|case| case.name == *name).unwrap();
        let tally = fault_campaign::run(place.path(), Path::new(PROGRAM), case, errors, SEED + number);
        tally.assert_no_fault();
        // Some operations stop the command, or nothing failed that matters.
        let least = if errors == Errors::Sampled { 1 } else { 8 };
        assert!(tally["code: 6"] >= least, "{name}: {tally:?}");
    }
}

/// Lets one operation of a command fail, in each way that it can.
#[track_caller]
fn at(case: &str, call: &'static str, path: &'static str) -> BTreeMap<i32, usize> {
    let place = quick_folder();
    let tally = fault_campaign::run_at(place.path(), Path::new(PROGRAM), case, call, path);
    tally.assert_no_fault();
    let codes = tally.group("code").into_iter().map(|code| (code.parse().unwrap(), tally[&*format!("code: {code}")]));
    codes.collect()
}

#[test]
fn a_failed_add_is_complete_or_undone() {
    campaign(&["init"], Errors::Rotating);
    campaign(&["add, new", "note"], Errors::Sampled);
}

#[test]
fn a_failed_edit_is_complete_or_undone() {
    campaign(&["add, update", "supersede", "promote"], Errors::Sampled);
}

#[test]
fn a_failed_restore_loses_nothing() {
    campaign(&["restore", "restore, of a live entry"], Errors::Sampled);
}

#[test]
fn a_change_of_mind_loses_nothing_at_any_sampled_failure() {
    campaign(&["archive", "rename", "edit"], Errors::Sampled);
}

#[test]
fn a_failed_undo_is_complete_or_undone() {
    campaign(&["undo", "undo, of an update"], Errors::Sampled);
}

/// It would take back another one.
#[test]
fn an_unreadable_operation_is_not_passed_over() {
    let log = ".ralph/state/undo/0";
    assert_eq!(at("undo", "openat2", log), BTreeMap::from([(6, 3)]));
    assert_eq!(at("undo", "read", log), BTreeMap::from([(6, 1)]));
}

#[test]
fn maintenance_loses_nothing_at_any_sampled_failure() {
    campaign(&["tidy"], Errors::Sampled);
}

#[test]
fn an_attempt_is_recorded_once_at_any_sampled_failure() {
    campaign(&["record"], Errors::Sampled);
}

#[test]
fn the_index_matches_the_files_at_any_sampled_failure() {
    campaign(&["index", "index --rebuild"], Errors::Sampled);
}

#[test]
fn state_that_cannot_be_opened_is_not_taken_for_missing() {
    for case in ["undo", "restore, of a live entry"] {
        assert_eq!(at(case, "openat2", ".ralph/state"), BTreeMap::from([(6, 3)]), "{case}");
    }
}

/// What is replaced must be on the disk elsewhere first.
#[test]
fn a_text_whose_record_is_not_durable_is_not_replaced() {
    for case in ["add, update", "restore, of a live entry", "tidy"] {
        assert_eq!(at(case, "fdatasync", ".ralph/state/undo/0").keys().collect::<Vec<_>>(), [&6], "{case}");
        assert_eq!(at(case, "fsync", ".ralph/state/undo").keys().collect::<Vec<_>>(), [&6], "{case}");
    }
}

#[test]
fn a_replacement_that_is_not_durable_is_undone() {
    assert_eq!(at("restore, of a live entry", "fsync", ".ralph/knowledge"), BTreeMap::from([(6, 2)]));
    assert_eq!(at("tidy", "fsync", ".ralph/knowledge/.tmp-"), BTreeMap::from([(6, 2)]));
}

#[test]
fn a_number_is_used_only_if_it_is_known_to_be_free() {
    for path in [".ralph/journal/run-1", ".ralph/state/attempts"] {
        assert_eq!(at("record", "getdents64", path), BTreeMap::from([(6, 1)]), "{path}");
    }
}

#[test]
fn an_unreadable_iteration_does_not_count_as_finished() {
    assert_eq!(at("record", "read", ".ralph/state/attempts/run-2-0001.json"), BTreeMap::from([(6, 1)]));
}

#[test]
fn a_note_that_cannot_be_kept_stops_neither_a_context_nor_a_record() {
    let notes = ".ralph/state/sessions/attempts.json";
    for case in ["context", "record"] {
        assert_eq!(at(case, "pwrite64", notes).keys().collect::<Vec<_>>(), [&0], "{case}");
    }
}

#[test]
fn a_disk_error_in_the_index_is_not_a_bug() {
    assert_eq!(at("index --rebuild", "write", ".term"), BTreeMap::from([(6, 2)]));
    // What cannot be mapped is read.
    assert_eq!(at("index --rebuild", "mmap", ".term"), BTreeMap::from([(0, 1)]));
    assert_eq!(at("index --rebuild", "write", ".store"), BTreeMap::from([(6, 2)]));
}
