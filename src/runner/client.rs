//! What is checked before a run begins: that its programs exist, and that its models are those of its agent's client.
//!
//! A mistake in a command line is not a failure of the task, and must not become an attempt. It runs nothing.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::command::{CommandLine, INSTALL_IT};
use crate::error::{Error, Result};
use crate::strategy::MODELS_OF;
use crate::text::for_terminal;

/// Shells whose `-c` has a script.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];
/// What a script may begin with that is in no folder: words of the grammar, and commands of the shell itself.
const BUILTINS: [&str; 54] = [
    "!", ".", ":", "[", "[[", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue", "declare", "do",
    "echo", "eval", "exec", "exit", "export", "false", "fg", "for", "function", "getopts", "hash", "if", "jobs",
    "kill", "let", "local", "printf", "pushd", "pwd", "read", "readonly", "return", "select", "set", "shift", "shopt",
    "source", "test", "time", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unset", "until", "while",
];
/// The exit status of a command that could not be run, as a shell reports it.
const NOT_RUN: i32 = 127;
/// Where programs are found where there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

impl CommandLine {
    /// Checks that the program exists and is executable, and the one that a shell's script or `env` begins with where that can be seen.
    /// Relative paths begin in `folder`.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] where it does not.
    pub fn check_program(&self, folder: &Path) -> Result<()> {
        for program in [Some(self.program().to_owned()), inner(self)].into_iter().flatten() {
            let path = folder.join(&program);
            if program.contains('/') && path.exists() {
                if !is_program(&path) {
                    return Err(not_executable(&program));
                }
            } else if program.contains('/') || !is_in_path(&program, folder) {
                let message = format!("there is no command `{program}`, which `{}` names", self.option());
                return Err(Error::unusable(message, INSTALL_IT));
            }
        }
        Ok(())
    }

    /// Returns a message for each model that belongs to another client than this agent's: those of `models` where the
    /// command takes a model, and those that it names itself.
    pub fn odd_models(&self, models: &[String]) -> Vec<String> {
        let Some(client) = client(self) else { return Vec::new() };
        let is_told = self.takes("{model}");
        let models = models.iter().filter(|_| is_told).cloned().chain(self.values_of(&["--model", "-m"]));
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

    /// Returns the models that the agent's client has, the cheapest first, where the client is known.
    pub fn known_models(&self) -> Option<Vec<String>> {
        let client = client(self)?;
        let (_, models) = MODELS_OF.iter().find(|(name, _)| *name == client)?;
        Some(models.map(str::to_owned).into())
    }
}

/// Returns the line in which a shell says that there is no such command, where that is how it ended.
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
    let programs = [Some(agent.program().to_owned()), inner(agent)].into_iter().flatten();
    programs.into_iter().find_map(|program| {
        let name = program.rsplit('/').next().unwrap_or_default();
        MODELS_OF.iter().map(|(client, _)| *client).find(|client| *client == name)
    })
}

/// Returns whose model a name is.
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
    let name = command.program().rsplit('/').next()?;
    let mut arguments = command.words().iter();
    if name == "env" {
        return arguments.find(|word| !word.contains('=')).filter(|word| !word.starts_with(['-', '{'])).cloned();
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

fn is_in_path(program: &str, folder: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    std::env::split_paths(&path).any(|place| is_program(&folder.join(place).join(program)))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns the error for a program that exists and may not be run.
pub(super) fn not_executable(program: &str) -> Error {
    let message = format!("`{program}` cannot be run: it is not executable");
    Error::unusable(message, "`chmod +x` makes a script executable")
}

#[cfg(test)]
mod tests {
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
        assert_eq!(command("/opt/bin/claude -p").known_models().unwrap(), ["haiku", "sonnet", "opus"]);
        assert!(command("sh -c 'codex exec -'").known_models().unwrap()[0].starts_with("gpt-"));
        assert_eq!(command("./agent.sh").known_models(), None);
    }
}
