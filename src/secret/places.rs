//! Values that stand where a program wants a secret, behind no separator: options of commands, `.netrc`, SQL, cookies,
//! columns of tables.

use std::ops::Range;

use super::values::{is_key, is_password};
use crate::text::floor;

/// The longest value, in bytes.
const MAX_VALUE: usize = 300;
/// How far back is looked for what a word belongs to, in bytes.
const MAX_BACK: usize = 400;
/// How much of a line of cookies is looked at: pairs, bytes.
const MAX_COOKIES: (usize, usize) = (32, 4_096);
/// How much of a table is looked at below the name of a column: rows, bytes, columns.
const MAX_TABLE: (usize, usize, usize) = (64, 8_192, 12);
/// Commands that log in, and take the password behind `-p` with or without a space between.
const LOGINS: [&str; 8] = [
    "docker login",
    "podman login",
    "nerdctl login",
    "buildah login",
    "skopeo login",
    "registry login",
    "oc login",
    "sshpass",
];
/// Commands that take it behind `-p` without a space; with one, `-p` asks for it.
const GLUED: [&str; 5] = ["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb"];

/// Finds the value that the word from `at` to `end` stands before, by where it stands.
pub(super) fn value(text: &str, at: usize, end: usize) -> Option<(&'static str, Range<usize>)> {
    match &text[at..end] {
        "password" => in_netrc(text, at, end).or_else(|| behind_option(text, at, end)),
        word if word.eq_ignore_ascii_case("cookie") || word.eq_ignore_ascii_case("set-cookie") => {
            cookies(text, at, end)
        }
        word if word.eq_ignore_ascii_case("by") => identified_by(text, at, end),
        word if word.starts_with('p') && text[..at].ends_with(" -") => login(text, at),
        _ => None,
    }
}

fn is_secret(value: &str) -> bool {
    is_password(value) || is_key(value, true)
}

/// Returns the value that begins behind white space at `at`: what is in quotes, else the word.
fn word(text: &str, at: usize) -> Range<usize> {
    let rest = &text[at..floor(text, at + MAX_VALUE)];
    let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
    let start = at + quote.map_or(0, char::len_utf8);
    let rest = &text[start..floor(text, start + MAX_VALUE)];
    let ends = |character: char| match quote {
        Some(quote) => character == quote || character == '\n',
        None => character.is_whitespace() || matches!(character, '"' | '\'' | '`'),
    };
    start..start + rest.find(ends).unwrap_or(rest.len())
}

fn some(text: &str, value: Range<usize>) -> Option<(&'static str, Range<usize>)> {
    is_secret(&text[value.clone()]).then_some(("password", value))
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// `machine HOST login NAME password VALUE`, on one line or several.
fn in_netrc(text: &str, at: usize, end: usize) -> Option<(&'static str, Range<usize>)> {
    let window = &text[floor(text, at.saturating_sub(MAX_BACK))..at];
    let mut before = window.split_whitespace().rev().skip(1);
    let is_netrc = matches!(before.next(), Some("login" | "machine")) && window.ends_with(char::is_whitespace);
    let gap = &text[end..floor(text, end + MAX_VALUE)];
    let gap = blanks(gap);
    (is_netrc && gap > 0).then(|| some(text, word(text, end + gap))).flatten()
}

/// `--password VALUE`.
fn behind_option(text: &str, at: usize, end: usize) -> Option<(&'static str, Range<usize>)> {
    let is_option = text[..at].ends_with(" --") && text[end..].starts_with(' ');
    is_option.then(|| some(text, word(text, end + 1))).flatten()
}

/// `docker login -p VALUE`, `mysql -pVALUE`.
fn login(text: &str, at: usize) -> Option<(&'static str, Range<usize>)> {
    let rest = &text[at + 1..floor(text, at + 1 + MAX_VALUE)];
    let gap = rest.len() - rest.trim_start_matches([' ', '=']).len();
    // Whether it may be a secret is told sooner than what the command is.
    let found = some(text, word(text, at + 1 + gap))?;
    let before = &text[floor(text, at.saturating_sub(MAX_BACK))..at];
    // A command goes on behind a backslash at the end of its line.
    let start = before.match_indices('\n').rev().find(|(at, _)| !before[..*at].ends_with('\\')).map_or(0, |(at, _)| at);
    let command = &before[start..];
    let is_one = |name: &&str| {
        let is_end = |character: Option<char>| character.is_none_or(|character| !character.is_ascii_alphanumeric());
        command.match_indices(*name).any(|(at, _)| {
            is_end(command[..at].chars().next_back()) && command[at + name.len()..].starts_with(char::is_whitespace)
        })
    };
    let is_login = LOGINS.iter().any(&is_one) || gap == 0 && GLUED.iter().any(is_one);
    is_login.then_some(found)
}

/// `IDENTIFIED BY 'VALUE'`, `IDENTIFIED WITH PLUGIN BY 'VALUE'`.
fn identified_by(text: &str, at: usize, end: usize) -> Option<(&'static str, Range<usize>)> {
    let before = &text[floor(text, at.saturating_sub(60))..at];
    let mut words = before.split_whitespace().rev();
    let is_it = |word: Option<&str>| word.is_some_and(|word| word.eq_ignore_ascii_case("identified"));
    let is_identified = is_it(words.next()) || is_it(words.nth(1));
    let rest = &text[end..floor(text, end + MAX_VALUE)];
    let start = end + blanks(rest);
    let is_quoted = text[start..].starts_with(['\'', '"']);
    (is_identified && is_quoted).then(|| some(text, word(text, start))).flatten()
}

/// `Cookie: name=VALUE; name=VALUE`: from the first value that may be a secret to the last.
fn cookies(text: &str, at: usize, end: usize) -> Option<(&'static str, Range<usize>)> {
    let is_option = text[..at].ends_with(" --") && text[end..].starts_with([' ', '=']);
    if !is_option && !text[end..].starts_with(':') {
        return None;
    }
    let line = &text[end + 1..floor(text, end + 1 + MAX_COOKIES.1)];
    let mut from = end + 1 + line.len() - line.trim_start_matches([' ', '"', '\'']).len();
    let mut found: Option<Range<usize>> = None;
    for _ in 0..MAX_COOKIES.0 {
        let rest = &text[from..end + 1 + line.len()];
        let length = rest.find([';', '\n', '"', '\'', '`']).unwrap_or(rest.len());
        let pair = &rest[..length];
        if let Some((_, value)) = pair.split_once('=') {
            let value = from + pair.len() - value.len()..from + pair.trim_end_matches([' ', '.', ',', ')']).len();
            if value.start < value.end && is_secret(&text[value.clone()]) {
                found = Some(found.map_or(value.start, |found| found.start)..value.end);
            }
        }
        if !rest[length..].starts_with(';') {
            break;
        }
        from += length + 1;
    }
    found.map(|found| ("cookie", found))
}

/// Returns the cells below a word in the first row of a table.
pub(super) fn column(text: &str, at: usize) -> Vec<Range<usize>> {
    let window = floor(text, at.saturating_sub(MAX_BACK));
    let start = text[window..at].rfind('\n').map_or(window, |newline| window + newline + 1);
    let number = text[start..at].matches('|').count();
    let mut cells = Vec::new();
    if !(1..=MAX_TABLE.2).contains(&number) {
        return cells;
    }
    let table = &text[at..floor(text, at + MAX_TABLE.1)];
    let mut lines = table.split_inclusive('\n');
    let head = lines.next().unwrap_or_default();
    let rule = lines.next().unwrap_or_default();
    let is_rule = |line: &str| line.contains("--") && line.trim().bytes().all(|byte| b"|-:> \t".contains(&byte));
    if !is_rule(rule) {
        return cells;
    }
    let mut from = at + head.len() + rule.len();
    for line in lines.take(MAX_TABLE.0) {
        if !line.contains('|') || is_rule(line) {
            break;
        }
        let before: usize = line.split('|').take(number).map(|cell| cell.len() + 1).sum();
        if let Some(cell) = line.split('|').nth(number) {
            let is_frame = |character: char| character.is_whitespace() || matches!(character, '`' | '*');
            let first = before + cell.len() - cell.trim_start_matches(is_frame).len();
            let value = cell.trim_matches(is_frame);
            cells.push(from + first..from + first + value.len());
        }
        from += line.len();
    }
    cells
}
