//! Chooses the model of the next attempt, and measures how stuck a task is.
//!
//! Pure: takes evidence, returns a choice and its reason. [`history`](crate::journal::history) collects the evidence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::entry::Difficulty;
use crate::journal::history::{RunRecord, TaskRecord};

pub(crate) use crate::settings::Strategy;

/// The default models, the cheapest first.
#[cfg(any(test, feature = "runner"))]
pub(crate) const MODELS: [&str; 3] = ["haiku", "sonnet", "opus"];
/// The models of known clients, by the name of the program, cheapest first. They are used if no setting names others.
/// Aliases are best because they outlive the models. Codex has none, so these are the fast, the everyday and the
/// frontier model in the catalog of Codex 0.169.
#[cfg(feature = "runner")]
pub(crate) const MODELS_OF: [(&str, [&str; 3]); 3] = [
    ("claude", MODELS),
    ("codex", ["gpt-6-luna", "gpt-6.1-sol", "gpt-6-astra"]),
    ("gemini", ["flash-lite", "flash", "pro"]),
];
/// How many attempts a run needs before its success rate counts.
const MEANINGFUL: usize = 5;
/// A run goes well if more than this share of its attempts succeeded, in percent.
const GOING_WELL: usize = 80;
/// From this level of escalation on, the strongest model is taken.
const STRONGEST_RUNG: u32 = 2;
/// The failures in a row after which the agent is warned that it is stuck.
pub(crate) const STUCK_AFTER: u32 = 3;

/// The available models, from the cheapest to the strongest; at least one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Models<'a>(&'a [String]);

impl<'a> Models<'a> {
    /// Returns the models of a list; `None` if it is empty.
    pub(crate) fn new(models: &'a [String]) -> Option<Models<'a>> {
        (!models.is_empty()).then_some(Models(models))
    }

    fn cheapest(self) -> &'a str {
        &self.0[0]
    }

    /// Of two models, the middle one is the cheaper one; the other is for escalation.
    fn middle(self) -> &'a str {
        &self.0[(self.0.len() - 1) / 2]
    }

    fn strongest(self) -> &'a str {
        &self.0[self.0.len() - 1]
    }

    fn rank(self, name: &str) -> Option<usize> {
        self.0.iter().position(|model| model == name)
    }

    /// Returns the first model for which the condition is true.
    pub(crate) fn find(self, is_it: impl Fn(&str) -> bool) -> Option<&'a str> {
        self.0.iter().map(String::as_str).find(|model| is_it(model))
    }

    /// Returns the model of this name, whatever its case.
    pub(crate) fn named(self, name: &str) -> Option<&'a str> {
        self.find(|model| model.eq_ignore_ascii_case(name))
    }
}

/// A similar task, with only the models in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SimilarTask<'a> {
    /// The models that failed at it.
    pub failed_with: Vec<&'a str>,
    /// The model of the last successful attempt.
    pub done_by: Option<&'a str>,
}

/// A model, and the reason for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Choice {
    /// The model.
    pub model: String,
    /// The reason, in a few words.
    pub rationale: String,
}

/// Returns the model for the next attempt at a task in a run. The first matching rule counts, in the order of the
/// documented table. `similar` says what happened to similar tasks.
pub(crate) fn choose(
    strategy: Strategy,
    models: Models<'_>,
    (task, run): (&TaskRecord, &RunRecord),
    similar: &[SimilarTask<'_>],
) -> Choice {
    let choice = |model: &str, rationale: &str| Choice { model: model.to_owned(), rationale: rationale.to_owned() };
    if let Some(hint) = &run.hint {
        return choice(hint, "hinted by previous iteration");
    }
    let escalated = match task.streak {
        1 => "escalated after an attempt without success".to_owned(),
        streak => format!("escalated after {streak} attempts without success"),
    };
    let RunRecord { succeeded, counted, .. } = *run;
    let goes_well = counted >= MEANINGFUL && succeeded * 100 > counted * GOING_WELL;
    let is_hard = matches!(task.difficulty, Some(Difficulty::Hard | Difficulty::Blocked));
    let chosen = match (strategy, task.rung) {
        (Strategy::Fixed, _) => choice(models.middle(), "fixed"),
        (Strategy::CostOptimized | Strategy::Escalate, STRONGEST_RUNG..) => choice(models.strongest(), &escalated),
        (Strategy::CostOptimized, 0) if goes_well && !is_hard => {
            choice(models.cheapest(), &format!("run is going well ({succeeded} of {counted})"))
        }
        (Strategy::CostOptimized, _) => choice(models.middle(), "default (cost-optimized strategy)"),
        (Strategy::Escalate, 0) => choice(models.cheapest(), "default (escalate strategy)"),
        (Strategy::Escalate, _) => choice(models.middle(), &escalated),
        (Strategy::PlanThenExecute, _) if task.attempts == 0 => {
            choice(models.strongest(), "plan-then-execute: planning phase")
        }
        (Strategy::PlanThenExecute, _) => choice(models.middle(), "plan-then-execute: execution phase"),
    };
    let other = proven(&chosen.model, similar).filter(|(other, _)| {
        // A task that failed is escalated, and never de-escalated.
        task.rung == 0 || models.rank(other) > models.rank(&chosen.model)
    });
    other.map_or(chosen.clone(), |(other, n_tasks)| {
        let (tasks, were) = if n_tasks == 1 {
            ("a similar task".to_owned(), "was")
        } else {
            (format!("{n_tasks} similar tasks"), "were")
        };
        choice(other, &format!("{tasks} failed with {} and {were} done by {other}", chosen.model))
    })
}

/// Returns the model that did most of the similar tasks that `chosen` failed at, and how many it did, if that is more
/// than `chosen` did.
fn proven<'a>(chosen: &str, similar: &[SimilarTask<'a>]) -> Option<(&'a str, usize)> {
    let n_done = similar.iter().filter(|task| task.done_by == Some(chosen)).count();
    let failed = similar.iter().filter(|task| task.failed_with.contains(&chosen));
    let mut others: BTreeMap<&str, usize> = BTreeMap::new();
    for other in failed.filter_map(|task| task.done_by).filter(|other| *other != chosen) {
        *others.entry(other).or_default() += 1;
    }
    others.into_iter().max_by_key(|(_, n_tasks)| *n_tasks).filter(|(_, n_tasks)| *n_tasks > n_done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::history::rung;

    type Records = (TaskRecord, RunRecord);

    fn chosen(strategy: Strategy, models: &[&str], (task, run): &Records) -> (String, String) {
        chosen_among(strategy, models, (task, run), &[])
    }

    fn chosen_among(
        strategy: Strategy,
        models: &[&str],
        records: (&TaskRecord, &RunRecord),
        similar: &[SimilarTask<'_>],
    ) -> (String, String) {
        let models: Vec<String> = models.iter().map(|name| (*name).to_owned()).collect();
        let choice = choose(strategy, Models::new(&models).unwrap(), records, similar);
        (choice.model, choice.rationale)
    }

    #[track_caller]
    fn check(strategy: Strategy, records: &Records, model: &str, rationale: &str) {
        let expected = (model.to_owned(), rationale.to_owned());
        assert_eq!(chosen(strategy, &MODELS, records), expected, "{strategy} {records:?}");
    }

    /// A task that failed so often in a row, without a recurring error.
    fn failed(streak: u32) -> Records {
        climbed(streak, rung(streak, false))
    }

    fn climbed(streak: u32, rung: u32) -> Records {
        (TaskRecord { streak, rung, attempts: streak as usize, ..TaskRecord::default() }, RunRecord::default())
    }

    #[test]
    fn a_hint_comes_before_every_strategy() {
        for &strategy in Strategy::ALL {
            let run = RunRecord { hint: Some("opus".into()), ..RunRecord::default() };
            check(strategy, &(failed(1).0, run), "opus", "hinted by previous iteration");
        }
    }

    #[test]
    fn fixed_is_the_middle_one_or_the_only_one() {
        check(Strategy::Fixed, &failed(5), "sonnet", "fixed");
        let choice = chosen(Strategy::Fixed, &["other"], &failed(0));
        assert_eq!(choice, ("other".to_owned(), "fixed".to_owned()));
    }

    #[test]
    fn cost_optimized_looks_at_failures_then_at_the_run() {
        let strategy = Strategy::CostOptimized;
        let default = "default (cost-optimized strategy)";
        check(strategy, &failed(0), "sonnet", default);
        check(strategy, &failed(1), "sonnet", default);
        check(strategy, &failed(2), "opus", "escalated after 2 attempts without success");
        check(strategy, &failed(7), "opus", "escalated after 7 attempts without success");
        let run = |succeeded, counted| (failed(0).0, RunRecord { succeeded, counted, ..RunRecord::default() });
        check(strategy, &run(5, 5), "haiku", "run is going well (5 of 5)");
        check(strategy, &run(6, 7), "haiku", "run is going well (6 of 7)");
        // 80 % is not more than 80 %, and four iterations are too few.
        check(strategy, &run(4, 5), "sonnet", default);
        check(strategy, &run(4, 4), "sonnet", default);
        let with = |change: fn(&mut TaskRecord)| {
            let (mut task, run) = run(9, 9);
            change(&mut task);
            (task, run)
        };
        check(strategy, &with(|task| task.difficulty = Some(Difficulty::Hard)), "sonnet", default);
        check(strategy, &with(|task| task.difficulty = Some(Difficulty::Blocked)), "sonnet", default);
        let going_well = "run is going well (9 of 9)";
        check(strategy, &with(|task| task.difficulty = Some(Difficulty::Moderate)), "haiku", going_well);
        check(strategy, &with(|task| (task.streak, task.rung) = (1, 1)), "sonnet", default);
    }

    #[test]
    fn a_recurring_error_adds_a_rung() {
        let circle = |streak| climbed(streak, rung(streak, true));
        check(Strategy::CostOptimized, &circle(1), "opus", "escalated after an attempt without success");
        check(Strategy::Escalate, &circle(1), "opus", "escalated after an attempt without success");
        check(Strategy::Escalate, &circle(0), "haiku", "default (escalate strategy)");
        assert_eq!([rung(0, true), rung(0, false), rung(2, true), rung(3, false)], [0, 0, 3, 3]);
    }

    #[test]
    fn escalate_climbs_one_by_one() {
        check(Strategy::Escalate, &failed(0), "haiku", "default (escalate strategy)");
        check(Strategy::Escalate, &failed(1), "sonnet", "escalated after an attempt without success");
        check(Strategy::Escalate, &failed(2), "opus", "escalated after 2 attempts without success");
        check(Strategy::Escalate, &failed(9), "opus", "escalated after 9 attempts without success");
    }

    #[test]
    fn similar_tasks_are_heeded_before_the_task_failed_itself() {
        #[track_caller]
        fn check(strategy: Strategy, similar: &[SimilarTask<'_>], streak: u32, model: &str, rationale: &str) {
            let (task, run) = failed(streak);
            let choice = chosen_among(strategy, &MODELS, (&task, &run), similar);
            assert_eq!(choice, (model.to_owned(), rationale.to_owned()), "{strategy} {streak}");
        }
        let of = |failed_with: &[&'static str], done_by| SimilarTask { failed_with: failed_with.to_vec(), done_by };
        let done_by_opus = [of(&["sonnet"], Some("opus"))];
        let told = "a similar task failed with sonnet and was done by opus";
        let default = "default (cost-optimized strategy)";
        check(Strategy::CostOptimized, &done_by_opus, 0, "opus", told);
        check(Strategy::CostOptimized, &done_by_opus, 1, "opus", told);
        check(Strategy::CostOptimized, &done_by_opus, 2, "opus", "escalated after 2 attempts without success");
        check(Strategy::Escalate, &done_by_opus, 0, "haiku", "default (escalate strategy)");
        check(Strategy::PlanThenExecute, &done_by_opus, 4, "opus", told);
        check(Strategy::Fixed, &done_by_opus, 0, "opus", told);
        let done_by_haiku = [of(&["sonnet", "opus"], Some("haiku")), of(&["sonnet"], Some("haiku"))];
        let told = "2 similar tasks failed with sonnet and were done by haiku";
        check(Strategy::CostOptimized, &done_by_haiku, 0, "haiku", told);
        check(Strategy::CostOptimized, &done_by_haiku, 1, "sonnet", default);
        let undecided = [of(&["sonnet"], Some("opus")), of(&["haiku"], Some("sonnet")), of(&["sonnet"], None)];
        check(Strategy::CostOptimized, &undecided, 0, "sonnet", default);
    }

    #[test]
    fn plan_then_execute_looks_at_attempts_alone() {
        check(Strategy::PlanThenExecute, &failed(0), "opus", "plan-then-execute: planning phase");
        check(Strategy::PlanThenExecute, &failed(4), "sonnet", "plan-then-execute: execution phase");
    }

    #[test]
    fn lists_of_other_lengths_have_a_middle() {
        let middle = |names: &[&str]| chosen(Strategy::CostOptimized, names, &failed(0)).0;
        assert_eq!([middle(&["a"]), middle(&["a", "b"]), middle(&["a", "b", "c", "d"])], ["a", "a", "b"]);
        assert!(Models::new(&[]).is_none());
    }

    #[test]
    fn the_settings_begin_with_these_models() {
        assert_eq!(MODELS.as_slice(), crate::settings::Settings::default().models);
    }
}
