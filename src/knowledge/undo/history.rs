//! Which operations are in effect, and which one is next to undo or redo. Pure.
//!
//! Undoing is an operation, and so is redoing, which takes back an undo. What is taken back stays in the log, so a
//! command holds if its undo was taken back itself. A command after an undo leaves nothing to redo, as in an editor.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::store::{LoggedChange, LoggedOperation, OperationHead};

/// What an operation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationRole {
    /// It changed something.
    Change,
    /// It took back the change with this number.
    Undo(u64),
    /// It brought back the change with this number.
    Redo(u64),
}

/// The operations of the log, and what each did.
pub(super) struct OperationHistory<'a> {
    pub(super) logged: &'a [LoggedOperation],
    roles: HashMap<u64, OperationRole>,
    /// The numbers of the operations that were taken back, with the one that did.
    taken: HashMap<u64, u64>,
}

impl<'a> OperationHistory<'a> {
    /// Returns the history of these operations, which are given newest first.
    pub(super) fn new(logged: &'a [LoggedOperation]) -> OperationHistory<'a> {
        let heads: Vec<&OperationHead> = logged.iter().map(|operation| &operation.head).collect();
        OperationHistory { logged, roles: roles(&heads), taken: taken(&heads) }
    }

    pub(super) fn role(&self, operation: &LoggedOperation) -> OperationRole {
        self.roles.get(&operation.head.number).copied().unwrap_or(OperationRole::Change)
    }

    /// Returns the number of the operation that took this one back.
    pub(super) fn taken_back_by(&self, operation: &LoggedOperation) -> Option<u64> {
        self.taken.get(&operation.head.number).copied()
    }

    /// Returns the place of the newest change that holds.
    pub(super) fn next_undo(&self) -> Option<usize> {
        self.logged.iter().position(|operation| {
            self.role(operation) == OperationRole::Change && self.taken_back_by(operation).is_none()
        })
    }

    /// Returns the place of the newest undo that holds, unless there was a change after it, and the change that it took
    /// back. If that one is not in the log any more, nobody knows what it was.
    pub(super) fn next_redo(&self) -> Option<(usize, &'a LoggedOperation)> {
        let since = self.logged.iter().take_while(|operation| self.role(operation) != OperationRole::Change);
        since.enumerate().filter(|(_, operation)| self.taken_back_by(operation).is_none()).find_map(
            |(at, operation)| {
                let OperationRole::Undo(number) = self.role(operation) else { return None };
                Some((at, self.logged.iter().find(|change| change.head.number == number)?))
            },
        )
    }

    /// Returns the operations after the one at this place whose effect lasts: not what was taken back since, and not what
    /// did that.
    pub(super) fn later(&self, at: usize) -> impl Iterator<Item = &'a LoggedOperation> {
        let since = &self.logged[..at];
        let is_since = |number: u64| since.iter().any(|operation| operation.head.number == number);
        since.iter().filter(move |operation| {
            self.taken_back_by(operation).is_none() && !operation.head.undoes.is_some_and(is_since)
        })
    }
}

/// Returns what the operations did; heads are given newest first.
fn roles(heads: &[&OperationHead]) -> HashMap<u64, OperationRole> {
    let mut roles = HashMap::new();
    for head in heads.iter().rev() {
        let role = match head.undoes {
            None => OperationRole::Change,
            Some(number) => match roles.get(&number) {
                Some(OperationRole::Undo(change)) => OperationRole::Redo(*change),
                Some(OperationRole::Redo(change)) => OperationRole::Undo(*change),
                Some(OperationRole::Change) | None => OperationRole::Undo(number),
            },
        };
        roles.insert(head.number, role);
    }
    roles
}

/// Returns which operations were taken back, and by which; heads are given newest first.
fn taken(heads: &[&OperationHead]) -> HashMap<u64, u64> {
    let mut taken = HashMap::new();
    for head in heads {
        if !taken.contains_key(&head.number)
            && let Some(number) = head.undoes
        {
            taken.insert(number, head.number);
        }
    }
    taken
}

/// Returns whether an operation is taken back in part: some of the files that it changed are as before it, and others as
/// after it. `current` returns the fingerprint of a file now.
pub(super) fn is_half_taken_back<'a>(
    changes: impl Iterator<Item = &'a LoggedChange>,
    current: &dyn Fn(&str) -> Option<u64>,
) -> bool {
    let mut files: BTreeMap<&str, (Option<u64>, Option<u64>)> = BTreeMap::new();
    for (path, before, after) in changes.flat_map(LoggedChange::files) {
        files.entry(path).or_insert((before, before)).1 = after;
    }
    let sides: BTreeSet<bool> = files
        .into_iter()
        .filter(|(_, (before, after))| before != after)
        .filter_map(|(path, (before, after))| {
            let now = current(path);
            (now == before || now == after).then_some(now == after)
        })
        .collect();
    sides.len() == 2
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::entry::Author;

    /// Checks what is taken back of operations which take back these, from number 1 on, and their roles: `2` for a change
    /// with that number, `-2` for its undo, and `+2` for its redo.
    fn check(undoes: &[Option<u64>], expected_roles: &str, expected_taken: &[u64]) {
        let head = |(at, undoes): (usize, &Option<u64>)| OperationHead {
            number: at as u64 + 1,
            at: DateTime::UNIX_EPOCH,
            command: String::new(),
            undoes: *undoes,
            author: Author::Person,
        };
        let heads: Vec<OperationHead> = undoes.iter().enumerate().map(head).rev().collect();
        let heads: Vec<&OperationHead> = heads.iter().collect();
        let found = roles(&heads);
        let told = |number: u64| match found[&number] {
            OperationRole::Change => number.to_string(),
            OperationRole::Undo(change) => format!("-{change}"),
            OperationRole::Redo(change) => format!("+{change}"),
        };
        let told: Vec<String> = (1..=undoes.len() as u64).map(told).collect();
        let mut taken: Vec<u64> = taken(&heads).into_keys().collect();
        taken.sort_unstable();
        assert_eq!((told.join(" ").as_str(), taken.as_slice()), (expected_roles, expected_taken), "{undoes:?}");
    }

    #[test]
    fn an_undo_of_an_undo_is_a_redo() {
        check(&[None, None], "1 2", &[]);
        check(&[None, None, Some(2)], "1 2 -2", &[2]);
        check(&[None, None, Some(2), Some(1)], "1 2 -2 -1", &[1, 2]);
        check(&[None, None, Some(2), Some(3)], "1 2 -2 +2", &[3]);
        check(&[None, Some(1), Some(2), Some(3)], "1 -1 +1 -1", &[1, 3]);
        check(&[None, Some(1), Some(2), Some(1)], "1 -1 +1 -1", &[1, 2]);
    }

    #[test]
    fn a_half_of_a_taking_back_is_known() {
        let changes = [
            LoggedChange::Replace { path: "a".to_owned(), before: 1, after: 2 },
            LoggedChange::Create { path: "b".to_owned(), after: 3 },
            LoggedChange::Replace { path: "b".to_owned(), before: 3, after: 4 },
        ];
        let check = |a: Option<u64>, b: Option<u64>, expected: bool| {
            let current = |path: &str| if path == "a" { a } else { b };
            assert_eq!(is_half_taken_back(changes.iter(), &current), expected, "{a:?} {b:?}");
        };
        check(Some(2), Some(4), false);
        check(Some(1), None, false);
        check(Some(1), Some(4), true);
        check(Some(2), None, true);
        // A person's text says nothing of what was done.
        check(Some(9), None, false);
    }
}
