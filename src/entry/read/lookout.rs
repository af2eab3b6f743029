//! Checks of the whole text that do not depend on the values.

use serde_json::Value;

use super::reader::EntryReader;
use crate::entry::conflict::merged;
use crate::entry::frontmatter::Fields;
use crate::entry::guard::{CONFLICT, Key, Style, conflicts};
use crate::error::{MAX_OF_FILE, Severity};
use crate::text::invisible;

/// The beginning of a comment in which the merge driver of an earlier version kept a value; key and value follow.
const LOST: &str = "# merge-conflict ";
/// The keys whose values are words of people.
const WORDS: [&str; 4] = ["title", "tags", "aliases", "questions"];
/// The hint for invisible characters.
const INVISIBLE_HINT: &str = "delete it, since nobody can review it; it is shown escaped";

impl EntryReader<'_> {
    /// Reports values that lost in a merge and are kept in comments.
    pub(super) fn look_for_lost_values(&mut self, body_start: usize) {
        let head = &self.text[self.frontmatter.start..body_start];
        let lost = head.match_indices(LOST).filter(|(at, _)| *at == 0 || head[..*at].ends_with('\n'));
        let message = "two versions were merged, and the value above replaced this one";
        let hint = "decide between the two and delete the comment";
        for at in lost.map(|(at, _)| self.frontmatter.start + at).collect::<Vec<_>>() {
            self.report(Severity::Warning, "merge-conflict", Some(at), message, hint);
        }
    }

    /// Reports words behind a `#`, which people mean as tags and numbers, and YAML takes for comments.
    pub(super) fn look_for_lost_words(&mut self) {
        let (text, start, end) = (self.text, self.frontmatter.start, self.frontmatter.end);
        // The places of keys take a scan.
        let keys = if text[start..end].contains(" #") { self.keys().to_vec() } else { Vec::new() };
        let ends = keys.iter().skip(1).map(|next| next.start).chain([end - start]);
        let is_of_words =
            |key: &Key| WORDS.contains(&key.name.as_str()) && !matches!(key.style, Style::BlockScalar | Style::Quoted);
        for (key, end) in keys.iter().zip(ends).filter(|(key, _)| is_of_words(key)) {
            // What stands behind a list is not an item of it.
            let end = if key.style == Style::FlowList { key.value.end } else { end };
            let mut at = start + key.colon_end;
            for line in text[at..start + end].split_inclusive('\n') {
                let is_word = |mark: &usize| line[mark + 2..].starts_with(char::is_alphanumeric);
                // What is in quotes is text.
                if let Some(mark) = line.find(" #").filter(is_word).filter(|_| !line.contains(['"', '\''])) {
                    let message = format!("`{}` ends before this `#`: behind a space, it begins a comment", key.name);
                    let hint = "leave the `#` out, or put the value in double quotes";
                    self.report(Severity::Warning, "lost-word", Some(at + mark + 1), &message, hint);
                }
                at += line.len();
            }
        }
    }

    /// Reports the first control character of a body.
    pub(super) fn look_for_controls(&mut self, body: &str, body_start: usize) {
        let is_refused = |character: char| character.is_control() && !matches!(character, '\n' | '\r' | '\t');
        if let Some(at) = body.find(is_refused) {
            let message = "the body has a control character here";
            let hint = "delete it: terminals act on it, and it is shown escaped";
            self.report(Severity::Warning, "control-character", Some(body_start + at), message, hint);
        }
    }

    /// Reports the conflicts that git left.
    pub(super) fn look_for_conflicts(&mut self) {
        let text = self.text;
        let found = conflicts(text);
        let can_be_merged = !found.is_empty() && merged(text).is_some();
        for place in found.into_iter().take(MAX_OF_FILE) {
            let n_lines = text[place.clone()].lines().count();
            let message = if n_lines > 1 {
                let first = text[..place.start].matches('\n').count() + 1;
                format!("git left a conflict: lines {first} to {}", first + n_lines - 1)
            } else {
                "a conflict marker of git is here, without the others of its conflict".to_owned()
            };
            let hint = if can_be_merged && self.frontmatter.contains(&place.start) {
                "`ralph-memory check --fix` merges these lines"
            } else {
                "decide between the two versions, delete the marker lines, and `git add` the file; indent an example"
            };
            self.report(Severity::Error, CONFLICT, Some(place.start), &message, hint);
        }
    }

    /// Reports invisible characters; a sequence of them is one problem.
    pub(super) fn look_for_invisible(&mut self) {
        if let Some((_, character)) = invisible(self.path).next() {
            let message = format!("the file name has an invisible character: U+{:04X}", u32::from(character));
            self.report(Severity::Warning, "invisible-character", None, &message, "rename the file");
        }
        let text = self.text;
        // A byte order mark is allowed at the start.
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut found = invisible(&text[start..]).map(|(at, character)| (start + at, character)).peekable();
        while let Some((at, first)) = found.next() {
            let (mut count, mut end) = (1, at + first.len_utf8());
            while let Some((_, next)) = found.next_if(|(at, _)| *at == end) {
                (count, end) = (count + 1, end + next.len_utf8());
            }
            let first = u32::from(first);
            let message = match count {
                1 => format!("an invisible character is here: U+{first:04X}"),
                _ => format!("{count} invisible characters are here, the first is U+{first:04X}"),
            };
            self.report(Severity::Warning, "invisible-character", Some(at), &message, INVISIBLE_HINT);
        }
    }

    /// Reports values with invisible characters that are written as escapes.
    pub(super) fn look_for_escaped(&mut self, head: &str, fields: &Fields) {
        if !head.contains('\\') {
            return;
        }
        let mut found: Vec<(usize, &String, char)> = Vec::new();
        for (key, value) in fields {
            let (place, hidden) = (self.place_of(key), first_invisible(value));
            let is_plain = |hidden: char| head.contains(hidden);
            found.extend(place.zip(hidden.filter(|hidden| !is_plain(*hidden))).map(|(at, hidden)| (at, key, hidden)));
        }
        found.sort();
        for (at, key, hidden) in found {
            let message =
                format!("`{key}` has an invisible character, written as an escape: U+{:04X}", u32::from(hidden));
            self.report(Severity::Warning, "invisible-character", Some(at), &message, INVISIBLE_HINT);
        }
    }
}

/// Returns the first invisible character of a value.
fn first_invisible(value: &Value) -> Option<char> {
    match value {
        Value::String(text) => invisible(text).next().map(|(_, character)| character),
        Value::Array(items) => items.iter().find_map(first_invisible),
        Value::Object(mapping) => mapping.values().find_map(first_invisible),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
