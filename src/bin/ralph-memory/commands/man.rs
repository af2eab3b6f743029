//! `man`: the man pages, for packages.
//!
//! This module knows the commands as clap does, and nothing about memories. The pages are generated from the help
//! alone, so they agree with it.

use std::io;
use std::path::PathBuf;

use clap_mangen::Man;
use ralph_memory::memory::write_file;

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
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let mut pages = vec![("ralph-memory.1".to_owned(), program_page(&program)?)];
    for command in program.get_subcommands() {
        add_pages(command, &mut pages)?;
    }
    for (name, page) in pages {
        write_file(&args.folder.join(name), &page)?;
    }
    Ok(Exit::Done)
}

/// Adds the pages of a command and of those below it, each with the name of its file.
fn add_pages(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    if command.is_hide_set() {
        return Ok(());
    }
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    pages.push((man.get_filename(), page));
    command.get_subcommands().try_for_each(|below| add_pages(below, pages))
}

/// Returns the page of the program, which lists the commands in groups as the help does.
fn program_page(program: &clap::Command) -> io::Result<Vec<u8>> {
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
