//! Notes and decision records: each file is one entry.

use std::collections::HashSet;

use super::blocks::n_words;
use super::files::ImportFile;
use super::item::Item;
use super::places;
use super::report::{ImportOrigin, ImportReport};
use crate::entry::body::targets;
use crate::entry::knowledge::{Knowledge, LEARNINGS};
use crate::entry::outline::{headings, title_heading};
use crate::entry::parse_time;
use crate::entry::path::is_project_path;
use crate::text::fold;
use crate::workspace::Workspace;

/// The category of decision records.
const DECISION: &str = "decision";
/// The words with which a status says that a decision does not hold, with the spelling of adr-tools.
const NOT_IN_FORCE: [(&str, &str); 5] = [
    ("superseded", "superseded"),
    ("superceded", "superseded"),
    ("deprecated", "deprecated"),
    ("rejected", "rejected"),
    ("replaced", "superseded"),
];
/// The importance of decisions that do not hold.
const NOT_IN_FORCE_IMPORTANCE: u8 = 20;

/// Reads a note or a record; none of a file that says nothing.
pub(super) fn read(workspace: &Workspace, file: &ImportFile, report: &mut ImportReport) -> Option<Item> {
    let mut skip = |reason: &str| {
        report.skip(ImportOrigin::file(&file.path), "", reason);
        None
    };
    let metadata = |key: &str| file.fields.get("metadata").and_then(|fields| fields.get(key)?.as_str());
    if file.stem().to_lowercase().split(['-', '_', ' ']).any(|word| word == "template") {
        return skip("it is a template");
    }
    // How Claude Code marks what it remembers of its user.
    if file.word(&["type"]).or_else(|| metadata("type")) == Some("user") {
        return skip("it is about you, not about the project");
    }
    let (title, start) = title(file);
    let text = &file.text[start..];
    if n_words(text) == 0 {
        return skip("it is empty");
    }
    let body = match file.word(&["description", "summary"]) {
        Some(description) if !text.contains(description) => format!("{description}\n\n{}", text.trim_start()),
        _ => text.to_owned(),
    };
    let (category, of_category) = match file.word(&["category", "type"]).map(|word| word.replace([' ', '-'], "_")) {
        Some(word) if LEARNINGS.contains(&word.as_str()) || word == DECISION => (Some(word), None),
        word => (None, word),
    };
    let named = ["files", "paths", "globs"].iter().flat_map(|key| file.list(key));
    let folder = Some(file.folder().replace(',', " ")).filter(|folder| !folder.is_empty());
    let knowledge = Knowledge {
        category,
        status: file.word(&["status"]).map(str::to_lowercase),
        aliases: file.list("aliases"),
        files: named.filter(|path| is_project_path(path.trim_end_matches('/')) && *path != "**").collect(),
        source: file.writer,
        ..Knowledge::new(title, folder.into_iter().chain(file.list("tags")).chain(of_category), body)
    };
    let knowledge = record(file, &knowledge).unwrap_or(knowledge);
    let of = if file.folder().is_empty() { file.stem() } else { file.folder() };
    let stated = || text.lines().find_map(|line| parse_time(labelled(line, "date")?));
    let date = file.date().or_else(stated).filter(|date| *date <= workspace.now());
    Some(Item { date, ..Item::new(file, None, 0, of, knowledge) })
}

/// Returns the title of a file, and where the text begins that the title is not part of: what its frontmatter says, else the
/// heading with which it begins, else its name.
fn title(file: &ImportFile) -> (String, usize) {
    let heading = title_heading(&file.text).filter(|first| n_words(&file.text[..first.range.start]) == 0);
    match (file.word(&["title", "name"]), heading) {
        (Some(title), Some(heading)) if fold(title) == fold(&heading.title) => (heading.title, heading.range.end),
        (Some(title), _) => (title.to_owned(), 0),
        (None, Some(heading)) => (heading.title, heading.range.end),
        (None, None) => (file.stem().replace(['-', '_'], " "), 0),
    }
}

/// Returns a decision record as the decision that it is; `None` for another note. A record is in a folder of records, or has
/// a number, and it has a number or says its status.
fn record(file: &ImportFile, note: &Knowledge) -> Option<Knowledge> {
    let (title, in_title) = without_number(&note.title);
    let in_title = in_title.filter(|_| note.category.as_deref() == Some(DECISION) || note.title.starts_with("ADR"));
    let number = places::number_of(&file.path).map(str::to_owned).or(in_title);
    let (status, body) = status(&note.body);
    let signs = [number.is_some(), status.is_some() || note.status.is_some(), places::is_in_records(&file.path)];
    if signs.iter().filter(|sign| **sign).count() < 2 {
        return None;
    }
    let status = note.status.clone().or(status);
    let mut first = status.as_deref().unwrap_or_default().split(|letter: char| !letter.is_alphanumeric());
    let word = first.find(|word| !word.is_empty()).unwrap_or_default();
    let lapsed = NOT_IN_FORCE.iter().find(|(written, _)| *written == word).map(|(_, status)| *status);
    let mut aliases = note.aliases.clone();
    for name in number.iter().flat_map(|number| [number.trim_start_matches('0'), number.as_str()]) {
        let alias = format!("ADR-{}", if name.is_empty() { "0" } else { name });
        if !aliases.contains(&alias) {
            aliases.push(alias);
        }
    }
    Some(Knowledge {
        title: title.to_owned(),
        category: Some(DECISION.to_owned()),
        status: Some(lapsed.unwrap_or(word).to_owned()).filter(|status| !status.is_empty()),
        importance: lapsed.map(|_| NOT_IN_FORCE_IMPORTANCE),
        aliases,
        tags: note.tags.iter().cloned().chain(["adr".to_owned()]).collect(),
        body: decision_first(&body),
        ..note.clone()
    })
}

/// Returns a title without the number of its record, and the number: `4. Use it`, `ADR-4: Use it`, `ADR 0004 - Use it`.
fn without_number(title: &str) -> (&str, Option<String>) {
    let rest = title.strip_prefix("ADR").map_or(title, |rest| rest.trim_start_matches(['-', ' ', '#']));
    let digits = &rest[..rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len())];
    let behind = rest[digits.len()..].trim_start();
    let bare = behind.trim_start_matches(['.', ':', '-', '–', '—', ')']).trim_start();
    let is_number = (1..=5).contains(&digits.len()) && behind.len() > bare.len() && !bare.is_empty();
    if is_number { (bare, Some(digits.to_owned())) } else { (title, None) }
}

/// Returns the word of the status that a record states, in a section or on a line, and its text without a section that has
/// no more than this word and without the line of its date.
fn status(text: &str) -> (Option<String>, String) {
    let all = headings(text);
    let at = all.iter().position(|heading| fold(heading.title.trim_end_matches(':')) == "status");
    let section = at.map(|at| (&all[at], all.get(at + 1).map_or(text.len(), |next| next.range.start)));
    let below = section.as_ref().map_or("", |(heading, end)| &text[heading.range.end..*end]);
    let start = all.first().map_or(text.len(), |first| first.range.start);
    let of_line = || text[..start].lines().find_map(|line| labelled(line, "status"));
    let word = |line: &str| -> Option<String> {
        let plain = line.trim().trim_start_matches(['*', '-', '_', '~', '[', '`', ' ']).to_lowercase();
        plain.split(|letter: char| !letter.is_alphanumeric()).next().map(str::to_owned).filter(|word| !word.is_empty())
    };
    let words: Vec<String> = below.lines().chain(of_line()).filter_map(word).collect();
    // Some tools add a line below what was said before.
    let lapsed = words.iter().find(|word| NOT_IN_FORCE.iter().any(|(written, _)| written == *word));
    let found = lapsed.or(words.first()).cloned();
    let mut kept = text.to_owned();
    if let Some((heading, end)) = section.filter(|_| below.split_whitespace().count() == 1) {
        kept.replace_range(heading.range.start..end, "");
    }
    let is_said = |line: &&str| labelled(line, "date").is_none_or(|date| parse_time(date).is_none());
    (found, kept.split('\n').filter(is_said).collect::<Vec<_>>().join("\n").trim().to_owned())
}

/// Returns what a line says behind a label, such as `* **Status**: accepted`.
fn labelled<'t>(line: &'t str, label: &str) -> Option<&'t str> {
    let (name, value) = line.split_once(':')?;
    let is_it = fold(name.trim_matches(['*', '-', '_', ' '])) == label;
    is_it.then(|| value.trim_matches(['*', '_', ' ']))
}

/// Returns the text of a record with its decision first, which is what a context shows.
fn decision_first(text: &str) -> String {
    let all = headings(text);
    let is_decision = |title: &str| matches!(fold(title).as_str(), "decision" | "decision outcome");
    let Some(at) = all.iter().position(|heading| is_decision(&heading.title)) else { return text.to_owned() };
    let level = all[at].level;
    let next = all[at + 1..].iter().find(|next| next.level <= level);
    let (start, end) = (all[at].range.start, next.map_or(text.len(), |next| next.range.start));
    let parts = [text[all[at].range.end..end].trim(), text[..start].trim(), text[end..].trim()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Gives an entry the name of its file as an alias, where another item links to it by that name.
pub(super) fn name_linked(items: &mut [Item]) {
    let linked: HashSet<String> = items
        .iter()
        .filter(|item| item.knowledge.body.contains("[["))
        .flat_map(|item| targets(&item.knowledge.body))
        .map(|(.., target)| fold(target.split(['#', '|']).next().unwrap_or_default()))
        .collect();
    for item in items.iter_mut().filter(|item| !item.key.contains('#')) {
        let name = places::file_name(&item.from.path);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        if linked.contains(&fold(stem)) && fold(&item.knowledge.title) != fold(stem) {
            item.knowledge.aliases.push(stem.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_record_is_its_first_word() {
        for (text, expected, kept) in [
            ("## Status\n\nAccepted\n\n## Context\n\nX.", Some("accepted"), "## Context\n\nX."),
            ("Date: 2025-01-10\n\n## Status\n\n**Rejected**\n", Some("rejected"), ""),
            (
                "* Status: proposed\n* Date: 2025-01-10\n\n## Context\n\nX.",
                Some("proposed"),
                "* Status: proposed\n\n## Context\n\nX.",
            ),
            (
                "## Status\n\nAccepted\n\nSuperceded by [4](4.md)\n",
                Some("superceded"),
                "## Status\n\nAccepted\n\nSuperceded by [4](4.md)",
            ),
            ("## Context\n\nX.", None, "## Context\n\nX."),
        ] {
            assert_eq!(status(text), (expected.map(str::to_owned), kept.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_title_has_no_number() {
        for (title, bare, number) in [
            ("4. Use it", "Use it", Some("4")),
            ("ADR-0004: Use it", "Use it", Some("0004")),
            ("ADR 12 - Use it", "Use it", Some("12")),
            ("3 replicas", "3 replicas", None),
            ("2026", "2026", None),
        ] {
            assert_eq!(without_number(title), (bare, number.map(str::to_owned)), "{title}");
        }
    }

    #[test]
    fn a_decision_comes_before_its_context() {
        let text = "## Context\n\nA.\n\n## Decision\n\nB.\n\n### More\n\nC.\n\n## Consequences\n\nD.";
        assert_eq!(decision_first(text), "B.\n\n### More\n\nC.\n\n## Context\n\nA.\n\n## Consequences\n\nD.");
    }
}
