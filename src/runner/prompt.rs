//! The prompt of an attempt without a template: the task, the context, the progress.

use std::collections::BTreeMap;

/// Returns the prompt with the values that a template would name.
pub(super) fn prompt(values: &BTreeMap<&str, String>) -> String {
    let mut text = values["task"].clone();
    let (context, progress) = (values["context"].trim(), values["progress"].trim());
    if !context.is_empty() {
        text.push_str(&format!("\n{context}\n"));
    }
    if !progress.is_empty() {
        text.push_str(&format!("\n## Progress\n\n{}\n", nested(progress)));
    }
    text
}

/// Returns markdown with its headings one level deeper. Text in a code fence is left alone.
fn nested(text: &str) -> String {
    let mut fence = 0;
    let line = |line: &str| {
        let n_marks = line.len() - line.trim_start_matches('`').len();
        match fence {
            0 if n_marks >= 3 => fence = n_marks,
            0 if line.starts_with('#') => return format!("#{line}"),
            open if open > 0 && n_marks >= open && n_marks == line.trim_end().len() => fence = 0,
            _ => {}
        }
        line.to_owned()
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::runner) const TASK: &str =
        "## Assigned Task\n\n**ID:** t-1\n**Title:** Add the tables\n\n### Description\n\nWith {{context}}.\n";

    pub(in crate::runner) fn values() -> BTreeMap<&'static str, String> {
        let values = [
            ("task", TASK),
            ("context", "## Previous Attempts\n\n{{model}} <b> \"é\" & {{/if}}"),
            ("progress", ""),
            ("task_id", "t-1"),
            ("task_title", "Add\n the  tables"),
            ("model", "sonnet"),
            ("attempt", "3"),
            ("run_id", "run-1a2b3c4d"),
        ];
        values.map(|(name, value)| (name, value.to_owned())).into()
    }

    #[test]
    fn headings_are_nested_outside_of_fences() {
        let text = "## Iteration 1\n````\n## not one\n```\n# nor this\n````\n## Iteration 2\nend";
        let expected = "### Iteration 1\n````\n## not one\n```\n# nor this\n````\n### Iteration 2\nend";
        assert_eq!(nested(text), expected);
    }

    #[test]
    fn without_a_template_it_is_task_context_and_progress() {
        let context = "\n## Previous Attempts\n\n{{model}} <b> \"é\" & {{/if}}\n";
        let mut values = values();
        assert_eq!(prompt(&values), format!("{TASK}{context}"));
        values.insert("progress", "Step 1.\n".to_owned());
        assert_eq!(prompt(&values), format!("{TASK}{context}\n## Progress\n\nStep 1.\n"));
        values.extend([("progress", " \n".to_owned()), ("context", String::new())]);
        assert_eq!(prompt(&values), TASK);
    }
}
