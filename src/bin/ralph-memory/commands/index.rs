//! `index`: brings the search index up to date, or makes it anew.

use ralph_memory::memory::Rebuilt;
use serde::Serialize;

use crate::error::Exit;
use crate::session::Globals;
use crate::ui::Ui;

/// Bring the search index up to date; searching never needs it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory index
  ralph-memory index --rebuild")]
pub(crate) struct Args {
    /// Make it anew from the files
    #[arg(long)]
    rebuild: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    index: &'a Rebuilt,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &Args) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let index = if args.rebuild { memory.rebuild_index()? } else { memory.update_index()? };
    if ui.json {
        ui.json(Answer { index: &index }, &[])?;
    } else {
        let noun = if index.entries == 1 { "entry" } else { "entries" };
        ui.line(format_args!("the index has {} {noun}", index.entries))?;
    }
    Ok(Exit::Done)
}
