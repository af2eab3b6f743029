//! What counts of what was found, for every answer: which entries hold, which of them an agent is told, and how much room people
//! have among them. Pure.

use chrono::{DateTime, Utc};

use crate::entry::Head;
use crate::entry::knowledge::is_proposed;

/// Moves back what agents wrote as far as it takes that, of any number of the first, at least half are people's, as long as
/// there are any. `is_of_person` is `None` for what counts for neither.
pub(crate) fn with_people<T>(items: Vec<T>, is_of_person: impl Fn(&T) -> Option<bool>) -> Vec<T> {
    let is_people = |(at, item): (usize, &T)| (is_of_person(item) == Some(true)).then_some(at);
    let people: Vec<usize> = items.iter().enumerate().filter_map(is_people).collect();
    let mut places = people.iter();
    let mut placed: Vec<((usize, bool), T)> = Vec::with_capacity(items.len());
    for (at, item) in items.into_iter().enumerate() {
        let is_agents = is_of_person(&item) == Some(false);
        // Behind a person's that no other of an agent is behind; there may be no more of these.
        let behind = if is_agents { places.next().or(people.last()) } else { None };
        placed.push(((at.max(behind.copied().unwrap_or_default()), is_agents), item));
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, item)| item).collect()
}

/// Returns whether an entry holds now: a search finds it.
pub(crate) fn holds(head: &Head, now: DateTime<Utc>, is_replaced: impl FnOnce() -> bool) -> bool {
    !head.is_expired(now) && !is_replaced()
}

/// Returns whether an agent is told an entry that it did not ask for, in a context, a briefing, at a prompt or at a call of a
/// tool: it holds, can be read, and is not only proposed.
pub(crate) fn is_told(head: &Head, now: DateTime<Utc>, is_replaced: impl FnOnce() -> bool) -> bool {
    head.valid && !is_proposed(head) && holds(head, now, is_replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_any_number_of_the_first_half_are_peoples() {
        let check = |given: &str, expected: &str| {
            let is_of_person = |letter: &char| (*letter != 'j').then_some(matches!(letter, 'p' | 'q'));
            let ordered: String = with_people(given.chars().collect(), is_of_person).into_iter().collect();
            assert_eq!(ordered, expected);
        };
        for (given, expected) in
            [("abc", "abc"), ("abcp", "pabc"), ("abpcqd", "paqbcd"), ("jabp", "jpab"), ("pqab", "pqab")]
        {
            check(given, expected);
        }
    }
}
