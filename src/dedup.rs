//! Whether knowledge is new, or says again what an entry says already.
//!
//! Pure: heads in, a decision out. What the decision costs and how it is carried out is the caller's.

use std::borrow::Borrow;
use std::collections::HashSet;

use crate::entry::knowledge::{Class, Knowledge, class};
use crate::entry::{Head, Kind, Source, body_fingerprint};
use crate::text::{fold, words};

/// How far two sets of tags must overlap before alike titles count: more than this share of the
/// smaller set.
pub const TAG_OVERLAP: f64 = 0.5;

/// Returns which of the live entries `heads` the new knowledge says again, if one does.
///
/// An entry of the same scope is the same when its title is, case and white space folded; else when
/// more than half of the tags of the smaller set are shared and one title's words contain the
/// other's as a run. Events are never the same as anything here, and what an agent writes is never
/// the same as an entry that a person wrote. Of several, equal titles come before alike ones, then a
/// person's entries before an agent's where a person writes, then the given order.
pub fn find<Key: Copy>(new: &Knowledge, heads: impl Iterator<Item = (Key, impl Borrow<Head>)>) -> Option<Key> {
    if class(new.category.as_deref()) == Class::Event {
        return None;
    }
    let title = fold(&new.title);
    let title_words = words(&new.title);
    let tags: HashSet<&str> = new.tags.iter().map(String::as_str).collect();
    let mut best: Option<((bool, bool), Key)> = None;
    for (key, head) in heads {
        let head = head.borrow();
        if !may_be_updated(new, head) {
            continue;
        }
        let is_alike = || overlap(&tags, &head.tags) > TAG_OVERLAP && contains_run(&title_words, &words(&head.title));
        let is_equal = fold(&head.title) == title;
        if !is_equal && !is_alike() {
            continue;
        }
        let is_by_another = (new.source == Source::Human) != (head.source == Source::Human);
        let rank = (!is_equal, is_by_another);
        if best.as_ref().is_none_or(|(best, _)| rank < *best) {
            best = Some((rank, key));
        }
    }
    best.map(|(_, key)| key)
}

/// Returns which of the live entries `heads` tells of the event that the new knowledge tells of: one of the
/// same scope and category with the same words.
pub fn find_event<Key: Copy>(new: &Knowledge, heads: impl Iterator<Item = (Key, impl Borrow<Head>)>) -> Option<Key> {
    let (fingerprint, _) = body_fingerprint(&new.body);
    let title = fold(&new.title);
    let is_it = |head: &Head| {
        head.kind == Kind::Knowledge
            && head.valid
            && head.scope == new.scope
            && head.category == new.category
            && head.body_fingerprint == fingerprint
            && fold(&head.title) == title
    };
    heads.into_iter().find(|(_, head)| is_it(head.borrow())).map(|(key, _)| key)
}

fn may_be_updated(new: &Knowledge, head: &Head) -> bool {
    head.kind == Kind::Knowledge
        && head.valid
        && head.scope == new.scope
        && class(head.category.as_deref()) != Class::Event
        && (new.source == Source::Human || head.source != Source::Human)
}

/// Returns how many of the smaller set's tags are shared, from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "an entry has far fewer than 2^52 tags")]
#[expect(clippy::implicit_hasher, reason = "no caller has another one")]
pub fn overlap(one: &HashSet<&str>, other: &[String]) -> f64 {
    let shared = other.iter().filter(|tag| one.contains(tag.as_str())).count();
    let smaller = one.len().min(other.len());
    if smaller == 0 { 0.0 } else { shared as f64 / smaller as f64 }
}

/// Returns whether the words of one title stand in the other in a row.
pub fn contains_run(one: &[String], other: &[String]) -> bool {
    let (long, short) = if one.len() >= other.len() { (one, other) } else { (other, one) };
    !short.is_empty() && long.windows(short.len()).any(|window| window == short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Scope;

    fn head(title: &str, tags: &[&str]) -> Head {
        Head {
            valid: true,
            title: title.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..Head::empty(Kind::Knowledge)
        }
    }

    #[track_caller]
    fn check(new: &Knowledge, heads: &[Head], expected: Option<usize>) {
        assert_eq!(find(new, heads.iter().enumerate()), expected);
    }

    #[test]
    fn equal_titles_come_before_alike_ones() {
        let new = Knowledge::new("Cargo  BENCH", ["a", "b"], "x");
        check(&new, &[head("cargo bench", &["z"])], Some(0));
        check(&new, &[head("Cargo bench needs nightly", &["a", "b"]), head("cargo bench", &["z"])], Some(1));
        check(&new, &[head("Cargo bench needs nightly", &["a", "b"])], Some(0));
        check(&new, &[head("The cargo bench", &["a", "c"])], None);
        check(&new, &[head("The cargo bench", &["a", "c", "b"])], Some(0));
        check(&new, &[head("Cargo benchmarks", &["a", "b"])], None);
        check(&new, &[head("bench cargo", &["a", "b"])], None);
        check(&new, &[head("", &["a", "b"])], None);
    }

    #[test]
    fn scopes_events_and_people_are_left_alone() {
        let new = Knowledge::new("t", ["a"], "x");
        let agent = Knowledge { source: Source::Agent, ..new.clone() };
        check(&new, &[Head { scope: Scope::Task("1".into()), ..head("t", &["a"]) }], None);
        check(&new, &[Head { category: Some("rejection".into()), ..head("t", &["a"]) }], None);
        check(&new, &[Head { valid: false, ..head("t", &["a"]) }], None);
        check(&Knowledge { category: Some("hint".into()), ..new.clone() }, &[head("t", &["a"])], None);
        check(&agent, &[head("t", &["a"])], None);
        check(&agent, &[head("t", &["a"]), Head { source: Source::Coder, ..head("t", &["a"]) }], Some(1));
        let by_agent = || Head { source: Source::Agent, ..head("t", &["a"]) };
        check(&new, &[by_agent()], Some(0));
        // A person's own entry comes first, wherever it stands.
        check(&new, &[by_agent(), head("t", &["a"])], Some(1));
    }
}
