//! A command line: split as a shell would split it, run without one, with values put into it.
//!
//! A value never becomes two arguments, whatever it says, and never names the program.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use strsim::levenshtein;

use super::process::{self, Command};
use crate::error::{Error, Result};

/// The value that is the path of the prompt's file.
pub(super) const PROMPT_FILE: &str = "prompt_file";
/// Words that have a meaning to a shell, but not to a program that runs without one.
const SHELL_WORDS: [&str; 9] = ["&&", "||", "|", "&", ">", ">>", "<", "2>&1", "|&"];

/// What is added to a command so that its client starts the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct McpOffer {
    /// How many of the command's own arguments come before those of the offer.
    pub(super) at: usize,
    /// Arguments.
    pub(super) arguments: Vec<String>,
    /// A variable.
    pub(super) variable: Option<(&'static str, String)>,
}

/// A command line: a program and its arguments, in which `{model}`, `{prompt_file}`, `{task_id}`, `{run_id}` and
/// `{attempt}` stand for values.
///
/// ```
/// use ralph_memory::runner::CommandLine;
/// let agent = CommandLine::parse("agent", "claude -p --model {model}")?;
/// assert_eq!((agent.program(), agent.words()), ("claude", &["-p", "--model", "{model}"].map(String::from)[..]));
/// let refused = CommandLine::parse("agent", "claude -p | tee log").unwrap_err();
/// assert_eq!(refused.to_string(), "`|` in the command of `agent` needs a shell, and commands run without one");
/// # Ok::<(), ralph_memory::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    option: String,
    text: String,
    program: String,
    arguments: Vec<String>,
}

impl CommandLine {
    /// Splits a command line as a shell would. `option` is what the caller calls it, for messages: `--agent`, say,
    /// or the setting `run.agent`.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] where it is empty, has a NUL character or a quote that is not closed,
    /// needs a shell, or names a value that does not exist.
    pub fn parse(option: &str, text: &str) -> Result<CommandLine> {
        let refuse = |message: String, hint: String| Err(Error::unusable(message, hint));
        let equals = if option.contains('.') { " =" } else { "" };
        let given = |command: &str| format!("`{option}{equals} \"{command}\"`");
        let example = format!("a program and its arguments: {}", given("claude -p --model {model}"));
        if text.contains('\0') {
            return refuse(format!("the command of `{option}` has a NUL character"), example);
        }
        let Some(words) = shlex::split(text) else {
            let message = format!("the command of `{option}` has a quote that is not closed: `{text}`");
            return refuse(message, format!("close the quote, or put `\\` before it; {example}"));
        };
        if let Some(word) = words.iter().find(|word| SHELL_WORDS.contains(&word.as_str())) {
            let message = format!("`{word}` in the command of `{option}` needs a shell, and commands run without one");
            return refuse(message, format!("run one: {}", given("sh -c '…'")));
        }
        let mut words = words.into_iter();
        let Some(program) = words.next().filter(|program| !program.is_empty()) else {
            return refuse(format!("the command of `{option}` is empty"), example);
        };
        if program.split('/').next().is_some_and(|start| start.contains('=')) {
            let message = format!("the command of `{option}` begins with `{program}`, which is not a program");
            return refuse(message, format!("let `env` set it: {}", given("env NAME=VALUE PROGRAM")));
        }
        if NAMES.iter().any(|name| program.contains(&format!("{{{name}}}"))) {
            let message = format!("the program of `{option}` depends on a value: `{program}`");
            return refuse(message, "put the value into an argument".to_owned());
        }
        let arguments: Vec<String> = words.collect();
        if let Some(name) = arguments.iter().find_map(|argument| unknown_name(argument)) {
            let names = NAMES.map(|name| format!("{{{name}}}")).join(", ");
            let message = format!("`{{{name}}}` in the command of `{option}` is not a placeholder");
            return refuse(message, format!("there are {names}; `{{ {name} }}` is passed as it is"));
        }
        Ok(CommandLine { option: option.to_owned(), text: text.to_owned(), program, arguments })
    }

    /// Returns what the caller calls it.
    pub(super) fn option(&self) -> &str {
        &self.option
    }

    /// Returns the arguments, as they were written.
    pub fn words(&self) -> &[String] {
        &self.arguments
    }

    /// Returns whether an argument contains a text.
    pub(super) fn takes(&self, text: &str) -> bool {
        self.arguments.iter().any(|argument| argument.contains(text))
    }

    /// Returns the values of options of these names, behind a space or `=`.
    pub(super) fn values_of(&self, names: &[&str]) -> Vec<String> {
        let next = |at: usize| self.arguments.get(at + 1).cloned();
        let values = self.arguments.iter().enumerate().filter_map(|(at, argument)| {
            let inline =
                || names.iter().find_map(|name| argument.strip_prefix(name)?.strip_prefix('=').map(str::to_owned));
            if names.contains(&argument.as_str()) { next(at) } else { inline() }
        });
        values.collect()
    }

    /// Returns the program, as it was written.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Returns whether the prompt is wanted in a file.
    pub(super) fn wants_prompt_file(&self) -> bool {
        self.takes(&format!("{{{PROMPT_FILE}}}"))
    }

    /// Returns the command to run in `folder`, with the values in place of their names and with `offer`. A name without a
    /// value stays.
    pub(super) fn process(&self, values: &BTreeMap<&str, String>, folder: &Path, offer: Option<&McpOffer>) -> Command {
        let mut arguments: Vec<String> = self.arguments.iter().map(|argument| filled(argument, values)).collect();
        if let Some(offer) = offer {
            arguments.splice(offer.at..offer.at, offer.arguments.iter().cloned());
        }
        let mut command = process::command(&self.program, &arguments, folder);
        command.envs(offer.and_then(|offer| offer.variable.clone()));
        command
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The names that are allowed in braces.
const NAMES: [&str; 5] = ["model", PROMPT_FILE, "task_id", "run_id", "attempt"];

/// Returns a name in braces that stands for nothing. `${x}` is the shell's, and in a script, which has spaces, only what
/// looks like a misspelt name is taken for one.
fn unknown_name(argument: &str) -> Option<&str> {
    argument.match_indices('{').find_map(|(at, _)| {
        let (name, _) = argument[at + 1..].split_once('}')?;
        let is_name = !name.is_empty() && name.chars().all(|next| next.is_ascii_alphabetic() || "_-".contains(next));
        let is_script = argument.contains(char::is_whitespace);
        let spelt = name.to_lowercase().replace('-', "_");
        let is_near = NAMES.iter().any(|known| levenshtein(known, &spelt) <= 2);
        let is_unknown = is_name && !NAMES.contains(&name) && !argument[..at].ends_with('$') && (!is_script || is_near);
        is_unknown.then_some(name)
    })
}

/// Returns an argument with values in place of their names. It is scanned once, so that the text of a value is not
/// mistaken for the name of another. A name without a value stays.
fn filled(argument: &str, values: &BTreeMap<&str, String>) -> String {
    let (mut filled, mut rest) = (String::new(), argument);
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let value = |name| Some((values.get(name)?.as_str(), after.strip_prefix(name)?.strip_prefix('}')?));
        let (value, after) = NAMES.into_iter().find_map(value).unwrap_or(("{", after));
        filled.push_str(value);
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a command runs, as words, with values; without the file of a prompt where there is none.
    fn words(text: &str, has_file: bool) -> Vec<String> {
        let values = [
            ("model", "son net'\"$(x)"),
            ("task_id", "t-1"),
            ("run_id", "run-1"),
            ("attempt", "3"),
            (PROMPT_FILE, "/tmp/{model} x"),
        ];
        let values = values.into_iter().filter(|(name, _)| has_file || *name != PROMPT_FILE);
        let values = values.map(|(name, value)| (name, value.to_owned())).collect();
        let process = CommandLine::parse("--agent", text).unwrap().process(&values, Path::new("/"), None);
        let words = [process.get_program()].into_iter().chain(process.get_args());
        words.map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text, true), expected, "{text}");
        assert_eq!(CommandLine::parse("--agent", text).unwrap().to_string(), text);
    }

    #[test]
    fn a_line_is_split_and_then_filled() {
        check("agent", &["agent"]);
        check("  agent\t-p  ", &["agent", "-p"]);
        check("agent 'a b' \"c d\" e\\ f ''", &["agent", "a b", "c d", "e f", ""]);
        check("agent --model {model}", &["agent", "--model", "son net'\"$(x)"]);
        check("agent --model={model}.{attempt}", &["agent", "--model=son net'\"$(x).3"]);
        check("agent {task_id}{run_id}", &["agent", "t-1run-1"]);
        check("agent {prompt_file}", &["agent", "/tmp/{model} x"]);
        check("agent {{model}}", &["agent", "{son net'\"$(x)}"]);
        check(
            "agent { {} {1} {a,b} {model ${word} é{attempt}é",
            &["agent", "{", "{}", "{1}", "{a,b}", "{model", "${word}", "é3é"],
        );
        check("sh -c 'a && b | c'", &["sh", "-c", "a && b | c"]);
        check("find . -exec rm {} ;", &["find", ".", "-exec", "rm", "{}", ";"]);
        check("agent # a remark", &["agent"]);
        check("sh -c \"awk '{print}' x\"", &["sh", "-c", "awk '{print}' x"]);
    }

    #[test]
    fn without_a_prompt_file_its_word_stays() {
        assert_eq!(words("check {prompt_file} {attempt}", false), ["check", "{prompt_file}", "3"]);
    }

    #[test]
    fn a_prompt_file_is_made_where_it_is_wanted() {
        let check = |text: &str, expected: bool| {
            assert_eq!(CommandLine::parse("--agent", text).unwrap().wants_prompt_file(), expected, "{text}");
        };
        check("agent {prompt_file}", true);
        check("agent --file=@{prompt_file}", true);
        check("agent prompt_file {prompt_file", false);
        check("agent {model}", false);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        #[track_caller]
        fn check(text: &str, message: &str, hint: &str) {
            let Error::Unusable { message: told, hint: advice } = CommandLine::parse("--agent", text).unwrap_err()
            else {
                panic!("another error");
            };
            assert!(told.contains(message) && told.contains("--agent"), "{told}");
            assert!(advice.contains(hint), "{advice}");
        }
        check("agent 'a b", "a quote that is not closed", "close the quote");
        check("agent \"a", "a quote that is not closed", "close the quote");
        check("", "is empty", "claude -p");
        check("  ", "is empty", "claude -p");
        check("'' x", "is empty", "claude -p");
        check("# agent", "is empty", "claude -p");
        check("a\0b", "NUL", "claude -p");
        check("cargo test && cargo clippy", "`&&`", "sh -c");
        check("cargo test | tail", "`|`", "sh -c");
        check("cargo test 2>&1", "`2>&1`", "sh -c");
        check("RUST_LOG=debug agent", "not a program", "env NAME=VALUE PROGRAM");
        check("agent --model {modle}", "`{modle}`", "{model}, {prompt_file}");
        check("agent {prompt}", "`{prompt}`", "{prompt_file}");
        check("sh -c 'agent --model {Model}'", "`{Model}`", "{model}");
        check("./run-{model}.sh", "depends on a value", "argument");
    }
}
