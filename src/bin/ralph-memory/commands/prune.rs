//! `prune`: archives entries that are finished, expired or unused.

use crate::exit::Exit;
use crate::maintenance;
use crate::session::Globals;
use crate::ui::Ui;

/// Archive what is finished, over the limit or unused; `restore` brings it back
///
/// Archived are: attempts at a task that was done 7 days ago or earlier; knowledge over 90 days old that was included
/// in no context for 30 days (for a year if an attempt succeeded with it), as far back as contexts are recorded;
/// entries that have expired; entries that were superseded 30 days ago; and events over the limits. The settings under
/// `maintenance` and `events` change the numbers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory prune --dry-run
  ralph-memory prune && ralph-memory restore knowledge/wal-mode")]
pub(crate) struct PruneArgs {
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &PruneArgs) -> anyhow::Result<Exit> {
    let report = globals.open()?.prune(args.dry_run)?;
    maintenance::show(ui, &report, args.dry_run)?;
    Ok(Exit::Done)
}
