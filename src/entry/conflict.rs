//! What conflicts that git left in the frontmatter of an entry become, where that needs no decision.
//!
//! Pure. A merged frontmatter has every value and every comment of both sides but the earlier of two times. A text of which
//! that cannot be said stays as it is, to the byte.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;

use super::edit::{Change, head_with, list_items};
use super::frontmatter::{self, Fields};
use super::guard::marker;
use super::parse_time;
use super::written::FINGERPRINTS;

/// The keys of which the later time counts.
const TIMES: [&str; 2] = ["updated_at", "modified"];
/// The keys of which all items count.
const LISTS: [&str; 3] = ["tags", "aliases", FINGERPRINTS];

/// A frontmatter with conflicts.
struct Conflicting<'a> {
    /// Its place in the file.
    place: Range<usize>,
    /// What it is on each side.
    ours: String,
    theirs: String,
    /// The lines that are theirs alone.
    only_theirs: Vec<&'a str>,
}

/// What a line in a conflict belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Both,
    Ours,
    Base,
    Theirs,
}

impl<'a> Conflicting<'a> {
    /// Reads the frontmatter of a file; `None` if it has no conflict, or one of them reaches into the body.
    fn read(text: &'a str) -> Option<Conflicting<'a>> {
        let mut lines = text.split_inclusive('\n');
        let opening = lines.next().filter(|line| line.trim_start_matches('\u{feff}').trim_end() == "---")?;
        let (mut ours, mut theirs, mut only_theirs) = (String::new(), String::new(), Vec::new());
        let (mut side, mut end, mut has_conflict) = (Side::Both, opening.len(), false);
        for line in lines {
            side = match (side, marker(line)) {
                (Side::Both, Some('<')) => Side::Ours,
                (Side::Ours, Some('|')) => Side::Base,
                (Side::Ours | Side::Base, Some('=')) => Side::Theirs,
                (Side::Theirs, Some('>')) => {
                    has_conflict = true;
                    Side::Both
                }
                (_, Some(_)) => return None,
                (side, None) if line.trim_end() == "---" => {
                    let place = opening.len()..end;
                    let is_whole = side == Side::Both && has_conflict;
                    return is_whole.then_some(Conflicting { place, ours, theirs, only_theirs });
                }
                (side, None) => {
                    if matches!(side, Side::Both | Side::Ours) {
                        ours.push_str(line);
                    }
                    if matches!(side, Side::Both | Side::Theirs) {
                        theirs.push_str(line);
                    }
                    if side == Side::Theirs {
                        only_theirs.push(line.trim());
                    }
                    side
                }
            };
            end += line.len();
        }
        None
    }

    /// Returns whether their side has a comment that ours does not have.
    fn loses_a_comment(&self) -> bool {
        let is_comment = |line: &&&str| line.starts_with('#') || line.contains(" #") || line.contains("\t#");
        self.only_theirs.iter().filter(is_comment).any(|line| !self.ours.lines().any(|own| own.trim() == *line))
    }
}

/// Returns the file `text` without the conflicts of its frontmatter; `None` if there are none, or the sides differ in anything
/// but the time of the last change, of which the later one counts, and lists of which the items of both sides count.
pub fn merged(text: &str) -> Option<String> {
    let conflicting = Conflicting::read(text)?;
    let Conflicting { place, ours, theirs, .. } = &conflicting;
    if conflicting.loses_a_comment() {
        return None;
    }
    let (own, other) = (frontmatter::parse(ours).ok()?, frontmatter::parse(theirs).ok()?);
    let names: BTreeSet<&String> =
        own.keys().chain(other.keys()).filter(|name| own.get(*name) != other.get(*name)).collect();
    let changes: Option<Vec<Vec<Change>>> = names.into_iter().map(|name| changes(name, &own, &other)).collect();
    let newline = if text[..place.start].ends_with("\r\n") { "\r\n" } else { "\n" };
    let head = head_with(ours, &changes?.concat(), newline).ok()?;
    let merged = [&text[..place.start], &head, &text[place.end..]].concat();
    let is_read = frontmatter::split(&merged).is_ok_and(|split| merged[split.head] == head);
    is_read.then_some(merged)
}

/// Returns the changes that a key of ours needs to have what theirs says, too; `None` if that is a decision.
fn changes(name: &str, own: &Fields, other: &Fields) -> Option<Vec<Change>> {
    let (own, other) = (own.get(name), other.get(name));
    if let Some(name) = TIMES.into_iter().find(|time| *time == name) {
        let time = |value: Option<&Value>| value.map(|value| parse_time(value.as_str()?));
        let is_later = match (time(own), time(other)) {
            (Some(own), Some(other)) => other? > own?,
            (own, _) => own.is_none(),
        };
        return Some(other.filter(|_| is_later).map(|other| Change::Set(name, other.clone())).into_iter().collect());
    }
    let name = LISTS.into_iter().find(|list| *list == name)?;
    let is_list =
        |value: &Value| value.is_string() || value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    if ![own, other].into_iter().flatten().all(is_list) {
        return None;
    }
    let known = list_items(own);
    let more: Vec<String> = list_items(other).into_iter().filter(|item| !known.contains(item)).collect();
    Some(vec![Change::AddItems(name, more)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(head: &str) -> String {
        format!("---\ntitle: T\n{head}---\n\nA.\n")
    }

    fn between(ours: &str, theirs: &str) -> String {
        format!("<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> other\n")
    }

    #[test]
    fn times_and_lists_are_merged_however_the_markers_lie() {
        let later = "updated_at: \"2026-02-02T00:00:00Z\"\n";
        let earlier = "updated_at: \"2026-02-01T23:59:59+00:00\"\n";
        for (head, expected) in [
            (between(later, earlier), later.to_owned()),
            (between(earlier, later), later.to_owned()),
            (between("modified: 2026-02-01\n", "modified: 2026-02-02\n"), "modified: \"2026-02-02\"\n".to_owned()),
            // Several keys between two markers, in any order, and several conflicts.
            (
                between(&format!("tags: [a, b]\n{earlier}"), &format!("{later}tags: [a, c]\naliases: [x]\n")),
                format!("tags: [a, b, c]\n{later}aliases: [x]\n"),
            ),
            (
                between("tags: [a, b] # ours\n", "tags: [c]\n")
                    + "scope: project\n"
                    + &between("", "fingerprints: [1-2]\n"),
                "tags: [a, b, c] # ours\nscope: project\nfingerprints: [\"1-2\"]\n".to_owned(),
            ),
            // A part of a list, and two styles.
            (
                "tags:\n  - a\n".to_owned() + &between("  - b\n  - c\n", "  - c\n  - \"d: e\"\n"),
                "tags:\n  - a\n  - b\n  - c\n  - \"d: e\"\n".to_owned(),
            ),
            (between("tags: a, b\n", "tags:\n- b\n- d\n"), "tags: [a, b, d]\n".to_owned()),
            // With the base, as `diff3` and `zdiff3` show it.
            (between("aliases: [x]\n||||||| 1234567\naliases: []\n", "aliases: [z]\n"), "aliases: [x, z]\n".to_owned()),
            // One side alone has it, and both say the same in other words.
            (between(later, ""), later.to_owned()),
            (between("tags: [a]\n", "tags:\n  - a\n"), "tags: [a]\n".to_owned()),
        ] {
            let text = file(&head);
            assert_eq!(merged(&text).as_deref(), Some(&*file(&expected)), "{text}");
            let crlf = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
            assert_eq!(merged(&crlf(&text)), Some(crlf(&file(&expected))), "{text}");
        }
    }

    #[test]
    fn conflicts_of_the_body_stay_where_those_of_the_frontmatter_are_merged() {
        let body = between("One.\n", "Two.\n");
        let text = |head: &str| file(head) + &body;
        assert_eq!(merged(&text(&between("tags: [a]\n", "tags: [b]\n"))), Some(text("tags: [a, b]\n")));
        assert_eq!(merged(&text("tags: [a]\n")), None);
    }

    #[test]
    fn what_is_a_decision_is_left() {
        for head in [
            between("category: pitfall\n", "category: convention\n"),
            between("title: U\ntags: [a]\n", "title: T\ntags: [b]\n"),
            between("tags: [a]\nimportance: 1\n", "tags: [b]\n"),
            between("tags: [a]\n", "tags: [b] # why\n"),
            between("tags: [a]\n", "# why\ntags: [b]\n"),
            between("tags: [a]\n", "tags: {b: c}\n"),
            between("tags: [a]\n", "tags: [[b]]\n"),
            between("updated_at: yesterday\n", "updated_at: 2026-02-01\n"),
            // Not YAML on one side, a key twice, a conflict that reaches into the body, markers that do not match.
            between("tags: [a\n", "tags: [b]\n"),
            "tags: [a]\n".to_owned() + &between("", "tags: [b]\n"),
            between("tags: [a]\n---\nOne.\n", "tags: [b]\n---\nTwo.\n"),
            between("tags: [a]\n", "<<<<<<< x\ntags: [b]\n"),
            "<<<<<<< HEAD\ntags: [a]\n".to_owned(),
            "tags: [a]\n=======\n".to_owned(),
        ] {
            assert_eq!(merged(&file(&head)), None, "{head}");
        }
        for text in ["", "---\n", "# A note\n", &between("tags: [a]\n", "tags: [b]\n"), "---\ntags: [a]\n<<<<<<< x\n"] {
            assert_eq!(merged(text), None, "{text}");
        }
    }
}
