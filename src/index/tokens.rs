//! How text becomes the terms of the index: two token streams, for entries and queries alike.
//!
//! The *word* stream has words in lower case, without stop words, stemmed for English. The *part*
//! stream has the parts of identifiers in lower case and nothing else done: `parseHttpRequest`,
//! `parse_http_request` and `src/parse/http.rs` share theirs. Both split at everything that is
//! neither a letter nor a digit, and take text in the composed form (NFC), whichever it was written in.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use tantivy::tokenizer::{
    Language, RawTokenizer, Stemmer, TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::text::nfc;

/// Changes whenever the same text would give other tokens; part of the index folder's name.
pub(super) const VERSION: u32 = 2;
/// The name under which the schema knows the word stream.
pub(super) const WORDS: &str = "words";
/// The name under which the schema knows the part stream.
pub(super) const PARTS: &str = "parts";

/// Longer tokens are hashes or encoded data, which nobody types.
const MAX_TOKEN_BYTES: usize = 40;

/// Lucene's English stop words, and the pieces that `don't`, `it's` and their like leave behind. A
/// longer list (Snowball's) lost .002 to .006 nDCG@10 on short notes.
const STOP_WORDS: [&str; 57] = [
    "a", "ain", "an", "and", "are", "aren", "as", "at", "be", "but", "by", "couldn", "d", "didn", "doesn", "don",
    "for", "hadn", "hasn", "haven", "if", "in", "into", "is", "isn", "it", "ll", "m", "mustn", "needn", "no", "not",
    "of", "on", "or", "re", "s", "shouldn", "such", "t", "that", "the", "their", "then", "there", "these", "they",
    "this", "to", "ve", "was", "wasn", "weren", "will", "with", "won", "wouldn",
];

/// Calls `give` with each token of the word stream.
pub(super) fn words(text: &str, stems: &mut Stems, give: &mut dyn FnMut(&str)) {
    let mut lower = String::new();
    for run in runs(&nfc(text)) {
        lower_case(run, &mut lower);
        if lower.len() <= MAX_TOKEN_BYTES && STOP_WORDS.binary_search(&lower.as_str()).is_err() {
            give(stems.stem(&lower));
        }
    }
}

/// Calls `give` with each token of the part stream.
pub(super) fn parts(text: &str, give: &mut dyn FnMut(&str)) {
    let mut lower = String::new();
    for run in runs(&nfc(text)) {
        let mut rest = run;
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(camel_end(rest));
            rest = behind;
            lower_case(part, &mut lower);
            if lower.len() <= MAX_TOKEN_BYTES {
                give(&lower);
            }
        }
    }
}

/// Returns the stems of the words of a tag, a feature or a path, stop words included, each once and
/// sorted: what tags are compared by.
pub(super) fn tag_words(text: &str, stems: &mut Stems) -> Vec<String> {
    let mut lower = String::new();
    let mut words: Vec<String> = runs(&nfc(text))
        .map(|run| {
            lower_case(run, &mut lower);
            stems.stem(&lower).to_owned()
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Returns the runs of letters and digits.
fn runs(text: &str) -> Runs<'_> {
    Runs { text, at: 0 }
}

/// What [`runs`] returns. Most text is ASCII, and is looked at byte by byte.
struct Runs<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Runs<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let mut start = None;
        while let Some(byte) = bytes.get(self.at) {
            let (is_part, len) = if byte.is_ascii() {
                (byte.is_ascii_alphanumeric(), 1)
            } else {
                let character = self.text[self.at..].chars().next()?;
                (character.is_alphanumeric(), character.len_utf8())
            };
            match (is_part, start) {
                (true, None) => start = Some(self.at),
                (false, Some(start)) => {
                    let run = &self.text[start..self.at];
                    self.at += len;
                    return Some(run);
                }
                _ => {}
            }
            self.at += len;
        }
        start.map(|start| &self.text[start..])
    }
}

fn lower_case(word: &str, lower: &mut String) {
    lower.clear();
    if word.is_ascii() {
        lower.push_str(word);
        lower.make_ascii_lowercase();
    } else {
        lower.extend(word.chars().flat_map(char::to_lowercase));
    }
}

/// Returns where the first part of a camel-case word ends: before a capital behind a small letter or
/// a digit, and before the last of several capitals that a small letter follows.
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
#[derive(Clone)]
pub(super) struct Stems {
    stemmer: TextAnalyzer,
    /// Words and their stems, under a hash of the word.
    known: HashMap<u64, (String, String), BuildHasherDefault<IsHash>>,
}

/// A project's vocabulary fits; a stream of random words does not grow without end.
const MAX_KNOWN_STEMS: usize = 50_000;

impl Stems {
    pub(super) fn new() -> Stems {
        let stemmer = TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(Language::English)).build();
        Stems { stemmer, known: HashMap::default() }
    }

    fn stem(&mut self, word: &str) -> &str {
        let hash = xxh3_64(word.as_bytes());
        if self.known.get(&hash).is_none_or(|(known, _)| known != word) {
            if self.known.len() >= MAX_KNOWN_STEMS {
                self.known.clear();
            }
            let mut stem = word.to_owned();
            self.stemmer.token_stream(word).process(&mut |token| stem.clone_from(&token.text));
            self.known.insert(hash, (word.to_owned(), stem));
        }
        &self.known[&hash].1
    }
}

/// A hasher of what is a hash already.
#[derive(Default)]
struct IsHash(u64);

impl Hasher for IsHash {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Registers the streams under their names. Tantivy keeps names alone, so every open must.
pub(super) fn register(tokenizers: &TokenizerManager) {
    tokenizers.register(WORDS, StreamTokenizer { stems: Some(Stems::new()), ..StreamTokenizer::default() });
    tokenizers.register(PARTS, StreamTokenizer::default());
}

/// One of the streams, as Tantivy wants it; without stems, the part stream.
#[derive(Clone, Default)]
struct StreamTokenizer {
    stems: Option<Stems>,
    /// The tokens of the text at hand, one behind the other, and where each ends.
    tokens: String,
    ends: Vec<usize>,
    token: Token,
}

impl Tokenizer for StreamTokenizer {
    type TokenStream<'a> = Stream<'a>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.tokens.clear();
        self.ends.clear();
        self.token = Token::default();
        let (tokens, ends) = (&mut self.tokens, &mut self.ends);
        let mut give = |token: &str| {
            tokens.push_str(token);
            ends.push(tokens.len());
        };
        match &mut self.stems {
            Some(stems) => words(text, stems, &mut give),
            None => parts(text, &mut give),
        }
        Stream { from: self, next: 0 }
    }
}

struct Stream<'a> {
    from: &'a mut StreamTokenizer,
    next: usize,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        let Some(end) = self.from.ends.get(self.next) else { return false };
        let start = if self.next == 0 { 0 } else { self.from.ends[self.next - 1] };
        let token = &mut self.from.token;
        token.position = self.next;
        token.text.clear();
        token.text.push_str(&self.from.tokens[start..*end]);
        self.next += 1;
        true
    }
    fn token(&self) -> &Token {
        &self.from.token
    }
    fn token_mut(&mut self) -> &mut Token {
        &mut self.from.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(text: &str) -> String {
        let mut tokens = Vec::new();
        words(text, &mut Stems::new(), &mut |token| tokens.push(token.to_owned()));
        tokens.join(" ")
    }

    fn parts_of(text: &str) -> String {
        let mut tokens = Vec::new();
        parts(text, &mut |token| tokens.push(token.to_owned()));
        tokens.join(" ")
    }

    #[test]
    fn words_are_stemmed_and_stop_words_left_out() {
        assert_eq!(words_of("Don't use the Migrations, migrating_tables!"), "use migrat migrat tabl");
        assert_eq!(words_of("ÄÖ 日本語 E0502"), "äö 日本語 e0502");
        assert_eq!(words_of(&"x".repeat(41)), "");
        // A letter and an accent are one character.
        assert_eq!(words_of("cafe\u{301}s, gro\u{308}\u{df}e"), words_of("caf\u{e9}s, gr\u{f6}\u{df}e"));
    }

    #[test]
    fn parts_of_identifiers_are_kept_as_they_are() {
        assert_eq!(
            parts_of("parseHTTPRequest src/parse_http.rs v2Beta"),
            "parse http request src parse http rs v2 beta"
        );
        assert_eq!(parts_of("the XMLs ABC aB éÀb"), "the xm ls abc a b éàb");
    }

    #[test]
    fn tags_are_sets_of_stems() {
        let mut stems = Stems::new();
        assert_eq!(tag_words("Connection-pools", &mut stems), ["connect", "pool"]);
        assert_eq!(tag_words("tests, test", &mut stems), ["test"]);
        assert_eq!(tag_words("it", &mut stems), ["it"]);
    }

    #[test]
    fn the_stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
    }
}
