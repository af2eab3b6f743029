//! The words of a text as a sparse vector, so that a Qdrant server can compare texts that it does not have.
//!
//! A score is BM25: the server knows how rare a word is among all projects (`"modifier": "idf"`), and the rest is computed
//! here. A word is a number of 32 bits. That hides no word from someone who tries all words of a dictionary.

use std::collections::BTreeMap;

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::index::word_counts;

/// BM25's saturation and length normalisation, at the values of Robertson and of every engine.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// The length of an average chunk, in words that are no stop words. All projects must use the same one.
const AVERAGE: f32 = 80.0;

/// A text's words, in the form that a Qdrant server expects.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WordVector {
    /// The words, in order, each once.
    indices: Vec<u32>,
    /// How much each counts.
    values: Vec<f32>,
}

impl WordVector {
    /// Returns the words of a text that is searched.
    pub fn of_text(text: &str) -> WordVector {
        WordVector::new(text, |count, length| count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / AVERAGE)))
    }

    /// Returns the words of a query.
    pub fn of_query(text: &str) -> WordVector {
        const MOST_WORDS: usize = 400;
        let words: Vec<&str> = text.split_whitespace().take(MOST_WORDS).collect();
        WordVector::new(&words.join(" "), |count, _| count)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "a hash is cut, and counts are small"
    )]
    fn new(text: &str, weight: impl Fn(f32, f32) -> f32) -> WordVector {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for (word, count) in word_counts(text) {
            *counts.entry(xxh3_64(word.as_bytes()) as u32).or_default() += count;
        }
        let length = counts.values().sum::<u32>() as f32;
        let (indices, values) = counts.into_iter().map(|(word, count)| (word, weight(count as f32, length))).unzip();
        WordVector { indices, values }
    }

    /// Returns how many words it has.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Returns whether it has none: then it matches nothing.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_and_a_query_share_numbers_of_words() {
        let text = WordVector::of_text("The migrations run; each migration in one transaction");
        let query = WordVector::of_query("a migration");
        assert_eq!((text.len(), query.len(), &query.values[..]), (5, 1, &[1.0][..]), "{text:?}");
        let at = text.indices.iter().position(|word| *word == query.indices[0]).unwrap();
        // Twice in six words.
        let expected = 2.0 * 2.2 / (2.0 + 1.2 * (0.25 + 0.75 * 6.0 / 80.0));
        assert!((text.values[at] - expected).abs() < 1e-6, "{text:?}");
        assert!(WordVector::of_query("the of").is_empty());
    }
}
