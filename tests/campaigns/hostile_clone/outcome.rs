//! What came of a campaign of hostile clones, by classes of faults.

use std::collections::BTreeMap;

/// How many faults of a class are told in full.
const TOLD: usize = 5;
/// The most characters of a fault that is told.
const MAX_TOLD: usize = 1_200;

/// What must not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// It ended as no command does: by a signal, too late, or with an unknown code.
    Ended,
    /// It started a program, or a file proves that one ran.
    Started,
    /// It changed something that it must not, or wrote through a link.
    Changed,
    /// It said what is outside, or a secret.
    Said,
    /// It took more memory or time than it may.
    Took,
    /// Its answer depends on a cache or a state that came with the clone.
    Differed,
    /// A command that it printed does something else than it says.
    Printed,
    /// It takes a stranger's server or hook for its own.
    Vouched,
    /// It believed a file that a stranger sealed.
    Believed,
    /// A merge lost words.
    Lost,
}

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many repositories there were in which every run was traced, how many others, and how many of each kind.
    pub(crate) traced: usize,
    pub(crate) small: usize,
    pub(crate) kinds: BTreeMap<&'static str, usize>,
    /// How many runs were watched, and how many of each step.
    pub(crate) runs: usize,
    pub(crate) steps: BTreeMap<String, usize>,
    /// How many printed commands were found, and how many were run: one of plain characters is run once in all clones.
    pub(crate) printed: usize,
    pub(crate) printed_run: usize,
    /// How many merges there were, by how they were made.
    pub(crate) merges: BTreeMap<String, usize>,
    /// In how many clones a stranger wrote files of a client, by what was done to them.
    pub(crate) strangers: BTreeMap<&'static str, usize>,
    /// How many commands refused to write because something else is in place of the lock.
    pub(crate) refused: usize,
    /// How many answers were compared with those of a clone without cache and state.
    pub(crate) compared: usize,
    /// How often git was run under the tracer.
    pub(crate) gits: usize,
    /// How the commands ended.
    pub(crate) codes: BTreeMap<i32, usize>,
    /// How many pages a browser got, how often no server started for it, and the longest that one took to end, in milliseconds.
    pub(crate) pages: usize,
    pub(crate) unserved: usize,
    pub(crate) end_ms: u128,
    /// The most memory, in kilobytes, and CPU time, in milliseconds, that a traced command took.
    pub(crate) peak_kb: u64,
    pub(crate) cpu_ms: u64,
    /// What must not be.
    pub(crate) faults: BTreeMap<Class, Vec<String>>,
}

impl Outcome {
    pub(super) fn fault(&mut self, class: Class, fault: String) {
        self.faults.entry(class).or_default().push(fault);
    }

    /// Counts a repository of these kinds.
    pub(super) fn count(&mut self, kinds: &[&'static str]) {
        for kind in kinds {
            *self.kinds.entry(kind).or_default() += 1;
        }
    }

    /// Counts a run, and how it ended.
    pub(super) fn ran(&mut self, code: Option<i32>) {
        self.runs += 1;
        *self.codes.entry(code.unwrap_or(-1)).or_default() += 1;
    }

    /// How many repositories there were.
    pub(crate) fn clones(&self) -> usize {
        self.traced + self.small
    }

    /// Adds what came of another part of the campaign.
    pub(crate) fn add(&mut self, other: Outcome) {
        fn sum<Key: Ord>(counts: &mut BTreeMap<Key, usize>, others: BTreeMap<Key, usize>) {
            for (key, count) in others {
                *counts.entry(key).or_default() += count;
            }
        }
        self.traced += other.traced;
        self.small += other.small;
        sum(&mut self.kinds, other.kinds);
        self.runs += other.runs;
        sum(&mut self.steps, other.steps);
        self.printed += other.printed;
        self.printed_run += other.printed_run;
        sum(&mut self.merges, other.merges);
        sum(&mut self.strangers, other.strangers);
        self.refused += other.refused;
        self.compared += other.compared;
        self.gits += other.gits;
        sum(&mut self.codes, other.codes);
        self.pages += other.pages;
        self.unserved += other.unserved;
        self.end_ms = self.end_ms.max(other.end_ms);
        self.peak_kb = self.peak_kb.max(other.peak_kb);
        self.cpu_ms = self.cpu_ms.max(other.cpu_ms);
        for (class, faults) in other.faults {
            self.faults.entry(class).or_default().extend(faults);
        }
    }

    /// Returns how many faults there are of each class, and the first of them.
    pub(crate) fn told(&self) -> Vec<String> {
        let cut = |fault: &String| fault.chars().take(MAX_TOLD).collect::<String>();
        let tell = |(class, faults): (&Class, &Vec<String>)| {
            let first = faults.iter().take(TOLD).map(cut).collect::<Vec<_>>().join("\n  - ");
            format!("{class:?}, {} faults:\n  - {first}", faults.len())
        };
        self.faults.iter().map(tell).collect()
    }
}
