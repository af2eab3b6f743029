//! Decides whether knowledge is new, or repeats an entry.
//!
//! One fact must never replace another, so anything that is not certainly the same is new. Pure: takes heads, returns a
//! decision. The caller carries it out.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashSet};

use crate::entry::knowledge::{Class, Knowledge, class};
use crate::entry::written::{fingerprint, had_body, short};
use crate::entry::{Head, Kind, body_fingerprint};
use crate::text::{are_told_apart, comparable, telling, telling_words, title_of, tokens, words};

/// How many of an entry's statements a new body must repeat to replace it, in hundredths.
const KEPT_STATEMENTS: usize = 60;
/// The longest body whose statements are searched for inside of longer ones, in bytes.
const MAX_SEARCHED: usize = 64 * 1024;
/// How many similar entries are listed.
const MAX_SIMILAR: usize = 3;
/// How many of the words of the shorter title a longer one must have to be similar, in hundredths.
const SIMILAR_WORDS: usize = 60;
/// The tags that imports give.
const OF_IMPORTS: [&str; 2] = ["rules", "adr"];
/// Words that do not tell the topic of a title, plurals cut.
const STOP_WORDS: [&str; 32] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "doe", "for", "from", "how", "in", "is", "it",
    "must", "need", "needed", "of", "on", "require", "required", "should", "the", "to", "use", "using", "when", "with",
    "you",
];

/// An entry that may be the same as new knowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SameCandidate<Key> {
    /// Its number among the heads.
    pub key: Key,
    /// Whether it has the same title, rather than the words of the other title and common tags.
    pub has_title: bool,
    /// Whether it had the same title before it was renamed.
    pub had_title: bool,
    /// Whether it is an agent's, and the new knowledge a person's.
    pub takes_over: bool,
}

/// The live entries that relate to new knowledge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DuplicateSearch<Key> {
    /// Those that may be the same, equal titles first; [`is_same`] decides.
    pub candidates: Vec<SameCandidate<Key>>,
    /// The most similar ones by title, tags and body, the nearest first, at most three.
    pub similar: Vec<Key>,
}

/// Returns which of the live entries `heads` may be the same as the new knowledge, and which are similar.
///
/// An entry can only be the same if it has the same scope, and both are by people or both by agents: an agent's words
/// never replace a person's. A person's replace an agent's of that title. Events are never the same as anything here.
pub(crate) fn find<Key: Copy + Ord>(
    new: &Knowledge,
    heads: impl Iterator<Item = (Key, impl Borrow<Head>)>,
) -> DuplicateSearch<Key> {
    let title = tokens(&new.title);
    let about = content_words(&new.title);
    let (fingerprint, _) = body_fingerprint(&new.body);
    let tags: HashSet<&str> = new.tags.iter().map(String::as_str).collect();
    let mut found = DuplicateSearch { candidates: Vec::new(), similar: Vec::new() };
    let mut similar: Vec<(usize, Key)> = Vec::new();
    for (key, head) in heads {
        let head = head.borrow();
        let is_event = |category: &Option<String>| class(category.as_deref()) == Class::Event;
        if head.kind != Kind::Knowledge || !head.valid || is_event(&head.category) || is_event(&new.category) {
            continue;
        }
        let other_title = tokens(&head.title);
        let has_title = other_title == title;
        // What an import gives all of its entries says nothing about one.
        let told = head.tags.iter().filter(|tag| head.imported.is_none() || !OF_IMPORTS.contains(&tag.as_str()));
        let share_tags = share_most(&tags, &told.cloned().collect::<Vec<_>>());
        let had_title = !has_title && head.aliases.iter().any(|alias| tokens(alias) == title);
        let is_of_agent = !head.source.is_person();
        let takes_over = new.source.is_person() && is_of_agent && (has_title || had_title);
        let may_be_same = head.scope == new.scope && (new.source.is_person() != is_of_agent || takes_over);
        if may_be_same && (has_title || had_title || share_tags && contains_run(&title, &other_title)) {
            found.candidates.push(SameCandidate { key, has_title, had_title, takes_over });
        }
        let other = content_words(&head.title);
        let n_shared = about.intersection(&other).count();
        let shorter = about.len().min(other.len()).max(1);
        let share = n_shared * 100 / shorter;
        let is_similar = has_title
            || had_title
            || head.body_fingerprint == fingerprint
            || share >= SIMILAR_WORDS && (share_tags || n_shared >= 3)
            || share_tags && n_shared >= 2;
        if is_similar {
            let points =
                share + n_shared * 10 + usize::from(has_title || had_title) * 200 + usize::from(share_tags) * 30;
            similar.push((points + usize::from(head.body_fingerprint == fingerprint) * 200, key));
        }
    }
    found.candidates.sort_by_key(|candidate| (!candidate.has_title, !candidate.had_title, candidate.takes_over));
    similar.sort_by(|(points, key), (other_points, other_key)| (other_points, key).cmp(&(points, other_key)));
    found.similar = similar.into_iter().take(MAX_SIMILAR).map(|(_, key)| key).collect();
    found
}

/// Returns whether new knowledge is a later version of an entry that [`find`] considers possibly the same.
///
/// It is if both have the same title, given by a writer, as a field or as a heading. A title that is cut from the body adds nothing to it. Then,
/// and if one title only contains the words of the other, the new body must keep at least 60 % of the old statements,
/// it must contain everything in the old title, and neither title nor body may have a negation, a number or a symbol that the
/// other lacks. A title that the entry had before it was renamed is free for another fact, so there the body decides, too.
pub(crate) fn is_same<Key>(new: &Knowledge, candidate: &SameCandidate<Key>, title: &str, body: &str) -> bool {
    let has_heading = |body: &str| body.trim_start().starts_with("# ");
    let is_given = |title: &str, body: &str| has_heading(body) || comparable(title) != comparable(&title_of(body));
    if candidate.has_title && is_given(&new.title, &new.body) && is_given(title, body) {
        return true;
    }
    let title = if candidate.had_title { &new.title } else { title };
    let said: HashSet<String> = words(&new.title).into_iter().chain(words(&new.body)).collect();
    words(title).iter().all(|word| said.contains(word)) && !are_told_apart(&new.title, title) && keeps(&new.body, body)
}

/// Returns whether a body repeats enough of another one's statements, and nothing tells the two apart.
fn keeps(new: &str, old: &str) -> bool {
    let (old, all) = (statements(old), statements(new));
    let telling = |statements: &[String]| -> BTreeSet<String> {
        telling(statements.iter().flat_map(|statement| statement.split(' '))).into_iter().map(str::to_owned).collect()
    };
    if telling(&old) != telling(&all) {
        return false;
    }
    let all: HashSet<String> = all.into_iter().collect();
    let text = (new.len() <= MAX_SEARCHED).then(|| format!(" {} ", comparable(new)));
    let is_kept = |statement: &&String| {
        all.contains(*statement) || text.as_ref().is_some_and(|text| text.contains(&format!(" {statement} ")))
    };
    // A text without statements, such as a rule or an emoji, is only replaced by one without statements.
    let n_kept = old.iter().filter(is_kept).count();
    if old.is_empty() { all.is_empty() } else { n_kept * 100 >= old.len() * KEPT_STATEMENTS }
}

/// Returns the statements of a text: its sentences, and its lines if these are shorter, in the form for comparisons and
/// without the marks of lists and headings.
pub(crate) fn statements(text: &str) -> Vec<String> {
    let mut statements = Vec::new();
    for line in text.lines() {
        let is_mark = |word: &str| matches!(word, "-" | "*" | "+") || !word.contains(|letter| letter != '#');
        let line = line.trim_start();
        let line = line.split_once(' ').filter(|(word, _)| is_mark(word)).map_or(line, |(_, rest)| rest);
        if !line.contains(|letter| !matches!(letter, '-' | '*' | '_' | ' ')) {
            continue;
        }
        let mut start = 0;
        for (at, character) in line.char_indices() {
            let end = at + character.len_utf8();
            // The dot inside of `main.rs` ends no sentence.
            let is_end = match character {
                '.' | '!' | '?' | ';' => line[end..].starts_with(char::is_whitespace),
                '。' | '！' | '？' => true,
                _ => false,
            };
            if is_end {
                statements.push(comparable(&line[start..end]));
                start = end;
            }
        }
        statements.push(comparable(&line[start..]));
    }
    statements.retain(|statement| !statement.is_empty());
    statements
}

/// Returns whether a title is of a task that is similar to the one whose title has the [`content_words`] `one`: they share
/// at least 60 % of the longer one's topic.
pub(crate) fn is_similar_task(one: &BTreeSet<String>, other: &str) -> bool {
    let other = content_words(other);
    let n_shared = one.intersection(&other).count();
    n_shared > 1 && n_shared * 100 >= one.len().max(other.len()) * SIMILAR_WORDS
}

/// Returns the topic of a title: its words without stop words and without plurals.
pub(crate) fn content_words(title: &str) -> BTreeSet<String> {
    let singular = |word: String| {
        if word.len() > 3 && !word.ends_with("ss") { word.trim_end_matches('s').to_owned() } else { word }
    };
    words(title).into_iter().map(singular).filter(|word| !STOP_WORDS.contains(&word.as_str())).collect()
}

/// Returns whether an entry with this head may say what new knowledge says, or have said it before: it has, or had, the same
/// title.
pub(crate) fn may_repeat(new: &Knowledge, head: &Head) -> bool {
    let title = comparable(&new.title);
    let has_title = || head.aliases.iter().chain([&head.title]).any(|name| comparable(name) == title);
    let said_it = had_body(&head.fingerprints, &new.body);
    let may_say_it = || said_it || head.body_fingerprint == body_fingerprint(&new.body).0;
    let had_title = || {
        said_it && {
            let text = fingerprint(&new.title, &new.body);
            head.fingerprints.iter().any(|known| short(known) == text)
        }
    };
    head.kind == Kind::Knowledge
        && head.valid
        && head.scope == new.scope
        && (had_title() || has_title() && may_say_it())
}

/// Returns whether an entry may describe the same event as the new knowledge, by its head: it has the same scope and
/// category, and their titles, which may be cut, begin with the same words.
pub(crate) fn may_be_same_event(new: &Knowledge, head: &Head) -> bool {
    let (one, other) = (telling_words(&new.title), telling_words(&head.title));
    let n_whole = one.len().min(other.len()).saturating_sub(1);
    head.scope == new.scope && head.category == new.category && one[..n_whole] == other[..n_whole]
}

/// Returns whether two sets of tags share more than half of the smaller one: only then similar titles count.
pub(crate) fn share_most(one: &HashSet<&str>, other: &[String]) -> bool {
    let n_shared = other.iter().filter(|tag| one.contains(tag.as_str())).count();
    n_shared * 2 > one.len().min(other.len())
}

/// Returns whether the tokens of one title occur in the other in a row.
pub(crate) fn contains_run(one: &[String], other: &[String]) -> bool {
    let (long, short) = if one.len() >= other.len() { (one, other) } else { (other, one) };
    !short.is_empty() && long.windows(short.len()).any(|window| window == short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Scope, Source};

    fn head(title: &str, tags: &[&str]) -> Head {
        Head {
            valid: true,
            title: title.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..Head::empty(Kind::Knowledge)
        }
    }

    #[track_caller]
    fn check(new: &Knowledge, heads: &[Head], expected: &[(usize, bool)]) {
        let found = find(new, heads.iter().enumerate()).candidates;
        let found: Vec<_> = found.iter().map(|candidate| (candidate.key, candidate.has_title)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn equal_titles_come_before_similar_ones() {
        let new = Knowledge::new("Cargo  BENCH", ["a", "b"], "x");
        check(&new, &[head("cargo bench", &["z"])], &[(0, true)]);
        let alike = head("Cargo bench needs nightly", &["a", "b"]);
        check(&new, &[alike.clone(), head("cargo bench", &["z"])], &[(1, true), (0, false)]);
        check(&new, &[alike], &[(0, false)]);
        check(&new, &[head("The cargo bench", &["a", "c"])], &[]);
        check(&new, &[head("The cargo bench", &["a", "c", "b"])], &[(0, false)]);
        check(&new, &[head("Cargo benchmarks", &["a", "b"])], &[]);
        check(&new, &[head("bench cargo", &["a", "b"])], &[]);
        check(&new, &[head("", &["a", "b"])], &[]);
    }

    #[test]
    fn other_scopes_events_and_authors_are_left_alone() {
        let new = Knowledge::new("t", ["a"], "x");
        let agent = Knowledge { source: Source::Agent, ..new.clone() };
        let by_agent = || Head { source: Source::Agent, ..head("t", &["a"]) };
        check(&new, &[Head { scope: Scope::Task("1".into()), ..head("t", &["a"]) }], &[]);
        check(&new, &[Head { category: Some("rejection".into()), ..head("t", &["a"]) }], &[]);
        check(&new, &[Head { valid: false, ..head("t", &["a"]) }], &[]);
        check(&Knowledge { category: Some("hint".into()), ..new.clone() }, &[head("t", &["a"])], &[]);
        check(&agent, &[head("t", &["a"])], &[]);
        check(&agent, &[head("t", &["a"]), Head { source: Source::Coder, ..head("t", &["a"]) }], &[(1, true)]);
        // A person's own entry comes first, then that of an agent with the same title, and not one with a similar title.
        check(&new, &[by_agent(), head("t", &["a"])], &[(1, true), (0, true)]);
        check(&new, &[Head { source: Source::Agent, ..head("the t", &["a"]) }], &[]);
    }

    #[track_caller]
    fn same(old: (&str, &str), new: (&str, &str), expected: bool) {
        let knowledge = Knowledge::new(new.0, ["a"], new.1);
        let candidate = SameCandidate {
            key: 0,
            has_title: comparable(old.0) == comparable(new.0),
            had_title: false,
            takes_over: false,
        };
        assert_eq!(is_same(&knowledge, &candidate, old.0, old.1), expected, "{old:?} {new:?}");
    }

    #[test]
    fn a_given_title_identifies_an_entry() {
        same(("Postgres", "Version 16 runs in production."), ("postgres", "It was moved to version 17."), true);
        same(("Postgres", "# Postgres\n\nVersion 16."), ("postgres", "It was moved to version 17."), true);
    }

    #[test]
    fn a_title_cut_from_the_body_identifies_nothing() {
        let start = "The parser keeps the byte order mark of each file that it reads, whatever the file";
        let long = |end: &str| format!("{start} {end}.");
        let (one, other) = (long("was on Windows before"), long("says of its own encoding"));
        same((&title_of(&one), &one), (&title_of(&other), &other), false);
        same((&title_of(&one), &one), (&title_of(&one), &one), true);
        same((&title_of(&one), &one), (&title_of(&one), &format!("{one} So strip it first.")), true);
    }

    #[test]
    fn a_similar_title_must_keep_the_old_statements() {
        let old = ("Backups of Postgres run at 2 am", "Do not deploy then. Ask the database team first.");
        same(old, ("Postgres", "Version 16 runs in production."), false);
        same(("Postgres", "Version 16 runs in production."), old, false);
        let kept = "Do not deploy then. Ask the database team first. They answer on Mondays.";
        same(old, ("Backups of Postgres run at 2 am on Sundays", kept), true);
        // Two of three are enough, one of two is not.
        let three = ("Postgres backups", "They run at 2 am. They take an hour. Ask Platform.");
        same(three, ("Nightly Postgres backups", "They run at 2 am. They take an hour. Ask Storage."), true);
        same(three, ("Nightly Postgres backups", "They run at 2 am. They take a day. Ask Storage."), false);
        // A statement that only the old title has would be lost.
        same(("Nightly Postgres backups", "They take an hour."), ("Postgres backups", "They take an hour."), false);
    }

    #[test]
    fn an_opposite_is_another_fact() {
        same(("Use cargo nextest", "It is quicker."), ("Never use cargo nextest", "It is quicker."), false);
        same(("Cargo nextest in CI", "Use it."), ("Cargo nextest in CI today", "Don’t use it."), false);
        same(("Cargo nextest in CI", "Use it there."), ("Cargo nextest in CI today", "Use it there no longer."), false);
    }

    #[test]
    fn statements_are_sentences_and_lines() {
        assert_eq!(
            statements("One in main.rs. Two!\n- three\n\n---\n四。五"),
            ["one in main.rs", "two", "three", "四", "五"]
        );
    }

    #[test]
    fn the_nearest_are_listed() {
        let new = Knowledge::new("Backups of Postgres run at 2 am", ["db"], "Do not deploy then.");
        let heads = [
            head("Paint the kitchen", &["home"]),
            head("Postgres", &["db"]),
            head("Postgres backups", &["db"]),
            head("Postgres backups run", &["ops"]),
        ];
        assert_eq!(find(&new, heads.iter().enumerate()).similar, [2, 1, 3]);
        assert!(find(&new, heads[..1].iter().enumerate()).similar.is_empty());
    }
}
