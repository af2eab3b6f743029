//! Checks before a run begins that its programs exist, and that its models belong to its agent's client.
//!
//! A mistake in a command line is not a failure of the task, and must not become an attempt. It runs nothing.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::command::CommandLine;
use super::process::{INSTALL_IT, not_executable};
use crate::error::{Error, Result};
use crate::journal::strategy::MODELS_OF;
use crate::system::posix::program_at;
use crate::text::for_terminal;

/// Shells whose `-c` has a script.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];
/// Words that a script may begin with and that are not programs: keywords, and the shell's own commands.
const BUILTINS: [&str; 54] = [
    "!", ".", ":", "[", "[[", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue", "declare", "do",
    "echo", "eval", "exec", "exit", "export", "false", "fg", "for", "function", "getopts", "hash", "if", "jobs",
    "kill", "let", "local", "printf", "pushd", "pwd", "read", "readonly", "return", "select", "set", "shift", "shopt",
    "source", "test", "time", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unset", "until", "while",
];
/// The variable that has the chosen model.
pub(super) const MODEL_VARIABLE: &str = "RALPH_MODEL";
/// How much of a script is searched for that variable, in bytes.
const MAX_SCRIPT: u64 = 64 * 1024;
/// A client that has the models of all vendors, and of which no list is known.
const OF_ALL_VENDORS: &str = "opencode";
/// The exit status of a command that could not be run, as a shell reports it.
const NOT_RUN: i32 = 127;
/// Where programs are found if there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

impl CommandLine {
    /// Checks that the program exists and is executable, and the one that a shell's script or `env` begins with where that can be seen.
    /// Relative paths begin in `folder`.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] where it does not.
    pub fn check_program(&self, folder: &Path) -> Result<()> {
        for program in self.programs() {
            let Some(path) = path_of(&program, folder) else {
                let message = format!("there is no command `{program}`, which `{}` names", self.option());
                return Err(Error::unusable(message, INSTALL_IT));
            };
            if program_at(path).is_none() {
                return Err(not_executable(&program));
            }
        }
        Ok(())
    }

    /// Returns a message for each model that belongs to another client than this agent's: those of `models` where the
    /// command takes a model, and those that it names itself.
    pub fn odd_models(&self, models: &[String]) -> Vec<String> {
        let Some(client) = client(self) else { return Vec::new() };
        let takes_model = self.takes("{model}");
        let models = models.iter().filter(|_| takes_model).cloned().chain(self.values_of(&["--model", "-m"]));
        models
            .filter(|model| !model.contains('{'))
            .filter_map(|model| {
                let other = family(&model).filter(|other| *other != client)?;
                Some(format!(
                    "`{model}` is a model of {other}, and the agent is {client}; `strategy.models` in the settings names \
                     the models that it has, the cheapest first"
                ))
            })
            .collect()
    }

    /// Returns the models of the agent's client, cheapest first, if the client is known.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] where the agent's command passes the model on, and its client has those of all
    /// vendors, of which nobody knows the names.
    pub fn known_models(&self, folder: &Path) -> Result<Option<Vec<String>>> {
        if self.programs().any(|program| name_of(&program) == OF_ALL_VENDORS) && self.passes_model(folder) {
            let message = format!("the models of `{OF_ALL_VENDORS}` are unknown");
            let hint = "name yours in the setting `strategy.models`, the cheapest first; `opencode models` lists them";
            return Err(Error::unusable(message, hint));
        }
        let models = MODELS_OF.iter().find(|(name, _)| client(self) == Some(name));
        Ok(models.map(|(_, models)| models.map(str::to_owned).into()))
    }

    /// Returns whether the agent learns the chosen model, as far as that can be seen: its command has `{model}` or
    /// `RALPH_MODEL`, or names a script that has `RALPH_MODEL` in its first 64 KiB. Relative paths begin in `folder`. What a
    /// script runs in turn is not looked at.
    pub(super) fn passes_model(&self, folder: &Path) -> bool {
        let has_variable = |path: &Path| {
            let mut start = Vec::new();
            let file = path.metadata().is_ok_and(|file| file.is_file()).then(|| File::open(path).ok()).flatten();
            file.is_some_and(|file| file.take(MAX_SCRIPT).read_to_end(&mut start).is_ok())
                && start.windows(MODEL_VARIABLE.len()).any(|part| part == MODEL_VARIABLE.as_bytes())
        };
        let is_mark = |next: char| next.is_whitespace() || ";&|()<>\"'=".contains(next);
        let mut words =
            self.words().iter().flat_map(|argument| argument.split(is_mark)).filter(|word| !word.is_empty());
        self.takes("{model}")
            || self.takes(MODEL_VARIABLE)
            || self.programs().any(|program| path_of(&program, folder).is_some_and(|path| has_variable(&path)))
            || words.any(|word| has_variable(&folder.join(word)))
    }

    /// Refuses a command that uses the model if the agent does not learn one.
    pub(super) fn refuse_model(&self) -> Result<()> {
        if !self.takes("{model}") {
            return Ok(());
        }
        let message =
            format!("`{{model}}` in the command of `{}` has no value: the agent is told no model", self.option());
        Err(Error::unusable(message, "name a model, or put `{model}` into the agent's command as well"))
    }

    /// Returns the name of the program that the command runs, itself or by `env`, and how many arguments are in front of
    /// that program's.
    pub(super) fn direct_client(&self) -> Option<(&str, usize)> {
        if name_of(self.program()) != "env" {
            return Some((name_of(self.program()), 0));
        }
        let at = self.words().iter().position(|word| !word.contains('='))?;
        Some((name_of(&self.words()[at]), at + 1))
    }

    /// Returns the program, and the one that a shell's script or `env` begins with where that can be seen.
    fn programs(&self) -> impl Iterator<Item = String> {
        [Some(self.program().to_owned()), inner(self)].into_iter().flatten()
    }
}

/// Returns the line in which a shell says that the command does not exist, if it ended in this way.
pub(super) fn not_found(exit: Option<i32>, errors: &str) -> Option<&str> {
    let mut lines = errors.lines().rev().map(str::trim);
    lines
        .find(|line| line.ends_with("not found") || line.ends_with("No such file or directory"))
        .filter(|_| exit == Some(NOT_RUN))
}

/// Returns the error for a command that runs another one which does not exist.
pub(super) fn no_command(command: &CommandLine, line: &str) -> Error {
    let line = for_terminal(&line.replace('\t', " "));
    let message = format!("the command of `{}` runs one that does not exist: {line}", command.option());
    Error::unusable(message, "install it, or correct the command")
}

/// Returns the client that a command runs, where it is one that is known.
fn client(agent: &CommandLine) -> Option<&'static str> {
    let known =
        |program: String| MODELS_OF.iter().map(|(client, _)| *client).find(|client| *client == name_of(&program));
    agent.programs().find_map(known)
}

/// Returns the name of a program without its folder.
fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

/// Returns the client family that a model's name belongs to.
fn family(model: &str) -> Option<&'static str> {
    let model = model.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| model.contains(part));
    let begins = |parts: &[&str]| parts.iter().any(|part| model.starts_with(part));
    if has(&["haiku", "sonnet", "opus", "claude"]) {
        Some("claude")
    } else if begins(&["gpt-", "o3", "o4", "codex"]) {
        Some("codex")
    } else {
        (has(&["gemini"]) || ["pro", "flash", "flash-lite"].contains(&model.as_str())).then_some("gemini")
    }
}

/// Returns the program that a shell or `env` is told to run, where that can be seen.
fn inner(command: &CommandLine) -> Option<String> {
    let name = name_of(command.program());
    let mut arguments = command.words().iter();
    if name == "env" {
        let (_, at) = command.direct_client()?;
        return Some(&command.words()[at - 1]).filter(|word| !word.starts_with(['-', '{'])).cloned();
    }
    if !SHELLS.contains(&name) {
        return None;
    }
    let flags = arguments.next()?.strip_prefix('-')?;
    // The files that a login shell reads first may change where programs are found.
    if !flags.ends_with('c') || flags.contains(['l', 'i', '-']) {
        return None;
    }
    let script = arguments.next()?.trim_start();
    let end = script.find(|next: char| next.is_whitespace() || ";&|()<>".contains(next)).unwrap_or(script.len());
    let word = &script[..end];
    let is_plain = word.chars().all(|next| next.is_ascii_alphanumeric() || "_./+-".contains(next));
    let is_program = is_plain && !word.is_empty() && !BUILTINS.contains(&word) && !script[end..].starts_with("()");
    is_program.then(|| word.to_owned())
}

/// Returns where a program is: in the folder if its name has a `/`, else where programs are found.
fn path_of(program: &str, folder: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(folder.join(program)).filter(|path| path.exists());
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    std::env::split_paths(&path).map(|place| folder.join(place).join(program)).find_map(program_at)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn command(text: &str) -> CommandLine {
        CommandLine::parse("--agent", text).unwrap()
    }

    #[test]
    fn programs_in_scripts_are_checked_too() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("here.sh"), "").unwrap();
        std::fs::set_permissions(folder.path().join("here.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(folder.path().join("text.sh"), "").unwrap();
        let missing = |text: &str| {
            let verify = CommandLine::parse("--verify", text).unwrap();
            verify.check_program(folder.path()).err().map(|error| error.to_string())
        };
        for good in [
            "sh",
            "./here.sh",
            "sh -c 'cd x && no-such-thing'",
            "sh -c ./here.sh",
            "env A=b sh x",
            "bash -lc no-such-thing",
            "sh -c 'X=1 no-such-thing'",
            "sh -c 'f() { :; }; f'",
            "sh no-such-file",
            "sh -c 'sh -c true'",
        ] {
            assert_eq!(missing(good), None, "{good}");
        }
        let told = |program: &str| Some(format!("there is no command `{program}`, which `--verify` names"));
        assert_eq!(missing("carg test"), told("carg"));
        assert_eq!(missing("sh -c 'carg test && true'"), told("carg"));
        assert_eq!(missing("env A=b carg"), told("carg"));
        assert_eq!(missing("./gone.sh"), told("./gone.sh"));
        for text in ["./text.sh", "sh -c ./text.sh", "env A=b ./text.sh"] {
            assert_eq!(missing(text).as_deref(), Some("`./text.sh` cannot be run: it is not executable"), "{text}");
        }
    }

    #[test]
    fn models_go_with_their_client() {
        let sonnet = ["sonnet".to_owned()];
        assert_eq!(command("codex exec --model {model} -").odd_models(&sonnet).len(), 1);
        assert_eq!(command("codex exec --model sonnet -").odd_models(&[]).len(), 1);
        assert_eq!(command("claude -p --model=gpt-5.1").odd_models(&[]).len(), 1);
        // Every client's own list is its family's.
        for (client, models) in MODELS_OF {
            for model in models {
                assert_eq!(family(model), Some(client), "{model}");
            }
        }
        for good in
            ["claude -p --model {model}", "codex exec -m my-own -", "codex exec -", "./agent.sh --model {model}"]
        {
            assert_eq!(command(good).odd_models(&sonnet), [""; 0], "{good}");
        }
        let known = |text: &str| command(text).known_models(Path::new("/")).unwrap();
        assert_eq!(known("/opt/bin/claude -p").unwrap(), ["haiku", "sonnet", "opus"]);
        assert!(known("sh -c 'codex exec -'").unwrap()[0].starts_with("gpt-"));
        assert_eq!([known("./agent.sh"), known("opencode run")], [None, None]);
    }
}
