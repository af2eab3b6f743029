//! What the memory was good for: facts in attempts that succeeded, tasks that were done after failures, and errors that came
//! back.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Serialize;

use crate::entry::{Id, Kind, Outcome};
use crate::journal::history::{AttemptSummary, recurring_errors};
use crate::text::nfc;

/// What the memory was good for in the attempts of [`Stats`](super::Stats).
///
/// ```
/// use ralph_memory::entry::Outcome;
/// use ralph_memory::memory::{Report, StatsFilter};
/// use ralph_memory::{Knowledge, Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Stamps are in UTC", ["stamps"], "Never local."))?;
/// let run = memory.new_run();
/// for outcome in [Outcome::Failed, Outcome::Done] {
///     let attempt = memory.begin(&Task::new("Print the stamps"), &run)?;
///     memory.finish(&attempt, &Report { outcome: Some(outcome), ..Report::default() })?;
/// }
/// let reuse = memory.stats(&StatsFilter::default()).reuse;
/// assert_eq!((reuse.facts, reuse.attempts, reuse.recovered, reuse.errors_again), (1, 1, 1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ReuseStats {
    /// How many facts were in the contexts of attempts that succeeded.
    #[serde(rename = "fact_count")]
    pub facts: usize,
    /// How many attempts succeeded with such a fact in their contexts.
    #[serde(rename = "attempt_count")]
    pub attempts: usize,
    /// How many attempts succeeded after the one before at the same task had failed.
    #[serde(rename = "recovered_count")]
    pub recovered: usize,
    /// How many attempts failed with an error that an earlier attempt had met.
    #[serde(rename = "error_again_count")]
    pub errors_again: usize,
}

/// Returns what the memory was good for in those attempts that count, of all attempts, oldest first: what came before them
/// decides as well.
pub(super) fn reuse(attempts: &[AttemptSummary], counts: impl Fn(&AttemptSummary) -> bool) -> ReuseStats {
    let mut reuse = ReuseStats::default();
    let mut facts: HashSet<&Id> = HashSet::new();
    let mut failing: HashSet<Cow<'_, str>> = HashSet::new();
    for attempt in attempts {
        let task = attempt.task_id.as_deref().map(nfc);
        if attempt.head.outcome.is_failure_of_task() {
            failing.extend(task);
        } else if attempt.head.outcome == Outcome::Done {
            let had_failed = task.is_some_and(|task| failing.remove(&task));
            if counts(attempt) {
                let known = || attempt.head.context.iter().filter(|id| id.kind() == Kind::Knowledge);
                facts.extend(known());
                reuse.attempts += usize::from(known().next().is_some());
                reuse.recovered += usize::from(had_failed);
            }
        }
    }
    let again = recurring_errors(attempts).into_iter().flat_map(|error| error.later);
    ReuseStats { facts: facts.len(), errors_again: again.filter(|attempt| counts(attempt)).count(), ..reuse }
}
