//! Who wrote what an entry says now, and what it said before, as every clone can tell from its file.
//!
//! The key `fingerprints` has a fingerprint of each text that was replaced and, last, of the text that an agent gave
//! the entry. If the last one no longer matches, a person changed the text by hand, and the entry is theirs.

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::Source;
use super::edit::{self, Change, list_items};
use super::frontmatter;
use crate::text::{fold, nfc};

/// The key in the frontmatter.
pub(crate) const FINGERPRINTS: &str = "fingerprints";
/// How many fingerprints an entry keeps, the newest ones: frontmatter has a limit.
const MAX: usize = 50;

/// Returns the fingerprint of what an entry says: one of the title, a hyphen, one of the body.
pub(crate) fn fingerprint(title: &str, body: &str) -> String {
    format!("{}-{}", hash(&fold(title)), body_hash(body))
}

/// Returns whether one of the fingerprints is of a text with this body, under any title.
pub(crate) fn had_body(fingerprints: &[String], body: &str) -> bool {
    let hash = body_hash(body);
    fingerprints.iter().any(|fingerprint| fingerprint.ends_with(&hash))
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
    if fingerprints.last().is_some_and(|last| last != now) { Source::Human } else { source }
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
            now: fingerprint(text("title"), &file[split.body..]),
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

/// Returns the file of an entry as the text of the agent that wrote the file itself.
///
/// # Errors
///
/// Why the file cannot be edited.
pub(crate) fn by_agent(file: &str) -> Result<String, String> {
    let Some(text) = WrittenText::of(file).filter(WrittenText::is_of_person) else { return Ok(file.to_owned()) };
    let source = Change::Set("source", Source::Agent.as_str().into());
    let signed = added(&text.fingerprints, text.fingerprints.iter().cloned().chain([text.now]));
    edit::apply(file, &[source].into_iter().chain(signed).collect::<Vec<_>>())
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
        list.retain(|known| *known != fingerprint);
        list.push(fingerprint);
    }
    list.drain(..list.len().saturating_sub(MAX));
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
        let list = |bodies: &[&str]| bodies.iter().map(|body| fingerprint("T", body)).collect::<Vec<_>>();
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
    fn the_newest_fingerprints_are_kept() {
        let mut text = file("agent", &[], "T", "0");
        for number in 1..=MAX + 9 {
            text = signed(&text, text.replace(&format!("\n{}\n", number - 1), &format!("\n{number}\n")), true).unwrap();
        }
        let found = WrittenText::of(&text).unwrap();
        assert_eq!((found.fingerprints.len(), found.fingerprints.last()), (MAX, Some(&fingerprint("T", "59"))));
        assert!(!had_body(&found.fingerprints, "9") && had_body(&found.fingerprints, "10"));
    }
}
