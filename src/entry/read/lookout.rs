//! Looks for what is wrong with a text whatever its values say.

use serde_json::Value;

use super::reader::EntryReader;
use crate::entry::frontmatter::Fields;
use crate::entry::{guard, merge};
use crate::error::Severity;
use crate::text::invisible;

/// What is said of characters that no reader sees.
const UNSEEN_HINT: &str = "delete what nobody can review; it is shown escaped";

impl EntryReader<'_> {
    /// Reports the values that lost when two versions were merged, which stand in comments.
    pub(super) fn look_for_lost_values(&mut self, body_start: usize) {
        let head = &self.text[self.head_start..body_start];
        let mut at = self.head_start;
        let mut lost = Vec::new();
        for line in head.split_inclusive('\n') {
            if line.starts_with(merge::CONFLICT) {
                lost.push(at);
            }
            at += line.len();
        }
        for at in lost {
            self.report(
                Severity::Warning,
                "merge-conflict",
                Some(at),
                "two versions were merged, and this value gave way to the one above it",
                "decide between the two and delete the comment",
            );
        }
    }

    pub(super) fn look_at_body(&mut self, body: &str, body_start: usize) {
        if let Some(offset) =
            body.find(|character: char| character.is_control() && !matches!(character, '\n' | '\r' | '\t'))
        {
            self.report(
                Severity::Warning,
                "control-character",
                Some(body_start + offset),
                "a control character stands in the body",
                "delete it: terminals act on it, and it is shown escaped",
            );
        }
        if let Some(offset) = guard::conflict_marker(body) {
            self.report(
                Severity::Warning,
                "merge-conflict",
                Some(body_start + offset),
                "a merge left its conflict marker here",
                "decide between the two versions and delete the marker lines",
            );
        }
    }

    /// Reports characters that no reader sees; those that follow each other are one problem.
    pub(super) fn look_for_invisible(&mut self) {
        if let Some((_, character)) = invisible(self.path).next() {
            let message =
                format!("the name of the file has a character that no reader sees: U+{:04X}", u32::from(character));
            self.report(Severity::Warning, "invisible-character", None, &message, "rename the file");
        }
        let text = self.text;
        // A byte order mark may stand before everything.
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut found = invisible(&text[start..]).map(|(at, character)| (start + at, character)).peekable();
        while let Some((at, first)) = found.next() {
            let (mut count, mut end) = (1, at + first.len_utf8());
            while let Some((_, next)) = found.next_if(|(at, _)| *at == end) {
                (count, end) = (count + 1, end + next.len_utf8());
            }
            let first = u32::from(first);
            let message = match count {
                1 => format!("a character that no reader sees stands here: U+{first:04X}"),
                _ => format!("{count} characters that no reader sees stand here, the first is U+{first:04X}"),
            };
            self.report(Severity::Warning, "invisible-character", Some(at), &message, UNSEEN_HINT);
        }
    }

    /// Reports values with such characters where they are written as escapes.
    pub(super) fn look_for_escaped(&mut self, head: &str, fields: &Fields) {
        if !head.contains('\\') {
            return;
        }
        let mut found: Vec<(usize, &String, char)> = Vec::new();
        for (key, value) in fields {
            let (place, unseen) = (self.place_of(key), unseen(value));
            let stands_there = |unseen: char| head.contains(unseen);
            found.extend(
                place.zip(unseen.filter(|unseen| !stands_there(*unseen))).map(|(at, unseen)| (at, key, unseen)),
            );
        }
        found.sort();
        for (at, key, unseen) in found {
            let message = format!(
                "`{key}` has a character that no reader sees, written as an escape: U+{:04X}",
                u32::from(unseen)
            );
            self.report(Severity::Warning, "invisible-character", Some(at), &message, UNSEEN_HINT);
        }
    }
}

/// Returns the first character of a value that no reader sees.
fn unseen(value: &Value) -> Option<char> {
    match value {
        Value::String(text) => invisible(text).next().map(|(_, character)| character),
        Value::Array(items) => items.iter().find_map(unseen),
        Value::Object(mapping) => mapping.values().find_map(unseen),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
