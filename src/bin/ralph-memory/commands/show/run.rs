//! A run: its tasks, its attempts, and what was learned in it.

use std::collections::BTreeMap;

use ralph_memory::memory::RunView;
use ralph_memory::text::dollars;

use super::task::{counted, live};
use crate::activity::grouped;
use crate::commands::log::{line, minute, seconds};
use crate::commands::stats::tokens;
use crate::table::table;
use crate::ui::{TITLE, Ui};

pub(super) fn show(ui: &mut Ui<'_>, run: &RunView) -> anyhow::Result<()> {
    if ui.json {
        ui.json(BTreeMap::from([("run", run)]), &run.problems)?;
        return Ok(());
    }
    let title = ui.styled(TITLE, &run.id);
    ui.line(title)?;
    let totals = &run.totals;
    let learned: Vec<&str> = run.knowledge.iter().map(|entry| entry.id.as_str()).collect();
    let n_before = totals.attempts - run.attempts.len();
    let fields = [
        ("kind", if run.is_session { "a session without a loop".to_owned() } else { String::new() }),
        ("now", live(&run.live)),
        ("began", run.started_at.as_deref().map(minute).unwrap_or_default()),
        ("ended", run.ended_at.as_deref().filter(|_| run.live.is_empty()).map(minute).unwrap_or_default()),
        ("attempts", counted(totals)),
        ("time", totals.duration_secs.map(seconds).unwrap_or_default()),
        ("cost", totals.cost_usd.map(dollars).unwrap_or_default()),
        ("tokens", tokens(totals)),
        ("learned", learned.join(", ")),
        ("not shown", if n_before == 0 { String::new() } else { format!("the first {n_before} attempts") }),
    ];
    ui.fields(&fields)?;
    let rows: Vec<[String; 4]> = run
        .tasks
        .iter()
        .map(|task| {
            let id = task.id.clone().unwrap_or_default();
            [id, grouped(task.attempts), task.outcome.as_str().to_owned(), task.title.clone()]
        })
        .collect();
    table(ui, "Tasks", ["task", "attempts#", "last outcome", "title"], &rows)?;
    if !run.attempts.is_empty() {
        let title = ui.styled(TITLE, "Attempts");
        ui.line("")?;
        ui.line(title)?;
    }
    for attempt in &run.attempts {
        line(ui, attempt, true)?;
    }
    ui.problems(&run.problems);
    Ok(())
}
