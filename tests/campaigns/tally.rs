//! What came of a campaign: how often each thing happened, the most of each thing that has a limit, and what must not be.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Index;

/// How many faults of a class are told in full.
const TOLD: usize = 5;
/// The most characters of a fault that is told.
const MAX_TOLD: usize = 1_200;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// How often something happened, by its name. Names of one group begin with the group and a colon.
    counts: BTreeMap<String, usize>,
    most: BTreeMap<&'static str, u128>,
    /// What must not be. A fault may begin with its class and a colon.
    pub(crate) faults: Vec<String>,
}

impl Tally {
    pub(crate) fn count(&mut self, name: impl Into<String>) {
        self.add(name, 1);
    }

    pub(crate) fn add(&mut self, name: impl Into<String>, number: usize) {
        *self.counts.entry(name.into()).or_default() += number;
    }

    /// Keeps a number if it is the largest of its name.
    pub(crate) fn most(&mut self, name: &'static str, number: impl Into<u128>) {
        let most = self.most.entry(name).or_default();
        *most = number.into().max(*most);
    }

    pub(crate) fn fault(&mut self, fault: impl Into<String>) {
        self.faults.push(fault.into());
    }

    /// Adds faults of something, each with its name.
    pub(crate) fn faults_of(&mut self, what: &str, faults: impl IntoIterator<Item = String>) {
        self.faults.extend(faults.into_iter().map(|fault| format!("{what}: {fault}")));
    }

    /// Returns the names in a group, without the group's.
    pub(crate) fn group(&self, group: &str) -> BTreeSet<&str> {
        self.counts.keys().filter_map(|name| name.strip_prefix(group)?.strip_prefix(": ")).collect()
    }

    /// Adds what came of another part of the campaign.
    pub(crate) fn join(&mut self, other: Tally) {
        for (name, number) in other.counts {
            self.add(name, number);
        }
        for (name, number) in other.most {
            self.most(name, number);
        }
        self.faults.extend(other.faults);
    }

    /// Returns how many faults there are of each class, and the first of them.
    pub(crate) fn told(&self) -> Vec<String> {
        let mut classes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for fault in &self.faults {
            let (class, rest) = fault.split_once(": ").unwrap_or(("", fault));
            classes.entry(class).or_default().push(rest);
        }
        let cut = |fault: &&str| fault.chars().take(MAX_TOLD).collect::<String>();
        let tell = |(class, faults): (&str, Vec<&str>)| {
            let first = faults.iter().take(TOLD).map(cut).collect::<Vec<_>>().join("\n  - ");
            format!("{class}, {} faults:\n  - {first}", faults.len())
        };
        classes.into_iter().map(tell).collect()
    }

    /// Fails if something is that must not be.
    #[track_caller]
    pub(crate) fn assert_no_fault(&self) {
        assert!(self.faults.is_empty(), "{}\n{self:?}", self.told().join("\n"));
    }
}

impl Index<&str> for Tally {
    type Output = usize;

    /// Returns how often something of this name happened.
    fn index(&self, name: &str) -> &usize {
        self.counts.get(name).unwrap_or(&0)
    }
}
