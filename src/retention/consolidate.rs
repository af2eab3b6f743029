//! Many learnings that say the like become one.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::entry::body::blocks;
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::timestamp;
use crate::entry::{Entry, Head, Id, Scope, Source};
use crate::text::fold;

/// The longest body that a merge makes, in bytes: a longer one nobody reads.
const MAX_BODY: usize = 64 * 1024;

/// One live learning.
#[derive(Debug, Clone, PartialEq)]
pub struct Learning {
    /// Its id.
    pub id: Id,
    /// Its path, relative to `.ralph/`.
    pub path: String,
    /// Its file.
    pub text: String,
    /// What the file says.
    pub entry: Entry,
}

/// Learnings that become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// The newest, which takes over what the others say.
    pub into: Id,
    /// Its path, relative to `.ralph/`.
    pub path: String,
    /// Its file as it was.
    pub old: String,
    /// Its file as it is to be.
    pub new: String,
    /// The others with their paths, the newest first: these are to go to the archive.
    pub others: Vec<(Id, String)>,
}

/// Returns what is to be merged where there are over `most` learnings, by the newest of each cluster.
///
/// Those of one category, scope, feature and kind of author belong together that have half of all their tags
/// in common, directly or through others. The newest keeps its text as it is, and below it comes what the
/// others say, each under its title, block by block, but for blocks that are there already; it gets their
/// tags as well, and names them as superseded. Merged ones may in turn have half of their tags in common,
/// so this goes on until none have: consolidating again then changes nothing.
pub fn consolidate(learnings: &[Learning], most: usize, now: DateTime<Utc>) -> Vec<Merge> {
    if learnings.len() <= most {
        return Vec::new();
    }
    let mut order: Vec<&Learning> = learnings.iter().collect();
    order.sort_by(|one, other| {
        other.entry.head.recency().cmp(&one.entry.head.recency()).then_with(|| one.id.cmp(&other.id))
    });
    let mut groups: HashMap<Group<'_>, Vec<Cluster<'_>>> = HashMap::new();
    for learning in order {
        groups.entry(Group::of(&learning.entry.head)).or_default().push(Cluster::new(learning));
    }
    let mut merges: Vec<Merge> = Vec::new();
    for clusters in groups.into_values() {
        let merged = grown(clusters).into_iter().filter(|cluster| cluster.members.len() > 1);
        merges.extend(merged.filter_map(|cluster| cluster.merge(now)));
    }
    merges.sort_by(|one, other| one.path.cmp(&other.path));
    merges
}

/// What learnings must have in common beside tags.
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
            is_human: head.source == Source::Human,
        }
    }
}

/// Learnings that belong together, the newest first.
struct Cluster<'a> {
    members: Vec<&'a Learning>,
    /// The tags of each, in any order.
    own: Vec<HashSet<&'a str>>,
    /// The tags of all.
    tags: HashSet<&'a str>,
    n_bytes: usize,
}

impl<'a> Cluster<'a> {
    fn new(learning: &'a Learning) -> Cluster<'a> {
        let tags: HashSet<&str> = learning.entry.head.tags.iter().map(String::as_str).collect();
        Cluster { members: vec![learning], own: vec![tags.clone()], tags, n_bytes: size(learning) }
    }

    /// Returns whether the two have half of all their tags in common, or a member of each does.
    fn belongs_to(&self, other: &Cluster<'a>) -> bool {
        let mut pairs = self.own.iter().flat_map(|one| other.own.iter().map(move |other| (one, other)));
        are_alike(&self.tags, &other.tags) || pairs.any(|(one, other)| are_alike(one, other))
    }

    /// Returns the two as one, unless that would be too much to read.
    fn with(&self, other: &Cluster<'a>) -> Option<Cluster<'a>> {
        let n_bytes = self.n_bytes + other.n_bytes;
        if n_bytes > MAX_BODY {
            return None;
        }
        let mut members = [self.members.as_slice(), &other.members].concat();
        members.sort_by(|one, other| {
            other.entry.head.recency().cmp(&one.entry.head.recency()).then_with(|| one.id.cmp(&other.id))
        });
        let own = [self.own.as_slice(), &other.own].concat();
        let cluster = Cluster { members, own, tags: self.tags.union(&other.tags).copied().collect(), n_bytes };
        // What cannot be written is not merged.
        cluster.changed(DateTime::UNIX_EPOCH).is_some().then_some(cluster)
    }

    /// Returns the file of the newest with what the others say.
    fn changed(&self, now: DateTime<Utc>) -> Option<String> {
        let (newest, others) = self.members.split_first()?;
        let head = &newest.entry.head;
        let tags = missing(&head.tags, others.iter().flat_map(|other| &other.entry.head.tags));
        let files = missing(&head.files, others.iter().flat_map(|other| &other.entry.head.files));
        // What the others replace is replaced by this one now.
        let replaced = others.iter().flat_map(|other| [&other.id].into_iter().chain(&other.entry.head.supersedes));
        let supersedes = missing(&head.supersedes, replaced.filter(|id| **id != newest.id));
        let mut body = newest.entry.body.trim_matches(['\n', '\r']).trim_end().replace("\r\n", "\n");
        let mut said: HashSet<String> = blocks(&newest.entry.body).into_iter().map(as_said).collect();
        let mut titles = HashSet::from([fold(&head.title)]);
        for other in others {
            let other_body = other.entry.body.replace("\r\n", "\n");
            let new_blocks: Vec<&str> =
                blocks(&other_body).into_iter().filter(|block| said.insert(as_said(block))).collect();
            let title = &other.entry.head.title;
            if titles.insert(fold(title)) || !new_blocks.is_empty() {
                body.push_str(&format!("\n\n## {title}"));
            }
            for block in new_blocks {
                body.push_str("\n\n");
                body.push_str(block);
            }
        }
        let mut changes = vec![
            Change::AddItems("tags", tags),
            Change::AddItems("files", files),
            Change::AddItems("supersedes", supersedes),
        ];
        changes.retain(|change| !matches!(change, Change::AddItems(_, items) if items.is_empty()));
        changes.push(Change::Set(edit::updated_key(&newest.text), timestamp(now)));
        changes.push(Change::Body(body));
        edit::apply(&newest.text, &changes).ok()
    }

    fn merge(&self, now: DateTime<Utc>) -> Option<Merge> {
        let new = self.changed(now)?;
        let (newest, others) = self.members.split_first()?;
        Some(Merge {
            into: newest.id.clone(),
            path: newest.path.clone(),
            old: newest.text.clone(),
            new,
            others: others.iter().map(|other| (other.id.clone(), other.path.clone())).collect(),
        })
    }
}

/// Returns those of `items` that `own` has not, each once.
fn missing<'a, T: ToString + PartialEq + 'a>(own: &[T], items: impl Iterator<Item = &'a T>) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for item in items.filter(|item| !own.contains(item)).map(ToString::to_string) {
        if !missing.contains(&item) {
            missing.push(item);
        }
    }
    missing
}

/// Returns a block as it is compared: in prose white space says nothing, in code it may say everything.
fn as_said(block: &str) -> String {
    let is_code = block.starts_with(' ') || block.contains("```") || block.contains("~~~");
    if is_code { block.to_owned() } else { block.split_whitespace().collect::<Vec<_>>().join(" ") }
}

/// Returns how much a learning adds to a body, at the most.
fn size(learning: &Learning) -> usize {
    learning.entry.body.len() + learning.entry.head.title.len() + "\n\n## \n\n".len()
}

/// Returns whether half of all tags are tags of both.
fn are_alike(one: &HashSet<&str>, other: &HashSet<&str>) -> bool {
    let (fewer, more) = if one.len() < other.len() { (one, other) } else { (other, one) };
    if fewer.is_empty() || fewer.len() * 2 < more.len() {
        return false;
    }
    let n_shared = fewer.iter().filter(|tag| more.contains(*tag)).count();
    n_shared * 2 >= fewer.len() + more.len() - n_shared
}

/// Lets clusters grow together until none belong together that may.
fn grown(mut clusters: Vec<Cluster<'_>>) -> Vec<Cluster<'_>> {
    loop {
        let mut left: Vec<Cluster<'_>> = Vec::new();
        let mut has_grown = false;
        for cluster in clusters {
            let found = left.iter().enumerate().find_map(|(at, other)| {
                other.belongs_to(&cluster).then(|| other.with(&cluster)).flatten().map(|both| (at, both))
            });
            match found {
                Some((at, both)) => {
                    left[at] = both;
                    has_grown = true;
                }
                None => left.push(cluster),
            }
        }
        clusters = left;
        if !has_grown {
            return clusters;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{parse_time, read};

    fn learning(name: &str, day: u32, tags: &str, rest: &str, body: &str) -> Learning {
        let path = format!("knowledge/{name}.md");
        let text = format!(
            "---\ntitle: \"About {name}\"\ntags: [{tags}]\ncategory: success_pattern\ncreated_at: \"2026-02-{day:02}\"\n{rest}---\n\n{body}\n"
        );
        Learning { id: Id::of_path(&path).unwrap(), entry: read(&path, text.as_bytes()), path, text }
    }

    fn merged(learnings: &[Learning], most: usize) -> Vec<Merge> {
        consolidate(learnings, most, parse_time("2026-03-01").unwrap())
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
    fn the_newest_takes_over_what_the_others_say() {
        let merges = merged(&example(), 3);
        assert_eq!(merges.len(), 1);
        let merge = &merges[0];
        assert_eq!(merge.into.stem(), "ghi789");
        assert_eq!(merge.others.iter().map(|(id, _)| id.stem()).collect::<Vec<_>>(), ["def456", "abc123"]);
        assert_eq!(
            merge.new,
            "---\ntitle: \"About ghi789\"\ntags: [sqlite, foreign keys, migration, rust, cascade]\ncategory: success_pattern\n\
             created_at: \"2026-02-03\"\nfiles: [a.rs]\nsupersedes: [knowledge/def456, knowledge/abc123]\nupdated_at: \"2026-03-01T00:00:00Z\"\n---\n\n\
             Check after migrations.\n\nEnable  PRAGMA foreign_keys.\n\n## About def456\n\nUse ON DELETE CASCADE.\n\n```sql\nx\n\ny\n```\n\n## About abc123\n"
        );
        assert_eq!(merge.old, example()[2].text);
        // Up to the threshold nothing is merged, and the order says nothing.
        assert_eq!(merged(&example(), 4), []);
        let mut turned = example();
        turned.reverse();
        assert_eq!(merged(&turned, 3), merges);
    }

    #[test]
    fn what_differs_in_code_or_case_is_said_twice() {
        let fence = |indent: &str| format!("```yaml\na:\n{indent}b: 1\n```");
        let one = learning("a", 1, "x", "", &format!("Set LANG.\n\n{}", fence("  ")));
        let two = learning("b", 2, "x", "", &format!("Set lang.\n\n{}", fence("    ")));
        let merged = &merged(&[one, two], 0)[0].new;
        assert!(merged.contains("Set LANG.") && merged.contains("Set lang."), "{merged}");
        assert!(merged.contains("\n  b: 1") && merged.contains("\n    b: 1"), "{merged}");
    }

    #[test]
    fn what_is_not_of_a_kind_stays_apart() {
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

    #[test]
    fn merging_again_changes_nothing() {
        let letters = ["a", "b", "c", "d", "e", "f"];
        let learnings: Vec<Learning> = (0..60_usize)
            .map(|number| {
                let tags: Vec<&str> = (0..=number % 4).map(|at| letters[(number * (at + 2) + at) % 6]).collect();
                learning(
                    &format!("n{number}"),
                    1 + u32::try_from(number % 28).unwrap(),
                    &tags.join(", "),
                    "",
                    &format!("Fact {number}."),
                )
            })
            .collect();
        let merges = merged(&learnings, 10);
        assert!(!merges.is_empty());
        let gone: HashSet<&Id> = merges.iter().flat_map(|merge| &merge.others).map(|(id, _)| id).collect();
        let after: Vec<Learning> = learnings
            .iter()
            .filter(|learning| !gone.contains(&learning.id))
            .map(|learning| {
                let merge = merges.iter().find(|merge| merge.into == learning.id);
                let text = merge.map_or_else(|| learning.text.clone(), |merge| merge.new.clone());
                Learning { entry: read(&learning.path, text.as_bytes()), text, ..learning.clone() }
            })
            .collect();
        assert_eq!(merged(&after, 0), []);
        let all: String = after.iter().map(|learning| learning.text.as_str()).collect();
        assert!((0..60).all(|number| all.contains(&format!("Fact {number}.\n"))));
    }
}
