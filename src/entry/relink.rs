//! Rewrites the `[[…]]` links of a body, and leaves every other byte alone.
//!
//! Links are found as [`digest`](super::body::digest) finds them, so code spans and fences stay as they are. The result
//! is read again: if its links are not the expected ones, nothing is rewritten.

use super::body::{is_bracketed, targets};

/// Returns the body with the targets of its links replaced by `new_target`, where that returns one, and how many were
/// replaced; `None` if there is nothing to replace, or it cannot be done safely.
pub(crate) fn relink(body: &str, new_target: &dyn Fn(&str) -> Option<String>) -> Option<(String, usize)> {
    if !body.contains("[[") || is_bracketed(body) {
        return None;
    }
    let mut relinked = String::with_capacity(body.len());
    let (mut copied, mut n_replaced, mut expected) = (0, 0, Vec::new());
    for (start, length, target) in targets(body) {
        let Some(new) = new_target(target.trim()) else {
            expected.push(target.trim().to_owned());
            continue;
        };
        let written = &body[start..start + length];
        let blank = written.len() - written.trim_start().len();
        let start = start + blank;
        relinked.push_str(&body[copied..start]);
        relinked.push_str(&new);
        copied = start + written.trim().len();
        n_replaced += 1;
        expected.push(new);
    }
    relinked.push_str(&body[copied..]);
    let found: Vec<String> = targets(&relinked).into_iter().map(|(.., target)| target.trim().to_owned()).collect();
    (n_replaced > 0 && found == expected).then_some((relinked, n_replaced))
}

/// Returns the body with links of markdown in the place of its `[[…]]` links, where `path_of` returns a path for the
/// target. The text that people see stays.
pub(crate) fn as_markdown(body: &str, path_of: &dyn Fn(&str) -> Option<String>) -> String {
    if is_bracketed(body) {
        return body.to_owned();
    }
    let (mut written, mut copied) = (String::with_capacity(body.len()), 0);
    for (start, length, target) in targets(body) {
        let rest = &body[start + length..];
        let Some(end) = rest.find("]]") else { continue };
        let label = rest[..end].trim_start_matches('\\').strip_prefix('|').unwrap_or(&target).trim();
        let Some(path) = path_of(target.trim()).filter(|_| !label.contains(['[', ']'])) else { continue };
        let Some(before) = body.get(copied..start.saturating_sub(2)) else { continue };
        written.push_str(&format!("{before}[{label}]({path})"));
        copied = start + length + end + 2;
    }
    written + &body[copied..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_links_of_markdown_and_keep_what_people_see() {
        let path = |target: &str| (target != "gone").then(|| format!("{}.md", target.to_lowercase()));
        let check = |body: &str, expected: &str| assert_eq!(as_markdown(body, &path), expected);
        check("See [[Ports]], [[wal|the log]] and [[gone]].", "See [Ports](ports.md), [the log](wal.md) and [[gone]].");
        check("`[[Ports]]` é [[ Ports ]]", "`[[Ports]]` é [Ports](ports.md)");
        check("| a |\n|---|\n| [[wal\\|label]] |\n", "| a |\n|---|\n| [label](wal.md) |\n");
    }

    #[track_caller]
    fn check(body: &str, expected: Option<&str>) {
        let new = |target: &str| match target {
            "old" => Some("new".to_owned()),
            "Old Title" => Some("New Title".to_owned()),
            "evil" => Some("a]] [[b".to_owned()),
            _ => None,
        };
        let relinked = relink(body, &new);
        assert_eq!(relinked.as_ref().map(|(body, _)| body.as_str()), expected, "{body}");
    }

    #[test]
    fn only_links_to_the_entry_change() {
        check("See [[old]], [[other]] and [[Old Title]].", Some("See [[new]], [[other]] and [[New Title]]."));
        check("[[old|the old way]] and [[ old ]]\r\n", Some("[[new|the old way]] and [[ new ]]\r\n"));
        check("old, Old Title, [old](old)", None);
        check("- [[old]]\n\n> quoted [[old]]\n", Some("- [[new]]\n\n> quoted [[new]]\n"));
        check("| a |\n|---|\n| [[old\\|label]] |\n", Some("| a |\n|---|\n| [[new\\|label]] |\n"));
    }

    #[test]
    fn code_stays_as_it_is() {
        check("`[[old]]` and\n\n```\n[[old]]\n```\n\n    [[old]]\n", None);
        check("`[[old]]` [[old]]", Some("`[[old]]` [[new]]"));
        check("\\[[old]]", None);
    }

    #[test]
    fn a_target_that_would_be_another_link_is_refused() {
        check("[[evil]]", None);
    }
}
