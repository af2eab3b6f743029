//! `status`: counts of entries, attempts and runs.

use ralph_memory::entry::timestamp;
use ralph_memory::memory::{Iteration, LiveRun, MemoryStatus};
use serde::Serialize;

use crate::error::check_whole;
use crate::exit::Exit;
use crate::session::Globals;
use crate::ui::{PLAIN, TITLE, Ui, count};

/// Show counts of entries, attempts and runs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory status
  ralph-memory status --json")]
pub(crate) struct StatusArgs {}

#[derive(Serialize)]
struct StatusAnswer<'a> {
    #[serde(flatten)]
    status: &'a MemoryStatus,
    open: Vec<LiveRun>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, _args: &StatusArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let status = memory.status();
    check_whole(&status.problems)?;
    let open = memory.open_iterations();
    if ui.json {
        ui.json(StatusAnswer { status: &status, open: memory.live_runs() }, &status.problems)?;
        return Ok(Exit::Done);
    }
    let counts = &status.counts;
    let root = ui.styled(TITLE, &status.root);
    ui.line(root)?;
    let categories = status.categories.iter().map(|(category, count)| {
        let category = if category.is_empty() { "plain" } else { category };
        format!("{count} {category}")
    });
    let categories = categories.collect::<Vec<_>>().join(", ");
    let knowledge = match counts.knowledge {
        0 => "0".to_owned(),
        count => format!("{count} ({categories})"),
    };
    let unless_none = |count: usize, text: String| if count == 0 { String::new() } else { text };
    let problems =
        format!("{}, {}; run `ralph-memory check`", count(counts.errors, "error"), count(counts.warnings, "warning"));
    let fields = [
        ("knowledge", knowledge),
        (
            "used",
            unless_none(
                counts.used,
                format!("{} included in a context, {} of them of no help", counts.used, counts.never_helped),
            ),
        ),
        ("journal", counts.journal.to_string()),
        ("archive", counts.archive.to_string()),
        ("tags", counts.tags.to_string()),
        ("expired", unless_none(counts.expired, counts.expired.to_string())),
        ("superseded", unless_none(counts.superseded, counts.superseded.to_string())),
        ("not indexed", unless_none(counts.not_indexed, format!("{}, but searches find them", counts.not_indexed))),
        ("problems", unless_none(counts.errors + counts.warnings, problems)),
    ];
    ui.fields(&fields)?;
    for iteration in &open {
        let Iteration { run_id, number, task, started_at, .. } = iteration;
        let begun = timestamp(*started_at);
        ui.field("open", PLAIN, &format!("{run_id}/{number}  {} (begun {begun})", task.title))?;
    }
    Ok(Exit::Done)
}
