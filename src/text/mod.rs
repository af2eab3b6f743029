//! Words and pieces of text: comparing, cutting, and sanitising for output.

mod choice;
mod command;
mod invisible;
mod json;
pub(crate) mod lines;
mod own_block;
pub mod secret;
pub(crate) mod title;
pub(crate) mod words;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use strsim::levenshtein;

use self::invisible::{is_invisible, may_be_invisible};

pub(crate) use self::choice::choice;
pub(crate) use self::command::acting_in_path;
pub use self::command::printed_command;
pub(crate) use self::invisible::{invisible, without_marks};
pub(crate) use self::json::Utf16Decoder;
pub use self::json::{decoded, decoded_whole, read_json, repaired_json};
pub(crate) use self::own_block::own_block;
#[cfg(feature = "setup")]
pub(crate) use self::own_block::{BEGIN, END};
pub(crate) use self::title::{first_sentence, title_of};
pub(crate) use self::words::{
    Wording, add_folded, add_without_accents, are_told_apart, comparable, event_words, fold, fold_tag, has_tag,
    is_negation, is_of_word, is_same_name, nfc, split_tags, task_form, telling, telling_words, tokens, without_accents,
    words,
};

/// Returns a length of time as a person writes it.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(ralph_memory::text::duration(Duration::from_secs(61)), "1 min 1 s");
/// ```
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Returns an amount of US dollars as a person writes it.
///
/// ```
/// assert_eq!(ralph_memory::text::dollars(12.345), "$12.35");
/// ```
pub fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 { format!("${amount:.4}") } else { format!("${amount:.2}") }
}

/// Cuts `text` between words to at most `limit` characters, marked with `…` if it was cut.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let keep = limit.saturating_sub(1);
    let end = text.char_indices().nth(keep).map_or(text.len(), |(at, _)| at);
    let mut cut = &text[..end];
    if !text[end..].starts_with(char::is_whitespace) {
        // A text that is one long word is cut inside it.
        cut = cut.rfind(char::is_whitespace).map_or(cut, |at| &cut[..at]);
    }
    format!("{}…", cut.trim_end())
}

/// Cuts `text` to at most `limit` characters, also inside a word, marked with `…` if it was cut.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Returns the words of `text` on one line, with one space between them.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a fence of this mark that no line of `text` closes: longer than any run of the mark, and at least three.
pub(crate) fn fence(text: &str, mark: char) -> String {
    let longest = text.split(|character| character != mark).map(|run| run.chars().count()).max().unwrap_or(0);
    mark.to_string().repeat(longest.max(2) + 1)
}

/// Returns a number and the noun that it counts, such as `1 entry` or `2 entries`.
///
/// ```
/// use ralph_memory::text::count;
/// assert_eq!((count(1, "entry"), count(0, "entry"), count(2, "file")), ("1 entry".into(), "0 entries".into(), "2 files".into()));
/// ```
pub fn count(number: usize, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {noun}s"),
    }
}

/// Everything that addresses escape, outside of paths.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Escapes a text as one part of an address: of its path or of its query.
///
/// ```
/// assert_eq!(ralph_memory::text::address_part("a/ä b"), "a%2F%C3%A4%20b");
/// ```
pub fn address_part(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Returns the last place up to `at` bytes at which `text` can be cut.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns the line of `text` that shares most words with `query`, cut between words to at most `limit` characters
/// around the first shared word. Without a shared word it is the first line.
pub(crate) fn excerpt(text: &str, query: &str, limit: usize) -> String {
    // Words count as the same if they begin alike, which is close to what the index does.
    let beginning = |word: &str| word.chars().take(5).collect::<String>();
    let wanted: HashSet<String> =
        words(query).iter().filter(|word| word.chars().count() > 2).map(|word| beginning(word)).collect();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let shared = |line: &str| -> HashSet<String> {
        words(line).iter().map(|word| beginning(word)).filter(|word| wanted.contains(word)).collect()
    };
    let mut best = ("", 0);
    for line in lines {
        let n_shared = shared(line).len();
        if n_shared > best.1 || best.0.is_empty() {
            best = (line, n_shared);
        }
        if best.1 == wanted.len() {
            break;
        }
    }
    let line: Vec<&str> = best.0.split_whitespace().collect();
    let first = line.iter().position(|word| !shared(word).is_empty()).unwrap_or_default();
    // The first shared word is in the first half of the excerpt, and is not cut off at its end.
    let length = line.get(first).map_or(0, |word| word.chars().count());
    let mut room = (limit / 2).min(limit.saturating_sub(length + 2));
    let mut start = first;
    while let Some(word) = start.checked_sub(1).map(|before| line[before]) {
        let Some(left) = room.checked_sub(word.chars().count() + 1) else { break };
        (room, start) = (left, start - 1);
    }
    let cut = line[start..].join(" ");
    if start == 0 { shorten(&cut, limit) } else { format!("…{}", shorten(&cut, limit.saturating_sub(1))) }
}

/// Escapes control and invisible characters: all control characters except line break and tab, C1 controls, characters
/// that change the direction of writing, and those that are invisible. They become `\u{…}`.
///
/// ```
/// assert_eq!(ralph_memory::text::for_terminal("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\n");
/// ```
pub fn for_terminal(text: &str) -> String {
    escaped(text, &['\n', '\t'])
}

/// Escapes what [`for_terminal`] escapes, and line breaks and tabs: for ids, paths and whole lines, which end where the
/// program ends them.
///
/// ```
/// assert_eq!(ralph_memory::text::for_line("a\n::error::b.md"), "a\\u{a}::error::b.md");
/// ```
pub fn for_line(text: &str) -> String {
    escaped(text, &[])
}

fn escaped(text: &str, kept: &[char]) -> String {
    let acts = |at: usize, character: char| {
        !kept.contains(&character) && (acts_on_terminals(character) || is_invisible(text, at, character))
    };
    if !text.char_indices().any(|(at, character)| acts(at, character)) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for (at, character) in text.char_indices() {
        if acts(at, character) {
            let _ = write!(safe, "\\u{{{:x}}}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Escapes the control and invisible characters of a JSON document as `\uXXXX`. Programs read the same texts, and whoever
/// looks at the document itself sees what is in it.
///
/// ```
/// assert_eq!(ralph_memory::text::escaped_json("[\"\u{9b}\u{202e}é\u{e0041}\"]\n"), "[\"\\u009b\\u202eé\\udb40\\udc41\"]\n");
/// ```
pub fn escaped_json(document: &str) -> String {
    let mut escaped = String::with_capacity(document.len());
    for character in document.chars() {
        // In a document, others stand between texts; in a text they are escaped already.
        if character >= '\u{7f}' && (acts_on_terminals(character) || may_be_invisible(character)) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

fn acts_on_terminals(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Returns how many tokens a language model is likely to make of `text`; the estimate is rather too high.
///
/// One token for every 3.3 ASCII characters, and 1.1 for every other character. Compared with a real tokenizer (o200k)
/// this is 25 to 45 % too high for English prose and source code, 0 to 20 % for Chinese, and up to 40 % too low for
/// tables and box drawing.
pub fn estimate_tokens(text: &str) -> usize {
    let n_ascii = text.bytes().filter(u8::is_ascii).count();
    let n_other = text.chars().filter(|character| !character.is_ascii()).count();
    (n_ascii * 10).div_ceil(33) + (n_other * 11).div_ceil(10)
}

/// The longest word that is compared with known ones, in bytes: longer ones are not typing errors.
const MAX_MISSPELT: usize = 100;

/// Returns the known word that an unknown one probably means: at most a third of the letters differ. Words with a
/// number in them belong to a series of names.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let is_numbered = word.bytes().any(|byte| byte.is_ascii_digit());
    if word.len() > MAX_MISSPELT || is_numbered || known.clone().any(|known| known == word) {
        return None;
    }
    let near = known.map(|known| (levenshtein(word, known), known));
    near.filter(|(distance, known)| *distance <= known.len() / 3).min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_few_figures() {
        let check = |seconds, expected: &str| assert_eq!(duration(Duration::from_secs(seconds)), expected);
        check(0, "0 s");
        check(59, "59 s");
        check(60, "1 min 0 s");
        check(3599, "59 min 59 s");
        check(3600, "1 h 0 min");
        check(90_061, "25 h 1 min");
        assert_eq!([0.0, 0.004, 0.01, 12.345].map(dollars), ["$0.00", "$0.0040", "$0.01", "$12.35"]);
    }

    #[test]
    fn sentences_end_before_white_space() {
        let check = |text: &str, limit, expected: &str| assert_eq!(first_sentence(text, limit), expected);
        check("Version 1.2 is old. Use 2.", 80, "Version 1.2 is old.");
        check("No end\nsecond line", 80, "No end");
        check("\n\nWhat? Yes.", 80, "What?");
        check("ääää öööö", 6, "ääää…");
        check("abcdefghij", 4, "abc…");
        check("", 4, "");
    }

    #[test]
    fn control_characters_are_escaped() {
        for character in ['\u{1b}', '\u{7}', '\u{9b}', '\r', '\u{202e}', '\u{2066}', '\u{7f}', '\u{8}'] {
            assert!(!for_terminal(&format!("a{character}b")).contains(character));
        }
        assert_eq!(for_terminal("é\tü\n日本"), "é\tü\n日本");
    }

    #[test]
    fn excerpts_show_the_matching_words() {
        let check = |text: &str, query: &str, limit, expected: &str| assert_eq!(excerpt(text, query, limit), expected);
        check("", "x", 10, "");
        check("one\ntwo", "", 10, "one");
        check("a lock\nthe lock of a file", "file lock", 40, "the lock of a file");
        check("the lock\nof a lock", "lock", 40, "the lock");
        check("an a of no use", "of", 40, "an a of no use");
        check("ä ö ü lang langes Wort", "wort", 9, "…Wort");
        check("Ein Langeswortohneende", "langeswort", 8, "…Langes…");
        check("one two three four five", "four", 12, "…three four…");
        let pinned = "The nightly toolchain is pinned.";
        check(&format!("First.\n\n{pinned}"), "toolchains", 80, pinned);
    }

    #[test]
    fn texts_are_cut_folded_and_fenced() {
        let check = |limit, expected: &str| assert_eq!(cut("größe ist", limit), expected);
        check(9, "größe ist");
        check(8, "größe i…");
        check(7, "größe…");
        check(1, "…");
        check(0, "…");
        assert_eq!(one_line(" a\tb\n\n c "), "a b c");
        for (text, expected) in [("", "```"), ("a `b` ``c``", "```"), ("x ``` y", "````"), ("`````", "``````")] {
            assert_eq!(fence(text, '`'), expected, "{text:?}");
        }
    }

    #[test]
    fn tokens_are_counted_by_kind_of_character() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens(&"a".repeat(33)), 10);
        assert_eq!(estimate_tokens(&"語".repeat(10)), 11);
    }
}
