//! Words, names and tags in the form in which they are compared.
//!
//! [`tokens`] are the unit in which facts are compared: `==` and `!=`, `C` and `C++`, `-v` and `-V` are different ones. [`words`]
//! are what texts are searched by.

use std::borrow::Cow;
use std::collections::HashSet;

use unicode_normalization::char::{decompose_canonical, is_combining_mark};
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

/// Words without which a text says the same, unless they stand in backticks.
const FILLERS: [&str; 7] = ["a", "an", "are", "is", "it", "its", "the"];

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

/// Returns the title of a task in the form in which tasks are compared. Case counts where it tells facts apart, as in `-v` and `-V`.
pub(crate) fn task_form(title: &str) -> String {
    let compared = comparable(title);
    if compared.contains(char::is_uppercase) { compared } else { fold(title) }
}

/// What ends a token and is no part of what it says. At the beginning of a token, as of `.env` or `!ready`, it is.
const PUNCTUATION: &str = ".,;:!?…";
/// What stands around a token.
const QUOTES_AND_BRACKETS: &str = "\"'`“”‘’«»„‚‹›()[]{}";
/// What stands between words in scripts that have no space there.
const SEPARATORS: &str = "、。，！？；：（）「」『』【】・";
/// Words that negate or limit a statement, also as parts: `don` and `t` remain of `don't`.
const NEGATIONS: &str = "avoid cannot disable except forbidden instead neither never no nobody none nor not nothing nowhere only unless \
    without arent cant couldnt didnt doesnt don dont isn isnt mustnt shouldnt t wont wouldnt \
    kein keine keinen keiner nicht nichts nie niemals niemand ohne geen ikke ingen inte niet nigdy \
    jamais ne non pas sans jamás nada não nunca sin \
    без нельзя не нет ни никогда ничего 안 못";
/// What negates a statement inside of a token, in scripts without spaces.
const NEGATING_PARTS: [&str; 15] =
    ["不", "没", "沒", "无", "無", "未", "非", "勿", "别", "別", "禁", "ない", "ません", "않", "마세요"];

/// Returns the tokens of `text`, the unit in which facts are compared: what stands between white space, with its symbols and
/// digits, in the composed form. Case counts in single letters and in options; punctuation behind a token, and quotes,
/// backticks and brackets around it, count only where nothing else is left.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    each_token(text, &mut |token, _, is_first| tokens.push(folded(token, is_first)));
    tokens
}

fn folded(token: &str, is_first: bool) -> String {
    let mut folded = String::with_capacity(token.len());
    // The article, and not the letter.
    add_folded(if is_first && token == "A" { "a" } else { token }, &mut folded);
    folded
}

/// Returns `text` in the form in which it is compared as a whole: its tokens with a space between them.
pub(crate) fn comparable(text: &str) -> String {
    tokens(text).join(" ")
}

/// Calls `give` with each token as it is written, without and with what stands around it, and whether it begins a sentence.
fn each_token(text: &str, give: &mut dyn FnMut(&str, &str, bool)) {
    let mut is_first = true;
    let text = nfc(text);
    let is_between = |letter: char| letter.is_whitespace() || SEPARATORS.contains(letter);
    for whole in text.split(is_between).filter(|whole| !whole.is_empty()) {
        let mut token = whole.trim_start_matches(|letter| QUOTES_AND_BRACKETS.contains(letter));
        while let Some(last) = token.chars().next_back() {
            if !PUNCTUATION.contains(last) && !QUOTES_AND_BRACKETS.contains(last) {
                break;
            }
            token = &token[..token.len() - last.len_utf8()];
            // What a code span ends with is part of a name, as in `save!`.
            if last == '`' {
                break;
            }
        }
        give(if token.is_empty() { whole } else { token }, whole, is_first);
        is_first = whole.ends_with(['.', '!', '?']);
    }
}

/// Appends a token in lower case, but for options, numbers with units, and letters that stand alone in it: `-V`, `5MB`, `C++`, `%H:%M`. A letter
/// before digits or a hyphened word is part of a name, as in `v2` and `E-mail`.
pub(crate) fn add_folded(token: &str, folded: &mut String) {
    if token.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        || !token.bytes().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii())
    {
        folded.push_str(token);
        return;
    }
    let letters: Vec<char> = token.chars().map(|letter| if letter == '’' { '\'' } else { letter }).collect();
    let is_letter = |at: usize| letters.get(at).is_some_and(|next| *next == '\'' || is_of_word(*next));
    for (at, letter) in letters.iter().enumerate() {
        let is_in_word = at > 0 && is_letter(at - 1) && !letters[at - 1].is_numeric();
        let begins_word =
            is_letter(at + 1) || letters.get(at + 1) == Some(&'-') && is_letter(at + 2) && is_letter(at + 3);
        if is_in_word || begins_word { folded.extend(letter.to_lowercase()) } else { folded.push(*letter) }
    }
}

/// Returns whether a token or a word negates a statement.
pub(crate) fn is_negation(token: &str) -> bool {
    let word = token.trim_matches(|letter: char| !letter.is_alphanumeric());
    NEGATIONS.split_whitespace().any(|negation| negation == word)
        || word.ends_with("n't")
        || word.starts_with("n'")
        || !word.is_ascii() && NEGATING_PARTS.iter().any(|part| word.contains(part))
}

/// Returns those of some tokens by which a fact differs from others, however much else they share: negations, numbers, and what
/// has a symbol or is a single letter.
pub(crate) fn telling<'a>(tokens: impl IntoIterator<Item = &'a str>) -> HashSet<&'a str> {
    let is_word = |token: &str| {
        token == "a"
            || token.chars().nth(1).is_some()
                && token.chars().all(|letter| letter == '\'' || is_of_word(letter) && !letter.is_numeric())
    };
    tokens.into_iter().filter(|token| is_negation(token) || !is_word(token)).collect()
}

/// Returns whether a negation, a number or a symbol tells two texts apart.
pub(crate) fn are_told_apart(one: &str, other: &str) -> bool {
    let (one, other) = (tokens(one), tokens(other));
    telling(one.iter().map(String::as_str)) != telling(other.iter().map(String::as_str))
}

/// The words of a text, to find out which others say nearly the same.
#[derive(Debug)]
pub(crate) struct Wording {
    tokens: HashSet<String>,
    /// The tokens that may be names: between backticks, or with a capital letter.
    names: HashSet<String>,
}

impl Wording {
    /// Returns the words of a text.
    pub(crate) fn of(text: &str) -> Wording {
        let mut names = HashSet::new();
        each_token(text, &mut |token, whole, _| {
            if whole.contains('`') || token.contains(char::is_uppercase) {
                names.extend(tokens(token));
            }
        });
        Wording { tokens: tokens(text).into_iter().collect(), names }
    }

    /// Returns whether each text has four fifths of the other's words, and neither has a negation, a number, a symbol or a name
    /// that the other lacks.
    pub(crate) fn is_near(&self, other: &Wording) -> bool {
        let (one, two) = (&self.tokens, &other.tokens);
        // Most pairs differ so much in size that the words need not be compared.
        let least = (one.len().max(two.len()) * 4).div_ceil(5);
        one.len().min(two.len()) >= least
            && one.intersection(two).count() >= least
            && self.names.union(&other.names).all(|name| one.contains(name) && two.contains(name))
            && telling(one.iter().map(String::as_str)) == telling(two.iter().map(String::as_str))
    }
}

/// Returns the words of `text`: runs of letters and digits, in lower case and in the composed form.
pub fn words(text: &str) -> Vec<String> {
    nfc(text)
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
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
    let mut words = Vec::new();
    each_token(text, &mut |token, whole, is_first| {
        words.extend(
            Some(folded(token, is_first)).filter(|word| whole.contains('`') || !FILLERS.contains(&word.as_str())),
        );
    });
    words
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
    fn tokens_keep_what_tells_facts_apart() {
        let check = |text: &str, expected: &[&str]| assert_eq!(tokens(text), expected, "{text}");
        check("Don’t use `fs::write`!", &["don't", "use", "fs::write"]);
        check("(See \"WAL mode\", [here].) …", &["see", "wal", "mode", "here", "…"]);
        check("`save!` save! .env, e.g. ?", &["save!", "save", ".env", "e.g", "?"]);
        check(
            "C++ c# F -V --No-Cache -1 5Mb V2 E-mail %H:%M",
            &["C++", "c#", "F", "-V", "--No-Cache", "-1", "5Mb", "v2", "e-mail", "%H:%M"],
        );
        check("A lock. A key, plan A", &["a", "lock", "a", "key", "plan", "A"]);
        check("一。二、「三」", &["一", "二", "三"]);
        check("ÉTÉ e\u{301}te\u{301}", &["été", "été"]);
    }

    #[test]
    fn negations_numbers_and_symbols_tell_texts_apart() {
        let check =
            |one: &str, other: &str, expected: bool| assert_eq!(are_told_apart(one, other), expected, "{one}: {other}");
        for word in
            ["never", "isn't", "shouldnt", "n'est", "**not**", "nobody", "only", "niemals", "нельзя", "3", "x.y", "=="]
        {
            check("Use it", &format!("Use it {word}"), true);
        }
        check("使用缓存", "不使用缓存", true);
        check("Use it, O'Neil", "Use a thing", false);
        check("Use 3 of 4 C", "4 of 3: C", false);
    }

    #[test]
    fn accents_of_tags_are_optional() {
        let has = |of_entry: &str, tag: &str| has_tag(&[of_entry.to_owned()], tag);
        assert!(has("diseño", "diseno") && has("diseno", "Diseño") && has("diseño/móvil", "DISENO"));
        assert!(has("стройка", "Стройка") && !has("стройка", "строика"));
    }
}
