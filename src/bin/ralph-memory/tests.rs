//! The reference of commands in the book, which is generated from the help.
//!
//! This module knows clap's model of the commands and a little markdown. A test compares
//! `docs/src/reference/commands.md` with the generated page, so every command and option is in both the help and the
//! book.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};

use crate::cli::Cli;

/// The page, relative to the root of the repository.
const PAGE: &str = "docs/src/reference/commands.md";
/// The heading between the explanation of a command and its examples.
const EXAMPLES: &str = "Examples:\n";

/// Returns the page: the program, then each command.
fn page() -> String {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut page = "# Commands\n\nThis page is generated from the help of the program.\n\n".to_owned();
    let commands: Vec<Command> = program.get_subcommands().cloned().collect();
    page.push_str("| command | |\n|---|---|\n");
    for command in &commands {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(page, "| [`{0}`](#{0}) | {1} |", command.get_name(), prose(&about).replace('|', "\\|"));
    }
    let _ = write!(page, "\n```text\nralph-memory [OPTIONS] <COMMAND>\n```\n\n## Global options\n\n");
    let globals: Vec<&Arg> = program.get_arguments().filter(|arg| arg.is_global_set()).collect();
    arguments(&mut page, &globals);
    page.push_str(&after_help(&program));
    for command in commands {
        section(&mut page, command);
    }
    page
}

/// Writes the section of a command.
fn section(page: &mut String, mut command: Command) {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let about = about.split("\n\n").map(prose).collect::<Vec<_>>().join("\n\n");
    let _ = write!(page, "\n## {}\n\n{about}\n\n```text\n{usage}\n```\n\n", command.get_name());
    let aliases: Vec<String> = command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        let _ = write!(page, "Alias: {}\n\n", aliases.join(", "));
    }
    let own = |arg: &&Arg| !arg.is_global_set() && !["help", "version"].contains(&arg.get_id().as_str());
    let own: Vec<&Arg> = command.get_arguments().filter(own).collect();
    arguments(page, &own);
    page.push_str(&after_help(&command));
}

/// Writes a list of arguments and options, without the hidden ones.
fn arguments(page: &mut String, list: &[&Arg]) {
    for arg in list.iter().filter(|arg| !arg.is_hide_set()) {
        let mut name = arg.to_string();
        if let Some(short) = arg.get_short().filter(|_| arg.get_long().is_some()) {
            name = format!("-{short}`, `{name}");
        }
        let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
        let _ = write!(page, "- `{name}`: {}", prose(&help));
        let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !defaults.is_empty() && !arg.is_hide_default_value_set() && arg.get_action().takes_values() {
            let _ = write!(page, " [default: `{}`]", defaults.join(" "));
        }
        let values = if arg.get_action().takes_values() { arg.get_possible_values() } else { Vec::new() };
        let (explained, plain): (Vec<_>, Vec<_>) = values.iter().partition(|value| value.get_help().is_some());
        if !plain.is_empty() {
            let names: Vec<String> = plain.iter().map(|value| format!("`{}`", value.get_name())).collect();
            let _ = write!(page, " [possible values: {}]", names.join(", "));
        }
        page.push('\n');
        for value in explained {
            let help = value.get_help().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "  - `{}`: {}", value.get_name(), prose(&help));
        }
    }
    if !list.is_empty() {
        page.push('\n');
    }
}

/// Returns the help below the options: prose, and examples as a block for a shell. Indented lines stay unchanged.
fn after_help(command: &Command) -> String {
    let text = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string).unwrap_or_default();
    let (explained, examples) = text.split_once(EXAMPLES).unwrap_or((&text, ""));
    let (examples, more) = examples.split_once("\n\n").unwrap_or((examples, ""));
    let mut page = String::new();
    for paragraph in explained.split("\n\n").chain(more.split("\n\n")).filter(|paragraph| !paragraph.trim().is_empty())
    {
        let (first, table) = paragraph.split_once("\n  ").unwrap_or((paragraph, ""));
        let _ = write!(page, "{}\n\n", prose(first.trim()));
        if !table.is_empty() {
            let _ = write!(page, "```text\n  {}\n```\n\n", table.trim_end());
        }
    }
    if !examples.is_empty() {
        let lines: Vec<&str> =
            examples.trim_end().lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
        let _ = write!(page, "```sh\n{}\n```\n\n", lines.join("\n"));
    }
    format!("{}\n", page.trim_end())
}

/// Returns text of the help as one line of markdown. Anything that looks like an HTML element or emphasis is escaped
/// outside of code.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        is_code ^= character == '`';
        if !is_code && matches!(character, '<' | '*' | '_') {
            escaped.push('\\');
        }
        escaped.push(if character == '\n' { ' ' } else { character });
    }
    escaped
}

#[test]
fn the_reference_of_commands_matches_the_help() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "{PAGE} is out of date: run `UPDATE_DOCS=1 cargo test --bin ralph-memory reference`");
}
