//! The small campaigns that stop the program at its system calls. Linux on x86-64 only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::PROGRAM;
use crate::fault_campaign::{self, CASES, Errors};
use crate::hostile_clone;
use crate::kill_undo::{self, VICTIMS};
use crate::last_step::{self, TROUBLES, Trouble, WAYS, Way};
use crate::own_disk::{COARSE, MEMORY, got_there, own_disk};
use crate::program::quick_folder;
use crate::tally::Tally;
use crate::tree_kills;

#[test]
fn a_hostile_clone_does_no_harm() {
    let Some(place) = own_disk(MEMORY, &["traced::a_hostile_clone_does_no_harm", "--exact"]) else { return };
    let tally = hostile_clone::run(&place.join("disk"), Path::new(PROGRAM), 256, false, 9);
    tally.assert_no_fault();
    assert_eq!((tally["small"], tally["traced"]), (240, 16), "{tally:?}");
    assert_eq!(tally.group("kind").len(), hostile_clone::KINDS.len(), "{tally:?}");
    assert_eq!(tally.group("step").len(), hostile_clone::STEPS.len() + 1, "{tally:?}");
    assert!(tally["compared"] > 16 && tally["gits"] > 40, "{tally:?}");
    assert!(tally["printed"] > tally["printed and run"] && tally["printed and run"] > 100, "{tally:?}");
    // Nearly each change of a stranger's file.
    assert!(tally.group("stranger").len() > 12, "{tally:?}");
    got_there(&place);
}

#[test]
fn no_forged_state_is_believed_where_files_have_no_birth_times() {
    let own = ["traced::no_forged_state_is_believed_where_files_have_no_birth_times", "--exact"];
    let Some(place) = own_disk(COARSE, &own) else { return };
    let place = place.join("disk");
    assert!(fs::metadata(&place).unwrap().created().is_err(), "this file system has times of birth");
    let tally = hostile_clone::sealed(&place, Path::new(PROGRAM), 24, 11);
    tally.assert_no_fault();
    assert_eq!(tally["small"], 24, "{tally:?}");
    got_there(place.parent().unwrap());
}

#[test]
fn every_command_runs_in_hostile_clones() {
    /// Commands that are no steps, each with the reason.
    const NO_STEPS: [(&str, &str); 2] =
        [("mcp", "runs as the server, beside the steps"), ("help", "is clap's, and reads nothing")];
    let run: BTreeSet<&str> = hostile_clone::STEPS.iter().map(|step| step.arguments[0].as_str()).collect();
    let reference = include_str!("../../../docs/src/reference/commands.md");
    let headings = reference.lines().filter_map(|line| line.strip_prefix("## "));
    let commands = headings.filter(|heading| !heading.contains(' '));
    // `man` is hidden: it is for packages. Without a command there is the status.
    let hidden = ["man", "--help", "--json", "--quiet"];
    let expected: BTreeSet<&str> = commands.chain(hidden).collect();
    let others: BTreeSet<&str> = NO_STEPS.into_iter().map(|(command, _)| command).collect();
    assert_eq!(run.intersection(&others).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert_eq!(run.union(&others).copied().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn what_a_killed_command_began_is_taken_back_as_a_whole() {
    /// Of so many changes of files a kill comes before one; which ones they are is as good as any other.
    const STEP: usize = 4;
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

#[test]
fn no_kill_in_a_work_tree_loses_an_attempt_or_doubles_one() {
    assert!(tree_kills::run(Path::new(PROGRAM), 2) > 15);
}

#[track_caller]
fn last_steps_of(way: Way) {
    let place = quick_folder();
    let tally = last_step::faults(place.path(), Path::new(PROGRAM), way, (2, 23), true);
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
    last_steps_of(Way::Record);
}

#[test]
fn run_loses_no_output_at_any_sampled_failure() {
    last_steps_of(Way::Run);
}

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
