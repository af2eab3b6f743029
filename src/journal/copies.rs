//! Copies the attempts of this work tree that have no copy, and removes copies that nobody needs any more.
//!
//! An attempt is copied when it is written, unless there is no git at that time, or its common folder cannot be written.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::names::journal_path;
use super::write::next_number;
use crate::entry::edit::{self, Change};
use crate::entry::path::is_copy;
use crate::git::WorkTree;
use crate::index::catalog::Area;
use crate::store::{Copy, Created, Lock, TREES};
use crate::workspace::Workspace;

/// How long a copy stays after the default branch had the attempt.
const KEPT: TimeDelta = TimeDelta::days(90);
/// The size of all copies from which the oldest go, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Copies the attempts that have no copy, and removes the copies that nobody needs.
pub(crate) fn settle_copies(workspace: &Workspace, lock: &Lock) {
    workspace.store.adopt_copies();
    let found = Attempts::of(workspace, None);
    copy_uncopied(workspace, lock, &found);
    prune_copies(workspace, found.copies);
}

/// Copies the attempts of a run that have no copy.
pub(crate) fn copy_run(workspace: &Workspace, lock: &Lock, run: &str) {
    copy_uncopied(workspace, lock, &Attempts::of(workspace, Some(run)));
}

/// Copies those of these attempts that have no copy, or were edited since. One whose name another attempt got meanwhile, in
/// another work tree, gets another number.
fn copy_uncopied(workspace: &Workspace, lock: &Lock, found: &Attempts) {
    let (store, copies) = (&workspace.store, found.copies_by_attempt());
    let mut room = MAX_BYTES.saturating_sub(found.copies.iter().map(|copy| copy.size).sum());
    for path in found.uncopied(workspace) {
        let Ok(file) = store.read(&path) else { continue };
        room = room.saturating_sub(file.bytes.len() as u64);
        if room == 0 || !store.copy(&path, &file.bytes, &file.bytes) {
            break;
        }
    }
    let own: HashSet<&String> = found.own.iter().collect();
    found
        .copies
        .iter()
        .filter(|copy| !copy.is_tombstone && own.contains(&copy.path))
        .for_each(|copy| store.refresh_copy(copy));
    let is_taken = |path: &String| {
        let copy = copies.get(live_path(path)).filter(|copy| !copy.is_tombstone);
        let other = copy.filter(|copy| copy.size != store.size_of(path));
        other.is_some_and(|copy| store.read(path).is_ok_and(|file| store.is_of_another(&copy.path, &file.bytes)))
    };
    let taken = without_held(workspace, found.own.iter().filter(|path| is_taken(path)).cloned().collect());
    for path in taken {
        // Where it fails, `check` names the two.
        let _ = renumber(workspace, lock, &path);
    }
}

/// Returns the attempts that have no copy and that the default branch lacks, the newest first.
pub(crate) fn uncopied(workspace: &Workspace) -> Vec<String> {
    Attempts::of(workspace, None).uncopied(workspace)
}

/// The attempts of the last 90 days.
struct Attempts {
    /// The files of this work tree, the newest attempt first.
    own: Vec<String>,
    copies: Vec<Copy>,
}

impl Attempts {
    fn of(workspace: &Workspace, run: Option<&str>) -> Attempts {
        let since = workspace.now().checked_sub_signed(KEPT).map_or(i64::MIN, |since| since.timestamp_micros());
        let mut own: Vec<(i64, String)> = Vec::new();
        for area in [Area::Live, Area::Archive] {
            let catalog = workspace.catalog(area);
            let rows = run.map_or_else(|| catalog.own_journal_rows().collect(), |run| catalog.rows_of_run(run));
            let rows = rows.into_iter().map(|row| (catalog.recency(row), catalog.path(row)));
            own.extend(rows.filter(|(begun, path)| *begun >= since && !is_copy(path)));
        }
        own.sort_by(|one, other| other.cmp(one));
        let roots = ["journal", "archive/journal"];
        let roots = roots.map(|root| run.map_or_else(|| root.to_owned(), |run| format!("{root}/{run}")));
        let copies = workspace.store.copies_in(&roots.each_ref().map(String::as_str));
        Attempts { own: own.into_iter().map(|(_, path)| path).collect(), copies }
    }

    /// Returns the copies by the paths that their attempts have when they are live.
    fn copies_by_attempt(&self) -> HashMap<&str, &Copy> {
        self.copies.iter().map(|copy| (live_path(&copy.path), copy)).collect()
    }

    fn uncopied(&self, workspace: &Workspace) -> Vec<String> {
        let (mut lacking, copies) = (self.own.clone(), self.copies_by_attempt());
        lacking.retain(|path| !copies.contains_key(live_path(path)));
        if workspace.store.keeps_copies() { without_held(workspace, lacking) } else { Vec::new() }
    }
}

/// Returns those of these files that the default branch lacks.
fn without_held(workspace: &Workspace, mut paths: Vec<String>) -> Vec<String> {
    if !paths.is_empty() {
        let held = workspace.work_tree().map(|tree| held(&tree, None)).unwrap_or_default();
        let held: HashSet<String> = held.into_iter().map(|(path, _)| path).collect();
        paths.retain(|path| !held.contains(live_path(path)));
    }
    paths
}

/// Gives an attempt the next number of its run.
fn renumber(workspace: &Workspace, lock: &Lock, path: &str) -> Option<()> {
    let (run, _) = path.strip_prefix("journal/")?.rsplit_once('/')?;
    let bytes = &workspace.store.read(path).ok()?.bytes;
    let number = next_number(workspace, run).ok()?;
    let text = edit::apply(std::str::from_utf8(bytes).ok()?, &[Change::Set("iteration", Value::from(number))]).ok()?;
    let created = workspace.store.create(lock, &journal_path(run, number), text.as_bytes()).ok()?;
    let is_new = created == Created::Made;
    is_new.then(|| workspace.store.remove_all(lock, &[(path, xxh3_64(bytes))], false))?.ok()
}

/// Removes those of these copies whose attempts the default branch has had for 90 days, and of all copies the oldest beyond
/// 64 MiB.
fn prune_copies(workspace: &Workspace, mut copies: Vec<Copy>) {
    let store = &workspace.store;
    copies.extend(store.copies_in(&[TREES]));
    copies.retain(|copy| !copy.is_tombstone);
    let Some(before) = workspace.now().checked_sub_signed(KEPT) else { return };
    if copies.iter().any(|copy| copy.written < before)
        && let Some(tree) = workspace.work_tree()
    {
        let held: HashSet<(String, String)> = held(&tree, Some(before)).into_iter().collect();
        copies.retain(|copy| {
            // One with other bytes may be another attempt.
            let id = || store.read_copy(&copy.path).map(|bytes| tree.object_id(&bytes));
            let is_held =
                copy.written < before && id().is_some_and(|id| held.contains(&(live_path(&copy.path).to_owned(), id)));
            if is_held {
                store.remove_copy(&copy.path);
            }
            !is_held
        });
    }
    copies.sort_by_key(|copy| copy.written);
    let mut bytes: u64 = copies.iter().map(|copy| copy.size).sum();
    for copy in copies.iter().take_while(|copy| {
        let is_over = bytes > MAX_BYTES;
        bytes = bytes.saturating_sub(copy.size);
        is_over
    }) {
        store.remove_copy(&copy.path);
    }
}

/// Returns the attempts that the default branch has, or had at a time: the paths that they have when they are live, and
/// git's names of their contents.
fn held(tree: &WorkTree, at: Option<DateTime<Utc>>) -> Vec<(String, String)> {
    let held = tree.held(at, &["journal", "archive/journal"]);
    held.into_iter().map(|(path, id)| (live_path(&path).to_owned(), id)).collect()
}

fn live_path(path: &str) -> &str {
    path.strip_prefix("archive/").unwrap_or(path)
}
