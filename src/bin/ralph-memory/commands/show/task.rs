//! A task: its state, and its attempts one below the other.

use std::collections::BTreeMap;

use ralph_memory::Id;
use ralph_memory::entry::timestamp;
use ralph_memory::memory::{AttemptTotals, AttemptView, LivePhase, LiveRun, TaskState, TaskView};
use ralph_memory::text::dollars;
use ralph_memory::text::printed_command;

use crate::activity::grouped;
use crate::answers::LOST;
use crate::commands::log::{minute, seconds, sections};
use crate::commands::stats::{outcomes, tokens};
use crate::ui::{ID, QUIET, TITLE, Ui, outcome_style};

pub(super) fn show(ui: &mut Ui<'_>, task: &TaskView) -> anyhow::Result<()> {
    if ui.json {
        ui.json(BTreeMap::from([("task", task)]), &task.problems)?;
        return Ok(());
    }
    let title = if task.title.is_empty() { "(no title)" } else { &task.title };
    let title = ui.styled(TITLE, title);
    ui.line(title)?;
    ui.field("task", ID, &task.id)?;
    ui.fields(&fields(task))?;
    let n_before = task.totals.attempts - task.attempts.len();
    for (at, attempt) in task.attempts.iter().enumerate() {
        show_attempt(ui, n_before + at + 1, attempt)?;
    }
    ui.problems(&task.problems);
    Ok(())
}

fn fields(task: &TaskView) -> [(&'static str, String); 12] {
    let times = if task.streak == 1 { "time" } else { "times in a row" };
    let state = match task.state {
        TaskState::Failing | TaskState::Stuck => format!("{}: failed {} {times}", task.state.as_str(), task.streak),
        TaskState::Done | TaskState::Open => task.state.as_str().to_owned(),
    };
    let next = task.next_model.as_ref().map(|next| format!("{} ({})", next.model, next.rationale));
    let ids: Vec<&str> = task.knowledge.iter().map(|entry| entry.id.as_str()).collect();
    let totals = &task.totals;
    [
        ("state", state),
        ("now", live(&task.live)),
        ("feature", task.feature.clone().unwrap_or_default()),
        ("section", task.section.clone().unwrap_or_default()),
        ("difficulty", task.difficulty.map(|difficulty| difficulty.as_str().to_owned()).unwrap_or_default()),
        ("next model", next.unwrap_or_default()),
        ("attempts", counted(totals)),
        ("time", totals.duration_secs.map(seconds).unwrap_or_default()),
        ("cost", totals.cost_usd.map(dollars).unwrap_or_default()),
        ("tokens", tokens(totals)),
        ("learned", ids.join(", ")),
        (
            "not shown",
            match totals.attempts - task.attempts.len() {
                0 => String::new(),
                n_before => {
                    let log = printed_command("ralph-memory log --task TASK --limit 0", &[("TASK", &task.id)]);
                    format!("the first {n_before} attempts; {log}")
                }
            },
        ),
    ]
}

/// Returns how many attempts there were, and how they ended.
pub(super) fn counted(totals: &AttemptTotals) -> String {
    if totals.attempts == 0 { "0".to_owned() } else { format!("{}: {}", grouped(totals.attempts), outcomes(totals)) }
}

/// Returns what runs do at the moment, in a line.
pub(super) fn live(live: &[LiveRun]) -> String {
    let run = |run: &LiveRun| {
        let number = run.iteration.map(|number| format!("/{number}")).unwrap_or_default();
        let last = run.last_line.as_ref().map(|line| format!(", {line}")).unwrap_or_default();
        let lost = if run.phase == LivePhase::Lost { LOST } else { "" };
        format!("{}{number}: {}{last}{lost}", run.run_id, run.phase.as_str())
    };
    live.iter().map(run).collect::<Vec<_>>().join("; ")
}

fn show_attempt(ui: &mut Ui<'_>, number: usize, view: &AttemptView) -> anyhow::Result<()> {
    let attempt = &view.attempt;
    let outcome = ui.styled(outcome_style(attempt.head.outcome), attempt.head.outcome.as_str());
    let id: &Id = &view.id;
    let id = ui.styled(ID, id.as_str());
    let facts = [
        Some(minute(&timestamp(attempt.started_at))),
        attempt.head.model.clone(),
        attempt.head.duration_secs.map(seconds),
        attempt.head.cost_usd.map(dollars),
    ];
    let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let facts = ui.styled(QUIET, &facts);
    ui.line("")?;
    ui.line(format_args!("{number}. {outcome}  {id}  {facts}"))?;
    sections(ui, view)
}
