//! Blocks of a text that other programs generate between two comments.

use std::ops::Range;

/// Returns the place and the name of the first block from `start` on that a program generates: from a line with a
/// comment that says `start` or `begin` to the one that says `end` in its place, or from `<!-- name -->` to
/// `<!-- /name -->`.
pub(super) fn generated_block(text: &str, start: usize) -> Option<(Range<usize>, String)> {
    let mut offset = start;
    let mut comments: Vec<(Range<usize>, Vec<String>)> = Vec::new();
    for line in text.get(start..)?.split_inclusive('\n') {
        let place = offset..offset + line.len();
        offset = place.end;
        let Some(comment) = line.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")) else {
            continue;
        };
        let words = comment.split(|letter: char| letter.is_whitespace() || matches!(letter, ':' | '-' | '_'));
        let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
        // What formatters and linters leave alone is the author's; our own block has a rule of its own.
        if words.iter().all(|word| !matches!(word.as_str(), "ignore" | "disable" | "enable" | "ralph")) {
            comments.push((place, words));
        }
    }
    let is_end_of = |begin: &[String], end: &[String]| {
        let first = |words: &[String]| words.first().cloned().unwrap_or_default();
        let marked = |words: &[String], marks: &[&str]| -> Option<Vec<String>> {
            let at = words.iter().position(|word| marks.contains(&word.as_str()))?;
            Some([&words[..at], &words[at + 1..]].concat())
        };
        let (of_begin, of_end) = (marked(begin, &["start", "begin"]), marked(end, &["end", "stop"]));
        match (of_begin, of_end) {
            // The comment that begins a block may say more.
            (Some(of_begin), Some(of_end)) => !of_end.is_empty() && of_begin.starts_with(&of_end),
            _ => first(end).strip_prefix('/').is_some_and(|name| !name.is_empty() && name == first(begin)),
        }
    };
    comments.iter().enumerate().find_map(|(index, (begin, words))| {
        let (end, named) = comments[index + 1..].iter().find(|(_, other)| is_end_of(words, other))?;
        let name: Vec<&str> = named
            .iter()
            .map(|word| word.trim_start_matches('/'))
            .filter(|word| !matches!(*word, "end" | "stop"))
            .collect();
        Some((begin.start..end.end, name.join(" ")))
    })
}
