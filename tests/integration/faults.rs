//! Each file operation of the writing commands fails once, and what must hold then. Linux on x86-64 alone.

use std::collections::BTreeMap;
use std::path::Path;

use crate::fault_campaign::{self, CASES, Errors, Outcome};
use crate::support::PROGRAM;

/// Where the errors come from; another one is as good, and lets other ones of the operations fail.
const SEED: usize = 3;

/// Runs the campaign for these commands.
#[track_caller]
fn campaign(names: &[&str], errors: Errors) {
    for name in names {
        let place = tempfile::tempdir().unwrap();
        let case = CASES.iter().find(|case| case.name == *name).unwrap();
        let number = CASES.iter().position(|case| case.name == *name).unwrap();
        let outcome = fault_campaign::run(place.path(), Path::new(PROGRAM), case, errors, SEED + number);
        assert!(outcome.faults.is_empty(), "{}", outcome.faults.join("\n"));
        // Some operations stop the command, or nothing failed that matters.
        let least = if errors == Errors::Sampled { 1 } else { 8 };
        assert!(outcome.codes[&6] >= least, "{name}: {outcome:?}");
    }
}

/// Lets one operation of a command fail, in each way that it can.
#[track_caller]
fn at(case: &str, call: &'static str, path: &'static str) -> BTreeMap<i32, usize> {
    let place = tempfile::tempdir().unwrap();
    let Outcome { codes, faults, .. } = fault_campaign::run_at(place.path(), Path::new(PROGRAM), case, call, path);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    codes
}

#[test]
fn whatever_fails_adding_is_done_or_not() {
    campaign(&["init"], Errors::All);
    campaign(&["add, new", "note"], Errors::Sampled);
}

#[test]
fn whatever_fails_editing_is_done_or_not() {
    campaign(&["add, update", "supersede", "promote"], Errors::Sampled);
}

#[test]
fn whatever_fails_nothing_is_lost_by_restoring() {
    campaign(&["restore", "restore, exchanging"], Errors::Sampled);
}

#[test]
fn maintenance_loses_nothing_whichever_operation_fails() {
    campaign(&["prune", "consolidate"], Errors::Sampled);
}

#[test]
fn whatever_fails_an_iteration_is_begun_and_recorded_once() {
    campaign(&["context", "context, another task", "record"], Errors::Sampled);
}

#[test]
fn whatever_fails_the_index_answers_what_the_files_say() {
    campaign(&["index", "index --rebuild"], Errors::Sampled);
}

#[test]
fn an_exchange_that_is_not_on_the_disk_is_taken_back() {
    for folder in [".ralph/archive/knowledge", ".ralph/knowledge"] {
        assert_eq!(at("restore, exchanging", "fsync", folder), BTreeMap::from([(6, 2)]), "{folder}");
    }
}

#[test]
fn a_version_is_kept_only_of_what_was_replaced() {
    assert_eq!(at("consolidate", "fsync", ".ralph/knowledge/.tmp-"), BTreeMap::from([(6, 2)]));
}

#[test]
fn a_number_is_taken_for_free_only_when_that_was_seen() {
    for path in [".ralph/journal/run-1", ".ralph/state/iterations"] {
        assert_eq!(at("context, another task", "getdents64", path), BTreeMap::from([(6, 1)]), "{path}");
    }
}

#[test]
fn an_iteration_that_cannot_be_read_is_not_taken_for_finished() {
    assert_eq!(at("record", "read", ".ralph/state/iterations/run-1-0003.json"), BTreeMap::from([(6, 1)]));
    assert_eq!(at("context", "read", ".ralph/state/iterations/run-1-0003.json"), BTreeMap::from([(6, 1)]));
}

#[test]
fn what_is_in_the_journal_is_recorded() {
    assert_eq!(at("record", "unlinkat", ".ralph/state/iterations/run-1-0003.json"), BTreeMap::from([(0, 2)]));
}

#[test]
fn an_index_that_the_disk_refuses_is_no_bug() {
    assert_eq!(at("index --rebuild", "write", ".term"), BTreeMap::from([(6, 2)]));
    // What cannot be mapped is read.
    assert_eq!(at("index --rebuild", "mmap", ".term"), BTreeMap::from([(0, 1)]));
    assert_eq!(at("index --rebuild", "write", ".store"), BTreeMap::from([(6, 2)]));
}
