//! Facts that contradict each other: of one title, or both in the place of the same entry. Pure.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Utc};

use super::{Explained, Hit};

use crate::entry::knowledge::{Class, class, is_proposed};
use crate::entry::{Head, Id, Kind, Scope};
use crate::text::comparable;

/// What several entries are about of which one can hold: an entry that they replace, or a title in a scope.
type Disputed<'a> = (Option<&'a Id>, Option<(&'a Scope, String)>);

/// Returns the groups of live entries of which one at most can hold, in the order in which they are told: what people wrote, then
/// what is newer. None of the entries is replaced or expired; of `replacements` the first replaces the second.
pub(crate) fn contradictions<'a>(
    entries: impl Iterator<Item = (&'a Id, &'a Head)>,
    replacements: &[(Id, Id)],
    now: DateTime<Utc>,
) -> Vec<Vec<Id>> {
    let mut old_of: HashMap<&Id, Vec<&Id>> = HashMap::new();
    for (new, old) in replacements.iter().filter(|(new, old)| new != old) {
        old_of.entry(new).or_default().push(old);
    }
    let mut groups: BTreeMap<Disputed<'_>, Vec<(&Id, &Head)>> = BTreeMap::new();
    for (id, head) in entries.filter(|(_, head)| head.kind == Kind::Knowledge && head.valid && !is_proposed(head)) {
        // Many imported files have a section of the same title.
        if class(head.category.as_deref()) != Class::Event && head.imported.is_none() {
            groups.entry((None, Some((&head.scope, comparable(&head.title))))).or_default().push((id, head));
        }
        for old in old_of.get(id).into_iter().flatten() {
            groups.entry((Some(old), None)).or_default().push((id, head));
        }
    }
    let ordered = |mut group: Vec<(&Id, &Head)>| {
        let recency = |head: &Head| head.clone().without_future(now).recency();
        group.sort_by_cached_key(|(id, head)| (!head.source.is_person(), Reverse(recency(head)), *id));
        group.into_iter().map(|(id, _)| id.clone()).collect()
    };
    groups.into_values().filter(|group| group.len() > 1).map(ordered).collect()
}

/// Returns the entries that contradict one, by id.
pub(crate) fn contradicting(id: &Id, all: &[Vec<Id>]) -> Vec<Id> {
    let others = all.iter().filter(|group| group.contains(id)).flatten().filter(|other| *other != id);
    others.cloned().collect::<BTreeSet<Id>>().into_iter().collect()
}

/// Puts the items of each group into the group's order, in the places that they have.
pub(crate) fn in_order<T>(items: &mut [T], groups: &[Vec<Id>], id: impl Fn(&T) -> &Id) {
    for group in groups {
        let places: Vec<usize> = (0..items.len()).filter(|at| group.contains(id(&items[*at]))).collect();
        let mut free = places.iter();
        for wanted in group {
            if let Some(at) = places.iter().find(|at| id(&items[**at]) == wanted)
                && let Some(place) = free.next()
            {
                items.swap(*place, *at);
            }
        }
    }
}

/// Gives each of the hits that contradict each other the place and the score that it has in their order.
pub(super) fn with_contradictions(mut hits: Vec<Hit>, contradictions: &[Vec<Id>]) -> Vec<Hit> {
    let scores: Vec<f64> = hits.iter().map(|hit| hit.score).collect();
    in_order(&mut hits, contradictions, |hit| &hit.entry.id);
    for (hit, score) in hits.iter_mut().zip(scores) {
        hit.contradicts = contradicting(&hit.entry.id, contradictions);
        let value = score - hit.score;
        if value != 0.0 {
            hit.score = score;
            hit.explanation.push(Explained { part: "order of contradicting entries", value });
        }
    }
    hits
}
