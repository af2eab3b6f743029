//! The effect of the memory: tasks with it compared with those from which an experiment withheld it.
//!
//! The unit is the task, because the experiment assigns tasks. Everything is computed from the journal; equal journals give
//! equal answers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::stats::{StatsFilter, key};
use super::totals::AttemptTotals;
use crate::entry::{Attempt, Experiment, Id, Outcome};
use crate::error::Problem;
use crate::journal::history::AttemptSummary;
use crate::journal::{both_areas, journal_path, of_feature, problems_of};
use crate::text::choice;
use crate::workspace::Workspace;

/// An arm with fewer tasks says too little.
pub(crate) const MIN_TASKS: usize = 10;
/// A task that takes more attempts than this counts with this number: few tasks take so many, and most of these are
/// unfinished.
const MAX_ATTEMPTS: usize = 5;
/// The quantile of the interval for rates. With that of the normal distribution, 1.96, up to 5.7 % of the experiments without
/// an effect would claim one at 50 tasks an arm, because counts are whole numbers. With 2.05, it is at most 4.3 %. A test
/// computes this.
const QUANTILE: f64 = 2.05;
/// How often the bootstrap draws, and the ranks of the limits in these draws: 2.5 % and 97.5 %.
const DRAWS: usize = 1_000;
const LIMITS: [usize; 2] = [25, 974];

choice! {
    /// What [`Memory::effect`](crate::Memory::effect) compares.
    #[derive(PartialOrd, Ord)]
    pub enum EffectMeasureKind {
        /// The share of tasks whose first attempt that counts succeeded.
        FirstTry = "first_try",
        /// How many attempts that count a task takes until it is done; five if it takes more.
        AttemptsToDone = "attempts_to_done",
        /// The cost of a task in US dollars until it was done, or so far.
        CostUsd = "cost_usd",
        /// The tokens of a task, read and written, until it was done, or so far.
        Tokens = "tokens",
        /// The seconds that agents worked on a task until it was done, or so far.
        DurationSecs = "duration_secs",
    }
}

/// The result of [`Memory::effect`](crate::Memory::effect).
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::StatsFilter;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// let effect = Memory::open(root)?.effect(&StatsFilter::default());
/// assert!(!effect.is_enough && effect.measures.iter().all(|measure| measure.interval.is_none()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Effect {
    /// The tasks that the experiment left the memory.
    pub with_memory: EffectArm,
    /// The tasks from which it withheld the memory.
    pub without_memory: EffectArm,
    /// Whether both arms have the ten tasks that an interval needs.
    #[serde(rename = "enough")]
    pub is_enough: bool,
    /// What is compared; the first one is what the experiment is about.
    pub measures: Vec<EffectMeasure>,
    /// Problems of the files that were read.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// The tasks of an arm of an [`Effect`]: those with an attempt that counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EffectArm {
    /// How many there are.
    pub tasks: usize,
    /// How many of them were not done.
    pub unfinished: usize,
}

/// A measure of an [`Effect`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EffectMeasure {
    /// What is measured.
    pub name: EffectMeasureKind,
    /// Its value with the memory; `None` if no task has one.
    pub with_memory: Option<f64>,
    /// Its value without.
    pub without_memory: Option<f64>,
    /// The value with the memory less the one without.
    pub difference: Option<f64>,
    /// The 95 % interval of the difference; `None` with fewer than ten values in an arm.
    pub interval: Option<[f64; 2]>,
}

/// What the journal says of a task.
struct Trial {
    arm: Experiment,
    is_first_try: bool,
    is_done: bool,
    /// The sums over all attempts until it was done, or so far.
    totals: AttemptTotals,
}

/// Returns the effect of the memory on the tasks that the filter accepts: those whose first attempt it accepts.
pub(crate) fn effect(workspace: &Workspace, filter: &StatsFilter) -> Effect {
    let catalogs = both_areas(workspace);
    let catalogs = catalogs.each_ref();
    let attempts = of_feature(workspace.now(), &catalogs, None);
    Effect { problems: problems_of(workspace, &catalogs), ..effect_of(&attempts, filter) }
}

/// Returns the effect on the tasks of these attempts, which are given oldest first.
fn effect_of(attempts: &[AttemptSummary], filter: &StatsFilter) -> Effect {
    let mut by_task: BTreeMap<Cow<'_, str>, Vec<&AttemptSummary>> = BTreeMap::new();
    for attempt in attempts {
        if let Some(task) = key(attempt.task_id.as_deref()) {
            by_task.entry(task).or_default().push(attempt);
        }
    }
    let accepted = by_task.into_values().filter(|attempts| filter.accepts(attempts[0]));
    let (without, with): (Vec<Trial>, Vec<Trial>) =
        accepted.filter_map(|attempts| trial(&attempts)).partition(|trial| trial.arm == Experiment::Withheld);
    let arms = [with.as_slice(), without.as_slice()];
    let [with_memory, without_memory] = arms.map(|trials| EffectArm {
        tasks: trials.len(),
        unfinished: trials.iter().filter(|trial| !trial.is_done).count(),
    });
    Effect {
        with_memory,
        without_memory,
        is_enough: arms.iter().all(|arm| arm.len() >= MIN_TASKS),
        measures: EffectMeasureKind::ALL.iter().map(|name| measure(*name, arms)).collect(),
        problems: Vec::new(),
    }
}

/// Returns the effect on the tasks of a journal, oldest first.
pub fn effect_of_journal(journal: Vec<Attempt>) -> Effect {
    let summary = |(number, attempt): (u32, Attempt)| {
        let Attempt { run_id, task_id, task_title, feature, started_at, head, .. } = attempt;
        let (id, began_at, head) = (Id::parse(&journal_path(&run_id, number))?, started_at, Box::new(head));
        Some(AttemptSummary { id, run_id, task_id, task_title, feature, started_at, began_at, head })
    };
    let attempts: Vec<AttemptSummary> = (1..).zip(journal).filter_map(summary).collect();
    effect_of(&attempts, &StatsFilter::default())
}

/// Returns what the attempts at a task, oldest first, say; `None` if none counts, or the task is out of the experiment.
fn trial(attempts: &[&AttemptSummary]) -> Option<Trial> {
    let done = attempts.iter().position(|attempt| attempt.head.outcome == Outcome::Done);
    let until = &attempts[..done.map_or(attempts.len(), |done| done + 1)];
    let totals = AttemptTotals::of(until.iter().map(|attempt| &*attempt.head));
    let first = until.iter().find_map(|attempt| attempt.head.outcome.is_success())?;
    Some(Trial {
        // What no experiment assigned differs in more than the memory: other times, other people.
        arm: attempts[0].head.experiment?,
        is_first_try: first,
        is_done: done.is_some(),
        totals,
    })
}

/// Compares the arms, the one with the memory first, in one way.
fn measure(name: EffectMeasureKind, arms: [&[Trial]; 2]) -> EffectMeasure {
    let mean_of = |value: &dyn Fn(&Trial) -> Option<f64>| {
        let values = arms.map(|trials| trials.iter().filter_map(value).collect::<Vec<f64>>());
        compared(values.each_ref().map(Vec::as_slice), &mean)
    };
    #[expect(clippy::cast_precision_loss, reason = "there are fewer tokens than that")]
    let (values, interval) = match name {
        EffectMeasureKind::FirstTry => {
            let counts = arms.map(|trials| (trials.iter().filter(|trial| trial.is_first_try).count(), trials.len()));
            let (rates, enough) = mean_of(&|trial| Some(f64::from(u8::from(trial.is_first_try))));
            (rates, enough.map(|_| interval_of_rates(counts, QUANTILE)))
        }
        EffectMeasureKind::AttemptsToDone => {
            let values = arms.map(|trials| trials.iter().map(|trial| (trial.totals.counted, trial.is_done)).collect());
            compared(values.each_ref().map(Vec::as_slice), &attempts_to_done)
        }
        EffectMeasureKind::CostUsd => mean_of(&|trial| trial.totals.cost_usd),
        EffectMeasureKind::Tokens => mean_of(&|trial| {
            let kinds = [trial.totals.tokens_in, trial.totals.tokens_out];
            kinds.into_iter().flatten().reduce(u64::saturating_add).map(|tokens| tokens as f64)
        }),
        EffectMeasureKind::DurationSecs => mean_of(&|trial| trial.totals.duration_secs),
    };
    let [with_memory, without_memory] = values;
    let difference = with_memory.zip(without_memory).map(|(with, without)| with - without);
    EffectMeasure { name, with_memory, without_memory, difference, interval }
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer tasks than that")]
fn rate((succeeded, tasks): (usize, usize)) -> f64 {
    succeeded as f64 / tasks as f64
}

/// Returns the interval of the difference of two rates: R. G. Newcombe, "Interval estimation for the difference between
/// independent proportions", Statistics in Medicine 17 (1998), method 10. A bootstrap is too narrow for few tasks, and has
/// no width where all of an arm succeed.
fn interval_of_rates(counts: [(usize, usize); 2], quantile: f64) -> [f64; 2] {
    let [with, without] = counts.map(rate);
    // Wilson's intervals of each rate.
    let limits = counts.map(|count| {
        #[expect(clippy::cast_precision_loss, reason = "there are fewer tasks than that")]
        let (rate, tasks, square) = (rate(count), count.1 as f64, quantile * quantile);
        let middle = rate + square / (2.0 * tasks);
        let half = quantile * (rate * (1.0 - rate) / tasks + square / (4.0 * tasks * tasks)).sqrt();
        [middle - half, middle + half].map(|limit| limit / (1.0 + square / tasks))
    });
    let [[with_low, with_high], [without_low, without_high]] = limits;
    let difference = with - without;
    [
        difference - (with - with_low).hypot(without_high - without),
        difference + (with_high - with).hypot(without - without_low),
    ]
}

/// Returns a statistic of both arms, and the interval of its difference by the bootstrap: tasks are drawn from each arm, as
/// many as it has, again and again.
fn compared<Value: Copy>(
    arms: [&[Value]; 2],
    statistic: &dyn Fn(&[Value]) -> f64,
) -> ([Option<f64>; 2], Option<[f64; 2]>) {
    let values = arms.map(|arm| (!arm.is_empty()).then(|| statistic(arm)));
    if arms.iter().any(|arm| arm.len() < MIN_TASKS) {
        return (values, None);
    }
    let mut random = 0_u64;
    let mut drawn = |arm: &[Value]| {
        let draw = |_: &Value| arm[below(&mut random, arm.len())];
        statistic(&arm.iter().map(draw).collect::<Vec<_>>())
    };
    let mut differences: Vec<f64> = (0..DRAWS).map(|_| drawn(arms[0]) - drawn(arms[1])).collect();
    differences.sort_by(f64::total_cmp);
    (values, Some(LIMITS.map(|limit| differences[limit])))
}

/// Returns a number below `limit` from a sequence that is always the same: `SplitMix64`.
fn below(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let scaled = u128::from(mixed ^ (mixed >> 31)) * limit as u128;
    usize::try_from(scaled >> 64).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer tasks than that")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns how many attempts a task takes until it is done, [`MAX_ATTEMPTS`] at most, by the estimate of Kaplan and Meier: a
/// task that is not done says that it takes more attempts than it had, and nothing else.
fn attempts_to_done(tasks: &[(usize, bool)]) -> f64 {
    // How many tasks ended with each number of attempts, and how many of them were done.
    let mut ended = [(0, 0); MAX_ATTEMPTS + 1];
    for (attempts, is_done) in tasks {
        let (all, done) = &mut ended[(*attempts).min(MAX_ATTEMPTS)];
        *all += 1;
        *done += usize::from(*is_done);
    }
    let (mut expected, mut undone, mut tried) = (0.0, 1.0, tasks.len());
    for (all, done) in &ended[1..] {
        expected += undone;
        if tried > 0 {
            undone *= 1.0 - rate((*done, tried));
        }
        tried -= all;
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::history::tests::attempts;

    /// Returns the attempts of tasks, each with the first letters of its outcomes; a capital one withholds the memory, and a dot
    /// before it leaves the task out of the experiment.
    fn journal(tasks: &[&str]) -> Vec<AttemptSummary> {
        let of_task = |(number, outcomes): (u32, &&str)| {
            let mut own = attempts(&outcomes.trim_start_matches('.').to_lowercase());
            let arm = if outcomes.starts_with(char::is_uppercase) { Experiment::Withheld } else { Experiment::Given };
            for attempt in &mut own {
                attempt.task_id = Some(format!("t-{number}"));
                attempt.head.experiment = (!outcomes.starts_with('.')).then_some(arm);
                attempt.head.cost_usd = Some(0.5);
            }
            own
        };
        (0..).zip(tasks).flat_map(of_task).collect()
    }

    #[test]
    fn tasks_are_counted_by_the_arm_of_their_first_attempt() {
        // What no experiment assigned is left out, as is what never counted.
        let tasks = [".d", "Fd", "d", "fd", "ifd", "i", "F", ".f", "d", "Bpd", ".d"];
        let effect = effect_of(&journal(&tasks), &StatsFilter::default());
        let arms = [effect.with_memory, effect.without_memory].map(|arm| (arm.tasks, arm.unfinished));
        assert_eq!(arms, [(4, 0), (3, 1)]);
        let values =
            effect.measures.iter().map(|measure| (measure.name.as_str(), measure.with_memory, measure.without_memory));
        assert_eq!(
            values.collect::<Vec<_>>(),
            [
                ("first_try", Some(0.5), Some(0.0)),
                ("attempts_to_done", Some(1.5), Some(2.0)),
                ("cost_usd", Some(0.875), Some(1.0)),
                ("tokens", None, None),
                ("duration_secs", None, None),
            ]
        );
        assert!(!effect.is_enough && effect.measures.iter().all(|measure| measure.interval.is_none()));
    }

    #[test]
    fn ten_tasks_in_each_arm_give_an_interval() {
        let pairs = |count: usize| ["Fd", "d"].repeat(count);
        let mut tasks = pairs(10);
        tasks.push("F");
        let effect = effect_of(&journal(&tasks), &StatsFilter::default());
        assert!(effect.is_enough);
        let [low, high] = effect.measures[0].interval.unwrap();
        assert!((0.5..1.0).contains(&low) && (high - 1.0).abs() < 1e-9, "{low} {high}");
        assert_eq!(effect.measures[3].interval, None, "no attempt reports its tokens");
        assert_eq!(effect, effect_of(&journal(&tasks), &StatsFilter::default()));
        tasks.truncate(19);
        assert!(!effect_of(&journal(&tasks), &StatsFilter::default()).is_enough);
    }

    #[test]
    fn a_task_that_is_not_done_takes_more_attempts_than_it_had() {
        for (tasks, expected) in [
            (&[(1, true), (1, true)][..], 1.0),
            (&[(1, true), (2, true)], 1.5),
            (&[(1, true), (9, true)], 3.0),
            (&[(9, false)], 5.0),
            (&[(1, true), (1, false), (2, true)], 1.0 + 2.0 / 3.0),
            (&[(1, true), (1, true), (2, false), (3, true)], 1.0 + 0.5 + 0.5),
        ] {
            assert!((attempts_to_done(tasks) - expected).abs() < 1e-9, "{tasks:?}: {}", attempts_to_done(tasks));
        }
    }

    /// Returns how probable it is that the interval of the rates, in percent, satisfies a condition.
    fn probability(tasks: [usize; 2], rates: [u8; 2], quantile: f64, is_so: impl Fn([f64; 2]) -> bool) -> f64 {
        let [with, without] = [0, 1].map(|arm| {
            let rate = f64::from(rates[arm]) / 100.0;
            (0..tasks[arm]).fold(vec![1.0], |shares: Vec<f64>, _| {
                let done = |count: usize| if count > 0 { shares[count - 1] * rate } else { 0.0 };
                let not = |count: usize| shares.get(count).map_or(0.0, |share| share * (1.0 - rate));
                (0..=shares.len()).map(|count| done(count) + not(count)).collect()
            })
        });
        let pairs = (0..with.len()).flat_map(|one| (0..without.len()).map(move |other| (one, other)));
        let holds =
            pairs.filter(|(one, other)| is_so(interval_of_rates([(*one, tasks[0]), (*other, tasks[1])], quantile)));
        holds.map(|(one, other)| with[one] * without[other]).sum()
    }

    #[test]
    fn the_interval_of_rates_holds_the_truth() {
        for tasks in [[200, 50], [50, 50]] {
            for (without, effect) in
                [(30, 0), (45, 0), (60, 0), (30, 10), (45, 10), (60, 10), (30, 30), (45, 30), (60, 30)]
            {
                let truth = f64::from(effect) / 100.0;
                let rates = [without + effect, without];
                let held = probability(tasks, rates, QUANTILE, |[low, high]| low <= truth && truth <= high);
                let claimed = probability(tasks, rates, QUANTILE, |[low, high]| low > 0.0 || high < 0.0);
                let is_good = (0.95..0.97).contains(&held);
                let is_found = if effect == 0 { claimed < 0.043 } else { effect < 30 || claimed > 0.8 };
                assert!(is_good && is_found, "{tasks:?} {rates:?}: held {held}, claimed {claimed}");
            }
        }
        assert!(probability([50, 50], [50, 50], 1.96, |[low, high]| low > 0.0 || high < 0.0) > 0.056);
    }

    #[test]
    fn the_interval_of_rates_is_that_of_newcombe() {
        // From table II of the paper.
        let check = |counts, expected: [f64; 2]| {
            let [low, high] = interval_of_rates(counts, 1.959_964);
            assert!((low - expected[0]).abs() < 1e-4 && (high - expected[1]).abs() < 1e-4, "{counts:?} {low} {high}");
        };
        check([(56, 70), (48, 80)], [0.0524, 0.3339]);
        check([(9, 10), (3, 10)], [0.1705, 0.8090]);
        check([(10, 10), (0, 20)], [0.6791, 1.0]);
    }
}
