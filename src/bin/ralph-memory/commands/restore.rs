//! `restore`: brings an archived entry back.

use ralph_memory::Id;
use ralph_memory::memory::{EntryPath, Restored};
use serde::Serialize;

use crate::exit::Exit;
use crate::parse;
use crate::session::Globals;
use crate::ui::{ID, Ui};

/// Bring back an archived entry; a live entry in its place goes to the archive
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory restore knowledge/cargo-bench-requires-nightly
  ralph-memory restore knowledge/wal-mode.20260217T120000Z")]
pub(crate) struct RestoreArgs {
    /// The archived entry; the id of a live entry, also one from before a `rename`, means its newest archived version
    #[arg(value_parser = parse::id)]
    id: Id,
}

#[derive(Serialize)]
struct RestoreAnswer<'a> {
    action: &'static str,
    id: &'a Id,
    path: &'a EntryPath,
    restored_from: &'a EntryPath,
    /// Where the version is that was live before.
    previous: Option<&'a EntryPath>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &RestoreArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let restored = memory.restore(&args.id)?;
    if ui.json {
        let Restored { id, path, from, exchanged, problems } = &restored;
        let previous = exchanged.then_some(from);
        ui.json(RestoreAnswer { action: "restored", id, path, restored_from: from, previous }, problems)?;
        return Ok(Exit::Done);
    }
    let id = ui.styled(ID, restored.id.as_str());
    ui.line(format_args!("restored {id}"))?;
    if restored.exchanged {
        ui.note(&format!("the version that was live before is now {}", restored.from));
    }
    ui.problems(&restored.problems);
    Ok(Exit::Done)
}
