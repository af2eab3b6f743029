//! Architecture decision records, in the forms of Nygard and of MADR.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use chrono::{DateTime, Utc};

use super::decision_words::{RecordPart, usual_status};
use super::files::ImportFile;
use super::fillers::{is_template, no_content};
use super::find;
use super::gathered::{Fact, SourceContent};
use super::report::ImportOrigin;
use super::request::ImportRequest;
use super::sources::{file_name, has_extension, number_of};
use super::written_dates::date_in;
use crate::entry::knowledge::{Knowledge, unsettled};
use crate::entry::outline::{OutlineHeading, headings};
use crate::entry::path::is_project_path;
use crate::error::Result;
use crate::workspace::Workspace;

/// The category of their entries. A `decision` is an event of at most 800 characters.
const CATEGORY: &str = "architecture_decision";

/// What a status says before the record that replaces this one.
const REPLACED: [&str; 17] = [
    "superseded by",
    "superseded-by",
    "superceded by",
    "replaced by",
    "superseded",
    "superceded",
    "ersetzt durch",
    "abgelöst durch",
    "reemplazado por",
    "reemplazada por",
    "sustituida por",
    "substituído por",
    "substituída por",
    "remplacé par",
    "remplacée par",
    "sostituita da",
    "аменено",
];
/// What a status says before the records that this one replaces.
const REPLACES: [&str; 8] =
    ["supersedes", "replaces", "ersetzt", "löst", "reemplaza", "substitui", "remplace", "sostituisce"];
/// What a status says of records that this one replaces only in part, so that the rest of them holds.
const PARTLY: [&str; 6] = ["in part", "partially", "partly", "teilweise", "parcial", "partiel"];
/// The words between two records, besides commas.
const AND: [&str; 5] = [" and ", " und ", " et ", " y ", " e "];
/// The first words of a value that names no record, whatever follows.
const NO_RECORD: [&str; 8] = ["none", "n/a", "na", "no", "nothing", "-", "–", "—"];
/// The keys and the names of lines that say which record replaces this one.
pub(super) const REPLACED_BY: [&str; 3] = ["superseded-by", "superseded_by", "supersededBy"];

/// A record.
struct DecisionRecord {
    number: u32,
    /// Its number as its file's name has it.
    digits: String,
    title: String,
    /// The first line of its status.
    status: String,
    /// The number of the record that replaces it.
    replaced_by: Option<u32>,
    /// The numbers of the records that it says it replaces.
    replaces: Vec<u32>,
    date: Option<DateTime<Utc>>,
    /// The folder around the place of the record, within which its number is unique.
    project: String,
    path: String,
    key: String,
    body: String,
}

/// Finds decision records, those that are replaced before those that replace them.
pub(super) fn gather(workspace: &Workspace, request: &ImportRequest, content: &mut SourceContent) -> Result<()> {
    let mut records = Vec::new();
    find::each_file(workspace, request, content, &mut |file, content| {
        let record = record(request, file);
        match is_template(file).or_else(|| no_content(&record.body)) {
            Some(reason) => content.report.skip_titled(file.origin(), &record.title, reason),
            None => records.push(record),
        }
    })?;
    // Of two records of one number, that of the outer folder has it.
    let order = |record: &DecisionRecord| (record.number, record.path.matches('/').count());
    records.sort_by(|one, other| (order(one), &one.path).cmp(&(order(other), &other.path)));
    let place = |record: &DecisionRecord, number: u32| (record.project.clone(), number);
    let mut keys: HashMap<(String, u32), String> = HashMap::new();
    for record in &records {
        keys.entry(place(record, record.number)).or_insert_with(|| record.key.clone());
    }
    let mut replaced: HashMap<(String, u32), Vec<String>> = HashMap::new();
    for record in &records {
        let by = record.replaced_by.filter(|by| *by > record.number).map(|by| place(record, by));
        if let Some(by) = by.filter(|by| keys.contains_key(by)) {
            replaced.entry(by).or_default().push(record.key.clone());
        }
    }
    for record in &records {
        let older = record.replaces.iter().filter(|number| **number < record.number && was_accepted(&record.status));
        let older = older.filter(|_| keys.get(&place(record, record.number)) == Some(&record.key));
        let of_record = replaced.entry(place(record, record.number)).or_default();
        of_record.extend(older.filter_map(|number| keys.get(&place(record, *number))).cloned());
        of_record.sort_unstable();
        of_record.dedup();
    }
    let mut named = HashSet::new();
    for record in records {
        let from = ImportOrigin::file(&record.path);
        let state = state(&record.status);
        // People write the number with zeros before it and without. A file without a number is known by its title alone.
        let names = [format!("{:04}", record.number), record.digits, record.number.to_string()];
        let mut aliases: Vec<String> = names.iter().map(|digits| format!("ADR-{digits}")).collect();
        aliases.retain(|alias| record.number > 0 && named.insert((record.project.clone(), alias.clone())));
        let knowledge = Knowledge {
            category: Some(CATEGORY.to_owned()),
            // A title alone must not recommend what is no longer true.
            status: Some(state).filter(|state| !state.is_empty()),
            aliases,
            source: request.writer,
            files: Some(record.path.clone()).filter(|path| is_in_project(workspace, path)).into_iter().collect(),
            ..Knowledge::new(record.title, ["adr"], record.body)
        };
        let mut fact = Fact::new(record.key, from, knowledge);
        // The first of a number has what it replaces.
        fact.replaces = replaced.remove(&(record.project, record.number)).unwrap_or_default();
        content.add(Fact { date: record.date, ..fact });
    }
    Ok(())
}

fn is_in_project(workspace: &Workspace, path: &str) -> bool {
    is_project_path(path) && workspace.root().join(path).symlink_metadata().is_ok()
}

/// Returns whether a record with this status is in force, or was: one that is only proposed replaces nothing.
fn was_accepted(status: &str) -> bool {
    matches!(
        unsettled(Some(&state(status))),
        None | Some("deprecated" | "superseded" | "retired" | "obsolete" | "stale")
    )
}

/// Returns the first word of a status that is not struck out, in lower case and, where it is a usual one, in English.
fn state(status: &str) -> String {
    let left: Vec<&str> = status.split("~~").step_by(2).collect();
    let plain = left.concat().to_lowercase();
    let word = plain.chars().skip_while(|letter| !letter.is_alphabetic()).take_while(|letter| letter.is_alphabetic());
    let word: String = word.collect();
    usual_status(&word).map_or(word, str::to_owned)
}

fn record(request: &ImportRequest, file: &ImportFile) -> DecisionRecord {
    let text = file.text.as_str();
    let headings = part_headings(text);
    let title = headings.iter().find(|heading| heading.level == 1).map(|heading| without_number(&heading.title));
    let title = file.word(&["title"]).map(without_number).or(title);
    let body = headings.first().filter(|first| first.level == 1).map_or(0, |first| first.range.end);
    let section = |part: RecordPart| {
        // A heading may have a number before it.
        let is_it = |heading: &OutlineHeading| {
            let title = heading.title.trim_start_matches(|letter: char| !letter.is_alphabetic());
            part.is_called(title.trim_end_matches([':', '：']))
        };
        let at = headings.iter().position(is_it)?;
        let is_next = |next: &&OutlineHeading| next.level <= headings[at].level;
        let end = headings[at + 1..].iter().find(is_next).map_or(text.len(), |next| next.range.start);
        (headings[at].range.start >= body).then_some((headings[at].range.clone(), end))
    };
    let line_of = |part: RecordPart| value_line(text, &|name| part.is_called(name));
    let content = |(heading, end): &(Range<usize>, usize)| text[heading.end..*end].trim().to_owned();
    let of_status = section(RecordPart::Status);
    let in_line = line_of(RecordPart::Status);
    let said = [
        file.word(&["status"]).map(str::to_owned),
        in_line.as_ref().map(|(_, value)| value.clone()),
        of_status.as_ref().map(content),
    ];
    // The field may say how far the document is, and the section how far the decision is.
    let is_usual = |status: &&String| usual_status(&state(status)).is_some();
    let status = said.iter().flatten().find(is_usual).or_else(|| said.iter().flatten().next());
    let status = status.cloned().unwrap_or_default();
    let dated = line_of(RecordPart::Date);
    let of_date = section(RecordPart::Date).filter(|section| date_in(&content(section)).is_some());
    let date = file.word(&["date"]).and_then(date_in);
    let in_text = dated.as_ref().and_then(|(_, value)| date_in(value));
    let date = date.or(in_text).or_else(|| of_date.as_ref().and_then(|section| date_in(&content(section))));
    let (replaced_by, replaces) = links_of(file, &status);
    // What the details say: a status of several lines says more.
    let of_status = of_status.filter(|section| !content(section).contains('\n'));
    let of_date = of_date.filter(|section| !content(section).contains('\n'));
    let decision = section(RecordPart::Decision);
    let first = decision.as_ref().map_or("", |(heading, end)| &text[heading.end..*end]);
    let dated = dated.filter(|_| in_text.is_some());
    let elsewhere = [in_line, dated].into_iter().flatten().map(|(line, _)| line);
    let sections = [of_status, of_date, decision].into_iter().flatten().map(|(heading, end)| heading.start..end);
    let rest = without(text, body, elsewhere.chain(sections).collect());
    let name = file_name(&file.path);
    let digits = name.split(|letter: char| !letter.is_ascii_digit()).find(|digits| !digits.is_empty());
    DecisionRecord {
        number: number_of(&file.path).unwrap_or_default(),
        digits: digits.unwrap_or_default().to_owned(),
        title: title.filter(|title| !title.is_empty()).unwrap_or_else(|| file.stem().replace('-', " ")),
        status: status.lines().next().unwrap_or_default().to_owned(),
        replaced_by,
        replaces,
        date,
        project: file.around(request.source).unwrap_or_default().to_owned(),
        path: file.path.clone(),
        key: file.key.clone(),
        // The decision comes first, because a context with little room shows only the beginning.
        body: [first.trim(), rest.trim()].join("\n\n").trim().to_owned(),
    }
}

/// Returns the headings of a record. Where none of them names a part, the lines that do are headings, too.
fn part_headings(text: &str) -> Vec<OutlineHeading> {
    let mut headings = headings(text);
    if headings.iter().any(|heading| RecordPart::names_one(&heading.title)) {
        return headings;
    }
    let (mut at, mut is_behind_blank) = (0, true);
    for line in text.split_inclusive('\n') {
        if is_behind_blank && RecordPart::names_one(line) {
            let title = line.trim().to_owned();
            headings.push(OutlineHeading { level: 2, title, range: at..at + line.len() });
        }
        is_behind_blank = line.trim().is_empty();
        at += line.len();
    }
    headings.sort_by_key(|heading| heading.range.start);
    headings
}

/// Returns the number of the record that replaces this one, and the numbers of those that it replaces.
fn links_of(file: &ImportFile, status: &str) -> (Option<u32>, Vec<u32>) {
    let text = file.text.as_str();
    let line = |key: &str| value_line(text, &|name| name.eq_ignore_ascii_case(key)).map(|(_, value)| value);
    let field = |key: &str| file.list(key).join(",");
    let by_field = REPLACED_BY.into_iter().map(field);
    let by_line = ["superseded by", "superseded-by"].into_iter().filter_map(line);
    let mut elsewhere = by_field.chain(by_line).flat_map(|text| numbers_in(&text));
    let replaced_by = after_word(status, &REPLACED).first().copied().or_else(|| elsewhere.next());
    let named = ["supersedes", "replaces"].into_iter().flat_map(|key| [field(key)].into_iter().chain(line(key)));
    let mut replaces: Vec<u32> = named.flat_map(|text| numbers_in(&text)).collect();
    let lower = status.to_lowercase();
    // "Ersetzt durch" says the contrary of "ersetzt".
    if after_word(status, &REPLACED).is_empty() && !PARTLY.iter().any(|word| lower.contains(word)) {
        replaces.extend(after_word(status, &REPLACES));
    }
    (replaced_by, replaces)
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

/// Returns the value of a line such as `* Status: accepted`, `Date: 2026-01-31` or `| Status | accepted |`, and the place of
/// the line. A row of a table stays where it is.
fn value_line(text: &str, is_name: &dyn Fn(&str) -> bool) -> Option<(Range<usize>, String)> {
    let mut end = 0;
    text.split_inclusive('\n').take(30).find_map(|line| {
        end += line.len();
        let row = line.trim().strip_prefix('|');
        let (name, value) = row.map_or_else(
            || line.trim_start_matches(['*', '-', ' ']).split_once([':', '：']),
            |row| row.trim_end_matches('|').split_once('|').filter(|(_, value)| !value.contains('|')),
        )?;
        let value = value.trim().trim_matches('*').trim();
        let is_it = is_name(name.trim().trim_matches('*').trim_end_matches(':')) && !value.is_empty();
        let start = if row.is_some() { end } else { end - line.len() };
        is_it.then(|| (start..end, value.to_owned()))
    })
}

/// Returns the numbers of the records that a text names behind the first of these words that it has, up to the end of
/// the parentheses or the line.
fn after_word(text: &str, words: &[&str]) -> Vec<u32> {
    let plain = text.to_ascii_lowercase();
    let found = words.iter().find_map(|word| Some(plain.find(word)? + word.len()));
    let rest = found.map_or("", |at| &plain[at..]);
    // A dash is a value only behind a colon.
    let rest = rest.strip_prefix(':').unwrap_or_else(|| rest.trim_start_matches([' ', '-', '–', '—']));
    numbers_in(rest.lines().next().unwrap_or_default())
}

/// Returns the numbers of the records that a text names: `ADR-024`, `[3. Use WAL](0003-use-wal.md)`, `0007`. The target
/// of a link says the same as its text.
fn numbers_in(text: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    let first = text.split([' ', ',', ';', '(']).find(|word| !word.is_empty()).unwrap_or_default().to_lowercase();
    let first = first.trim_matches(['*', '_']);
    if NO_RECORD.contains(&first) {
        return numbers;
    }
    let text = AND.iter().fold(text.to_owned(), |text, and| text.replace(and, ","));
    for part in text.split([',', ';', '&']) {
        let shown = part.split("](").next().unwrap_or(part);
        // The folders of a path may have numbers, too.
        if has_extension(shown.trim(), "md") {
            numbers.extend(number_of(shown.trim()));
            continue;
        }
        let of = |text: &str| -> Option<u32> {
            let start = text.find(|character: char| character.is_ascii_digit())?;
            text[start..].split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
        };
        numbers.extend(of(shown).or_else(|| of(part)));
    }
    numbers
}

/// Returns a title without the number before it and the anchor behind it: `1. Use WAL`, `ADR-0001: Use WAL`,
/// `ADR-1 — Use WAL {#adr-1}`.
fn without_number(title: &str) -> String {
    let title =
        title.rsplit_once(" {#").filter(|(_, anchor)| anchor.ends_with('}')).map_or(title, |(before, _)| before);
    let named = title.get(..3).filter(|start| start.eq_ignore_ascii_case("adr")).map(|_| &title[3..]);
    if let Some(rest) =
        named.and_then(|rest| rest.trim_start().strip_prefix(':')).filter(|rest| !rest.trim().is_empty())
    {
        return rest.trim().to_owned();
    }
    let rest = named.unwrap_or(title);
    let rest = rest.trim_start_matches(['-', '_', ' ', '#', '[']);
    let after = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    let separators: &[char] = &['.', ':', ')', ']', '—', '–'];
    let bare = after.trim_start().strip_prefix(separators).or_else(|| after.trim_start().strip_prefix("- "));
    let bare = bare.map(|bare| bare.trim_start_matches(separators).trim());
    bare.filter(|bare| after.len() < rest.len() && !bare.is_empty()).map_or_else(|| title.to_owned(), str::to_owned)
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
        check("ADR: Use WAL", "Use WAL");
        check("ADR:", "ADR:");
        check("2026", "2026");
        check("ADR-1 — Use WAL {#adr-1}", "Use WAL");
        check("ADR 12) Use WAL", "Use WAL");
    }

    #[test]
    fn records_are_named_by_their_numbers() {
        let check = |status: &str, words: &[&str], expected: &[u32]| assert_eq!(after_word(status, words), expected);
        check("Accepted (supersedes ADR-024, ADR-025)", &["supersedes"], &[24, 25]);
        check("Superseded by [3. Use WAL](0003-use-wal.md)", &["superseded by", "superseded"], &[3]);
        check("superseded by [it](0004-it.md) and ADR-7", &["superseded by"], &[4, 7]);
        check("Akzeptiert (ersetzt ADR-003 und ADR-006)", &REPLACES, &[3, 6]);
        check("Accepted", &["supersedes"], &[]);
        check("Abgelöst durch ADR-0004", &REPLACED, &[4]);
        let check = |value: &str, expected: &[u32]| assert_eq!(numbers_in(value), expected, "{value}");
        check("docs/01_Architecture/adr/0004-events.md", &[4]);
        check("docs/2026/migration.md", &[]);
        check("No. 9", &[9]);
        for nothing in ["N/A (see ADR-9)", "none, see ADR-9", "_None_; see ADR-9", "- (see ADR-9)", "No; ADR-9 holds"] {
            check(nothing, &[]);
        }
    }
}
