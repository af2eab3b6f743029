//! The names by which files of notes, records and rules are known, and where they usually are.

use std::path::Path;

/// The files and folders of rules for agents, in the project and in each folder that is one of several projects.
pub(super) const RULES: [&str; 18] = [
    "AGENTS.md",
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
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
    ".rules",
    "CONVENTIONS.md",
];
/// The folders of decision records.
const RECORDS: [&str; 10] = [
    "docs/adr",
    "docs/adrs",
    "docs/ADR",
    "docs/decisions",
    "docs/architecture/decisions",
    "docs/architecture/adr",
    "docs/architecture-decisions",
    "doc/adr",
    "adr",
    "adrs",
];
/// The folders of notes that agents keep for themselves.
const AGENT_NOTES: [&str; 4] = ["memory-bank", ".memory-bank", "cline_docs", ".serena/memories"];

/// Returns the usual places, in the project.
pub(super) fn usual() -> impl Iterator<Item = &'static str> {
    RULES.into_iter().chain(RECORDS).chain(AGENT_NOTES)
}

/// Returns whether a file of the project is one that an import without paths reads.
pub(super) fn is_usual(path: &str) -> bool {
    let is_record = || is_in(path, &RECORDS) && is_markdown(path) && number_of(path).is_some();
    is_rules(path) || is_record() || is_agent_note(path) && is_markdown(path)
}

/// Returns whether a file has rules for agents.
pub(super) fn is_rules(path: &str) -> bool {
    let name = file_name(path);
    let is_by_name = has_extension(path, "mdc")
        || name.ends_with(".instructions.md")
        || matches!(name, ".cursorrules" | ".windsurfrules" | ".clinerules" | ".rules" | "CLAUDE.local.md");
    is_by_name || is_in(path, &RULES) && is_markdown(path)
}

/// Returns whether a file is a note that an agent wrote for itself.
pub(super) fn is_agent_note(path: &str) -> bool {
    is_in(path, &AGENT_NOTES)
}

/// Returns the folder that the rules in a file are for; empty for the whole project.
pub(super) fn folder_of_rules(path: &str) -> &str {
    RULES.iter().filter_map(|place| split_at(path, place)).min_by_key(|folder| folder.len()).unwrap_or_default()
}

pub(super) fn is_markdown(path: &str) -> bool {
    ["md", "mdc", "markdown"].iter().any(|extension| has_extension(path, extension))
}

pub(super) fn is_lines(path: &str) -> bool {
    ["jsonl", "ndjson"].iter().any(|extension| has_extension(path, extension))
}

/// Returns whether the folder around a file is one of decision records by its name.
pub(super) fn is_in_records(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = file_name(folder).to_ascii_lowercase();
    ["adr", "adrs", "decisions", "architecture-decisions"].contains(&name.as_str())
}

/// Returns the number in a file's name as it is written: `0007-use-wal.md`, `adr-007.md`, `ADR007_x.md`.
pub(super) fn number_of(path: &str) -> Option<&str> {
    let name = file_name(path);
    let rest = name.get(..3).filter(|start| start.eq_ignore_ascii_case("adr")).map_or(name, |_| &name[3..]);
    let rest = rest.trim_start_matches(['-', '_', ' ']);
    let digits = &rest[..rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len())];
    // A note has no date.
    let is_date =
        digits.len() == 4 && rest[4..].starts_with('-') && rest[5..].starts_with(|next: char| next.is_ascii_digit());
    ((1..=5).contains(&digits.len()) && !is_date).then_some(digits)
}

fn is_in(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| split_at(path, place).is_some())
}

fn split_at<'p>(path: &'p str, place: &str) -> Option<&'p str> {
    path.match_indices(place).find_map(|(at, _)| {
        let (before, rest) = (&path[..at], &path[at + place.len()..]);
        let is_whole = (before.is_empty() || before.ends_with('/')) && (rest.is_empty() || rest.starts_with('/'));
        is_whole.then(|| before.trim_end_matches('/'))
    })
}

/// Returns the last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        for path in ["CLAUDE.md", "web/AGENTS.md", ".cursor/rules/a/b.mdc", ".clinerules/x.md", "x.instructions.md"] {
            assert!(is_rules(path) && is_usual(path), "{path}");
        }
        for path in ["docs/CLAUDE.md.txt", "docs/rules.md", "MYCLAUDE.md", ".cursor/rules/x.json"] {
            assert!(!is_rules(path) && !is_usual(path), "{path}");
        }
        for (path, number) in [
            ("docs/adr/0007-use-wal.md", Some("0007")),
            ("adr-12.md", Some("12")),
            ("ADR013_x.md", Some("013")),
            ("README.md", None),
            ("adr.md", None),
            ("20260115-notes.md", None),
            ("2026-01-15-notes.md", None),
        ] {
            assert_eq!(number_of(path), number, "{path}");
        }
        for (path, folder) in [(".claude/CLAUDE.md", ""), ("packages/web/.cursor/rules/x.mdc", "packages/web")] {
            assert_eq!(folder_of_rules(path), folder);
        }
    }
}
