//! Words, names and tags in the form in which they are compared.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization as _, is_nfc};

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

/// Returns whether one of these tags of an entry is `tag`, or is below it, as `ai/agents` is below `ai`.
pub(crate) fn has_tag(tags: &[String], tag: &str) -> bool {
    let tag = fold_tag(tag);
    tags.iter().any(|of_entry| of_entry.strip_prefix(&tag).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
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

/// Returns the letters and digits of `text` in lower case, without all that is between them.
pub(crate) fn letters(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the words of `text`: runs of letters and digits, in lower case and in the composed form.
pub fn words(text: &str) -> Vec<String> {
    nfc(text)
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
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
}
