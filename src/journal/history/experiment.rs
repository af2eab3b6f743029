//! The arm of an experiment that a task is in.

use xxhash_rust::xxh3::xxh3_64;

use super::AttemptSummary;
use crate::entry::Experiment;

/// Returns the arm of the task with this id, whose attempts are given oldest first. A task keeps the arm of its first
/// attempt, or stays out of the experiment; before that, its id decides whether it is in the `share` of tasks without the
/// memory, if there are such tasks.
pub(crate) fn arm(attempts: &[AttemptSummary], task_id: &str, share: f64) -> Option<Experiment> {
    match attempts.first() {
        Some(first) => first.head.experiment,
        None if share > 0.0 => Some(if place(task_id) < share { Experiment::Withheld } else { Experiment::Given }),
        None => None,
    }
}

/// Returns a number from 0 to 1 that depends on a task's id alone. Ids may be hashes themselves, so the text is another one.
fn place(task_id: &str) -> f64 {
    let bits = xxh3_64(format!("experiment {task_id}").as_bytes()) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let place = bits as f64 / (1_u64 << 53) as f64;
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::history::tests::attempts;

    #[test]
    fn the_id_chooses_the_arm_and_the_first_attempt_keeps_it() {
        let n_withheld = |share: f64| {
            (0..10_000)
                .filter(|number| arm(&[], &format!("t-{number:010x}"), share) == Some(Experiment::Withheld))
                .count()
        };
        assert_eq!((n_withheld(0.0), n_withheld(1.0)), (0, 10_000));
        assert_eq!([0.0, 1e-300].map(|share| arm(&[], "t-1", share)), [None, Some(Experiment::Given)]);
        assert!((1_880..=2_120).contains(&n_withheld(0.2)), "{}", n_withheld(0.2));
        let mut known = attempts("fd");
        assert_eq!(arm(&known, "t-1", 1.0), None);
        known[0].head.experiment = Some(Experiment::Withheld);
        assert_eq!(arm(&known, "t-1", 0.0), Some(Experiment::Withheld));
    }
}
