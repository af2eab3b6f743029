//! Groups sets of tags that have half of all their tags in common, directly or through others.
//!
//! Thousands of sets are too many to compare each with each. Two sets of `a` and `b` tags are similar if they share
//! `(a + b) / 3` of them, rounded up; sorted from the rarest tag on, one of the first `a - shared + 1` tags of the one is
//! then among the first `b - shared + 1` of the other (prefix filtering). So each set is only compared with those that
//! may be similar, and not with those of its own group.

use std::collections::HashMap;

use super::ranked_sets::RankedSets;

/// The groups of sets.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TagGroups {
    /// The numbers of the sets of each group, in ascending order, the groups by their first.
    pub(super) groups: Vec<Vec<usize>>,
    /// How many pairs of sets were compared.
    pub(super) n_compared: usize,
}

/// Groups the sets. A tag that a set has twice counts once, and a set without tags is similar to no other.
pub(super) fn groups(sets: &[&[String]]) -> TagGroups {
    let sets: Vec<Vec<&str>> = sets.iter().map(|set| set.iter().map(String::as_str).collect()).collect();
    let sets = RankedSets::new(&sets).sets;
    let mut joined = DisjointSets((0..sets.len()).collect());
    let mut first: HashMap<&[u32], usize> = HashMap::new();
    let mut lists: HashMap<(u32, usize), Vec<Vec<usize>>> = HashMap::new();
    let mut n_compared = 0;
    for (at, set) in sets.iter().enumerate().filter(|(_, set)| !set.is_empty()) {
        let same = *first.entry(set).or_insert(at);
        if same < at {
            joined.join(same, at);
            continue;
        }
        for size in set.len().div_ceil(2)..=set.len() * 2 {
            for tag in prefix(set, size) {
                let Some(list) = lists.get_mut(&(*tag, size)) else { continue };
                for near in &*list {
                    // These are one group, which another tag may have joined already.
                    if joined.group(near[0]) != joined.group(at)
                        && near.iter().any(|other| {
                            n_compared += 1;
                            are_alike(set, &sets[*other])
                        })
                    {
                        joined.join(near[0], at);
                    }
                }
                gather(list, joined.group(at), &mut joined);
            }
        }
        // The smallest similar set shares the fewest tags with it.
        for tag in prefix(set, set.len().div_ceil(2)) {
            let list = lists.entry((*tag, set.len())).or_default();
            match list.last_mut().filter(|near| joined.group(near[0]) == joined.group(at)) {
                Some(near) => near.push(at),
                None => list.push(vec![at]),
            }
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    for at in 0..sets.len() {
        let number = *numbers.entry(joined.group(at)).or_insert(groups.len());
        if number == groups.len() {
            groups.push(Vec::new());
        }
        groups[number].push(at);
    }
    TagGroups { groups, n_compared }
}

/// Returns the tags of which a similar set of `size` tags must have at least one.
fn prefix(set: &[u32], size: usize) -> &[u32] {
    let n_shared = (set.len() + size).div_ceil(3);
    &set[..set.len() + 1 - n_shared]
}

fn are_alike(one: &[u32], other: &[u32]) -> bool {
    let n_shared = one.iter().filter(|tag| other.binary_search(tag).is_ok()).count();
    n_shared * 3 >= one.len() + other.len()
}

/// Moves the sets of a group together, to the end of a list.
fn gather(list: &mut Vec<Vec<usize>>, group: usize, joined: &mut DisjointSets) {
    let Some(first) = list.iter().position(|near| joined.group(near[0]) == group) else { return };
    let mut of_group = list.swap_remove(first);
    list.retain_mut(|near| {
        let is_other = joined.group(near[0]) != group;
        if !is_other {
            of_group.append(near);
        }
        is_other
    });
    list.push(of_group);
}

/// For each set another one of its group; one of each group points to itself and represents it.
struct DisjointSets(Vec<usize>);

impl DisjointSets {
    fn group(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.group(one), self.group(other));
        self.0[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// Gives the tags of the set with a number.
    type TagsOfSet<'a> = &'a dyn Fn(usize) -> Vec<String>;

    fn grouped(sets: &[Vec<String>]) -> TagGroups {
        groups(&sets.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// Compares each with each.
    fn by_hand(sets: &[Vec<String>]) -> Vec<Vec<usize>> {
        let mut joined = DisjointSets((0..sets.len()).collect());
        let tags: Vec<HashSet<&String>> = sets.iter().map(|set| set.iter().collect()).collect();
        for one in 0..sets.len() {
            for other in 0..one {
                let n_shared = tags[one].intersection(&tags[other]).count();
                if n_shared > 0 && n_shared * 2 >= tags[one].union(&tags[other]).count() {
                    joined.join(one, other);
                }
            }
        }
        let mut groups: Vec<Vec<usize>> = vec![Vec::new(); sets.len()];
        (0..sets.len()).for_each(|at| groups[joined.group(at)].push(at));
        groups.retain(|group| !group.is_empty());
        groups
    }

    proptest! {
        #[test]
        fn the_groups_are_those_of_comparing_each_with_each(
            sets in prop::collection::vec(prop::collection::vec("[a-h]|[a-z]{2}|x", 0..9), 0..60)
        ) {
            prop_assert_eq!(grouped(&sets).groups, by_hand(&sets));
        }
    }

    #[test]
    fn comparisons_grow_with_the_number_of_sets_and_not_with_its_square() {
        let words = |words: &[String]| words.to_vec();
        let of = |text: &str| text.to_owned();
        let kinds: [(&str, TagsOfSet<'_>); 4] = [
            ("the same tags", &|_| words(&[of("a"), of("b")])),
            ("all but one tag the same", &|at| words(&[of("a"), of("b"), of("c"), format!("own-{at}")])),
            ("one tag the same", &|at| words(&[of("a"), format!("own-{at}")])),
            ("one of three the same", &|at| words(&[of("a"), format!("own-{at}"), format!("other-{at}")])),
        ];
        for (kind, tags) in kinds {
            let compared = |n: usize| grouped(&(0..n).map(tags).collect::<Vec<_>>()).n_compared;
            let (fewer, more) = (compared(1_000), compared(4_000));
            assert!(more <= 8_000 && more <= fewer * 4 + 4_000, "{kind}: {fewer} and {more}");
        }
    }
}
