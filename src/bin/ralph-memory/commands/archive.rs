//! `archive`: moves entries to the archive.

use ralph_memory::Id;
use serde_json::json;

use crate::exit::Exit;
use crate::parse;
use crate::session::Globals;
use crate::ui::{ID, Ui};

/// Move entries to the archive, where searches and contexts leave them out
///
/// Either all of them are moved, or none. `restore` brings them back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory archive knowledge/old-staging-host
  ralph-memory archive old-staging-host use-make")]
pub(crate) struct ArchiveArgs {
    /// The live entries: knowledge, events or attempts
    #[arg(value_parser = parse::id, value_name = "ID", required = true)]
    ids: Vec<Id>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &ArchiveArgs) -> anyhow::Result<Exit> {
    let report = globals.open()?.archive(&args.ids)?;
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
