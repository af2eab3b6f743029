//! `promote`: changes the scope of an entry.

use ralph_memory::memory::{EntryPath, Promoted};
use ralph_memory::text::for_terminal;
use ralph_memory::{Id, Scope};
use serde::Serialize;

use crate::exit::Exit;
use crate::parse;
use crate::session::Globals;
use crate::ui::{ID, Ui};

/// Change the scope of an entry, for example from one task to the whole project
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory promote knowledge/wal-mode project
  ralph-memory promote 2026-02-17-no-tests-for-the-empty-file section:storage")]
pub(crate) struct PromoteArgs {
    /// The knowledge entry
    #[arg(value_parser = parse::id)]
    id: Id,
    /// `project`, `feature:NAME`, `section:ID` or `task:ID`
    #[arg(value_parser = parse::scope)]
    scope: Scope,
}

#[derive(Serialize)]
struct PromoteAnswer<'a> {
    action: &'static str,
    id: &'a Id,
    path: &'a EntryPath,
    scope: &'a Scope,
    previous_scope: &'a Scope,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &PromoteArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let promoted = memory.promote(&args.id, &args.scope)?;
    if ui.json {
        let Promoted { id, path, from, to, changed, problems } = &promoted;
        let action = if *changed { "promoted" } else { "unchanged" };
        ui.json(PromoteAnswer { action, id, path, scope: to, previous_scope: from }, problems)?;
        return Ok(Exit::Done);
    }
    let id = ui.styled(ID, promoted.id.as_str());
    let (from, to) = (for_terminal(&promoted.from.to_string()), for_terminal(&promoted.to.to_string()));
    if promoted.changed {
        ui.line(format_args!("promoted {id} from {from} to {to}"))?;
    } else {
        ui.line(format_args!("unchanged: {id} concerns {to} already"))?;
    }
    ui.problems(&promoted.problems);
    Ok(Exit::Done)
}
