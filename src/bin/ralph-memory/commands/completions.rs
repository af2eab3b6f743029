//! `completions`: a script that completes commands and options in a shell.

use clap_complete::Shell;

use crate::exit::Exit;
use crate::ui::Ui;

/// How clap's script for bash begins the labels of its commands. `clap_complete` 4.6 writes the hyphen in the program's
/// name in another way than in the jumps to them, and so would complete no option of any command.
const ODD_LABEL: &str = "ralph__subcmd__memory";
/// How the jumps begin.
const LABEL: &str = "ralph__memory";

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
    let script = String::from_utf8(script)?;
    let script = if args.shell == Shell::Bash { script.replace(ODD_LABEL, LABEL) } else { script };
    ui.out.write_all(script.as_bytes())?;
    Ok(Exit::Done)
}
