//! `consolidate`: merges similar learnings.

use crate::exit::Exit;
use crate::maintenance;
use crate::session::Globals;
use crate::ui::Ui;

/// Merge similar learnings, if there are very many; the merged ones go to the archive
///
/// If there are over 200 learnings (the setting `maintenance.learnings`), those of a category that share half of their tags
/// are merged into the newest one. It gets their tags and, below its own text, each of their statements.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory consolidate --dry-run")]
pub(crate) struct ConsolidateArgs {
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &ConsolidateArgs) -> anyhow::Result<Exit> {
    let report = globals.open()?.consolidate(args.dry_run)?;
    maintenance::show(ui, &report, args.dry_run)?;
    Ok(Exit::Done)
}
