//! `complete`: prints what a shell may put in place of the word at the cursor, from the memory.
//!
//! The scripts of `completions` call it. It finds the argument that the word belongs to in clap's model of the
//! commands. It never fails and prints only candidates, because a shell shows them between two keystrokes. Only names
//! that need no quotes in any shell are offered, so the next Enter never runs something from a clone.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ValueEnum};
use ralph_memory::entry::timestamp;
use ralph_memory::memory::{EntryFilter, LogFilter};
use ralph_memory::{Kind, Memory};

use crate::session::Globals;
use crate::ui::{Ui, count, one_line};

/// The most candidates that are printed.
const MAX_CANDIDATES: usize = 1000;
/// How many attempts are read for tasks, runs and features, newest first.
const MAX_ATTEMPTS: usize = 500;
/// The longest candidate, in characters; a longer name is one that nobody types.
const MAX_NAME: usize = 200;
/// The longest explanation, in characters.
const MAX_ABOUT: usize = 60;

/// Characters that need no quotes in any shell, beside letters and digits.
const PLAIN: &str = "-_./:+@%=,";
/// Characters of these at which bash begins another word for its completion (`COMP_WORDBREAKS`).
const BREAKS: [char; 3] = ['=', ':', '@'];

/// A shell that completes from the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompletingShell {
    /// It replaces the word at the cursor from the last of [`BREAKS`] on.
    Bash,
    Zsh,
    Fish,
}

/// Print what may stand in place of the last word
#[derive(Debug, clap::Args)]
pub(crate) struct CompleteArgs {
    /// The shell that asks, whose command line begins with the program's name
    #[arg(long, value_enum)]
    shell: Option<CompletingShell>,
    /// The command line up to the cursor
    #[arg(last = true)]
    words: Vec<String>,
}

impl CompleteArgs {
    /// Returns the words before the one at the cursor, without their quotes, and that word as it is typed; `None` if a
    /// quote is open.
    fn typed(&self) -> Option<(Vec<String>, String)> {
        let line = self.words.join(" ");
        let (before, last) = line.rsplit_once(|character: char| character.is_ascii_whitespace()).unwrap_or(("", &line));
        let mut words = shlex::split(before)?;
        if self.shell.is_some() {
            // Variables may be set before the program's name.
            let program = words.iter().position(|word| !word.contains('='))?;
            words.drain(..=program);
        }
        Some((words, last.to_owned()))
    }

    /// Returns what takes the place of the word at the cursor, or of its end.
    fn written(&self, last: &str, word: &str) -> Option<String> {
        let replaced = last.rfind(BREAKS).filter(|_| self.shell == Some(CompletingShell::Bash)).map_or(0, |at| at + 1);
        Some(word.strip_prefix(&last[..replaced])?.to_owned()).filter(|rest| !rest.is_empty())
    }
}

/// Returns whether a person types such a name, and no shell acts on it. One that begins with `-` would be an option.
fn is_plain(name: &str) -> bool {
    let is_plain = |character: char| character.is_alphanumeric() || PLAIN.contains(character);
    !name.is_empty() && !name.starts_with('-') && name.chars().count() <= MAX_NAME && name.chars().all(is_plain)
}

/// What an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// A knowledge entry.
    Knowledge,
    /// A live entry.
    Live,
    /// An archived entry.
    Archived,
    /// An entry, a task or a run.
    Anything,
    Tag,
    Feature,
    Task,
    Run,
}

impl Named {
    /// Returns what an argument of a command names, if the memory knows such things.
    pub(crate) fn by(command: &str, argument: &str) -> Option<Named> {
        match (command, argument) {
            ("show", "id") => Some(Named::Anything),
            ("restore", "id") => Some(Named::Archived),
            ("archive", "ids") => Some(Named::Live),
            ("edit", "ids") | ("edit" | "add", "supersedes") | ("log", "fact") => Some(Named::Knowledge),
            ("log", "task") | (_, "task_id") => Some(Named::Task),
            (_, "tag" | "tags") if (command, argument) != ("list", "tags") => Some(Named::Tag),
            (_, "feature" | "for_feature") => Some(Named::Feature),
            (_, "run" | "run_id") => Some(Named::Run),
            _ => None,
        }
    }
}

/// The word at the cursor.
#[derive(Debug, PartialEq, Eq)]
struct Cursor {
    named: Named,
    /// What the word begins with and every candidate keeps, such as `--tag=`.
    kept: String,
    /// The rest of it.
    start: String,
}

/// A command line that is being typed.
#[derive(Debug, Default)]
struct CommandWords {
    cursor: Option<Cursor>,
    directory: Vec<PathBuf>,
    root: Option<PathBuf>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &CompleteArgs, mut program: clap::Command) {
    program.build();
    let Some((before, last)) = args.typed() else { return };
    let words = CommandWords::read(&program, &before, &last);
    let Some(cursor) = words.cursor else { return };
    let globals = globals.placed(words.directory, words.root);
    let Ok(memory) = globals.enter_folder().and_then(|()| globals.open_in(None)) else { return };
    let found = candidates(&memory, cursor.named, &cursor.start).into_iter();
    let fitting = found.filter(|(text, _)| text.starts_with(&cursor.start) && is_plain(text));
    let written =
        fitting.filter_map(|(text, about)| Some((args.written(&last, &format!("{}{text}", cursor.kept))?, about)));
    for (word, about) in written.take(MAX_CANDIDATES) {
        let about: String = one_line(&about).chars().take(MAX_ABOUT).collect();
        let _ = ui.line(format_args!("{word}\t{about}"));
    }
}

impl CommandWords {
    fn read(program: &clap::Command, before: &[String], last: &str) -> CommandWords {
        let mut read = CommandWords::default();
        let (mut command, mut n_positionals, mut is_literal) = (program, 0, false);
        let mut pending: Option<&Arg> = None;
        for word in before {
            if let Some(option) = pending.take() {
                read.note(option, word);
            } else if word == "--" {
                is_literal = true;
            } else if word.starts_with('-') && word.len() > 1 && !is_literal {
                match option_of(command, word) {
                    Some((option, Some(value))) => read.note(option, value),
                    Some((option, None)) => pending = Some(option),
                    None => {}
                }
            } else if command.has_subcommands() {
                let Some(named) = command.find_subcommand(word) else { return read };
                command = named;
            } else {
                n_positionals += 1;
            }
        }
        let (argument, kept, start) = if let Some(option) = pending {
            (Some(option), "", last)
        } else if let (Some((name, value)), false) =
            (last.split_once('=').filter(|_| last.starts_with("--")), is_literal)
        {
            (option_of(command, name).map(|(option, _)| option), &last[..=name.len()], value)
        } else if last.starts_with('-') && !is_literal || command.has_subcommands() {
            (None, "", "")
        } else {
            let many = |arg: &&Arg| matches!(arg.get_action(), ArgAction::Append);
            let positional = command.get_positionals().nth(n_positionals);
            (positional.or_else(|| command.get_positionals().last().filter(many)), "", last)
        };
        let Some(argument) = argument else { return read };
        let listed = start.rfind(',').filter(|_| argument.get_value_delimiter().is_some()).map_or(0, |at| at + 1);
        read.cursor = Named::by(command.get_name(), argument.get_id().as_str()).map(|named| Cursor {
            named,
            kept: format!("{kept}{}", &start[..listed]),
            start: start[listed..].to_owned(),
        });
        read
    }

    /// Takes the value of an option that says where the memory is.
    fn note(&mut self, option: &Arg, value: &str) {
        match option.get_id().as_str() {
            "root" => self.root = Some(value.into()),
            "directory" => self.directory.push(value.into()),
            _ => {}
        }
    }
}

/// Returns the option in a word that takes a value, and the value if that is in the word, too.
fn option_of<'a, 'w>(command: &'a clap::Command, word: &'w str) -> Option<(&'a Arg, Option<&'w str>)> {
    let takes_value = |arg: &&Arg| arg.get_action().takes_values();
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let option = command.get_arguments().find(|arg| arg.get_long() == Some(name)).filter(takes_value)?;
        return Some((option, value));
    }
    word.char_indices().skip(1).find_map(|(at, letter)| {
        let option = command.get_arguments().find(|arg| arg.get_short() == Some(letter)).filter(takes_value)?;
        Some((option, Some(&word[at + letter.len_utf8()..]).filter(|value| !value.is_empty())))
    })
}

/// Returns what the memory knows of this sort, each with an explanation.
fn candidates(memory: &Memory, named: Named, start: &str) -> Vec<(String, String)> {
    match named {
        Named::Knowledge | Named::Live | Named::Archived => entries(memory, named, start),
        Named::Tag => {
            let listed = memory.list(&EntryFilter::default());
            listed.tags.into_iter().map(|(tag, n_entries)| (tag, count(n_entries, "use"))).collect()
        }
        Named::Task | Named::Run => of_attempts(memory, named),
        Named::Feature => {
            let entries = memory.list(&EntryFilter::default()).entries;
            let mut features: BTreeMap<String, usize> = BTreeMap::new();
            for feature in entries.into_iter().filter_map(|entry| entry.feature) {
                *features.entry(feature).or_default() += 1;
            }
            features.into_iter().map(|(feature, uses)| (feature, count(uses, "use"))).collect()
        }
        Named::Anything if start.starts_with("task:") => prefixed("task:", of_attempts(memory, Named::Task)),
        Named::Anything if start.starts_with("run:") => prefixed("run:", of_attempts(memory, Named::Run)),
        Named::Anything => {
            let parts = [entries(memory, Named::Live, start), of_attempts(memory, Named::Task)];
            parts.into_iter().flatten().chain(of_attempts(memory, Named::Run)).collect()
        }
    }
}

/// Returns names with the prefix that `show` takes before them.
fn prefixed(prefix: &str, named: Vec<(String, String)>) -> Vec<(String, String)> {
    named.into_iter().map(|(name, about)| (format!("{prefix}{name}"), about)).collect()
}

/// Returns ids. That of knowledge is short unless more of it was typed.
fn entries(memory: &Memory, named: Named, start: &str) -> Vec<(String, String)> {
    let kind = (named == Named::Knowledge).then_some(Kind::Knowledge);
    let filter = EntryFilter { kind, archived: named == Named::Archived, ..EntryFilter::default() };
    let entries = memory.list(&filter).entries.into_iter();
    let entries = entries.filter(|entry| entry.archived == (named == Named::Archived));
    let shown = entries.map(|entry| {
        let id = entry.id.as_str();
        let short = id.strip_prefix("knowledge/").filter(|short| !short.contains('/') && short.starts_with(start));
        (short.unwrap_or(id).to_owned(), entry.title)
    });
    shown.collect()
}

/// Returns the tasks or runs of the newest attempts, newest first.
fn of_attempts(memory: &Memory, named: Named) -> Vec<(String, String)> {
    let log = memory.log(&LogFilter { limit: Some(MAX_ATTEMPTS), ..LogFilter::default() });
    let mut found: Vec<(String, String)> = Vec::new();
    for attempt in log.attempts {
        let (id, about) = match named {
            Named::Run => (Some(attempt.attempt.run_id), timestamp(attempt.attempt.started_at)),
            _ => (attempt.attempt.task_id, attempt.attempt.task_title),
        };
        let Some(id) = id else { continue };
        if !found.iter().any(|(known, _)| *known == id) {
            found.push((id, about));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[track_caller]
    fn check(words: &str, expected: Option<(Named, &str, &str)>) -> CommandWords {
        let mut program = Cli::command();
        program.build();
        let args = CompleteArgs { shell: None, words: vec![words.to_owned()] };
        let (before, last) = args.typed().unwrap();
        let read = CommandWords::read(&program, &before, &last);
        let cursor = read.cursor.as_ref();
        let found = cursor.map(|cursor| (cursor.named, cursor.kept.as_str(), cursor.start.as_str()));
        assert_eq!(found, expected, "{words:?}");
        read
    }

    #[test]
    fn the_word_at_the_cursor_belongs_to_an_argument() {
        check("show wal", Some((Named::Anything, "", "wal")));
        check("-q show ", Some((Named::Anything, "", "")));
        check("edit --retry wal", Some((Named::Knowledge, "", "wal")));
        check("restore w", Some((Named::Archived, "", "w")));
        check("archive a b c", Some((Named::Live, "", "c")));
        check("edit a --supersedes b", Some((Named::Knowledge, "", "b")));
        check("edit a b", Some((Named::Knowledge, "", "b")));
        check("restore a b", None);
        check("list --tag sq", Some((Named::Tag, "", "sq")));
        check("list --tag=sq", Some((Named::Tag, "--tag=", "sq")));
        check("add --tags a,b,sq", Some((Named::Tag, "a,b,", "sq")));
        check("add --tags=a,sq", Some((Named::Tag, "--tags=a,", "sq")));
        check("search x --for-feature l", Some((Named::Feature, "", "l")));
        check("log --task t", Some((Named::Task, "", "t")));
        check("context --task t", None);
        check("context --task-id t", Some((Named::Task, "", "t")));
        check("log --run r", Some((Named::Run, "", "r")));
        check("show -- -x", Some((Named::Anything, "", "-x")));
        for nothing in ["", "li", "list --ta", "list --limit 1", "nonsense --tag x", "add Title", "list --tags x"] {
            check(nothing, None);
        }
        let read = check("-Ca/b list --root=../c --tag x", Some((Named::Tag, "", "x")));
        assert_eq!((read.directory, read.root), (vec!["a/b".into()], Some("../c".into())));
        let read = check("list -qC a --root b -C c --tag x", Some((Named::Tag, "", "x")));
        assert_eq!((read.directory, read.root), (vec!["a".into(), "c".into()], Some("b".into())));
    }

    #[test]
    fn a_candidate_takes_the_place_of_what_the_shell_replaces() {
        let check = |shell, line: &str, word: &str, expected: Option<(&[&str], Option<&str>)>| {
            let args = CompleteArgs { shell, words: vec![line.to_owned()] };
            let found = args.typed().map(|(before, last)| (before, args.written(&last, word)));
            let expected = expected.map(|(before, rest)| {
                (before.iter().map(|word| (*word).to_owned()).collect(), rest.map(str::to_owned))
            });
            assert_eq!(found, expected, "{line}");
        };
        let (bash, zsh) = (Some(CompletingShell::Bash), Some(CompletingShell::Zsh));
        check(bash, "A=1 B='x y' ./bin/ralph-memory show ", "wal", Some((&["show"], Some("wal"))));
        check(bash, "ralph-memory  -C 'my folder' show w", "wal", Some((&["-C", "my folder", "show"], Some("wal"))));
        check(bash, "ralph-memory list --tag=a", "--tag=ab", Some((&["list"], Some("ab"))));
        check(bash, "ralph-memory show task:t", "task:t-1", Some((&["show"], Some("t-1"))));
        check(bash, "ralph-memory list --tag=", "--tag=", Some((&["list"], None)));
        check(zsh, "ralph-memory list --tag=a", "--tag=ab", Some((&["list"], Some("--tag=ab"))));
        check(None, "list --tag=a", "--tag=ab", Some((&["list"], Some("--tag=ab"))));
        check(bash, "ralph-memory list --tag 'a b", "a b", None);
        for (name, expected) in
            [("gr\u{f6}\u{df}e", true), ("a.b/c:d+e@f%g=h,i_j-k", true), ("", false), ("-x", false), ("a b", false)]
        {
            assert_eq!(is_plain(name), expected, "{name}");
        }
        assert!("\t'\"$`;&|<>()*?[]{}~#!\\^\u{202e}".chars().all(|odd| !is_plain(&format!("a{odd}"))));
        assert!(is_plain(&"x".repeat(200)) && !is_plain(&"x".repeat(201)));
    }
}
