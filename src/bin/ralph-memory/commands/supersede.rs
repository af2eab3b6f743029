//! `supersede`: says that one entry replaces another.

use ralph_memory::Id;
use serde::Serialize;

use crate::error::Exit;
use crate::parse;
use crate::session::Globals;
use crate::ui::{ID, Ui};

/// Say that an entry replaces another, which is then found no more unless asked for
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory supersede knowledge/use-make knowledge/use-just")]
pub(crate) struct Args {
    /// The entry that is out of date
    #[arg(value_parser = parse::id)]
    old: Id,
    /// The knowledge entry that holds instead
    #[arg(value_parser = parse::id)]
    new: Id,
}

#[derive(Serialize)]
struct Answer<'a> {
    superseded: Superseded<'a>,
}

#[derive(Serialize)]
struct Superseded<'a> {
    old: &'a Id,
    new: &'a Id,
    changed: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &Args) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let changed = memory.supersede(&args.old, &args.new)?;
    if ui.json {
        ui.json(Answer { superseded: Superseded { old: &args.old, new: &args.new, changed } }, &[])?;
        return Ok(Exit::Done);
    }
    let (old, new) = (ui.styled(ID, args.old.as_str()), ui.styled(ID, args.new.as_str()));
    if changed {
        ui.line(format_args!("superseded {old} by {new}"))?;
    } else {
        ui.line(format_args!("unchanged: {new} replaces {old} already"))?;
    }
    Ok(Exit::Done)
}
