//! Words, names and tags in the form in which they are compared.

use std::borrow::Cow;

use unicode_normalization::char::{decompose_canonical, is_combining_mark};
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

/// Words that negate a statement; `t` remains of `don't`, `can't` and the like.
const NEGATIONS: [&str; 15] = [
    "avoid", "cannot", "disable", "don", "dont", "instead", "isn", "neither", "never", "no", "none", "nor", "not", "t",
    "without",
];
/// Words without which an event says the same; `must`, `can` and `not` change what it says.
const FILLERS: [&str; 17] = [
    "a", "an", "are", "be", "been", "had", "has", "have", "is", "it", "its", "that", "the", "there", "this", "was",
    "were",
];

/// Returns `text` in Unicode's composed form (NFC), for comparing: file systems and editors write `é` as one character,
/// or as a letter and an accent (NFD), which look the same. Text in that form is not copied.
pub(crate) fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

/// Returns whether two names are the same, in whichever form each is written.
pub(crate) fn is_same_name(one: Option<&str>, other: Option<&str>) -> bool {
    one.map(nfc) == other.map(nfc)
}

/// Returns a tag in the form for comparisons: trimmed, without the `#` of Obsidian, in lower case and in the composed form.
pub(crate) fn fold_tag(tag: &str) -> String {
    nfc(tag.trim().trim_start_matches('#')).to_lowercase()
}

/// Returns the tags in what is written as one: `#a #b` are two.
pub(crate) fn split_tags(tag: &str) -> Vec<&str> {
    let words: Vec<&str> = tag.split_whitespace().collect();
    if words.iter().all(|word| word.starts_with('#')) { words } else { vec![tag] }
}

/// Returns whether one of these tags of an entry is `tag`, or is below it, as `ai/agents` is below `ai`. Accents are optional.
pub(crate) fn has_tag(tags: &[String], tag: &str) -> bool {
    let tag = without_accents(&fold_tag(tag));
    let is_it =
        |of_entry: &str| of_entry.strip_prefix(&tag).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    tags.iter().any(|of_entry| is_it(&without_accents(of_entry)))
}

/// Returns a composed text in lower case and without accents: what is often typed instead of it.
pub(crate) fn without_accents(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    add_without_accents(text, &mut plain);
    plain
}

/// Appends a composed text in lower case, without accents, and with one form of each letter: `Größe` is `grosse`, `Ёлка` is
/// `елка`. A mark that is a letter of its own, as those of Thai and Hindi, stays.
pub(crate) fn add_without_accents(text: &str, plain: &mut String) {
    for letter in text.chars().flat_map(char::to_lowercase) {
        match letter {
            _ if letter.is_ascii() => plain.push(letter),
            'ß' => plain.push_str("ss"),
            'æ' => plain.push_str("ae"),
            'œ' => plain.push_str("oe"),
            'þ' => plain.push_str("th"),
            'ø' => plain.push('o'),
            'đ' | 'ð' => plain.push('d'),
            'ł' => plain.push('l'),
            'ı' => plain.push('i'),
            'ς' => plain.push('σ'),
            'ё' => plain.push('е'),
            // The forms of alef, and what Persian writes for Arabic letters.
            'أ' | 'إ' | 'آ' | 'ٱ' => plain.push('ا'),
            'ی' => plain.push('ي'),
            'ک' => plain.push('ك'),
            // Latin and Greek. A Cyrillic letter with a mark is another letter.
            '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}' => {
                decompose_canonical(letter, |part| plain.extend(Some(part).filter(|part| !is_combining_mark(*part))));
            }
            _ if is_ignored(letter) => {}
            _ => plain.push(letter),
        }
    }
}

/// Returns whether a letter of a word says nothing about which word it is: an accent, a point for a vowel, a line that makes
/// an Arabic word longer, or a joiner.
fn is_ignored(letter: char) -> bool {
    let is_accent = matches!(letter, '\u{300}'..='\u{8ff}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe2f}');
    is_accent && is_combining_mark(letter) || matches!(letter, '\u{640}' | '\u{200d}')
}

/// Returns whether a character is part of a word: a letter, a digit, or a mark on one.
pub(crate) fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || !character.is_ascii() && (is_combining_mark(character) || character == '\u{200d}')
}

/// Returns `text` with case, white space and the form of characters folded, for comparing titles.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in nfc(text).split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(word.chars().flat_map(char::to_lowercase));
    }
    folded
}

/// Returns the words of `text`: runs of letters and digits, in lower case and in the composed form.
pub fn words(text: &str) -> Vec<String> {
    nfc(text)
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Returns whether a word negates a statement.
pub(crate) fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word)
}

/// Returns the words of an event, or of another text, in the form for comparisons: without articles and the like. A title that is only the
/// beginning of the body adds nothing.
pub(crate) fn event_words(title: &str, body: &str) -> Vec<String> {
    let (mut title, body) = (telling_words(title), telling_words(body));
    // The last word of the title may be cut.
    let is_beginning = title.split_last().is_none_or(|(last, whole)| {
        body.starts_with(whole) && body.get(whole.len()).is_some_and(|word| word.starts_with(last.as_str()))
    });
    if is_beginning {
        return body;
    }
    title.extend(body);
    title
}

pub(crate) fn telling_words(text: &str) -> Vec<String> {
    words(text).into_iter().filter(|word| !FILLERS.contains(&word.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_case_and_white_space_are_folded() {
        assert_eq!(nfc("cafe\u{301}"), "caf\u{e9}");
        assert_eq!(fold("  Cargo\tBench "), "cargo bench");
        assert_eq!(fold_tag(" Cafe\u{301} "), "caf\u{e9}");
        assert_eq!(fold_tag("#Infra"), "infra");
        assert_eq!(split_tags("#a #b"), ["#a", "#b"]);
        assert_eq!(split_tags("#a b"), ["#a b"]);
        assert_eq!(words("Don't use `fs::write`!"), ["don", "t", "use", "fs", "write"]);
    }

    #[test]
    fn accents_of_tags_are_optional() {
        let has = |of_entry: &str, tag: &str| has_tag(&[of_entry.to_owned()], tag);
        assert!(has("diseño", "diseno") && has("diseno", "Diseño") && has("diseño/móvil", "DISENO"));
        assert!(has("стройка", "Стройка") && !has("стройка", "строика"));
    }
}
