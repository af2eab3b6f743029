//! Where the words of a query are in a text, by the tokens of the index.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::tokens::{self, Stems, StreamKind};
use crate::text::nfc;

/// Returns where words of a query are in a text, in bytes, in order and without overlap. Words count that have the same stem, and parts of
/// identifiers that are the same; stop words do not.
pub(crate) fn highlights(text: &str, query: &str) -> Vec<Range<usize>> {
    let mut stems = Stems::default();
    let mut wanted: HashSet<(StreamKind, String)> = HashSet::new();
    tokens::places(query, &mut stems, &mut |_, kind, token| {
        // A letter would be found in the endings of many words.
        if kind == StreamKind::Words || token.chars().nth(1).is_some() {
            wanted.insert((kind, token.to_owned()));
        }
    });
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    // In a text that is not in the composed form, the places of tokens are unknown, and so those of whole words count.
    for part in text.split_inclusive(char::is_whitespace) {
        let is_exact = matches!(nfc(part), Cow::Borrowed(_));
        tokens::places(part, &mut stems, &mut |place, kind, token| {
            if wanted.contains(&(kind, token.to_owned())) {
                let place = if is_exact { place } else { 0..part.trim_end().len() };
                found.push(at + place.start..at + place.end);
            }
        });
        at += part.len();
    }
    found.sort_unstable_by_key(|range| (range.start, range.end));
    found.dedup_by(|next, range| {
        let overlaps = next.start < range.end;
        if overlaps {
            range.end = range.end.max(next.end);
        }
        overlaps
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, query: &str, expected: &[&str]) {
        let found: Vec<&str> = highlights(text, query).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{query:?} in {text:?}");
    }

    #[test]
    fn words_of_the_same_stem_are_found() {
        check(
            "Orders are keyed by `event_id`; an ORDER is ignored.",
            "order ignoring",
            &["Orders", "ORDER", "ignored"],
        );
        check("It is on the way", "is it on the", &[]);
        check("<b>Lock</b> & unlocked", "lock b", &["b", "Lock", "b"]);
        check("", "lock", &[]);
        check("lock", "", &[]);
    }

    #[test]
    fn parts_of_identifiers_are_found() {
        check("parseHttpRequest in src/parse_http.rs", "http", &["Http", "http"]);
        check("HttpServer", "HttpServer", &["HttpServer"]);
        check("it's Ada's", "s don't", &[]);
    }

    #[test]
    fn text_without_spaces_is_found_by_pairs() {
        check("重建数据库索引", "数据库", &["数据库"]);
        check("データベースを再構築", "再構築 index", &["再構築"]);
    }

    #[test]
    fn places_are_those_of_the_text_as_it_is_written() {
        check("Über größe, Größen", "größen", &["Größen"]);
        // A letter and an accent.
        check("Das cafe\u{301}s, gro\u{308}\u{df}e", "caf\u{e9} größe", &["cafe\u{301}s,", "gro\u{308}\u{df}e"]);
        check("a\u{202e}lock\u{200b}b", "lock", &["lock"]);
    }
}
