//! Facts that are alike, added in any order by people and agents: none takes the place of another that it does not say.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use ralph_memory::memory::Action;
use ralph_memory::text::title_of;
use ralph_memory::{Id, Knowledge, Memory, Query, Source};

/// Titles that have each other's words, deny each other, or are nearly the same.
const TITLES: [&str; 9] = [
    "Postgres",
    "Postgres backups",
    "Backups of Postgres run at 2 am",
    "Nightly Postgres backups",
    "Use cargo nextest",
    "Never use cargo nextest",
    "Cargo nextest",
    "cargo  NEXTEST",
    "Use cargo nextest in CI",
];
/// What bodies have in common.
const SHARED: [&str; 6] = [
    "It takes an hour",
    "Ask the platform team first",
    "Do not deploy then",
    "The log is in main.rs",
    "Version 16 runs in production",
    "Never on Fridays",
];
const TAGS: [&str; 4] = ["db", "tests", "ops", "ci"];

/// A fact that somebody adds.
#[derive(Debug, Clone)]
struct Fact {
    /// None where the title is made of the body.
    title: Option<usize>,
    shared: BTreeSet<usize>,
    /// Whether it says something of its own.
    has_own: bool,
    tags: BTreeSet<usize>,
    is_by_agent: bool,
}

fn fact() -> impl Strategy<Value = Fact> {
    let some = |n: usize, from: usize, to: usize| prop::collection::btree_set(0..n, from..=to);
    let title = prop::option::weighted(0.8, 0..TITLES.len());
    (title, some(SHARED.len(), 0, 4), any::<bool>(), some(TAGS.len(), 1, 2), any::<bool>())
        .prop_map(|(title, shared, has_own, tags, is_by_agent)| Fact { title, shared, has_own, tags, is_by_agent })
}

impl Fact {
    /// Returns what is added as the fact with this number, and what it states.
    fn knowledge(&self, number: usize) -> (Knowledge, Vec<String>) {
        let mut says: Vec<String> = self.shared.iter().map(|at| SHARED[*at].to_owned()).collect();
        if self.has_own || says.is_empty() {
            says.insert(0, format!("Fact zq{number} holds"));
        }
        let body = says.join(". ") + ".";
        let title = self.title.map_or_else(|| title_of(&body), |at| TITLES[at].to_owned());
        let source = if self.is_by_agent { Source::Agent } else { Source::Human };
        (Knowledge { source, ..Knowledge::new(title, self.tags.iter().map(|at| TAGS[*at]), body.trim()) }, says)
    }
}

/// An entry as it must be.
struct Entry {
    knowledge: Knowledge,
    says: Vec<String>,
    is_named: bool,
}

fn denials(text: &str) -> BTreeSet<String> {
    let words = text.to_lowercase();
    ["not", "never"]
        .into_iter()
        .filter(|word| words.split_whitespace().any(|own| own == *word))
        .map(str::to_owned)
        .collect()
}

/// Checks that one fact may take the place of another.
fn check_replaced(old: &Entry, new: &Entry) {
    let title = |entry: &Entry| ralph_memory::text::fold(&entry.knowledge.title);
    assert_eq!(old.knowledge.source, new.knowledge.source);
    if title(old) == title(new) && old.is_named && new.is_named {
        return;
    }
    let kept = old.says.iter().filter(|one| new.says.contains(one)).count();
    assert!(kept * 10 >= old.says.len() * 6, "{:?} became {:?}", old.says, new.says);
    for (old, new) in [(&old.knowledge.title, &new.knowledge.title), (&old.knowledge.body, &new.knowledge.body)] {
        assert_eq!(denials(old), denials(new), "{old} became {new}");
    }
    let said = ralph_memory::text::words(&format!("{} {}", new.knowledge.title, new.knowledge.body));
    for word in ralph_memory::text::words(&old.knowledge.title) {
        assert!(said.contains(&word), "{word} of {} is said no more", old.knowledge.title);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_added_is_found_or_said_by_what_took_its_place(facts in prop::collection::vec(fact(), 2..7)) {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        let memory = Memory::open(folder.path()).unwrap().with_clock(|| UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let mut entries: BTreeMap<Id, Entry> = BTreeMap::new();
        let mut before: BTreeMap<Id, String> = BTreeMap::new();
        for (number, fact) in facts.iter().enumerate() {
            let (knowledge, says) = fact.knowledge(number);
            let added = memory.add(&knowledge).unwrap();
            let entry = Entry { is_named: knowledge.title != title_of(&knowledge.body), knowledge, says };
            match (added.action, entries.get(&added.id)) {
                (Action::Created, None) => {}
                (Action::Created, Some(_)) => panic!("{} was there", added.id),
                (Action::Updated | Action::Unchanged, Some(old)) => {
                    check_replaced(old, &entry);
                    if added.action == Action::Updated {
                        before.insert(added.id.clone(), old.knowledge.body.clone());
                    }
                }
                (_, None) => panic!("{} was never added", added.id),
            }
            prop_assert!(!added.similar.contains(&added.id));
            prop_assert!(added.similar.iter().all(|id| entries.contains_key(id)), "{:?}", added.similar);
            entries.insert(added.id, entry);
        }
        prop_assert_eq!(memory.list(&ralph_memory::memory::Filter::default()).unwrap().entries.len(), entries.len());
        for (id, entry) in &entries {
            let text = entry.says.join(" ") + " " + &entry.knowledge.title;
            let query = Query { text, ..Query::default() };
            let found = memory.search(&query, 20).unwrap();
            prop_assert!(found.hits.iter().any(|hit| hit.id == *id), "{} is not found by its own words", id);
        }
        // What was replaced comes back.
        for (id, body) in before {
            memory.restore(&id).unwrap();
            let restored = memory.show(&id).unwrap().entry.body;
            prop_assert_eq!(restored.trim(), body);
        }
    }
}
