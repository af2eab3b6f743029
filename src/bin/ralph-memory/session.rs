//! The input of every command: the selected memory, the settings and the time.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use clap::{Args, ColorChoice};
use ralph_memory::memory::{AgentFolders, StateFolders};
use ralph_memory::settings::ENV_PREFIX;
use ralph_memory::system::posix::{is_pipe, variable};
use ralph_memory::{Error, Id, Memory};

use crate::authors::author;
use crate::error::UsageError;
use crate::ui::Ui;
use crate::{activity, own, parse, project_paths};

/// The variable that names the user's own settings file.
const CONFIG_VARIABLE: &str = "RALPH_MEMORY_CONFIG";
/// The variable that switches the memory off for agents with the value 0.
const SWITCH: &str = "RALPH_MEMORY";
/// The variable that `run` sets for a client to which it hands a server of its own.
const OFFERED: &str = "RALPH_MEMORY_OFFERED";

/// The options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Globals {
    /// The folder that holds `.ralph/` [default: the nearest one upward]
    #[arg(long, global = true, value_name = "FOLDER", help_heading = "Global options")]
    root: Option<PathBuf>,
    /// Use your own memory, which `init --own` makes, instead of the project's
    #[arg(long, global = true, help_heading = "Global options")]
    own: bool,
    /// Run as if started in this folder; relative paths, including that of `--root`, start there
    #[arg(short = 'C', global = true, value_name = "FOLDER", help_heading = "Global options")]
    directory: Vec<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long, global = true, help_heading = "Global options")]
    json: bool,
    /// Show no progress of long operations or of a run's agent, and no notes or hints beside the answer; warnings and
    /// errors stay
    #[arg(long, short, global = true, help_heading = "Global options")]
    quiet: bool,
    /// Whether the output has colours; `auto`: on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global options")]
    color: ColorChoice,
    /// The time to use instead of the clock
    #[arg(long, global = true, hide = true, value_name = "TIME", value_parser = parse::time)]
    now: Option<DateTime<Utc>>,
    /// How long a command waits for another one that writes, in milliseconds
    #[arg(long, global = true, hide = true, value_name = "MS")]
    lock_timeout: Option<u64>,
    /// The feature of the agent that a server answers.
    #[arg(skip)]
    feature: Option<String>,
}

impl Globals {
    /// Returns the time.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.now.unwrap_or_else(Utc::now)
    }

    /// Returns whether the answer is one JSON object.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Returns when the output has colours.
    pub(crate) fn color(&self) -> ColorChoice {
        self.color
    }

    /// Goes to the folders of `-C`.
    pub(crate) fn enter_folder(&self) -> anyhow::Result<()> {
        for folder in &self.directory {
            project_paths::check_folder(folder)?;
            let failed = |source| Error::Io { action: "enter", path: folder.clone(), source };
            std::env::set_current_dir(folder).map_err(failed)?;
        }
        Ok(())
    }

    /// Returns whether an option names the memory's place, which a client's variables and messages do not override.
    fn names_place(&self) -> bool {
        self.names_root() || !self.directory.is_empty()
    }

    /// Returns whether the user named a folder.
    pub(crate) fn names_root(&self) -> bool {
        self.own || self.root.is_some()
    }

    /// Returns whether the memory is the person's own.
    pub(crate) fn is_own(&self) -> bool {
        self.own
    }

    /// Returns the options for these entries: with the person's own memory where their ids begin with `own:`, which is taken
    /// off.
    pub(crate) fn of_ids<'a>(
        &self,
        ui: &mut Ui<'_>,
        ids: impl IntoIterator<Item = &'a mut Id>,
    ) -> anyhow::Result<Globals> {
        let is_own = own::take_prefix(ids.into_iter())?;
        let globals = Globals { own: self.own || is_own, ..self.clone() };
        if is_own && !self.own {
            globals.tell_own(ui);
        }
        Ok(globals)
    }

    /// Says that a command works in the person's own memory, if it does.
    pub(crate) fn tell_own(&self, ui: &mut Ui<'_>) {
        if self.own
            && let Ok(folder) = own::existing()
        {
            ui.own = true;
            ui.note(&format!("in your own memory, {}", folder.display()));
        }
    }

    /// Returns the folder that an option names.
    fn root(&self) -> anyhow::Result<Option<PathBuf>> {
        match (&self.root, self.own) {
            (Some(_), true) => {
                Err(UsageError::new("`--own` and `--root` name two memories", "leave one of them out").into())
            }
            (None, true) => Ok(Some(own::existing()?)),
            (root, false) => Ok(root.clone()),
        }
    }

    /// Returns the named folder, else the working folder.
    pub(crate) fn start(&self) -> anyhow::Result<PathBuf> {
        match self.root()? {
            Some(root) => Ok(root),
            None => working_folder(),
        }
    }

    /// Returns whether progress is shown as it happens: to a person, on a terminal.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.json && !self.quiet && activity::is_terminal()
    }

    /// Returns whether a run's progress should not be reported.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Opens the selected memory, with the user's settings. Long work shows progress.
    pub(crate) fn open(&self) -> anyhow::Result<Memory> {
        let memory = self.open_in(None)?;
        if own::is_at(memory.root()) {
            own::leave_to_person()?;
        }
        Ok(if self.shows_progress() { memory.with_observer(activity::observe) } else { memory })
    }

    /// Returns these options with another place of the memory.
    pub(crate) fn placed(&self, directory: Vec<PathBuf>, root: Option<PathBuf>) -> Globals {
        Globals { root, directory, own: false, ..self.clone() }
    }

    /// Returns these options for an agent whose task is of this feature.
    pub(crate) fn of_feature(&self, feature: Option<String>) -> Globals {
        Globals { feature, ..self.clone() }
    }

    /// Returns the feature of the agent's task.
    pub(crate) fn feature(&self) -> Option<&str> {
        self.feature.as_deref()
    }

    /// Does what [`Globals::open`] does for a server of an agent, which sees nothing of another feature than its own. The
    /// client may start it in any folder, and names the project in a variable.
    pub(crate) fn open_for_agent(&self) -> anyhow::Result<Memory> {
        if is_switched_off() {
            let hint = format!("remove `{SWITCH}=0` from the environment of the agent's client");
            let message = format!("the memory is switched off for agents by `{SWITCH}=0`");
            return Err(UsageError { message, hint }.into());
        }
        let project = std::env::var_os("CLAUDE_PROJECT_DIR").filter(|folder| !folder.is_empty());
        let memory = own::hide_from_client(self.open_in(project.as_ref().map(Path::new))?)?;
        Ok(match self.feature() {
            Some(feature) => memory.of_feature(feature),
            None => memory,
        })
    }

    /// Returns whether a server has anything to offer: one that a client starts in every project says nothing in a project
    /// without a memory, nor beside the one that `run` hands to the client, nor where the memory is switched off.
    pub(crate) fn serves(&self) -> bool {
        let is_second = || std::env::var_os(OFFERED).is_some();
        let is_here = || !self.open_for_agent().is_err_and(|error| is_elsewhere(&error));
        !is_switched_off() && (self.names_place() || !is_second() && is_here())
    }

    /// Does what [`Globals::open_in`] does where the settings cannot be read, with the default ones.
    pub(crate) fn open_without_settings_in(&self, folder: Option<&Path>) -> anyhow::Result<Memory> {
        let memory = Memory::open_without_settings(self.root()?.as_deref(), &self.start_in(folder)?)?;
        Ok(self.configured(memory.keeping_in(state_folders())))
    }

    /// Returns from where the memory is looked for: the folder that a client names, else the working folder.
    fn start_in(&self, folder: Option<&Path>) -> anyhow::Result<PathBuf> {
        match folder {
            Some(folder) if !self.names_place() => Ok(folder.to_owned()),
            _ if self.names_root() => Ok(PathBuf::new()),
            _ => working_folder(),
        }
    }

    /// Does what [`Globals::open`] does without progress, for a client that may name the folder of its session.
    pub(crate) fn open_in(&self, folder: Option<&Path>) -> anyhow::Result<Memory> {
        let (start, root) = (self.start_in(folder)?, self.root()?);
        if let Some(root) = &root {
            project_paths::check_folder(root)?;
        }
        let path = user_settings(&|name| variable(name).map(PathBuf::from));
        let user = match &path {
            Some(path) => read(path)?.map(|text| (text, path.display().to_string())),
            None => None,
        };
        let user = user.as_ref().map(|(text, path)| (text.as_str(), path.as_str()));
        // A variable of another program may not be UTF-8.
        let variables: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| name.starts_with(ENV_PREFIX))
            .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
            .collect();
        let variables = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let memory = Memory::open_for_user(root.as_deref(), &start, user, variables)?;
        // What is a person's own is sent to no server.
        let memory = if own::is_at(memory.root()) { memory.without_servers() } else { memory };
        Ok(self.configured(memory.keeping_in(state_folders()).beside_own(own::to_read())))
    }

    fn configured(&self, memory: Memory) -> Memory {
        let memory = memory.by(author());
        let memory = match self.lock_timeout {
            Some(timeout) => memory.with_lock_timeout(Duration::from_millis(timeout)),
            None => memory,
        };
        match self.now {
            Some(now) => memory.with_clock(move || SystemTime::from(now)),
            None => memory,
        }
    }
}

/// Returns the folder for attempts that cannot be written to the journal.
pub(crate) fn state_folders() -> StateFolders {
    StateFolders::of_user(&variable)
}

/// Returns whether the error is that the folder has no memory for this user.
pub(crate) fn is_elsewhere(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::NoMemory { .. } | Error::ForeignOwner { .. }))
}

/// Returns whether hooks and the MCP server are switched off, all of them with one variable.
pub(crate) fn is_switched_off() -> bool {
    std::env::var_os(SWITCH).is_some_and(|value| value == "0")
}

/// Returns the folders in which Claude Code, Codex and opencode keep their files of this user.
pub(crate) fn agent_folders() -> AgentFolders {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let below_home = |name: &str| set("HOME").map(|home| home.join(name));
    AgentFolders {
        claude: set("CLAUDE_CONFIG_DIR").or_else(|| below_home(".claude")),
        codex: set("CODEX_HOME").or_else(|| below_home(".codex")),
    }
}

/// Returns the run of the session whose client runs this process.
pub(crate) fn session_of_environment(memory: &Memory) -> Option<String> {
    memory.active_session(client_of_environment())
}

/// Returns the client that runs this process, and the id of its session.
pub(crate) fn client_of_environment() -> Option<(&'static str, String)> {
    let set = |name: &str| std::env::var(name).ok().filter(|id| !id.is_empty());
    let variables = [("claude", "CLAUDE_CODE_SESSION_ID"), ("codex", "CODEX_THREAD_ID")];
    variables.into_iter().find_map(|(client, name)| Some((client, set(name)?)))
}

fn working_folder() -> anyhow::Result<PathBuf> {
    Ok(std::env::current_dir().map_err(|source| Error::Io { action: "find", path: ".".into(), source })?)
}

/// Returns the path of the user's own settings file, which may not exist.
fn user_settings(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
    if let Some(path) = set(CONFIG_VARIABLE) {
        return Some(path);
    }
    // The base directory specification says that relative paths are ignored.
    let folder = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let folder = folder.or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("ralph-memory").join("config.toml"))
}

/// Reads the user's own settings. Only a file that the user named must exist.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    if std::env::var_os(CONFIG_VARIABLE).is_some_and(|named| named == path.as_os_str()) {
        project_paths::check_file(path, &format!(", which `{CONFIG_VARIABLE}` names,"))?;
    }
    // Nobody may ever write into a pipe.
    if is_pipe(path) {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        return Err(Error::Io { action: "read", path: path.to_owned(), source }.into());
    }
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(source) => Err(Error::Io { action: "read", path: path.to_owned(), source }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_settings_file_is_found() {
        let check = |variables: &[(&str, &str)], expected: Option<&str>| {
            let variable =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| PathBuf::from(value));
            assert_eq!(user_settings(&variable), expected.map(PathBuf::from), "{variables:?}");
        };
        let home = ("HOME", "/h");
        check(&[], None);
        check(&[home], Some("/h/.config/ralph-memory/config.toml"));
        check(&[home, ("XDG_CONFIG_HOME", "/x")], Some("/x/ralph-memory/config.toml"));
        check(&[home, ("XDG_CONFIG_HOME", "x")], Some("/h/.config/ralph-memory/config.toml"));
        check(&[home, ("XDG_CONFIG_HOME", "")], Some("/h/.config/ralph-memory/config.toml"));
        check(&[home, ("RALPH_MEMORY_CONFIG", "own.toml")], Some("own.toml"));
        check(&[home, ("RALPH_MEMORY_CONFIG", "")], Some("/h/.config/ralph-memory/config.toml"));
    }
}
