//! `supersede`: marks an entry as replaced by another.

use ralph_memory::{Id, Source};
use serde::Serialize;

use crate::exit::Exit;
use crate::parse;
use crate::session::{Globals, writer};
use crate::ui::{ID, Ui};

/// Replace an entry by another; searches then leave the old one out
///
/// Where an agent wrote NEW and a person wrote OLD, this confirms what the agent suggests, and NEW becomes an entry of a
/// person. Run by a coding agent, it is such a suggestion.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory supersede knowledge/use-make knowledge/use-just")]
pub(crate) struct SupersedeArgs {
    /// The entry that is out of date
    #[arg(value_parser = parse::id)]
    old: Id,
    /// The knowledge entry that replaces it
    #[arg(value_parser = parse::id)]
    new: Id,
}

#[derive(Serialize)]
struct SupersedeAnswer<'a> {
    action: &'static str,
    /// The current entry.
    id: &'a Id,
    /// The entry that it replaces.
    replaced: &'a Id,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &SupersedeArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let done = match writer(None) {
        Source::Human => memory.supersede(&args.old, &args.new),
        _ => memory.suggest_superseding(&args.old, &args.new),
    }?;
    let changed = done.changed;
    if ui.json {
        let action = match (changed, done.suggested) {
            (false, _) => "unchanged",
            (true, true) => "suggested",
            (true, false) => "superseded",
        };
        ui.json(SupersedeAnswer { action, id: &done.id, replaced: &done.replaced }, &done.problems)?;
        return Ok(Exit::Done);
    }
    let (old, new) = (ui.styled(ID, done.replaced.as_str()), ui.styled(ID, done.id.as_str()));
    if done.suggested {
        ui.line(format_args!("suggested that {new} replaces {old}, which stays until a person confirms it"))?;
    } else if changed {
        ui.line(format_args!("superseded {old} by {new}"))?;
    } else {
        ui.line(format_args!("unchanged: {new} replaces {old} already"))?;
    }
    ui.problems(&done.problems);
    Ok(Exit::Done)
}
