//! The marks of other programs in a text: boxes, comments, tags and imports, of which nothing is said.

use crate::text::lines::CodeFence;

/// Returns a body without the marks of boxes, such as `> [!NOTE]`, `!!! note`, `:::note` and `{% hint %}`, and without comments of
/// Obsidian, lines of tags, and imports of MDX. What is in a box stays, and so does its title, as a paragraph of its own.
pub(super) fn without_markup(body: &str) -> String {
    let (mut text, mut fence, mut is_comment) = (String::new(), None::<CodeFence>, false);
    let mut inside = BoxKind::None;
    for line in body.lines() {
        let line = match inside {
            BoxKind::Quoted if line.trim_start().starts_with('>') => unquoted(line),
            BoxKind::Indented if line.trim().is_empty() => line,
            BoxKind::Indented if line.starts_with("    ") => &line[4..],
            _ => {
                inside = BoxKind::None;
                line
            }
        };
        if let Some(open) = fence {
            fence = Some(open).filter(|open| !open.is_closed_by(line));
            text.push_str(&format!("{line}\n"));
            continue;
        }
        fence = CodeFence::opened_by(line);
        let line = without_comments(&without_between(line, "{%", "%}"), &mut is_comment);
        if let Some((kind, title)) = opened_box(&line) {
            inside = kind;
            text.push_str(&format!("\n{title}\n\n"));
        } else if !is_tags(&line) && !is_import(&line) {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

/// How the lines of a box differ from others.
#[derive(Clone, Copy)]
enum BoxKind {
    None,
    Quoted,
    Indented,
}

fn unquoted(line: &str) -> &str {
    let inside = line.trim_start().trim_start_matches('>');
    inside.strip_prefix(' ').unwrap_or(inside)
}

/// Returns the kind and the title of the box that a line opens; a line that closes one has no title.
fn opened_box(line: &str) -> Option<(BoxKind, &str)> {
    let bare = line.trim();
    if let Some(rest) = bare.strip_prefix('>').and_then(|rest| rest.trim_start().strip_prefix("[!")) {
        let (_, title) = rest.split_once(']')?;
        return Some((BoxKind::Quoted, title.trim_start_matches(['+', '-']).trim()));
    }
    let (kind, rest) = if let Some(rest) = bare.strip_prefix(":::") {
        (BoxKind::None, rest.trim_start_matches(':'))
    } else {
        let rest = ["!!! ", "???+ ", "??? "].into_iter().find_map(|mark| bare.strip_prefix(mark))?;
        (BoxKind::Indented, rest)
    };
    let title = rest.trim_start().trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '-');
    Some((kind, title.trim().trim_matches(['"', '[', ']', '{', '}'])))
}

/// Returns a line without what is between two marks.
fn without_between(line: &str, open: &str, close: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once(open)
        && let Some((_, after)) = after.split_once(close)
    {
        text.push_str(before);
        rest = after;
    }
    text + rest
}

/// Returns a line without comments of Obsidian. A line that is only a mark begins or ends one of several lines.
fn without_comments(line: &str, is_comment: &mut bool) -> String {
    if line.trim() == "%%" {
        *is_comment = !*is_comment;
        return String::new();
    }
    if *is_comment { String::new() } else { without_between(line, "%%", "%%") }
}

/// Returns whether a line has only tags, such as `#db #ops/night`.
fn is_tags(line: &str) -> bool {
    let is_tag = |word: &str| word.strip_prefix('#').is_some_and(|tag| tag.starts_with(char::is_alphanumeric));
    !line.trim().is_empty() && line.split_whitespace().all(is_tag)
}

/// Returns whether a line is an import of MDX.
fn is_import(line: &str) -> bool {
    line.starts_with("import ") && line.trim_end_matches([' ', ';']).ends_with(['"', '\''])
}
