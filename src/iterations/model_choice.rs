//! The model of an iteration, and the state of the run and the task.

use super::iteration::Run;
use crate::context::{Status, Stuck};
use crate::error::{Error, Result};
use crate::history::{RunRecord, TaskRecord};
use crate::strategy::{self, Choice, Evidence, Models};
use crate::workspace::Workspace;

/// Returns the models of the settings.
pub(super) fn configured_models(workspace: &Workspace) -> Result<Models<'_>> {
    Models::new(&workspace.settings.models).ok_or_else(|| Error::Settings {
        place: "settings".to_owned(),
        reason: "`strategy.models` is empty".to_owned(),
    })
}

/// Chooses the model of the next attempt at a task, from the attempts at it and the iterations of the run.
pub(crate) fn choose_model(
    workspace: &Workspace,
    run: Option<&Run>,
    task: &TaskRecord,
    of_run: &RunRecord,
) -> Result<Choice> {
    let settings = &workspace.settings;
    let strategy = run.and_then(|run| run.strategy).unwrap_or(settings.strategy);
    let evidence = Evidence {
        hint: of_run.hint.as_deref(),
        streak: task.streak,
        rung: task.rung,
        succeeded: of_run.succeeded,
        counted: of_run.counted,
        difficulty: task.difficulty,
        attempts: task.attempts,
    };
    let fixed = Some(settings.fixed_model.as_str()).filter(|model| !model.is_empty());
    Ok(strategy::choose(strategy, configured_models(workspace)?, fixed, evidence))
}

/// Returns the state of the run and the task for a context. A first attempt in a first iteration has none. If no
/// iteration begins, only a stuck task is mentioned, and what was wrong with the last report about it.
pub(super) fn loop_status(
    workspace: &Workspace,
    run: Option<(&Run, u32)>,
    task: &TaskRecord,
    of_run: &RunRecord,
    choice: &Choice,
) -> Option<Status> {
    let threshold = workspace.settings.stuck_after;
    let is_stuck = task.rung >= threshold;
    let is_worth_it = run.map_or(is_stuck || !task.refused.is_empty(), |(_, number)| number > 1 || task.attempts > 0);
    if !is_worth_it {
        return None;
    }
    let stuck = is_stuck.then(|| Stuck {
        threshold,
        same_error: task.same_error,
        tree_seen: task.tree_seen,
        failed_with: task.failed_with.clone(),
        tell_person: task.rung > threshold,
    });
    // Mostly the run's last attempt is that of the task.
    let of_run_alone = of_run.refused.iter().filter(|refused| !task.refused.contains(refused));
    let refused = task.refused.iter().chain(of_run_alone).cloned().collect();
    Some(Status {
        iteration: run.map_or(0, |(_, number)| number),
        limit: run.and_then(|(run, _)| run.limit),
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
