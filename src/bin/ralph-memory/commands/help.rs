//! `help`: the commands, one of them, or the settings.

use clap::Command;
use ralph_memory::settings;
use ralph_memory::text::{one_line, printed_command};

use crate::error::UsageError;
use crate::exit::Exit;
use crate::groups::{self, HelpText};
use crate::suggestions;
use crate::ui::Ui;

/// The topic that is not a command.
const SETTINGS: &str = "settings";

/// Explain a command or the settings, or list all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory help --all
  ralph-memory help add
  ralph-memory help settings")]
pub(crate) struct HelpArgs {
    /// A command, or `settings`
    #[arg(value_name = "TOPIC")]
    topic: Option<String>,
    /// Say all of a command; without one, list the commands that other programs call, too
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, args: &HelpArgs, mut program: Command) -> anyhow::Result<Exit> {
    let help = match args.topic.as_deref() {
        Some(SETTINGS) => {
            ui.text(&settings::reference())?;
            return Ok(Exit::Done);
        }
        Some(topic) if args.all => {
            program.build();
            HelpText::of(&program.find_subcommand_mut(topic).ok_or_else(|| unknown(topic))?.render_long_help())
        }
        Some(topic) => of_command(&mut program, topic).ok_or_else(|| unknown(topic))?,
        None => groups::grouped(&program.render_help(), args.all),
    };
    show(ui, &help)?;
    Ok(Exit::Done)
}

fn show(ui: &mut Ui<'_>, help: &HelpText) -> std::io::Result<()> {
    let text = if ui.out_colour { &help.styled } else { &help.plain };
    write!(ui.out, "{text}")
}

/// The most lines of help, on a terminal of [`COLUMNS`] columns.
const MAX_LINES: usize = 40;
const COLUMNS: usize = 100;

/// Returns the help of a command on one screen: its own options in a compact list, and the global ones in a line. Where all
/// of it has more lines, explanations are shortened; `None` if there is no such command.
pub(crate) fn of_command(program: &mut Command, name: &str) -> Option<HelpText> {
    program.build();
    let command = program.find_subcommand(name)?;
    let globals: Vec<String> = program
        .get_arguments()
        .filter(|argument| argument.is_global_set() && !argument.is_hide_set())
        .filter_map(|argument| {
            let short = argument.get_short().map(|short| format!("-{short}"));
            argument.get_long().map(|long| format!("--{long}")).or(short)
        })
        .collect();
    let globals = format!("Global options (see `ralph-memory --help`): {}", globals.join(", "));
    let fits =
        |command: &Command| command.clone().term_width(COLUMNS).render_help().to_string().lines().count() <= MAX_LINES;
    let mut levels = [Detail::All, Detail::Examples, Detail::FirstWords, Detail::Options]
        .map(|detail| compact(command, detail, &globals));
    let at = levels.iter().position(fits).unwrap_or(levels.len() - 1);
    Some(HelpText::of(&levels[at].render_help()))
}

/// How much the help of a command says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    All,
    /// Of the explanations around the options, the first line and the examples.
    Examples,
    /// Of each option, too, the first words.
    FirstWords,
    /// No examples either.
    Options,
}

/// Returns a command whose short help says so much.
fn compact(command: &Command, detail: Detail, globals: &str) -> Command {
    let below = command.get_after_help().map(|text| text.ansi().to_string()).unwrap_or_default();
    let (about, below) = if detail == Detail::All {
        (command.get_long_about().or(command.get_about()), below)
    } else {
        let examples = below.find("Examples:\n").map(|at| &below[at..]).unwrap_or_default();
        let examples = examples.split("\n\n").next().filter(|_| detail != Detail::Options).unwrap_or_default();
        let all = printed_command("ralph-memory help COMMAND --all", &[("COMMAND", command.get_name())]);
        let more = format!("{all} says more.");
        (command.get_about(), [examples, &more].join("\n\n").trim_start().to_owned())
    };
    let about = about.cloned().unwrap_or_default();
    let below = [below.trim_end(), globals].join("\n\n");
    command.clone().about(about).after_help(below.trim_start().to_owned()).mut_args(|argument| {
        let is_hidden = argument.is_hide_set() || argument.is_global_set() || argument.get_id() == "help";
        let argument = argument.hide(is_hidden);
        if matches!(detail, Detail::All | Detail::Examples) {
            return argument;
        }
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        argument.help(first_words(&help).to_owned()).hide_possible_values(true)
    })
}

/// Returns the beginning of an explanation, up to what adds to it.
fn first_words(help: &str) -> &str {
    let end = [";", ":", " [", " (", ", ", ". "].into_iter().filter_map(|mark| help.find(mark)).min();
    &help[..end.unwrap_or(help.len())]
}

fn unknown(topic: &str) -> UsageError {
    let instead = suggestions::command(topic).map(|instead| format!("type `{instead}`"));
    let hint = instead.unwrap_or_else(|| "`ralph-memory help --all` lists the commands".to_owned());
    UsageError::new(format!("there is no command `{}`", one_line(topic)), hint)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn help_of_every_command_fits_a_screen() {
        let mut program = Cli::command().term_width(COLUMNS);
        program.build();
        let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        let mut long = Vec::new();
        for name in names {
            let help = of_command(&mut program, &name).unwrap().plain;
            let n_lines = help.lines().count();
            if n_lines > MAX_LINES {
                long.push(format!("{name}: {n_lines} lines"));
            }
            let globals = help.lines().filter(|line| line.starts_with("Global options (see")).count();
            assert_eq!(globals, 1, "{help}");
        }
        assert_eq!(long, [""; 0]);
    }
}
