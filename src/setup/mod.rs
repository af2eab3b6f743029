//! Connects a memory to the clients of coding agents: registers the server and the hooks, and adds instructions.
//!
//! An existing file only gets insertions, at places that a parser finds, so comments, order and formatting survive. All
//! clients are planned before anything is written; a file that cannot be edited safely, or has another entry of this
//! name, is refused, with everything else of that client. A removal takes out what is as setup writes it, and names the
//! rest.
//!
//! This module knows the files of clients, but nothing about memories. It starts no program.
//!
//! ```
//! use ralph_memory::setup::{Setup, SetupClient, SetupOptions, SetupScope};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (project, home) = (folder.path().join("project"), folder.path().join("home"));
//! # std::fs::create_dir(&project)?;
//! # std::fs::create_dir(&home)?;
//! // A program passes `&|name| std::env::var_os(name)`.
//! let variable = |name: &str| (name == "HOME").then(|| home.clone().into_os_string());
//! let program = std::path::Path::new("/usr/local/bin/ralph-memory");
//! let setup = Setup::new(&project, program, &variable);
//! let plan = setup.plan(&[SetupClient::Cursor], SetupScope::Project, SetupOptions::default())?;
//! assert!(plan.files.iter().any(|file| file.diff.contains("+    \"ralph-memory\": {")));
//! plan.apply()?;
//! assert!(project.join(".cursor/mcp.json").exists());
//!
//! setup.plan_removal(&[SetupClient::Cursor], SetupScope::Project)?.apply()?;
//! assert_eq!(std::fs::read_dir(&project)?.count(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply;
mod block;
mod client;
mod client_files;
mod entry;
mod format;
mod hook_line;
mod hooks;
mod json;
mod lines;
mod locate;
mod plan;
mod planned;
mod program;
mod status;
mod table;
mod toml_config;
mod want;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use self::client::SetupClient;
use self::client_files::read;
use self::entry::WantState;
use self::hook_line::PROGRAM;
use self::locate::Bases;
pub use self::planned::{PlannedAction, PlannedFile, SetupPlan, SetupStep};
use self::program::find_in;
use crate::text::choice;

choice! {
    /// Whose files are set up.
    ///
    /// ```
    /// use ralph_memory::setup::SetupScope;
    /// assert_eq!(SetupScope::default().as_str(), "project");
    /// ```
    #[derive(Default)]
    pub enum SetupScope {
        /// Those of the project, which a team commits.
        #[default]
        Project = "project",
        /// The user's own, which apply to every project.
        User = "user",
    }
}

/// What is set up beside the server, the hooks of a session, the instructions and the skill.
///
/// ```
/// use ralph_memory::setup::SetupOptions;
/// assert!(!SetupOptions::default().each_prompt);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SetupOptions {
    /// A hook at each prompt.
    pub each_prompt: bool,
    /// The permission for Claude Code to call the server's tools without asking.
    pub allow_tools: bool,
    /// No hook at calls of tools.
    pub no_tool_hook: bool,
}

impl SetupOptions {
    /// Everything.
    const ALL: SetupOptions = SetupOptions { each_prompt: true, allow_tools: true, no_tool_hook: false };
}

/// What setup knows about its environment: the folders, this program, and the variables.
///
/// ```
/// use ralph_memory::setup::{Setup, SetupClient, SetupScope};
///
/// # let folder = tempfile::tempdir()?;
/// # let project = folder.path();
/// std::fs::write(project.join("opencode.jsonc"), "{}\n")?;
/// let setup = Setup::new(project, "/usr/bin/ralph-memory".as_ref(), &|_| None);
/// assert_eq!(setup.found(SetupScope::Project), [SetupClient::OpenCode]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Setup {
    bases: Bases,
    /// This program, as it was started.
    program: PathBuf,
    path: Option<OsString>,
}

impl Setup {
    /// Takes the project's folder, the full path of this program as it was started, and the environment `variable`s:
    /// `HOME`, `PATH`, `CLAUDE_CONFIG_DIR`, `CODEX_HOME` and `XDG_CONFIG_HOME`.
    pub fn new(project: &Path, program: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> Setup {
        Setup { bases: Bases::new(project.to_owned(), variable), program: program.to_owned(), path: variable("PATH") }
    }

    /// Returns the clients that are here: those with a file in the project or in the user's folders, those with a program
    /// in `PATH`, and those of [`set_up`](Setup::set_up). Only those that have files in the scope are listed.
    pub fn found(&self, scope: SetupScope) -> Vec<SetupClient> {
        let set_up = self.set_up(scope);
        let is_traced = |client: SetupClient| {
            let (paths, programs) = client.traces();
            paths.iter().any(|(base, path)| self.bases.exists(*base, path))
                || programs.iter().any(|program| find_in(self.path.as_deref(), program).is_some())
        };
        let has_files = |client| !table::files(client, scope, PROGRAM, SetupOptions::default()).is_empty();
        let is_here = |client: &SetupClient| set_up.contains(client) || has_files(*client) && is_traced(*client);
        SetupClient::ALL.iter().copied().filter(is_here).collect()
    }

    /// Returns the clients that are connected here, if only in part, and those with another entry of this name.
    ///
    /// ```
    /// use ralph_memory::setup::{Setup, SetupScope};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path();
    /// std::fs::create_dir(project.join(".cursor"))?;
    /// let setup = Setup::new(project, "/usr/bin/ralph-memory".as_ref(), &|_| None);
    /// assert!(setup.set_up(SetupScope::Project).is_empty() && !setup.found(SetupScope::Project).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_up(&self, scope: SetupScope) -> Vec<SetupClient> {
        let has_any = |client: SetupClient| {
            let table = table::files(client, scope, PROGRAM, SetupOptions::default());
            let mut parts = table.iter().flat_map(|file| self.compared(file).into_iter().map(move |part| (file, part)));
            parts.any(|(file, (want, part))| match part.state {
                _ if client == SetupClient::AgentsMd => part.is_there(),
                // The block and the skill are also those of others.
                _ if want.entry().is_none() => false,
                WantState::Broken(_) => {
                    read(&self.bases, file.base, self.chosen(file)).is_some_and(|text| text.contains(PROGRAM))
                }
                state => state != WantState::Added,
            })
        };
        let mut clients: Vec<SetupClient> =
            SetupClient::ALL.iter().copied().filter(|client| has_any(*client)).collect();
        if clients.len() > 1 {
            clients.retain(|client| *client != SetupClient::AgentsMd);
        }
        clients
    }
}
