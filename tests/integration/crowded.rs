//! Kills, crowds and storms, each campaign in small; the program of `tests/campaigns` makes them as large as one likes.

use std::path::Path;

use crate::program::quick_folder;
use crate::support::PROGRAM;
use crate::{crowds, kills, storms};

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
