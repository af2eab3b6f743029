//! Experiments with a known effect of the memory, generated as journals: how often the interval of `stats --effect` holds
//! the truth, and how often an effect is claimed.
//!
//! Nothing is written: the journals go straight to the function that compares the arms.

use std::fmt;

use chrono::DateTime;
use ralph_memory::entry::{AttemptHead, Experiment, Outcome, Sections};
use ralph_memory::internals::{effect_of_journal, entry::Attempt};
use ralph_memory::{Source, memory::Effect};

use crate::random::Random;

/// The tasks with and without the memory, and the rates in percent: of tasks without it that succeed at the first try, and
/// how much higher it is with it.
const EXPERIMENTS: [([usize; 2], usize, usize); 13] = [
    ([200, 50], 30, 0),
    ([200, 50], 45, 0),
    ([200, 50], 60, 0),
    ([200, 50], 30, 10),
    ([200, 50], 45, 10),
    ([200, 50], 60, 10),
    ([200, 50], 30, 30),
    ([200, 50], 45, 30),
    ([200, 50], 60, 30),
    ([50, 50], 45, 0),
    ([50, 50], 20, 30),
    ([50, 50], 35, 30),
    ([50, 50], 60, 30),
];

/// What came of the experiments of one kind.
pub(crate) struct Experiments {
    kind: ([usize; 2], usize, usize),
    /// The share of the intervals that hold the truth, of those for the rates and of the bootstrap's for the attempts.
    pub(crate) held: f64,
    pub(crate) attempts_held: f64,
    /// The share of the intervals without zero.
    pub(crate) claimed: f64,
}

impl fmt::Debug for Experiments {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([with, without], rate, effect) = self.kind;
        let [held, attempts, claimed] = [self.held, self.attempts_held, self.claimed].map(|share| share * 100.0);
        write!(
            formatter,
            "\n{with} tasks with, {without} without the memory, {rate}% + {effect}: held {held:.1}% (attempts {attempts:.1}%), claimed {claimed:.1}%"
        )
    }
}

/// Makes so many journals of each kind. Of 2,000, the intervals must hold the truth in 93 to 97 of a hundred; an effect of 30
/// points must be found in 80 of a hundred, and one that is not there claimed in five, except for the error of such a
/// sample, of which one in the hundred is two standard ones. Fewer journals may be off by 12.
pub(crate) fn run(size: usize, seed: u64) -> Vec<Experiments> {
    let mut random = Random(seed);
    let slack = if size < 2_000 { 0.12 } else { 0.01 };
    let experiments = EXPERIMENTS.map(|kind @ (tasks, rate, effect)| {
        let truth = [truth(rate + effect), truth(rate)];
        let attempts = truth[0] - truth[1];
        let [mut held, mut attempts_held, mut claimed] = [0; 3];
        for _ in 0..size {
            let Effect { measures, .. } = effect_of_journal(journal(&mut random, tasks, [rate + effect, rate]));
            let [low, high] = measures[0].interval.unwrap();
            held += usize::from((low..=high).contains(&share(effect, 100)));
            claimed += usize::from(low > 0.0 || high < 0.0);
            let [low, high] = measures[1].interval.unwrap();
            attempts_held += usize::from((low..=high).contains(&attempts));
        }
        let [held, attempts_held, claimed] = [held, attempts_held, claimed].map(|count| share(count, size));
        let done = Experiments { kind, held, attempts_held, claimed };
        assert!((0.93 - slack..=0.97 + slack).contains(&held), "seed {seed}: {done:?}");
        assert!(effect > 0 || claimed <= 0.05 + slack, "seed {seed}: {done:?}");
        assert!(effect < 30 || claimed >= 0.8 - slack, "seed {seed}: {done:?}");
        done
    });
    experiments.into()
}

#[expect(clippy::cast_precision_loss, reason = "there are some thousands")]
fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

/// Returns how many attempts a task takes, five at most, of which each succeeds at this rate in percent.
fn truth(rate: usize) -> f64 {
    (0..5).map(|attempt| (1.0 - share(rate, 100)).powi(attempt)).sum()
}

/// Returns a journal of these numbers of tasks, with and without the memory and in random order, of which each attempt
/// succeeds at these rates in percent. One in five failures is the last attempt at its task.
fn journal(random: &mut Random, tasks: [usize; 2], rates: [usize; 2]) -> Vec<Attempt> {
    let mut left = tasks;
    let mut journal = Vec::new();
    for number in 0..tasks.iter().sum::<usize>() {
        let arm = usize::from(random.below(left[0] + left[1]) >= left[0]);
        left[arm] -= 1;
        for iteration in 1..=5 {
            let is_done = random.below(100) < rates[arm];
            let mut head = AttemptHead::default();
            head.iteration = iteration;
            head.outcome = if is_done { Outcome::Done } else { Outcome::Failed };
            head.experiment = Some([Experiment::Given, Experiment::Withheld][arm]);
            journal.push(Attempt {
                run_id: "run-1a2b3c4d".to_owned(),
                task_id: Some(format!("t-{number}")),
                task_title: String::new(),
                feature: None,
                source: Source::Agent,
                started_at: DateTime::UNIX_EPOCH,
                head,
                sections: Sections::default(),
            });
            if is_done || random.below(5) == 0 {
                break;
            }
        }
    }
    journal
}
