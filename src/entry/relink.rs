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

#[cfg(test)]
mod tests {
    use super::*;

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
