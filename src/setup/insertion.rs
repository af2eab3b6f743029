//! Text that set-up puts into a file, in a form that can be taken out again to the byte.

use serde::{Deserialize, Serialize};

/// A text that was inserted, and where: the offset in bytes is that in the file with all earlier insertions made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Insertion {
    pub(super) at: usize,
    pub(super) text: String,
}

impl Insertion {
    pub(super) fn new(at: usize, text: impl Into<String>) -> Insertion {
        Insertion { at, text: text.into() }
    }
}

/// Returns the text with the insertions made, one after the other.
pub(super) fn insert(text: &str, insertions: &[Insertion]) -> String {
    let mut text = text.to_owned();
    for Insertion { at, text: inserted } in insertions {
        text.insert_str(*at, inserted);
    }
    text
}

/// Returns the text without the insertions; `None` if one of them is not where it should be.
pub(super) fn take_out(text: &str, insertions: &[Insertion]) -> Option<String> {
    let mut text = text.to_owned();
    for Insertion { at, text: inserted } in insertions.iter().rev() {
        let end = at.checked_add(inserted.len())?;
        if text.get(*at..end)? != inserted {
            return None;
        }
        text.replace_range(*at..end, "");
    }
    Some(text)
}

/// Returns the line end that a file uses: that of its first line.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns the spaces and tabs with which the line of an offset begins.
pub(super) fn indent_at(text: &str, offset: usize) -> &str {
    let line = &text[text[..offset].rfind('\n').map_or(0, |at| at + 1)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns whether only spaces and tabs stand before an offset in its line.
pub(super) fn begins_line(text: &str, offset: usize) -> bool {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    text[start..offset].bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Grows a range that is to be deleted over the rest of its lines, if nothing else stands on them.
pub(super) fn with_blank_lines(text: &str, mut start: usize, mut end: usize) -> (usize, usize) {
    let rest = &text[end..];
    let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let after = rest[blank..].strip_prefix('\r').unwrap_or(&rest[blank..]);
    if begins_line(text, start) && (after.starts_with('\n') || after.is_empty()) {
        start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        end = text.len() - after.len() + usize::from(after.starts_with('\n'));
    }
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_taken_out_to_the_byte() {
        let insertions = [Insertion::new(1, ","), Insertion::new(2, "ö"), Insertion::new(0, "x")];
        let text = insert("ab", &insertions);
        assert_eq!(text, "xa,öb");
        assert_eq!(take_out(&text, &insertions).as_deref(), Some("ab"));
        for changed in ["xa,ob", "", "xa;öb", "a,öb"] {
            assert_eq!(take_out(changed, &insertions), None, "{changed}");
        }
        assert_eq!(take_out("ab", &[Insertion::new(usize::MAX, "x")]), None);
    }

    #[test]
    fn lines_are_found() {
        assert_eq!((line_end("a\r\nb\n"), line_end("a\nb\r\n"), line_end("a")), ("\r\n", "\n", "\n"));
        assert_eq!((indent_at("a\n\t b", 4), indent_at("  a", 2)), ("\t ", "  "));
        assert!(begins_line("a\n  b", 4) && !begins_line("a b", 2));
        assert_eq!(with_blank_lines("a\n  b \nc", 4, 5), (2, 7));
        assert_eq!(with_blank_lines("a\n  b, c\n", 4, 6), (4, 6));
        assert_eq!(with_blank_lines("b", 0, 1), (0, 1));
    }
}
