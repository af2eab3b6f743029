//! Results of `prune` and `consolidate`, for people and programs.

use std::io;

use ralph_memory::memory::{ArchivedEntry, ConsolidatedLearnings, MaintenanceReport};
use serde::Serialize;

use crate::ui::{ID, Ui, count};

#[derive(Serialize)]
struct MaintenanceOutput<'a> {
    dry_run: bool,
    #[serde(flatten)]
    done: MaintenanceAnswer<'a>,
}

/// The archived and merged entries, or those of a dry run.
#[derive(Serialize)]
pub(crate) struct MaintenanceAnswer<'a> {
    moved: &'a [ArchivedEntry],
    merged: &'a [ConsolidatedLearnings],
}

impl MaintenanceAnswer<'_> {
    pub(crate) fn of(report: &MaintenanceReport) -> MaintenanceAnswer<'_> {
        MaintenanceAnswer { moved: &report.moved, merged: &report.merged }
    }
}

/// Shows the archived and merged entries, or those of a dry run.
pub(crate) fn show(ui: &mut Ui<'_>, report: &MaintenanceReport, dry_run: bool) -> io::Result<()> {
    if ui.json {
        return ui.json(MaintenanceOutput { dry_run, done: MaintenanceAnswer::of(report) }, &report.problems);
    }
    for merged in &report.merged {
        let ids: Vec<String> = merged.ids.iter().map(|id| ui.styled(ID, id.as_str())).collect();
        let into = ui.styled(ID, merged.into.as_str());
        ui.line(format_args!("merged {} into {into}", ids.join(", ")))?;
    }
    for moved in report.moved.iter().filter(|moved| moved.reason.is_some()) {
        let reason = moved.reason.map_or("", |reason| reason.as_str());
        let id = ui.styled(ID, moved.id.as_str());
        ui.line(format_args!("archived {id}: {reason}"))?;
    }
    ui.note(&sum(report, dry_run));
    ui.problems(&report.problems);
    Ok(())
}

/// Returns the numbers of archived and merged entries, in a line.
pub(crate) fn sum(report: &MaintenanceReport, dry_run: bool) -> String {
    let n_merged: usize = report.merged.iter().map(|merged| merged.ids.len()).sum();
    let n_archived = report.moved.iter().filter(|moved| moved.reason.is_some()).count();
    let mut parts = Vec::new();
    if n_merged > 0 {
        parts.push(format!("{} merged into {}", count(n_merged, "entry"), report.merged.len()));
    }
    if n_archived > 0 {
        parts.push(format!("{} archived", count(n_archived, "entry")));
    }
    let done = if parts.is_empty() { "nothing to do".to_owned() } else { parts.join(", ") };
    if dry_run { format!("{done} (dry run: nothing was changed)") } else { done }
}
