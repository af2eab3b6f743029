//! The model of an attempt, and the state of the run and the task.

use std::cmp::{Ordering, Reverse};

use crate::context::{NumberedAttempt, Run, Status, Stuck};
use crate::entry::{AttemptHead, Difficulty, Outcome};
use crate::error::{Error, Result};
use crate::journal::history::{AttemptSummary, RunRecord, TaskRecord, UNKNOWN, is_named};
use crate::journal::strategy::{self, Choice, Models, STUCK_AFTER, SimilarTask};
use crate::workspace::Workspace;

/// Returns the models of the settings.
pub(crate) fn configured_models(workspace: &Workspace) -> Result<Models<'_>> {
    Models::new(&workspace.settings.models).ok_or_else(|| Error::Settings {
        place: "settings".to_owned(),
        reason: "`strategy.models` is empty".to_owned(),
    })
}

/// Chooses the model of the next attempt at a task from the attempts at it, those at `similar` tasks, and those of the
/// run. The choice is empty if the agent has its own model.
pub(crate) fn choose_model(
    workspace: &Workspace,
    run: Option<&Run>,
    task: &TaskRecord,
    of_run: &RunRecord,
    similar: &[Vec<AttemptSummary>],
) -> Result<Choice> {
    if run.is_some_and(|run| run.has_own_model) {
        return Ok(Choice::default());
    }
    let settings = &workspace.settings;
    let models = configured_models(workspace)?;
    let similar: Vec<SimilarTask<'_>> =
        similar.iter().map(|attempts| similar_task(models, attempts, task.difficulty)).collect();
    let strategy = run.and_then(|run| run.strategy).unwrap_or(settings.strategy);
    Ok(strategy::choose(strategy, models, (task, of_run), &similar))
}

/// Returns what the attempts at a task say about the models in the list, for a task of this difficulty. Attempts of unknown
/// models say nothing. What fails at a harder task may do for this one, and what does for an easier one may fail.
fn similar_task<'a>(
    models: Models<'a>,
    attempts: &[AttemptSummary],
    difficulty: Option<Difficulty>,
) -> SimilarTask<'a> {
    let listed = |name: &str| models.named(name).or_else(|| models.find(|model| is_named(model, name)));
    let model = |past: &AttemptSummary| past.head.model.as_deref().and_then(listed);
    let failed = attempts.iter().filter(|past| past.head.outcome.is_failure_of_task());
    let done = attempts.iter().rfind(|past| past.head.outcome == Outcome::Done);
    let other = TaskRecord::of(attempts).difficulty;
    let harder = difficulty.zip(other).map(|(own, other)| other.cmp(&own));
    let failed_with = if harder == Some(Ordering::Greater) { Vec::new() } else { failed.filter_map(model).collect() };
    let done_by = done.and_then(model).filter(|_| harder != Some(Ordering::Less));
    SimilarTask { failed_with, done_by }
}

/// Returns the state of the run and the task for a context. The first attempt of a run at a new task has none.
pub(super) fn loop_status(
    (run, number): (&Run, u32),
    (task, attempts): (&TaskRecord, &[NumberedAttempt]),
    of_run: &RunRecord,
    choice: &Choice,
) -> Option<Status> {
    let is_stuck = task.rung >= STUCK_AFTER;
    if number <= 1 && task.attempts == 0 {
        return None;
    }
    let stuck = is_stuck.then(|| Stuck {
        threshold: STUCK_AFTER,
        same_error: task.same_error,
        tree_seen: task.tree_seen,
        failed_with: failed_with(task, attempts),
        tell_person: task.rung > STUCK_AFTER,
    });
    // The run's last attempt is usually the task's last attempt.
    let of_run_alone = of_run.refused.iter().filter(|refused| !task.refused.contains(refused));
    let refused = task.refused.iter().chain(of_run_alone).cloned().collect();
    Some(Status {
        iteration: number,
        limit: run.limit,
        attempt: task.attempts + 1,
        streak: task.streak,
        succeeded: of_run.succeeded,
        counted: of_run.counted,
        model: choice.model.clone(),
        rationale: choice.rationale.clone(),
        stuck,
        refused,
    })
}

/// Returns what the attempts since the task was last done failed with, and how often. That is the category of the error
/// or, without one, the first line of the reason in the report.
fn failed_with(task: &TaskRecord, attempts: &[NumberedAttempt]) -> Vec<(String, usize)> {
    let mut counts = task.failed_with.clone();
    for NumberedAttempt { attempt, .. } in attempts.iter().filter(|past| past.number > task.done_at) {
        let AttemptHead { outcome, error_category, .. } = &attempt.head;
        let is_unnamed = outcome.is_failure_of_task() && error_category.as_ref().is_none_or(|name| name == UNKNOWN);
        let why = attempt.sections.told_why().filter(|_| is_unnamed).and_then(|why| why.lines().next());
        let Some(why) = why.map(|why| why.trim_end_matches('.')) else { continue };
        for (name, count) in &mut counts {
            *count = count.saturating_sub(usize::from(name == UNKNOWN));
        }
        match counts.iter_mut().find(|(name, _)| name == why) {
            Some((_, count)) => *count += 1,
            None => counts.push((why.to_owned(), 1)),
        }
    }
    counts.retain(|(_, count)| *count > 0);
    counts.sort_by(|one, other| (Reverse(one.1), &one.0).cmp(&(Reverse(other.1), &other.0)));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::history::tests::attempts;

    #[test]
    fn a_harder_failure_and_an_easier_success_say_nothing() {
        let models = ["haiku", "sonnet", "opus"].map(str::to_owned);
        let said = |own: Option<Difficulty>, other: Option<Difficulty>| {
            let mut attempts = attempts("fd");
            for (past, model) in attempts.iter_mut().zip(["sonnet", "opus"]) {
                (past.head.model, past.head.difficulty) = (Some(model.to_owned()), other);
            }
            let similar = similar_task(Models::new(&models).unwrap(), &attempts, own);
            (!similar.failed_with.is_empty(), similar.done_by.is_some())
        };
        let (easy, hard) = (Some(Difficulty::Easy), Some(Difficulty::Hard));
        assert_eq!([said(None, hard), said(hard, None), said(hard, hard)], [(true, true); 3]);
        assert_eq!([said(easy, hard), said(hard, easy)], [(false, true), (true, false)]);
    }
}
