//! The byte order mark and the line ends of a file.

const BOM: &str = "\u{feff}";

/// Returns the byte order mark of a text, and the rest.
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

/// Returns where a line begins, or the empty line before it: setup puts one there.
pub(super) fn with_empty_line(text: &str, start: usize) -> usize {
    let ends = |line_end: &&&str| text[..start].ends_with(&line_end.repeat(2));
    start - ["\r\n", "\n"].iter().find(ends).map_or(0, |line_end| line_end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found() {
        assert_eq!((line_end("a\r\nb\n"), line_end("a\nb\r\n"), line_end("a")), ("\r\n", "\n", "\n"));
        assert_eq!(
            (with_empty_line("a\r\n\r\nb", 5), with_empty_line("a\n\nb", 3), with_empty_line("a\nb", 2)),
            (3, 2, 2)
        );
    }
}
