//! `man`: the man pages, for packages. They are generated from the help alone, so they agree with it.

use std::path::PathBuf;

use clap_mangen::Man;
use ralph_memory::memory::write_file;

use crate::exit::Exit;

/// Write the man pages into a folder: one for the program, and one for each command
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The folder, which is created if it is missing
    folder: PathBuf,
}

pub(crate) fn run(args: &ManArgs, mut program: clap::Command) -> anyhow::Result<Exit> {
    program.build();
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    for command in [&program].into_iter().chain(shown) {
        let man = Man::new(command.clone());
        let mut page = Vec::new();
        man.render(&mut page)?;
        // `generate_to` of clap_mangen would follow a link of a clone.
        write_file(&args.folder.join(man.get_filename()), &page)?;
    }
    Ok(Exit::Done)
}
