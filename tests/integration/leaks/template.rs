//! Texts with random parts, described by templates.
//!
//! A template is text as it stands, but for what is between `«` and `»`: a class of characters with a length
//! (`«hex 40»`, `«A-Z2-7 16»`, `«url 20-30»`), alternatives (`«sk|rk»`), a word (`«word»`), a password in a URL (`«pass»`), or nothing (`«»`),
//! which parts what would look like a token in this source.

use crate::random::Random;

const WORDS: &str = "order catalog index parser session cache worker queue report invoice router ledger search journal storage metrics \
    upload render billing export import merge snapshot scanner budget context planner webhook mailer tenant gateway \
    profile branch segment cursor schema migration retry backup replica shipping checkout payment account feature \
    banner widget editor layout canvas sensor device ticket comment thread channel release bundle module registry \
    harbor meadow lantern copper";

/// Returns a word, the same list for names in code and for passwords that people make up.
fn word(random: &mut Random) -> &'static str {
    let words: Vec<&str> = WORDS.split(' ').collect();
    random.pick::<&str>(&words)
}

/// Returns a word with a capital letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Returns the characters of a class: `A-Za-z0-9_-`, or one that has a name.
fn characters(class: &str) -> Vec<char> {
    let class = match class {
        "hex" => "0-9a-f",
        "HEX" => "0-9A-F",
        "b62" => "A-Za-z0-9",
        "b64" => "A-Za-z0-9+/",
        "url" => "A-Za-z0-9_-",
        "b36" => "0-9a-z",
        "B36" => "0-9A-Z",
        "b58" => "1-9A-HJ-NP-Za-km-z",
        "b32" => "A-Z2-7",
        "dig" => "0-9",
        other => other,
    };
    let class: Vec<char> = class.chars().collect();
    let mut all = Vec::new();
    let mut at = 0;
    while at < class.len() {
        if class.get(at + 1) == Some(&'-') && at + 2 < class.len() {
            all.extend(class[at]..=class[at + 2]);
            at += 3;
        } else {
            all.push(class[at]);
            at += 1;
        }
    }
    all
}

/// Returns so many characters of a class.
fn text(random: &mut Random, class: &str, length: usize) -> String {
    let all = characters(class);
    (0..length).map(|_| *random.pick(&all)).collect()
}

/// Returns a number of `low..=high`.
fn between(random: &mut Random, low: usize, high: usize) -> usize {
    low + random.below(high - low + 1)
}

fn part(random: &mut Random, inner: &str) -> String {
    if inner.contains('|') {
        let all: Vec<&str> = inner.split('|').collect();
        return (*random.pick(&all)).to_owned();
    }
    let template = match inner {
        "" => return String::new(),
        "word" => return word(random).to_owned(),
        "Word" => return capital(word(random)),
        "WORD" => return word(random).to_uppercase(),
        "pass" => {
            let template = *random.pick(&[
                "«b62 16-32»",
                "«b62 20»",
                "«hex 32»",
                "«url 23»«b62 1»",
                "«Word»-«Word»-«dig 3»!",
                "«b62 8»#«b62 6»@«b62 2»",
            ]);
            return percent(&fill(random, template));
        }
        "uuid" => "«hex 8»-«hex 4»-4«hex 3»-«89ab 1»«hex 3»-«hex 12»",
        "ulid" => "01J«0-9A-HJKMNP-TV-Z 23»",
        "ver" => "«0-3 1».«1-9 1»«dig 0-1».«dig 1»",
        "day" => "2026-0«1-9 1»-«0|1»«1-9 1»",
        "time" => "2026-0«1-9 1»-1«dig 1»T1«dig 1»:«0-5 1»«dig 1»:«0-5 1»«dig 1»",
        "path" => "«word»/«word»",
        "host" => "«word».«internal|corp.lan|acme.io|prod.acme.io»",
        other => {
            let (class, length) = other.rsplit_once(' ').unwrap();
            let (low, high) = length.split_once('-').unwrap_or((length, length));
            let length = between(random, low.parse().unwrap(), high.parse().unwrap());
            return text(random, class, length);
        }
    };
    fill(random, template)
}

/// Fills a template in.
pub(super) fn fill(random: &mut Random, template: &str) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('«') {
        let (inner, after) = after.split_once('»').unwrap();
        filled.push_str(before);
        filled.push_str(&part(random, inner));
        rest = after;
    }
    filled + rest
}

/// Returns characters for any part of a URL, the others percent-encoded.
fn percent(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
