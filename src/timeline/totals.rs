//! Sums over attempts: how many there were, how they ended, and what they cost.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::entry::{AttemptHead, Outcome};

/// Sums over attempts.
///
/// ```
/// use ralph_memory::entry::Outcome;
/// use ralph_memory::memory::{Report, StatsFilter};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let run = memory.new_run();
/// for outcome in [Outcome::Failed, Outcome::Done, Outcome::Interrupted] {
///     let attempt = memory.begin(&Task::new("Split the crate"), &run)?;
///     memory.finish(&attempt, &Report { outcome: Some(outcome), cost_usd: Some(0.5), ..Report::default() })?;
/// }
/// let total = memory.stats(&StatsFilter::default()).total.totals;
/// assert_eq!((total.attempts, total.succeeded, total.counted), (3, 1, 2));
/// assert_eq!((total.success_rate, total.cost_usd), (Some(0.5), Some(1.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AttemptTotals {
    /// How many there were.
    #[serde(rename = "attempt_count")]
    pub attempts: usize,
    /// How many ended with each outcome; those that did not occur are left out.
    pub outcomes: BTreeMap<Outcome, usize>,
    /// How many of the attempts that count succeeded.
    pub succeeded: usize,
    /// How many attempts count: all except those that were interrupted or are partial.
    pub counted: usize,
    /// The share of the attempts that count which succeeded, from 0 to 1; `None` if none counts.
    pub success_rate: Option<f64>,
    /// The cost in US dollars of those attempts that report it.
    pub cost_usd: Option<f64>,
    /// How many tokens the models read, in those attempts that report it.
    pub tokens_in: Option<u64>,
    /// How many tokens the models wrote, in those attempts that report it.
    pub tokens_out: Option<u64>,
    /// The duration in seconds of those attempts that report it.
    pub duration_secs: Option<f64>,
}

impl AttemptTotals {
    /// Returns the sums over these attempts.
    pub(crate) fn of<'a>(attempts: impl Iterator<Item = &'a AttemptHead>) -> AttemptTotals {
        let mut totals = AttemptTotals::default();
        attempts.for_each(|head| totals.add(head));
        totals
    }

    pub(super) fn add(&mut self, head: &AttemptHead) {
        self.attempts += 1;
        *self.outcomes.entry(head.outcome).or_default() += 1;
        if let Some(is_success) = head.outcome.is_success() {
            self.counted += 1;
            self.succeeded += usize::from(is_success);
        }
        #[expect(clippy::cast_precision_loss, reason = "there are fewer attempts than that")]
        let rate = |succeeded: usize, counted: usize| succeeded as f64 / counted as f64;
        self.success_rate = (self.counted > 0).then(|| rate(self.succeeded, self.counted));
        add_amount(&mut self.cost_usd, head.cost_usd);
        add_amount(&mut self.duration_secs, head.duration_secs);
        add_count(&mut self.tokens_in, head.tokens_in);
        add_count(&mut self.tokens_out, head.tokens_out);
    }
}

fn add_amount(sum: &mut Option<f64>, amount: Option<f64>) {
    if let Some(amount) = amount {
        // Two files may name amounts whose sum is infinite, which JSON does not have.
        *sum = Some((sum.unwrap_or_default() + amount).min(f64::MAX));
    }
}

fn add_count(sum: &mut Option<u64>, count: Option<u64>) {
    if let Some(count) = count {
        *sum = Some(sum.unwrap_or_default().saturating_add(count));
    }
}
