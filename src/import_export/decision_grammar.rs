//! What a sentence of a decision record says of its status, and of the records that it replaces or that replace it.
//!
//! A sentence is read by a strict grammar, clause after clause: a status, or a supersession, which is a form of
//! [`decision_words`](super::decision_words) with links and numbers of records in it. What is not certain is not read: a
//! supersession behind a clause that nobody knows, before anything but the end of its clause, or in a sentence with a
//! limit. So neither a decision in force is hidden nor the words about it.

use chrono::{DateTime, Utc};

use super::decision_words::{
    AND, RecordPart, begins_limit, follows_status, is_limited, order_of, status_at, supersessions, without_leads,
};
use super::sources::has_extension;
use super::written_dates::{date_in, day_of};

/// The characters that stand for the names of records.
const MARKS: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{efff}';
/// What ends a sentence, besides a full stop.
const SENTENCE_ENDS: [char; 4] = ['。', '→', '!', '|'];
/// What ends a clause, too.
const CLAUSE_ENDS: [char; 8] = [',', ';', '(', ')', '、', '，', '；', '—'];
/// The words before a date, which say nothing more.
const BEFORE_DATES: [&str; 12] = ["on", "since", "at", "of", "am", "seit", "vom", "le", "el", "em", "il", "du"];

/// Returns the record that a name means, with its title as [`plain_title`] gives it.
pub(super) type RecordLookup<'l> = dyn Fn(&str) -> Option<(usize, String)> + 'l;

/// Which record replaces this one, or which one it replaces, if it is a record that is imported.
pub(super) type Supersession = (RecordPart, Option<usize>);

/// What a text says.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) status: Option<&'static str>,
    pub(super) supersessions: Vec<Supersession>,
    pub(super) date: Option<DateTime<Utc>>,
    /// Whether all of its words are understood.
    pub(super) is_whole: bool,
}

/// A text in lower case without markup and dates, in which characters stand for the names of records.
#[derive(Debug, Default)]
struct PlainText {
    text: String,
    names: Vec<String>,
    dates: Vec<DateTime<Utc>>,
}

/// Where a sentence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentencePlace {
    /// It is the value of a field, in which a number alone is the name of a record.
    Value,
    /// It is the first one, which begins with a status, whatever follows.
    First,
    Later,
}

/// Reads a sentence.
pub(super) fn read(text: &str, place: SentencePlace, lookup: &RecordLookup<'_>) -> Reading {
    let plain = PlainText::of(text, place == SentencePlace::Value);
    let found: Vec<Option<(usize, String)>> = plain.names.iter().map(|name| lookup(name)).collect();
    let mut reading =
        Reading { is_whole: plain.dates.is_empty(), date: plain.dates.first().copied(), ..Reading::default() };
    let (mut rest, mut is_first, mut is_doubtful) = (plain.text.as_str(), true, false);
    loop {
        let start = rest.trim_start_matches(|letter: char| !letter.is_alphanumeric() && !is_mark(letter));
        let is_new = is_first
            || rest[..rest.len() - start.len()].contains(SENTENCE_ENDS.as_slice())
            || rest[..rest.len() - start.len()].contains('.');
        is_doubtful &= !is_new;
        if start.is_empty() {
            return reading;
        }
        let clause = without_leads(start);
        if let Some(form) = supersession(clause, &found) {
            let is_certain = !is_doubtful && is_end(form.behind);
            if is_certain {
                reading.status = if form.part == RecordPart::ReplacedBy { Some("superseded") } else { reading.status };
                let records = form.records.iter().map(|record| found[*record].as_ref().map(|(number, _)| *number));
                reading.supersessions.extend(records.map(|record| (form.part, record)));
                rest = form.behind;
            } else {
                rest = &form.behind[clause_end(form.behind)..];
            }
            reading.is_whole &= is_certain && form.is_bare;
            is_doubtful |= !is_certain;
        } else if let Some((status, behind)) = status_at(clause) {
            let more = &behind[..clause_end(behind)];
            let goes_on = supersession(without_leads(behind.trim_start()), &found).is_some();
            let is_alone = more.trim().is_empty() || goes_on;
            let is_later = || order_of(status) > reading.status.and_then(order_of);
            let counts = match status {
                "superseded" => is_alone || !more.contains(is_mark) && !begins_limit(more) && !is_limited(more),
                _ if is_first && place != SentencePlace::Later || is_alone && is_new => true,
                _ if is_new => follows_status(more),
                _ => is_alone && is_later(),
            };
            let counts = counts && (is_first || !is_doubtful);
            reading.status = if counts { Some(status) } else { reading.status };
            reading.is_whole &= is_alone && counts;
            is_doubtful |= !is_alone && (is_limited(more) || begins_limit(more)) || !counts;
            rest = if goes_on { behind } else { &behind[more.len()..] };
        } else {
            (is_doubtful, reading.is_whole) = (true, false);
            rest = &start[clause_end(start)..];
        }
        is_first = false;
    }
}

/// Returns whether a value is what a template says, which nobody filled in: `{proposed | accepted}`.
pub(super) fn is_unfilled(value: &str) -> bool {
    let plain = PlainText::of(value.trim_start_matches('{'), false).text;
    let n_statuses = |between: &[char]| {
        let mut statuses: Vec<&str> = plain.split(between).filter_map(|part| Some(status_at(part.trim())?.0)).collect();
        statuses.dedup();
        statuses.len()
    };
    value.starts_with('{') || n_statuses(&['|', '/']) > 1 || n_statuses(&[',']) > 2
}

/// Returns the date that a text says, and whether it says nothing else.
pub(super) fn read_date(text: &str) -> (Option<DateTime<Utc>>, bool) {
    let plain = PlainText::of(text, false);
    (date_in(text), plain.dates.len() == 1 && !plain.text.contains(char::is_alphanumeric))
}

/// Returns a title as it is compared with the words behind a name.
pub(super) fn plain_title(title: &str) -> String {
    PlainText::of(title, false).text.trim().to_owned()
}

/// A supersession at the beginning of a text.
struct Form<'t> {
    part: RecordPart,
    /// The numbers of the names in it.
    records: Vec<usize>,
    /// Whether no title is behind a name.
    is_bare: bool,
    behind: &'t str,
}

fn supersession<'t>(text: &'t str, found: &[Option<(usize, String)>]) -> Option<Form<'t>> {
    let forms = supersessions().filter_map(|(part, before, behind)| {
        let (records, is_bare, rest) = names_at(text.strip_prefix(before)?, found);
        let behind = rest
            .trim_start()
            .strip_prefix(behind)
            .filter(|_| !behind.is_empty())
            .or(behind.is_empty().then_some(rest))?;
        (!records.is_empty()).then_some(Form { part, records, is_bare, behind })
    });
    forms.min_by_key(|form| (!is_end(form.behind), form.behind.len()))
}

/// Returns the numbers of the names with which a text begins, whether no title is behind them, and the rest of the text.
fn names_at<'t>(text: &'t str, found: &[Option<(usize, String)>]) -> (Vec<usize>, bool, &'t str) {
    let (mut names, mut is_bare, mut behind, mut next) = (Vec::new(), true, text, text.trim_start());
    while let Some(mark) = next.chars().next().filter(|first| is_mark(*first)) {
        let number = (u32::from(mark) - u32::from(*MARKS.start())) as usize;
        names.push(number);
        behind = &next[mark.len_utf8()..];
        let title = found.get(number).and_then(Option::as_ref).map_or("", |(_, title)| title);
        let open = behind.trim_start_matches([' ', '-', '–', '—', '(', '"', '“', '„']);
        let closed =
            open.strip_prefix(title).filter(|rest| !title.is_empty() && !rest.starts_with(char::is_alphanumeric));
        is_bare &= closed.is_none();
        behind = closed.map_or(behind, |rest| rest.trim_start_matches(['"', '”', ')']));
        behind = behind.trim_start().strip_prefix("()").unwrap_or(behind);
        let and = AND.iter().find_map(|and| behind.trim_start().strip_prefix(and));
        next = and.unwrap_or_default().trim_start();
    }
    (names, is_bare, behind)
}

/// Returns whether a supersession ends here, and nothing behind it limits it.
fn is_end(behind: &str) -> bool {
    let bare = behind.trim_start();
    let is_and = AND.iter().any(|and| and.len() > 1 && bare.starts_with(and));
    let is_other = clause_end(bare) > 0 || bare.starts_with(['(', '—']);
    if is_other && !is_and && bare.contains(|letter: char| letter.is_alphanumeric() || is_mark(letter)) {
        return false;
    }
    let (sentence, next) = bare.split_at(sentence_end(bare));
    let first = |text: &str| begins_limit(text) && is_limited(text.split_whitespace().next().unwrap_or_default());
    !is_limited(sentence)
        && !begins_limit(sentence)
        && !first(next.trim_start_matches(|letter: char| !letter.is_alphanumeric()))
}

fn clause_end(text: &str) -> usize {
    let dash = [" - ", " – "].iter().filter_map(|dash| text.find(dash)).min();
    let other = text.find(CLAUSE_ENDS.as_slice());
    [dash, other].into_iter().flatten().chain([sentence_end(text)]).min().unwrap_or_default()
}

fn sentence_end(text: &str) -> usize {
    let is_stop = |at: &usize| {
        let mut before = text[..*at].chars().rev().map(char::is_alphanumeric);
        // The full stops of `e.g.` end no sentence.
        let is_initial = before.next() == Some(true) && before.next() != Some(true);
        !is_initial && text[at + 1..].chars().next().is_none_or(|next| !next.is_alphanumeric())
    };
    let stop = text.match_indices('.').map(|(at, _)| at).find(is_stop);
    stop.into_iter().chain(text.find(SENTENCE_ENDS.as_slice())).min().unwrap_or(text.len())
}

fn is_mark(letter: char) -> bool {
    MARKS.contains(&letter)
}

impl PlainText {
    fn of(text: &str, is_value: bool) -> PlainText {
        let text = if text.matches("~~").count().is_multiple_of(2) {
            text.split("~~").step_by(2).collect()
        } else {
            text.to_owned()
        };
        let text = text.replace("->", "→").replace("=>", "→").replace(['➜', '⇒'], "→").replace('’', "'");
        let mut plain = PlainText::default();
        let mut rest = text.as_str();
        while let Some(letter) = rest.chars().next() {
            let is_start =
                !plain.text.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '.' || last == '/');
            let date = || date_at(rest).filter(|_| is_start);
            let name = || link_at(rest).or_else(|| name_at(rest, is_value).filter(|_| is_start));
            let mut length = letter.len_utf8();
            if let Some((date, of_date)) = date() {
                plain.push_date(date);
                length = of_date;
            } else if let Some((name, of_name)) = name() {
                plain.text.extend(MARKS.clone().nth(plain.names.len()));
                plain.names.push(name);
                length = of_name;
            } else if letter.is_whitespace() || matches!(letter, ':' | '：') {
                plain.text.push_str(if plain.text.ends_with(' ') { "" } else { " " });
            } else if !matches!(letter, '*' | '_' | '`' | '[' | ']') && !is_mark(letter) {
                plain.text.extend(letter.to_lowercase());
            }
            rest = &rest[length..];
        }
        plain
    }

    fn push_date(&mut self, date: DateTime<Utc>) {
        self.dates.push(date);
        let bare = self.text.trim_end();
        let before = BEFORE_DATES.iter().find_map(|word| bare.strip_suffix(word));
        if let Some(before) = before.filter(|before| before.is_empty() || before.ends_with(' ')) {
            self.text.truncate(before.len());
        }
    }
}

/// Returns the target of the link with which a text begins, and the length of the link.
fn link_at(text: &str) -> Option<(String, usize)> {
    if let Some(inner) = text.strip_prefix("[[") {
        let end = inner.find("]]")?;
        return Some((inner[..end].split('|').next()?.trim().to_owned(), end + 4));
    }
    let mut depth = 0_usize;
    let end = text.char_indices().find_map(|(at, letter)| {
        depth += usize::from(letter == '[');
        depth -= usize::from(letter == ']' && depth > 0);
        (depth == 0).then_some(at)
    });
    let start = end.filter(|end| *end > 0 && text[*end..].starts_with("]("))? + 2;
    let length = text[start..].find(')')?;
    let target = text[start..start + length].split_whitespace().next().unwrap_or_default();
    Some((target.trim_matches(['<', '>']).to_owned(), start + length + 1))
}

/// Returns the name of a record with which a text begins, and its length: `ADR-0003`, `adr 3`, `#3`, `0003-new.md` or
/// `0003`, and in a value `3`.
fn name_at(text: &str, is_value: bool) -> Option<(String, usize)> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/' | '%');
    let token = &text[..text.find(|letter| !is_part(letter)).unwrap_or(text.len())];
    if has_extension(token.trim_end_matches('.'), "md") {
        let token = token.trim_end_matches('.');
        return Some((token.to_owned(), token.len()));
    }
    let named = text.get(..3).filter(|start| start.eq_ignore_ascii_case("adr")).map(|_| &text[3..]);
    let bare = named
        .map(|rest| rest.trim_start_matches(['-', '_', ' ', '#']))
        .or_else(|| text.strip_prefix('#'))
        .unwrap_or(text);
    let digits = &bare[..bare.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(bare.len())];
    let is_padded = digits.len() > 2 && digits.starts_with('0');
    let is_name = !digits.is_empty() && (bare.len() < text.len() || is_padded || is_value);
    let is_slug = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let slug = &bare[..bare.find(|letter| !is_slug(letter)).unwrap_or(bare.len())];
    let behind = bare[slug.len()..].trim_start_matches('.');
    let is_whole = !behind.starts_with(|next: char| next == '/' || next.is_ascii_alphanumeric());
    let length = text.len() - bare.len() + slug.trim_end_matches(['-', '_']).len();
    (is_name && is_whole).then(|| (text[..length].trim_start_matches('#').to_owned(), length))
}

/// Returns the date with which a text begins, and its length.
fn date_at(text: &str) -> Option<(DateTime<Utc>, usize)> {
    let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '-' | '/' | '.' | '年' | '月' | '日');
    let first = &text[..text.find(|letter| !is_part(letter)).unwrap_or(text.len())];
    let first = first.trim_end_matches(['.', '-', '/']);
    let midnight = |day: chrono::NaiveDate| day.and_time(chrono::NaiveTime::MIN).and_utc();
    if let Some((day, _)) = day_of(&[first]) {
        return Some((midnight(day), first.len()));
    }
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    let bare: Vec<&str> = words.iter().map(|word| word.trim_end_matches([',', ';', ')', '.', ':'])).collect();
    let (day, n_used) = day_of(&bare).filter(|_| !text.starts_with(char::is_whitespace))?;
    let last = bare[n_used - 1];
    let end = last.as_ptr() as usize - text.as_ptr() as usize + last.len();
    Some((midnight(day), end))
}
