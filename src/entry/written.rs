//! Who wrote what an entry says now, and what it said before, as every clone can tell from its file.
//!
//! The key `fingerprints` has a fingerprint of each text that was replaced and, last, of the text that an agent gave
//! the entry. If the last one no longer matches, a person changed the text by hand, and the entry is theirs. The newest also
//! have hashes of the words, by which a text that says nearly the same is known.

use std::collections::BTreeSet;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;
use xxhash_rust::xxh3::xxh3_64;

use super::body::unmarked;
use super::edit::{self, Change, list_items};
use super::frontmatter;
use super::{Author, Source};
use crate::text::{event_words, fold, nfc, telling};

/// The key in the frontmatter.
pub(crate) const FINGERPRINTS: &str = "fingerprints";
/// How many fingerprints an entry keeps, the newest ones, and how many of them with hashes of words: frontmatter has a limit.
const MAX: usize = 50;
const MAX_WITH_WORDS: usize = 5;
/// How many words of a text are hashed.
const MAX_WORDS: usize = 120;
/// The length of a fingerprint without words.
const SHORT: usize = 17;
/// The keys of an archived entry that say who archived it, and when.
const ARCHIVED_BY: &str = "archived_by";
const ARCHIVED_AT: &str = "archived_at";

/// Returns the fingerprint of what an entry says: one of the title, a hyphen, one of the body.
pub(crate) fn fingerprint(title: &str, body: &str) -> String {
    format!("{}-{}", hash(&fold(title)), body_hash(body))
}

/// Returns the fingerprint of a text with four hexadecimal digits for each of its words, those without meaning left out. The
/// lowest bit says that the word decides what the text says: a number, a symbol or a negation.
pub(crate) fn signature(title: &str, body: &str) -> String {
    let hash_of = |word: String| {
        let is_decisive = !telling([word.as_str()]).is_empty();
        format!("{:04x}", xxh3_64(word.as_bytes()) & 0xfffe | u64::from(is_decisive))
    };
    let words = event_words(title, &unmarked(body)).into_iter().flat_map(|word| units(&word));
    format!("{}-{}", fingerprint(title, body), words.take(MAX_WORDS).map(hash_of).collect::<String>())
}

/// Returns what is compared of a word: the word in its compatible form; nothing of one that is only punctuation; and of a
/// script without spaces each two letters that follow each other.
fn units(word: &str) -> Vec<String> {
    let is_spaceless = |letter: &char| matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
    let word: Vec<char> = word.nfkc().skip_while(|letter| matches!(letter, ':' | '=')).collect();
    if !word.iter().any(|letter| letter.is_alphanumeric() || "<>!&|+%^~".contains(*letter)) {
        return Vec::new();
    }
    let runs = word.chunk_by(|one, other| is_spaceless(one) == is_spaceless(other));
    let pairs = |run: &[char]| -> Vec<String> {
        let n = if is_spaceless(&run[0]) { run.len().min(2) } else { run.len() };
        run.windows(n).map(|pair| pair.iter().collect()).collect()
    };
    runs.flat_map(pairs).collect()
}

/// Returns a fingerprint without its words.
pub(crate) fn short(fingerprint: &str) -> &str {
    fingerprint.get(..SHORT).unwrap_or(fingerprint)
}

/// How like each other two texts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    /// They share four fifths of their words, or all but one, and differ in none that decides what they say.
    Near,
    /// They are the same but for words without meaning.
    Equal,
}

/// Compares texts by their [signatures](signature).
pub(crate) fn likeness(one: &str, other: &str) -> Option<Likeness> {
    let words = |of: &str| -> Vec<u16> {
        let digits = of.as_bytes().get(SHORT + 1..).unwrap_or_default().chunks(4);
        digits.filter_map(|digits| u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()).collect()
    };
    let is_equal = short(one) == short(other);
    let has_one_body = short(one).get(SHORT / 2..) == short(other).get(SHORT / 2..);
    let (one, other) = (words(one), words(other));
    if one.is_empty() || other.is_empty() {
        return is_equal.then_some(Likeness::Equal);
    }
    if one == other {
        // Of a longer text the words are not all known.
        return Some(if is_equal || one.len() < MAX_WORDS { Likeness::Equal } else { Likeness::Near });
    }
    let [one, other]: [BTreeSet<u16>; 2] = [one, other].map(|words| words.into_iter().collect());
    let (n_least, n_most) = (one.len().min(other.len()), one.len().max(other.len()));
    let n_shared = one.intersection(&other).count();
    let is_near = n_shared * 5 >= n_most * 4 || n_least > 1 && n_shared == n_least && n_most - n_least == 1;
    let is_near = is_near || has_one_body && n_shared > 2;
    (n_shared > 0 && is_near && one.symmetric_difference(&other).all(|word| word & 1 == 0)).then_some(Likeness::Near)
}

/// Returns whether one of the fingerprints is of a text with this body, under any title.
pub(crate) fn had_body(fingerprints: &[String], body: &str) -> bool {
    let hash = body_hash(body);
    fingerprints.iter().any(|fingerprint| short(fingerprint).ends_with(&hash))
}

/// Returns whether two bodies are the same text, whatever their line ends.
pub(crate) fn is_same_body(one: &str, other: &str) -> bool {
    text_of(one) == text_of(other)
}

fn body_hash(body: &str) -> String {
    hash(&text_of(body))
}

fn text_of(body: &str) -> String {
    let lines: Vec<&str> = body.lines().map(str::trim_end).collect();
    nfc(lines.join("\n").trim_matches('\n')).into_owned()
}

fn hash(text: &str) -> String {
    format!("{:08x}", xxh3_64(text.as_bytes()) >> 32)
}

/// Returns who an entry is by, if its frontmatter names `source` and these fingerprints: a person, where the text is not the
/// one that an agent wrote.
pub(super) fn author(source: Source, fingerprints: &[String], now: &str) -> Source {
    if fingerprints.last().is_some_and(|last| short(last) != short(now)) { Source::Human } else { source }
}

/// What the file of an entry says about its text.
struct WrittenText {
    /// The key `source`.
    source: Source,
    fingerprints: Vec<String>,
    /// The fingerprint of the text.
    now: String,
}

impl WrittenText {
    /// Reads it; `None` if the frontmatter cannot be read.
    fn of(file: &str) -> Option<WrittenText> {
        let split = frontmatter::split(file).ok()?;
        let fields = frontmatter::parse(&file[split.head]).ok()?;
        let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default().trim();
        Some(WrittenText {
            source: Source::in_file(text("source")).unwrap_or_default(),
            fingerprints: list_items(fields.get(FINGERPRINTS)),
            now: signature(text("title"), &file[split.body..]),
        })
    }

    fn is_of_person(&self) -> bool {
        author(self.source, &self.fingerprints, &self.now).is_person()
    }
}

/// Returns `new`, which the program made of the entry `old`, with its fingerprints, and with `source: human` where a person
/// changed the text of an agent by hand. `is_replaced` tells that a writer replaced the text: then that of a person is known
/// later, too.
///
/// # Errors
///
/// Why the file cannot be edited.
pub(crate) fn signed(old: &str, new: String, is_replaced: bool) -> Result<String, String> {
    let (Some(before), Some(after)) = (WrittenText::of(old), WrittenText::of(&new)) else { return Ok(new) };
    let is_of_person = if before.source == after.source { before.is_of_person() } else { after.source.is_person() };
    let is_changed = before.now != after.now;
    let mut changes = Vec::new();
    if is_of_person && !after.source.is_person() {
        changes.push(Change::Set("source", Source::Human.as_str().into()));
    }
    let old = Some(before.now).filter(|_| is_changed && (is_replaced || !is_of_person));
    let now = Some(after.now).filter(|_| !is_of_person && (is_changed || !after.fingerprints.is_empty()));
    let known = before.fingerprints.iter().chain(&after.fingerprints).cloned();
    changes.extend(added(&after.fingerprints, known.chain(old).chain(now)));
    edit::apply(&new, &changes)
}

/// Returns the text `new` of the entry `old` as that of the person who edited it, unless the edit names another source.
///
/// # Errors
///
/// Why the file cannot be edited.
pub(crate) fn claimed(old: &str, new: &str) -> Result<String, String> {
    let source = |file: &str| WrittenText::of(file).map(|text| text.source);
    match source(new) {
        Some(named) if !named.is_person() && source(old) == Some(named) => {
            edit::apply(new, &[Change::Set("source", Source::Human.as_str().into())])
        }
        _ => Ok(new.to_owned()),
    }
}

/// Returns whether the file of an entry names a person as its writer.
pub(crate) fn names_person(file: &str) -> bool {
    WrittenText::of(file).is_some_and(|text| text.source.is_person())
}

/// Returns the file of an entry as the text of the agent that wrote the file itself, over the one `before`. One whose frontmatter cannot be edited becomes
/// a note that quotes all of it.
pub(crate) fn by_agent(file: &str, before: Option<&str>) -> String {
    let file = frontmatter::framed(file);
    let note = || format!("---\nsource: agent\n---\n\n{file}");
    let Some(text) = WrittenText::of(&file) else { return note() };
    if !text.is_of_person() {
        return file.into_owned();
    }
    let source = Change::Set("source", Source::Agent.as_str().into());
    let before = before.and_then(WrittenText::of).map(|before| before.now);
    let signed = added(&text.fingerprints, text.fingerprints.iter().cloned().chain(before).chain([text.now]));
    edit::apply(&file, &[source].into_iter().chain(signed).collect::<Vec<_>>()).unwrap_or_else(|_| note())
}

/// Returns the file of an entry that goes to the archive, with who archives it, and when. What a person rejects is known by
/// the fingerprint of its text.
///
/// # Errors
///
/// Why the file cannot be edited.
pub(crate) fn archived(file: &str, by: &Author, at: &str) -> Result<String, String> {
    let by_whom = Change::Set(ARCHIVED_BY, String::from(by.clone()).into());
    let mut changes = vec![by_whom, Change::Set(ARCHIVED_AT, at.into())];
    if let Some(text) = WrittenText::of(file).filter(|_| by.is_person()) {
        let is_unsaid = text.is_of_person() && !text.source.is_person();
        changes.extend(is_unsaid.then(|| Change::Set("source", Source::Human.as_str().into())));
        changes.extend(added(&text.fingerprints, text.fingerprints.iter().cloned().chain([text.now])));
    }
    edit::apply(file, &changes)
}

/// Returns who archived an entry, and when, as its file says.
pub(crate) fn archived_by(file: &[u8]) -> Option<(Author, String)> {
    let fields = frontmatter::fields_of(std::str::from_utf8(file).ok()?)?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    Some((text(ARCHIVED_BY)?.into(), text(ARCHIVED_AT).unwrap_or_default()))
}

/// Returns an archived file as that of a live entry.
pub(crate) fn unarchived(file: &[u8]) -> Vec<u8> {
    let bare = |text: &str| {
        let mut changes = vec![Change::Remove(ARCHIVED_BY), Change::Remove(ARCHIVED_AT)];
        // A person's text has no fingerprint until it is replaced.
        let WrittenText { source, mut fingerprints, now } = WrittenText::of(text)?;
        if source.is_person() && fingerprints.pop_if(|last| short(last) == short(&now)).is_some() {
            let is_empty = fingerprints.is_empty();
            changes.push(if is_empty {
                Change::Remove(FINGERPRINTS)
            } else {
                Change::Set(FINGERPRINTS, fingerprints.into())
            });
        }
        let live = edit::apply(text, &changes).ok()?;
        // A note without frontmatter got one when it was archived; behind one of its own may stand another.
        let (mark, rest) = live.split_at(live.len() - live.trim_start_matches('\u{feff}').len());
        let note = ["---\n---\n", "---\r\n---\r\n"].into_iter().find_map(|empty| rest.strip_prefix(empty));
        let note = note.filter(|note| !note.starts_with("---")).map(|note| format!("{mark}{note}"));
        Some(note.unwrap_or(live))
    };
    archived_by(file)
        .and_then(|_| bare(std::str::from_utf8(file).ok()?))
        .map_or_else(|| file.to_owned(), String::into_bytes)
}

/// Returns `merged`, into which two versions of an entry were merged, as a text of agents if both are.
pub(crate) fn merged(versions: [&[u8]; 2], merged: String) -> String {
    let is_of_agent = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).ok().and_then(WrittenText::of);
        text.is_some_and(|text| !text.is_of_person() && !text.fingerprints.is_empty())
    };
    let after = WrittenText::of(&merged).filter(|_| versions.into_iter().all(is_of_agent));
    let change =
        after.and_then(|after| added(&after.fingerprints, after.fingerprints.iter().cloned().chain([after.now])));
    change.and_then(|change| edit::apply(&merged, &[change]).ok()).unwrap_or(merged)
}

/// Returns the change that makes the list of a file, `own`, one of these fingerprints, the last one last.
fn added(own: &[String], all: impl Iterator<Item = String>) -> Option<Change> {
    let mut list: Vec<String> = Vec::new();
    for fingerprint in all {
        let known = list.iter().position(|known| short(known) == short(&fingerprint)).map(|at| list.remove(at));
        list.push(known.filter(|known| known.len() > fingerprint.len()).unwrap_or(fingerprint));
    }
    list.drain(..list.len().saturating_sub(MAX));
    let n_short = list.len().saturating_sub(MAX_WITH_WORDS);
    list[..n_short].iter_mut().for_each(|fingerprint| fingerprint.truncate(SHORT));
    (list != own).then_some(Change::Set(FINGERPRINTS, list.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::read;

    fn file(source: &str, fingerprints: &[String], title: &str, body: &str) -> String {
        let list = if fingerprints.is_empty() {
            String::new()
        } else {
            format!("fingerprints: {}\n", edit::list(fingerprints))
        };
        format!("---\ntitle: \"{title}\"\ntags: [a]\nsource: {source}\n{list}---\n\n{body}\n")
    }

    #[test]
    fn a_text_that_no_agent_wrote_is_a_persons() {
        let fingerprints = [fingerprint("T", "One."), fingerprint("T", "Two\nlines.")];
        let check = |source: &str, fingerprints: &[String], title: &str, body: &str, expected: Source| {
            let found = read("knowledge/x.md", file(source, fingerprints, title, body).as_bytes()).head.source;
            assert_eq!(found, expected, "{title}: {body}");
        };
        check("agent", &fingerprints, "T", "Two\nlines.", Source::Agent);
        check("coder", &fingerprints, " t", "Two  \r\nlines.\r\n\r\n", Source::Coder);
        // Another title, other words, another case, other blanks in a line; and the version before.
        check("agent", &fingerprints, "U", "Two\nlines.", Source::Human);
        check("agent", &fingerprints, "T", "Two lines.", Source::Human);
        check("agent", &fingerprints, "T", "two\nlines.", Source::Human);
        check("agent", &fingerprints, "T", "Two\n  lines.", Source::Human);
        check("coder", &fingerprints, "T", "One.", Source::Human);
        // Entries from before there were fingerprints.
        check("agent", &[], "T", "Anything.", Source::Agent);
    }

    #[track_caller]
    fn check(old: (&str, &[&str], &str), new: (&str, &str), is_replaced: bool, expected: (&str, &[&str])) {
        let list = |bodies: &[&str]| bodies.iter().map(|body| signature("T", body)).collect::<Vec<_>>();
        let (source, fingerprints, body) = old;
        let fingerprints = list(fingerprints);
        let old = file(source, &fingerprints, "T", body);
        let signed = signed(&old, file(new.0, &fingerprints, "T", new.1), is_replaced).unwrap();
        assert_eq!(signed.replace("\"human\"", "human"), file(expected.0, &list(expected.1), "T", new.1));
    }

    #[test]
    fn a_change_keeps_who_wrote_an_entry() {
        for is_replaced in [true, false] {
            check(("agent", &["1"], "1"), ("agent", "2"), is_replaced, ("agent", &["1", "2"]));
            check(("agent", &[], "1"), ("agent", "2"), is_replaced, ("agent", &["1", "2"]));
            check(("agent", &["1", "2"], "2"), ("agent", "1"), is_replaced, ("agent", &["2", "1"]));
            check(("agent", &["1"], "1"), ("agent", "1"), is_replaced, ("agent", &["1"]));
            check(("agent", &["1"], "hand"), ("agent", "hand"), is_replaced, ("human", &["1"]));
            check(("human", &[], "1"), ("human", "1"), is_replaced, ("human", &[]));
        }
        check(("agent", &["1"], "1"), ("human", "2"), true, ("human", &["1"]));
        check(("agent", &["1"], "hand"), ("agent", "2"), true, ("human", &["1", "hand"]));
        check(("human", &[], "1"), ("human", "2"), true, ("human", &["1"]));
        check(("human", &[], "1"), ("human", "2"), false, ("human", &[]));
    }

    #[test]
    fn texts_are_near_that_differ_in_no_word_that_decides() {
        let check = |one: &str, other: &str, expected: Option<Likeness>| {
            let [one, other] = [one, other].map(|body| signature("Port", body));
            assert_eq!([likeness(&one, &other), likeness(&other, &one)], [expected; 2], "{one} {other}");
        };
        let said = "The database listens on port 5432.";
        check(said, "the database  listens on port 5432", Some(Likeness::Equal));
        for marked in [
            "> The database **listens** on port <b>5432</b>.",
            "- It is: the database listens on port `５４３２` ✓ <!-- x -->",
        ] {
            check(said, marked, Some(Likeness::Equal));
        }
        check(said, "The database still listens on port 5432.", Some(Likeness::Near));
        check(said, "The database listens on port 5433.", None);
        check(said, "The database never listens on port 5432.", None);
        check(said, "The cache of another host listens on port 5432.", None);
        check("Prefix booleans with `is`", "Prefix booleans with `has`", Some(Likeness::Near));
        check("数据库端口是五四三二。", "数据库端口仍是五四三二。", Some(Likeness::Near));
        check("使用缓存和索引的方法", "不使用缓存和索引的方法", None);
        let words: Vec<String> = (0..150).map(|n| format!("word{n}x")).collect();
        let long = |last: &str| format!("{} {last}", words.join(" "));
        check(&long("Three times."), &long("At night."), Some(Likeness::Near));
        let [one, other] = ["grep -v inverts", "grep -V inverts"].map(|title| signature(title, "See the manual."));
        assert_eq!(likeness(&one, &other), None);
        let [one, other] = ["Port", "Where it is"].map(|title| signature(title, said));
        assert_eq!(likeness(&one, &other), Some(Likeness::Near), "one text of two titles");
    }

    #[test]
    fn the_newest_fingerprints_are_kept() {
        let mut text = file("agent", &[], "T", "0");
        for number in 1..=MAX + 9 {
            text = signed(&text, text.replace(&format!("\n{}\n", number - 1), &format!("\n{number}\n")), true).unwrap();
        }
        let found = WrittenText::of(&text).unwrap();
        assert_eq!((found.fingerprints.len(), found.fingerprints.last()), (MAX, Some(&signature("T", "59"))));
        assert!(!had_body(&found.fingerprints, "9") && had_body(&found.fingerprints, "10"));
    }
}
