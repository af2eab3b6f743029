//! Facts that are alike, told in any order by people and agents through every door: none takes the place of another
//! that it does not say.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use ralph_memory::internals::text::{first_sentence, fold, title_of, words};
use ralph_memory::memory::{EntryFilter, Report, Run, WriteAction};
use ralph_memory::{Error, Id, Kind, Knowledge, Memory, Query, Source, Task};
use serde_json::json;

use crate::agent::Agent;
use crate::support::TestBase;
use crate::test_cases::cases;

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

/// How a fact is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    /// `add`, by a person.
    Person,
    /// `add`, by an agent.
    Agent,
    /// `<knowledge>` in an agent's output.
    Element,
    /// `<learning>`, whose title is made from its text.
    Learning,
    /// The tool `add_knowledge`.
    Tool,
    /// `note`: an event, of which nothing is ever brought up to date.
    Note,
}

/// A fact to add.
#[derive(Debug, Clone)]
struct Fact {
    /// `None` if the title is made from the body.
    title: Option<usize>,
    shared: BTreeSet<usize>,
    /// Whether it says something of its own.
    has_own: bool,
    tags: BTreeSet<usize>,
    door: Door,
}

fn fact() -> impl Strategy<Value = Fact> {
    let some = |n: usize, from: usize, to: usize| prop::collection::btree_set(0..n, from..=to);
    let title = prop::option::weighted(0.8, 0..TITLES.len());
    let door = prop_oneof![
        6 => Just(Door::Person),
        6 => Just(Door::Agent),
        2 => Just(Door::Element),
        2 => Just(Door::Learning),
        1 => Just(Door::Tool),
        2 => Just(Door::Note),
    ];
    (title, some(SHARED.len(), 0, 4), any::<bool>(), some(TAGS.len(), 1, 2), door)
        .prop_map(|(title, shared, has_own, tags, door)| Fact { title, shared, has_own, tags, door })
}

/// What became of a fact.
struct Told {
    id: Id,
    action: WriteAction,
    similar: Vec<Id>,
}

impl Fact {
    /// Returns the text of the fact with this number, and its statements.
    fn knowledge(&self, number: usize) -> (Knowledge, Vec<String>) {
        let mut says: Vec<String> = self.shared.iter().map(|at| SHARED[*at].to_owned()).collect();
        if self.has_own || says.is_empty() {
            says.insert(0, format!("Fact zq{number} holds"));
        }
        let body = says.join(". ") + ".";
        let title = match (self.door, self.title) {
            (Door::Note, _) => first_sentence(&body, 80),
            (Door::Learning, _) | (_, None) => title_of(&body),
            (_, Some(at)) => TITLES[at].to_owned(),
        };
        let source = if matches!(self.door, Door::Person | Door::Note) { Source::Human } else { Source::Agent };
        let category = match self.door {
            Door::Learning => Some("pitfall".to_owned()),
            Door::Note => Some("decision".to_owned()),
            _ => None,
        };
        let tags = self.tags.iter().map(|at| TAGS[*at]);
        (Knowledge { source, category, ..Knowledge::new(title, tags, body.trim()) }, says)
    }

    /// Tells it through its door; `None` if it is refused as the text of an earlier version.
    fn tell(&self, knowledge: &Knowledge, memory: &Memory, tools: &mut Option<Agent>, base: &TestBase) -> Option<Told> {
        let added = match self.door {
            Door::Person | Door::Agent => match memory.add(knowledge) {
                Err(Error::Outdated { .. }) => return None,
                added => added.unwrap(),
            },
            Door::Note => {
                let event = Knowledge {
                    tags: knowledge.tags.clone(),
                    ..Knowledge::event("decision", &knowledge.body).unwrap()
                };
                memory.add(&event).unwrap()
            }
            Door::Element | Door::Learning => {
                let (title, tags, body) = (&knowledge.title, knowledge.tags.join(","), &knowledge.body);
                let text = if self.door == Door::Element {
                    format!("<knowledge tags=\"{tags}\" title=\"{title}\">{body}</knowledge>")
                } else {
                    format!("<learning category=\"pitfall\" tags=\"{tags}\">{body}</learning>")
                };
                let iteration = memory.begin(&Task::new("Tell a fact"), &Run::named("run-1")).unwrap();
                let recorded = memory.finish(&iteration, &Report { text, ..Report::default() }).unwrap();
                assert!(
                    recorded.refused.iter().all(|refused| refused.contains(" said that before, and ")),
                    "{recorded:?}"
                );
                assert_eq!(recorded.refused.len() + recorded.knowledge.len(), 1);
                recorded.knowledge.into_iter().next()?
            }
            Door::Tool => {
                let tools = tools.get_or_insert_with(|| Agent::greeted(base.with(["mcp"]).command()));
                let fact = json!({"title": knowledge.title, "tags": knowledge.tags, "body": knowledge.body});
                let answer = tools.call("add_knowledge", &fact);
                if answer["isError"] == json!(true) {
                    assert!(answer.to_string().contains(" said that before, and "), "{answer}");
                    return None;
                }
                let answer = &answer["structuredContent"];
                let id = |id: &serde_json::Value| Id::parse(id.as_str().unwrap()).unwrap();
                let action = match answer["action"].as_str().unwrap() {
                    "created" => WriteAction::Created,
                    "updated" => WriteAction::Updated,
                    _ => WriteAction::Unchanged,
                };
                let similar = answer["similar"].as_array().unwrap().iter().map(id).collect();
                return Some(Told { id: id(&answer["id"]), action, similar });
            }
        };
        Some(Told { id: added.id, action: added.action, similar: added.similar })
    }
}

/// An entry as it must be.
struct Entry {
    knowledge: Knowledge,
    says: Vec<String>,
    is_named: bool,
}

fn denials(text: &str) -> BTreeSet<String> {
    let text = text.to_lowercase();
    ["not", "never"]
        .into_iter()
        .filter(|word| text.split_whitespace().any(|own| own == *word))
        .map(str::to_owned)
        .collect()
}

/// Checks that one fact may take the place of another.
fn check_replaced(old: &Entry, new: &Entry) {
    let is_same_title = fold(&old.knowledge.title) == fold(&new.knowledge.title);
    let takes_over = new.knowledge.source == Source::Human && is_same_title;
    assert!(old.knowledge.source == new.knowledge.source || takes_over);
    assert!(old.knowledge.category.as_deref() != Some("decision"), "an event is never brought up to date");
    if is_same_title && old.is_named && new.is_named {
        return;
    }
    let kept = old.says.iter().filter(|one| new.says.contains(one)).count();
    assert!(kept * 10 >= old.says.len() * 6, "{:?} became {:?}", old.says, new.says);
    for (old, new) in [(&old.knowledge.title, &new.knowledge.title), (&old.knowledge.body, &new.knowledge.body)] {
        assert_eq!(denials(old), denials(new), "{old} became {new}");
    }
    let said = words(&format!("{} {}", new.knowledge.title, new.knowledge.body));
    for word in words(&old.knowledge.title) {
        assert!(said.contains(&word), "{word} of {} is said no more", old.knowledge.title);
    }
}

/// Checks that every added fact is in one live place that its words find, and that every version can be restored.
fn check(facts: &[Fact]) {
    let base = TestBase::new();
    // The clock of the tools.
    let memory = base.memory().with_clock(|| UNIX_EPOCH + Duration::from_secs(1_795_168_800));
    let mut tools = None;
    let mut entries: BTreeMap<Id, Entry> = BTreeMap::new();
    // The versions of each entry, oldest first, without the one that is live.
    let mut before: BTreeMap<Id, Vec<String>> = BTreeMap::new();
    for (number, fact) in facts.iter().enumerate() {
        let (knowledge, says) = fact.knowledge(number);
        let Some(told) = fact.tell(&knowledge, &memory, &mut tools, &base) else {
            let is_known = before.values().flatten().any(|body| fold(body) == fold(&knowledge.body));
            assert!(is_known && knowledge.source == Source::Agent, "{knowledge:?} is refused");
            continue;
        };
        let entry = Entry { is_named: fold(&knowledge.title) != fold(&title_of(&knowledge.body)), knowledge, says };
        match (told.action, entries.get(&told.id)) {
            (WriteAction::Created, None) => {}
            (WriteAction::Created, Some(_)) => panic!("{} was there", told.id),
            (WriteAction::Updated, Some(old)) => {
                check_replaced(old, &entry);
                before.entry(told.id.clone()).or_default().push(old.knowledge.body.clone());
            }
            (WriteAction::Unchanged, Some(old)) => {
                assert_eq!(fold(&old.knowledge.body), fold(&entry.knowledge.body));
                if old.knowledge.source == Source::Human {
                    continue;
                }
            }
            (WriteAction::Restored, _) => panic!("{} was not archived", told.id),
            (_, None) => panic!("{} was never told", told.id),
        }
        assert!(!told.similar.contains(&told.id));
        assert!(told.similar.iter().all(|id| entries.contains_key(id)), "{:?}", told.similar);
        entries.insert(told.id, entry);
    }
    let live = memory.list(&EntryFilter { kind: Some(Kind::Knowledge), ..EntryFilter::default() }).entries;
    assert_eq!(live.len(), entries.len());
    for (id, entry) in &entries {
        let text = entry.says.join(" ") + " " + &entry.knowledge.title;
        let found = memory.search(&Query { text, ..Query::default() }, 20).unwrap();
        assert!(found.hits.iter().any(|hit| hit.entry.id == *id), "{id} is not found by its own words");
        let same = entries.iter().filter(|(other, _)| *other != id).filter(|(_, other)| is_twice(entry, other));
        assert_eq!(same.map(|(other, _)| other).collect::<Vec<_>>(), Vec::<&Id>::new(), "{id} is in two places");
    }
    // Each replaced version is restored, the newest first.
    for (id, versions) in before {
        memory.restore(&id, None).unwrap();
        assert_eq!(memory.show(&id).unwrap().entry.body.trim(), versions.last().unwrap());
        for version in &versions {
            let is_in = |text: &str| text.trim_end().ends_with(&format!("\n\n{version}"));
            let is_kept = memory.versions(&id).unwrap().iter().any(|earlier| is_in(&earlier.text));
            let is_live = memory.show(&id).unwrap().entry.body.trim() == version;
            assert!(is_live || is_kept, "a version of {id} is gone");
        }
    }
}

/// Returns whether two live entries of the same writers say the same under the same title.
fn is_twice(one: &Entry, other: &Entry) -> bool {
    let (one, other) = (&one.knowledge, &other.knowledge);
    one.source == other.source
        && (one.category.as_deref() == Some("decision")) == (other.category.as_deref() == Some("decision"))
        && fold(&one.title) == fold(&other.title)
        && fold(&one.body) == fold(&other.body)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    #[test]
    fn every_added_fact_is_found_or_contained_in_its_update(facts in prop::collection::vec(fact(), 2..7)) {
        check(&facts);
    }
}
