//! `rename`: gives an entry another title.

use ralph_memory::Id;
use ralph_memory::memory::Renamed;
use serde::Serialize;

use crate::exit::Exit;
use crate::parse;
use crate::session::Globals;
use crate::ui::{ID, Ui, count};

/// Give an entry another title and file name; links follow
///
/// Links in other entries, `[[id]]` and `[[Title]]`, and ids in `supersedes` are changed. Archived versions are renamed,
/// too. The entry keeps its old names in `aliases`, so its history stays, and links of other branches still find it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory rename knowledge/cache \"Compiler cache\"")]
pub(crate) struct RenameArgs {
    /// The knowledge entry
    #[arg(value_parser = parse::id)]
    id: Id,
    /// Its new title
    title: String,
}

#[derive(Serialize)]
struct RenameAnswer<'a> {
    action: &'static str,
    #[serde(flatten)]
    renamed: &'a Renamed,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &RenameArgs) -> anyhow::Result<Exit> {
    let renamed = globals.open()?.rename(&args.id, &args.title)?;
    let action = if renamed.changed { "renamed" } else { "unchanged" };
    if ui.json {
        ui.json(RenameAnswer { action, renamed: &renamed }, &renamed.problems)?;
        return Ok(Exit::Done);
    }
    let (from, id) = (ui.styled(ID, renamed.from.as_str()), ui.styled(ID, renamed.id.as_str()));
    if !renamed.changed {
        ui.line(format_args!("unchanged: {id} has this title already"))?;
    } else if renamed.from == renamed.id {
        ui.line(format_args!("renamed {id}"))?;
    } else {
        ui.line(format_args!("renamed {from} to {id}"))?;
    }
    if renamed.links > 0 {
        let ids: Vec<&str> = renamed.linking.iter().map(Id::as_str).collect();
        ui.note(&format!("changed {} in {}", count(renamed.links, "link"), ids.join(", ")));
    }
    ui.problems(&renamed.problems);
    Ok(Exit::Done)
}
