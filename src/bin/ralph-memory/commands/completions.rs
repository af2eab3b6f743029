//! `completions`: a script that completes commands in a shell.

use clap_complete::Shell;

use crate::exit::Exit;
use crate::ui::Ui;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory completions bash \\
    > ~/.local/share/bash-completion/completions/ralph-memory
  ralph-memory completions fish > ~/.config/fish/completions/ralph-memory.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(ui: &mut Ui<'_>, args: &CompletionsArgs, mut program: clap::Command) -> anyhow::Result<Exit> {
    // `generate` panics when it cannot write, so it does not get the output itself.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "ralph-memory", &mut script);
    ui.out.write_all(&script)?;
    Ok(Exit::Done)
}
