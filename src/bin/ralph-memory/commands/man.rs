//! `man`: the man pages, for packages.
//!
//! This module knows the commands as clap does, and nothing of memories. The pages are generated from the help alone,
//! so the two agree.

use std::path::PathBuf;
use std::{fs, io};

use clap_mangen::Man;

use crate::exit::Exit;
use crate::groups::GROUPS;

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
    clap_mangen::generate_to(program.clone(), &args.folder).map_err(cannot_write)?;
    let page = program_page(program).map_err(cannot_write)?;
    fs::write(args.folder.join("ralph-memory.1"), page).map_err(cannot_write)?;
    Ok(Exit::Done)
}

/// Returns the page of the program, which lists the commands in groups as the help does.
fn program_page(program: clap::Command) -> io::Result<Vec<u8>> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let man = Man::new(program.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for (title, members) in GROUPS {
        let members = members.iter().filter_map(|member| program.find_subcommand(member));
        let group = clap::Command::default().name("ralph-memory").subcommand_help_heading(title);
        Man::new(group.subcommands(members).disable_help_subcommand(true)).render_subcommands_section(&mut page)?;
    }
    man.render_extra_section(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}
