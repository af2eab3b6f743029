//! Random-looking values after a name that says what they are.
//!
//! The names, and how random a value must be, come from notes of engineers in which hashes, ids and placeholders occur
//! beside words such as `token`; `tests/integration/leaks.rs` measures it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::names::{MAX_NAME, ValueKind, kind_of};
use super::values::{classes, is_basic, is_digest, is_key, is_password};
use super::{MAX_KEY_BYTES, MAX_VALUE, ahead, before, line_start, places};
use crate::text::floor;

/// How far after a name in a sentence its value may be, in words and in bytes.
const MAX_BETWEEN: (usize, usize) = (6, 60);

/// The previous word: names such as `API key` have two.
#[derive(Debug, Default)]
pub(super) struct Words {
    before: Range<usize>,
    /// Values further on that belong to the name of a column, by their start.
    ahead: BTreeMap<usize, (&'static str, usize)>,
}

impl Words {
    /// Returns the value that begins at `at` and was found before.
    #[inline]
    pub(super) fn value_at(&mut self, at: usize) -> Option<(&'static str, Range<usize>)> {
        // It is asked for at every byte.
        if self.ahead.is_empty() { None } else { self.found_at(at) }
    }

    fn found_at(&mut self, at: usize) -> Option<(&'static str, Range<usize>)> {
        while let Some(first) = self.ahead.first_entry().filter(|first| *first.key() <= at) {
            let (start, (pattern, end)) = first.remove_entry();
            if start == at {
                return Some((pattern, start..end));
            }
        }
        None
    }
}

/// Finds the value after the name that begins at `at`, if there is one and it looks like a secret.
pub(super) fn value_behind(text: &str, at: usize, words: &mut Words) -> Option<(&'static str, Range<usize>)> {
    let length = text[at..].bytes().take(MAX_NAME + 1).take_while(|byte| is_of_name(*byte)).count();
    let end = at + text[at..at + length].trim_end_matches(['-', '.']).len();
    let word = &text[at..end];
    let before = std::mem::replace(&mut words.before, at..end);
    let joins = before.end < at && matches!(&text[before.end..at], " " | "-" | "_");
    let before = if joins { &text[before] } else { "" };
    match word {
        "Bearer" | "bearer" | "Token" => {
            let value = word_at(text, skip(text, end, " "));
            return (is_key(&text[value.clone()], true)).then_some(("bearer-token", value));
        }
        "Basic" | "basic" => {
            let value = word_at(text, skip(text, end, " "));
            return is_basic(&text[value.clone()]).then_some(("basic-credentials", value));
        }
        "u" | "user" if is_option(text, at) => return user_and_password(text, end),
        _ => {}
    }
    if let Some(found) = places::value(text, at, end) {
        return Some(found);
    }
    let kind = kind_of(word, before).filter(|_| !is_in_arn(text, at))?;
    let separator = separated(text, at, end);
    if let Some(start) = separator {
        let value = value_at(text, start, is_in_query(text, at));
        if is_secret(kind, &text[value.clone()]) {
            return Some((kind.name(), whole(text, value)));
        }
        for cell in places::column(text, at).into_iter().filter(|cell| is_secret(kind, &text[cell.clone()])) {
            words.ahead.insert(cell.start, (kind.name(), cell.end));
        }
        return None;
    }
    in_sentence(text, end, kind).or_else(|| in_front(text, at, kind))
}

fn is_secret(kind: ValueKind, value: &str) -> bool {
    match kind {
        ValueKind::Password => is_password(value),
        ValueKind::Key => is_key(value, false),
    }
}

fn whole(text: &str, value: Range<usize>) -> Range<usize> {
    if value.len() + 4 < MAX_VALUE {
        return value;
    }
    let rest = text[value.end..].bytes().take(MAX_KEY_BYTES);
    value.start..value.end + rest.take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte)).count()
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn skip(text: &str, at: usize, these: &str) -> usize {
    at + text[at..].len() - text[at..].trim_start_matches(|character| these.contains(character)).len()
}

/// Returns the start of the value that a separator joins to the name from `start` to `at`.
fn separated(text: &str, start: usize, at: usize) -> Option<usize> {
    // An element of XML, two arguments of a call, and an option with its value in a list.
    let is_in_url = text[..start].ends_with(":<") && text[at..].starts_with(">@");
    if text[..start].ends_with('<') && text[at..].starts_with('>') && !is_in_url {
        return Some(at + 1);
    }
    if let Some(quote) = text[at..].chars().next().filter(|quote| matches!(quote, '"' | '\''))
        && is_argument(&text[..start], quote)
        && let Some(value) = text[at + 1..].strip_prefix(',')
    {
        return Some(skip(text, text.len() - value.len(), " \n\r\t"));
    }
    // In a list of variables, the name is a value as well.
    let next = skip(text, at, "\"', \t\r\n");
    if let Some(rest) = text[next..].strip_prefix("value").map(|rest| rest.trim_start_matches(['"', '\'']))
        && let Some(value) = rest.strip_prefix([':', '='])
    {
        let start = text.len() - value.len();
        return Some(skip(text, start, " \t"));
    }
    // The name may be quoted, in brackets, bold or a cell of a table, and may have a type.
    let mut at = skip(text, at, "\\\"'`*]) \t");
    if let Some(typed) = text[at..].strip_prefix(": ").filter(|typed| typed.starts_with(['S', '&', 's'])) {
        let typed = &typed[..floor(typed, MAX_NAME)];
        let typed = typed.lines().next().unwrap_or_default();
        let equals = typed.find('=').filter(|equals| {
            typed[..*equals].split_whitespace().count() <= 3 && !typed[..*equals].contains(['"', '\''])
        });
        at = equals.map_or(at, |equals| at + 2 + equals);
    }
    let length = [":=", "=>", "->", "==", "=", ":", "|", "→", "%3D", "%3d", "＝", "："]
        .iter()
        .find(|separator| text[at..].starts_with(**separator))?
        .len();
    let mut start = skip(text, at + length, " \t*");
    // A prefix of strings, or the words before a header's value.
    for prefix in ["Bearer ", "Basic ", "Token ", "token ", "bearer ", "SSWS ", "ApiKey ", "base64:"] {
        start += if text[start..].starts_with(prefix) { prefix.len() } else { 0 };
    }
    Some(if text[at..].starts_with(':') { below(text, start) } else { start })
}

/// Returns whether a quoted word behind this text is the first argument of a call, or an option.
fn is_argument(before: &str, quote: char) -> bool {
    before.strip_suffix(quote).is_some_and(|call| call.trim_end_matches(' ').ends_with('('))
        || before.strip_suffix("--").is_some_and(|list| list.ends_with(quote))
}

/// Returns the start of a value after `>-` or the like at `at`: it is on the next line, as in YAML.
fn below(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let indicator = rest.bytes().take(3).take_while(|byte| b"|>+-123456789".contains(byte)).count();
    // A comment may follow it.
    let head = &rest[..floor(rest, MAX_VALUE)];
    let head = head.split(['\n', '\r']).next().unwrap_or_default();
    let behind = head[indicator.min(head.len())..].trim_start_matches([' ', '\t']);
    let is_block = rest.starts_with(['|', '>']) && (behind.is_empty() || behind.starts_with('#'));
    if !is_block || head.len() == rest.len() {
        return at;
    }
    // The line may be part of a diff, or quoted. A line of several words is prose.
    let start = skip(text, at + head.len(), " \t\r\n+>");
    let line = ahead(text, start).lines().next().unwrap_or_default();
    if line.trim_end().contains(char::is_whitespace) { at } else { start }
}

/// Returns whether the name that begins at `at` is in the query of a URL.
fn is_in_query(text: &str, at: usize) -> bool {
    text[..at].ends_with(['?', '&'])
}

/// Returns the value that begins at `at`: the quoted text, else everything up to white space.
fn value_at(text: &str, at: usize, in_query: bool) -> Range<usize> {
    let rest = ahead(text, at);
    let opening = rest
        .trim_start_matches(['b', 'r', 'f', 'u'])
        .strip_prefix('\\')
        .unwrap_or(rest.trim_start_matches(['b', 'r', 'f', 'u']));
    if let Some(quote) = opening.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`')) {
        let start = at + rest.len() - opening.len() + 1;
        let inner = ahead(text, start);
        let line = &inner[..inner.find('\n').unwrap_or(inner.len())];
        let end = line.find(quote).unwrap_or(line.len());
        return start..start + line[..end].trim_end_matches('\\').len();
    }
    if in_query {
        let length = rest
            .bytes()
            .take_while(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'%' | b'~' | b'+' | b'=' | b'/')
            })
            .count();
        return at..at + length;
    }
    word_at(text, at)
}

/// Returns the word at `at`, without the punctuation of the sentence around it.
fn word_at(text: &str, at: usize) -> Range<usize> {
    let rest = ahead(text, at);
    let end = rest
        .find(|character: char| character.is_whitespace() || matches!(character, '"' | '\'' | '`' | '<'))
        .unwrap_or(rest.len());
    let word = rest[..end].trim_end_matches([',', ';', '.', ')', ']', '}', '|', '>', '\\', ':']);
    at..at + word.len()
}

/// Finds a value in the sentence after a name: the first word that is not a word of a language.
fn in_sentence(text: &str, at: usize, kind: ValueKind) -> Option<(&'static str, Range<usize>)> {
    let line = &text[at..floor(text, at + MAX_BETWEEN.1 + MAX_VALUE)];
    let line = &line[..line.find('\n').unwrap_or(line.len())];
    if !line.trim_start_matches(['`', '"', '\'', '*', ')']).starts_with([' ', '\t']) {
        return None;
    }
    let mut start = 0;
    for _ in 0..=MAX_BETWEEN.0 {
        start = skip(line, start, " \t(");
        let (quoted, value) = match line[start..].chars().next()? {
            '`' | '"' | '\'' => (true, value_at(line, start, false)),
            _ => (false, word_at(line, start)),
        };
        let word = &line[value.clone()];
        let is_plain =
            word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-' || byte == b'\'') || word.len() < 8;
        if !is_plain {
            let is_secret = match kind {
                ValueKind::Password => {
                    is_password(word)
                        && (classes(word) >= 4 || (quoted && classes(word) >= 3))
                        && (quoted || !is_compound(word))
                        && !word.contains(['/', '(', '=', '{'])
                }
                ValueKind::Key => is_key(word, false) && word.len() >= 20 && !is_digest(word),
            };
            return is_secret.then_some((kind.name(), at + value.start..at + value.end));
        }
        // White space of other scripts does not belong to a word, and is longer than a byte.
        let least = start + line[start..].chars().next().map_or(1, char::len_utf8);
        start = floor(line, value.end.max(least) + usize::from(quoted));
        if start >= MAX_BETWEEN.1.min(line.len())
            || line[..start].ends_with('.')
            || line[start..].starts_with(['.', ';'])
        {
            return None;
        }
        start = skip(line, start, ",:=*");
    }
    None
}

/// Returns whether a word is hyphenated, and a part of it is plain: `Argon2id-hash`.
fn is_compound(word: &str) -> bool {
    let is_plain = |part: &str| part.len() >= 4 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') && word.split('-').any(is_plain)
}

/// Finds a quoted value in the sentence before a name: `use VALUE as the password`.
fn in_front(text: &str, at: usize, kind: ValueKind) -> Option<(&'static str, Range<usize>)> {
    let line_start = line_start(text, at);
    let line = &text[line_start..at];
    let (value_end, behind) =
        ["` as ", "\" as ", "' as "].iter().find_map(|joint| line.rfind(joint).map(|end| (end, end + joint.len())))?;
    let quote = line[value_end..].chars().next()?;
    if line.len() - behind > MAX_BETWEEN.1 || line[behind..].contains([quote, '.', ';']) {
        return None;
    }
    let start = line[..value_end].rfind(quote)? + 1;
    let value = &line[start..value_end];
    let is_secret = value.len() <= MAX_VALUE && is_secret(kind, value);
    is_secret.then_some((kind.name(), line_start + start..line_start + value_end))
}

/// Returns whether the word at `at` is a part of a resource name of Amazon.
fn is_in_arn(text: &str, at: usize) -> bool {
    let window = before(text, at);
    let is_end = |character: char| character.is_whitespace() || matches!(character, '"' | '\'' | '`' | '(');
    window.rsplit(is_end).next().is_some_and(|word| word.starts_with("arn:"))
}

/// Returns whether the word at `at` is an option of a command.
fn is_option(text: &str, at: usize) -> bool {
    text[..at].ends_with(" -") || text[..at].ends_with(" --")
}

/// Finds the password in `-u name:password`.
fn user_and_password(text: &str, at: usize) -> Option<(&'static str, Range<usize>)> {
    let value = value_at(text, skip(text, at, " ="), false);
    let colon = text[value.clone()].find(':')?;
    let password = value.start + colon + 1..value.end;
    is_password(&text[password.clone()]).then_some(("password", password))
}
