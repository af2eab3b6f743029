//! How text becomes the terms of the index: three token streams, for entries and queries alike.
//!
//! The *word* stream has words in lower case, without accents and stop words, and stemmed. The *part* stream has the parts
//! of identifiers in lower case, without accents and stop words, and not stemmed: `parseHttpRequest`, `parse_http_request` and
//! `src/parse/http.rs` share theirs. Both split at everything that is neither a letter nor a digit. The *whole* stream has what
//! they split: `c++`, `task_tools`, and what is left of these without symbols, stemmed. All take text in the composed form
//! (NFC), whatever form it was written in.
//!
//! A word is stemmed as its script says, since nothing says which language a text is in: Cyrillic as Russian, Arabic and
//! Devanagari as Arabic and Hindi, Latin as English.
//!
//! Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese have no spaces, or none between a word and its endings. A run of
//! their characters becomes each pair of neighbours: `数据库` is `数据` and `据库`, so any part of it of two or more
//! characters is found. A character that stands alone is a token of its own.

use frostem::{Algorithm, Stemmer};
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::text::{add_without_accents, is_of_word, nfc, without_accents};

/// Changes whenever the same text would give other tokens; part of the index folder's name.
pub(crate) const VERSION: u32 = 5;
/// The tokens of a text, one after the other.
type EachToken = fn(&str, &mut Stems, &mut dyn FnMut(&str));
/// The streams, with their names in the schema.
pub(super) const STREAMS: [(&str, EachToken); 3] = [("words", words), ("parts", parts), ("wholes", wholes)];

/// Longer tokens, in characters, are hashes or encoded data, which people do not search for.
const MAX_TOKEN: usize = 40;

/// Lucene's English stop words, and the pieces that `don't`, `it's` and their like leave behind. A
/// longer list (Snowball's) lost .002 to .006 nDCG@10 on short notes.
const STOP_WORDS: [&str; 57] = [
    "a", "ain", "an", "and", "are", "aren", "as", "at", "be", "but", "by", "couldn", "d", "didn", "doesn", "don",
    "for", "hadn", "hasn", "haven", "if", "in", "into", "is", "isn", "it", "ll", "m", "mustn", "needn", "no", "not",
    "of", "on", "or", "re", "s", "shouldn", "such", "t", "that", "the", "their", "then", "there", "these", "they",
    "this", "to", "ve", "was", "wasn", "weren", "will", "with", "won", "wouldn",
];

/// Calls `give` with each token of the word stream.
fn words(text: &str, stems: &mut Stems, give: &mut dyn FnMut(&str)) {
    let mut lower = String::new();
    each_piece(text, &mut |piece| match piece {
        Piece::Pair(pair) => give(pair),
        Piece::Word(word) => {
            lower_case(word, &mut lower);
            if is_token(&lower) {
                give(stems.stem(&lower));
            }
        }
    });
}

/// Returns how often each token of the word stream is in a text.
#[cfg(feature = "semantic")]
pub(crate) fn word_counts(text: &str) -> std::collections::HashMap<String, u32> {
    let mut counts = std::collections::HashMap::new();
    words(text, &mut Stems::default(), &mut |token| *counts.entry(token.to_owned()).or_default() += 1);
    counts
}

/// Calls `give` with each token of the whole stream.
fn wholes(text: &str, stems: &mut Stems, give: &mut dyn FnMut(&str)) {
    let is_of_token = |character: char| is_of_word(character) || "_-.:+#@&".contains(character);
    let mut lower = String::new();
    for token in nfc(text).split(|character: char| !is_of_token(character)) {
        let token = token.trim_start_matches([':', '+', '&']).trim_end_matches(['.', ':', '-', '@', '&']);
        // `.NET` has its dot, and what follows an ellipsis has not.
        let token = if token.starts_with("..") { token.trim_start_matches('.') } else { token };
        let n_runs = runs(token).count();
        // A capital that stands alone is the name of a language, and in `C++` it is not.
        let is_name = matches!(token.as_bytes(), [b'B'..=b'H' | b'J'..=b'Z']);
        let is_latin = token.chars().all(|character| character < '\u{250}');
        let is_abbreviation =
            || n_runs > 1 && runs(token).all(|run| run.len() == 1 && run.starts_with(char::is_alphabetic));
        if n_runs == 0 || !is_latin || !is_name && token.chars().all(is_of_word) || is_abbreviation() {
            continue;
        }
        lower_case(token, &mut lower);
        if lower.chars().nth(MAX_TOKEN).is_some() {
            continue;
        }
        // A hyphen between words is no name of something, and the joined word says as much.
        let is_hyphenated =
            || !token.starts_with('-') && token.chars().all(|letter| is_of_word(letter) || letter == '-');
        if is_name || !is_hyphenated() {
            give(&lower);
        }
        lower.retain(is_of_word);
        if n_runs > 1 && is_token(&lower) && lower.contains(char::is_alphabetic) {
            give(stems.stem(&lower));
        }
    }
}

/// Returns the words of a text in lower case, stop words included, in their order.
pub(super) fn plain_words(text: &str) -> Vec<String> {
    runs(&nfc(text)).map(without_accents).collect()
}

/// Calls `give` with each token of the part stream.
fn parts(text: &str, _: &mut Stems, give: &mut dyn FnMut(&str)) {
    let mut lower = String::new();
    each_piece(text, &mut |piece| match piece {
        Piece::Pair(pair) => give(pair),
        Piece::Word(word) => each_part(word, &mut |part| {
            lower_case(part, &mut lower);
            // The rest of `don't` and `it's` is also the name of a language, a type or a flag.
            if is_token(&lower) || matches!(lower.as_str(), "d" | "m" | "s" | "t") {
                give(&lower);
            }
        }),
    });
}

/// Calls `give` with each part of a camel-case word.
fn each_part<'a>(mut word: &'a str, give: &mut dyn FnMut(&'a str)) {
    while !word.is_empty() {
        let (part, behind) = word.split_at(camel_end(word));
        give(part);
        word = behind;
    }
}

fn is_token(lower: &str) -> bool {
    let is_long = lower.len() > MAX_TOKEN && lower.chars().nth(MAX_TOKEN).is_some();
    !lower.is_empty() && !is_long && !is_stop_word(lower)
}

/// Returns whether a word is a stop word.
pub(super) fn is_stop_word(lower: &str) -> bool {
    STOP_WORDS.binary_search(&lower).is_ok()
}

/// Returns the stems of the words of a tag, a feature or a path, stop words included, each once and sorted: the form in
/// which tags are compared.
pub(super) fn tag_words(text: &str, stems: &mut Stems) -> Vec<String> {
    let mut lower = String::new();
    let mut words = Vec::new();
    each_piece(text, &mut |piece| match piece {
        Piece::Pair(pair) => words.push(pair.to_owned()),
        Piece::Word(word) => {
            lower_case(word, &mut lower);
            words.push(stems.stem(&lower).to_owned());
        }
    });
    words.sort_unstable();
    words.dedup();
    words
}

/// A piece of a run of letters and digits.
#[derive(Clone, Copy)]
enum Piece<'a> {
    /// Text with spaces around it.
    Word(&'a str),
    /// Two characters of a script without spaces, or a single one.
    Pair(&'a str),
}

/// Calls `give` with each piece of a text.
fn each_piece(text: &str, give: &mut dyn FnMut(Piece<'_>)) {
    for run in runs(&nfc(text)) {
        if run.is_ascii() || !run.contains(is_unspaced) {
            give(Piece::Word(run));
            continue;
        }
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let unspaced = is_unspaced(first);
            let end = rest.find(|character| is_unspaced(character) != unspaced).unwrap_or(rest.len());
            let (piece, behind) = rest.split_at(end);
            rest = behind;
            if unspaced { each_pair(piece, give) } else { give(Piece::Word(piece)) }
        }
    }
}

/// Calls `give` with each pair of neighbours, or with the only character.
fn each_pair(text: &str, give: &mut dyn FnMut(Piece<'_>)) {
    let mut ends = text.char_indices().map(|(at, character)| at + character.len_utf8());
    let (mut start, Some(mut middle)) = (0, ends.next()) else { return };
    if middle == text.len() {
        give(Piece::Pair(text));
    }
    for end in ends {
        give(Piece::Pair(&text[start..end]));
        (start, middle) = (middle, end);
    }
}

/// Returns whether a character is of a script without spaces. Half-width forms are among them.
fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0x1100..=0x11FF | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0x3130..=0x318F // Hangul
        | 0x3005..=0x3007 | 0x3041..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFFDC // marks, kana, half-width forms
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF // Han
        | 0x0E00..=0x0EFF // Thai, Lao
        | 0x1000..=0x109F | 0xA9E0..=0xA9FF | 0xAA60..=0xAA7F // Burmese
        | 0x1780..=0x17FF) // Khmer
}

fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !is_of_word(character)).filter(|run| !run.is_empty())
}

fn lower_case(word: &str, lower: &mut String) {
    lower.clear();
    if word.is_ascii() {
        lower.push_str(word);
        lower.make_ascii_lowercase();
    } else {
        add_without_accents(word, lower);
    }
}

/// Returns where the first part of a camel-case word ends: before a capital after a lower-case letter or a digit, and
/// before the last of several capitals that a lower-case letter follows.
fn camel_end(word: &str) -> usize {
    let bytes = word.as_bytes();
    for at in 1..bytes.len() {
        let (before, here) = (bytes[at - 1], bytes[at]);
        if !here.is_ascii_uppercase() {
            continue;
        }
        let next_is_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        if before.is_ascii_lowercase() || before.is_ascii_digit() || (before.is_ascii_uppercase() && next_is_small) {
            return at;
        }
    }
    bytes.len()
}

/// Stems words, and remembers what it stemmed: the stemmer alone takes most of an index's build time.
#[derive(Default)]
pub(super) struct Stems {
    /// Words and their stems, under a hash of the word.
    known: HashTable<(String, String)>,
}

/// A project's vocabulary fits; a stream of random words does not grow without limit.
const MAX_KNOWN_STEMS: usize = 50_000;

impl Stems {
    pub(super) fn stem(&mut self, word: &str) -> &str {
        if self.known.len() >= MAX_KNOWN_STEMS {
            self.known.clear();
        }
        let hash = |word: &str| xxh3_64(word.as_bytes());
        let place = self.known.entry(hash(word), |(known, _)| known == word, |(known, _)| hash(known));
        let known = place.or_insert_with(|| {
            let stem = algorithm_of(word).map(|algorithm| Stemmer::new(algorithm).stem(word));
            (word.to_owned(), stem.unwrap_or(word.into()).into_owned())
        });
        &known.into_mut().1
    }
}

/// Returns how words of the script of this one are stemmed.
fn algorithm_of(word: &str) -> Option<Algorithm> {
    match word.chars().find(|character| character.is_alphabetic())? {
        'a'..='z' => Some(Algorithm::English),
        '\u{370}'..='\u{3ff}' => Some(Algorithm::Greek),
        '\u{400}'..='\u{52f}' => Some(Algorithm::Russian),
        '\u{530}'..='\u{58f}' => Some(Algorithm::Armenian),
        '\u{600}'..='\u{6ff}' => Some(Algorithm::Arabic),
        '\u{900}'..='\u{97f}' => Some(Algorithm::Hindi),
        '\u{b80}'..='\u{bff}' => Some(Algorithm::Tamil),
        _ => None,
    }
}

/// Returns the tokens of a text in a stream, with a space behind each.
pub(super) fn spaced(stream: usize, text: &str, stems: &mut Stems) -> String {
    let mut spaced = String::new();
    STREAMS[stream].1(text, stems, &mut |token| spaced.extend([token, " "]));
    spaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens_of(stream: usize, text: &str) -> String {
        spaced(stream, text, &mut Stems::default()).trim_end().to_owned()
    }

    fn words_of(text: &str) -> String {
        tokens_of(0, text)
    }

    fn parts_of(text: &str) -> String {
        tokens_of(1, text)
    }

    #[test]
    fn tokens_with_symbols_are_terms_whole_and_without_them() {
        for (text, expected) in [
            ("The C++ part, (C#), `F#`: C. A D", "c++ c# f# c d"),
            (".NET ...end. see .env, 1.2", ".net .env 1.2"),
            ("node.js, Node.JS! task_tools e-mails", "node.js nodej node.js nodej task_tools tasktool email"),
            ("src/foo.rs foo::bar --no-cache x86_64", "foo.rs foor foo::bar foobar --no-cache nocach x86_64 x8664"),
            ("plain words only - no -- more :: 9-5 don't, e.g. i.e.", ""),
            ("\u{a7}-\u{42f} \u{43a}\u{430}\u{43a}-\u{442}\u{43e}, \u{6570}\u{636e}_x", ""),
            (&"x-".repeat(30), ""),
        ] {
            assert_eq!(tokens_of(2, text), expected, "{text}");
        }
    }

    #[test]
    fn words_are_stemmed_and_stop_words_left_out() {
        assert_eq!(words_of("Don't use the Migrations, migrating_tables!"), "use migrat migrat tabl");
        assert_eq!(words_of("ÄÖ E0502"), "ao e0502");
        assert_eq!((words_of(&"x".repeat(41)), words_of(&"ж".repeat(41))), (String::new(), String::new()));
        assert_eq!(words_of(&"ж".repeat(40)).chars().count(), 40);
        // A letter and an accent are one character.
        assert_eq!(words_of("cafe\u{301}s, gro\u{308}\u{df}e"), words_of("caf\u{e9}s, gr\u{f6}\u{df}e"));
    }

    #[test]
    fn parts_of_identifiers_are_kept_as_they_are() {
        assert_eq!(
            parts_of("parseHTTPRequest src/parse_http.rs v2Beta"),
            "parse http request src parse http rs v2 beta"
        );
        assert_eq!(parts_of("some XMLs ABC xB éÀb"), "some xm ls abc x b eab");
    }

    #[test]
    fn stop_words_are_no_parts() {
        assert_eq!(parts_of("the isEmpty of into_inner"), "empty inner");
        assert_eq!(parts_of("Don't paint the kitchen"), "t paint kitchen");
        assert_eq!(parts_of("Map<T> in D"), "map t d");
    }

    #[test]
    fn words_are_stemmed_as_their_script_says() {
        for forms in [
            "миграция миграции миграцией МИГРАЦИЙ",
            "ёлка елка ёлки",
            "σύνδεση συνδέσεις ΣΥΝΔΕΣΗ",
            "الكتاب كتاب كتابها",
            "लड़का लड़के लड़कों",
            "գրադարան գրադարանը գրադարանում",
            "puedes PUÉDES",
        ] {
            let stems = words_of(forms);
            let mut each: Vec<&str> = stems.split(' ').collect();
            assert_eq!(each.len(), forms.split(' ').count(), "{forms}: {stems}");
            each.dedup();
            assert_eq!(each.len(), 1, "{forms}: {stems}");
        }
        // Another letter is another word.
        assert_ne!(parts_of("мой"), parts_of("мои"));
        // Hebrew and Georgian have no stemmer.
        assert_eq!(words_of("שָׁלוֹם ბაზები"), "שלום ბაზები");
    }

    #[test]
    fn accents_and_marks_make_no_other_word() {
        for of in [words_of, parts_of] {
            assert_eq!(of("Verificación de teléfono"), of("verificacion de telefono"));
            assert_eq!(of("Größe, Œuvre, Łódź, smørrebrød"), of("grosse oeuvre lodz smorrebrod"));
            assert_eq!(of("مُحَمَّد كـــتاب"), of("محمد كتاب"));
            assert_eq!(of("می\u{200c}خواهم"), of("مي خواهم"));
            // A sign that makes a picture of a character is no word.
            assert_eq!(of("Deploy \u{2764}\u{fe0f} on"), "deploy");
        }
        assert_eq!(parts_of("स्क्रिप्ट"), "स्क्रिप्ट");
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        for of in [words_of, parts_of] {
            assert_eq!(of("数据库连接池"), "数据 据库 库连 连接 接池");
            assert_eq!(of("メモリの上限"), "メモ モリ リの の上 上限");
            assert_eq!(of("데이터베이스를 잠가"), "데이 이터 터베 베이 이스 스를 잠가");
            // A single one is a token itself; digits and letters beside them stay words.
            assert_eq!(of("锁, 第3章"), "锁 第 3 章");
            assert_eq!(of("SQL数据库v2"), "sql 数据 据库 v2");
            // A long run is not left out as a long token is.
            assert_eq!(of(&"漢字".repeat(30)).split(' ').count(), 59);
            assert_eq!(of("ข้อมูล API"), "ข้ ้อ อม มู ูล api");
            // In the decomposed form it is the same.
            assert_eq!(of("\u{1103}\u{1166}\u{110b}\u{1175}"), of("데이"));
            assert_eq!(of("か\u{3099}き"), of("がき"));
        }
        assert_eq!(tag_words("数据库", &mut Stems::default()), ["据库", "数据"]);
    }

    #[test]
    fn tags_are_sets_of_stems() {
        let mut stems = Stems::default();
        assert_eq!(tag_words("Connection-pools", &mut stems), ["connect", "pool"]);
        assert_eq!(tag_words("tests, test", &mut stems), ["test"]);
        assert_eq!(tag_words("it", &mut stems), ["it"]);
    }

    #[test]
    fn the_stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
    }
}
