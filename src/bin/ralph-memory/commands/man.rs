//! `man`: the man pages, for packages.
//!
//! This module knows the commands as clap does, and nothing of memories. The pages are generated from the help alone,
//! so the two agree.

use std::fs;
use std::path::PathBuf;

use crate::exit::Exit;

/// Write the man pages into a folder: one for the program, and one for each command
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory man /usr/local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder, which is created if it is missing
    folder: PathBuf,
}

pub(crate) fn run(args: &ManArgs, program: clap::Command) -> anyhow::Result<Exit> {
    let cannot_write = |source| ralph_memory::Error::Io { action: "write", path: args.folder.clone(), source };
    fs::create_dir_all(&args.folder).map_err(cannot_write)?;
    clap_mangen::generate_to(program, &args.folder).map_err(cannot_write)?;
    Ok(Exit::Done)
}
