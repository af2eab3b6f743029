//! Decides how an operation is taken back: pure.
//!
//! The changes are examined in reverse order. A file that is as it was after a change goes back; one that is as it was
//! before did not change, since the program was killed or failed. Anything else is somebody's later work, which is left
//! alone.

use std::collections::{BTreeSet, HashMap};

use crate::store::LoggedChange;

/// The length of a record without its paths and its text, in bytes: at most about this.
const RECORD: u64 = 200;

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    /// Nothing.
    Missing,
    /// A file with bytes of this fingerprint.
    Bytes(u64),
    /// Something that is not a file, or cannot be read.
    Other,
}

/// A change that is taken back, with the bytes of its file before it.
pub(super) type UndoStep<'a> = (&'a LoggedChange, &'a [u8]);

/// How an operation is taken back.
#[derive(Debug, Default)]
pub(super) struct UndoPlan<'a> {
    /// The changes in the order in which they are taken back; empty if nothing of the operation is left to take back.
    pub(super) steps: Vec<UndoStep<'a>>,
    /// The paths of files that somebody changed since. If there are any, nothing may be done.
    pub(super) changed: BTreeSet<&'a str>,
    /// The paths of files that are as they were before a change of the operation.
    pub(super) as_before: BTreeSet<&'a str>,
    /// Whether an attempt that is removed goes in all work trees. One that was restored was there before.
    pub(super) forgets: bool,
}

impl UndoPlan<'_> {
    /// Leaves out the steps that would change files which somebody changed since.
    pub(super) fn leave_changed(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        self.steps.retain(|(change, _)| change.files().iter().all(|(path, ..)| !changed.contains(path)));
    }

    /// Returns how many bytes the log needs for the steps: it keeps the texts that they remove. `size` returns the size of
    /// a file now.
    pub(super) fn logged_bytes(&self, size: &dyn Fn(&str) -> u64) -> u64 {
        let mut sizes: HashMap<&str, u64> = HashMap::new();
        let mut sum = 0;
        for (change, bytes) in &self.steps {
            sum += RECORD + change.files().iter().map(|(path, ..)| path.len() as u64).sum::<u64>();
            let mut take = |path| sizes.remove(path).unwrap_or_else(|| size(path));
            match change {
                LoggedChange::Create { path, .. } => sum += take(path),
                LoggedChange::Replace { path, .. } => {
                    sum += take(path);
                    sizes.insert(path, bytes.len() as u64);
                }
                LoggedChange::Remove { path, .. } => drop(sizes.insert(path, bytes.len() as u64)),
                LoggedChange::Move { from, to, .. } => {
                    let moved = take(to);
                    sizes.insert(from, moved);
                }
                LoggedChange::Folder { .. } | LoggedChange::TooLarge | LoggedChange::Forgotten => {}
            }
        }
        sum
    }
}

/// The states of files while the steps are planned.
struct States<'a, 'b> {
    known: HashMap<&'a str, FileState>,
    current: &'b dyn Fn(&str) -> FileState,
}

impl<'a> States<'a, '_> {
    fn get(&mut self, path: &'a str) -> FileState {
        *self.known.entry(path).or_insert_with(|| (self.current)(path))
    }
}

/// Plans how to take back these changes, each with the bytes before it. `current` returns the state of a path now.
pub(super) fn plan<'a>(
    changes: impl DoubleEndedIterator<Item = (&'a LoggedChange, &'a [u8])>,
    current: &dyn Fn(&str) -> FileState,
) -> UndoPlan<'a> {
    let mut states = States { known: HashMap::new(), current };
    let mut plan = UndoPlan::default();
    for (change, bytes) in changes.rev() {
        if let LoggedChange::Folder { .. } = change {
            plan.steps.push((change, bytes));
            continue;
        }
        let state = |fingerprint: Option<u64>| fingerprint.map_or(FileState::Missing, FileState::Bytes);
        let files = change.files();
        let now: Vec<FileState> = files.iter().map(|(path, ..)| states.get(path)).collect();
        let is_before = files.iter().zip(&now).all(|((_, before, _), now)| state(*before) == *now);
        let is_after = files.iter().zip(&now).all(|((_, _, after), now)| state(*after) == *now);
        if is_before {
            plan.as_before.extend(files.iter().map(|(path, ..)| *path));
            continue;
        }
        if !is_after {
            let differing = files.iter().zip(&now).filter(|((_, _, after), now)| state(*after) != **now);
            plan.changed.extend(differing.map(|((path, ..), _)| *path));
        }
        for (path, before, _) in &files {
            states.known.insert(*path, state(*before));
        }
        plan.steps.push((change, bytes));
    }
    if plan.steps.iter().all(|(change, _)| matches!(change, LoggedChange::Folder { .. })) {
        plan.steps.clear();
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(path: &str, after: u64) -> LoggedChange {
        LoggedChange::Create { path: path.to_owned(), after }
    }

    fn replace(path: &str, before: u64, after: u64) -> LoggedChange {
        LoggedChange::Replace { path: path.to_owned(), before, after }
    }

    /// Plans to take back these changes while the files have these fingerprints, and returns the number of steps and the
    /// files that changed since.
    fn check(changes: &[LoggedChange], files: &[(&str, u64)], n_steps: usize, changed: &[&str]) {
        let current = |path: &str| {
            let found = files.iter().find(|(known, _)| *known == path);
            found.map_or(FileState::Missing, |(_, fingerprint)| FileState::Bytes(*fingerprint))
        };
        let plan = plan(changes.iter().map(|change| (change, &b""[..])), &current);
        let found: Vec<&str> = plan.changed.iter().copied().collect();
        assert_eq!((plan.steps.len(), found.as_slice()), (n_steps, changed), "{changes:?} {files:?}");
    }

    #[test]
    fn what_did_not_happen_is_not_taken_back() {
        let changes = [create("a", 1), replace("b", 2, 3)];
        check(&changes, &[("a", 1), ("b", 3)], 2, &[]);
        check(&changes, &[("a", 1), ("b", 2)], 1, &[]);
        check(&changes, &[("b", 2)], 0, &[]);
    }

    #[test]
    fn later_work_is_left_alone() {
        let changes = [create("a", 1), replace("b", 2, 3)];
        check(&changes, &[("a", 9), ("b", 3)], 2, &["a"]);
        check(&changes, &[("a", 1)], 2, &["b"]);
        let moved = [LoggedChange::Move { from: "a".to_owned(), to: "b".to_owned(), bytes: 1 }];
        check(&moved, &[("b", 1)], 1, &[]);
        check(&moved, &[("a", 1)], 0, &[]);
        check(&moved, &[("a", 5), ("b", 1)], 1, &["a"]);
        check(&moved, &[], 1, &["b"]);
    }

    #[test]
    fn several_changes_of_a_file_are_taken_back_one_after_the_other() {
        let changes = [create("a", 1), replace("a", 1, 2), replace("a", 2, 1)];
        check(&changes, &[("a", 1)], 3, &[]);
        // Killed before the last one.
        check(&changes, &[("a", 2)], 2, &[]);
        check(&changes, &[("a", 3)], 3, &["a"]);
    }

    #[test]
    fn folders_are_removed_only_with_a_file() {
        let changes = [LoggedChange::Folder { path: "a".to_owned() }, create("a/b", 1)];
        check(&changes, &[("a/b", 1)], 2, &[]);
        check(&changes, &[], 0, &[]);
    }
}
