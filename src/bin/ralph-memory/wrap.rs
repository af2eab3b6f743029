//! Breaks lines between words at the width of the terminal.
//!
//! A terminal breaks a line anywhere. Nothing is cut here, and a word that is wider than a line, such as a path or an address, stays
//! whole, so that it can be copied.

use console::{AnsiCodeIterator, measure_text_width};

/// Marks that begin no line in Chinese and Japanese.
const CLOSING: &str = "、。，．！？：；）」』】〉》ー…";
/// Joins two emoji to one.
const JOINER: char = '\u{200d}';

/// A part of a line that is not broken.
#[derive(Debug, Default)]
struct UnbrokenText {
    /// How many spaces are before it, if it is not the first one of a line.
    n_spaces: usize,
    /// The text, with codes for colours.
    text: String,
}

/// Returns a line as lines of at most so many columns. All but the first one begin with so many spaces.
pub(crate) fn wrapped(line: &str, columns: usize, indent: usize) -> String {
    if measure_text_width(line) <= columns {
        return line.to_owned();
    }
    // On a very narrow terminal there is little room beside them.
    let indent = indent.min(columns / 2);
    let (mut lines, mut used) = (String::new(), 0);
    for (at, piece) in pieces(line).into_iter().enumerate() {
        let width = measure_text_width(&piece.text);
        if at > 0 && used + piece.n_spaces + width > columns {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            used = indent + width;
        } else {
            lines.push_str(&" ".repeat(piece.n_spaces));
            used += piece.n_spaces + width;
        }
        lines.push_str(&piece.text);
    }
    lines
}

/// Returns the parts of a line: its words, and each of the wide characters, between which there are no spaces.
fn pieces(line: &str) -> Vec<UnbrokenText> {
    let mut pieces = vec![UnbrokenText::default()];
    let (mut is_space, mut before) = (true, None);
    for (text, is_code) in AnsiCodeIterator::new(line) {
        for character in text.chars() {
            let is_break = !is_code && is_between(before, character);
            if !is_code && character == ' ' && !is_space || is_break {
                pieces.push(UnbrokenText::default());
            }
            let Some(piece) = pieces.last_mut() else { continue };
            if is_code {
                piece.text.push(character);
                continue;
            }
            if character == ' ' {
                piece.n_spaces += 1;
            } else {
                piece.text.push(character);
            }
            (is_space, before) = (character == ' ', Some(character));
        }
    }
    pieces
}

/// Returns whether a line may be broken between two characters that are no spaces.
fn is_between(before: Option<char>, character: char) -> bool {
    let width = |character: char| if character.is_ascii() { 1 } else { measure_text_width(&character.to_string()) };
    let Some(before) = before.filter(|before| *before != ' ' && character != ' ') else { return false };
    let is_part = width(character) == 0 || before == JOINER || ('\u{1f3fb}'..='\u{1f3ff}').contains(&character);
    let is_wide = width(before) == 2 || width(character) == 2;
    is_wide && !is_part && !CLOSING.contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, columns: usize, indent: usize, expected: &[&str]) {
        assert_eq!(wrapped(line, columns, indent).split('\n').collect::<Vec<_>>(), expected);
    }

    #[test]
    fn lines_are_broken_between_words() {
        check("short", 10, 2, &["short"]);
        check("a line of words", 10, 0, &["a line of", "words"]);
        check("a line of words", 10, 2, &["a line of", "  words"]);
        check("   a line  of words", 12, 3, &["   a line", "   of words"]);
        check("   a line  of words", 14, 3, &["   a line  of", "   words"]);
        check("", 0, 4, &[""]);
    }

    #[test]
    fn what_is_longer_than_a_line_stays_whole() {
        check(
            "see http://127.0.0.1:7171/0123456789/ now",
            12,
            2,
            &["see", "  http://127.0.0.1:7171/0123456789/", "  now"],
        );
        check("journal/run-0000000a/0001", 10, 2, &["journal/run-0000000a/0001"]);
    }

    #[test]
    fn wide_characters_take_two_columns_and_need_no_spaces() {
        check("データベースを直す", 10, 0, &["データベー", "スを直す"]);
        // Not before a full stop.
        check("一二三四五。六", 10, 0, &["一二三四", "五。六"]);
        check("fix データ now", 10, 2, &["fix データ", "  now"]);
        check("ab👩‍👩‍👧‍👦👍🏽e\u{301}", 4, 0, &["ab👩‍👩‍👧‍👦", "👍🏽e\u{301}"]);
    }

    #[test]
    fn colours_take_no_room_and_stay() {
        let (bold, plain) = ("\u{1b}[1m", "\u{1b}[0m");
        check(&format!("{bold}one two{plain} three"), 9, 1, &[&format!("{bold}one two{plain}"), " three"]);
        check(&format!("{bold}one two three{plain}"), 9, 1, &[&format!("{bold}one two"), &format!(" three{plain}")]);
    }
}
