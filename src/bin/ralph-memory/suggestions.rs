//! What to type instead of words and options that people know from other programs.
//!
//! Nothing here is an alias: the command ends with exit code 2, and a tip names the one to type.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Words that are not commands, and what to type instead.
const COMMANDS: [(&[&str], &str); 29] = [
    (&["rm", "remove", "delete", "del", "forget", "drop"], "ralph-memory archive ID"),
    (&["find", "grep", "query", "recall", "lookup", "ask"], "ralph-memory search WORDS"),
    (&["get", "cat", "view", "read", "open", "info", "inspect"], "ralph-memory show ID"),
    (&["new", "create", "remember", "learn", "save", "store", "put"], "ralph-memory add TITLE --tags TAGS"),
    (&["note", "event", "decide"], "ralph-memory add --event KIND TEXT"),
    (&["ls", "entries", "knowledge"], "ralph-memory list"),
    (&["tags"], "ralph-memory list --tags"),
    (&["tag", "retag", "label"], "ralph-memory edit ID --tags TAGS"),
    (&["rename", "mv", "move"], "ralph-memory edit ID --title TITLE"),
    (&["promote", "demote"], "ralph-memory edit ID --scope SCOPE"),
    (&["supersede", "replace"], "ralph-memory edit NEW --supersedes OLD"),
    (&["modify", "change", "set"], "ralph-memory edit ID"),
    (&["unarchive", "recover", "undelete"], "ralph-memory restore ID"),
    (&["revert", "rollback", "reset", "redo"], "ralph-memory undo"),
    (&["diff", "changes"], "ralph-memory undo --list"),
    (&["history", "journal", "attempts"], "ralph-memory log"),
    (&["metrics", "usage", "cost"], "ralph-memory stats"),
    (&["web", "ui", "gui", "dashboard", "browse"], "ralph-memory serve"),
    (&["status", "st"], "ralph-memory"),
    (&["config", "settings"], "ralph-memory help settings"),
    (&["doctor", "lint", "validate", "verify", "fsck", "audit"], "ralph-memory check"),
    (&["fix", "repair"], "ralph-memory check --fix"),
    (&["prune", "consolidate", "gc", "clean", "compact", "maintain"], "ralph-memory tidy"),
    (&["prime", "brief", "briefing", "prompt", "begin"], "ralph-memory context TASK"),
    (&["finish", "report", "commit", "done"], "ralph-memory record"),
    (&["install", "connect", "hooks"], "ralph-memory setup"),
    (&["uninstall", "disconnect"], "ralph-memory setup --remove"),
    (&["loop", "exec"], "ralph-memory run"),
    (&["version"], "ralph-memory --version"),
];

/// Options that are unknown, and the options or arguments that may be meant: the first one that the command has.
const OPTIONS: [(&[&str], &[&str]); 11] = [
    (&["--tag", "--label", "--labels", "-t"], &["--tags", "--tag"]),
    (&["--tags"], &["--tag"]),
    (&["-m", "--message", "--text", "--content", "--description", "--body"], &["--body", "--description", "ID"]),
    (&["--title", "--name", "--subject"], &["--title", "TITLE"]),
    (&["-n", "-l", "--max", "--count", "--top"], &["--limit"]),
    (&["-o", "--output", "--format"], &["--json"]),
    (&["-a", "--all", "--deleted"], &["--archived"]),
    (&["--dir", "--directory", "--cwd", "--project", "--path"], &["--root"]),
    (&["-f", "--force"], &["--yes"]),
    (&["--silent"], &["--quiet"]),
    (&["--no-color", "--no-colour"], &["--color"]),
];

/// Returns what to type instead of a word that is no command.
pub(crate) fn command(word: &str) -> Option<&'static str> {
    COMMANDS.iter().find(|(words, _)| words.contains(&word)).map(|(_, instead)| *instead)
}

/// Returns the option or argument that an unknown option of this command probably means.
fn option(option: &str, command: &clap::Command) -> Option<&'static str> {
    let has = |instead: &&&str| {
        command.get_arguments().filter(|argument| !argument.is_hide_set()).any(|argument| {
            match instead.strip_prefix("--") {
                Some(long) => argument.get_long() == Some(long),
                None => argument.get_value_names().is_some_and(|names| names.iter().any(|name| name == **instead)),
            }
        })
    };
    let known = OPTIONS.iter().filter(|(words, _)| words.contains(&option));
    known.flat_map(|(_, instead)| instead.iter()).find(has).copied()
}

/// Puts the tip of a table into a message of clap, in place of its own, and returns it. `command` is the one that the
/// arguments name.
pub(crate) fn improve(error: &mut clap::Error, command: &clap::Command) -> Option<String> {
    let text = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let instead = match error.kind() {
        ErrorKind::InvalidSubcommand => self::command(&text(error, ContextKind::InvalidSubcommand)?)?.to_owned(),
        ErrorKind::UnknownArgument => {
            let unknown = text(error, ContextKind::InvalidArg)?;
            // Nobody means an option as a value.
            error.remove(ContextKind::Suggested);
            let instead = match unknown.split('=').next().unwrap_or_default() {
                name if name.starts_with('-') => option(name, command)?,
                // A title without quotes.
                _ => Some("TITLE").filter(|_| command.get_name() == "add")?,
            };
            if instead.starts_with('-') {
                instead.to_owned()
            } else {
                format!("ralph-memory {} \"{instead}\"", command.get_name())
            }
        }
        _ => return None,
    };
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::Suggested] {
        error.remove(kind);
    }
    let tip = format!("type `{instead}`");
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.clone().into()]));
    Some(tip)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn words_of_other_programs_lead_to_the_command() {
        for (word, expected) in [
            ("rm", "archive ID"),
            ("delete", "archive ID"),
            ("remove", "archive ID"),
            ("find", "search WORDS"),
            ("get", "show ID"),
            ("new", "add TITLE --tags TAGS"),
            ("tags", "list --tags"),
            ("diff", "undo --list"),
            ("config", "help settings"),
            ("status", ""),
            ("ls", "list"),
            ("doctor", "check"),
            ("note", "add --event KIND TEXT"),
            ("rename", "edit ID --title TITLE"),
            ("promote", "edit ID --scope SCOPE"),
            ("supersede", "edit NEW --supersedes OLD"),
            ("prune", "tidy"),
            ("consolidate", "tidy"),
            ("prime", "context TASK"),
        ] {
            assert_eq!(command(word), Some(format!("ralph-memory {expected}").trim_end()), "{word}");
        }
        assert_eq!(command("zebra"), None);
        let mut words: Vec<&str> = COMMANDS.iter().flat_map(|(words, _)| words.iter().copied()).collect();
        let n_words = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), n_words, "a word leads to one command");
    }

    #[test]
    fn options_of_other_programs_lead_to_one_that_the_command_has() {
        let mut program = Cli::command();
        program.build();
        for (command, unknown, expected) in [
            ("add", "--tag", Some("--tags")),
            ("list", "--label", Some("--tags")),
            ("search", "--tags", Some("--tag")),
            ("add", "-m", Some("--body")),
            ("add", "--name", Some("TITLE")),
            ("add", "--title", Some("TITLE")),
            ("edit", "--name", Some("--title")),
            ("list", "--title", None),
            ("search", "-n", Some("--limit")),
            ("list", "--all", Some("--archived")),
            ("list", "-o", Some("--json")),
            ("list", "--dir", Some("--root")),
            ("setup", "--force", Some("--yes")),
            ("list", "--zebra", None),
            ("index", "-n", None),
        ] {
            let found = option(unknown, program.find_subcommand(command).unwrap());
            assert_eq!(found, expected, "{command} {unknown}");
        }
    }
}
