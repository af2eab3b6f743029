//! The commands, and how each of them runs.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write};

use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use ralph_memory::settings;
use ralph_memory::text::for_terminal;

#[cfg(feature = "page")]
use crate::commands::serve;
use crate::commands::{
    add, archive, check, completions, context, edit, hook, import, index, init, list, log, man, mcp, overview, record,
    restore, run as run_command, search, setup, show, stats, tidy, undo, watch,
};
use crate::error::{self, ErrorReport, NoAnswer};
use crate::exit::Exit;
use crate::session::Globals;
use crate::ui::Ui;

const AFTER_HELP: &str = "\
Answers go to standard output, everything else to standard error. With --json
the answer is one object with schema_version 1; if a command fails, it has
error: {message, causes, hint, exit_code}.

Commands: ralph-memory help COMMAND explains one. Other programs call mcp, hook,
index, watch and man.

Settings: ralph-memory help settings lists them all. Your own are in the file that
RALPH_MEMORY_CONFIG names, else in ralph-memory/config.toml below XDG_CONFIG_HOME
or ~/.config; the project's override yours, and variables such as
RALPH_MEMORY_SEARCH__LIMIT override both.

Exit codes:
  0    done; also an empty list
  1    the answer is no: nothing was found, check found something, run ended before the task was done
  2    wrong usage: an argument, a value or a setting
  3    no memory here; ralph-memory init creates one
  4    refused: a conflict, a secret, a newer format, a file that cannot be edited safely
  5    another process kept its lock
  6    the file system refused (full, read-only, no permission), or git or the index failed
  7    `record --exit-code`: the attempt could not be recorded
  70   a bug
  130  interrupted";

/// The memory of a coding-agent loop: what was tried and learned, as markdown files in the project
#[derive(Debug, Parser)]
#[command(name = "ralph-memory", version, disable_help_subcommand = true, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The commands, in the order of the help.
#[derive(Debug, Subcommand)]
enum Command {
    Init(init::InitArgs),
    Setup(setup::SetupArgs),
    Import(import::ImportArgs),
    Search(search::SearchArgs),
    Show(show::ShowArgs),
    List(list::ListArgs),
    Log(log::LogArgs),
    Stats(stats::StatsArgs),
    #[cfg(feature = "page")]
    Serve(serve::ServeArgs),
    Add(add::AddArgs),
    Edit(edit::EditArgs),
    Archive(archive::ArchiveArgs),
    Restore(restore::RestoreArgs),
    Undo(undo::UndoArgs),
    Context(context::ContextArgs),
    Record(record::RecordArgs),
    Run(run_command::RunArgs),
    Check(check::CheckArgs),
    Tidy(tidy::TidyArgs),
    Completions(completions::CompletionsArgs),
    /// Explain a command or the settings, or list all commands
    Help {
        /// A command, or `settings`
        topic: Option<String>,
    },
    #[command(hide = true)]
    Mcp(mcp::McpArgs),
    #[command(hide = true)]
    Hook(hook::HookArgs),
    #[command(hide = true)]
    Index(index::IndexArgs),
    #[command(hide = true)]
    Watch(watch::WatchArgs),
    #[command(hide = true)]
    Man(man::ManArgs),
}

/// Words that people bring from other tools, and the command that each of them runs.
const WORDS: [(&str, &[&str]); 14] = [
    ("setup", &["install", "connect"]),
    ("search", &["find", "grep", "query", "recall", "lookup", "ask"]),
    ("show", &["get", "cat", "view", "read", "info", "inspect"]),
    ("list", &["ls", "entries", "knowledge"]),
    ("log", &["history", "journal", "attempts"]),
    ("stats", &["metrics", "usage", "cost"]),
    ("add", &["new", "create", "remember", "learn", "save", "store", "put", "note"]),
    ("edit", &["modify", "change", "set", "rename", "mv", "move"]),
    ("archive", &["rm", "remove", "delete", "del", "forget", "drop"]),
    ("restore", &["unarchive", "recover", "undelete"]),
    ("undo", &["revert", "rollback"]),
    ("context", &["prime", "brief", "briefing", "prompt"]),
    ("check", &["doctor", "lint", "validate", "verify", "fsck", "audit"]),
    ("tidy", &["prune", "consolidate", "gc", "clean", "compact"]),
];

/// Returns the command line with the words of other tools as hidden aliases.
pub(crate) fn program() -> clap::Command {
    let aliased = |program: clap::Command, (command, words): (&'static str, &'static [&'static str])| {
        program.mut_subcommand(command, |command| command.aliases(words))
    };
    WORDS.into_iter().fold(Cli::command(), aliased)
}

/// Runs the program with these arguments.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let arguments: Vec<OsString> = arguments.collect();
    let parsed = program().try_get_matches_from(&arguments).and_then(|found| Cli::from_arg_matches(&found));
    let color = parsed.as_ref().map_or(ColorChoice::Auto, |cli| cli.globals.color());
    let mut ui = Ui {
        out,
        err,
        json: false,
        own: false,
        quiet: parsed.as_ref().is_ok_and(|cli| cli.globals.is_quiet()),
        out_colour: is_coloured(color, std::io::stdout().is_terminal()),
        err_colour: is_coloured(color, std::io::stderr().is_terminal()),
    };
    let result = match parsed {
        Ok(cli) => {
            let is_hook = matches!(cli.command, Some(Command::Hook(_)));
            ui.json = cli.globals.is_json() && !is_hook;
            let result = cli.globals.enter_folder().and_then(|()| dispatch(&mut ui, cli));
            if is_hook {
                // Its client may have gone away, or may not read.
                let _ = ui.out.flush();
                return Exit::Done;
            }
            result
        }
        Err(error) => return refuse(&mut ui, &error, &arguments),
    };
    let result = result.and_then(|exit| Ok(ui.out.flush().map(|()| exit)?));
    result.unwrap_or_else(|error| fail(&mut ui, &error))
}

/// Shows an error, and returns the exit code. A reader that has gone away is not an error.
fn fail(ui: &mut Ui<'_>, error: &anyhow::Error) -> Exit {
    let exit = error::exit(error);
    if exit != Exit::Done {
        // If the answer could not be written, this cannot be written either.
        let _ = ui.error(&error::report(error)).and_then(|()| ui.out.flush());
        let error = error.downcast_ref().map_or(error, |NoAnswer(error)| error);
        if let Some(ralph_memory::Error::NotKept { text, .. }) = error.downcast_ref() {
            ui.warn(text);
        }
    }
    exit
}

fn dispatch(ui: &mut Ui<'_>, cli: Cli) -> anyhow::Result<Exit> {
    let globals = &cli.globals;
    globals.tell_own(ui);
    let Some(command) = cli.command else { return overview::run(ui, globals) };
    match command {
        Command::Init(args) => init::run(ui, globals, &args),
        Command::Setup(args) => setup::run(ui, globals, &args),
        Command::Add(args) => add::run(ui, globals, args),
        Command::Search(args) => search::run(ui, globals, args),
        Command::Show(args) => show::run(ui, globals, &args),
        Command::Check(args) => check::run(ui, globals, &args),
        Command::Tidy(args) => tidy::run(ui, globals, &args),
        Command::Undo(args) => undo::run(ui, globals, &args),
        Command::Edit(args) => edit::run(ui, globals, args),
        Command::Archive(args) => archive::run(ui, globals, args),
        Command::Restore(args) => restore::run(ui, globals, args),
        Command::List(args) => list::run(ui, globals, args),
        Command::Log(args) => log::run(ui, globals, &args),
        Command::Stats(args) => stats::run(ui, globals, &args),
        Command::Context(args) => context::run(ui, globals, args),
        Command::Run(args) => run_command::run(ui, globals, &args),
        Command::Record(args) => record::run(ui, globals, &args),
        Command::Import(args) => import::run(ui, globals, &args),
        Command::Index(args) => index::run(ui, globals, &args),
        Command::Watch(args) => watch::run(ui, globals, &args),
        #[cfg(feature = "page")]
        Command::Serve(args) => serve::run(ui, globals, &args),
        Command::Mcp(args) => mcp::run(ui, globals, &args),
        Command::Hook(args) => Ok(hook::run(ui, globals, &args)),
        Command::Help { topic } => help(ui, topic),
        Command::Completions(args) => completions::run(ui, &args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    }
}

/// Shows the settings, or the help of a command or the program.
fn help(ui: &mut Ui<'_>, topic: Option<String>) -> anyhow::Result<Exit> {
    if topic.as_deref() == Some("settings") {
        ui.text(&settings::reference())?;
        return Ok(Exit::Done);
    }
    let words = ["ralph-memory".to_owned()].into_iter().chain(topic).chain(["--help".to_owned()]);
    let words: Vec<OsString> = words.map(OsString::from).collect();
    let shown = program().try_get_matches_from(&words).err();
    Ok(shown.map_or(Exit::Done, |shown| refuse(ui, &shown, &words)))
}

/// Shows clap's message: help, the version, or why it does not understand the arguments.
fn refuse(ui: &mut Ui<'_>, error: &clap::Error, arguments: &[OsString]) -> Exit {
    let to_err = error.use_stderr();
    let message = error.render();
    let plain = message.to_string();
    // The message repeats arguments, which may come from anywhere.
    let safe = for_terminal(&plain);
    let (to, coloured) = if to_err { (&mut *ui.err, ui.err_colour) } else { (&mut *ui.out, ui.out_colour) };
    let shown = if coloured && safe == plain { write!(to, "{}", message.ansi()) } else { write!(to, "{safe}") };
    if !to_err {
        return shown.and_then(|()| to.flush()).map_or_else(|error| fail(ui, &error.into()), |()| Exit::Done);
    }
    let lenient = program().ignore_errors(true).disable_help_flag(true).try_get_matches_from(arguments);
    let named = lenient.ok().and_then(|found| found.subcommand_name().map(str::to_owned));
    // clap repeats the agent's text; it is shown once.
    if let Some(hint) = record::rescue(program(), arguments) {
        ui.note(&format!("hint: {hint}"));
    }
    // At some events, a client whose hook ends with exit code 2 drops the prompt, or lets the agent go on for ever.
    if named.as_deref() == Some("hook") {
        return Exit::Done;
    }
    if arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json") {
        // The usage below it is for people.
        let message: Vec<&str> = plain.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
        let message = message.join(" ").trim_start_matches("error: ").to_owned();
        let hint = Some("`ralph-memory help` lists the commands, and `--help` their options".to_owned());
        let report = ErrorReport { message, causes: Vec::new(), hint, exit_code: Exit::Usage as u8 };
        let _ = ui.json_error(&report).and_then(|()| ui.out.flush());
    }
    Exit::Usage
}

fn is_coloured(color: ColorChoice, is_terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            is_terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// clap takes two arguments of one id for the same one, and does not say so for global options.
    #[test]
    fn no_argument_has_the_id_of_a_global_option() {
        let program = Cli::command();
        let globals: Vec<_> =
            program.get_arguments().filter(|arg| arg.is_global_set()).map(clap::Arg::get_id).collect();
        assert!(globals.len() > 5, "{globals:?}");
        for command in program.get_subcommands() {
            let clash = command.get_arguments().find(|arg| globals.contains(&arg.get_id()));
            assert!(clash.is_none(), "{}: {clash:?}", command.get_name());
        }
    }
}
