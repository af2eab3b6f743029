//! What the memory was good for: facts in attempts that succeeded, tasks that were done after failures, and errors that came
//! back.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Serialize, Serializer};

use crate::entry::{Id, Kind, Outcome};
use crate::journal::history::{AttemptSummary, recurring_errors};
use crate::text::nfc;

/// What the memory was good for, a part of [`Stats`](super::Stats). It is serialised as counts.
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
/// assert_eq!(reuse.facts[0].as_str(), "knowledge/stamps-are-in-utc");
/// assert_eq!((reuse.attempts.len(), &reuse.recovered, reuse.errors_again.len()), (1, &reuse.attempts, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReuseStats {
    /// The facts in the contexts of attempts that succeeded, the one that was in the last context first. There may be no such
    /// entry any more.
    #[serde(rename = "fact_count", serialize_with = "count")]
    pub facts: Vec<Id>,
    /// The attempts that succeeded with such a fact in their contexts, newest first.
    #[serde(rename = "attempt_count", serialize_with = "count")]
    pub attempts: Vec<Id>,
    /// The attempts that succeeded after the one before at the same task had failed, newest first.
    #[serde(rename = "recovered_count", serialize_with = "count")]
    pub recovered: Vec<Id>,
    /// The attempts that failed with an error that an earlier attempt had met.
    #[serde(rename = "error_again_count", serialize_with = "count")]
    pub errors_again: Vec<Id>,
}

#[expect(clippy::ptr_arg, reason = "serde passes the field")]
fn count<S: Serializer>(ids: &Vec<Id>, serializer: S) -> Result<S::Ok, S::Error> {
    ids.len().serialize(serializer)
}

/// Returns what the memory was good for in those attempts that count, of all attempts, oldest first: what came before them
/// decides as well.
pub(super) fn reuse_of(attempts: &[AttemptSummary], counts: impl Fn(&AttemptSummary) -> bool) -> ReuseStats {
    let mut reuse = ReuseStats::default();
    let mut failing: HashSet<Cow<'_, str>> = HashSet::new();
    for attempt in attempts {
        let task = attempt.task_id.as_deref().map(nfc);
        if attempt.head.outcome.is_failure_of_task() {
            failing.extend(task);
        } else if attempt.head.outcome == Outcome::Done {
            let had_failed = task.is_some_and(|task| failing.remove(&task));
            if counts(attempt) {
                let known = attempt.head.context.iter().filter(|id| id.kind() == Kind::Knowledge);
                let facts: Vec<Id> = known.cloned().collect();
                reuse.attempts.extend((!facts.is_empty()).then(|| attempt.id.clone()));
                reuse.facts.extend(facts);
                reuse.recovered.extend(had_failed.then(|| attempt.id.clone()));
            }
        }
    }
    for ids in [&mut reuse.facts, &mut reuse.attempts, &mut reuse.recovered] {
        ids.reverse();
    }
    let mut seen = HashSet::new();
    reuse.facts.retain(|id| seen.insert(id.clone()));
    let again = recurring_errors(attempts).into_iter().flat_map(|error| error.later);
    reuse.errors_again = again.filter(|attempt| counts(attempt)).map(|attempt| attempt.id.clone()).collect();
    reuse
}
