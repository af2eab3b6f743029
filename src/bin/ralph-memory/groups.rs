//! Groups the commands by purpose, in the help and in the man page.
//!
//! clap lists all commands under one heading. This module knows the form of that list, and splits it.

use std::collections::HashMap;

use clap::builder::StyledStr;
use console::strip_ansi_codes;

/// The heading of clap's list.
const HEADING: &str = "Commands:";

/// The groups, in the order of the help, with their commands.
pub(crate) const GROUPS: [(&str, &[&str]); 6] = [
    ("Set up", &["init", "setup", "import"]),
    ("Find", &["search", "show", "list", "log", "stats", "serve"]),
    ("Write", &["add", "edit", "archive", "restore", "undo"]),
    ("Agents", &["context", "record", "run"]),
    ("Care", &["check", "tidy"]),
    PLUMBING,
];
/// What other programs call, which only `help --all` lists.
const PLUMBING: (&str, &[&str]) =
    ("Plumbing", &["mcp", "hook", "index", "watch", "merge-driver", "completions", "man"]);

/// Help, plain and with colours.
pub(crate) struct HelpText {
    pub(crate) plain: String,
    pub(crate) styled: String,
}

impl HelpText {
    /// Takes what clap has rendered.
    pub(crate) fn of(rendered: &StyledStr) -> HelpText {
        HelpText { plain: rendered.to_string(), styled: rendered.ansi().to_string() }
    }
}

/// Returns clap's help of the program with its list of commands in groups, those of [`PLUMBING`] only with `all`.
pub(crate) fn grouped(help: &StyledStr, all: bool) -> HelpText {
    let HelpText { plain, styled } = HelpText::of(help);
    HelpText { plain: grouped_text(&plain, all), styled: grouped_text(&styled, all) }
}

fn grouped_text(help: &str, all: bool) -> String {
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
    for (title, members) in GROUPS.into_iter().filter(|group| all || *group != PLUMBING) {
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
        let visible = program.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
        let mut visible: Vec<&str> = visible.collect();
        visible.sort_unstable();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, members)| members.iter().copied()).collect();
        grouped.retain(|command| cfg!(feature = "page") || *command != "serve");
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
        let listed: Vec<&str> =
            GROUPS.iter().filter(|group| **group != PLUMBING).flat_map(|(_, members)| *members).copied().collect();
        assert!(listed.len() <= 20, "{listed:?}");
    }

    #[test]
    fn groups_keep_every_line_of_the_help() {
        for width in [40, 80, 200] {
            let help = Cli::command().term_width(width).render_help();
            let all = grouped(&help, true);
            for (help, grouped) in [(help.to_string(), all.plain), (help.ansi().to_string(), all.styled)] {
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
    fn plumbing_is_listed_only_on_request() {
        let help = Cli::command().render_help();
        for (all, expected) in [(false, 0), (true, 1)] {
            let plain = grouped(&help, all).plain;
            assert_eq!(plain.matches("\nPlumbing:\n").count(), expected, "{plain}");
            assert_eq!(plain.matches("\n  merge-driver ").count(), expected, "{plain}");
            assert!(plain.contains("\nWrite:\n  add ") && plain.contains("\nExit codes:\n"), "{plain}");
        }
    }
}
