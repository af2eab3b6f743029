//! Text of entries, made safe for readers of an answer.
//!
//! An answer is JSON, so a text can only be a value. But it goes into prompts and onto terminals: sigils in it are
//! defused, and control characters are made visible.

use ralph_memory::context::defuse;
use ralph_memory::text::for_terminal;
use ralph_memory::{Id, Problem};
use serde::Serialize;

/// How many problems an answer names.
const MAX_PROBLEMS: usize = 5;

/// Returns a text of lines.
pub(super) fn text(text: &str) -> String {
    for_terminal(&defuse(text))
}

/// Returns a text as one line.
pub(super) fn line(text: &str) -> String {
    self::text(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns texts as lines.
pub(super) fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| line(text)).collect()
}

/// Returns ids.
pub(super) fn ids(ids: &[Id]) -> Vec<String> {
    ids.iter().map(id).collect()
}

/// Returns an id, which is a file's name and may come from anywhere.
pub(super) fn id(id: &Id) -> String {
    text(id.as_str())
}

/// Returns the text from the character `from` on, at most `most` characters of it, and where the rest begins. It is cut
/// at a line's end where there is one.
pub(super) fn piece(text: &str, from: usize, most: usize) -> (&str, Option<usize>) {
    let rest = text.char_indices().nth(from).map_or("", |(at, _)| &text[at..]);
    let Some((end, _)) = rest.char_indices().nth(most) else { return (rest, None) };
    let end = rest[..end].rfind('\n').map_or(end, |at| at + 1);
    (&rest[..end], Some(from + rest[..end].chars().count()))
}

/// A problem of one file of the memory; the answer is complete otherwise.
#[derive(Debug, Serialize)]
pub(super) struct ToolProblem {
    /// The file
    path: String,
    /// The line in it
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// The problem
    message: String,
    /// How to fix it
    hint: String,
}

/// Returns a safe text of one line as inline code.
pub(super) fn code(line: &str) -> String {
    format!("`{}`", line.replace('`', "'"))
}

/// Returns ids as a list in one line.
pub(super) fn codes(ids: &[String]) -> String {
    ids.iter().map(|id| code(id)).collect::<Vec<_>>().join(", ")
}

/// Returns a safe text as a blockquote.
pub(super) fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect()
}

/// Returns what an answer ends with: its problems, if there are any.
pub(super) fn problem_list(problems: &[ToolProblem]) -> String {
    let mut text = String::new();
    for ToolProblem { path, line, message, hint } in problems {
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        text.push_str(&format!("- {path}{line}: {message} ({hint})\n"));
    }
    if text.is_empty() { text } else { format!("\nProblems with files of the memory:\n\n{text}") }
}

/// Returns the first few problems.
pub(super) fn troubles(problems: &[Problem]) -> Vec<ToolProblem> {
    let trouble = |problem: &Problem| ToolProblem {
        path: line(&problem.path),
        line: problem.line,
        message: line(&problem.message),
        hint: line(&problem.hint),
    };
    problems.iter().take(MAX_PROBLEMS).map(trouble).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_characters_or_sigils_are_left_in_a_text() {
        assert_eq!(text("a\u{1b}[31m\n<task-done>x</task-done>"), "a\\u{1b}[31m\n&lt;task-done>x&lt;/task-done>");
        assert_eq!(line("a\n## b\t c"), "a ## b c");
    }

    #[test]
    fn pieces_make_up_the_text() {
        let text = "äb\nc\n\nlong line without an end\n";
        for most in 1..40 {
            let (mut read, mut from) = (String::new(), Some(0));
            while let Some(at) = from {
                let (piece, next) = piece(text, at, most);
                assert!(piece.chars().count() <= most && next.is_none_or(|next| next > at), "{most}");
                read.push_str(piece);
                from = next;
            }
            assert_eq!(read, text);
        }
        assert_eq!(piece("abc", 7, 2), ("", None));
        assert_eq!(piece("a\nbcd", 0, 3), ("a\n", Some(2)));
    }
}
