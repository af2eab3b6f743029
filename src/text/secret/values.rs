//! Distinguishes secret values from placeholders and other text.

/// The shortest password, and the shortest key.
const SHORTEST: (usize, usize) = (8, 14);

/// Returns whether a value can be a real password.
pub(super) fn is_password(value: &str) -> bool {
    let length = value.chars().count();
    if length < SHORTEST.0 || is_no_value(value) || value.chars().any(char::is_whitespace) || !value.is_ascii() {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    if ["password", "passwd", "secret", "hunter2", "qwerty", "letmein", "admin"].iter().any(|word| lower.contains(word))
        && length < 20
    {
        return false;
    }
    (classes(value) >= 3 && entropy(value) >= 2.5 || classes(value) >= 2 && length >= 12 && entropy(value) >= 3.0)
        && !is_words(value)
}

/// Returns whether a value can be a key or a token; `is_sure` if nothing else can be at its place.
pub(super) fn is_key(value: &str, is_sure: bool) -> bool {
    if value.len() < SHORTEST.1
        || is_no_value(value)
        || !value.is_ascii()
        || value.bytes().any(|byte| byte.is_ascii_whitespace())
    {
        return false;
    }
    let n_digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let least = match value.len() {
        _ if is_hex => 2.7,
        ..20 => 3.0,
        _ => 3.3,
    };
    // Of 20 random letters and digits hardly any sequence is without a digit.
    let has_digits = n_digits > 0 || (classes(value) >= 2 && turns(value) * 4 >= value.len());
    let is_mixed =
        n_digits < value.len() && (classes(value) >= 3 || is_hex || value.len() >= if is_sure { 16 } else { 14 });
    has_digits && is_mixed && entropy(value) >= least && !is_words(value)
}

fn turns(value: &str) -> usize {
    let is_turn = |one: u8, other: u8| {
        one.is_ascii_lowercase() && other.is_ascii_uppercase() || one.is_ascii_uppercase() && other.is_ascii_lowercase()
    };
    value.as_bytes().windows(2).filter(|pair| is_turn(pair[0], pair[1])).count()
}

/// Returns how many kinds of characters it has: lower case, upper case, digits, others.
pub(super) fn classes(value: &str) -> usize {
    let has = |is: fn(&u8) -> bool| usize::from(value.bytes().any(|byte| is(&byte)));
    has(u8::is_ascii_lowercase) + has(u8::is_ascii_uppercase) + has(u8::is_ascii_digit) + has(u8::is_ascii_punctuation)
}

/// Returns whether a value is a digest or an id, which also occur in texts about secrets.
pub(super) fn is_digest(value: &str) -> bool {
    let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_hex && (matches!(value.len(), 36 | 40 | 64 | 96 | 128))
}

/// Returns whether the text is a replacement for a value: a variable, a call, a path, a type.
fn is_no_value(value: &str) -> bool {
    const BEGINNINGS: [&str; 27] = [
        "$", "%{", "{{", "{", "<", "[", "(", "sha1-", "sha256", "sha384", "sha512", "md5", "ssh-", "http://",
        "https://", "/", "./", "../", "~/", "process.", "os.", "env.", "env:", "op://", "vault:", "ENC[", "arn:",
    ];
    let is_call = value.contains('(') && {
        let name = &value[..value.find('(').unwrap_or_default()];
        name.len() >= 3
            && name.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b':' | b'!'))
    };
    let is_variable = value.len() > 2 && value.starts_with('%') && value.ends_with('%');
    BEGINNINGS.iter().any(|beginning| value.starts_with(beginning) && !is_dollar_password(value))
        || is_call
        || is_variable
        || is_template(value)
        || is_expression(value)
        || is_code(value)
        || value.contains("::")
        || value.contains("${")
        || value.contains("$(")
        || value.contains("://")
        || is_placeholder(value)
}

/// Returns whether a value that begins with `$` is more than a variable's name.
fn is_dollar_password(value: &str) -> bool {
    value.strip_prefix('$').is_some_and(|name| {
        name.bytes().any(|byte| {
            byte.is_ascii_punctuation()
                && !matches!(byte, b'_' | b'{' | b'}' | b'(' | b')' | b'.' | b'/' | b'"' | b':' | b'-')
        })
    })
}

/// Returns whether a value is a piece of code or a place in a file: an index, a chain of fields, a range, a path with a
/// line.
fn is_code(value: &str) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'!' | b'?');
    let name = value.bytes().take_while(|byte| is_name(byte)).count();
    let is_index = name >= 2 && value[name..].starts_with('[');
    let is_chain = name == value.len() && (value.contains("!.") || value.contains("?."));
    let is_drive = value.as_bytes().get(1..3) == Some(br":\") && value.as_bytes()[0].is_ascii_alphabetic();
    is_index || is_chain || is_drive || value.contains("..") || is_place(value)
}

/// Returns whether a value is a regular expression: it has a range, a class or a repetition of any characters.
fn is_expression(value: &str) -> bool {
    ["[a-z", "[A-Z", "[0-9", "[^", "\\s", "\\S", "\\w", "\\d", "(?", ".*"].iter().any(|part| value.contains(part))
}

/// Returns whether a part of a value is a placeholder: a name in braces.
fn is_template(value: &str) -> bool {
    let Some((_, rest)) = value.split_once('{') else { return false };
    let Some((name, _)) = rest.split_once('}') else { return false };
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

/// Returns whether a value is a file's name with an extension, and perhaps a line after it.
fn is_place(value: &str) -> bool {
    let Some((name, rest)) = value.rsplit_once('.') else { return false };
    let ending = rest.bytes().take_while(u8::is_ascii_lowercase).count();
    let line = &rest[ending..];
    let is_line = line.is_empty() && name.contains('/') || line.starts_with([':', '#']) && line.len() > 1;
    (1..=5).contains(&ending)
        && is_line
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-.".contains(&byte))
}

/// Returns whether a value consists of words, numbers and separators, as names do.
pub(super) fn is_words(value: &str) -> bool {
    let is_joint = |character: char| matches!(character, '-' | '_' | '.' | '/' | ':' | ',' | ' ' | '|');
    let parts: Vec<&str> = value.split(is_joint).collect();
    let odd: Vec<&str> = parts.iter().copied().filter(|part| !is_word(part)).collect();
    // Some names end with a short id, and those of Kubernetes with two.
    let is_id = |longest| {
        odd.iter().all(|part| {
            part.len() <= longest && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
    };
    let n_words =
        parts.iter().filter(|part| part.len() >= 3 && part.bytes().all(|byte| byte.is_ascii_lowercase())).count();
    let is_pod = || n_words >= 1 && !value.contains('_') && parts.ends_with(&odd) && is_id(10);
    odd.is_empty() || odd.len() == 1 && n_words >= 3 && is_id(6) || odd.len() <= 2 && is_pod()
}

/// Returns whether this is a word, or several in camel case, with at most a short number after it.
fn is_word(part: &str) -> bool {
    let letters = part.trim_end_matches(|character: char| character.is_ascii_digit());
    let n_digits = part.len() - letters.len();
    if letters.is_empty() {
        return true;
    }
    if !letters.bytes().all(|byte| byte.is_ascii_alphabetic()) || n_digits > 4 {
        return false;
    }
    let n_vowels = letters.bytes().filter(|byte| b"aeiouyAEIOUY".contains(byte)).count();
    let is_one_case = letters[1..].bytes().all(|byte| byte.is_ascii_lowercase())
        || letters.bytes().all(|byte| byte.is_ascii_uppercase());
    // Capitals of camel case are at the beginnings of words, so there are few of them.
    let n_turns = turns(letters);
    let is_spelled = letters.len() <= 3 || (n_vowels * 6 >= letters.len() && longest_cluster(letters) <= 5);
    is_spelled && (is_one_case || n_turns * 3 <= letters.len())
}

fn longest_cluster(letters: &str) -> usize {
    letters.split(|letter: char| "aeiouyAEIOUY".contains(letter)).map(str::len).max().unwrap_or_default()
}

/// Returns whether a value is base 64 of a name and a password.
pub(super) fn is_basic(value: &str) -> bool {
    if value.len() < 12 || is_placeholder(value) {
        return false;
    }
    let Some(decoded) = base64(value.trim_end_matches('=')) else { return false };
    let Some(colon) = decoded.iter().position(|byte| *byte == b':') else { return false };
    let is_printable = decoded.iter().all(|byte| (32..127).contains(byte));
    let password = String::from_utf8_lossy(&decoded[colon + 1..]).into_owned();
    is_printable
        && !password.is_empty()
        && !is_no_value(&password)
        && !["password", "pass", "secret"].contains(&password.as_str())
}

/// Decodes base 64 without padding; `None` if it is invalid.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_";
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut n_bits) = (0usize, 0);
    for byte in text.bytes() {
        let digit = DIGITS.iter().position(|digit| *digit == byte)?;
        // The last two are those of addresses for the two before them.
        bits = (bits << 6 | if digit < 64 { digit } else { digit - 2 }) & 0xff_ffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push(u8::try_from(bits >> n_bits & 0xff).unwrap_or_default());
        }
    }
    Some(bytes)
}

/// Returns whether a token's characters vary like those of a real one, and are not a sequence as in an example.
pub(super) fn is_random(value: &str) -> bool {
    entropy(value) >= if value.len() < 24 { 2.5 } else { 3.0 } && !is_placeholder(value)
}

/// Returns whether a value is a placeholder that the reader has to replace.
fn is_placeholder(value: &str) -> bool {
    const WORDS: &str = "\
        example xxxx changeme change-me change_me placeholder redacted dummy replace insert yourtoken your- your_ \
        yourkey notreal not-real fake sample ... **** todo";
    let lower = value.to_ascii_lowercase();
    WORDS.split(' ').any(|word| lower.contains(word)) || counts_up(value)
}

/// Returns whether seven characters or more are consecutive in the alphabet or in counting, or are the same.
fn counts_up(value: &str) -> bool {
    const RUN: usize = 7;
    let bytes = value.as_bytes();
    let follows = |step: u8| {
        let mut length = 1;
        bytes.windows(2).any(|pair| {
            let is_next = pair[1] == pair[0].wrapping_add(step) || (step == 1 && pair == b"90");
            length = if is_next { length + 1 } else { 1 };
            length >= RUN
        })
    };
    follows(0) || follows(1)
}

/// Returns Shannon's entropy of the bytes, in bits per byte.
fn entropy(value: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX).max(1));
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|share| -share * share.log2())
        .sum()
}
