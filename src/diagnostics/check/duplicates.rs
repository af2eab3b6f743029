//! Finds knowledge entries with the same content that writing did not merge: a person wrote one and an agent the other,
//! one was written by hand, or the words of their titles are in another order.
//!
//! A false alarm costs more trust than a missed pair costs room, so only three signs count: equal titles, equal bodies,
//! and, between entries with tags in common, titles of which one has the words of the other and few more.

use std::collections::{BTreeSet, HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::entry::knowledge::{Class, class, is_proposed};
use crate::entry::{Id, Kind, Scope};
use crate::error::{Problem, Severity};
use crate::knowledge::dedup::{content_words, share_most};
use crate::knowledge::tidy::plan::LiveEntry;
use crate::search::retrieve::{in_circles, replaced};
use crate::text::{are_told_apart, comparable, printed_command};

/// A body of fewer words than this may be right for two entries.
const MIN_BODY_WORDS: u32 = 5;
/// Titles of fewer words than this are similar too easily.
const MIN_TITLE_WORDS: usize = 3;
/// The share of the longer title that the shorter one must have, in hundredths of its words, where it contains all
/// words of the shorter one: 3 of 4, 5 of 7. Titles that each have a word of their own are not similar, however many
/// they share: among 3,487 bug reports most of such pairs were two things, as `replace A by B` and `replace C by B`
/// are.
const TITLE_OVERLAP: usize = 70;
/// How many tags both must have where the words of the titles are not all the same.
const MIN_SHARED_TAGS: usize = 2;
/// A word that more titles of a scope have than this does not make two of them similar. It also limits how many pairs
/// are compared.
const MAX_TITLES_WITH_WORD: usize = 50;

/// How two entries are alike that say the same.
const SAME_BODY: &str = "has the same body as";

/// Returns a problem for each entry with the same content as one whose path comes first, and for each that replaces the same
/// entry as an earlier one. Of `pairs` the first replaces the second, which is left alone.
pub(super) fn find(live: &[LiveEntry], pairs: &[(Id, Id)], now: DateTime<Utc>) -> Vec<Problem> {
    let replaced = replaced(pairs);
    let mut by_scope: HashMap<&Scope, Vec<&LiveEntry>> = HashMap::new();
    let mut by_id: HashMap<&Id, &LiveEntry> = HashMap::new();
    for item in live {
        let head = &item.head;
        let is_knowledge = head.kind == Kind::Knowledge && !is_proposed(head);
        if is_knowledge && item.counts && head.valid && !head.is_expired(now) && !replaced.contains(&item.id) {
            by_id.insert(&item.id, item);
            if class(head.category.as_deref()) != Class::Event {
                by_scope.entry(&head.scope).or_default().push(item);
            }
        }
    }
    let (mut problems, mut replacing) = (Vec::new(), HashMap::new());
    let circling = in_circles(pairs);
    for (new, old) in pairs.iter().filter(|(new, _)| !circling.contains(new)) {
        let Some(&item) = by_id.get(new) else { continue };
        let first: &mut &LiveEntry = replacing.entry(old).or_insert(item);
        if first.id != item.id {
            problems.push(problem(item, first, "replaces the same entry as"));
        }
    }
    for items in by_scope.values_mut() {
        items.sort_by(|one, other| one.path.cmp(&other.path));
        problems.extend(find_in_scope(items));
    }
    problems
}

fn find_in_scope(items: &[&LiveEntry]) -> Vec<Problem> {
    let words: Vec<BTreeSet<String>> = items.iter().map(|item| content_words(&item.head.title)).collect();
    let titles = Titles::new(&words);
    let mut by_title = HashMap::new();
    let mut by_body = HashMap::new();
    let mut problems = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let same_title = *by_title.entry(comparable(&item.head.title)).or_insert(at);
        let has_body = item.head.body_words >= MIN_BODY_WORDS;
        let same_body = if has_body { *by_body.entry(item.head.body_fingerprint).or_insert(at) } else { at };
        let found = if same_title < at {
            Some((same_title, "has the same title as"))
        } else if same_body < at {
            Some((same_body, SAME_BODY))
        } else {
            titles.first_like(at, items).map(|first| (first, "has nearly the same title and tags as"))
        };
        // Many files have a section called `Testing`, and each is about its own folder.
        let is_of_other_file = |first: usize| {
            let file = |at: &LiveEntry| at.head.imported.as_deref().map(|key| key.split('#').next().map(str::to_owned));
            matches!((file(item), file(items[first])), (Some(one), Some(other)) if one != other)
        };
        let found = found.filter(|(first, how)| *how == SAME_BODY || !is_of_other_file(*first));
        if let Some((first, how)) = found {
            problems.push(problem(item, items[first], how));
        }
    }
    problems
}

fn problem(item: &LiveEntry, first: &LiveEntry, how: &str) -> Problem {
    let is_older = (item.head.recency(), &item.path) < (first.head.recency(), &first.path);
    let (old, new) = if is_older { (item, first) } else { (first, item) };
    let message = format!("the entry {how} `.ralph/{}`", first.path);
    let ids = [("OLD", old.id.as_str()), ("NEW", new.id.as_str())];
    let supersede = printed_command("ralph-memory edit NEW --supersedes OLD", &ids);
    let hint = format!("merge them, or let one replace the other: {supersede}");
    item.problem(Severity::Warning, "near-duplicate", message, hint)
}

/// The titles of one scope as sets of words, and the long enough titles that have each of the rarer words.
struct Titles<'a> {
    sets: &'a [BTreeSet<String>],
    by_word: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Titles<'a> {
    fn new(sets: &'a [BTreeSet<String>]) -> Titles<'a> {
        let mut by_word: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, words) in sets.iter().enumerate().filter(|(_, words)| words.len() >= MIN_TITLE_WORDS) {
            for word in words {
                by_word.entry(word).or_default().push(at);
            }
        }
        by_word.retain(|_, titles| titles.len() <= MAX_TITLES_WITH_WORD);
        Titles { sets, by_word }
    }

    /// Returns the first of the entries before `at` that is similar to it.
    fn first_like(&self, at: usize, items: &[&LiveEntry]) -> Option<usize> {
        let tags: HashSet<&str> = items[at].head.tags.iter().map(String::as_str).collect();
        let near = self.sets[at].iter().filter_map(|word| self.by_word.get(word.as_str())).flatten();
        let title = |at: usize| items[at].head.title.as_str();
        let is_like = |other: usize| self.are_alike(at, other) && !are_told_apart(title(at), title(other));
        let alike = near.copied().filter(|&other| other < at && is_like(other));
        alike.filter(|&other| self.share_tags(at, other, &tags, &items[other].head.tags)).min()
    }

    fn are_alike(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.sets[one], &self.sets[other]);
        let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
        short.len() * 100 >= long.len() * TITLE_OVERLAP && short.is_subset(long)
    }

    fn share_tags(&self, one: usize, other: usize, tags: &HashSet<&str>, others: &[String]) -> bool {
        let n_shared = others.iter().filter(|tag| tags.contains(tag.as_str())).count();
        share_most(tags, others) && (n_shared >= MIN_SHARED_TAGS || self.sets[one] == self.sets[other])
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{named, now};
    use super::*;

    /// Checks which of the entries are reported, with the first similar one.
    #[track_caller]
    fn check(live: &[LiveEntry], expected: &[(&str, &str)]) {
        let found = find(live, &[], now());
        let stem =
            |path: &str| path.rsplit('/').next().unwrap().trim_end_matches(".md`").trim_end_matches(".md").to_owned();
        let mut found: Vec<_> = found.iter().map(|problem| (stem(&problem.path), stem(&problem.message))).collect();
        found.sort();
        let expected: Vec<_> = expected.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect();
        assert_eq!(found, expected);
    }

    #[track_caller]
    fn check_titles(one: &str, other: &str, are_alike: bool) {
        let live = [named("a", one, "x, y", "one"), named("b", other, "y, x", "two")];
        check(&live, if are_alike { &[("b", "a")] } else { &[] });
    }

    #[test]
    fn titles_are_similar_whatever_the_order_of_their_words() {
        check_titles("Cargo bench requires nightly", "cargo  bench requires Nightly", true);
        check_titles("Cargo bench requires nightly", "Cargo bench needs nightly", true);
        check_titles("Cargo bench requires nightly", "Nightly is required for cargo bench", true);
        check_titles("Javadoc errors are ignored in precommit jobs", "Precommit jobs ignored all Javadoc errors", true);
        check_titles("Replace Guava predicates by Java suppliers", "Replace Guava functions by Java suppliers", false);
        check_titles("Keep locks across awaits in handlers", "Never keep locks across awaits in handlers", false);
        check_titles("Cargo bench requires nightly", "Nightly required: cargo bench", true);
        check_titles("Integration tests need Docker", "Docker needed in the integration test", true);
        check_titles("Cargo bench requires nightly", "Cargo test requires Docker", false);
        check_titles("Cargo bench requires nightly", "Cargo bench requires a quiet machine", false);
        check_titles("Error E0502 in the parser module", "Error E0505 in the parser module", false);
        check_titles("Postgres 15 drops the old index", "Postgres 16 drops the old index", false);
        check_titles("Port 8080 is taken in CI", "The port is taken in CI", false);
        check_titles("Use cargo", "Use the cargo", false);
    }

    #[test]
    fn similar_titles_also_need_common_tags() {
        let pair = |title: &str, tags: &str| {
            [named("a", "Cargo bench needs nightly Rust", "x, y", "one"), named("b", title, tags, "two")]
        };
        let same_words = "Nightly Rust required for cargo bench";
        check(&pair(same_words, "x, y"), &[("b", "a")]);
        check(&pair(same_words, "y"), &[("b", "a")]);
        check(&pair(same_words, "x, z"), &[]);
        check(&pair(same_words, "z"), &[]);
        let one_more = "Cargo bench needs nightly Rust locally";
        check(&pair(one_more, "x, y"), &[("b", "a")]);
        check(&pair(one_more, "y"), &[]);
    }

    #[test]
    fn equal_titles_and_equal_bodies_need_nothing_else() {
        let body = "All five words of it.";
        check(
            &[named("a", "One thing", "x", body), named("b", "Another", "y", "All five\nwords of it.")],
            &[("b", "a")],
        );
        check(
            &[named("a", "One thing", "x", "Only four words here"), named("b", "Another", "y", "Only four words here")],
            &[],
        );
        check(&[named("a", "One thing", "x", "one"), named("b", "one  THING", "y", "two")], &[("b", "a")]);
        // Each of many is reported once, with the first.
        let live = [named("c", "T", "x", body), named("a", "T", "x", body), named("b", "T", "x", body)];
        check(&live, &[("b", "a"), ("c", "a")]);
    }

    #[test]
    fn events_other_scopes_and_replaced_entries_are_left_alone() {
        let pair = |change: &dyn Fn(&mut LiveEntry)| {
            let mut other = named("b", "Same title", "x", "two");
            change(&mut other);
            [named("a", "Same title", "x", "one"), other]
        };
        check(&pair(&|_| {}), &[("b", "a")]);
        check(&pair(&|item| item.head.scope = Scope::Task("t".into())), &[]);
        check(&pair(&|item| item.head.category = Some("decision".into())), &[]);
        check(&pair(&|item| item.head.valid = false), &[]);
        check(&pair(&|item| item.counts = false), &[]);
        check(&pair(&|item| item.head.expires_at = Some(now())), &[]);
        let replaced = [(Id::parse("other").unwrap(), Id::parse("b").unwrap())];
        assert_eq!(find(&pair(&|_| {}), &replaced, now()), []);
        let both = ["a", "b"].map(|new| (Id::parse(new).unwrap(), Id::parse("old").unwrap()));
        let live = [named("a", "One", "x", "one"), named("b", "Two", "x", "two")];
        assert_eq!(
            find(&live, &both, now())[0].message,
            "the entry replaces the same entry as `.ralph/knowledge/a.md`"
        );
    }

    #[test]
    fn the_hint_lets_the_newer_replace_the_older() {
        let dated = |stem: &str, date: &str| {
            let mut item = named(stem, "Same title", "x", stem);
            item.head.created_at = crate::entry::parse_time(date);
            item
        };
        let hint = |live: &[LiveEntry]| find(live, &[], now())[0].hint.to_string();
        let end = |hint: String| hint.split_once("ralph-memory edit ").unwrap().1.to_owned();
        assert_eq!(
            end(hint(&[dated("a", "2026-01-01"), dated("b", "2026-01-02")])),
            "knowledge/b --supersedes knowledge/a`"
        );
        assert_eq!(
            end(hint(&[dated("a", "2026-01-02"), dated("b", "2026-01-01")])),
            "knowledge/a --supersedes knowledge/b`"
        );
    }

    #[test]
    fn a_word_of_many_titles_compares_nothing() {
        let live: Vec<LiveEntry> = (0..200)
            .map(|at| named(&format!("e{at:03}"), &format!("alpha beta gamma {}", "x".repeat(at + 1)), "x", "one"))
            .collect();
        let words: Vec<BTreeSet<String>> = live.iter().map(|item| content_words(&item.head.title)).collect();
        assert!(Titles::new(&words).by_word.values().all(|titles| titles.len() <= MAX_TITLES_WITH_WORD));
    }
}
