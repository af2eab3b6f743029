//! `prune`: tidies up.

use crate::error::Exit;
use crate::maintenance;
use crate::session::Globals;
use crate::ui::Ui;

/// Archive entries that are finished, expired, replaced or out of use; `restore` brings them back
///
/// These are: attempts at a task that was done 7 days ago; knowledge over 90 days old that was included in no context
/// for 30 days (for a year, if an attempt succeeded with it), as far as contexts are recorded; expired entries; entries
/// replaced 30 days ago; events over the limit. The settings `tend` and `events` change these numbers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory prune --dry-run
  ralph-memory prune && ralph-memory restore knowledge/wal-mode")]
pub(crate) struct Args {
    /// Show what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &Args) -> anyhow::Result<Exit> {
    let report = globals.open()?.prune(args.dry_run)?;
    maintenance::show(ui, &report, args.dry_run)?;
    Ok(Exit::Done)
}
