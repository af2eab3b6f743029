//! `consolidate`: tidies up.

use crate::error::Exit;
use crate::maintenance;
use crate::session::Globals;
use crate::ui::Ui;

/// Make one of learnings that are alike, where there are very many; the others go to the archive
///
/// Over 200 learnings (the setting `tend.learnings`), those of a category with half of their tags in common
/// become one: the newest, with the tags and every statement of the others below its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory consolidate --dry-run")]
pub(crate) struct ConsolidateArgs {
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &ConsolidateArgs) -> anyhow::Result<Exit> {
    let report = globals.open()?.consolidate(args.dry_run)?;
    maintenance::show(ui, &report, args.dry_run)?;
    Ok(Exit::Done)
}
