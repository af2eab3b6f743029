//! What the lines, the tables and the frontmatter of a decision record say of its status, and what replaces what.

use std::ops::Range;

use chrono::{DateTime, Utc};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::decision_grammar::{RecordLookup, SentencePlace, Supersession, is_unfilled, read, read_date};
use super::decision_words::RecordPart;

/// Returns a text of the same length with blanks for what says nothing: comments, and code between fences.
pub(super) fn without_asides(text: &str) -> String {
    let mut plain = text.to_owned();
    let blank = |plain: &mut String, range: Range<usize>| {
        let blanks = plain[range.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' });
        let blanks: String = blanks.collect();
        plain.replace_range(range, &blanks);
    };
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => blank(&mut plain, range),
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => {
                let (mut at, end) = (range.start, range.end);
                while let Some(start) = text[at..end].find("<!--").map(|start| at + start) {
                    at = text[start..end].find("-->").map_or(end, |length| start + length + 3);
                    blank(&mut plain, start..at);
                }
            }
            _ => {}
        }
    }
    plain
}

/// What a part of a record says.
#[derive(Debug, Default)]
pub(super) struct Statements {
    /// The statuses in it, each with its date.
    statuses: Vec<(Option<DateTime<Utc>>, &'static str)>,
    pub(super) supersessions: Vec<Supersession>,
    pub(super) date: Option<DateTime<Utc>>,
    /// Whether it has a status that is not known.
    pub(super) is_unclear: bool,
    /// The lines that say nothing but a status or a date, each with what replaces what in it.
    pub(super) lines: Vec<(Range<usize>, Vec<Supersession>)>,
    /// Whether all of its words are understood.
    pub(super) is_whole: bool,
}

impl Statements {
    pub(super) fn new() -> Statements {
        Statements { is_whole: true, ..Statements::default() }
    }

    /// Returns the last status: that of the latest date, if all have one.
    pub(super) fn status(&self) -> Option<&'static str> {
        let are_dated = self.statuses.iter().all(|(date, _)| date.is_some());
        let last = self.statuses.iter().max_by_key(|(date, _)| date.filter(|_| are_dated));
        last.map(|(_, status)| *status)
    }

    /// Reads the value of a field. Returns whether all of it is understood.
    pub(super) fn read_value(&mut self, part: RecordPart, value: &str, lookup: &RecordLookup<'_>) -> bool {
        match part {
            RecordPart::Status => self.read_status(value, SentencePlace::Value, lookup),
            RecordPart::Date => {
                let (date, is_whole) = read_date(value);
                self.date = self.date.or(date);
                is_whole
            }
            _ => {
                let reading = read(&format!("{} {value}", part.verb()), SentencePlace::Value, lookup);
                let is_whole = reading.is_whole && !reading.supersessions.is_empty();
                self.supersessions.extend(reading.supersessions);
                is_whole
            }
        }
    }

    fn read_status(&mut self, text: &str, place: SentencePlace, lookup: &RecordLookup<'_>) -> bool {
        if is_unfilled(text) {
            return place == SentencePlace::Value;
        }
        let reading = read(text, place, lookup);
        self.statuses.extend(reading.status.map(|status| (reading.date, status)));
        self.is_unclear |= reading.status.is_none() && !reading.is_whole;
        self.supersessions.extend(reading.supersessions);
        reading.is_whole
    }

    /// Reads the lines of a text. In those below the heading of a `part`, nothing needs to name it; in others, a line has
    /// to say what its value is.
    pub(super) fn read_lines(
        &mut self,
        text: &str,
        range: Range<usize>,
        part: Option<RecordPart>,
        lookup: &RecordLookup<'_>,
    ) {
        let is_key = |part: &RecordPart| matches!(part, RecordPart::Replaces | RecordPart::ReplacedBy);
        let mut key = part.filter(is_key);
        for (range, line) in sentences(text, range) {
            if line.starts_with('|') {
                self.read_table(&line, lookup);
                self.is_whole = false;
                continue;
            }
            let (line, is_chosen) = without_bullet(&line);
            let n_before = self.supersessions.len();
            let fields: Vec<(RecordPart, &str)> = line.split(" | ").filter_map(field).collect();
            let n_fields = line.split(" | ").count();
            let mut other = Statements::new();
            let statements = if is_chosen { &mut *self } else { &mut other };
            let is_whole = if let Some(named) = RecordPart::of(line).filter(is_key) {
                key = Some(named);
                continue;
            } else if let Some(is_whole) = key.and_then(|key| statements.read_item(key, line, lookup)) {
                is_whole
            } else if let [(part, _), ..] = fields.as_slice() {
                key = None;
                let wholes: Vec<bool> =
                    fields.iter().map(|(part, value)| statements.read_value(*part, value, lookup)).collect();
                let is_whole = wholes.len() == n_fields && !wholes.contains(&false);
                if is_whole && is_chosen && !is_key(part) {
                    let of_line = statements.supersessions[n_before..].to_vec();
                    statements.lines.push((range, of_line));
                }
                is_whole
            } else if part == Some(RecordPart::Status) {
                key = None;
                {
                    let is_first = statements.statuses.is_empty();
                    statements.read_status(
                        line,
                        if is_first { SentencePlace::First } else { SentencePlace::Later },
                        lookup,
                    )
                }
            } else {
                key = None;
                let reading = read(line, SentencePlace::Later, lookup);
                statements.supersessions.extend(reading.supersessions);
                false
            };
            self.is_whole &= is_whole;
        }
    }

    /// Reads an item of a list below a key; `None` for any other line.
    fn read_item(&mut self, key: RecordPart, line: &str, lookup: &RecordLookup<'_>) -> Option<bool> {
        let reading = read(&format!("{} {line}", key.verb()), SentencePlace::Value, lookup);
        let is_item = !reading.supersessions.is_empty();
        self.supersessions.extend(reading.supersessions);
        is_item.then_some(reading.is_whole)
    }

    /// Reads a table: one whose first row names its columns, or one with a name and a value in each row.
    fn read_table(&mut self, table: &str, lookup: &RecordLookup<'_>) {
        let cells = |row: &'_ str| -> Vec<String> {
            row.trim().trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('*').to_owned()).collect()
        };
        let is_rule = |row: &Vec<String>| row.iter().all(|cell| cell.chars().all(|letter| matches!(letter, '-' | ':')));
        let rows: Vec<Vec<String>> = table.lines().map(cells).collect();
        let Some(head) = rows.first() else { return };
        let parts: Vec<Option<RecordPart>> = head.iter().map(|cell| RecordPart::of(cell)).collect();
        let mut pair = Statements::new();
        if let ([Some(part)], Some(value)) = (&parts[..1], head.get(1)) {
            pair.read_value(*part, value, lookup);
        }
        let is_pair = pair.status().is_some() || pair.date.is_some() || !pair.supersessions.is_empty();
        let names_columns = rows.get(1).is_some_and(is_rule) && parts.iter().any(Option::is_some) && !is_pair;
        for row in rows.iter().filter(|row| !is_rule(row)).skip(usize::from(names_columns)) {
            let pairs: Vec<(Option<RecordPart>, &String)> = match row.as_slice() {
                row if names_columns => parts.iter().copied().zip(row).collect(),
                [name, value] => vec![(RecordPart::of(name), value)],
                _ => Vec::new(),
            };
            for (part, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
                part.map(|part| self.read_value(part, value, lookup));
            }
        }
    }
}

/// Returns the sentences of a text with their places: a line, with the lines after it that go on in lower case, or a table.
fn sentences(text: &str, range: Range<usize>) -> Vec<(Range<usize>, String)> {
    let mut sentences: Vec<(Range<usize>, String)> = Vec::new();
    let (mut at, mut is_open) = (range.start, false);
    for line in text[range].split_inclusive('\n') {
        let (start, bare) = (at, line.trim());
        at += line.len();
        let is_row = bare.starts_with('|');
        // A quotation has its mark on each line.
        let more = bare.trim_start_matches(['>', ' ']).trim_start_matches("**");
        let is_lower = more.starts_with(|first: char| first.is_lowercase() || first == '(') && !has_name(more);
        let goes_on = |last: &str| if last.starts_with('|') { is_row } else { is_lower };
        match sentences.last_mut() {
            Some((range, last)) if is_open && goes_on(last) => {
                range.end = at;
                last.push_str(if is_row { "\n" } else { " " });
                last.push_str(if is_row { bare } else { more });
            }
            _ if !bare.is_empty() => sentences.push((start..at, bare.to_owned())),
            _ => {}
        }
        is_open = !bare.is_empty();
    }
    sentences
}

/// Returns whether a line begins with the name of a value.
fn has_name(line: &str) -> bool {
    line.split_once([':', '：']).is_some_and(|(name, _)| name.split_whitespace().count() <= 3)
}

/// Returns the part that a line names before a colon, and its value.
pub(super) fn field(text: &str) -> Option<(RecordPart, &str)> {
    let (name, value) = text.split_once([':', '：'])?;
    let value = value.trim_matches(['*', '_', ' ']);
    let part = RecordPart::of(name).filter(|part| {
        matches!(part, RecordPart::Status | RecordPart::Date | RecordPart::Replaces | RecordPart::ReplacedBy)
    });
    Some((part?, value)).filter(|_| !value.is_empty())
}

/// Returns a line without what makes it an item, a heading or a quotation, and whether its box, if it has one, is ticked.
fn without_bullet(line: &str) -> (&str, bool) {
    let bare = line.trim_start_matches(['#', '>', '-', '+', ' ']);
    let bare = bare.strip_prefix("* ").unwrap_or(bare).trim_start();
    let digits = bare.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let bare = digits
        .strip_prefix(['.', ')'])
        .filter(|rest| digits.len() < bare.len() && rest.starts_with(' '))
        .unwrap_or(bare);
    let bare = bare.trim();
    let open = bare.strip_prefix("[ ]");
    let ticked = bare.strip_prefix("[x]").or_else(|| bare.strip_prefix("[X]"));
    (open.or(ticked).unwrap_or(bare).trim(), open.is_none())
}
