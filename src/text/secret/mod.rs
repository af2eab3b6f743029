//! Finds secrets in text, and redacts them.
//!
//! There are three kinds: tokens whose first characters name their service, in the manner of Gitleaks; keys and
//! passwords at a fixed place, as in a URL or after `BEGIN … PRIVATE KEY`; and random-looking values after a name such
//! as `api_key`. The last kind is a matter of judgement, so a false positive can be allowed by its
//! [fingerprint](Secret::fingerprint).
//!
//! Pure, and linear in the length of the text. It catches mistakes, but does not protect against someone who wants to
//! hide a secret.

mod assigned;
#[cfg(feature = "runner")]
mod lines;
mod names;
mod places;
mod tokens;
mod values;

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::text::floor;
use crate::text::lines::place;

#[cfg(feature = "runner")]
pub(crate) use lines::LineRedactor;

/// The longest private key that is redacted as a whole, in bytes.
const MAX_KEY_BYTES: usize = 20_000;
/// The longest part of a URL between `://` and its path that is examined, in bytes.
const MAX_AUTHORITY: usize = 600;
/// How far back the text before a word is examined, in bytes.
const MAX_ESCAPE: usize = 16;
/// The longest value that is examined after a name or at its place, in bytes.
const MAX_VALUE: usize = 300;
/// How far back the surroundings of a name or a place are examined, in bytes.
const MAX_BACK: usize = 400;
/// The longest login before `@tcp(`, in bytes.
const MAX_LOGIN: usize = 200;
/// `-----BEGIN ` in base 64.
const ENCODED_BEGIN: &str = "LS0tLS1CRUdJTiB";
/// How the base 64 of private keys begins: of OpenSSH, and of SEC 1 and PKCS #8 with elliptic curves.
const KEY_BODIES: [&str; 5] =
    ["b3BlbnNzaC1rZXktdjE", "MHcCAQEEI", "MIGHAgEAMBMGByqGSM49", "MIG2AgEAMBAGByqGSM49", "MC4CAQAwBQYDK2V"];

/// A secret in a text.
///
/// ```
/// use ralph_memory::text::secret;
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let text = ["postgres://app:Gk7", "-pL2qz@db/x"].concat();
/// let found = secret::find(&text).remove(0); // in `text`, an address of the local database
/// assert_eq!((&text[found.range.clone()], found.pattern), ("Gk7-pL2qz", "url-password"));
/// let knowledge = Knowledge::new("The local database", ["database"], &text);
/// assert!(Memory::open(root)?.add(&knowledge).is_err());
/// assert!(Memory::open(root)?.allow_secrets(&[found.fingerprint])?.add(&knowledge).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its kind: a word that stays the same between versions, such as `github-token`.
    pub pattern: &'static str,
    /// Its place, in bytes.
    pub range: Range<usize>,
    /// Allows the secret: eight hexadecimal digits of a hash. They are too few to find a random secret by, and enough
    /// to check a guess at a weak password.
    pub fingerprint: String,
}

impl Secret {
    /// Returns the text that replaces it.
    pub fn redacted(&self) -> String {
        format!("[redacted: {}]", self.pattern)
    }

    /// Returns its line, counted from 1, and its column in characters.
    pub fn place(&self, text: &str) -> (u32, u32) {
        place(text, self.range.start)
    }
}

/// Returns the secrets in `text`, in order; none overlaps another.
///
/// ```
/// use ralph_memory::text::secret::find;
/// let text = format!("export GH={}{}", "ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");
/// let found = &find(&text)[0];
/// assert_eq!((found.pattern, found.place(&text)), ("github-token", (1, 11)));
/// assert!(find("export GH=$GITHUB_TOKEN, or ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx").is_empty());
/// ```
pub fn find(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    // The end of the last word; names of values may have two words.
    let mut words = assigned::Words::default();
    while at < bytes.len() {
        let byte = bytes[at];
        let token = |at: usize| {
            let known = tokens::token(&text[at..]).map(|(pattern, length)| (pattern, at..at + length));
            known.or_else(|| encoded_key(text, at)).or_else(|| key_body(text, at))
        };
        let ahead = words.value_at(at);
        let hit = match byte {
            _ if ahead.is_some() => token(at).or(ahead),
            b'-' if text[at..].starts_with("-----BEGIN ") => private_key(text, at),
            b'-' if text[at..].starts_with("-----END ") => {
                end_of_private_key(text, at, found.last().map_or(0, |last: &Secret| last.range.end))
            }
            b':' if text[at..].starts_with("://") => password_in_url(text, at),
            b'@' if text[at..].starts_with("@tcp(") || text[at..].starts_with("@unix(") => password_of_go(text, at),
            _ if byte.is_ascii_alphanumeric() && !is_inside_word(bytes, at) => {
                let value =
                    |words| if is_inside_name(bytes, at) { None } else { assigned::value_behind(text, at, words) };
                // The service is more telling than the name.
                token(at).or_else(|| {
                    value(&mut words).map(|(pattern, range)| token(range.start).unwrap_or((pattern, range)))
                })
            }
            _ => None,
        };
        // A closing tag that directly follows a value belongs to the text around it.
        let hit = hit.map(|(pattern, range)| {
            let length = text[range.clone()].find("</").unwrap_or(range.len());
            (pattern, range.start..range.start + length)
        });
        match hit.filter(|(_, range)| !range.is_empty()) {
            // A value may come before its name, but not before the previous secret.
            Some((_, range)) if found.last().is_some_and(|last: &Secret| range.start < last.range.end) => at += 1,
            Some((pattern, range)) => {
                at = range.end.max(at + 1);
                let fingerprint = fingerprint(pattern, &text[range.clone()]);
                found.push(Secret { pattern, range, fingerprint });
            }
            None => at += 1,
        }
    }
    found
}

/// Returns `text` with `[redacted: PATTERN]` for every secret except those with an allowed fingerprint.
///
/// ```
/// use ralph_memory::text::secret::redact;
/// let key = ["postgres://app:Gk7", "-pL2qz@db/x"].concat();
/// assert_eq!(redact(&key, &[]), "postgres://app:[redacted: url-password]@db/x");
/// ```
pub fn redact(text: &str, allowed: &[String]) -> String {
    let mut secrets = find(text);
    secrets.retain(|secret| !is_allowed(secret, allowed));
    redact_part(text, 0..text.len(), &secrets)
}

/// Returns a part of `text` with `[redacted: PATTERN]` for those of `secrets` that overlap it. `secrets` are in order,
/// and none overlaps another. A part may have a value whose name is outside of it.
pub(crate) fn redact_part(text: &str, part: Range<usize>, secrets: &[Secret]) -> String {
    let mut safe = String::with_capacity(part.len());
    let mut done = part.start;
    let first = secrets.partition_point(|secret| secret.range.end <= part.start);
    for secret in secrets[first..].iter().take_while(|secret| secret.range.start < part.end) {
        safe.push_str(&text[done..secret.range.start.max(done)]);
        safe.push_str(&secret.redacted());
        done = secret.range.end.min(part.end);
    }
    safe.push_str(&text[done..part.end]);
    safe
}

/// Returns whether the fingerprint of a secret is among these.
pub(crate) fn is_allowed(secret: &Secret, allowed: &[String]) -> bool {
    allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(&secret.fingerprint))
}

/// Returns whether this can be a fingerprint.
pub(crate) fn is_fingerprint(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn fingerprint(pattern: &str, secret: &str) -> String {
    // White space depends on where a key is stored, and does not identify it.
    let bare: String = secret.split_whitespace().collect();
    let hash = xxh3_64(format!("{pattern}\n{bare}").as_bytes());
    format!("{:08x}", hash >> 32)
}

/// Returns the text from `at` on in which a value is looked for.
fn ahead(text: &str, at: usize) -> &str {
    &text[at..floor(text, at + MAX_VALUE)]
}

/// Returns the text before `at` that says what is there.
fn before(text: &str, at: usize) -> &str {
    &text[floor(text, at.saturating_sub(MAX_BACK))..at]
}

/// Returns the start of the line of `at`, or of the text before it that is examined.
fn line_start(text: &str, at: usize) -> usize {
    let line = before(text, at).rsplit('\n').next().unwrap_or_default();
    at - line.len()
}

/// Returns whether the character at `at` continues a word. After an escape a word begins: `\n`, `\u003d`, `%3D`, or a
/// colour code of a terminal.
fn is_inside_word(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[at.saturating_sub(MAX_ESCAPE)..at];
    before.last().is_some_and(u8::is_ascii_alphanumeric) && !ends_with_escape(before)
}

fn ends_with_escape(text: &[u8]) -> bool {
    let hexadecimal = |count: usize| {
        text.len()
            .checked_sub(count)
            .filter(|start| text[*start..].iter().all(u8::is_ascii_hexdigit))
            .map(|start| &text[..start])
    };
    let is_letter = |text: &[u8]| matches!(text, [.., b'\\', b'n' | b't' | b'r']);
    let is_colour = || {
        let digits = text.strip_suffix(b"m");
        let start = digits.map(|text| text.iter().rposition(|byte| !byte.is_ascii_digit() && *byte != b';'));
        matches!((digits, start), (Some(text), Some(Some(start))) if text[start] == b'[')
    };
    is_letter(text)
        || hexadecimal(4).is_some_and(|text| text.ends_with(b"\\u"))
        || hexadecimal(2).is_some_and(|text| text.ends_with(b"%") || text.ends_with(b"\\x"))
        || is_colour()
}

/// Returns whether the character at `at` continues a name, which may have `_`, `-` and `.` in it.
fn is_inside_name(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[at.saturating_sub(MAX_ESCAPE)..at];
    let joint = before.iter().rev().take_while(|byte| matches!(byte, b'_' | b'-' | b'.')).count();
    let name = before.len() - joint;
    joint > 0 && before[..name].last().map_or(joint == MAX_ESCAPE, u8::is_ascii_alphanumeric)
}

/// Finds the private key whose first line begins at `start`, up to its last line.
fn private_key(text: &str, start: usize) -> Option<(&'static str, Range<usize>)> {
    let line = &text[start + 11..floor(text, start + 11 + 60)];
    let label = &line[..line.find("-----")?];
    if label.len() > 40 || !label.contains("PRIVATE KEY") {
        return None;
    }
    let body = start + 11 + label.len() + 5;
    let rest = &text[body..floor(text, body + MAX_KEY_BYTES)];
    // The next line of the kind must be its last one, so that a text full of first lines is read once.
    let end = match rest.find("-----").filter(|at| rest[*at..].starts_with(&format!("-----END {label}-----"))) {
        Some(at) => body + at + label.len() + 14,
        // Cut off: everything that can belong to it.
        None => body + rest.bytes().take_while(|byte| is_of_key(*byte)).count(),
    };
    let letters = text[body..end].bytes().filter(u8::is_ascii_alphanumeric).count();
    let is_whole = letters >= 64 && !text[body..end].contains("...");
    is_whole.then_some(("private-key", start..end))
}

/// Finds the private key in base 64 that begins at `start`, as in a kubeconfig or a secret of Kubernetes.
fn encoded_key(text: &str, start: usize) -> Option<(&'static str, Range<usize>)> {
    if !text[start..].starts_with(ENCODED_BEGIN) {
        return None;
    }
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let rest = &text.as_bytes()[start..];
    let beginning = rest.iter().take(64).take_while(|byte| is_base64(byte)).count();
    let decoded = values::base64(&text[start..start + beginning])?;
    let is_private = decoded.windows(11).any(|window| window == b"PRIVATE KEY");
    let length = rest.iter().take(MAX_KEY_BYTES).take_while(|byte| is_base64(byte)).count();
    (is_private && length >= 100).then_some(("private-key", start..start + length))
}

/// Finds the base 64 of a private key that begins at `start` without the line before it, as far as its lines are full.
fn key_body(text: &str, start: usize) -> Option<(&'static str, Range<usize>)> {
    let beginning = &text.as_bytes()[start..];
    let is_rsa = || beginning.starts_with(b"MII") && matches!(beginning.get(6..12), Some(b"IBAAKC" | b"IBADAN"));
    let is_key = || KEY_BODIES.iter().any(|body| beginning.starts_with(body.as_bytes())) || is_rsa();
    if !matches!(beginning[0], b'M' | b'b') || !is_key() {
        return None;
    }
    let rest = &text[start..floor(text, start + MAX_KEY_BYTES)];
    let (mut length, mut full) = (0, 64);
    // A full line goes on in the next one, before which quotes, marks and indentation may be.
    while full >= 60 {
        let line = rest[length..].trim_start_matches([' ', '\t', '\r', '\n', '\\', '>', '"', ',', '|']);
        let gap = &rest[length..rest.len() - line.len()];
        let line = if gap.ends_with('\\') { line.trim_start_matches('n') } else { line };
        full = line.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte)).count();
        if length > 0 && !gap.contains(['\n', '\\']) || full == 0 {
            break;
        }
        length = rest.len() - line.len() + full;
    }
    let end = rest[length..].trim_start_matches(['\n', '\r', '\\', 'n']);
    let last = end.strip_prefix("-----END ").and_then(|label| label.find("-----").filter(|at| *at <= 40));
    let end = last.map_or(length, |label| rest.len() - end.len() + label + 14);
    (length >= 64).then_some(("private-key", start..start + end))
}

/// Finds the end of a private key whose beginning was cut off, and whose last line begins at `at`.
fn end_of_private_key(text: &str, at: usize, from: usize) -> Option<(&'static str, Range<usize>)> {
    let line = &text[at + 9..floor(text, at + 9 + 60)];
    let label = &line[..line.find("-----")?];
    let first = from.max(at.saturating_sub(MAX_KEY_BYTES));
    let start = at - text.as_bytes()[first..at].iter().rev().take_while(|byte| is_of_key(**byte)).count();
    let letters = text[start..at].bytes().filter(u8::is_ascii_alphanumeric).count();
    (label.contains("PRIVATE KEY") && letters >= 32).then_some(("private-key", start..at + 9 + label.len() + 5))
}

/// Returns whether a byte can be in the lines of a key, including quotes and indentation.
fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r' | b' ' | b'\t' | b'\\' | b'>' | b'"' | b',' | b'|')
}

/// Finds the password of the URL whose `://` is at `at`.
fn password_in_url(text: &str, at: usize) -> Option<(&'static str, Range<usize>)> {
    let start = at + 3;
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'|' | b'\\')
    };
    let authority = &text[start..floor(text, start + MAX_AUTHORITY)];
    let length = authority.bytes().position(|byte| ends(&byte)).unwrap_or(authority.len());
    let user_info = &authority[..authority[..length].rfind('@')?];
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    let range = start + user.len() + 1..start + user_info.len();
    // Sidekiq sells its gems from a URL with two numbers.
    let is_number = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_number(user) && is_number(password) {
        return Some(("url-password", start..range.end));
    }
    if password != user && values::is_password(password) {
        return Some(("url-password", range));
    }
    // A token may be the user. That of Sentry is public.
    let is_web = text[..at].ends_with("http") || text[..at].ends_with("https");
    let is_token =
        || user.len() >= 20 && values::is_key(user, true) && !authority[user_info.len()..length].contains("sentry");
    (is_web && is_token()).then_some(("url-token", start..start + user.len()))
}

/// Finds the password in `user:password@tcp(host)`, a data source of Go, of which `@` is at `at`.
fn password_of_go(text: &str, at: usize) -> Option<(&'static str, Range<usize>)> {
    let window = &text[floor(text, at.saturating_sub(MAX_LOGIN))..at];
    let is_end = |character: char| character.is_whitespace() || matches!(character, '"' | '\'' | '`' | '=' | '/');
    let (user, password) = window.rsplit(is_end).next()?.split_once(':')?;
    (password != user && values::is_password(password)).then_some(("url-password", at - password.len()..at))
}

#[cfg(test)]
mod tests;
