//! Finds events over the limits of the settings: a context does not show them.
//!
//! Pure: heads in, ids out.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::entry::{Head, Id, Scope};
use crate::settings::EventCaps;

/// Returns the events over the limits, first of each scope, then of all. An agent's event goes before a person's, then one that is
/// not `relevant`, the best first, then the one of lower importance, then the older, then the last by id. `events` should not
/// contain expired and superseded ones, which do not count.
pub(crate) fn beyond_caps<'a>(
    events: impl Iterator<Item = (&'a Id, &'a Head)>,
    relevant: &[Id],
    caps: EventCaps,
) -> HashSet<Id> {
    let mut events: Vec<(&Id, &Head)> = events.collect();
    events.sort_by_cached_key(|(id, head)| {
        let rank = relevant.iter().position(|other| other == *id).unwrap_or(usize::MAX);
        (!head.source.is_person(), rank, Reverse(head.weight()), Reverse(head.recency()), *id)
    });
    let mut counts: HashMap<&Scope, usize> = HashMap::new();
    let mut kept = 0;
    let mut beyond = HashSet::new();
    for (id, head) in events {
        let cap = match head.scope {
            Scope::Task(_) => caps.per_task,
            Scope::Section(_) => caps.per_section,
            Scope::Feature(_) => caps.per_feature,
            Scope::Project | Scope::Unknown(_) => caps.per_project,
        };
        let count = counts.entry(&head.scope).or_default();
        if *count < cap && kept < caps.in_all {
            *count += 1;
            kept += 1;
        } else {
            beyond.insert(id.clone());
        }
    }
    beyond
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Kind, Source, parse_time};

    fn event(name: &str, scope: &str, importance: u8, day: &str) -> (Id, Head) {
        let head = Head {
            scope: Scope::from(scope.to_owned()),
            importance,
            created_at: parse_time(day),
            ..Head::empty(Kind::Knowledge)
        };
        (Id::parse(name).unwrap(), head)
    }

    #[track_caller]
    fn check(events: &[(Id, Head)], caps: EventCaps, expected: &[&str]) {
        check_with(events, &[], caps, expected);
    }

    #[track_caller]
    fn check_with(events: &[(Id, Head)], relevant: &[&str], caps: EventCaps, expected: &[&str]) {
        let relevant: Vec<Id> = relevant.iter().map(|name| Id::parse(name).unwrap()).collect();
        let mut found: Vec<String> = beyond_caps(events.iter().map(|(id, head)| (id, head)), &relevant, caps)
            .iter()
            .map(|id| id.stem().to_owned())
            .collect();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_scope_keeps_its_most_important_then_newest() {
        let caps = EventCaps { per_task: 2, per_section: 1, per_feature: 1, per_project: 1, in_all: 100 };
        let events = [
            event("a", "task:1", 50, "2026-01-01"),
            event("b", "task:1", 50, "2026-01-02"),
            event("c", "task:1", 90, "2025-01-01"),
            event("d", "task:2", 0, "2020-01-01"),
            event("e", "section:1", 50, "2026-01-01"),
            event("f", "section:1", 50, "2026-01-01"),
            event("g", "feature:1", 1, "2026-01-01"),
            event("h", "project", 1, "2026-01-01"),
            event("i", "project", 2, "2026-01-01"),
        ];
        check(&events, caps, &["a", "f", "h"]);
        check(&events, EventCaps { in_all: 1, ..caps }, &["a", "b", "d", "e", "f", "g", "h", "i"]);
        check(&events, EventCaps::default(), &[]);
        // What a task is about comes first, the best match of all.
        check_with(&events, &["f", "g", "a"], caps, &["b", "e", "h"]);
        check_with(&events, &["f", "g", "a"], EventCaps { in_all: 2, ..caps }, &["a", "b", "c", "d", "e", "h", "i"]);
        // However important an agent calls its own, it does not push out a person's.
        let by_agent = |name: &str| {
            let (id, head) = event(name, "project", 100, "2026-02-01");
            (id, Head { source: Source::Agent, ..head })
        };
        check(&[by_agent("x"), by_agent("y"), event("z", "project", 0, "2020-01-01")], caps, &["x", "y"]);
    }
}
