//! Titles of texts that have none.

use super::shorten;

/// Returns the first line of `text`, or its first sentence if that is shorter, cut between words to at most `limit`
/// characters, marked with `…` if it was cut.
pub fn first_sentence(text: &str, limit: usize) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    let end = line
        .char_indices()
        .find(|(at, character)| matches!(character, '.' | '!' | '?') && line[at + 1..].starts_with(char::is_whitespace))
        .map_or(line.len(), |(at, _)| at + 1);
    shorten(&line[..end], limit)
}

/// The longest title that is made from a text, in characters.
const MAX_TITLE: usize = 80;

/// Returns a title for a text that has none: its first sentence, without the marks of a list, a heading or a quotation,
/// at most 80 characters.
pub fn title_of(text: &str) -> String {
    let line = text.lines().map(|line| line.trim().trim_start_matches(['#', '-', '*', '>', ' '])).find(|line| {
        // A line with only markup has no text.
        line.contains(char::is_alphanumeric)
    });
    let line = line.unwrap_or_else(|| text.lines().next().unwrap_or_default());
    // A sentence may continue on the next line.
    let from = line.as_ptr() as usize - text.as_ptr() as usize;
    let paragraph: Vec<&str> = text[from..].lines().take_while(|line| !line.trim().is_empty()).collect();
    first_sentence(&paragraph.join(" "), MAX_TITLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_sentence_without_markup() {
        assert_eq!(title_of("- Use the nightly\ntoolchain. It is pinned."), "Use the nightly toolchain.");
        assert_eq!(title_of("---\n# A heading\n\nText."), "A heading");
        assert_eq!(first_sentence("Use `cargo b.c`. Then more.", 80), "Use `cargo b.c`.");
        assert_eq!(first_sentence("one two three", 8), "one two…");
    }
}
