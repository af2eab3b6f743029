//! Decides which learnings become one, and what its text is.
//!
//! Pure: takes texts, returns texts. The merged text has every statement of each learning.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

use chrono::{DateTime, Utc};

use super::tag_groups;
use crate::entry::body::blocks;
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::timestamp;
use crate::entry::written;
use crate::entry::{self, Entry, Head, Id, MAX_FRONTMATTER_BYTES, Scope};
use crate::text::fold;

/// The longest body that a merge makes, in bytes: longer ones are not read.
const MAX_BODY: usize = 64 * 1024;

type ListOf = fn(&Head) -> &Vec<String>;

/// The lists of an entry that a merge joins, beside `supersedes`.
const LISTS: [(&str, ListOf); 3] =
    [("tags", |head| &head.tags), ("files", |head| &head.files), ("questions", |head| &head.questions)];

/// How much longer frontmatter gets by the time and the fingerprints of a change, in bytes.
const SIGNED: usize = 1_200;

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
/// Learnings belong together if they have the same category, scope, feature and kind of author, and half of all their
/// tags in common, directly or through others. The newest of them keeps its text. Below it come the statements of the
/// others, each under its title, block by block, without blocks that are there already; it gets their tags as well, and
/// names them as superseded. Where that is too much for one entry, there are several. Merged entries may again have
/// half of their tags in common, so this repeats until no two that fit into one entry do: a second call then changes
/// nothing.
pub(crate) fn plan_merges(learnings: &[Learning], most: usize, now: DateTime<Utc>) -> Vec<PlannedMerge<'_>> {
    if learnings.len() <= most {
        return Vec::new();
    }
    let mut groups: HashMap<Group<'_>, Vec<Cluster<'_>>> = HashMap::new();
    for learning in learnings {
        groups.entry(Group::of(&learning.entry.head)).or_default().push(Cluster::new(learning));
    }
    let clusters = groups.into_values().flat_map(|clusters| grown(clusters, now));
    let mut merges: Vec<PlannedMerge<'_>> = clusters.filter_map(Cluster::into_merge).collect();
    merges.sort_by(|one, other| one.into.path.cmp(&other.into.path));
    merges
}

/// What learnings must have in common besides tags.
#[derive(PartialEq, Eq, Hash)]
struct Group<'a> {
    category: Option<&'a str>,
    scope: &'a Scope,
    feature: Option<&'a str>,
    is_human: bool,
}

impl<'a> Group<'a> {
    fn of(head: &'a Head) -> Group<'a> {
        Group {
            category: head.category.as_deref(),
            scope: &head.scope,
            feature: head.feature.as_deref(),
            is_human: head.source.is_person(),
        }
    }
}

/// Learnings that belong together.
struct Cluster<'a> {
    /// The one that takes over the others, then the others, the newest first.
    members: Vec<&'a Learning>,
    /// The file of the first after the merge; `None` for a single one, which stays as it is.
    text: Option<String>,
    tags: Vec<String>,
    size: Size,
}

/// An upper bound of the size of a merged entry, in bytes.
#[derive(Clone, Copy)]
struct Size {
    body: usize,
    /// The largest frontmatter.
    head: usize,
    /// The items that all of them add to it.
    items: usize,
}

impl Size {
    /// Returns the size of an entry of `n_bytes`, and of what it adds to one that takes it over.
    fn of(learning: &Learning, entry: &Entry, n_bytes: usize) -> Size {
        let head = &entry.head;
        let items = LISTS.iter().flat_map(|(_, list)| list(head)).map(String::len);
        let ids = head.supersedes.iter().chain([&learning.id]).map(|id| id.as_str().len());
        Size {
            body: entry.body.len() + head.title.len() + "\n\n## \n\n".len(),
            head: n_bytes - entry.body.len() + SIGNED,
            // Each with quotes, a comma and a space.
            items: items.chain(names(head).map(String::len)).chain(ids).map(|length| length + 4).sum(),
        }
    }

    fn plus(self, other: Size) -> Size {
        Size { body: self.body + other.body, head: self.head.max(other.head), items: self.items + other.items }
    }

    fn fits(self) -> bool {
        self.body <= MAX_BODY && self.head + self.items <= MAX_FRONTMATTER_BYTES
    }
}

impl<'a> Cluster<'a> {
    fn new(learning: &'a Learning) -> Cluster<'a> {
        let size = Size::of(learning, &learning.entry, learning.text.len());
        Cluster { members: vec![learning], text: None, tags: learning.entry.head.tags.clone(), size }
    }

    /// Joins clusters into the first of them; `None` where its file cannot be edited that way.
    fn joined(clusters: &[Cluster<'a>], now: DateTime<Utc>) -> Option<Cluster<'a>> {
        let mut members: Vec<&Learning> = clusters.iter().flat_map(|cluster| cluster.members.iter().copied()).collect();
        members[1..].sort_by(|one, other| newest_first(one, other));
        let text = changed(&members, now)?;
        let entry = entry::read(&members[0].path, text.as_bytes());
        let size = Size::of(members[0], &entry, text.len());
        Some(Cluster { members, text: Some(text), tags: entry.head.tags, size })
    }

    /// Returns whether the file can be edited as a merge needs it. This costs more than everything else that is done
    /// with a learning, so few are tried.
    fn can_take(&self) -> bool {
        let text = &self.members[0].text;
        let names = LISTS.iter().map(|(name, _)| *name).chain(["supersedes", "aliases"]);
        let mut changes: Vec<Change> =
            names.map(|name| Change::AddItems(name, vec!["a word that no list has".to_owned()])).collect();
        changes.push(Change::Set(edit::updated_key(text), "2026-01-01T00:00:00Z".into()));
        edit::apply(text, &changes).is_ok()
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
    let aliases = missing(&head.aliases, of_others.filter(|name| fold(name) != fold(&head.title)));
    changes.push(Change::AddItems("aliases", aliases));
    let mut body = newest.entry.body.trim_matches(['\n', '\r']).trim_end().replace("\r\n", "\n");
    let mut said: HashSet<String> = blocks(&newest.entry.body).into_iter().map(as_said).collect();
    let mut titles = HashSet::from([fold(&head.title)]);
    for other in others {
        let other_body = other.entry.body.replace("\r\n", "\n");
        let title = &other.entry.head.title;
        let untitled = without_title(&other_body, title);
        let new_blocks: Vec<&str> = blocks(untitled).into_iter().filter(|block| said.insert(as_said(block))).collect();
        if titles.insert(fold(title)) || !new_blocks.is_empty() {
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
    if first.strip_prefix("# ").is_some_and(|heading| fold(heading) == fold(title)) { rest } else { body }
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

/// Joins clusters until no two that fit into one entry belong together.
fn grown(mut clusters: Vec<Cluster<'_>>, now: DateTime<Utc>) -> Vec<Cluster<'_>> {
    loop {
        clusters.sort_by(|one, other| newest_first(one.members[0], other.members[0]));
        let n_before = clusters.len();
        let tags: Vec<&[String]> = clusters.iter().map(|cluster| cluster.tags.as_slice()).collect();
        let groups = tag_groups::groups(&tags).groups;
        let mut left: Vec<Option<Cluster<'_>>> = clusters.into_iter().map(Some).collect();
        clusters = Vec::with_capacity(left.len());
        for group in groups {
            let group = group.into_iter().filter_map(|at| left[at].take()).collect();
            for fitting in parts(group) {
                clusters.extend(one_of(fitting, now));
            }
        }
        if clusters.len() == n_before {
            return clusters;
        }
    }
}

/// Splits clusters that belong together into parts, each of which fits into one entry, while no two of them do. The
/// first of each part can take the others.
fn parts(clusters: Vec<Cluster<'_>>) -> Vec<Vec<Cluster<'_>>> {
    if clusters.len() < 2 {
        return vec![clusters];
    }
    let least = |size: fn(&Size) -> usize| clusters.iter().map(|cluster| size(&cluster.size)).min().unwrap_or_default();
    let least = Size { body: least(|size| size.body), head: least(|size| size.head), items: least(|size| size.items) };
    let mut done: Vec<Vec<Cluster<'_>>> = Vec::new();
    let mut open: Vec<(Size, Vec<Cluster<'_>>)> = Vec::new();
    // A cluster that fits nowhere and cannot take others waits until all parts exist.
    let mut queue: VecDeque<(Cluster<'_>, bool)> = clusters.into_iter().map(|cluster| (cluster, false)).collect();
    while let Some((cluster, has_waited)) = queue.pop_front() {
        let at = match open.iter().position(|(size, _)| size.plus(cluster.size).fits()) {
            Some(at) => {
                let (size, part) = &mut open[at];
                *size = size.plus(cluster.size);
                part.push(cluster);
                at
            }
            None if has_waited => {
                done.push(vec![cluster]);
                continue;
            }
            None if cluster.can_take() => {
                open.push((cluster.size, vec![cluster]));
                open.len() - 1
            }
            None => {
                queue.push_back((cluster, true));
                continue;
            }
        };
        // Closes a part that is full, so that it is not tried again.
        if !open[at].0.plus(least).fits() {
            done.push(open.remove(at).1);
        }
    }
    done.extend(open.into_iter().map(|(_, part)| part));
    done
}

/// Joins clusters into one, or, where that cannot be written, into as few as possible.
fn one_of(mut clusters: Vec<Cluster<'_>>, now: DateTime<Utc>) -> Vec<Cluster<'_>> {
    if clusters.len() < 2 {
        return clusters;
    }
    if let Some(joined) = Cluster::joined(&clusters, now) {
        return vec![joined];
    }
    let rest = clusters.split_off(clusters.len() / 2);
    [one_of(clusters, now), one_of(rest, now)].into_iter().flatten().collect()
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
            "---\ntitle: \"About {name}\"\ntags: [{tags}]\ncategory: success_pattern\ncreated_at: \"2026-02-{day:02}\"\n{rest}---\n\n{body}\n"
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
        assert_eq!(
            merge.new,
            "---\ntitle: \"About ghi789\"\ntags: [sqlite, foreign keys, migration, rust, cascade]\ncategory: success_pattern\n\
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
        let fence = |indent: &str| format!("```yaml\na:\n{indent}b: 1\n```");
        let one = learning("a", 1, "x", "", &format!("Set LANG.\n\n{}", fence("  ")));
        let two = learning("b", 2, "x", "", &format!("Set lang.\n\n{}", fence("    ")));
        let both = [one, two];
        let merged = &merged(&both, 0)[0].new;
        assert!(merged.contains("Set LANG.") && merged.contains("Set lang."), "{merged}");
        assert!(merged.contains("\n  b: 1") && merged.contains("\n    b: 1"), "{merged}");
    }

    #[test]
    fn learnings_of_different_kinds_stay_apart() {
        for rest in ["scope: \"task:1\"\n", "feature: x\n", "source: agent\n"] {
            let learnings = [learning("a", 1, "x", "", "A."), learning("b", 2, "x", rest, "B.")];
            assert_eq!(merged(&learnings, 0), [], "{rest}");
        }
        let mut other = learning("b", 2, "x", "", "B.");
        other.entry.head.category = Some("pitfall".to_owned());
        assert_eq!(merged(&[learning("a", 1, "x", "", "A."), other], 0), []);
        // A third of the tags, none at all, and too much to read.
        assert_eq!(merged(&[learning("a", 1, "x, y", "", "A."), learning("b", 2, "x, z", "", "B.")], 0), []);
        let long = "long ".repeat(MAX_BODY / 8);
        assert_eq!(merged(&[learning("a", 1, "x", "", &long), learning("b", 2, "x", "", &long)], 0), []);
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
                let mut learning = learning(&format!("n{number:02}"), *day, &tags.join(", "), "", &format!("{fact}\n\n{}", "word ".repeat(length * 400)));
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
            prop_assert!(merges.iter().all(|merge| merge.new.len() <= MAX_BODY + MAX_FRONTMATTER_BYTES));
        }
    }

    #[test]
    fn thousands_of_similar_learnings_become_a_few() {
        let learnings: Vec<Learning> = (0..3_000)
            .map(|number| {
                learning(&format!("a-fact-{number}"), 1 + number % 28, "sqlite, schema", "", &format!("Fact {number}."))
            })
            .collect();
        let merges = merged(&learnings, 200);
        let after = after(&learnings, &merges);
        assert!((2..16).contains(&after.len()), "{}", after.len());
        assert_eq!(merges.iter().map(|merge| merge.others.len() + 1).sum::<usize>(), 3_000);
        assert_eq!(merged(&after, 0), []);
    }
}
