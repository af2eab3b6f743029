//! What a caller asks to be imported.

use std::path::PathBuf;

use chrono::{DateTime, Utc};

use super::sources::{SOURCES, SourceRow, source_of, source_of_lines};
use crate::entry::Source;
use crate::error::{Error, Result};

/// Where knowledge can come from.
///
/// ```
/// use ralph_memory::memory::ImportSource;
/// assert_eq!(ImportSource::parse("claude-memory"), Some(ImportSource::ClaudeMemory));
/// assert_eq!(ImportSource::MemoryBank.as_str(), "memory-bank");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportSource {
    /// The sections of CLAUDE.md and AGENTS.md.
    Sections,
    /// Rules of editors and agents: Cursor, Copilot, Claude Code, Devin, Windsurf, Kiro, Cline.
    Rules,
    /// Claude Code's own memory of the project.
    ClaudeMemory,
    /// Architecture decision records, in the forms of Nygard and MADR.
    Adr,
    /// A folder of markdown files, such as Cline's memory bank.
    MemoryBank,
    /// One JSON object a line.
    Jsonl,
    /// The `SQLite` database of `RefoundAI/ralph`.
    Ralph,
    /// Past sessions of Claude Code and Codex.
    Transcripts,
    /// What [`Memory::export`](crate::Memory::export) gave.
    Export,
}

impl ImportSource {
    /// All sources, in the order in which they are documented.
    pub const ALL: [ImportSource; 9] = [
        ImportSource::Sections,
        ImportSource::Rules,
        ImportSource::ClaudeMemory,
        ImportSource::Adr,
        ImportSource::MemoryBank,
        ImportSource::Jsonl,
        ImportSource::Ralph,
        ImportSource::Transcripts,
        ImportSource::Export,
    ];

    /// Returns what the program knows of it.
    pub(super) fn row(self) -> &'static SourceRow {
        &SOURCES[self as usize]
    }

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        self.row().word
    }

    /// Returns one line about what is read, and what becomes of it.
    pub fn help(self) -> &'static str {
        self.row().help
    }

    /// Returns the source of this name.
    pub fn parse(name: &str) -> Option<ImportSource> {
        ImportSource::ALL.into_iter().find(|source| source.as_str() == name)
    }

    /// Returns whether it has usual places, in the project or among the agents' files.
    pub fn has_usual_place(self) -> bool {
        !matches!(self, ImportSource::Jsonl | ImportSource::Export)
    }

    /// Returns the source that something belongs to: a file or a folder by its place, its name and, of JSON Lines, its first
    /// lines; a text by its first lines. `None` where nothing says it.
    ///
    /// ```
    /// use ralph_memory::memory::{ImportInput, ImportSource};
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("CLAUDE.md");
    /// std::fs::write(&path, "## Tests\n\nRun `just test`.\n")?;
    /// assert_eq!(ImportSource::of(&ImportInput::Path(path)), Some(ImportSource::Sections));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(input: &ImportInput) -> Option<ImportSource> {
        match input {
            ImportInput::UsualPlace(_) => None,
            ImportInput::Path(path) => source_of(path),
            ImportInput::Text(text) => Some(source_of_lines(text)),
        }
    }
}

/// The folders in which agents keep their files of this user. Without one, its usual place is not searched.
///
/// ```
/// use ralph_memory::memory::AgentFolders;
/// let folders = AgentFolders { claude: Some("/home/dev/.claude".into()), codex: None };
/// assert!(folders.codex.is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentFolders {
    /// Claude Code's, mostly `~/.claude`.
    pub claude: Option<PathBuf>,
    /// Codex's, mostly `~/.codex`.
    pub codex: Option<PathBuf>,
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
    /// This text, for [`ImportSource::Jsonl`] and [`ImportSource::Export`].
    Text(Vec<u8>),
}

/// Where the fields of JSON Lines are: names, with `.` between those of nested objects. Without one, the names that
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
    /// What a repeated import recognises the object by; without one, its title and body.
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
    /// Who wrote what people mostly write: all but [`ImportSource::ClaudeMemory`], which is by an agent.
    pub writer: Source,
    /// Sessions that ended before this are left out.
    pub since: Option<DateTime<Utc>>,
    /// Where the fields of JSON Lines are.
    pub fields: JsonlFields,
    /// The session that is still going on, which is left out.
    pub ongoing: Option<String>,
    /// Whether [`ImportSource::Export`] takes texts with invisible characters, as your own exports may have.
    pub allow_invisible: bool,
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
            allow_invisible: false,
        }
    }

    /// Refuses a text where only files can be imported, and the usual place of a source that has none.
    pub(super) fn check_input(&self) -> Result<()> {
        let source = self.source;
        match &self.input {
            ImportInput::Text(_) if source.has_usual_place() => {
                let word = source.as_str();
                let reason =
                    format!("`-` is for `jsonl` and `export`, and {word} reads files: name a file or a folder");
                Err(Error::invalid("PATH", reason))
            }
            ImportInput::UsualPlace(_) if !source.has_usual_place() => {
                let what = if source == ImportSource::Jsonl { "JSON Lines have" } else { "an export has" };
                let reason = format!("{what} no usual place: name a file, or `-` for standard input");
                Err(Error::invalid("PATH", reason))
            }
            _ => Ok(()),
        }
    }
}
