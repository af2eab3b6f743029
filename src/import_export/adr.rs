//! Architecture decision records, in the forms of Nygard and of MADR.

use std::collections::HashSet;
use std::ops::Range;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::decision_grammar::{RecordLookup, Supersession, plain_title};
use super::decision_text::{Statements, field, without_asides};
use super::decision_words::RecordPart;
use super::files::ImportFile;
use super::fillers::{is_template, no_content};
use super::find;
use super::gathered::{Fact, SourceContent};
use super::report::ImportOrigin;
use super::request::ImportRequest;
use super::sources::{file_name, number_of};
use crate::entry::knowledge::{Knowledge, was_agreed};
use crate::entry::outline::{OutlineHeading, headings};
use crate::entry::path::is_project_path;
use crate::entry::relink::{path_of_target, unescaped};
use crate::entry::without_extension;
use crate::error::Result;
use crate::workspace::Workspace;

/// The category of their entries. A `decision` is an event of at most 800 characters.
const CATEGORY: &str = "architecture_decision";

/// What may be before the number in a title.
const RECORD_NAMES: [&str; 4] = ["architecture decision record", "decision record", "adr", "rfc"];

/// The file of a record.
struct RecordFile {
    file: ImportFile,
    /// Its text without comments and code, at the same places.
    plain: String,
    headings: Vec<OutlineHeading>,
    number: u32,
    title: String,
    /// Its title as it is compared with the words behind a name.
    plain_title: String,
    /// The folder around the place of the record, within which its number is unique.
    project: String,
}

/// A line of its frontmatter that is about its status, with what replaces what in it; `None` if it says more.
type FieldLine = (String, Option<Vec<Supersession>>);

/// What a record says.
struct DecisionRecord {
    status: Option<&'static str>,
    /// Whether it has a status that is not known.
    is_unclear: bool,
    supersessions: Vec<Supersession>,
    date: Option<DateTime<Utc>>,
    decision: Option<(Range<usize>, usize)>,
    /// The parts of its text that the entry says in other words, each with what replaces what in it.
    known: Vec<(Range<usize>, Vec<Supersession>)>,
    fields: Vec<FieldLine>,
}

/// Finds decision records, those that are replaced before those that replace them.
pub(super) fn gather(workspace: &Workspace, request: &ImportRequest, content: &mut SourceContent) -> Result<()> {
    let mut files = Vec::new();
    find::each_file(workspace, request, content, &mut |file, content| {
        let file = RecordFile::of(request, file);
        let body = file.body(&file.record(&|_| None), &|_| true);
        match is_template(&file.file).or_else(|| no_content(&body)) {
            Some(reason) => content.report.skip_titled(file.file.origin(), &file.title, reason),
            None => files.push(file),
        }
    })?;
    // Of two records of one number, that of the outer folder has it.
    files.sort_by(|one, other| (one.order(), &one.file.path).cmp(&(other.order(), &other.file.path)));
    let lookup = |own: usize| {
        let files = &files;
        move |name: &str| find_record(files, own, name).map(|found| (found, files[found].plain_title.clone()))
    };
    let records: Vec<DecisionRecord> = files.iter().enumerate().map(|(own, file)| file.record(&lookup(own))).collect();
    let pair = |own: usize, (part, other): &Supersession| match (part, *other) {
        (RecordPart::ReplacedBy, Some(new)) => Some((new, own)),
        (_, old) => Some((own, old?)),
    };
    // What is not agreed replaces nothing, and what may not be is not believed.
    let is_certain = |own: usize, (new, old): &(usize, usize)| {
        files[*new].number > files[*old].number
            && was_agreed(records[*new].status)
            && (own == *old || !records[*new].is_unclear)
    };
    let pairs = records.iter().enumerate().flat_map(|(own, record)| {
        let pairs = record.supersessions.iter().filter_map(move |supersession| pair(own, supersession));
        pairs.filter(move |pair| is_certain(own, pair))
    });
    let pairs: HashSet<(usize, usize)> = pairs.collect();
    let mut named = HashSet::new();
    for (own, (file, record)) in files.iter().zip(&records).enumerate() {
        let path = &file.file.path;
        let name = file_name(path);
        let digits = name.split(|letter: char| !letter.is_ascii_digit()).find(|digits| !digits.is_empty());
        // People write the number with zeros before it and without. A file without a number is known by its title alone.
        let names = [format!("{:04}", file.number), digits.unwrap_or_default().to_owned(), file.number.to_string()];
        let mut aliases: Vec<String> = names.iter().map(|digits| format!("ADR-{digits}")).collect();
        aliases.retain(|alias| file.number > 0 && named.insert((file.project.clone(), alias.clone())));
        let is_made = |supersession: &Supersession| pair(own, supersession).is_some_and(|pair| pairs.contains(&pair));
        let knowledge = Knowledge {
            category: Some(CATEGORY.to_owned()),
            // A title alone must not recommend what is no longer true.
            status: record.status.map(str::to_owned),
            aliases,
            source: request.writer,
            files: Some(path.clone()).filter(|path| is_in_project(workspace, path)).into_iter().collect(),
            ..Knowledge::new(file.title.clone(), ["adr"], file.body(record, &is_made))
        };
        let mut fact = Fact::new(file.file.key.clone(), ImportOrigin::file(path), knowledge);
        let old = (0..files.len()).filter(|old| pairs.contains(&(own, *old)));
        fact.replaces = old.map(|old| files[old].file.key.clone()).collect();
        content.add(Fact { date: record.date, ..fact });
    }
    Ok(())
}

fn is_in_project(workspace: &Workspace, path: &str) -> bool {
    is_project_path(path) && workspace.root().join(path).symlink_metadata().is_ok()
}

/// Returns the record that a name in another one means: the path of its file, from there or from the project, the end of
/// an address, the name of its file, or its number, if no other file has it.
fn find_record(files: &[RecordFile], own: usize, name: &str) -> Option<usize> {
    let target = unescaped(name);
    let bare = without_extension(target.split(['#', '?']).next().unwrap_or_default().trim_end_matches('/'));
    let path_at = |at: usize| without_extension(&files[at].file.path);
    let all = 0..files.len();
    if target.contains("://") {
        return all.into_iter().find(|at| bare.ends_with(&format!("/{}", path_at(*at))));
    }
    let folder = files[own].file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let paths = [folder, &files[own].project, ""].map(|folder| path_of_target(folder, bare).map(|(path, _)| path));
    if let Some(found) = all.clone().find(|at| paths.iter().flatten().any(|path| path == path_at(*at))) {
        return Some(found);
    }
    let bare = bare.trim_start_matches("./").to_lowercase();
    let stem = |at: &usize| file_name(path_at(*at)).to_lowercase();
    let digits = bare.trim_start_matches("adr").trim_start_matches(['-', '_', ' ', '#']);
    let slug = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let words = slug.strip_prefix(['-', '_']).filter(|words| words.starts_with(char::is_alphabetic));
    let is_number = slug.is_empty() || words.is_some_and(|words| !words.starts_with("adr") && !words.contains('/'));
    let number: Option<u32> = digits[..digits.len() - slug.len()].parse().ok().filter(|_| is_number);
    let of_project = || all.clone().filter(|at| files[*at].project == files[own].project);
    let named: Vec<usize> = of_project().filter(|at| stem(at) == bare).collect();
    let numbered: Vec<usize> = of_project().filter(|at| Some(files[*at].number) == number).collect();
    match (named.as_slice(), numbered.as_slice()) {
        ([found], _) | ([], [found]) => Some(*found),
        ([], [first, second, ..]) => (files[*first].order() < files[*second].order()).then_some(*first),
        _ => None,
    }
}

impl RecordFile {
    fn of(request: &ImportRequest, file: &ImportFile) -> RecordFile {
        let plain = without_asides(&file.text);
        let headings = part_headings(&plain);
        let number = number_of(&file.path);
        let heading = headings.iter().find(|heading| heading.level == 1).map(|heading| heading.title.as_str());
        let title = file.word(&["title"]).or(heading).map(|title| without_number(title, number));
        let title = title.filter(|title| !title.is_empty()).unwrap_or_else(|| file.stem().replace('-', " "));
        RecordFile {
            number: number.unwrap_or_default(),
            plain_title: plain_title(&title),
            project: file.around(request.source).unwrap_or_default().to_owned(),
            file: file.clone(),
            plain,
            headings,
            title,
        }
    }

    /// Returns what decides which of two records of one number has it.
    fn order(&self) -> (u32, usize) {
        (self.number, self.file.path.matches('/').count())
    }

    /// Returns where the text below the title begins.
    fn start(&self) -> usize {
        self.headings.first().filter(|first| first.level == 1).map_or(0, |first| first.range.end)
    }

    /// Returns the sections that are a part of a record, each with the value in its heading, the place of the heading and
    /// the end of the text.
    fn sections(&self) -> impl Iterator<Item = (RecordPart, &str, Range<usize>, usize)> {
        self.headings.iter().enumerate().filter(|(_, heading)| heading.range.start >= self.start()).filter_map(
            |(at, heading)| {
                // A heading may have a number before it.
                let title = heading.title.trim_start_matches(|letter: char| !letter.is_alphabetic());
                let (part, value) = RecordPart::of(title).map(|part| (part, "")).or_else(|| field(title))?;
                let is_next = |next: &&OutlineHeading| next.level <= heading.level;
                let next = self.headings[at + 1..].iter().find(is_next);
                Some((part, value, heading.range.clone(), next.map_or(self.plain.len(), |next| next.range.start)))
            },
        )
    }

    /// Reads the frontmatter.
    fn fields(&self, lookup: &RecordLookup<'_>) -> (Statements, Vec<FieldLine>) {
        let (mut fields, mut of_fields) = (Vec::new(), Statements::new());
        let mut keys: Vec<&String> = self.file.fields.keys().collect();
        keys.sort_unstable();
        for key in keys {
            let value = match &self.file.fields[key] {
                Value::String(text) => text.trim().to_owned(),
                Value::Number(number) => number.to_string(),
                _ => self.file.list(key).join(", "),
            };
            let line = format!("{key}: {value}");
            let Some((part, _)) = field(&line) else { continue };
            let n_before = of_fields.supersessions.len();
            let is_whole = of_fields.read_value(part, &value, lookup);
            let stated = of_fields.supersessions[n_before..].to_vec();
            fields.push((line, is_whole.then_some(stated)));
        }
        (of_fields, fields)
    }

    /// Reads the lines around the title, before the first section.
    fn head(&self, lookup: &RecordLookup<'_>) -> Statements {
        let mut head = Statements::new();
        let title = self.headings.first().filter(|first| first.level == 1 || RecordPart::of(&first.title).is_none());
        let next = self.headings.get(usize::from(title.is_some())).map_or(self.plain.len(), |next| next.range.start);
        let title = title.map_or(0..0, |title| title.range.clone());
        head.read_lines(&self.plain, 0..title.start, None, lookup);
        head.read_lines(&self.plain, title.end..next, None, lookup);
        head
    }

    /// Reads what the record says in its frontmatter, in the lines before its first section, and in its sections.
    fn record(&self, lookup: &RecordLookup<'_>) -> DecisionRecord {
        let (of_fields, fields) = self.fields(lookup);
        let head = self.head(lookup);
        let (mut of_status, mut elsewhere) = (Statements::new(), Statements::new());
        let mut known = head.lines.clone();
        let (mut has_status, mut decision) = (false, None);
        for (part, value, heading, end) in self.sections() {
            let content = heading.end..end;
            match part {
                RecordPart::Status if !has_status => {
                    has_status = true;
                    let mut is_whole = value.is_empty() || of_status.read_value(part, value, lookup);
                    of_status.read_lines(&self.plain, content.clone(), Some(part), lookup);
                    // What is in a code block is left out of the plain text.
                    let text = &self.file.text[content];
                    is_whole &= of_status.is_whole && !["```", "~~~"].iter().any(|fence| text.contains(fence));
                    known.extend(is_whole.then(|| (heading.start..end, of_status.supersessions.clone())));
                }
                RecordPart::Date => {
                    let is_whole = elsewhere.read_value(part, self.plain[content].trim(), lookup);
                    known.extend((is_whole && value.is_empty()).then(|| (heading.start..end, Vec::new())));
                }
                RecordPart::Replaces | RecordPart::ReplacedBy => {
                    elsewhere.read_value(part, value, lookup);
                    elsewhere.read_lines(&self.plain, content, Some(part), lookup);
                }
                RecordPart::Links => elsewhere.read_lines(&self.plain, content, Some(part), lookup),
                RecordPart::Decision if decision.is_none() => decision = Some((heading, end)),
                _ => {}
            }
        }
        let parts = [of_fields, head, of_status, elsewhere];
        let supersessions: Vec<Supersession> = parts.iter().flat_map(|part| part.supersessions.clone()).collect();
        // The field may say how far the document is, and the section how far the decision is.
        let status = parts.iter().find_map(Statements::status);
        let is_replaced = supersessions.iter().any(|(part, _)| *part == RecordPart::ReplacedBy);
        DecisionRecord {
            is_unclear: status.is_none() && parts.iter().any(|part| part.is_unclear),
            status: status.or(is_replaced.then_some("superseded")),
            date: parts.iter().find_map(|part| part.date),
            supersessions,
            decision,
            known,
            fields,
        }
    }

    /// Returns the text of the entry of a record, without what the entry says in other words. The decision comes first,
    /// because a context with little room shows only the beginning.
    fn body(&self, record: &DecisionRecord, is_made: &dyn Fn(&Supersession) -> bool) -> String {
        let text = self.file.text.as_str();
        let first = record.decision.as_ref().map_or("", |(heading, end)| text[heading.end..*end].trim());
        let known =
            record.known.iter().filter(|(_, stated)| stated.iter().all(is_made)).map(|(range, _)| range.clone());
        let decision = record.decision.iter().map(|(heading, end)| heading.start..*end);
        let rest = without(text, self.start(), known.chain(decision).collect());
        let is_left =
            |stated: &Option<Vec<Supersession>>| !stated.as_ref().is_some_and(|stated| stated.iter().all(is_made));
        let fields: Vec<&str> =
            record.fields.iter().filter(|(_, stated)| is_left(stated)).map(|(line, _)| line.as_str()).collect();
        let parts = [first, rest.trim(), &fields.join("\n")].map(str::to_owned);
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// Returns the headings of a record. Where none of them names a part, the lines that do are headings, too.
fn part_headings(text: &str) -> Vec<OutlineHeading> {
    let mut headings = headings(text);
    if headings.iter().any(|heading| RecordPart::of(&heading.title).is_some()) {
        return headings;
    }
    let (mut at, mut is_behind_blank) = (0, true);
    for line in text.split_inclusive('\n') {
        if is_behind_blank && line.starts_with(char::is_alphabetic) && RecordPart::of(line).is_some() {
            let title = line.trim().to_owned();
            headings.push(OutlineHeading { level: 2, title, range: at..at + line.len() });
        }
        is_behind_blank = line.trim().is_empty();
        at += line.len();
    }
    headings.sort_by_key(|heading| heading.range.start);
    headings
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

/// Returns a title without the number before it and the anchor behind it: `1. Use WAL`, `ADR-0001: Use WAL`,
/// `[ADR-1] Use WAL {#adr-1}`. A number that is not that of a record stays: `1.18 upgrade`.
fn without_number(title: &str, own: Option<u32>) -> String {
    let anchor = title.rsplit_once(" {#").filter(|(_, anchor)| anchor.ends_with('}'));
    let mut title = anchor.map_or(title, |(before, _)| before).trim();
    while let Some(rest) = after_number(title, own) {
        title = rest;
    }
    title.to_owned()
}

fn after_number(title: &str, own: Option<u32>) -> Option<&str> {
    let bare = title.trim_start_matches(['[', '#']);
    let name =
        RECORD_NAMES.iter().find(|name| bare.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)));
    let numbered = bare[name.map_or(0, |name| name.len())..].trim_start_matches(['-', '_', ' ', '#']);
    let rest = numbered.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number: Option<u32> = numbered[..numbered.len() - rest.len()].parse().ok();
    let closed = rest.trim_start_matches([']', '.', ':', ')']);
    let dash = closed.trim_start().strip_prefix(['-', '–', '—']).filter(|behind| behind.starts_with(' '));
    let is_spaced = closed.starts_with(' ') && (closed.len() < rest.len() || name.is_some() && number == own);
    let is_own = name.is_some() || own.is_none() || number == own || rest.starts_with(". ");
    let is_one = number.is_some() && is_own || name.is_some_and(|name| bare[name.len()..].starts_with(':'));
    let behind = dash.or_else(|| Some(closed).filter(|_| is_spaced))?.trim();
    (is_one && !behind.is_empty()).then_some(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_record_is_taken_off_its_title() {
        let check = |title: &str, expected: &str| assert_eq!(without_number(title, Some(12)), expected);
        check("1. Use WAL", "Use WAL");
        check("ADR-0012: Use WAL", "Use WAL");
        check("ADR-0012 Use WAL", "Use WAL");
        check("ADR 3 - Use WAL", "Use WAL");
        check("12 - Use WAL", "Use WAL");
        check("3 replicas at least", "3 replicas at least");
        check("12 replicas at least", "12 replicas at least");
        check("Adrift", "Adrift");
        check("ADR: Use WAL", "Use WAL");
        check("ADR:", "ADR:");
        check("2026", "2026");
        check("ADR-1 — Use WAL {#adr-1}", "Use WAL");
        check("ADR 12) Use WAL", "Use WAL");
        check("1.18 upgrade of Go", "1.18 upgrade of Go");
        check("3.11 is our Python", "3.11 is our Python");
        check("404: Not found", "404: Not found");
        check("3 – 5 replicas", "3 – 5 replicas");
        check("[ADR-0012] 2FA", "2FA");
        check("RFC 0016 - Use WAL", "Use WAL");
        check("Decision Record 15: Use WAL", "Use WAL");
        check("17. 17. Double", "Double");
    }
}
