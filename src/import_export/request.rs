//! What a caller asks to import.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::sources::ImportSource;
use crate::entry::Source;
use crate::error::{Error, Result};

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
    /// The folder in which opencode keeps its data, mostly `~/.local/share/opencode`, or its database.
    pub opencode: Option<PathBuf>,
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

/// What is read.
///
/// ```
/// use ralph_memory::memory::ImportInput;
/// let line = br#"{"title":"Page size","body":"50 rows."}"#;
/// assert_ne!(ImportInput::Text(line.to_vec()), ImportInput::Path("memories.jsonl".into()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportInput {
    /// The usual place of the source, in the project or among the agents' files.
    UsualPlace(AgentFolders),
    /// This file or folder.
    Path(PathBuf),
    /// This text, for [`ImportSource::Jsonl`].
    Text(Vec<u8>),
}

/// Where the fields of JSON objects are: names, with `.` between those of nested objects. Without one, the names that
/// exports of other memories use are tried.
///
/// ```
/// use ralph_memory::memory::JsonlFields;
/// let fields = JsonlFields { body: Some("memory.text".into()), ..JsonlFields::default() };
/// assert_eq!(fields.title, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct JsonlFields {
    pub title: Option<String>,
    pub body: Option<String>,
    pub tags: Option<String>,
    pub category: Option<String>,
    /// The field by which a repeated import recognises the object; without one, its title and body.
    pub id: Option<String>,
}

/// An import.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::{ImportAction, ImportInput, ImportRequest, ImportSource};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// std::fs::write(root.join("AGENTS.md"), "## Tests\n\nRun `just test`.\n")?;
/// let request = ImportRequest::new(ImportSource::Sections, ImportInput::UsualPlace(Default::default()));
/// let tried = memory.import(&ImportRequest { dry_run: true, ..request.clone() })?;
/// assert_eq!(tried.items[0].action, ImportAction::Added);
/// assert!(memory.list(&Default::default()).entries.is_empty());
/// memory.import(&request)?;
/// assert_eq!(memory.import(&request)?.items[0].action, ImportAction::Unchanged);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRequest {
    /// The source.
    pub source: ImportSource,
    /// What is read.
    pub input: ImportInput,
    /// Whether to report what would be done, and do nothing.
    pub dry_run: bool,
    /// More tags for each new entry.
    pub tags: Vec<String>,
    /// Who wrote what people mostly write: all but what agents keep for themselves, such as [`ImportSource::ClaudeMemory`].
    pub writer: Source,
    /// Sessions that ended before this are left out.
    pub since: Option<DateTime<Utc>>,
    /// Where the fields of JSON Lines are.
    pub fields: JsonlFields,
    /// The session that is still going on, which is left out.
    pub ongoing: Option<String>,
}

impl ImportRequest {
    /// Returns a request with the defaults: everything is imported, as written by a person.
    pub fn new(source: ImportSource, input: ImportInput) -> ImportRequest {
        ImportRequest {
            source,
            input,
            dry_run: false,
            tags: Vec::new(),
            writer: Source::Human,
            since: None,
            fields: JsonlFields::default(),
            ongoing: None,
        }
    }

    /// Refuses a text where only files can be imported.
    pub(super) fn check_input(&self) -> Result<()> {
        let source = self.source;
        match &self.input {
            ImportInput::Text(_) if source != ImportSource::Jsonl => {
                let word = source.as_str();
                let reason = format!("`-` is for `jsonl`, and {word} reads files: name a file or a folder");
                Err(Error::invalid("PATH", reason))
            }
            _ => Ok(()),
        }
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
