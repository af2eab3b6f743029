//! The tags of elements, and the marks that a line has before them.

use super::{ELEMENTS, ReportElement, SUGGESTIONS_HEADING};
use crate::text::floor;

/// The longest opening tag, in bytes.
const MAX_TAG: usize = 4096;

/// Returns the width of the white space that a line begins with; a tab reaches to the next multiple of 4.
pub(super) fn columns(line: &str) -> usize {
    let space = line.chars().take_while(|next| next.is_whitespace());
    space.fold(0, |column, next| if next == '\t' { column / 4 * 4 + 4 } else { column + 1 })
}

/// Returns a line without the white space and the marks of lists that it begins with.
pub(crate) fn in_list(line: &str) -> &str {
    let mut bare = line.trim_start();
    loop {
        let digits = bare.trim_start_matches(|next: char| next.is_ascii_digit());
        let marks: &[char] = if digits.len() < bare.len() { &['.', ')'] } else { &['-', '*', '+', '•'] };
        match digits.strip_prefix(marks).filter(|rest| rest.starts_with([' ', '\t'])) {
            Some(rest) => bare = rest.trim_start(),
            None => return bare,
        }
    }
}

/// Returns whether a line is a quotation, in a list or not.
pub(super) fn is_quoted(line: &str) -> bool {
    in_list(line).starts_with('>')
}

/// Returns a part of a line without the marks of lists, headings and emphasis that it begins with.
pub(super) fn without_marks(part: &str) -> &str {
    in_list(part).trim_start_matches(|next: char| next.is_whitespace() || "*_~#".contains(next))
}

/// Returns whether a line is the heading of the block in which events are suggested.
pub(super) fn is_suggestions_heading(line: &str) -> bool {
    let name = line.trim().trim_start_matches('#');
    name.len() < line.trim().len() && name.trim() == SUGGESTIONS_HEADING
}

pub(super) fn opens(text: &str) -> Option<&'static ReportElement> {
    let (element, rest) = named(text.strip_prefix('<')?)?;
    rest.starts_with(|next: char| next.is_whitespace() || matches!(next, '>' | '/')).then_some(element)
}

/// Returns the element whose closing tag is at the start of a text, and the length of the tag.
pub(super) fn closes(text: &str) -> Option<(&'static ReportElement, usize)> {
    let (element, rest) = named(text.strip_prefix("</")?)?;
    let rest = rest.trim_start_matches([' ', '\t']).strip_prefix('>')?;
    Some((element, text.len() - rest.len()))
}

fn named(text: &str) -> Option<(&'static ReportElement, &str)> {
    ELEMENTS.iter().find_map(|element| {
        let start = text.get(..element.name.len()).filter(|start| start.eq_ignore_ascii_case(element.name))?;
        // `journal` is not the beginning of `journalist`; the next character decides.
        Some((element, &text[start.len()..]))
    })
}

/// Returns the attributes of the opening tag at the start of a text, and the tag's length; `None` if it has no end.
pub(super) fn attributes<'a>(text: &'a str, name: &str, steps: &mut usize) -> Option<(Vec<(String, &'a str)>, usize)> {
    let mut attributes = Vec::new();
    let mut rest = &text[1 + name.len()..];
    loop {
        *steps += 1;
        rest = rest.trim_start();
        if text.len() - rest.len() > MAX_TAG {
            return None;
        }
        if let Some(behind) = rest.strip_prefix('>') {
            return Some((attributes, text.len() - behind.len()));
        }
        if let Some(behind) = rest.strip_prefix('/') {
            rest = behind;
            continue;
        }
        let is_end = |next: char| next.is_whitespace() || matches!(next, '=' | '>' | '/' | '<' | '"' | '\'');
        let length = limited(rest).find(is_end)?;
        let key = rest[..length].to_lowercase();
        let behind = rest[length..].trim_start();
        rest = match behind.strip_prefix('=').map(str::trim_start) {
            Some(value) => {
                let (value, behind) = attribute_value(value)?;
                attributes.push((key, value));
                behind
            }
            // An attribute without a value is ignored; an invalid name means that there is no tag.
            None if length == 0 => return None,
            None => behind,
        };
    }
}

fn attribute_value(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''));
    if let Some(quote) = quote {
        let inner = &text[1..];
        let end = limited(inner).find(quote)?;
        return Some((&inner[..end], &inner[end + 1..]));
    }
    let end = limited(text).find(|next: char| next.is_whitespace() || matches!(next, '>' | '<'))?;
    Some(text.split_at(end))
}

fn limited(text: &str) -> &str {
    &text[..floor(text, MAX_TAG)]
}
