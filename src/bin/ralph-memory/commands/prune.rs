//! `prune`: tidies up.

use crate::error::Exit;
use crate::maintenance;
use crate::session::Globals;
use crate::ui::Ui;

/// Move to the archive what is over, one too many or without use; `restore` brings it back
///
/// These are: attempts at a task that has been done for 7 days; knowledge over 90 days old that stood in no
/// context for 30 days (a year where an attempt succeeded with it), as far as contexts are recorded; what has expired, and what another entry has
/// replaced for 30 days; events beyond the caps. The settings under `tend` and `events` say how many.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory prune --dry-run
  ralph-memory prune && ralph-memory restore knowledge/wal-mode")]
pub(crate) struct PruneArgs {
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &PruneArgs) -> anyhow::Result<Exit> {
    let report = globals.open()?.prune(args.dry_run)?;
    maintenance::show(ui, &report, args.dry_run)?;
    Ok(Exit::Done)
}
