//! `archive`: moves entries to the archive.

use ralph_memory::Id;
use serde_json::json;

use crate::exit::Exit;
use crate::parse;
use crate::session::Globals;
use crate::ui::{ID, Ui};

/// Move entries to the archive, where searches and contexts leave them out
///
/// Either all of them are moved, or none. `restore` brings them back. Entries that a person wrote are not archived where a
/// coding agent runs this.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory archive knowledge/old-staging-host
  ralph-memory archive old-staging-host use-make
  ralph-memory archive --forget journal/run-1a2b3c4d/0003")]
pub(crate) struct ArchiveArgs {
    /// The live entries: knowledge, events or attempts
    #[arg(value_parser = parse::id, value_name = "ID", required = true)]
    ids: Vec<Id>,
    /// Remove them for good, live or archived, attempts in all work trees; `undo` brings them back
    #[arg(long)]
    forget: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, mut args: ArchiveArgs) -> anyhow::Result<Exit> {
    let memory = globals.of_ids(ui, &mut args.ids)?.open()?;
    if args.forget {
        let removed = memory.forget(&args.ids)?;
        if ui.json {
            ui.json(json!({ "action": "forgotten", "removed": removed }), &[])?;
            return Ok(Exit::Done);
        }
        for path in &removed {
            ui.line(format_args!("removed {path}"))?;
        }
        return Ok(Exit::Done);
    }
    let report = memory.archive(&args.ids)?;
    if ui.json {
        ui.json(json!({ "action": "archived", "moved": report.moved }), &report.problems)?;
        return Ok(Exit::Done);
    }
    for moved in &report.moved {
        let id = ui.styled(ID, moved.id.as_str());
        ui.line(format_args!("archived {id}"))?;
    }
    ui.problems(&report.problems);
    Ok(Exit::Done)
}
