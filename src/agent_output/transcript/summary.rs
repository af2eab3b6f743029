//! An agent's final message without its sigils, which the journal has in other places.

use crate::agent_output::elements::{ELEMENTS, SUGGESTIONS_HEADING};

/// Returns a text without its sigils and their content, and without the block of suggestions. An unclosed one stays,
/// like everything else.
pub(crate) fn without_sigils(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut kept = String::with_capacity(text.len());
    // If a search for an end fails, later searches for it fail as well.
    let mut is_unclosed = [false; ELEMENTS.len()];
    let mut at = 0;
    while let Some(found) = lower[at..].find('<') {
        let start = at + found;
        kept.push_str(&text[at..start]);
        let end = element(&lower, start, &mut is_unclosed);
        if end.is_none() {
            kept.push('<');
        }
        at = end.unwrap_or(start + 1);
    }
    kept.push_str(&text[at..]);
    let is_heading = |line: &str| {
        line.starts_with('#') && line.trim_start_matches('#').trim().eq_ignore_ascii_case(SUGGESTIONS_HEADING)
    };
    let mut lines: Vec<&str> = Vec::new();
    for line in kept.lines().take_while(|line| !is_heading(line.trim())) {
        // Removed text leaves gaps.
        if !(line.trim().is_empty() && lines.last().is_none_or(|last| last.trim().is_empty())) {
            lines.push(line.trim_end());
        }
    }
    lines.join("\n").trim_end().to_owned()
}

/// Returns the end of the element that begins there.
fn element(lower: &str, start: usize, is_unclosed: &mut [bool]) -> Option<usize> {
    let inner = &lower[start + 1..];
    let is_end = |rest: &str| rest.starts_with(|next: char| next == '>' || next.is_whitespace());
    let index = ELEMENTS.iter().position(|known| inner.strip_prefix(known.name).is_some_and(is_end))?;
    if is_unclosed[index] {
        return None;
    }
    let closing = format!("</{}>", ELEMENTS[index].name);
    let Some(found) = inner.find(&closing) else {
        is_unclosed[index] = true;
        return None;
    };
    Some(start + 1 + found + closing.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigils_are_taken_out() {
        let check = |text: &str, expected: &str| assert_eq!(without_sigils(text), expected, "{text}");
        check("", "");
        check("All done. a < b\n", "All done. a < b");
        check("It works.\n\n<journal>\nNotes\n</journal>\n\n<Task-Done>t-1</TASK-DONE>\n\nBye.", "It works.\n\nBye.");
        check("<learning category=\"pitfall\" tags=\"a\">x</learning>", "");
        check("Say <task-done> when <task-donec>x</task-donec>.", "Say <task-done> when <task-donec>x</task-donec>.");
        check("Ä<journal>ö</journal>ü", "Äü");
        check("Fine.\n\n## MEMORY_SUGGESTIONS\n```json\n[]\n```\n", "Fine.");
        check(&"<journal>".repeat(100_000), &"<journal>".repeat(100_000));
    }
}
