//! The commands by what they are for, in the help and in the man page.
//!
//! clap lists all commands under one heading. This module knows the form of that list, and divides it.

use std::collections::HashMap;

use console::strip_ansi_codes;

/// The heading of clap's list.
const HEADING: &str = "Commands:";

/// The groups, in the order of the help, with their commands.
pub(crate) const GROUPS: [(&str, &[&str]); 7] = [
    ("Set up", &["init", "setup", "import", "export"]),
    ("Find and read", &["search", "show", "list", "context"]),
    ("Write and edit", &["add", "note", "edit", "rename", "supersede", "promote", "archive", "restore", "undo"]),
    ("See what happened", &["log", "stats", "serve"]),
    ("Run agents", &["run", "record", "mcp", "hook"]),
    ("Maintain", &["check", "tidy", "index", "watch", "merge-driver"]),
    ("More", &["completions", "man", "help"]),
];

/// Returns clap's help of the program with its list of commands in groups. Help of a command has no such list, and stays
/// as it is.
pub(crate) fn grouped(help: &str) -> String {
    let mut lines = help.split_inclusive('\n');
    let is_heading = |line: &&str| strip_ansi_codes(line).trim_end() == HEADING;
    let before: String = lines.by_ref().take_while(|line| !is_heading(line)).collect();
    let Some(heading) = help[before.len()..].split_inclusive('\n').next() else { return before };
    let list = lines.by_ref().take_while(|line| !line.trim().is_empty());
    let (mut commands, mut name) = (HashMap::<String, String>::new(), String::new());
    for line in list {
        let plain = strip_ansi_codes(line);
        // The rest of an explanation stands further right.
        if let Some(named) = plain.strip_prefix("  ").filter(|text| !text.starts_with(' ')) {
            named.split_whitespace().next().unwrap_or_default().clone_into(&mut name);
        }
        commands.entry(name.clone()).or_default().push_str(line);
    }
    let mut text = before;
    for (title, members) in GROUPS {
        let members: String = members.iter().filter_map(|member| commands.remove(*member)).collect();
        if !members.is_empty() {
            text.push_str(&heading.replace(HEADING, &format!("{title}:")));
            text.push_str(&members);
            text.push('\n');
        }
    }
    text.extend(lines);
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_visible_command_is_in_one_group() {
        let mut program = Cli::command();
        program.build();
        let mut visible: Vec<&str> =
            program.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        visible.sort_unstable();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, members)| members.iter().copied()).collect();
        grouped.retain(|command| cfg!(feature = "page") || *command != "serve");
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
    }

    #[test]
    fn groups_keep_every_line_of_the_help() {
        for width in [40, 80, 200] {
            let help = Cli::command().term_width(width).render_help();
            for help in [help.to_string(), help.ansi().to_string()] {
                let grouped = grouped(&help);
                let mut lines: Vec<String> = grouped.lines().map(|line| strip_ansi_codes(line).into_owned()).collect();
                for (title, _) in GROUPS {
                    let heading = format!("{title}:");
                    assert_eq!(lines.iter().filter(|line| **line == heading).count(), 1, "{heading} {grouped}");
                    lines.retain(|line| *line != heading);
                }
                let mut expected: Vec<String> = help.lines().map(|line| strip_ansi_codes(line).into_owned()).collect();
                expected.retain(|line| line != HEADING);
                // Each group ends in an empty line.
                for lines in [&mut lines, &mut expected] {
                    lines.retain(|line| !line.trim().is_empty());
                    lines.sort_unstable();
                }
                assert_eq!(lines, expected);
            }
        }
    }

    #[test]
    fn other_help_stays_as_it_is() {
        let help = Cli::command().find_subcommand_mut("list").unwrap().render_help().to_string();
        assert_eq!(grouped(&help), help);
        assert_eq!(grouped(""), "");
    }
}
