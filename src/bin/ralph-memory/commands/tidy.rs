//! `tidy`: archives entries that are finished, expired or unused, and merges similar learnings.

use ralph_memory::memory::TidyReport;
use serde_json::json;

use crate::exit::Exit;
use crate::session::Globals;
use crate::ui::{ID, Ui};

/// Archive what is finished or unused, and merge similar learnings; `restore` brings entries back
///
/// It archives attempts at a task that was done 7 days ago or earlier; knowledge over 90 days old that an agent wrote and
/// that was included in no context for 30 days (for a year if an attempt succeeded with it), if at least 30 attempts had a
/// context in that time; entries that have expired; and entries that were superseded 30 days ago.
///
/// If there are over 200 learnings (the setting `maintenance.learnings`), those of a category that share half of their tags
/// are merged into the newest one. It gets their tags and, below its own text, each of their statements.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory tidy --dry-run
  ralph-memory tidy && ralph-memory restore knowledge/wal-mode")]
pub(crate) struct TidyArgs {
    /// Show what would be done without doing it
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &TidyArgs) -> anyhow::Result<Exit> {
    let report = globals.open()?.tidy(args.dry_run)?;
    if ui.json {
        let answer = json!({ "dry_run": args.dry_run, "moved": report.moved, "merged": report.merged });
        ui.json(answer, &report.problems)?;
        return Ok(Exit::Done);
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
    ui.note(&sum(&report, args.dry_run));
    ui.problems(&report.problems);
    Ok(Exit::Done)
}

/// Returns the numbers of archived and merged entries, in a line.
pub(crate) fn sum(report: &TidyReport, dry_run: bool) -> String {
    let entries = |number: usize| if number == 1 { "1 entry".to_owned() } else { format!("{number} entries") };
    let n_merged: usize = report.merged.iter().map(|merged| merged.ids.len()).sum();
    let n_archived = report.moved.iter().filter(|moved| moved.reason.is_some()).count();
    let mut parts = Vec::new();
    if n_merged > 0 {
        parts.push(format!("{} merged into {}", entries(n_merged), report.merged.len()));
    }
    if n_archived > 0 {
        parts.push(format!("{} archived", entries(n_archived)));
    }
    let done = if parts.is_empty() { "nothing to do".to_owned() } else { parts.join(", ") };
    if dry_run { format!("{done} (dry run: nothing was changed)") } else { done }
}
