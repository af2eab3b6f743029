//! `status`: how much of what there is.

use chrono::SecondsFormat;
use ralph_memory::memory::{Iteration, Status};
use serde::Serialize;

use crate::error::Exit;
use crate::session::Globals;
use crate::ui::{PLAIN, TITLE, Ui, count};

/// Say how much of what there is
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory status
  ralph-memory status --json")]
pub(crate) struct Args {}

#[derive(Serialize)]
struct Answer<'a> {
    status: &'a Status,
    open: Vec<Open>,
}

/// An iteration that was begun and not recorded.
#[derive(Serialize)]
struct Open {
    id: String,
    task_id: String,
    task_title: String,
    started_at: String,
}

impl Open {
    fn of(iteration: &Iteration) -> Open {
        Open {
            id: format!("{}/{}", iteration.run_id, iteration.number),
            task_id: iteration.task_id(),
            task_title: iteration.task.title.clone(),
            started_at: iteration.started_at.to_rfc3339_opts(SecondsFormat::Secs, true),
        }
    }
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, _args: &Args) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let status = memory.status()?;
    let open: Vec<Open> = memory.open_iterations().iter().map(Open::of).collect();
    if ui.json {
        ui.json(Answer { status: &status, open }, &[])?;
        return Ok(Exit::Done);
    }
    let root = ui.styled(TITLE, &status.root);
    ui.line(root)?;
    let categories = status.categories.iter().map(|(category, count)| {
        let category = if category.is_empty() { "plain" } else { category };
        format!("{count} {category}")
    });
    let categories = categories.collect::<Vec<_>>().join(", ");
    let knowledge = match status.knowledge {
        0 => "0".to_owned(),
        count => format!("{count} ({categories})"),
    };
    let unless_none = |count: usize, text: String| if count == 0 { String::new() } else { text };
    let problems =
        format!("{}, {}; run `ralph-memory check`", count(status.errors, "error"), count(status.warnings, "warning"));
    let fields = [
        ("knowledge", knowledge),
        (
            "used",
            unless_none(
                status.used,
                format!(
                    "{} stood in a context, {} of them only where attempts failed",
                    status.used, status.never_helped
                ),
            ),
        ),
        ("journal", status.journal.to_string()),
        ("archive", status.archived.to_string()),
        ("tags", status.tags.to_string()),
        ("expired", unless_none(status.expired, status.expired.to_string())),
        ("superseded", unless_none(status.superseded, status.superseded.to_string())),
        ("not indexed", unless_none(status.not_indexed, format!("{}, and found all the same", status.not_indexed))),
        ("problems", unless_none(status.errors + status.warnings, problems)),
    ];
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        ui.field(name, PLAIN, value)?;
    }
    for Open { id, task_title, started_at, .. } in &open {
        ui.field("open", PLAIN, &format!("{id}  {task_title} (begun {started_at})"))?;
    }
    if !open.is_empty() {
        ui.note("hint: `record` ends an open iteration; `ralph-memory context --cancel RUN/NUMBER` gives one up");
    }
    Ok(Exit::Done)
}
