//! The table of the sources: where each is, which files belong to it, and who reads it.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use super::files::{ImportFile, file_name, has_extension};
use super::gathered::SourceContent;
use super::report::ImportReport;
use super::request::{ImportRequest, ImportSource};
use super::{adr, claude_memory, jsonl, markdown, ralph, rules, stream, transcripts};
use crate::error::Result;
use crate::semantic::SemanticMemory;
use crate::store::SourceFolder;
use crate::workspace::Workspace;

/// How many names of a folder decide what it holds.
const MAX_NAMES: usize = 10_000;
/// How much of a file of JSON Lines decides what it holds, in bytes.
const MAX_HEAD: u64 = 64 * 1024;
/// How many of its lines do. Some clients begin a session with lines that do not name it.
const MAX_LINES: usize = 20;

/// What the program knows of a source.
pub(super) struct SourceRow {
    pub(super) word: &'static str,
    pub(super) help: &'static str,
    /// The files and folders of the project in which it usually is.
    pub(super) places: &'static [&'static str],
    /// Whether a file at this path can be one of the source.
    pub(super) wanted: fn(&str) -> bool,
    pub(super) read: SourceReader,
}

/// How a source is read.
pub(super) enum SourceReader {
    /// File by file, each with its frontmatter split off. An error says why a file is skipped.
    EachFile(fn(&Workspace, &ImportRequest, &ImportFile, &mut SourceContent) -> std::result::Result<(), String>),
    /// All at once.
    Whole(fn(&Workspace, &ImportRequest, &mut SourceContent) -> Result<()>),
    /// By a reader that writes as well. It also returns the paths of written files that have no vectors yet.
    Writing(fn(&Workspace, &SemanticMemory, &ImportRequest) -> Result<(ImportReport, Vec<String>)>),
}

use SourceReader::{EachFile, Whole, Writing};

/// The sources, in the order of [`ImportSource::ALL`].
pub(super) const SOURCES: [SourceRow; 9] = [
    SourceRow {
        word: "sections",
        help: "AGENTS.md, CLAUDE.md and the like: each section of the second and third level becomes an entry",
        places: &["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"],
        wanted: |path| matches!(file_name(path), "AGENTS.md" | "CLAUDE.md" | "GEMINI.md" | "copilot-instructions.md"),
        read: EachFile(markdown::sections),
    },
    SourceRow {
        word: "rules",
        help: "Rules for Cursor, Copilot, Claude Code, Devin, Windsurf, Kiro and Cline: each file becomes an entry about the paths that it is for",
        places: &[
            ".cursor/rules",
            ".cursorrules",
            ".github/instructions",
            ".claude/rules",
            ".devin/rules",
            ".windsurf/rules",
            ".windsurfrules",
            ".kiro/steering",
            ".clinerules",
            ".agents/rules",
            ".continue/rules",
        ],
        wanted: |path| {
            let is_markdown = has_extension(path, "mdc") || has_extension(path, "md");
            // In this folder of GitHub's, and only there, other files may be.
            is_markdown && (!path.contains(".github/instructions/") || path.ends_with(".instructions.md"))
                || is_rule_by_name(file_name(path))
        },
        read: EachFile(rules::read),
    },
    SourceRow {
        word: "claude-memory",
        help: "Claude Code's own memory of this project: each file becomes an entry, except those about you",
        places: &[],
        wanted: |path| has_extension(path, "md"),
        read: EachFile(claude_memory::read),
    },
    SourceRow {
        word: "adr",
        help: "Architecture decision records (Nygard, MADR): each becomes an entry that replaces those that it supersedes",
        places: &[
            "docs/adr",
            "docs/adrs",
            "docs/ADR",
            "docs/decisions",
            "docs/architecture/decisions",
            "docs/architecture/adr",
            "docs/architecture-decisions",
            "doc/adr",
            "doc/arch",
            "adr",
            "adrs",
        ],
        wanted: |path| has_extension(path, "md") && adr::number_of(path).is_some(),
        read: Whole(adr::gather),
    },
    SourceRow {
        word: "memory-bank",
        help: "A folder of markdown, such as Cline's memory bank: each section becomes an entry, or the file if it has a title",
        places: &["memory-bank", ".serena/memories", "cline_docs", ".memory-bank"],
        wanted: |path| has_extension(path, "md") || has_extension(path, "markdown"),
        read: EachFile(markdown::memory_bank),
    },
    SourceRow {
        word: "jsonl",
        help: "JSON Lines: each object becomes an entry",
        places: &[],
        wanted: |path| has_extension(path, "jsonl") || has_extension(path, "ndjson"),
        read: Whole(jsonl::gather),
    },
    SourceRow {
        word: "ralph",
        help: "The database of `RefoundAI/ralph`, read with `sqlite3`: each row of its journal becomes an attempt",
        places: &[".ralph/progress.db"],
        wanted: |path| ["db", "sqlite", "sqlite3"].iter().any(|extension| has_extension(path, extension)),
        read: Whole(ralph::gather),
    },
    SourceRow {
        word: "transcripts",
        help: "Past sessions of Claude Code and Codex in this project: each that changed files or reported something becomes an attempt",
        places: &[],
        wanted: |path| has_extension(path, "jsonl"),
        read: Writing(transcripts::import),
    },
    SourceRow {
        word: "export",
        help: "What `export` printed: each file is written as it was",
        places: &[],
        wanted: |path| has_extension(path, "jsonl"),
        read: Writing(|workspace, _, request| stream::take_back(workspace, request)),
    },
];

/// Returns whether a file is a rule for an editor, whatever its folder.
fn is_rule_by_name(name: &str) -> bool {
    matches!(name, ".cursorrules" | ".windsurfrules" | ".clinerules")
        || name.ends_with(".mdc")
        || name.ends_with(".instructions.md")
}

/// Returns the source that a file or a folder belongs to: by the usual places, else by names, else by the first line of
/// JSON Lines.
pub(super) fn source_of(path: &Path) -> Option<ImportSource> {
    let full = path.canonicalize().ok()?;
    let is_folder = full.is_dir();
    let parent = SourceFolder::open(if is_folder { &full } else { full.parent()? }).ok()?;
    if let Some(source) = by_place(full.to_str()?, is_folder) {
        return Some(source);
    }
    if !is_folder {
        return by_name(&parent, full.file_name()?.to_str()?);
    }
    let entries = std::fs::read_dir(&full).ok()?.flatten().take(MAX_NAMES);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let found = names.iter().filter_map(|name| by_name(&parent, name));
    // Nearly every folder has other markdown, too.
    found.min_by_key(|source| *source == ImportSource::MemoryBank)
}

/// Returns the source in whose usual place a path lies.
fn by_place(path: &str, is_folder: bool) -> Option<ImportSource> {
    let is_in = |place: &str| {
        path.match_indices(place).any(|(at, _)| {
            let rest = &path[at + place.len()..];
            path[..at].ends_with('/') && (rest.is_empty() || !is_folder && rest.starts_with('/'))
        })
    };
    ImportSource::ALL.into_iter().find(|source| {
        let row = source.row();
        row.places.iter().any(|place| is_in(place)) && (is_folder || (row.wanted)(path))
    })
}

/// Returns the source that a file belongs to by its name.
fn by_name(folder: &SourceFolder, name: &str) -> Option<ImportSource> {
    let wants = |source: ImportSource| (source.row().wanted)(name).then_some(source);
    if name == claude_memory::INDEX {
        return Some(ImportSource::ClaudeMemory);
    }
    if is_rule_by_name(name) {
        return Some(ImportSource::Rules);
    }
    if wants(ImportSource::Jsonl).is_some() {
        let mut head = Vec::new();
        folder.file(name).ok()?.take(MAX_HEAD).read_to_end(&mut head).ok()?;
        return Some(source_of_lines(&head));
    }
    wants(ImportSource::Sections)
        .or_else(|| wants(ImportSource::Adr).filter(|_| adr::is_record_name(name)))
        .or_else(|| wants(ImportSource::MemoryBank))
        .or_else(|| wants(ImportSource::Ralph))
}

/// Returns the source of JSON Lines by the first of them.
pub(super) fn source_of_lines(text: &[u8]) -> ImportSource {
    let lines = text.split(|byte| *byte == b'\n').take(MAX_LINES);
    let objects = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let of_object = |object: Value| match object.get("type").and_then(Value::as_str) {
        Some("begin") if object.get("schema_version").is_some() => Some(ImportSource::Export),
        Some("session_meta") => Some(ImportSource::Transcripts),
        _ => object.get("sessionId").map(|_| ImportSource::Transcripts),
    };
    objects.filter_map(of_object).next().unwrap_or(ImportSource::Jsonl)
}
