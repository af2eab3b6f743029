//! The byte order mark, the line ends and whole lines of a file.

use std::ops::Range;

const BOM: &str = "\u{feff}";

/// Splits off the byte order mark.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BOM) { BOM.len() } else { 0 })
}

/// Returns the line end that a file uses: that of its first line.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Appends lines after an empty line. A text whose last line has no end keeps that.
pub(super) fn appended(text: &str, lines: &str) -> String {
    let end = line_end(text);
    let lines = lines.replace('\n', end);
    match text {
        "" => lines,
        _ if text.ends_with('\n') => format!("{text}{end}{lines}"),
        _ => format!("{text}{end}{end}{}", lines.trim_end()),
    }
}

/// Cuts out lines, and what [`appended`] puts before them.
pub(super) fn cut_out(text: &str, lines: Range<usize>) -> String {
    let end = line_end(text);
    let mut before = &text[..lines.start];
    before = before.strip_suffix(end).filter(|before| before.ends_with('\n')).unwrap_or(before);
    if lines.end == text.len() && !text.ends_with('\n') {
        before = before.strip_suffix(end).unwrap_or(before);
    }
    format!("{before}{}", &text[lines.end..])
}
