//! Values at places where a program expects a secret, without a separator before them: options of commands, `.netrc`,
//! SQL, cookies, columns of tables.

use std::ops::Range;

use super::values::{is_key, is_password};
use super::{MAX_KEY_BYTES, MAX_VALUE, ahead, before, line_start};
use crate::text::floor;

/// How much of a line of cookies is examined: pairs, bytes.
const MAX_COOKIES: (usize, usize) = (32, 4_096);
/// How much of a table is examined below the name of a column: rows, bytes, columns.
const MAX_TABLE: (usize, usize, usize) = (64, 8_192, 12);
/// Commands that take a password after an option of one letter, with or without a space between.
const LOGINS: [(&str, &str); 4] = [
    (
        "p",
        "docker login, podman login, nerdctl login, buildah login, skopeo login, registry login, oc login, sshpass, \
         mongosh, mongo, mongodump, mongorestore, cqlsh",
    ),
    ("a", "redis-cli, valkey-cli"),
    ("w", "ldapsearch, ldapadd, ldapmodify, ldapdelete, ldapwhoami, ldappasswd"),
    ("P", "sqlcmd, bcp"),
];
/// Commands that take a token as their only argument.
const WITH_TOKEN: [&str; 4] = ["snyk auth", "wandb login", "vault login", "ngrok authtoken"];
/// How far around the key of a JSON Web Key its `kty` is looked for, in bytes.
const MAX_JWK: usize = 2_000;
/// Commands that take it after `-p` without a space; with a space, `-p` prompts for it.
const GLUED: [&str; 5] = ["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb"];

/// How many words that are not options may be between a command and its `-p`.
const MAX_ARGUMENTS: usize = 6;
/// Words that continue a sentence after the name of a command.
const OF_SENTENCES: [&str; 8] = ["use", "then", "and", "or", "with", "run", "before", "after"];
/// The words before `IDENTIFIED` in a statement of SQL that sets a password.
const STATEMENTS: [&str; 5] = ["create", "alter", "grant", "set", "user"];

/// Finds the value after the word from `at` to `end`, by its place.
pub(super) fn value(text: &str, at: usize, end: usize) -> Option<(&'static str, Range<usize>)> {
    match &text[at..end] {
        "password" => in_netrc(text, at, end).or_else(|| behind_option(text, at, end)),
        "passphrase" => behind_option(text, at, end),
        "auth" | "login" | "authtoken" => with_token(text, at, end),
        "d" | "k" if text[..at].ends_with('"') && text[end..].starts_with('"') => private_jwk(text, end + 1),
        "thin" | "oci" if text[..at].ends_with("jdbc:oracle:") => behind_slash(text, end + 1),
        "sqlplus" => behind_slash(text, end + 1),
        "Private-Lines" => of_putty(text, end),
        word if word.eq_ignore_ascii_case("cookie") || word.eq_ignore_ascii_case("set-cookie") => {
            let is_option = text[..at].ends_with(" --") && text[end..].starts_with([' ', '=']);
            let colon =
                text[end..].trim_start_matches(['"', '\'']).strip_prefix(':').map(|rest| text.len() - rest.len());
            colon
                .or(is_option.then_some(end + 1))
                .map_or_else(|| cookie_in_sentence(text, end), |start| cookies(text, start))
        }
        // `curl -b 'name=VALUE'`
        "b" if text[..at].ends_with(" -") && text[end..].starts_with([' ', '=']) && is_of_curl(&text[..at]) => {
            cookies(text, end + 1)
        }
        word if word.eq_ignore_ascii_case("by") => identified_by(text, at, end),
        word if word.starts_with(['p', 'a', 'w', 'P']) && text[..at].ends_with(" -") => login(text, at),
        _ => None,
    }
}

fn is_secret(value: &str) -> bool {
    is_password(value) || is_key(value, true)
}

/// Returns the value after the white space at `at`: the quoted text, else the word.
fn word(text: &str, at: usize) -> Range<usize> {
    let rest = ahead(text, at);
    let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
    let start = at + quote.map_or(0, char::len_utf8);
    let rest = ahead(text, start);
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
    let window = before(text, at);
    let mut before = window.split_whitespace().rev().skip(1);
    // `before` begins with the word after the name or the host.
    let name = window.split_whitespace().next_back().unwrap_or_default();
    let is_host = |word: &str| word.contains(['.', ':', '-']) || word.bytes().any(|byte| byte.is_ascii_digit());
    let is_entry = match before.next() {
        Some(word) if word.ends_with("machine") => is_host(name),
        Some(word @ ("login" | "account")) => {
            if word == "account" {
                // The name of the login comes before, and `login` before that.
                before.by_ref().take(2).for_each(drop);
            }
            let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
            let (host, machine) = (before.next(), before.next());
            machine.is_some_and(|word| word.ends_with("machine"))
                || host.is_some_and(|word| word.ends_with("default")) && !machine.is_some_and(is_word)
        }
        _ => false,
    };
    let is_netrc = is_entry && window.ends_with(char::is_whitespace);
    let gap = ahead(text, end);
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
    // Checking the value is cheaper than finding the command.
    let found = some(text, word(text, at + 1 + gap))?;
    let before = before(text, at);
    // A backslash at the end of its line continues a command.
    let start = before.match_indices('\n').rev().find(|(at, _)| !before[..*at].ends_with('\\')).map_or(0, |(at, _)| at);
    let command = &before[start..];
    let is_one = |name: &str| {
        let is_end = |character: Option<char>| character.is_none_or(|character| !character.is_ascii_alphanumeric());
        command.match_indices(name).any(|(at, _)| {
            let arguments = &command[at + name.len()..];
            is_end(command[..at].chars().next_back())
                && arguments.starts_with(char::is_whitespace)
                && arguments.strip_suffix('-').is_some_and(are_arguments)
        })
    };
    let option = &text[at..=at];
    let is_login = LOGINS.iter().any(|(letter, commands)| *letter == option && commands.split(", ").any(&is_one))
        || option == "p" && gap == 0 && GLUED.into_iter().any(is_one);
    is_login.then_some(found)
}

/// `snyk auth VALUE`.
fn with_token(text: &str, at: usize, end: usize) -> Option<(&'static str, Range<usize>)> {
    let is_command = |command: &&str| text[..end].strip_suffix(command).is_some_and(|before| before.len() < at);
    let value = WITH_TOKEN.iter().any(is_command).then(|| word(text, end + blanks(ahead(text, end))))?;
    is_key(&text[value.clone()], true).then_some(("api-key", value))
}

/// `jdbc:oracle:thin:USER/VALUE@HOST`, of which the user begins at `start`.
fn behind_slash(text: &str, start: usize) -> Option<(&'static str, Range<usize>)> {
    let login = text.get(start..floor(text, start + MAX_VALUE))?.split(char::is_whitespace).next()?;
    let (user, password) = login.rsplit_once('@')?.0.split_once('/')?;
    let start = start + user.len() + 1;
    (!user.is_empty() && is_password(password)).then_some(("url-password", start..start + password.len()))
}

/// `"d":"VALUE"`, from behind the name: in a JSON Web Key, which says `kty`.
fn private_jwk(text: &str, start: usize) -> Option<(&'static str, Range<usize>)> {
    let rest = ahead(text, start);
    let opened = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let start = start + rest.len() - opened.len();
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let length = text.as_bytes()[start..].iter().take(MAX_JWK).take_while(|byte| is_base64(byte)).count();
    let around = || &text[floor(text, start.saturating_sub(MAX_JWK))..floor(text, start + MAX_JWK)];
    let is_one = is_key(&text[start..start + length], true) && around().contains("\"kty\"");
    is_one.then_some(("private-key", start..start + length))
}

/// `Private-Lines: N`, and below it a key of `PuTTY`.
fn of_putty(text: &str, end: usize) -> Option<(&'static str, Range<usize>)> {
    let rest = &text[end..floor(text, end + MAX_KEY_BYTES)];
    let first = rest.strip_prefix(": ")?.trim_start_matches(|digit: char| digit.is_ascii_digit()).trim_start();
    let is_line =
        |line: &&str| line.trim_end().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
    let length: usize = first.split_inclusive('\n').take_while(is_line).map(str::len).sum();
    let key = first[..length].trim_end();
    let start = end + rest.len() - first.len();
    is_key(key.lines().next()?, true).then_some(("private-key", start..start + key.len()))
}

/// `the cookie name=VALUE`.
fn cookie_in_sentence(text: &str, end: usize) -> Option<(&'static str, Range<usize>)> {
    let pair = word(text, end + blanks(ahead(text, end)));
    let (name, value) = text[pair.clone()].trim_start_matches('`').split_once('=')?;
    let value = value.trim_end_matches([',', '.', ';', ')', '`']);
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    let start = pair.start + text[pair].find('=')? + 1;
    (is_name && is_key(value, true) && !is_dated(value)).then_some(("cookie", start..start + value.len()))
}

/// Returns whether this can be between a command and one of its options: options, their values, hosts, and at most one
/// plain word, such as the name of a database.
fn are_arguments(text: &str) -> bool {
    let (mut arguments, mut plain) = (0, 0);
    let mut may_be_value = false;
    for word in text.split_whitespace().filter(|word| *word != "\\") {
        if word.contains(['`', ';', '|']) || word.contains("&&") || word.ends_with(['.', ',']) {
            return false;
        }
        let is_option = word.starts_with('-');
        if !is_option {
            arguments += 1;
            plain += usize::from(!may_be_value && word.bytes().all(|byte| byte.is_ascii_alphabetic()));
        }
        may_be_value = is_option;
        if arguments > MAX_ARGUMENTS || plain > 1 || OF_SENTENCES.contains(&word) {
            return false;
        }
    }
    true
}

/// `IDENTIFIED BY 'VALUE'`, `IDENTIFIED WITH PLUGIN BY 'VALUE'`.
fn identified_by(text: &str, at: usize, end: usize) -> Option<(&'static str, Range<usize>)> {
    let before = before(text, at);
    let statement = before.rsplit(';').next().unwrap_or_default();
    let mut words = statement.split_whitespace().rev();
    let is_it = |word: Option<&str>| word.is_some_and(|word| word.eq_ignore_ascii_case("identified"));
    let is_identified = is_it(words.next()) || is_it(words.nth(1));
    // `a user is identified by` is a sentence.
    let is_sentence = words.next().is_some_and(|word| matches!(word, "is" | "are" | "be" | "was" | "were"));
    let is_known = |word: &str| STATEMENTS.iter().any(|known| word.eq_ignore_ascii_case(known));
    let is_statement =
        || !is_sentence && statement.split(|character: char| !character.is_ascii_alphanumeric()).any(is_known);
    let rest = ahead(text, end);
    let start = end + blanks(rest);
    let is_quoted = text[start..].starts_with(['\'', '"']);
    (is_identified && is_quoted && is_statement()).then(|| some(text, word(text, start))).flatten()
}

fn is_of_curl(before: &str) -> bool {
    let window = super::before(before, before.len());
    let line = window.rsplit('\n').next().unwrap_or_default();
    line.split_whitespace().any(|word| word.ends_with("curl"))
}

/// `Cookie: name=VALUE; name=VALUE`, the pairs of which begin at `start`: from the first value that may be a secret to
/// the last.
fn cookies(text: &str, start: usize) -> Option<(&'static str, Range<usize>)> {
    let line = &text[start..floor(text, start + MAX_COOKIES.1)];
    let mut from = start + line.len() - line.trim_start_matches([' ', '"', '\'']).len();
    let mut found: Option<Range<usize>> = None;
    for _ in 0..MAX_COOKIES.0 {
        let rest = &text[from..start + line.len()];
        let length = rest.find([';', '\n', '"', '\'', '`']).unwrap_or(rest.len());
        let pair = &rest[..length];
        if let Some((_, value)) = pair.split_once('=') {
            let value = from + pair.len() - value.len()..from + pair.trim_end_matches([' ', '.', ',', ')']).len();
            if value.start < value.end && is_secret(&text[value.clone()]) && !is_dated(&text[value.clone()]) {
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

/// Returns whether a value is a date, with or without a time, after at most a word: `accepted-2024-01-01`.
fn is_dated(value: &str) -> bool {
    let value = value.replace("%3A", ":");
    let date = value.trim_start_matches(|character: char| !character.is_ascii_digit());
    let is_word =
        value[..value.len() - date.len()].bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_.:".contains(&byte));
    let shape = date.bytes().take(10).map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    let is_time = |byte: u8| byte.is_ascii_digit() || b"-:.+TZ".contains(&byte);
    is_word
        && value.len() - date.len() <= 20
        && shape.eq(*b"0000-00-00")
        && date.len() <= 35
        && date.bytes().all(is_time)
}

/// Returns the cells below a word in the first row of a table.
pub(super) fn column(text: &str, at: usize) -> Vec<Range<usize>> {
    let start = line_start(text, at);
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
