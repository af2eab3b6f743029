//! What was found in a source, before it is compared with the memory.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::project::ProjectFiles;
use super::report::{ImportOrigin, ImportReport};
use super::sources::split_at;
use crate::entry::Attempt;
use crate::entry::body::blocks;
use crate::entry::knowledge::Knowledge;
use crate::error::Message;
use crate::text::shorten;

/// The longest title, in characters. The rest of a longer one goes into the body.
const MAX_TITLE: usize = 200;
/// The longest body that becomes one entry, in bytes. A longer one is split between its blocks.
const MAX_BODY: usize = 32 * 1024;

/// One fact of a source.
#[derive(Debug, Clone)]
pub(super) struct Fact {
    /// What a repeated import recognises it by, unique within the source.
    pub(super) key: String,
    pub(super) from: ImportOrigin,
    pub(super) date: Option<DateTime<Utc>>,
    /// Its title where another entry has this one: it also says what the fact is a part of.
    pub(super) longer_title: Option<String>,
    /// The keys of the facts that it replaces.
    pub(super) replaces: Vec<String>,
    /// The lines of its body that are relations, each with the title that it links to.
    pub(super) relates_to: Vec<(String, String)>,
    /// What its source says of it for which an entry has no field: who confirmed it, and where it is from.
    pub(super) said: Map<String, Value>,
    pub(super) knowledge: Knowledge,
}

impl Fact {
    /// Returns a fact with only these values.
    pub(super) fn new(key: String, from: ImportOrigin, knowledge: Knowledge) -> Fact {
        let (replaces, relates_to) = (Vec::new(), Vec::new());
        Fact { key, from, date: None, longer_title: None, replaces, relates_to, said: Map::new(), knowledge }
    }

    /// Returns whether it comes from a file of the project: one elsewhere has a mark behind its path.
    pub(super) fn is_in_project(&self) -> bool {
        is_in_project(&self.key, &self.from.path)
    }
}

/// Returns whether the fact with this key comes from the file at `path` in the project.
pub(super) fn is_in_project(key: &str, path: &str) -> bool {
    key.strip_prefix(path).is_some_and(|rest| !rest.starts_with('@'))
}

/// Returns the facts in an order in which what is replaced comes before what replaces it. Of facts that replace each
/// other in a circle, the last one in this order replaces the others, and not the other way round.
pub(super) fn replaced_first(facts: Vec<Fact>) -> Vec<Fact> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for (number, fact) in facts.iter().enumerate() {
        numbers.entry(fact.key.clone()).or_insert(number);
    }
    // Where each comes, once that is decided. Without recursion: a chain may be as long as there are facts.
    let (mut order, mut is_seen) = (Vec::new(), vec![false; facts.len()]);
    for first in 0..facts.len() {
        let mut path = if is_seen[first] { Vec::new() } else { vec![first] };
        while let Some(&fact) = path.last() {
            is_seen[fact] = true;
            let mut replaced = facts[fact].replaces.iter().filter_map(|key| numbers.get(key));
            match replaced.find(|replaced| !is_seen[**replaced]) {
                Some(&next) => path.push(next),
                None => order.extend(path.pop()),
            }
        }
    }
    let mut places = vec![0; facts.len()];
    for (place, fact) in order.iter().enumerate() {
        places[*fact] = place;
    }
    let mut facts: Vec<(usize, Fact)> = places.iter().copied().zip(facts).collect();
    for (place, fact) in &mut facts {
        fact.replaces.retain(|key| numbers.get(key).is_none_or(|replaced| places[*replaced] < *place));
    }
    facts.sort_by_key(|(place, _)| *place);
    facts.into_iter().map(|(_, fact)| fact).collect()
}

/// What was read whole.
#[derive(Debug)]
pub(super) enum CoveredPath {
    /// This file.
    File(String),
    /// The files whose paths begin like this.
    Below(String),
    /// A usual place, in the project and in each of its folders.
    Usual(&'static str),
}

/// A file that was read, or a folder with all that the source has in it.
#[derive(Debug)]
pub(super) struct CoveredPlace {
    pub(super) path: CoveredPath,
    /// The mark of a folder outside of the project, behind the paths in keys.
    pub(super) mark: String,
}

impl CoveredPlace {
    /// Returns whether an entry with this key, from the file at `path`, comes from there.
    pub(super) fn has(&self, path: &str, key: &str) -> bool {
        let is_here = match &self.path {
            CoveredPath::File(file) => path == file,
            CoveredPath::Below(start) => path.starts_with(start),
            CoveredPath::Usual(place) => split_at(path, place).is_some(),
        };
        // A key has the path below the folder that was read.
        let rest = path.char_indices().map(|(at, _)| &path[at..]).find_map(|tail| key.strip_prefix(tail));
        is_here
            && rest.is_some_and(|rest| rest.starts_with('@') != self.mark.is_empty() && rest.starts_with(&self.mark))
    }
}

/// What was found in a source.
#[derive(Debug, Default)]
pub(super) struct SourceContent {
    /// Where it was looked for, what was read, and what is not imported.
    pub(super) report: ImportReport,
    pub(super) facts: Vec<Fact>,
    /// The places that were read whole: an entry from there whose fact was not found is no longer in the source.
    pub(super) covered: Vec<CoveredPlace>,
    /// The files among them that could not be read, or not all of them: an entry from there may still be in its file.
    pub(super) unread: HashSet<String>,
    /// Past attempts, each under the run and the number that it had there.
    pub(super) attempts: Vec<(ImportOrigin, Attempt)>,
    /// The files of the project, which imports of several sources list once.
    pub(super) project: Rc<ProjectFiles>,
}

impl SourceContent {
    /// Returns the place from which an entry with this key, from the file at `path`, comes, if all of it was read.
    pub(super) fn place_of(&self, path: &str, key: &str) -> Option<&CoveredPlace> {
        self.covered.iter().find(|place| place.has(path, key)).filter(|_| !self.unread.contains(path))
    }

    /// Leaves out a file, or a part of one, that cannot be read.
    pub(super) fn skip_unread(&mut self, from: ImportOrigin, reason: impl Into<Message>) {
        self.unread.insert(from.path.clone());
        self.report.skip(from, reason);
    }

    /// Adds a fact: in parts if its body is too long for one entry, with the end of a title that is too long in its
    /// body. An empty one is left out.
    pub(super) fn add(&mut self, mut fact: Fact) {
        let body = fact.knowledge.body.trim_matches(['\n', '\r']).trim_end().to_owned();
        let title = fact.knowledge.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if body.trim().is_empty() {
            return self.report.skip_titled(fact.from, &title, "it is empty");
        }
        fact.knowledge.body = body;
        if title.chars().count() > MAX_TITLE {
            fact.knowledge.body = format!("{title}\n\n{}", fact.knowledge.body);
        }
        fact.knowledge.title = shorten(&title, MAX_TITLE);
        let parts = parts(&fact.knowledge.body);
        if parts.len() < 2 {
            return self.facts.push(fact);
        }
        let n_parts = parts.len();
        for (index, body) in parts.into_iter().enumerate() {
            let mut part = fact.clone();
            if index > 0 {
                part.key = format!("{} part {}", fact.key, index + 1);
            }
            let number = format!(" ({} of {n_parts})", index + 1);
            part.knowledge.title.push_str(&number);
            part.longer_title = part.longer_title.map(|title| title + &number);
            part.knowledge.body = body;
            self.facts.push(part);
        }
    }
}

/// Returns the parts of a body, each of whole blocks. A block that is too long alone is split between its lines, and a line
/// between its words.
fn parts(body: &str) -> Vec<String> {
    if body.len() <= MAX_BODY {
        return vec![body.to_owned()];
    }
    let mut parts = Vec::new();
    for block in blocks(body) {
        if block.len() <= MAX_BODY {
            push(&mut parts, "\n\n", block);
            continue;
        }
        let mut of_block = Vec::new();
        for line in block.lines().flat_map(short_lines) {
            push(&mut of_block, "\n", line);
        }
        parts.append(&mut of_block);
    }
    parts
}

/// Adds a text to the last part, if there is room for it, else as the next one.
fn push(parts: &mut Vec<String>, between: &str, text: &str) {
    match parts.last_mut() {
        Some(part) if part.len() + between.len() + text.len() <= MAX_BODY => {
            part.push_str(between);
            part.push_str(text);
        }
        _ => parts.push(text.to_owned()),
    }
}

/// Returns the pieces of a line, of which each has room in an entry.
fn short_lines(mut line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while line.len() > MAX_BODY {
        let limit = (0..=MAX_BODY).rev().find(|at| line.is_char_boundary(*at)).unwrap_or_default();
        let end = line[..limit].rfind(char::is_whitespace).filter(|end| *end > 0).unwrap_or(limit);
        pieces.push(&line[..end]);
        line = &line[end..];
    }
    pieces.push(line);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(title: &str, body: &str) -> SourceContent {
        let mut gathered = SourceContent::default();
        gathered.add(Fact::new("k".into(), ImportOrigin::file("x.md"), Knowledge::new(title, ["a"], body)));
        gathered
    }

    #[test]
    fn a_long_body_is_split_and_nothing_of_it_is_lost() {
        let block = format!("{}\n\n```\na\n\nb\n```\n\n", "word ".repeat(2_000).trim_end());
        let body = block.repeat(12);
        let facts = gather("Title", &body).facts;
        assert!(facts.len() > 2 && facts.iter().all(|fact| fact.knowledge.body.len() <= MAX_BODY));
        assert_eq!((facts[0].key.as_str(), facts[1].key.as_str()), ("k", "k part 2"));
        assert_eq!(facts[0].knowledge.title, format!("Title (1 of {})", facts.len()));
        let joined: Vec<&str> = facts.iter().map(|fact| fact.knowledge.body.as_str()).collect();
        assert_eq!(joined.join("\n\n"), body.trim_end());
    }

    #[test]
    fn a_body_without_blank_lines_is_split_between_lines_and_words() {
        let list = "- [a link](https://example.com/a) and what it says\n".repeat(2_000);
        let line = "ein Wörter-Strom ".repeat(4_000);
        let word = "語".repeat(30_000);
        for (body, between) in [(list, "\n"), (line, ""), (word, "")] {
            let facts = gather("Title", &body).facts;
            assert!(facts.len() > 1 && facts.iter().all(|fact| fact.knowledge.body.len() <= MAX_BODY));
            let joined: Vec<&str> = facts.iter().map(|fact| fact.knowledge.body.as_str()).collect();
            assert_eq!(joined.join(between), body.trim_end());
        }
    }

    #[test]
    fn the_end_of_a_long_title_is_in_the_body() {
        let title = "word ".repeat(60).trim_end().to_owned();
        let fact = &gather(&title, "Text.").facts[0].knowledge;
        assert!(fact.title.chars().count() <= MAX_TITLE && fact.title.ends_with('…'));
        assert_eq!(fact.body, format!("{title}\n\nText."));
    }

    #[test]
    fn what_is_replaced_comes_first() {
        // Each fact with what it replaces.
        let check = |facts: &[&str], expected: &[&str]| {
            let fact = |text: &&str| {
                let (key, replaces) = text.split_once(' ').unwrap_or((text, ""));
                let fact = Fact::new(key.to_owned(), ImportOrigin::file("x.md"), Knowledge::new("T", ["a"], "b"));
                Fact { replaces: replaces.split_whitespace().map(str::to_owned).collect(), ..fact }
            };
            let ordered = replaced_first(facts.iter().map(fact).collect());
            let shown = |fact: &Fact| [std::slice::from_ref(&fact.key), fact.replaces.as_slice()].concat().join(" ");
            assert_eq!(ordered.iter().map(shown).collect::<Vec<_>>(), expected);
        };
        check(&["a", "b", "c"], &["a", "b", "c"]);
        check(&["a b", "b c elsewhere", "c", "d"], &["c", "b c elsewhere", "a b", "d"]);
        check(&["a c b", "b", "c", "a"], &["c", "b", "a c b", "a"]);
        check(&["a b", "b c", "c a c"], &["c", "b c", "a b"]);
    }

    #[test]
    fn what_is_empty_is_left_out_with_a_reason() {
        let gathered = gather("Title", " \n\n");
        assert!(gathered.facts.is_empty());
        assert_eq!(gathered.report.items[0].reason.as_ref().unwrap().as_str(), "it is empty");
    }
}
