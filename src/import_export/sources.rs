//! The table of the sources: where each usually is, and which files belong to it.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use super::session_events::session_of;
use crate::store::Folder;
use crate::text::choice;

/// The file of Claude Code's memory that lists the others.
pub(super) const CLAUDE_INDEX: &str = "MEMORY.md";
/// How many names in a folder are examined to decide what it holds.
const MAX_NAMES: usize = 10_000;
/// The files of instructions that agents read by themselves.
const INSTRUCTIONS: [&str; 4] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", "copilot-instructions.md"];
/// How much of a JSON Lines file is examined to decide what it holds, in bytes.
const MAX_HEAD: u64 = 64 * 1024;
/// How many of its lines are examined. Some clients begin a session with lines that do not name it.
const MAX_LINES: usize = 20;
/// The folder of Kage's packets: markdown, and JSON before its version 4.
const KAGE: &str = ".agent_memory/packets";

choice! {
/// Where knowledge can come from.
///
/// ```
/// use ralph_memory::memory::ImportSource;
/// assert_eq!(ImportSource::parse("claude-memory"), Some(ImportSource::ClaudeMemory));
/// assert_eq!(ImportSource::MemoryBank.as_str(), "memory-bank");
/// ```
#[non_exhaustive]
pub enum ImportSource {
    /// The sections of CLAUDE.md and AGENTS.md.
    Sections = "sections",
    /// Rules of editors and agents: Cursor, Copilot, Claude Code, Devin, Windsurf, Kiro, Cline.
    Rules = "rules",
    /// Claude Code's own memory of the project.
    ClaudeMemory = "claude-memory",
    /// Architecture decision records, in the forms of Nygard and MADR.
    Adr = "adr",
    /// A folder of markdown files, such as Cline's memory bank.
    MemoryBank = "memory-bank",
    /// JSON Lines, or a whole JSON document.
    Jsonl = "jsonl",
    /// The `SQLite` database of `RefoundAI/ralph`.
    Ralph = "ralph",
    /// Past sessions of Claude Code, Codex and opencode: their own files, and event streams that somebody saved.
    Transcripts = "transcripts",
}
}

impl ImportSource {
    /// Returns what the program knows of it.
    pub(super) fn row(self) -> &'static SourceRow {
        &SOURCES[self as usize]
    }

    /// Returns one line about what is read, and what becomes of it.
    pub fn help(self) -> &'static str {
        self.row().help
    }

    /// Returns the source that a file or a folder belongs to: by its place, its name and, of JSON Lines, its first lines.
    /// `None` where nothing says it.
    ///
    /// ```
    /// use ralph_memory::memory::ImportSource;
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("CLAUDE.md");
    /// std::fs::write(&path, "## Tests\n\nRun `just test`.\n")?;
    /// assert_eq!(ImportSource::of_path(&path), Some(ImportSource::Sections));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_path(path: &Path) -> Option<ImportSource> {
        let full = path.canonicalize().ok()?;
        let path = full.to_str()?;
        if !full.is_dir() {
            let folder = Folder::open(full.parent()?).ok()?;
            return by_place(path, None).or_else(|| by_name(&folder, file_name(path)));
        }
        let entries = std::fs::read_dir(&full).ok()?.flatten().take(MAX_NAMES);
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        if let Some(source) = by_place(path, Some(&names)) {
            return Some(source);
        }
        let folder = Folder::open(&full).ok()?;
        if folder.has("storage/session") {
            return Some(ImportSource::Transcripts);
        }
        let found = names.iter().filter_map(|name| Some((name, by_name(&folder, name)?)));
        // Nearly every folder has other markdown and JSON, too.
        let rank = |(name, source): &(&String, ImportSource)| {
            (has_extension(name, "json"), *source == ImportSource::MemoryBank)
        };
        found.min_by_key(rank).map(|(_, source)| source)
    }

    /// Returns the source of JSON Lines by the first of them.
    pub fn of_lines(text: &[u8]) -> ImportSource {
        let lines = text.split(|byte| *byte == b'\n').take(MAX_LINES);
        let mut objects = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let of_object = |object: Value| session_of(&object).map(|_| ImportSource::Transcripts);
        objects.find_map(of_object).unwrap_or(ImportSource::Jsonl)
    }
}

/// What the program knows of a source.
pub(super) struct SourceRow {
    pub(super) help: &'static str,
    /// The files and folders in which it usually is: in the project, and in each folder of it that is one of several
    /// projects.
    pub(super) places: &'static [&'static str],
    /// Whether a file at this path can be one of the source.
    pub(super) wanted: fn(&str) -> bool,
}

impl SourceRow {
    /// Returns the folder around the usual place that a path is in, and the path below the place; both may be empty.
    /// `None` if it is in none.
    pub(super) fn split_at_place<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        let found = self.places.iter().filter_map(|place| split_at(path, place));
        found.min_by_key(|(around, _)| around.len())
    }
}

/// Returns the parts of a path around a usual place that it is in.
pub(super) fn split_at<'p>(path: &'p str, place: &str) -> Option<(&'p str, &'p str)> {
    path.match_indices(place).find_map(|(at, _)| {
        let (around, rest) = (&path[..at], &path[at + place.len()..]);
        let is_whole = (around.is_empty() || around.ends_with('/')) && (rest.is_empty() || rest.starts_with('/'));
        is_whole.then(|| (around.trim_end_matches('/'), rest.trim_start_matches('/')))
    })
}

/// The sources, in the order of [`ImportSource::ALL`].
const SOURCES: [SourceRow; 8] = [
    SourceRow {
        help: "AGENTS.md, CLAUDE.md and the like: each section becomes an entry, and each rule of a list",
        places: &["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"],
        wanted: |path| INSTRUCTIONS.contains(&file_name(path)),
    },
    SourceRow {
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
    },
    SourceRow {
        help: "Claude Code's own memory of this project: each file becomes an entry, except those about you",
        places: &[],
        wanted: |path| has_extension(path, "md"),
    },
    SourceRow {
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
        wanted: |path| has_extension(path, "md") && number_of(path).is_some(),
    },
    SourceRow {
        help: "A folder of markdown, such as Cline's memory bank or an Obsidian vault: each file becomes an entry, and a long one several",
        places: &["memory-bank", ".serena/memories", "cline_docs", ".memory-bank", KAGE],
        wanted: |path| has_extension(path, "md") || has_extension(path, "markdown"),
    },
    SourceRow {
        help: "JSON Lines, or a JSON document: each object with a text becomes an entry",
        places: &[KAGE],
        wanted: |path| ["jsonl", "ndjson", "json"].iter().any(|extension| has_extension(path, extension)),
    },
    SourceRow {
        help: "The database of `RefoundAI/ralph`, read with `sqlite3`: each row of its journal becomes an attempt",
        places: &[".ralph/progress.db"],
        wanted: is_database,
    },
    SourceRow {
        help: "Past sessions of Claude Code, Codex and opencode in this project, and saved event streams: each that changed files or reported something becomes an attempt",
        places: &[],
        wanted: |path| has_extension(path, "jsonl") || has_extension(path, "ndjson"),
    },
];

/// Returns whether a file is a rule for an editor, whatever its folder.
fn is_rule_by_name(name: &str) -> bool {
    matches!(name, ".cursorrules" | ".windsurfrules" | ".clinerules")
        || has_extension(name, "mdc")
        || name.ends_with(".instructions.md")
}

/// Returns the source in whose usual place a file is, or whose usual place a folder with these `names` is.
fn by_place(path: &str, names: Option<&[String]>) -> Option<ImportSource> {
    let is_place = |place: &str| match names {
        None => split_at(path, place).is_some(),
        Some(_) => path.strip_suffix(place).is_some_and(|around| around.is_empty() || around.ends_with('/')),
    };
    let found =
        || ImportSource::ALL.iter().copied().filter(|source| source.row().places.iter().any(|place| is_place(place)));
    match names {
        None => found().find(|source| (source.row().wanted)(path)),
        Some(names) => {
            let has_some =
                |source: &ImportSource| names.iter().any(|name| (source.row().wanted)(&format!("{path}/{name}")));
            found().find(has_some).or_else(|| found().next())
        }
    }
}

/// Returns the source that a file belongs to by its name.
fn by_name(folder: &Folder, name: &str) -> Option<ImportSource> {
    let wants = |source: ImportSource| (source.row().wanted)(name).then_some(source);
    if name == CLAUDE_INDEX {
        return Some(ImportSource::ClaudeMemory);
    }
    if is_rule_by_name(name) {
        return Some(ImportSource::Rules);
    }
    if is_opencode_database(name) {
        return Some(ImportSource::Transcripts);
    }
    if wants(ImportSource::Jsonl).is_some() {
        let mut head = Vec::new();
        folder.open_file(name).ok()?.take(MAX_HEAD).read_to_end(&mut head).ok()?;
        return Some(ImportSource::of_lines(&head));
    }
    wants(ImportSource::Sections)
        .or_else(|| wants(ImportSource::Adr).filter(|_| is_record_name(name)))
        .or_else(|| wants(ImportSource::MemoryBank))
        .or_else(|| wants(ImportSource::Ralph))
}

/// Returns whether a file is a database by its name.
pub(super) fn is_database(name: &str) -> bool {
    ["db", "sqlite", "sqlite3"].iter().any(|extension| has_extension(name, extension))
}

/// Returns whether a file is a database of opencode by its name: `opencode.db`, or `opencode-CHANNEL.db`.
pub(super) fn is_opencode_database(name: &str) -> bool {
    name.starts_with("opencode") && has_extension(name, "db")
}

/// Returns whether a text names a file of instructions.
pub(super) fn is_instructions(text: &str) -> bool {
    INSTRUCTIONS.iter().any(|name| text.contains(name))
}

/// Returns the last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether the name of a file ends in this extension, in whatever case.
pub(super) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Returns the number in a file's name: `0007-use-wal.md`, `adr-007.md`, `ADR007_x.md`.
pub(super) fn number_of(path: &str) -> Option<u32> {
    let name = file_name(path);
    let rest = name.get(..3).filter(|start| start.eq_ignore_ascii_case("adr")).map_or(name, |_| &name[3..]);
    let digits: String = rest.trim_start_matches(['-', '_']).chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Returns whether the name alone says that a file is a record: `0007-use-wal.md`, and not the date of a note.
fn is_record_name(name: &str) -> bool {
    let parts: Vec<&str> = name.split(['-', '_']).collect();
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() > 1 && !parts[1..].iter().take(2).all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_number() {
        let check = |path: &str, expected| assert_eq!(number_of(path), expected, "{path}");
        check("docs/adr/0007-use-wal.md", Some(7));
        check("adr-12.md", Some(12));
        check("ADR013_x.md", Some(13));
        check("README.md", None);
        check("template.md", None);
        check("adr.md", None);
    }

    #[test]
    fn the_table_is_in_the_order_of_the_sources() {
        let check = |source: ImportSource, start: &str| assert!(source.help().starts_with(start), "{source:?}");
        check(ImportSource::Sections, "AGENTS.md");
        check(ImportSource::Rules, "Rules for Cursor");
        check(ImportSource::ClaudeMemory, "Claude Code's own memory");
        check(ImportSource::Adr, "Architecture decision records");
        check(ImportSource::MemoryBank, "A folder of markdown");
        check(ImportSource::Jsonl, "JSON Lines");
        check(ImportSource::Ralph, "The database");
        check(ImportSource::Transcripts, "Past sessions");
    }
}
