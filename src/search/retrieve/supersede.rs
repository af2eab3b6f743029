//! The graph of entries that replace each other, by id. Pure.
//!
//! This is the only place that decides whether a `supersedes` counts. What an agent writes never hides what a person
//! wrote: that is a suggestion until a person makes the agent's entry their own, with `source: human`.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::entry::{Head, Id, Source};

/// Which live, valid entry replaces which: in each pair, the first replaces the second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Replacements {
    /// Those that count.
    pub counted: Vec<(Id, Id)>,
    /// Those that an agent suggests for an entry of a person: they change nothing until a person confirms them.
    pub suggested: Vec<(Id, Id)>,
}

impl Replacements {
    /// Adds what the entry `new` says. `current` returns the current id of an entry that was renamed, and `source_of` who
    /// wrote a live entry.
    pub(crate) fn add(
        &mut self,
        new: &Id,
        head: &Head,
        now: DateTime<Utc>,
        current: &dyn Fn(&Id) -> Id,
        source_of: &dyn Fn(&Id) -> Option<Source>,
    ) {
        // An expired entry no longer replaces anything: its predecessor is better than nothing.
        if !head.valid || head.is_expired(now) {
            return;
        }
        for old in &head.supersedes {
            let old = current(old);
            let counts = source_of(&old).is_none_or(|source| may_replace(head, source, now));
            let pairs = if counts { &mut self.counted } else { &mut self.suggested };
            pairs.push((new.clone(), old));
        }
    }
}

/// Returns whether the entry that replaces another one hides it, which is from this source.
pub(crate) fn may_replace(new: &Head, source: Source, now: DateTime<Utc>) -> bool {
    new.valid && !new.is_expired(now) && (new.source.is_person() || !source.is_person())
}

/// Returns the groups of entries that replace each other in a circle, sorted. An entry that replaces itself is not a
/// circle.
///
/// Of `pairs` the first replaces the second.
pub(crate) fn circles(pairs: &[(Id, Id)]) -> Vec<Vec<Id>> {
    let mut numbers: HashMap<&Id, usize> = HashMap::new();
    let mut ids = Vec::new();
    let mut number = |id| {
        *numbers.entry(id).or_insert_with(|| {
            ids.push(id);
            ids.len() - 1
        })
    };
    let edges: Vec<(usize, usize)> = pairs.iter().map(|(new, old)| (number(new), number(old))).collect();
    let mut below = vec![Vec::new(); ids.len()];
    for (new, old) in edges {
        below[new].push(old);
    }
    let mut circles: Vec<Vec<Id>> = components(&below)
        .into_iter()
        .filter(|component| component.len() > 1)
        .map(|component| {
            let mut circle: Vec<Id> = component.into_iter().map(|at| ids[at].clone()).collect();
            circle.sort();
            circle
        })
        .collect();
    circles.sort();
    circles
}

/// Returns the strongly connected components (Tarjan). Without recursion: a chain may be as long as
/// there are entries.
fn components(below: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; below.len()];
    let mut lowest = vec![UNSEEN; below.len()];
    let mut is_open = vec![false; below.len()];
    let (mut open, mut components, mut n_seen) = (Vec::new(), Vec::new(), 0);
    for root in 0..below.len() {
        // Each step: a node, and how many of its successors were visited.
        let mut path = if order[root] == UNSEEN { vec![(root, 0)] } else { Vec::new() };
        while let Some((node, next)) = path.pop() {
            if next == 0 {
                (order[node], lowest[node], is_open[node]) = (n_seen, n_seen, true);
                n_seen += 1;
                open.push(node);
            } else {
                let done = below[node][next - 1];
                if is_open[done] {
                    lowest[node] = lowest[node].min(lowest[done]);
                }
            }
            if let Some(&child) = below[node].get(next) {
                path.push((node, next + 1));
                if order[child] == UNSEEN {
                    path.push((child, 0));
                }
            } else if lowest[node] == order[node] {
                let first = open.iter().rposition(|&other| other == node).unwrap_or(0);
                let component = open.split_off(first);
                for &member in &component {
                    is_open[member] = false;
                }
                components.push(component);
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pairs: &[&str], expected: &[&[&str]]) {
        let id = |name: &str| Id::parse(name).unwrap();
        let pair = |pair: &&str| {
            let (new, old) = pair.split_once('>').unwrap();
            (id(new), id(old))
        };
        let found = circles(&pairs.iter().map(pair).collect::<Vec<_>>());
        let found: Vec<Vec<&str>> = found.iter().map(|circle| circle.iter().map(Id::stem).collect()).collect();
        assert_eq!(found, expected, "{pairs:?}");
    }

    #[test]
    fn circles_are_found_and_chains_are_none() {
        check(&[], &[]);
        check(&["b>a", "c>b", "c>a"], &[]);
        check(&["a>a"], &[]);
        check(&["b>a", "a>b"], &[&["a", "b"]]);
        check(&["c>b", "b>a", "a>c", "d>c", "a>e"], &[&["a", "b", "c"]]);
        // Two circles and a path from one to the other, which is not a circle.
        check(&["a>b", "b>a", "b>x", "x>c", "c>d", "d>c"], &[&["a", "b"], &["c", "d"]]);
        // Two circles through one entry are one.
        check(&["a>b", "b>a", "b>c", "c>b"], &[&["a", "b", "c"]]);
    }

    #[test]
    fn a_long_chain_takes_no_stack() {
        let id = |number: usize| Id::parse(&format!("e{number}")).unwrap();
        let mut pairs: Vec<(Id, Id)> = (0..50_000).map(|at| (id(at + 1), id(at))).collect();
        assert_eq!(circles(&pairs), Vec::<Vec<Id>>::new());
        pairs.push((id(0), id(50_000)));
        assert_eq!(circles(&pairs)[0].len(), 50_001);
    }
}
