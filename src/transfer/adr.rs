//! Architecture decision records, in the forms of Nygard and of MADR.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use serde_json::json;

use super::files::{self, ImportFile};
use super::gathered::{Fact, SourceContent};
use super::report::{ImportOrigin, ImportedItem};
use super::request::ImportRequest;
use crate::entry::frontmatter::Fields;
use crate::entry::knowledge::Knowledge;
use crate::entry::outline::headings;
use crate::entry::parse_time;
use crate::entry::path::is_project_path;
use crate::error::Result;
use crate::workspace::Workspace;

/// Where records are.
const PLACES: [&str; 11] = [
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
];
/// The category of their entries. A `decision` is an event of at most 800 characters.
const CATEGORY: &str = "architecture_decision";

/// A record.
struct DecisionRecord {
    number: u32,
    title: String,
    /// The first word of its status, in lower case.
    status: String,
    /// The number of the record that replaces it.
    replaced_by: Option<u32>,
    date: Option<DateTime<Utc>>,
    path: String,
    key: String,
    body: String,
}

/// Finds decision records, those that are replaced before those that replace them.
pub(super) fn gather(workspace: &Workspace, request: &ImportRequest) -> Result<SourceContent> {
    let mut gathered = SourceContent::default();
    let wanted = |path: &str| files::has_extension(path, "md") && number_of(path).is_some();
    let mut records = Vec::new();
    for file in files::texts(workspace, request, &mut gathered, &PLACES, &wanted)? {
        match record(&file) {
            Ok(record) => records.push(record),
            Err(reason) => gathered.left_out.push(ImportedItem::skipped(ImportOrigin::file(&file.path), reason)),
        }
    }
    records.sort_by(|one, other| (one.number, &one.path).cmp(&(other.number, &other.path)));
    let numbers: HashSet<u32> = records.iter().map(|record| record.number).collect();
    let mut replaced: HashMap<u32, Vec<String>> = HashMap::new();
    for record in &records {
        if let Some(by) = record.replaced_by.filter(|by| *by > record.number && numbers.contains(by)) {
            replaced.entry(by).or_default().push(record.key.clone());
        }
    }
    for record in records {
        let from = ImportOrigin::file(&record.path);
        if matches!(record.status.as_str(), "proposed" | "draft" | "pending" | "open") {
            let reason = format!("it is not decided yet: its status is {}", record.status);
            let item = ImportedItem::skipped(from, reason);
            gathered.left_out.push(ImportedItem { title: record.title.as_str().into(), ..item });
            continue;
        }
        let is_linked = record.replaced_by.is_some_and(|by| by > record.number && numbers.contains(&by));
        // A title alone must not recommend what no longer holds.
        let title = match record.status.as_str() {
            "rejected" => format!("Rejected: {}", record.title),
            "deprecated" => format!("Deprecated: {}", record.title),
            "superseded" if !is_linked => format!("Superseded: {}", record.title),
            _ => record.title,
        };
        let knowledge = Knowledge {
            category: Some(CATEGORY.to_owned()),
            source: request.writer,
            files: Some(record.path.clone()).filter(|path| is_in_project(workspace, path)).into_iter().collect(),
            ..Knowledge::new(title, ["adr"], record.body)
        };
        let mut fact = Fact::new(record.key, from, knowledge);
        if !record.status.is_empty() {
            fact.more.insert("status".to_owned(), json!(record.status));
        }
        fact.replaces = replaced.remove(&record.number).unwrap_or_default();
        gathered.add(Fact { date: record.date, ..fact });
    }
    Ok(gathered)
}

fn is_in_project(workspace: &Workspace, path: &str) -> bool {
    is_project_path(path) && workspace.root().join(path).symlink_metadata().is_ok()
}

fn record(file: &ImportFile) -> std::result::Result<DecisionRecord, &'static str> {
    let (fields, text, _) = file.parts()?;
    let headings = headings(text);
    let title = headings.iter().find(|heading| heading.level == 1).map(|heading| without_number(&heading.title));
    let title = files::word(&fields, "title").map(str::to_owned).or(title);
    let body = headings.first().filter(|first| first.level == 1).map_or(text, |first| &text[first.range.end..]);
    let section = || {
        let at = headings.iter().position(|heading| heading.title.eq_ignore_ascii_case("status"))?;
        let end = headings.get(at + 1).map_or(text.len(), |next| next.range.start);
        Some(text[headings[at].range.end..end].trim().to_owned())
    };
    let status = value(&fields, text, "status").or_else(section).unwrap_or_default();
    let plain = status.trim_start_matches(['*', '_', '~', ' ']).to_lowercase();
    let first: String = plain.chars().take_while(|character| character.is_alphabetic()).collect();
    let replaced_by = plain.find("superseded").and_then(|at| number_in(&plain[at..]));
    Ok(DecisionRecord {
        number: number_of(&file.path).unwrap_or_default(),
        title: title.filter(|title| !title.is_empty()).unwrap_or_else(|| file.stem().replace('-', " ")),
        status: first,
        replaced_by,
        date: value(&fields, text, "date").and_then(|date| parse_time(&date)),
        path: file.path.clone(),
        key: file.key.clone(),
        body: body.to_owned(),
    })
}

/// Returns a value of the frontmatter, or of a line such as `* Status: accepted` or `Date: 2026-01-31`.
fn value(fields: &Fields, text: &str, key: &str) -> Option<String> {
    let in_line = |line: &str| {
        let line = line.trim_start_matches(['*', '-', ' ']);
        let (name, value) = line.split_once(':')?;
        let value = value.trim().trim_matches('*').trim();
        (name.trim_matches('*').eq_ignore_ascii_case(key) && !value.is_empty()).then(|| value.to_owned())
    };
    files::word(fields, key).map(str::to_owned).or_else(|| text.lines().take(30).find_map(in_line))
}

/// Returns the number in a file's name: `0007-use-wal.md`, `adr-007.md`, `ADR007_x.md`.
fn number_of(path: &str) -> Option<u32> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let rest = name.get(..3).filter(|start| start.eq_ignore_ascii_case("adr")).map_or(name, |_| &name[3..]);
    let digits: String = rest.trim_start_matches(['-', '_']).chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Returns the first number in a text.
fn number_in(text: &str) -> Option<u32> {
    let start = text.find(|character: char| character.is_ascii_digit())?;
    text[start..].split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

/// Returns a title without the number before it: `1. Use WAL`, `ADR-0001: Use WAL`.
fn without_number(title: &str) -> String {
    let rest = title.get(..3).filter(|start| start.eq_ignore_ascii_case("adr")).map_or(title, |_| &title[3..]);
    let rest = rest.trim_start_matches(['-', ' ']);
    let after = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    let bare = after.strip_prefix(['.', ':']).or_else(|| after.strip_prefix(" - ")).unwrap_or(after);
    if after.len() == rest.len() || bare.len() == after.len() { title.to_owned() } else { bare.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_off_a_title() {
        let check = |title: &str, expected: &str| assert_eq!(without_number(title), expected);
        check("1. Use WAL", "Use WAL");
        check("ADR-0012: Use WAL", "Use WAL");
        check("ADR 3 - Use WAL", "Use WAL");
        check("3 replicas at least", "3 replicas at least");
        check("Adrift", "Adrift");
        check("2026", "2026");
    }

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
}
