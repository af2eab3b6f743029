//! Lists of lines, places in them, and the code fences that lines open and close.

use serde_json::Value;

use super::floor;

/// The shortest code fence, in marks.
const SHORTEST: usize = 3;

/// Returns the items that a function makes of all, each once, without empty ones.
pub(crate) fn each_once<T: AsRef<str>>(all: impl IntoIterator<Item = T>, item: impl Fn(&str) -> String) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for item in all.into_iter().map(|one| item(one.as_ref())) {
        if !item.is_empty() && !items.contains(&item) {
            items.push(item);
        }
    }
    items
}

/// Returns a value that is one text, number or truth value as text.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the items of a text between commas, without the quotes around them. A comma in quotes or in braces is a part of an
/// item. The text may also be a list in JSON.
pub(crate) fn between_commas(text: &str) -> Vec<String> {
    if let Ok(items) = serde_json::from_str::<Vec<Value>>(text) {
        return items.iter().filter_map(scalar).collect();
    }
    let n = |mark: char| text.matches(mark).count();
    let (has_quotes, has_braces) = (n('"') % 2 == 0, n('{') == n('}'));
    let (mut is_quoted, mut depth) = (false, 0_usize);
    let is_between = |letter: char| {
        match letter {
            '"' if has_quotes => is_quoted = !is_quoted,
            '{' if has_braces => depth += 1,
            '}' if has_braces => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && !is_quoted && depth == 0
    };
    let bare = |item: &str| {
        let inside = item.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        inside.filter(|inside| !inside.contains('"')).unwrap_or(item).to_owned()
    };
    text.split(is_between).map(|item| bare(item.trim())).collect()
}

/// Returns the line and the column of an offset, both counted from 1, the column in characters.
pub(crate) fn place(text: &str, offset: usize) -> (u32, u32) {
    let before = &text[..floor(text, offset)];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).saturating_add(1);
    (count(before.matches('\n').count()), count(before[line_start..].chars().count()))
}

/// A code fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeFence {
    /// A backtick or a tilde.
    pub(crate) mark: char,
    /// The number of marks.
    pub(crate) length: usize,
}

impl CodeFence {
    /// Returns the fence that a line opens. Behind backticks there are none, or they are inline code.
    pub(crate) fn opened_by(line: &str) -> Option<CodeFence> {
        let (fence, rest) = CodeFence::at_start(line)?;
        (fence.mark == '~' || !rest.contains('`')).then_some(fence)
    }

    /// Returns the longest fence of its mark that a line could close.
    pub(crate) fn closed_by(line: &str) -> Option<CodeFence> {
        let (fence, rest) = CodeFence::at_start(line)?;
        rest.trim().is_empty().then_some(fence)
    }

    /// Returns whether a line closes this fence.
    pub(crate) fn is_closed_by(self, line: &str) -> bool {
        CodeFence::closed_by(line).is_some_and(|other| other.mark == self.mark && other.length >= self.length)
    }

    fn at_start(line: &str) -> Option<(CodeFence, &str)> {
        let bare = line.trim_start();
        let mark = bare.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = bare.trim_start_matches(mark);
        let length = bare.len() - rest.len();
        (length >= SHORTEST).then_some((CodeFence { mark, length }, rest))
    }
}
