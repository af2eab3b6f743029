//! Recurring files and errors: files that attempts touch repeatedly, and errors that occur again.

use std::cmp::Reverse;
use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::AttemptSummary;

/// A file that this many attempts touched is suggested to the next one.
pub(crate) const SUGGESTED_FROM: usize = 3;
/// An error that occurred in this many attempts is recurring.
pub(crate) const RECURRING_FROM: usize = 2;
/// An error that has not occurred in this many attempts is over; mentioning it would only be noise.
const RECENT: usize = 10;

/// A file that attempts touched.
///
/// ```
/// use ralph_memory::entry::Files;
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let run = memory.new_run();
/// for title in ["Add a cache", "Bound the cache", "Share the cache"] {
///     let files = Files { modified: vec!["src/cache.rs".into()], ..Files::default() };
///     memory.finish(&memory.begin(&Task::new(title), &run)?, &Report { files, ..Report::default() })?;
/// }
/// let file = &memory.feature_files(None).items[0];
/// assert_eq!((file.path.as_str(), file.modified, file.suggested), ("src/cache.rs", 3, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TouchedFile {
    /// Its path in the project.
    pub path: String,
    /// In how many attempts it was created, changed or read.
    pub attempts: usize,
    /// In how many it was created.
    pub created: usize,
    /// In how many it was changed, or removed.
    pub modified: usize,
    /// In how many it was read.
    pub read: usize,
    /// When the last of these attempts began.
    pub last_touched_at: DateTime<Utc>,
    /// Whether the next agent should look at it first, which is so from three attempts on.
    pub suggested: bool,
}

/// Returns every file that one of the attempts created, changed or read, sorted by frequency, then by date (newest
/// first), then by path. A renamed file counts as another file.
pub(crate) fn touched_files(attempts: &[AttemptSummary]) -> Vec<TouchedFile> {
    /// A file, the last attempt that touched it, and in which ways that did.
    struct LastTouch {
        file: TouchedFile,
        attempt: Option<usize>,
        ways: [bool; 3],
    }

    let mut touched: HashMap<&str, LastTouch> = HashMap::new();
    for (at, attempt) in attempts.iter().enumerate() {
        let files = &attempt.head.files;
        for (way, paths) in [&files.created, &files.modified, &files.read].into_iter().enumerate() {
            for path in paths.iter().map(|path| path.trim()).filter(|path| !path.is_empty()) {
                let touch = touched.entry(path).or_insert_with(|| LastTouch {
                    file: TouchedFile {
                        path: path.to_owned(),
                        attempts: 0,
                        created: 0,
                        modified: 0,
                        read: 0,
                        last_touched_at: attempt.started_at,
                        suggested: false,
                    },
                    attempt: None,
                    ways: [false; 3],
                });
                let file = &mut touch.file;
                // An attempt that lists a file twice touched it once.
                if touch.attempt.replace(at) != Some(at) {
                    touch.ways = [false; 3];
                    file.attempts += 1;
                    file.last_touched_at = file.last_touched_at.max(attempt.started_at);
                    file.suggested = file.attempts >= SUGGESTED_FROM;
                }
                if !std::mem::replace(&mut touch.ways[way], true) {
                    *[&mut file.created, &mut file.modified, &mut file.read][way] += 1;
                }
            }
        }
    }
    let mut touched: Vec<TouchedFile> = touched.into_values().map(|touch| touch.file).collect();
    touched.sort_by(|one, other| {
        let key = |file: &TouchedFile| Reverse((file.attempts, file.last_touched_at));
        key(one).cmp(&key(other)).then_with(|| one.path.cmp(&other.path))
    });
    touched
}

/// A recurring error.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recurrence<'a> {
    /// The first attempt that failed with it. The others are in `later`, oldest first.
    pub first: &'a AttemptSummary,
    /// The attempts after the first one, at least one.
    pub later: Vec<&'a AttemptSummary>,
}

impl<'a> Recurrence<'a> {
    /// Returns the attempts that failed with it, oldest first.
    pub(crate) fn attempts(&self) -> impl DoubleEndedIterator<Item = &'a AttemptSummary> + '_ {
        std::iter::once(self.first).chain(self.later.iter().copied())
    }

    /// Returns in how many attempts it occurred.
    pub(crate) fn count(&self) -> usize {
        self.later.len() + 1
    }

    /// Returns the last attempt that failed with it.
    pub(crate) fn last(&self) -> &'a AttemptSummary {
        self.later.last().unwrap_or(&self.first)
    }
}

/// Returns the errors of at least [`RECURRING_FROM`] of the attempts, which are given oldest first: the most frequent
/// first, then the latest. Errors that differ only in paths, numbers and addresses are the same.
pub(crate) fn recurring_errors(attempts: &[AttemptSummary]) -> Vec<Recurrence<'_>> {
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut errors: Vec<(usize, Recurrence<'_>)> = Vec::new();
    for (at, attempt) in attempts.iter().enumerate() {
        let Some(error) = attempt.head.error_fingerprint else { continue };
        let next = errors.len();
        match errors.get_mut(*places.entry(error).or_insert(next)) {
            Some((last, known)) => {
                *last = at;
                known.later.push(attempt);
            }
            None => errors.push((at, Recurrence { first: attempt, later: Vec::new() })),
        }
    }
    errors.retain(|(_, error)| error.count() >= RECURRING_FROM);
    errors.sort_by_key(|(last, error)| Reverse((error.count(), *last)));
    errors.into_iter().map(|(_, error)| error).collect()
}

/// Returns the recurring errors that the next attempt should know about: first the last error of this task, then the
/// other errors that are recent. `attempts` are all considered attempts, and `own` are those at the task, both oldest
/// first.
pub(crate) fn pressing_errors<'a>(attempts: &'a [AttemptSummary], own: &[AttemptSummary]) -> Vec<Recurrence<'a>> {
    let is_failure = |attempt: &&AttemptSummary| attempt.head.outcome.is_success() == Some(false);
    let newest = own.iter().rev().find(is_failure).and_then(|attempt| attempt.head.error_fingerprint);
    let is_own = |error: &Recurrence<'_>| newest.is_some() && error.first.head.error_fingerprint == newest;
    let recent = &attempts[attempts.len().saturating_sub(RECENT)..];
    let is_recent = |error: &Recurrence<'_>| recent.iter().any(|attempt| attempt.id == error.last().id);
    let mut errors = recurring_errors(attempts);
    errors.retain(|error| is_own(error) || is_recent(error));
    errors.sort_by_key(|error| !is_own(error));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Files, Outcome};
    use crate::journal::history::tests::attempts;

    /// Returns the attempts with these errors, if there is one.
    fn failed_with(errors: &[u64]) -> Vec<AttemptSummary> {
        let mut attempts = attempts(&"f".repeat(errors.len()));
        for (past, error) in attempts.iter_mut().zip(errors) {
            past.head.error_fingerprint = Some(*error).filter(|error| *error > 0);
        }
        attempts
    }

    /// Returns how often each error occurred, and in which attempts it occurred first and last.
    fn counted(errors: &[Recurrence<'_>]) -> Vec<(usize, u32, u32)> {
        let counted = |error: &Recurrence<'_>| {
            assert_eq!(error.attempts().count(), error.count());
            (error.count(), error.first.head.iteration, error.last().head.iteration)
        };
        errors.iter().map(counted).collect()
    }

    #[test]
    fn an_error_is_recurring_from_the_second_time_on() {
        let check = |errors: &[u64], expected: &[(usize, u32, u32)]| {
            assert_eq!(counted(&recurring_errors(&failed_with(errors))), expected, "{errors:?}");
        };
        check(&[], &[]);
        check(&[1], &[]);
        check(&[1, 2, 3], &[]);
        check(&[1, 1], &[(2, 1, 2)]);
        // Attempts without an error have no error in common.
        check(&[0, 0, 0], &[]);
        check(&[1, 0, 2, 1, 3, 1], &[(3, 1, 6)]);
        // The most frequent error comes first, then the latest.
        check(&[1, 2, 2, 1, 3, 3, 3], &[(3, 5, 7), (2, 1, 4), (2, 2, 3)]);
    }

    #[test]
    fn old_errors_are_left_out() {
        let check = |errors: &[u64], own: &[u64], expected: &[(usize, u32, u32)]| {
            assert_eq!(counted(&pressing_errors(&failed_with(errors), &failed_with(own))), expected, "{errors:?}");
        };
        let old = |n_since| [vec![1, 1], vec![0; n_since]].concat();
        check(&old(9), &[], &[(2, 1, 2)]);
        check(&old(10), &[], &[]);
        // The task's own last failure is not over.
        check(&old(10), &[1], &[(2, 1, 2)]);
        check(&old(10), &[1, 0], &[]);
        check(&[2, 2, 2, 1, 1], &[1], &[(2, 4, 5), (3, 1, 3)]);
        check(&[2, 2, 2, 1, 1], &[3], &[(3, 1, 3), (2, 4, 5)]);
    }

    #[test]
    fn an_iteration_touches_a_file_once() {
        let mut attempts = attempts("dfip");
        let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        attempts[0].head.files =
            Files { created: paths(&["a", "b"]), read: paths(&["a", " a ", "c", ""]), ..Files::default() };
        attempts[1].head.files =
            Files { modified: paths(&["a", "a"]), relevant: paths(&["a", "d"]), ..Files::default() };
        attempts[2].head.files = Files { read: paths(&["a", "c"]), ..Files::default() };
        attempts[3].head.files = Files { modified: paths(&["e"]), ..Files::default() };
        let touched = touched_files(&attempts);
        let counts: Vec<_> = touched
            .iter()
            .map(|file| (file.path.as_str(), file.attempts, [file.created, file.modified, file.read], file.suggested))
            .collect();
        assert_eq!(
            counts,
            [
                ("a", 3, [1, 1, 2], true),
                ("c", 2, [0, 0, 2], false),
                ("e", 1, [0, 1, 0], false),
                ("b", 1, [1, 0, 0], false),
            ]
        );
        assert_eq!(touched[0].last_touched_at, attempts[2].started_at);
        assert_eq!(touched[2].last_touched_at, attempts[3].started_at);
        assert_eq!(touched_files(&[]), []);
        assert_eq!(touched_files(&attempts[3..]).len(), 1);
        assert_eq!(Outcome::Partial, attempts[3].head.outcome);
    }
}
