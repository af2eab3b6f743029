//! Random-looking values after a name that says what they are.
//!
//! The names, and how random a value must be, come from notes of engineers in which hashes, ids and placeholders occur
//! beside words such as `token`; `tests/campaigns/secrets.rs` measures it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::values::{classes, is_basic, is_digest, is_key, is_password};
use super::{MAX_KEY_BYTES, places};
use crate::text::floor;

/// The longest value that is examined, in bytes.
const MAX_VALUE: usize = 300;
/// The longest name, in bytes.
const MAX_NAME: usize = 80;
/// How far back the surroundings of a value are examined, in bytes.
const MAX_BACK: usize = 400;
/// How far after a name in a sentence its value may be, in words and in bytes.
const MAX_BETWEEN: (usize, usize) = (6, 60);

/// The endings of names of values; the first are those of passwords, which people choose.
const PASSWORDS: [&str; 9] = ["password", "passwd", "passphrase", "pwd", "passwort", "passcode", "pass", "psk", "pw"];
/// Whose password it is, where a short ending follows without a joint: `dbpass`, `bindpw`.
const OWNERS: [&str; 14] =
    ["db", "bind", "root", "user", "admin", "smtp", "mail", "ftp", "ssh", "sql", "pg", "sudo", "ldap", "wifi"];
const NAMES: [&str; 9] =
    ["secret", "token", "credential", "credentials", "creds", "authorization", "secretkeybase", "auth", "bearer"];
/// The other words that a name which ends with `key` must contain.
const KEYS: [&str; 70] = [
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "account",
    "encryption",
    "signing",
    "master",
    "shared",
    "app",
    "application",
    "service",
    "license",
    "jwt",
    "session",
    "cookie",
    "deploy",
    "storage",
    "subscription",
    "consumer",
    "client",
    "webhook",
    "hmac",
    "fernet",
    "preshared",
    "admin",
    "cipher",
    "aes",
    "unseal",
    "recovery",
    // Services whose name alone is before `key`.
    "airtable",
    "algolia",
    "anthropic",
    "aws",
    "azure",
    "brevo",
    "cerebras",
    "cohere",
    "cosmos",
    "cosmosdb",
    "datadog",
    "deepseek",
    "elevenlabs",
    "figma",
    "gemini",
    "google",
    "grafana",
    "groq",
    "huggingface",
    "langfuse",
    "linear",
    "mailgun",
    "mapbox",
    "mistral",
    "notion",
    "nvidia",
    "openai",
    "pinecone",
    "posthog",
    "replicate",
    "resend",
    "sendgrid",
    "sentry",
    "snyk",
    "stripe",
    "supabase",
    "twilio",
    "xai",
    "voyage",
];
/// Every name of a secret contains one of these.
const STEMS: [&[u8]; 9] = [b"pass", b"pw", b"psk", b"secret", b"token", b"cred", b"auth", b"bearer", b"key"];
/// Words after a name that say what the value is for.
const FOR: [&str; 14] = [
    "prod",
    "production",
    "staging",
    "stage",
    "dev",
    "development",
    "test",
    "testing",
    "live",
    "ci",
    "value",
    "primary",
    "secondary",
    "string",
];

/// The previous word: names such as `API key` have two.
#[derive(Debug, Default)]
pub(super) struct Words {
    before: Range<usize>,
    /// Values further on that belong to the name of a column, by their start.
    ahead: BTreeMap<usize, (&'static str, usize)>,
}

impl Words {
    /// Returns the value that begins at `at` and was found before.
    pub(super) fn value_at(&mut self, at: usize) -> Option<(&'static str, Range<usize>)> {
        if self.ahead.is_empty() {
            return None;
        }
        while let Some(first) = self.ahead.first_entry().filter(|first| *first.key() <= at) {
            let (start, (pattern, end)) = first.remove_entry();
            if start == at {
                return Some((pattern, start..end));
            }
        }
        None
    }
}

/// What kind of value a name announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Password,
    Key,
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
            return Some((name_of(kind), whole(text, value)));
        }
        for cell in places::column(text, at).into_iter().filter(|cell| is_secret(kind, &text[cell.clone()])) {
            words.ahead.insert(cell.start, (name_of(kind), cell.end));
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

/// Returns the whole value, of which only the beginning was examined.
fn whole(text: &str, value: Range<usize>) -> Range<usize> {
    if value.len() + 4 < MAX_VALUE {
        return value;
    }
    let rest = text[value.end..].bytes().take(MAX_KEY_BYTES);
    value.start..value.end + rest.take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte)).count()
}

fn name_of(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Password => "password",
        ValueKind::Key => "api-key",
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Returns the kind of a value with this name, if it is a secret. The end of a name decides: `token_count` is not one.
fn kind_of(word: &str, before: &str) -> Option<ValueKind> {
    if has_stem(word) { kind_of_name(word, before) } else { None }
}

fn kind_of_name(word: &str, before: &str) -> Option<ValueKind> {
    let last = word.rsplit('.').find(|part| !part.is_empty())?;
    let mut parts = split(last);
    while parts.len() > 1
        && parts
            .last()
            .is_some_and(|part| FOR.contains(&part.as_str()) || part.bytes().all(|byte| byte.is_ascii_digit()))
    {
        parts.pop();
    }
    // A kubeconfig says `client-key-data`.
    if parts.ends_with(&["key".to_owned(), "data".to_owned()]) {
        parts.pop();
    }
    let name = parts.concat();
    let has = |part: &str| parts.iter().any(|own| own == part);
    if has("public") || has("max") || has("min") || has("next") || has("page") || has("csrf") {
        return None;
    }
    let ends = |suffix: &&str| {
        // Other words end with `pass` and `auth`, too.
        let is_short =
            |part: &String| part.strip_suffix(suffix).is_some_and(|owner| owner.is_empty() || OWNERS.contains(&owner));
        if suffix.len() <= 4 { parts.last().is_some_and(is_short) } else { name.ends_with(*suffix) }
    };
    if PASSWORDS.iter().any(ends) {
        return Some(ValueKind::Password);
    }
    if NAMES.iter().any(ends) {
        return Some(ValueKind::Key);
    }
    let before = before.to_ascii_lowercase();
    let is_key = name.ends_with("key")
        && (KEYS.iter().any(|part| name.starts_with(part) || has(part)) || KEYS.contains(&before.as_str()));
    is_key.then_some(ValueKind::Key)
}

/// Returns whether a word is short enough for a name and contains a stem, whatever joins its letters. Nearly no word of a
/// text does, and all others are costlier.
fn has_stem(word: &str) -> bool {
    let mut letters = [0; MAX_NAME];
    let mut length = 0;
    for byte in word.bytes().filter(u8::is_ascii_alphanumeric) {
        let Some(letter) = letters.get_mut(length) else { return false };
        *letter = byte.to_ascii_lowercase();
        length += 1;
    }
    let letters = &letters[..length];
    let begins =
        |at: usize| b"pstcabk".contains(&letters[at]) && STEMS.iter().any(|stem| letters[at..].starts_with(stem));
    word.len() <= MAX_NAME && (0..length).any(begins)
}

/// Splits a name at `_`, `-` and before capitals, in lower case.
fn split(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for character in name.chars() {
        let is_start = character.is_ascii_uppercase() && was_lower;
        if matches!(character, '_' | '-') || is_start {
            parts.push(String::new());
        }
        if character.is_ascii_alphanumeric()
            && let Some(last) = parts.last_mut()
        {
            last.push(character.to_ascii_lowercase());
        }
        was_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn skip(text: &str, at: usize, these: &str) -> usize {
    at + text[at..].len() - text[at..].trim_start_matches(|character| these.contains(character)).len()
}

/// Returns the start of the value that a separator joins to the name from `start` to `at`.
fn separated(text: &str, start: usize, at: usize) -> Option<usize> {
    // An element of XML, and two arguments of a call.
    if text[..start].ends_with('<') && text[at..].starts_with('>') {
        return Some(at + 1);
    }
    if let Some(quote) = text[at..].chars().next().filter(|quote| matches!(quote, '"' | '\''))
        && text[..start].strip_suffix(quote).is_some_and(|call| call.trim_end_matches(' ').ends_with('('))
        && let Some(value) = text[at + 1..].strip_prefix(',')
    {
        return Some(skip(text, text.len() - value.len(), " "));
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
    let length = [":=", "=>", "->", "==", "=", ":", "|", "→"]
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
    let line = text[start..floor(text, start + MAX_VALUE)].lines().next().unwrap_or_default();
    if line.trim_end().contains(char::is_whitespace) { at } else { start }
}

/// Returns whether the name that begins at `at` is in the query of a URL.
fn is_in_query(text: &str, at: usize) -> bool {
    text[..at].ends_with(['?', '&'])
}

/// Returns the value that begins at `at`: the quoted text, else everything up to white space.
fn value_at(text: &str, at: usize, in_query: bool) -> Range<usize> {
    let rest = &text[at..floor(text, at + MAX_VALUE)];
    let opening = rest
        .trim_start_matches(['b', 'r', 'f', 'u'])
        .strip_prefix('\\')
        .unwrap_or(rest.trim_start_matches(['b', 'r', 'f', 'u']));
    if let Some(quote) = opening.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`')) {
        let start = at + rest.len() - opening.len() + 1;
        let inner = &text[start..floor(text, start + MAX_VALUE)];
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
    let rest = &text[at..floor(text, at + MAX_VALUE)];
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
            return is_secret.then_some((name_of(kind), at + value.start..at + value.end));
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
    let window = floor(text, at.saturating_sub(MAX_BACK));
    let line_start = text[window..at].rfind('\n').map_or(window, |newline| window + newline + 1);
    let line = &text[line_start..at];
    let (value_end, behind) =
        ["` as ", "\" as ", "' as "].iter().find_map(|joint| line.rfind(joint).map(|end| (end, end + joint.len())))?;
    let quote = line[value_end..].chars().next()?;
    if line.len() - behind > MAX_BETWEEN.1 || line[behind..].contains([quote, '.', ';']) {
        return None;
    }
    let start = line[..value_end].rfind(quote)? + 1;
    let value = &line[start..value_end];
    let is_secret = value.len() <= MAX_VALUE
        && match kind {
            ValueKind::Password => is_password(value),
            ValueKind::Key => is_key(value, false),
        };
    is_secret.then_some((name_of(kind), line_start + start..line_start + value_end))
}

/// Returns whether the word at `at` is a part of a resource name of Amazon.
fn is_in_arn(text: &str, at: usize) -> bool {
    let window = &text[floor(text, at.saturating_sub(MAX_BACK))..at];
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_name_of_a_secret_has_a_stem() {
        for name in PASSWORDS.into_iter().chain(NAMES).chain(["key"]) {
            assert!(has_stem(name), "{name}");
        }
        assert!(!has_stem("connection") && !has_stem(&"key".repeat(MAX_NAME)));
    }

    proptest! {
        /// Few letters, so that names of secrets occur.
        #[test]
        fn no_name_is_missed_for_its_stem(
            start in "[a-z._-]{0,4}",
            name in prop::sample::select([&PASSWORDS[..], &NAMES, &KEYS, &["API_KEY", "p-w", "to_ken", "passWord"]].concat()),
            end in "(|Key|_key|-data|_prod|Value|[0-9]{1,3}|[._a-z-]{1,4})",
            before in "(|client|API|the)",
        ) {
            let word = format!("{start}{name}{end}");
            prop_assert_eq!(kind_of(&word, &before), kind_of_name(&word, &before), "{}", word);
        }
    }
}
