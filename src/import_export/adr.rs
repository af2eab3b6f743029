//! Architecture decision records, in the forms of Nygard and of MADR.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use chrono::{DateTime, Utc};
use serde_json::json;

use super::files::{self, ImportFile};
use super::gathered::{Fact, SourceContent};
use super::report::ImportOrigin;
use super::request::ImportRequest;
use super::sources::number_of;
use crate::entry::knowledge::Knowledge;
use crate::entry::outline::{OutlineHeading, headings};
use crate::entry::parse_time;
use crate::entry::path::is_project_path;
use crate::error::Result;
use crate::workspace::Workspace;

/// The category of their entries. A `decision` is an event of at most 800 characters.
const CATEGORY: &str = "architecture_decision";

/// A record.
struct DecisionRecord {
    number: u32,
    title: String,
    /// The first line of its status.
    status: String,
    /// The number of the record that replaces it.
    replaced_by: Option<u32>,
    date: Option<DateTime<Utc>>,
    path: String,
    key: String,
    body: String,
}

/// Finds decision records, those that are replaced before those that replace them.
pub(super) fn gather(workspace: &Workspace, request: &ImportRequest, content: &mut SourceContent) -> Result<()> {
    let mut records = Vec::new();
    files::each_file(workspace, request, content, &mut |file, _| records.push(record(file)))?;
    records.sort_by(|one, other| (one.number, &one.path).cmp(&(other.number, &other.path)));
    let numbers: HashSet<u32> = records.iter().map(|record| record.number).collect();
    let mut replaced: HashMap<u32, Vec<String>> = HashMap::new();
    for record in &mut records {
        record.replaced_by = record.replaced_by.filter(|by| *by > record.number && numbers.contains(by));
        if let Some(by) = record.replaced_by {
            replaced.entry(by).or_default().push(record.key.clone());
        }
    }
    for record in records {
        let from = ImportOrigin::file(&record.path);
        let state = state(&record.status);
        if matches!(state.as_str(), "proposed" | "draft" | "pending" | "open") {
            content.report.skip_titled(from, &record.title, format!("it is not decided yet: its status is {state}"));
            continue;
        }
        // A title alone must not recommend what is no longer true.
        let title = match state.as_str() {
            "rejected" => format!("Rejected: {}", record.title),
            "deprecated" => format!("Deprecated: {}", record.title),
            "superseded" if record.replaced_by.is_none() => format!("Superseded: {}", record.title),
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
        content.add(Fact { date: record.date, ..fact });
    }
    Ok(())
}

fn is_in_project(workspace: &Workspace, path: &str) -> bool {
    is_project_path(path) && workspace.root().join(path).symlink_metadata().is_ok()
}

/// Returns the first word of a status, in lower case.
fn state(status: &str) -> String {
    let plain = status.trim_start_matches(['*', '_', '~', ' ']).to_lowercase();
    plain.chars().take_while(|character| character.is_alphabetic()).collect()
}

fn record(file: &ImportFile) -> DecisionRecord {
    let text = file.text.as_str();
    let headings = headings(text);
    let title = headings.iter().find(|heading| heading.level == 1).map(|heading| without_number(&heading.title));
    let title = file.word(&["title"]).map(str::to_owned).or(title);
    let body = headings.first().filter(|first| first.level == 1).map_or(0, |first| first.range.end);
    let section = |names: &[&str]| {
        let at =
            headings.iter().position(|heading| names.iter().any(|name| heading.title.eq_ignore_ascii_case(name)))?;
        let is_next = |next: &&OutlineHeading| next.level <= headings[at].level;
        let end = headings[at + 1..].iter().find(is_next).map_or(text.len(), |next| next.range.start);
        (headings[at].range.start >= body).then_some((headings[at].range.clone(), end))
    };
    let of_status = section(&["status"]);
    let [in_line, dated] = ["status", "date"].map(|key| value_line(text, key));
    let content = |(heading, end): &(Range<usize>, usize)| text[heading.end..*end].trim().to_owned();
    let value = |key: &str, line: &Option<(Range<usize>, String)>| {
        file.word(&[key]).map(str::to_owned).or_else(|| line.as_ref().map(|(_, value)| value.clone()))
    };
    let status = value("status", &in_line).or_else(|| of_status.as_ref().map(content)).unwrap_or_default();
    let date = value("date", &dated).and_then(|date| parse_time(&date));
    let plain = status.to_lowercase();
    let replaced_by = plain.find("superseded").and_then(|at| number_in(&plain[at..]));
    // What the details say: a status of several lines says more.
    let of_status = of_status.filter(|section| !content(section).contains('\n'));
    let decision = section(&["decision", "decision outcome"]);
    let first = decision.as_ref().map_or("", |(heading, end)| &text[heading.end..*end]);
    let dated = dated.filter(|_| date.is_some());
    let elsewhere = [in_line, dated].into_iter().flatten().map(|(line, _)| line);
    let sections = [of_status, decision].into_iter().flatten().map(|(heading, end)| heading.start..end);
    let rest = without(text, body, elsewhere.chain(sections).collect());
    DecisionRecord {
        number: number_of(&file.path).unwrap_or_default(),
        title: title.filter(|title| !title.is_empty()).unwrap_or_else(|| file.stem().replace('-', " ")),
        status: status.lines().next().unwrap_or_default().to_owned(),
        replaced_by,
        date,
        path: file.path.clone(),
        key: file.key.clone(),
        // The decision comes first, because a context with little room shows only the beginning.
        body: [first.trim(), rest.trim()].join("\n\n").trim().to_owned(),
    }
}

/// Returns a text from `start` on without these parts, which do not overlap.
fn without(text: &str, start: usize, mut parts: Vec<Range<usize>>) -> String {
    parts.sort_by_key(|part| part.start);
    let (mut kept, mut at) = (String::new(), start);
    for part in parts.into_iter().filter(|part| part.start >= start) {
        kept.push_str(text.get(at..part.start).unwrap_or_default());
        at = at.max(part.end);
    }
    kept + &text[at..]
}

/// Returns the value of a line such as `* Status: accepted` or `Date: 2026-01-31`, and the place of the line.
fn value_line(text: &str, key: &str) -> Option<(Range<usize>, String)> {
    let mut end = 0;
    text.split_inclusive('\n').take(30).find_map(|line| {
        end += line.len();
        let (name, value) = line.trim_start_matches(['*', '-', ' ']).split_once(':')?;
        let value = value.trim().trim_matches('*').trim();
        let is_it = name.trim_matches('*').eq_ignore_ascii_case(key) && !value.is_empty();
        is_it.then(|| (end - line.len()..end, value.to_owned()))
    })
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
}
