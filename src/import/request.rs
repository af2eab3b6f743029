//! What a caller asks to import.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::text::choice;

/// The folders in which agents keep their files of this user. Without one, its usual place is not searched.
///
/// ```
/// use ralph_memory::memory::AgentFolders;
/// let folders = AgentFolders { claude: Some("/home/dev/.claude".into()), ..AgentFolders::default() };
/// assert!(folders.codex.is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentFolders {
    /// Claude Code's, mostly `~/.claude`.
    pub claude: Option<PathBuf>,
    /// Codex's, mostly `~/.codex`.
    pub codex: Option<PathBuf>,
}

impl AgentFolders {
    /// Returns Claude Code's folder for the project at `root`, which may not exist. Its name is the path of the project, with
    /// `-` for all but ASCII letters and digits.
    pub(super) fn claude_project(&self, root: &Path) -> Option<PathBuf> {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Some(self.claude.as_ref()?.join("projects").join(project_name(&root)))
    }
}

fn project_name(root: &Path) -> String {
    let root = root.to_string_lossy();
    root.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '-' }).collect()
}

choice! {
    /// How a file is read.
    ///
    /// ```
    /// use ralph_memory::memory::ImportKind;
    /// assert_eq!(ImportKind::parse("jsonl"), Some(ImportKind::Jsonl));
    /// ```
    pub enum ImportKind {
        /// Notes, decision records and rules, told apart by their names.
        Markdown = "markdown",
        /// Rules for agents, whatever the file is called.
        Rules = "rules",
        /// JSON Lines with `title`, `body`, `tags`, `category` and `created_at`.
        Jsonl = "jsonl",
        /// Past sessions of Claude Code and Codex, and event streams that somebody saved.
        Transcript = "transcript",
    }
}

/// What is read.
///
/// ```
/// use ralph_memory::memory::ImportInput;
/// let line = br#"{"title":"Page size","body":"50 rows."}"#;
/// assert_ne!(ImportInput::Text(line.to_vec()), ImportInput::Paths(vec!["memories.jsonl".into()]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportInput {
    /// The usual places of rules, records and notes in the project, and of sessions and notes among the agents' files.
    UsualPlaces(AgentFolders),
    /// These files and folders.
    Paths(Vec<PathBuf>),
    /// These JSON Lines.
    Text(Vec<u8>),
}

/// An import.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::{ImportAction, ImportInput, ImportRequest};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// std::fs::write(root.join("AGENTS.md"), "## Tests\n\n- Run `just test` before each commit.\n")?;
/// let request = ImportRequest::new(ImportInput::Paths(vec![root.join("AGENTS.md")]));
/// let tried = memory.import(&ImportRequest { dry_run: true, ..request.clone() })?;
/// assert_eq!(tried.items[0].action, ImportAction::Added);
/// assert!(memory.list(&Default::default()).entries.is_empty());
/// memory.import(&request)?;
/// assert_eq!(memory.import(&request)?.items[0].action, ImportAction::Unchanged);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRequest {
    /// What is read.
    pub input: ImportInput,
    /// How it is read; without it, names and extensions say it. With [`ImportInput::UsualPlaces`], only this is read.
    pub kind: Option<ImportKind>,
    /// Whether to report what would be done, and do nothing.
    pub dry_run: bool,
    /// More tags for each new entry.
    pub tags: Vec<String>,
    /// Sessions that ended before this are left out.
    pub since: Option<DateTime<Utc>>,
    /// The session that is still going on, which is left out.
    pub ongoing: Option<String>,
}

impl ImportRequest {
    /// Returns a request with the defaults: everything is imported, as written by a person.
    pub fn new(input: ImportInput) -> ImportRequest {
        ImportRequest { input, kind: None, dry_run: false, tags: Vec::new(), since: None, ongoing: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_project_is_named_by_its_path() {
        assert_eq!(project_name(Path::new("/home/dev/my_project.rs")), "-home-dev-my-project-rs");
    }
}
