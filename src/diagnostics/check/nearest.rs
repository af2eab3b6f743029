//! Finds the entry that was probably meant by a name that no entry has.

use std::cell::Cell;

use strsim::levenshtein;

use crate::entry::{Id, Kind};
use crate::knowledge::tidy::plan::LiveEntry;
use crate::text::words;

/// How many names are looked up at most. Each is compared with every entry, and a folder with more broken names than
/// this has another problem than their spelling.
const MAX_LOOKUPS: usize = 100;
/// The longest name that is looked up, in bytes: a longer text is not a misspelt name.
const MAX_NAME_BYTES: usize = 120;

/// The names of all knowledge entries, for looking up similar names.
pub(super) struct NearestNames<'a> {
    names: Vec<Name<'a>>,
    n_lookups: Cell<usize>,
}

/// A title or the stem of an id, as words with one space between them.
struct Name<'a> {
    text: String,
    /// How many characters it has.
    length: usize,
    letters: Letters,
    id: &'a Id,
}

impl<'a> NearestNames<'a> {
    pub(super) fn new(live: &'a [LiveEntry]) -> NearestNames<'a> {
        let mut names = Vec::new();
        for item in live.iter().filter(|item| item.head.kind == Kind::Knowledge) {
            let (stem, title) = (normal(item.id.stem()), normal(&item.head.title));
            let title = Some(title).filter(|title| *title != stem);
            let short =
                [Some(stem), title].into_iter().flatten().filter(|text| (1..=MAX_NAME_BYTES).contains(&text.len()));
            names.extend(short.map(|text| Name {
                length: text.chars().count(),
                letters: Letters::of(&text),
                text,
                id: &item.id,
            }));
        }
        NearestNames { names, n_lookups: Cell::new(0) }
    }

    /// Returns the id of the entry whose title or id is most similar to `name`: at most a third of the letters differ.
    /// Of several the first by id.
    pub(super) fn to(&self, name: &str) -> Option<Id> {
        let name = normal(Id::parse(name).as_ref().map_or(name, Id::stem));
        self.n_lookups.set(self.n_lookups.get() + 1);
        if name.is_empty() || name.len() > MAX_NAME_BYTES || self.n_lookups.get() > MAX_LOOKUPS {
            return None;
        }
        let (length, letters) = (name.chars().count(), Letters::of(&name));
        let mut best: Option<(usize, &Id)> = None;
        for known in &self.names {
            let at_most = best.map_or(length / 3, |(distance, _)| distance);
            // A lower bound of the distance is much quicker to compute than the distance.
            if length.abs_diff(known.length) > at_most || letters.least_distance(&known.letters) > at_most {
                continue;
            }
            let distance = levenshtein(&name, &known.text);
            if distance <= at_most && best.is_none_or(|best| (distance, known.id) < best) {
                best = Some((distance, known.id));
            }
        }
        best.map(|(_, id)| id.clone())
    }
}

fn normal(name: &str) -> String {
    words(name).join(" ")
}

/// How often each letter occurs in a name; some letters share a counter.
struct Letters([u8; 32]);

impl Letters {
    fn of(name: &str) -> Letters {
        let mut counts = [0_u8; 32];
        for character in name.chars() {
            let count = &mut counts[u32::from(character) as usize % 32];
            *count = count.saturating_add(1);
        }
        Letters(counts)
    }

    /// Returns a lower bound of the edit distance: an edit removes one letter, adds one, or both.
    fn least_distance(&self, other: &Letters) -> usize {
        let (mut more, mut less) = (0_u32, 0_u32);
        for (one, other) in self.0.iter().zip(&other.0) {
            more += u32::from(one.saturating_sub(*other));
            less += u32::from(other.saturating_sub(*one));
        }
        more.max(less) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::named;
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let live = [
            named("use-the-wal", "Write ahead logging", "a", "x"),
            named("pool-size", "Pools are small", "a", "x"),
            named("pool-sizes", "Größe des Pools", "a", "x"),
            named("alike-c", "Third", "a", "x"),
            named("alike-b", "Second", "a", "x"),
        ];
        let nearest = NearestNames::new(&live);
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(nearest.to(name).as_ref().map(Id::stem), expected, "{name:?}");
        };
        check("use-teh-wal", Some("use-the-wal"));
        check("knowledge/use_the_wal.md", Some("use-the-wal"));
        check("Write ahead log", Some("use-the-wal"));
        check("pool size", Some("pool-size"));
        check("pool-sizez", Some("pool-size"));
        check("grösse des pools", Some("pool-sizes"));
        check("alike-d", Some("alike-b"));
        check("something else", None);
        check("", None);
        check(&"pool".repeat(1_000), None);
    }

    #[test]
    fn the_quick_distance_is_never_over_the_real_one() {
        let names = ["", "a", "kitten", "sitting", "größe", "grosse", "use the wal", "wal the use", "日本語", "日本"];
        for one in names {
            for other in names {
                let least = Letters::of(one).least_distance(&Letters::of(other));
                assert!(least <= levenshtein(one, other), "{one:?} {other:?}");
            }
        }
        assert_eq!(Letters::of("kitten").least_distance(&Letters::of("sitting")), 3);
    }
}
