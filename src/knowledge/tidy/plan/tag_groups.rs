//! Groups sets of tags that have half of all their tags in common, directly or through others.

use std::collections::{BTreeSet, HashMap};

/// Groups the sets by their numbers, which are ascending in a group; the groups are in the order of their first. A tag that a
/// set has twice counts once, and a set without tags is similar to no other.
pub(super) fn groups(sets: &[&[String]]) -> Vec<Vec<usize>> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut number = |tag| {
        let next = numbers.len();
        *numbers.entry(tag).or_insert(next)
    };
    let sets: Vec<BTreeSet<usize>> =
        sets.iter().map(|set| set.iter().map(|tag| number(tag.as_str())).collect()).collect();
    let mut left: Vec<usize> = (0..sets.len()).collect();
    let mut groups = Vec::new();
    while !left.is_empty() {
        let mut group = vec![left.remove(0)];
        let mut next = 0;
        while let Some(&at) = group.get(next) {
            group.extend(left.extract_if(.., |other| are_alike(&sets[at], &sets[*other])));
            next += 1;
        }
        group.sort_unstable();
        groups.push(group);
    }
    groups
}

/// Whether two sets have at least half of the tags in common that one of them has: of `a` and `b` tags, `(a + b) / 3`.
fn are_alike(one: &BTreeSet<usize>, other: &BTreeSet<usize>) -> bool {
    let n_shared = one.intersection(other).count();
    n_shared > 0 && n_shared * 3 >= one.len() + other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_tags_join_sets_and_those_that_are_like_one_of_them() {
        let check = |sets: &[&str], expected: &[&[usize]]| {
            let sets: Vec<Vec<String>> =
                sets.iter().map(|set| set.split_whitespace().map(str::to_owned).collect()).collect();
            assert_eq!(groups(&sets.iter().map(Vec::as_slice).collect::<Vec<_>>()), expected, "{sets:?}");
        };
        check(&[], &[]);
        check(&["", ""], &[&[0], &[1]]);
        check(&["a", "b", "a a"], &[&[0, 2], &[1]]);
        // One tag of two, and one of three.
        check(&["a b", "a"], &[&[0, 1]]);
        check(&["a b", "a c"], &[&[0], &[1]]);
        check(&["a b c", "a b d"], &[&[0, 1]]);
        // The first and the last have nothing in common but those between them.
        check(&["a b", "x y", "b c d", "c d e", "a b c"], &[&[0, 2, 3, 4], &[1]]);
    }
}
