//! Each campaign in small, and that it came to what it is about: `cargo test --test campaigns`, which `.ci/run` runs within
//! minutes. `cargo test` alone does not.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::too_many_lines, reason = "what is done step by step is read step by step")]
#![allow(dead_code, reason = "the program beside this file uses parts of the campaigns that these tests do not")]

use std::path::Path;

use own_disk::{COARSE, got_there, own_disk};
use program::quick_folder;

mod briefings;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
mod clocks;
mod corruption;
mod crowds;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "faults.rs"]
mod fault_campaign;
mod hints;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod hostile_clone;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod kill_undo;
mod kills;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod last_step;
mod merges;
mod own_disk;
mod paths;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod printed;
mod program;
mod random;
mod saves;
mod storms;
mod tally;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "small/traced.rs"]
mod traced;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tree_kills;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ralph-memory");

#[test]
fn entries_survive_kills() {
    let folder = quick_folder();
    // On a busy machine, the moments of a round may all be on one side of the one that counts.
    let outcomes: Vec<_> = (1..=4).map(|seed| kills::entries(folder.path(), Path::new(PROGRAM), 30, seed)).collect();
    let sum = |count: fn(&kills::Outcome) -> usize| outcomes.iter().map(count).sum::<usize>();
    assert_eq!(sum(|outcome| outcome.rounds), 120);
    let killed = sum(|outcome| outcome.killed);
    assert!(killed >= 6 && sum(|outcome| outcome.old) >= 2 && sum(|outcome| outcome.new) >= 2, "{outcomes:?}");
}

#[test]
fn the_index_survives_kills() {
    let folder = quick_folder();
    let outcome = kills::commits(folder.path(), Path::new(PROGRAM), 30, 1);
    assert!(outcome.rounds == 30 && outcome.killed >= 6, "{outcome:?}");
}

#[test]
fn many_writers_lose_nothing() {
    let folder = quick_folder();
    let outcome = crowds::writers(folder.path(), Path::new(PROGRAM), 12);
    assert!(outcome.written == 96 && outcome.searches > 0, "{outcome:?}");
}

#[test]
fn many_writers_of_the_same_files_lose_no_edit() {
    let folder = quick_folder();
    let outcome = crowds::editors(folder.path(), Path::new(PROGRAM), 12, false, 1);
    assert_eq!((outcome.written, outcome.refused), (96, 0), "{outcome:?}");
}

#[test]
fn an_editor_without_locks_loses_nothing_either() {
    let folder = quick_folder();
    let outcome = crowds::editors(folder.path(), Path::new(PROGRAM), 12, true, 1);
    assert_eq!(outcome.written, 96, "{outcome:?}");
}

#[test]
fn watchers_survive_storms() {
    let folder = quick_folder();
    let outcome = storms::run(folder.path(), "", 1, 300, 1, &mut |_, _| ());
    assert_eq!(outcome.storms, 5);
}

#[test]
fn no_answer_is_stale_however_an_editor_saves() {
    let folder = quick_folder();
    let outcome = saves::run(folder.path(), 5, 1);
    assert_eq!(outcome.saves, 50);
}

#[test]
fn no_clock_makes_an_answer_stale() {
    let folder = quick_folder();
    let outcome = clocks::run(folder.path(), Path::new(PROGRAM), 40, 5);
    assert_eq!(outcome.edits, 40);
    assert!(outcome.by_library > 20 && outcome.by_process > 8 && outcome.same_size > 8, "{outcome:?}");
}

#[test]
fn no_coarse_clock_makes_an_answer_stale() {
    let Some(place) = own_disk(COARSE, &["no_coarse_clock_makes_an_answer_stale", "--exact"]) else { return };
    let outcome = clocks::run(&place.join("disk"), Path::new(PROGRAM), 40, 5);
    assert!(outcome.same_stat > 0, "{outcome:?}");
    got_there(&place);
}

#[test]
fn damage_to_the_cache_or_the_state_changes_no_answer() {
    let folder = quick_folder();
    let outcome = corruption::run(folder.path(), Path::new(PROGRAM), 9, 6);
    assert_eq!(outcome.damaged, 9);
    assert!(outcome.kinds.iter().all(|count| *count > 0), "{outcome:?}");
    assert!(outcome.in_state > 0 && outcome.noticed > 0, "{outcome:?}");
}

#[test]
fn no_name_or_link_leads_outside_of_the_memory() {
    let folder = quick_folder();
    let outcome = paths::run(folder.path(), Path::new(PROGRAM), 160, 9);
    assert_eq!((outcome.titles, outcome.ids, outcome.under_swaps), (144, 8, 8));
    assert!(outcome.links > 20, "{outcome:?}");
    assert!(outcome.refused < 72 && outcome.done > 0 && outcome.done_under_swaps > 0, "{outcome:?}");
}

#[test]
fn random_merges_lose_nothing() {
    let folder = quick_folder();
    let outcome = merges::run(folder.path(), Path::new(PROGRAM), 15, 12);
    assert!(outcome.merges == 15 && outcome.conflicts > 0 && outcome.merged > 0, "{outcome:?}");
}

#[test]
fn the_briefings_of_a_year_keep_their_budget_and_name_what_readers_chose() {
    let folder = quick_folder();
    let outcome = briefings::run(folder.path(), 53, briefings::CHOSEN_SEED, None);
    assert!(outcome.attempts > 200 && outcome.tasks > 80 && outcome.largest > 1_000, "{outcome:?}");
    assert_eq!(outcome.seen.chosen + outcome.held_out.chosen, 24, "{outcome:?}");
}

#[test]
fn in_a_year_the_hook_speaks_at_errors_that_came_back_and_hardly_ever_elsewhere() {
    let folder = quick_folder();
    let outcomes = hints::run(folder.path(), 40, 400, 1);
    assert!(outcomes.spoken > 4 && outcomes.named > 0, "{outcomes:#?}");
}
