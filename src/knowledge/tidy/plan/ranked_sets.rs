//! Sets of words as sorted lists of numbers, for prefix filtering: two similar sets have one of their rarest words in common.

use std::collections::HashMap;

/// Sets of words, with a number for each word: the fewer sets have a word, the lower its number.
pub(crate) struct RankedSets<'a> {
    /// The numbers of the words of each set, each once and sorted.
    pub sets: Vec<Vec<u32>>,
    /// Each word at its number, after how many sets have it.
    pub words: Vec<(usize, &'a str)>,
}

impl<'a> RankedSets<'a> {
    pub(crate) fn new(sets: &[Vec<&'a str>]) -> RankedSets<'a> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for word in sets.iter().flatten() {
            *counts.entry(word).or_default() += 1;
        }
        let mut words: Vec<(usize, &str)> = counts.into_iter().map(|(word, count)| (count, word)).collect();
        words.sort_unstable();
        let numbers: HashMap<&str, u32> = words.iter().zip(0..).map(|((_, word), number)| (*word, number)).collect();
        let ranked = |set: &Vec<&str>| {
            let mut ranked: Vec<u32> = set.iter().map(|word| numbers[word]).collect();
            ranked.sort_unstable();
            ranked.dedup();
            ranked
        };
        RankedSets { sets: sets.iter().map(ranked).collect(), words }
    }
}
