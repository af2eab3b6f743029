//! `completions`: a script that completes commands in a shell.
//!
//! clap writes a script for commands and options. For bash, fish and zsh this module adds calls of `complete`, which knows
//! ids, tags, features, tasks and runs. The program is always that of `PATH`: the one on the command line may come from a
//! clone, and nobody has pressed Enter yet.

use std::fmt::Write as _;

use clap_complete::Shell;

use crate::commands::complete::Named;
use crate::exit::Exit;
use crate::ui::Ui;

/// How clap's script for bash begins the labels of its commands. `clap_complete` 4.6 writes the hyphen in the program's
/// name in another way than in the jumps to them, and so would complete no option of any command.
const ODD_LABEL: &str = "ralph__subcmd__memory";
/// How the jumps begin.
const LABEL: &str = "ralph__memory";

/// Asks the program first, and clap's function if it knows nothing.
const BASH: &str = r#"
_ralph_memory_candidates() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <(command ralph-memory complete --shell bash -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    if [ "${#COMPREPLY[@]}" -eq 0 ]; then
        _ralph__memory "$@"
    fi
}

complete -F _ralph_memory_candidates -o nosort -o bashdefault -o default ralph-memory 2>/dev/null ||
    complete -F _ralph_memory_candidates -o bashdefault -o default ralph-memory
"#;

/// How clap's function for zsh begins.
const ZSH_FUNCTION: &str = "_ralph-memory() {\n";

/// Does the same for zsh.
const ZSH: &str = r#"_ralph-memory_candidates() {
    local line
    local -a values shown
    while IFS= read -r line; do
        values+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done < <(command ralph-memory complete --shell zsh -- "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)
    (( $#values )) && compadd -l -d shown -a values
}

_ralph-memory() {
    _ralph-memory_candidates && return 0
"#;

/// fish has a condition for each command, and completes the value of an option without the option's name.
const FISH: &str = "
function __ralph_memory_candidates
    command ralph-memory complete --shell fish -- (commandline -cp) 2>/dev/null | string replace -r '^--[a-z-]+=' ''
end

";

/// Print a completion script for a shell
///
/// In bash, fish and zsh it also completes ids, tags, features, tasks and runs from the memory.
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
    let mut script = String::from_utf8(script)?;
    match args.shell {
        Shell::Bash => script = script.replace(ODD_LABEL, LABEL) + BASH,
        Shell::Zsh => script = script.replacen(ZSH_FUNCTION, ZSH, 1),
        Shell::Fish => script.push_str(&fish(&program)),
        _ => {}
    }
    ui.out.write_all(script.as_bytes())?;
    Ok(Exit::Done)
}

/// Returns a line for each argument of a command that names something in the memory.
fn fish(program: &clap::Command) -> String {
    let mut script = FISH.to_owned();
    for command in program.get_subcommands() {
        let names = [command.get_name()].into_iter().chain(command.get_visible_aliases()).collect::<Vec<_>>().join(" ");
        let line = format!("complete -c ralph-memory -n \"__fish_ralph_memory_using_subcommand {names}\"");
        let mut has_positional = false;
        for argument in command.get_arguments() {
            if Named::by(command.get_name(), argument.get_id().as_str()).is_none() {
                continue;
            }
            if let Some(long) = argument.get_long() {
                let _ = writeln!(script, "{line} -l {long} -x -a \"(__ralph_memory_candidates)\"");
            } else if !std::mem::replace(&mut has_positional, true) {
                let _ = writeln!(script, "{line} -f -a \"(__ralph_memory_candidates)\"");
            }
        }
    }
    script
}
