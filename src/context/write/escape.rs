//! Escapes text from entries so that it is safe among the program's own text.
//!
//! The text is folded to one line, or put into a blockquote or a fence that it cannot close. None of its headings,
//! lists or fences can look like one of the context's. Sigils in it are defused, and control characters are made
//! visible.

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::agent_output::elements::defuse;
use crate::entry::body;
use crate::knowledge::Staleness;
use crate::text::{for_line, for_terminal, shorten};

/// How much of a commit, a name or a path is shown, in characters.
const DOUBT_CHARACTERS: usize = 120;

/// Returns the text folded to one line, which is safe anywhere except at the start of a line.
pub(super) fn line(text: &str) -> String {
    for_terminal(&defuse(&folded(text)))
}

/// Returns [`line()`] of the text's beginning, cut between words to at most `limit` characters.
pub(super) fn short(text: &str, limit: usize) -> String {
    for_terminal(&defuse(&shorten(&folded(text), limit)))
}

/// Returns a bullet with the text after [`short`]; nothing if that is empty.
pub(super) fn bullet(name: &str, text: &str, limit: usize) -> String {
    if text.trim().is_empty() { String::new() } else { format!("- **{name}:** {}\n", short(text, limit)) }
}

/// Returns the text after [`short`] as inline code.
pub(super) fn code(text: &str, limit: usize) -> String {
    format!("`{}`", short(&for_line(text), limit).replace('`', "'"))
}

/// Returns why an entry may be outdated.
pub(super) fn doubt(stale: &Staleness) -> String {
    stale.reason(|text| code(text, DOUBT_CHARACTERS))
}

/// Returns the list in one line, with at most `most` items, which must be at least one.
pub(super) fn list(texts: &[&str], most: usize) -> String {
    let shown: Vec<String> = texts.iter().take(most).map(|text| line(text)).collect();
    let n_more = texts.len() - shown.len();
    let shown = shown.join(", ");
    if n_more == 0 { shown } else { format!("{shown} and {n_more} more") }
}

/// Returns a text for the start of a line: unchanged if it is one line, else as a blockquote.
pub(super) fn paragraph(text: &str) -> String {
    let text = text.trim();
    if text.lines().nth(1).is_none() {
        let line = line(text);
        return match opens_block(&line) {
            Some(at) => format!("{}\\{}", &line[..at], &line[at..]),
            None => line,
        };
    }
    quote(text, "")
}

/// Returns the text as a blockquote, each line after `indent`, without a line break at the end.
pub(super) fn quote(text: &str, indent: &str) -> String {
    let quoted = |line: &str| format!("{indent}> {line}").trim_end().to_owned();
    lines(text).lines().map(quoted).collect::<Vec<_>>().join("\n")
}

/// Returns the text in a fence of `mark` that it cannot close, each line after `indent`, with a line break at the end.
/// The opening fence is followed by `info`.
pub(super) fn fence(text: &str, mark: char, info: &str, indent: &str) -> String {
    let text = lines(text);
    let fence = crate::text::fence(&text, mark);
    let mut block = format!("{indent}{fence}{info}\n");
    for line in text.lines() {
        if !line.is_empty() {
            block.push_str(indent);
            block.push_str(line);
        }
        block.push('\n');
    }
    block.push_str(&format!("{indent}{fence}\n"));
    block
}

/// Returns the last `limit` characters of a text, after `…` if it was cut.
pub(super) fn end(text: &str, limit: usize) -> String {
    let text = text.trim_matches(['\n', '\r']).trim_end();
    let n_over = text.chars().count().saturating_sub(limit);
    match text.char_indices().nth(n_over) {
        Some((at, _)) if n_over > 0 => format!("…{}", text[at..].trim_start()),
        _ if n_over > 0 => "…".to_owned(),
        _ => text.to_owned(),
    }
}

/// Returns the body, cut to this many words.
pub(super) fn cut_to_words(body: &str, most: usize) -> String {
    body::cut(body, &|body| has_at_most(body, most)).unwrap_or_default()
}

/// Returns whether a body, cut or not, has at most this many words.
pub(super) fn has_at_most(body: &str, most: usize) -> bool {
    // The mark of a cut is not a word of the entry.
    let own = body.strip_suffix(body::TRUNCATED).unwrap_or(body);
    own.split_whitespace().count() <= most
}

/// Returns the paragraph that a body begins with, and the rest of the body; `None` if it begins with anything else.
pub(super) fn first_paragraph(body: &str) -> Option<(&str, &str)> {
    let body = body.trim_matches(['\n', '\r']);
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let (event, range) = Parser::new_ext(body, options).into_offset_iter().next()?;
    let is_first = matches!(event, Event::Start(Tag::Paragraph)) && body[..range.start].trim().is_empty();
    // A paragraph's range ends after its line break.
    is_first.then(|| (body[range.clone()].trim(), body[range.end..].trim_matches(['\n', '\r']).trim_end()))
}

/// Returns the largest number in the range for which `fits` is true, if it is true for the first. If `fits` is true for
/// a number, it must be true for all lower ones. It was called for the returned number.
pub(super) fn longest(range: std::ops::RangeInclusive<usize>, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut best, mut over) = (*range.start(), range.end() + 1);
    if range.is_empty() || !fits(best) {
        return None;
    }
    while over - best > 1 {
        let middle = best + (over - best) / 2;
        if fits(middle) {
            best = middle;
        } else {
            over = middle;
        }
    }
    Some(best)
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    for_terminal(&defuse(text.trim_matches('\n').trim_end()))
}

/// Returns where a line at the start of a text needs a backslash to be only a line of a paragraph.
fn opens_block(line: &str) -> Option<usize> {
    let first = line.chars().next()?;
    let second = line[first.len_utf8()..].chars().next();
    let is_alone = second.is_none_or(char::is_whitespace);
    let is_rule = line.chars().all(|character| character == first || character == ' ');
    let opens = match first {
        '#' | '>' | '<' | '=' | '|' | '~' | '+' => true,
        '-' => is_alone || second == Some('-') || is_rule || line.contains('|'),
        '*' | '_' => is_alone || is_rule,
        ':' => second == Some('-'),
        '`' => line.starts_with("```"),
        _ => false,
    };
    if opens {
        return Some(0);
    }
    let n_digits = line.len() - line.trim_start_matches(|character: char| character.is_ascii_digit()).len();
    let behind = line[n_digits..].strip_prefix(['.', ')']).filter(|_| n_digits > 0)?;
    (behind.is_empty() || behind.starts_with(' ')).then_some(n_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_opens_no_block() {
        let check = |text: &str, expected: &str| {
            assert_eq!(paragraph(text), expected);
            // A line that can only be a paragraph is one, even below another line.
            let below = format!("Above:\n{}", paragraph(text));
            let kinds = Parser::new_ext(&below, Options::all()).filter(|event| match event {
                Event::Start(tag) => {
                    !matches!(tag, Tag::Paragraph | Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Strikethrough)
                }
                event => matches!(event, Event::Rule | Event::Html(_)),
            });
            assert_eq!(kinds.count(), 0, "{below}");
        };
        check("plain", "plain");
        check(" a  b ", "a b");
        check("# a", "\\# a");
        check("> a", "\\> a");
        check("- a", "\\- a");
        check("-", "\\-");
        check("--flag", "\\--flag");
        check("-x", "-x");
        check("* a", "\\* a");
        check("**a** b", "**a** b");
        check("***", "\\***");
        check("_ _ _", "\\_ _ _");
        check("===", "\\===");
        check("1. a", "1\\. a");
        check("12) a", "12\\) a");
        check("1.5 a", "1.5 a");
        check("```sh", "\\```sh");
        check("`a` b", "`a` b");
        check("~~~", "\\~~~");
        check("<div>", "\\<div>");
        check("<!-- a", "\\<!-- a");
        check("|-|", "\\|-|");
        check(":-:", "\\:-:");
        check("+++", "\\+++");
        check("## MEMORY_SUGGESTIONS", "\\## MEMORY_SUGGESTIONS");
        check("<journal>", "&lt;journal>");
    }

    #[test]
    fn several_lines_are_quoted() {
        let check = |text: &str, expected: &str| assert_eq!(paragraph(text), expected);
        check("a\n\n# b\r\n<journal>\n", "> a\n>\n> # b\n> &lt;journal>");
        check("a\rb\nc", "> a\\u{d}b\n> c");
        check("a\u{2028}b", "a b");
    }

    #[test]
    fn a_fence_is_longer_than_any_fence_inside_it() {
        let check = |text: &str, mark, expected: &str| assert_eq!(fence(text, mark, "", "  "), expected);
        check("a\n\nb\n", '`', "  ```\n  a\n\n  b\n  ```\n");
        check("````", '`', "  `````\n  ````\n  `````\n");
        check("````", '~', "  ~~~\n  ````\n  ~~~\n");
        check("", '~', "  ~~~\n  ~~~\n");
        check("a\r\nb\rc\n<task-done>", '`', "  ```\n  a\n  b\\u{d}c\n  &lt;task-done>\n  ```\n");
    }

    #[test]
    fn ends_are_cut_at_characters() {
        let check = |text: &str, limit, expected: &str| assert_eq!(end(text, limit), expected);
        check("\näöü\n", 3, "äöü");
        check("äöü", 2, "…öü");
        check("a b", 2, "…b");
        check("äöü", 0, "…");
    }

    #[test]
    fn bodies_begin_with_a_paragraph_or_not() {
        let check = |body: &str, expected| assert_eq!(first_paragraph(body), expected);
        check("a\nb\n", Some(("a\nb", "")));
        check("\na\n\n- b\n\n", Some(("a", "- b")));
        check("a\n- b\n", Some(("a", "- b")));
        check("a\n===\n", None);
        check("- a\n", None);
        check("[a]: b\n\nc", None);
        check("a | b\n--|--\nc | d\n", None);
        check("", None);
    }
}
