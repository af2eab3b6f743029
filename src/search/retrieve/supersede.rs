//! The graph of entries that replace each other, by id. Pure.
//!
//! This is the only place that decides whether a `supersedes` counts. What an agent writes never hides what a person
//! wrote: that is a suggestion until a person makes the agent's entry their own, with `source: human`.

use std::collections::{HashMap, HashSet};

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

/// Returns the entries that replace each other in a circle, and those between two circles. An entry that replaces itself is no
/// circle.
///
/// Of `pairs` the first replaces the second.
pub(crate) fn in_circles(pairs: &[(Id, Id)]) -> HashSet<&Id> {
    let before = behind_circles(pairs.iter().map(|(new, old)| (old, new)));
    let mut behind = behind_circles(pairs.iter().map(|(new, old)| (new, old)));
    behind.retain(|id| before.contains(id));
    behind
}

/// Returns what is left when each entry is taken away that none of the rest leads to: a circle, and all that it leads to.
fn behind_circles<'a>(steps: impl Iterator<Item = (&'a Id, &'a Id)>) -> HashSet<&'a Id> {
    let mut next: HashMap<&Id, Vec<&Id>> = HashMap::new();
    let mut n_before: HashMap<&Id, usize> = HashMap::new();
    for (from, to) in steps.filter(|(from, to)| from != to) {
        next.entry(from).or_default().push(to);
        *n_before.entry(to).or_default() += 1;
    }
    let mut first: Vec<&Id> = next.keys().filter(|id| !n_before.contains_key(*id)).copied().collect();
    while let Some(from) = first.pop() {
        for to in next.remove(from).unwrap_or_default() {
            let n = n_before.entry(to).or_default();
            *n -= 1;
            if *n == 0 {
                n_before.remove(to);
                first.push(to);
            }
        }
    }
    n_before.into_keys().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pairs: &[&str], expected: &[&str]) {
        let id = |name: &str| Id::parse(name).unwrap();
        let pairs: Vec<(Id, Id)> =
            pairs.iter().map(|pair| pair.split_once('>').unwrap()).map(|(new, old)| (id(new), id(old))).collect();
        let mut found: Vec<&str> = in_circles(&pairs).into_iter().map(Id::stem).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{pairs:?}");
    }

    #[test]
    fn circles_are_found_and_chains_are_none() {
        check(&[], &[]);
        check(&["b>a", "c>b", "c>a"], &[]);
        check(&["b>a", "b>a", "c>b"], &[]);
        check(&["a>a", "b>a"], &[]);
        check(&["b>a", "a>b"], &["a", "b"]);
        check(&["c>b", "b>a", "a>c", "d>c", "a>e", "e>f"], &["a", "b", "c"]);
        check(&["a>b", "b>a", "b>c", "c>b"], &["a", "b", "c"]);
        // What leads from a circle to another one counts as part of them.
        check(&["a>b", "b>a", "b>x", "x>c", "c>d", "d>c"], &["a", "b", "c", "d", "x"]);
    }

    #[test]
    fn a_long_chain_takes_no_stack() {
        let id = |number: usize| Id::parse(&format!("e{number}")).unwrap();
        let mut pairs: Vec<(Id, Id)> = (0..50_000).map(|at| (id(at + 1), id(at))).collect();
        assert!(in_circles(&pairs).is_empty());
        pairs.push((id(0), id(50_000)));
        assert_eq!(in_circles(&pairs).len(), 50_001);
    }
}
