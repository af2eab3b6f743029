//! How many secrets are found: synthetic ones of many kinds in ten carriers, and notes without any.
//!
//! The campaign does not know the detector. Its secrets follow the public documentation of each service, and its
//! sources contain none: all are composed of parts. The tests run a few of them, and the program `campaigns` any
//! number.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::random::Random;

#[path = "secrets/carriers.rs"]
mod carriers;
#[path = "secrets/codes.rs"]
mod codes;
#[path = "secrets/habits.rs"]
mod habits;
#[path = "secrets/kinds.rs"]
mod kinds;
#[path = "secrets/lines.rs"]
mod lines;
#[path = "secrets/notes.rs"]
mod notes;
#[path = "secrets/tables.rs"]
mod tables;
#[path = "secrets/template.rs"]
mod template;

use carriers::CARRIERS;
use kinds::Shape;
use tables::TABLES;
use template::{ALSO, CORE, WHOLE};

/// A text with a secret in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) kind: &'static str,
    pub(crate) carrier: &'static str,
    pub(crate) text: String,
    /// The bytes of what must not get out: a token, the password of a URL, the body of a key.
    pub(crate) secret: Range<usize>,
    /// The secret with what belongs to it, such as the URL of a password, and other secrets beside it. What is
    /// found here is no false alarm.
    pub(crate) around: Vec<Range<usize>>,
    /// Whether it is found as soon as any of it is: a key of many lines. Of others half must be.
    pub(crate) any: bool,
}

impl Sample {
    /// Says whether one of these ranges finds the secret.
    pub(crate) fn is_found_by(&self, found: &[Range<usize>]) -> bool {
        let characters = |range: Range<usize>| self.text.char_indices().filter(|(at, _)| range.contains(at)).count();
        let needed = if self.any { 1 } else { characters(self.secret.clone()).div_ceil(2) };
        found.iter().any(|found| {
            let (start, end) = (found.start.max(self.secret.start), found.end.min(self.secret.end));
            start < end && characters(start..end) >= needed
        })
    }

    /// Returns those of the ranges that are no part of any secret.
    pub(crate) fn alarms(&self, found: &[Range<usize>]) -> Vec<Range<usize>> {
        let is_apart = |found: &&Range<usize>| !self.around.iter().any(|around| overlap(found, around));
        found.iter().filter(is_apart).cloned().collect()
    }
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// What came of a campaign.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// How many secrets were found.
    pub(crate) found: usize,
    /// Those that were not: kind, carrier and text.
    pub(crate) missed: Vec<(&'static str, &'static str, String)>,
    /// Texts with false positives, and where: clean notes, and the text around secrets.
    pub(crate) false_alarms: Vec<(String, Vec<Range<usize>>)>,
    /// How many were found of how many, for each kind and each carrier.
    pub(crate) of_kind: BTreeMap<&'static str, (usize, usize)>,
    pub(crate) of_carrier: BTreeMap<&'static str, (usize, usize)>,
    /// How many clean notes there were.
    pub(crate) clean: usize,
}

impl Outcome {
    /// Of a hundred secrets, how many were found.
    pub(crate) fn found_percent(&self) -> f64 {
        percent(self.found, self.found + self.missed.len())
    }

    /// Texts with a false alarm for a hundred clean notes.
    pub(crate) fn false_percent(&self) -> f64 {
        percent(self.false_alarms.len(), self.clean)
    }
}

/// Returns how many of a hundred that is.
#[allow(clippy::cast_precision_loss, reason = "numbers of texts")]
pub(crate) fn percent(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// The names of all kinds.
pub(crate) fn kinds() -> Vec<&'static str> {
    kinds::weights().into_iter().map(|(kind, _)| kind).collect()
}

/// The names of all carriers.
pub(crate) fn carriers() -> Vec<&'static str> {
    CARRIERS.iter().map(|(carrier, _)| *carrier).collect()
}

/// Makes so many texts with a secret. Kinds come about as often as they leak, each at least once where there is
/// room for all; the carriers come in turn.
pub(crate) fn samples(n: usize, seed: u64) -> Vec<Sample> {
    let mut random = Random(seed);
    let weights = kinds::weights();
    let total: usize = weights.iter().map(|(_, weight)| weight).sum();
    let mut deck: Vec<usize> = Vec::new();
    for (kind, (_, weight)) in weights.iter().enumerate() {
        deck.extend(std::iter::repeat_n(kind, (n * weight / total).max(1)));
    }
    shuffle(&mut random, &mut deck);
    deck.truncate(n);
    while deck.len() < n {
        let mut at = random.below(total);
        let drawn = weights.iter().position(|(_, weight)| {
            let is_here = at < *weight;
            at = at.wrapping_sub(*weight);
            is_here
        });
        deck.push(drawn.unwrap());
    }
    let mut next: Vec<usize> = weights.iter().map(|_| random.below(CARRIERS.len())).collect();
    let mut made = Vec::with_capacity(n);
    for kind in deck {
        // Steps of three meet each of ten carriers before any comes again.
        next[kind] = (next[kind] + 3) % CARRIERS.len();
        made.push(sample(&mut random, kind, next[kind]));
    }
    made
}

fn shuffle(random: &mut Random, deck: &mut [usize]) {
    for at in (1..deck.len()).rev() {
        deck.swap(at, random.below(at + 1));
    }
}

fn sample(random: &mut Random, kind: usize, carrier: usize) -> Sample {
    let leak = kinds::leak(random, kind);
    let (carrier, carry) = CARRIERS[carrier];
    let marked = carry(random, &leak);
    placed(leak.kind, carrier, matches!(leak.shape, Shape::Block | Shape::Document), &marked)
}

/// Makes this many texts with a secret at a place where a program expects it: each habit in turn.
pub(crate) fn habits(n: usize, seed: u64) -> Vec<Sample> {
    let mut random = Random(seed ^ 0x4ab1);
    let habits = (0..n).map(|number| {
        let (kind, carrier, marked) = habits::habit(&mut random, number);
        placed(kind, carrier, false, &marked)
    });
    habits.collect()
}

/// Makes a text of each described shape: those that the patterns were made for, and those held out.
pub(crate) fn shapes(seed: u64) -> [Vec<Sample>; 2] {
    let mut random = Random(seed ^ 0x54a9);
    [("known", &TABLES.shapes.known), ("held out", &TABLES.shapes.held_out)].map(|(half, shapes)| {
        let sample = |(source, template): &'static (String, String)| {
            placed(source, half, false, &template::marked(&mut random, template))
        };
        shapes.iter().map(sample).collect()
    })
}

/// Makes two texts of each harmless template.
pub(crate) fn harmless(seed: u64) -> Vec<String> {
    let mut random = Random(seed ^ 0xa1a5);
    let twice = TABLES.harmless.iter().chain(&TABLES.harmless);
    twice.map(|template| template::fill(&mut random, template)).collect()
}

/// Takes the marks out of a text.
fn placed(kind: &'static str, carrier: &'static str, any: bool, marked: &str) -> Sample {
    let mut text = String::new();
    let mut open: BTreeMap<char, usize> = BTreeMap::new();
    let (mut secret, mut around) = (0..0, Vec::new());
    for letter in marked.chars() {
        let begin = |of: [char; 2]| open.get(&of[0]).copied().unwrap();
        if [WHOLE[0], CORE[0], ALSO[0]].contains(&letter) {
            open.insert(letter, text.len());
        } else if letter == CORE[1] {
            secret = begin(CORE)..text.len();
        } else if letter == WHOLE[1] {
            around.push(begin(WHOLE)..text.len());
        } else if letter == ALSO[1] {
            around.push(begin(ALSO)..text.len());
        } else {
            text.push(letter);
        }
    }
    Sample { kind, carrier, text, secret, around, any }
}

/// Makes so many notes of 2 to 30 lines without a secret.
pub(crate) fn clean(n: usize, seed: u64) -> Vec<String> {
    let mut random = Random(seed ^ 0xc1ea);
    (0..n).map(|_| notes::note(&mut random)).collect()
}

/// Has secrets looked for in so many texts with one and so many without, by what returns the ranges of those it
/// finds in a text.
pub(crate) fn run(
    n_secrets: usize,
    n_clean: usize,
    seed: u64,
    mut detector: impl FnMut(&str) -> Vec<Range<usize>>,
) -> Outcome {
    let mut outcome = Outcome { clean: n_clean, ..Outcome::default() };
    for sample in samples(n_secrets, seed) {
        let found = detector(&sample.text);
        let is_found = sample.is_found_by(&found);
        for (found, all) in
            [outcome.of_kind.entry(sample.kind).or_default(), outcome.of_carrier.entry(sample.carrier).or_default()]
        {
            *found += usize::from(is_found);
            *all += 1;
        }
        let alarms = sample.alarms(&found);
        if !alarms.is_empty() {
            outcome.false_alarms.push((sample.text.clone(), alarms));
        }
        if is_found {
            outcome.found += 1;
        } else {
            outcome.missed.push((sample.kind, sample.carrier, sample.text));
        }
    }
    for note in clean(n_clean, seed) {
        let found = detector(&note);
        if !found.is_empty() {
            outcome.false_alarms.push((note, found));
        }
    }
    outcome
}
