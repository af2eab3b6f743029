//! What other programs call the kinds of knowledge.

use crate::entry::knowledge::LEARNINGS;

/// The words of other programs, without case, spaces and hyphens, with the category that means the same.
const KINDS: [(&str, &str); 25] = [
    ("gotcha", "pitfall"),
    ("warning", "pitfall"),
    ("caveat", "pitfall"),
    ("antipattern", "pitfall"),
    ("knownissue", "pitfall"),
    ("negativeresult", "pitfall"),
    ("bugfix", "debugging_technique"),
    ("fix", "debugging_technique"),
    ("debugging", "debugging_technique"),
    ("troubleshooting", "debugging_technique"),
    ("runbook", "tool_usage"),
    ("workflow", "tool_usage"),
    ("howto", "tool_usage"),
    ("command", "tool_usage"),
    ("convention", "code_structure"),
    ("architecture", "code_structure"),
    ("codepattern", "code_structure"),
    ("codeexplanation", "code_structure"),
    ("pattern", "success_pattern"),
    ("bestpractice", "success_pattern"),
    ("testing", "testing_strategy"),
    ("adr", "architecture_decision"),
    ("decision", "architecture_decision"),
    ("architecturedecision", "architecture_decision"),
    ("learning", "other"),
];

/// Returns the category that a word means, or the word as a tag if it means none of them.
pub(super) fn category_or_tag(word: &str) -> (Option<String>, Option<String>) {
    let plain: String = word.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let written =
        word.split([' ', '-', '_']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_").to_lowercase();
    let known = KINDS.iter().find(|(kind, _)| *kind == plain).map(|(_, category)| *category);
    let known = known.or_else(|| LEARNINGS.into_iter().find(|learning| *learning == written));
    match known {
        Some(category) => (Some(category.to_owned()), None),
        None => (None, Some(word.replace(',', " "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_programs_mean_categories_or_are_tags() {
        let check = |word: &str, category: Option<&str>, tag: Option<&str>| {
            let found = category_or_tag(word);
            assert_eq!((found.0.as_deref(), found.1.as_deref()), (category, tag), "{word}");
        };
        check("Gotcha", Some("pitfall"), None);
        check("Bug fix", Some("debugging_technique"), None);
        check("Runbook", Some("tool_usage"), None);
        check("how-to", Some("tool_usage"), None);
        check("Testing Strategy", Some("testing_strategy"), None);
        check("Decision", Some("architecture_decision"), None);
        check("architecture_decision", Some("architecture_decision"), None);
        check("note", None, Some("note"));
        check("follow_up", None, Some("follow_up"));
    }
}
