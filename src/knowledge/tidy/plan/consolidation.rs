//! Decides which learnings become one, and what its text is.
//!
//! Pure: takes texts, returns texts. The merged text has every statement of each learning.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use chrono::{DateTime, Utc};

use super::tag_groups;
use crate::entry::body::blocks;
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::timestamp;
use crate::entry::written;
use crate::entry::{self, Entry, Head, Id, MAX_FRONTMATTER_BYTES};
use crate::knowledge::dedup::statements;
use crate::text::comparable;

/// How many statements and words a merge makes at most: what is longer is no fact that a reader finds again.
const MAX_STATEMENTS: usize = 10;
const MAX_WORDS: u32 = 300;

type ListOf = fn(&Head) -> &Vec<String>;

/// The lists of an entry that a merge joins, beside `supersedes`.
const LISTS: [(&str, ListOf); 3] =
    [("tags", |head| &head.tags), ("files", |head| &head.files), ("questions", |head| &head.questions)];

/// One live learning.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Learning {
    /// Its id.
    pub id: Id,
    /// Its path, relative to `.ralph/`.
    pub path: String,
    /// Its file.
    pub text: String,
    /// The entry in it.
    pub entry: Entry,
}

/// Learnings that become one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedMerge<'a> {
    /// The newest, which takes over the statements of the others.
    pub into: &'a Learning,
    /// Its file after the merge.
    pub new: String,
    /// The others, the newest first: these go to the archive.
    pub others: Vec<&'a Learning>,
}

/// Returns the merges that are due where there are more than `most` learnings.
///
/// Learnings belong together if agents wrote them and no person confirmed them, and they have the same category, scope and
/// feature, and half of all their tags in common, directly or through others. The newest of them keeps its text. Below it come
/// the statements of the others, each under its title, block by block, without blocks that are there already; it gets their
/// tags as well, and names them as superseded. Where that is too much for one entry, they stay as they are. Merged entries may
/// again have half of their tags in common, so this repeats: a second call then changes nothing.
pub(crate) fn plan_merges(learnings: &[Learning], most: usize, now: DateTime<Utc>) -> Vec<PlannedMerge<'_>> {
    if learnings.len() <= most {
        return Vec::new();
    }
    let mut groups: HashMap<_, Vec<Cluster<'_>>> = HashMap::new();
    for learning in learnings.iter().filter(|learning| !learning.entry.head.source.is_person()) {
        let Head { category, scope, feature, .. } = &learning.entry.head;
        groups.entry((category, scope, feature)).or_default().push(Cluster::new(learning));
    }
    let clusters = groups.into_values().flat_map(|clusters| grown(clusters, now));
    let mut merges: Vec<PlannedMerge<'_>> = clusters.filter_map(Cluster::into_merge).collect();
    merges.sort_by(|one, other| one.into.path.cmp(&other.into.path));
    merges
}

/// Learnings that belong together.
struct Cluster<'a> {
    /// The one that takes over the others, then the others, the newest first.
    members: Vec<&'a Learning>,
    /// The file of the first after the merge; `None` for a single one, which stays as it is.
    text: Option<String>,
    tags: Vec<String>,
}

impl<'a> Cluster<'a> {
    fn new(learning: &'a Learning) -> Cluster<'a> {
        Cluster { members: vec![learning], text: None, tags: learning.entry.head.tags.clone() }
    }

    /// Joins clusters into the first of them; `None` where the result would be too long for one fact, or its file cannot be edited
    /// that way.
    fn joined(clusters: &[Cluster<'a>], now: DateTime<Utc>) -> Option<Cluster<'a>> {
        let mut members: Vec<&Learning> = clusters.iter().flat_map(|cluster| cluster.members.iter().copied()).collect();
        // Each adds its title at least.
        if members.len() > MAX_STATEMENTS {
            return None;
        }
        members[1..].sort_by(|one, other| newest_first(one, other));
        let text = changed(&members, now)?;
        let Entry { head, body, .. } = entry::read(&members[0].path, text.as_bytes());
        let fits = statements(&body).len() <= MAX_STATEMENTS
            && head.body_words <= MAX_WORDS
            && text.len() - body.len() <= MAX_FRONTMATTER_BYTES;
        fits.then_some(Cluster { members, text: Some(text), tags: head.tags })
    }

    fn into_merge(self) -> Option<PlannedMerge<'a>> {
        let (into, others) = self.members.split_first()?;
        Some(PlannedMerge { into, new: self.text?, others: others.to_vec() })
    }
}

/// Orders learnings by the time of their last change, and by their ids.
fn newest_first(one: &Learning, other: &Learning) -> Ordering {
    other.entry.head.recency().cmp(&one.entry.head.recency()).then_with(|| one.id.cmp(&other.id))
}

/// Returns the file of the first of these learnings with the statements of the others.
fn changed(members: &[&Learning], now: DateTime<Utc>) -> Option<String> {
    let (newest, others) = members.split_first()?;
    let head = &newest.entry.head;
    let mut changes: Vec<Change> = LISTS
        .iter()
        .map(|(name, list)| {
            let of_others = others.iter().flat_map(|other| list(&other.entry.head));
            Change::AddItems(name, missing(list(head), of_others))
        })
        .collect();
    // This one now replaces what the others replaced.
    let replaced = others.iter().flat_map(|other| [&other.id].into_iter().chain(&other.entry.head.supersedes));
    let supersedes = missing(&head.supersedes, replaced.filter(|id| **id != newest.id));
    changes.push(Change::AddItems("supersedes", supersedes));
    // Links that have their titles lead to it.
    let of_others = others.iter().flat_map(|other| names(&other.entry.head));
    let aliases = missing(&head.aliases, of_others.filter(|name| comparable(name) != comparable(&head.title)));
    changes.push(Change::AddItems("aliases", aliases));
    let mut body = newest.entry.body.trim_matches(['\n', '\r']).trim_end().replace("\r\n", "\n");
    let mut said: HashSet<String> = blocks(&newest.entry.body).into_iter().map(as_said).collect();
    let mut titles = HashSet::from([comparable(&head.title)]);
    for other in others {
        let other_body = other.entry.body.replace("\r\n", "\n");
        let title = &other.entry.head.title;
        let untitled = without_title(&other_body, title);
        let new_blocks: Vec<&str> = blocks(untitled).into_iter().filter(|block| said.insert(as_said(block))).collect();
        if titles.insert(comparable(title)) || !new_blocks.is_empty() {
            body.push_str(&format!("\n\n## {title}"));
        }
        for block in new_blocks {
            body.push_str("\n\n");
            body.push_str(block);
        }
    }
    changes.retain(|change| !matches!(change, Change::AddItems(_, items) if items.is_empty()));
    changes.push(Change::Set(edit::updated_key(&newest.text), timestamp(now).into()));
    changes.push(Change::Body(body));
    edit::apply(&newest.text, &changes).and_then(|new| written::signed(&newest.text, new, false)).ok()
}

fn names(head: &Head) -> impl Iterator<Item = &String> {
    [&head.title].into_iter().chain(&head.aliases)
}

fn without_title<'b>(body: &'b str, title: &str) -> &'b str {
    let bare = body.trim_start();
    let (first, rest) = bare.split_once('\n').unwrap_or((bare, ""));
    if first.strip_prefix("# ").is_some_and(|heading| comparable(heading) == comparable(title)) { rest } else { body }
}

/// Returns the `items` that `own` lacks, each once.
fn missing<'a, T: ToString + Eq + Hash + 'a>(own: &'a [T], items: impl Iterator<Item = &'a T>) -> Vec<String> {
    let mut known: HashSet<&T> = own.iter().collect();
    items.filter(|item| known.insert(item)).map(ToString::to_string).collect()
}

/// Returns a block in the form in which it is compared: white space matters in code, and not in prose.
fn as_said(block: &str) -> String {
    let is_code = block.starts_with(' ') || block.contains("```") || block.contains("~~~");
    if is_code { block.to_owned() } else { block.split_whitespace().collect::<Vec<_>>().join(" ") }
}

/// Joins clusters until all that belong together would be too much for one entry.
fn grown(mut clusters: Vec<Cluster<'_>>, now: DateTime<Utc>) -> Vec<Cluster<'_>> {
    loop {
        clusters.sort_by(|one, other| newest_first(one.members[0], other.members[0]));
        let n_before = clusters.len();
        let tags: Vec<&[String]> = clusters.iter().map(|cluster| cluster.tags.as_slice()).collect();
        let groups = tag_groups::groups(&tags);
        let mut left: Vec<Option<Cluster<'_>>> = clusters.into_iter().map(Some).collect();
        clusters = Vec::with_capacity(left.len());
        for group in groups {
            let group: Vec<Cluster<'_>> = group.into_iter().filter_map(|at| left[at].take()).collect();
            let joined = if group.len() > 1 { Cluster::joined(&group, now) } else { None };
            match joined {
                Some(joined) => clusters.push(joined),
                None => clusters.extend(group),
            }
        }
        if clusters.len() == n_before {
            return clusters;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entry::{parse_time, read};
    use crate::test_cases::cases;

    fn learning(name: &str, day: u32, tags: &str, rest: &str, body: &str) -> Learning {
        let path = format!("knowledge/{name}.md");
        let text = format!(
            "---\ntitle: \"About {name}\"\ntags: [{tags}]\ncategory: success_pattern\nsource: agent\ncreated_at: \"2026-02-{day:02}\"\n{rest}---\n\n{body}\n"
        );
        Learning { id: Id::of_path(&path).unwrap(), entry: read(&path, text.as_bytes()), path, text }
    }

    fn merged(learnings: &[Learning], most: usize) -> Vec<PlannedMerge<'_>> {
        plan_merges(learnings, most, parse_time("2026-03-01").unwrap())
    }

    /// The example of the first of the seeds.
    fn example() -> Vec<Learning> {
        vec![
            learning("abc123", 1, "rust, sqlite, foreign keys", "", "Enable PRAGMA foreign_keys."),
            learning("def456", 2, "rust, sqlite, cascade", "", "Use ON DELETE CASCADE.\n\n```sql\nx\n\ny\n```"),
            learning(
                "ghi789",
                3,
                "sqlite, foreign keys, migration",
                "files: [a.rs]\n",
                "Check after migrations.\n\nEnable  PRAGMA foreign_keys.",
            ),
            learning("other", 4, "rust, tokio", "", "Never block."),
        ]
    }

    #[test]
    fn the_newest_takes_over_the_statements_of_the_others() {
        let learnings = example();
        let merges = merged(&learnings, 3);
        assert_eq!(merges.len(), 1);
        let merge = &merges[0];
        assert_eq!(merge.into.id.stem(), "ghi789");
        assert_eq!(merge.others.iter().map(|other| other.id.stem()).collect::<Vec<_>>(), ["def456", "abc123"]);
        let unsigned: Vec<&str> = merge.new.lines().filter(|line| !line.starts_with("fingerprints: ")).collect();
        assert_eq!(
            unsigned.join("\n") + "\n",
            "---\ntitle: \"About ghi789\"\ntags: [sqlite, foreign keys, migration, rust, cascade]\ncategory: success_pattern\nsource: agent\n\
             created_at: \"2026-02-03\"\nfiles: [a.rs]\nsupersedes: [knowledge/def456, knowledge/abc123]\naliases: [About def456, About abc123]\nupdated_at: \"2026-03-01T00:00:00Z\"\n---\n\n\
             Check after migrations.\n\nEnable  PRAGMA foreign_keys.\n\n## About def456\n\nUse ON DELETE CASCADE.\n\n```sql\nx\n\ny\n```\n\n## About abc123\n"
        );
        assert_eq!(merge.into, &learnings[2]);
        // Up to the threshold nothing is merged, and the order says nothing.
        assert_eq!(merged(&example(), 4), []);
        let mut turned = example();
        turned.reverse();
        assert_eq!(merged(&turned, 3), merges);
    }

    #[test]
    fn statements_that_differ_in_code_or_case_are_both_kept() {
        let fence = |indent: &str| format!("```\n{indent}b: 1\n```");
        let one = learning("a", 1, "x", "", &format!("Set LANG.\n\n{}", fence("  ")));
        let two = learning("b", 2, "x", "", &format!("Set lang.\n\n{}", fence("    ")));
        let both = [one, two];
        let merged = &merged(&both, 0)[0].new;
        assert!(merged.contains("Set LANG.") && merged.contains("Set lang."), "{merged}");
        assert!(merged.contains("\n  b: 1") && merged.contains("\n    b: 1"), "{merged}");
    }

    #[test]
    fn learnings_of_different_kinds_stay_apart() {
        for rest in ["scope: \"task:1\"\n", "feature: x\n", "source: human\n"] {
            let learnings = [learning("a", 1, "x", "", "A."), learning("b", 2, "x", rest, "B.")];
            assert_eq!(merged(&learnings, 0), [], "{rest}");
        }
        let mut other = learning("b", 2, "x", "", "B.");
        other.entry.head.category = Some("pitfall".to_owned());
        assert_eq!(merged(&[learning("a", 1, "x", "", "A."), other], 0), []);
        // A third of the tags, none at all, and too much to read.
        assert_eq!(merged(&[learning("a", 1, "x, y", "", "A."), learning("b", 2, "x, z", "", "B.")], 0), []);
        let long = |word: &str| format!("{word} ").repeat(150);
        assert_eq!(merged(&[learning("a", 1, "x", "", &long("a")), learning("b", 2, "x", "", &long("b"))], 0), []);
    }

    /// Returns what is live when all of this was merged.
    fn after(learnings: &[Learning], merges: &[PlannedMerge<'_>]) -> Vec<Learning> {
        let gone: HashSet<&Id> = merges.iter().flat_map(|merge| &merge.others).map(|other| &other.id).collect();
        let left = learnings.iter().filter(|learning| !gone.contains(&learning.id));
        left.map(|learning| {
            let merge = merges.iter().find(|merge| merge.into.id == learning.id);
            let text = merge.map_or_else(|| learning.text.clone(), |merge| merge.new.clone());
            Learning { entry: read(&learning.path, text.as_bytes()), text, ..learning.clone() }
        })
        .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(24)))]

        /// Some are so long that few of them fit into one entry, and of some the tags cannot be added to.
        #[test]
        fn a_second_merge_changes_nothing(
            kinds in prop::collection::vec(
                (prop::collection::vec("[a-f]", 1..5), 0_usize..30, 1_u32..5, any::<bool>(), 0_u8..8),
                2..30,
            )
        ) {
            let learnings: Vec<Learning> = kinds.iter().enumerate().map(|(number, (tags, length, day, is_same, odd))| {
                let fact = if *is_same { "The same fact.".to_owned() } else { format!("Fact {number}.") };
                let mut learning = learning(&format!("n{number:02}"), *day, &tags.join(", "), "", &format!("{fact}\n\n{}", "word ".repeat(length * 10)));
                if *odd == 0 {
                    learning.text = learning.text.replace(&format!("[{}]", tags.join(", ")), &format!(">-\n  {}", tags.join(", ")));
                    learning.entry = read(&learning.path, learning.text.as_bytes());
                }
                learning
            }).collect();
            let merges = merged(&learnings, 0);
            let after = after(&learnings, &merges);
            prop_assert_eq!(merged(&after, 0), []);
            let all: String = after.iter().map(|learning| learning.text.as_str()).collect();
            for learning in &learnings {
                let fact = learning.entry.body.lines().find(|line| !line.is_empty()).unwrap();
                prop_assert!(all.contains(&format!("\n{fact}\n")), "{}", fact);
            }
            for merge in &merges {
                let entry = read(&merge.into.path, merge.new.as_bytes());
                prop_assert!(entry.head.body_words <= 300 && statements(&entry.body).len() <= 10, "{}", merge.new);
            }
        }
    }

    #[test]
    fn what_is_too_much_for_one_fact_stays() {
        let learnings = |n: u32, tags: &str| -> Vec<Learning> {
            (0..n)
                .map(|number| {
                    learning(&format!("{tags}-{number}"), 1 + number % 28, tags, "", &format!("Fact {number}."))
                })
                .collect()
        };
        assert_eq!(merged(&learnings(204, "sqlite"), 200), []);
        // Five texts, and the titles of four.
        assert_eq!(merged(&learnings(6, "sqlite"), 0), []);
        let both = [learnings(5, "sqlite"), learnings(12, "rust")].concat();
        let merges = merged(&both, 0);
        assert_eq!(merges.iter().map(|merge| merge.others.len()).collect::<Vec<_>>(), [4]);
    }
}
