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

/// The variable that has the chosen model.
pub(super) const MODEL_VARIABLE: &str = "RALPH_MODEL";
/// How much of a script is searched for that variable, in bytes.
const MAX_SCRIPT: u64 = 64 * 1024;
/// How the names of the models of each client begin.
const PREFIXES: [(&str, &[&str]); 3] = [
    ("claude", &["claude", "haiku", "sonnet", "opus"]),
    ("codex", &["gpt-", "o3", "o4", "codex"]),
    ("gemini", &["gemini", "flash"]),
];
/// A client that has the models of all vendors, and of which no list is known.
const OF_ALL_VENDORS: &str = "opencode";
/// The exit status of a command that could not be run, as a shell reports it.
const NOT_RUN: i32 = 127;
/// Where programs are found if there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

impl CommandLine {
    /// Checks that the program, and the one that `env` runs, exists and is executable. Relative paths begin in `folder`. A command
    /// that a shell does not find ends the run with its first attempt.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] where it does not.
    pub fn check_program(&self, folder: &Path) -> Result<()> {
        for program in self.programs() {
            let Some(path) = path_of(program, folder) else {
                let message = format!("there is no command `{program}`, which `{}` names", self.option());
                return Err(Error::unusable(message, INSTALL_IT));
            };
            if program_at(path).is_none() {
                return Err(not_executable(program));
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
        if self.programs().any(|program| name_of(program) == OF_ALL_VENDORS) && self.passes_model(folder) {
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
            || self.programs().any(|program| path_of(program, folder).is_some_and(|path| has_variable(&path)))
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

    /// Returns the program, and the one that `env` runs.
    fn programs(&self) -> impl Iterator<Item = &str> {
        let inner = self.direct_client().and_then(|(_, at)| self.words().get(at.checked_sub(1)?));
        let inner = inner.filter(|word| !word.starts_with(['-', '{']));
        [Some(self.program()), inner.map(String::as_str)].into_iter().flatten()
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
    let (name, _) = agent.direct_client()?;
    MODELS_OF.iter().map(|(client, _)| *client).find(|client| *client == name)
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

fn family(model: &str) -> Option<&'static str> {
    let model = model.to_lowercase();
    let of_list = MODELS_OF.iter().find(|(_, models)| models.contains(&model.as_str())).map(|(client, _)| *client);
    let is_named = |(_, starts): &&(&str, &[&str])| starts.iter().any(|start| model.starts_with(start));
    of_list.or_else(|| PREFIXES.iter().find(is_named).map(|(client, _)| *client))
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
    fn a_program_must_exist_also_behind_env() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("here.sh", 0o755), ("text.sh", 0o644)] {
            std::fs::write(folder.path().join(name), "").unwrap();
            std::fs::set_permissions(folder.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let missing = |text: &str| {
            let verify = CommandLine::parse("--verify", text).unwrap();
            verify.check_program(folder.path()).err().map(|error| error.to_string())
        };
        for good in ["sh", "./here.sh", "env A=b sh x", "env -i no-such-thing", "sh -c no-such-thing"] {
            assert_eq!(missing(good), None, "{good}");
        }
        let told = |program: &str| Some(format!("there is no command `{program}`, which `--verify` names"));
        assert_eq!(missing("carg test"), told("carg"));
        assert_eq!(missing("env A=b carg"), told("carg"));
        assert_eq!(missing("./gone.sh"), told("./gone.sh"));
        for text in ["./text.sh", "env A=b ./text.sh"] {
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
        assert!(known("env A=b codex exec -").unwrap()[0].starts_with("gpt-"));
        assert_eq!([known("./agent.sh"), known("opencode run")], [None, None]);
    }
}
