//! The body of a journal file: its sections, written in blockquotes and found by their headings.
//!
//! Text of an agent is in blockquotes, so nothing in it can look like a heading or an open fence of the file itself.
//! Text that a person edited may lack them.

use super::Sections;
use crate::entry::outline::headings;
use crate::text::fold;

/// Which part of a text remains when it is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Its beginning: for text from people.
    Start,
    /// Its end: for output of commands, whose last lines say why they failed.
    End,
}

/// A heading, which end of the text below it stays where it is too long, and the part that belongs to it.
pub(super) type SectionPart = (&'static str, Keep, fn(&mut Sections) -> &mut String);
pub(super) const PARTS: [SectionPart; 10] = [
    ("Summary", Keep::Start, |sections| &mut sections.summary),
    ("What was tried", Keep::Start, |sections| &mut sections.what_tried),
    ("Why it failed", Keep::Start, |sections| &mut sections.why_failed),
    ("Error output", Keep::End, |sections| &mut sections.error_output),
    ("Retry suggestion", Keep::Start, |sections| &mut sections.retry_suggestion),
    ("Decisions", Keep::Start, |sections| &mut sections.decisions),
    ("Errors", Keep::End, |sections| &mut sections.errors),
    ("Validation output", Keep::End, |sections| &mut sections.validation_output),
    ("Progress", Keep::End, |sections| &mut sections.progress),
    ("Feedback", Keep::Start, |sections| &mut sections.feedback),
];

impl Sections {
    /// Reads the body of a journal file. Unknown headings are skipped with the text below them; of two equal headings
    /// the first one counts.
    pub(crate) fn read(body: &str) -> Sections {
        let mut sections = Sections::default();
        let mut headings = headings(body);
        headings.retain(|heading| heading.level <= 2);
        let end = headings.first().map_or(body.len(), |heading| heading.range.start);
        sections.notes = unquoted(&body[..end]);
        for (at, heading) in headings.iter().enumerate() {
            let end = headings.get(at + 1).map_or(body.len(), |next| next.range.start);
            let title = fold(&heading.title);
            let part = PARTS.iter().find(|(name, ..)| heading.level == 2 && fold(name) == title);
            if let Some((.., part)) = part {
                let part = part(&mut sections);
                if part.is_empty() {
                    *part = unquoted(&body[heading.range.end..end]);
                }
            }
        }
        sections
    }

    /// Returns the text below a heading.
    pub(crate) fn part(&mut self, heading: &str) -> Option<&mut String> {
        PARTS.iter().find(|(name, ..)| *name == heading).map(|(.., part)| part(self))
    }

    /// Takes over each text of the other where this one has none that `is_given`.
    pub(crate) fn complete(&mut self, mut other: Sections, is_given: impl Fn(&str) -> bool) {
        let notes: SectionPart = ("", Keep::Start, |sections| &mut sections.notes);
        for (.., part) in [notes].iter().chain(&PARTS) {
            let (own, other) = (part(self), part(&mut other));
            if !is_given(own) && !other.trim().is_empty() {
                *own = std::mem::take(other);
            }
        }
    }

    /// Writes the body of a journal file.
    pub(super) fn to_body(&self) -> String {
        let mut body = String::new();
        let mut copy = self.clone();
        quote_into(&mut body, &self.notes);
        for (name, _, part) in PARTS {
            let text = part(&mut copy);
            if !text.is_empty() {
                body.push_str(&format!("\n## {name}\n"));
                quote_into(&mut body, text);
            }
        }
        body
    }
}

/// Puts `>` before every line.
fn quote_into(body: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    body.push('\n');
    for line in text.split('\n') {
        body.push_str(if line.is_empty() { ">" } else { "> " });
        body.push_str(line);
        body.push('\n');
    }
}

/// Removes one `>` from every line, if every line with text has one; else returns the text unchanged, without its outer
/// blank lines.
fn unquoted(text: &str) -> String {
    let text = text.trim_matches(['\n', '\r']).trim_end();
    let is_quoted = text.lines().all(|line| line.is_empty() || line.starts_with('>'));
    if !is_quoted {
        return text.trim_start_matches(['\n', '\r']).to_owned();
    }
    let bare = |line| str::strip_prefix(line, "> ").or_else(|| line.strip_prefix('>')).unwrap_or(line);
    text.lines().map(bare).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_found_by_their_headings() {
        let body = "\n> notes\n> more\n\n## Summary\n\n> a\n>\n> b\n\n## why it FAILED\n\nby hand\n\n- list\n\n## Other\n\n> x\n\n# Errors\n\n> y\n";
        let sections = Sections::read(body);
        let expected = Sections {
            notes: "notes\nmore".into(),
            summary: "a\n\nb".into(),
            why_failed: "by hand\n\n- list".into(),
            ..Sections::default()
        };
        assert_eq!(sections, expected);
    }

    #[test]
    fn text_inside_a_quotation_is_no_heading() {
        let inside = "## Summary\n\n```sh\nopen\n\n## Errors";
        let sections = Sections { notes: inside.into(), what_tried: inside.into(), ..Sections::default() };
        assert_eq!(Sections::read(&sections.to_body()), sections);
        let by_hand = "> n\n\n- ## Summary\n\n```\n## Errors\n```\n\n## Progress\n\n> p\n";
        assert_eq!(Sections::read(by_hand).progress, "p");
        assert_eq!(Sections::read(by_hand).errors, "");
    }

    /// An unclosed fence in the notes swallows nothing after it.
    #[test]
    fn an_open_fence_ends_with_its_section() {
        let sections = Sections {
            notes: "```rust\nlet x = 1;".into(),
            why_failed: "<!-- never closed\n~~~~".into(),
            error_output: "> quoted\n>> twice".into(),
            ..Sections::default()
        };
        assert_eq!(Sections::read(&sections.to_body()), sections);
    }

    #[test]
    fn line_ends_of_editors_are_read() {
        let sections = Sections::read("\r\n> a\r\n> b\r\n\r\n## Errors\r\n\r\n> c\r\n");
        assert_eq!((sections.notes.as_str(), sections.errors.as_str()), ("a\nb", "c"));
    }
}
