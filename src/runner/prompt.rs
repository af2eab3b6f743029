//! The prompt of an attempt where there is no template: the task, the context, the progress.

use crate::context::Task;

/// What a prompt is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct PromptParts<'a> {
    /// The task.
    pub(super) task: &'a Task,
    /// The id of the task.
    pub(super) task_id: &'a str,
    /// The section that assigns it.
    pub(super) assignment: &'a str,
    /// What the memory has to say.
    pub(super) context: &'a str,
    /// What the attempts before have come to; empty where there is nothing to say.
    pub(super) progress: &'a str,
    /// The model that is asked for.
    pub(super) model: &'a str,
    /// The number of the attempt, from 1.
    pub(super) iteration: u32,
    /// The run.
    pub(super) run_id: &'a str,
}

impl PromptParts<'_> {
    /// Returns the prompt where there is no template.
    pub(super) fn prompt(&self) -> String {
        let mut text = format!("{}\n", self.assignment.trim_end());
        if !self.context.trim().is_empty() {
            text.push_str(&format!("\n{}\n", self.context.trim()));
        }
        if !self.progress.trim().is_empty() {
            text.push_str(&format!("\n## Progress\n\n{}\n", nested(self.progress.trim())));
        }
        text
    }
}

/// Returns markdown with its headings one level deeper. What stands in a code fence is left alone.
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

    pub(in crate::runner) fn parts(task: &Task) -> PromptParts<'_> {
        PromptParts {
            task,
            task_id: "t-1",
            assignment: ASSIGNMENT,
            context: "## Previous Attempts\n\n{{model}} <b> \"é\" & {{/if}}",
            progress: "",
            model: "sonnet",
            iteration: 3,
            run_id: "run-1a2b3c4d",
        }
    }

    const ASSIGNMENT: &str =
        "## Assigned Task\n\n**ID:** t-1\n**Title:** Add the tables\n\n### Description\n\nWith {{context}}.\n";

    pub(in crate::runner) fn task() -> Task {
        Task { description: "With {{context}}.\n".into(), ..Task::new("Add\n the  tables") }
    }

    #[test]
    fn headings_are_nested_outside_of_fences() {
        let text = "## Iteration 1\n````\n## not one\n```\n# nor this\n````\n## Iteration 2\nend";
        let expected = "### Iteration 1\n````\n## not one\n```\n# nor this\n````\n### Iteration 2\nend";
        assert_eq!(nested(text), expected);
    }

    #[test]
    fn without_a_template_it_is_task_context_and_progress() {
        let task = task();
        let context = "\n## Previous Attempts\n\n{{model}} <b> \"é\" & {{/if}}\n";
        let mut parts = parts(&task);
        assert_eq!(parts.prompt(), format!("{ASSIGNMENT}{context}"));
        parts.progress = "Step 1.\n";
        assert_eq!(parts.prompt(), format!("{ASSIGNMENT}{context}\n## Progress\n\nStep 1.\n"));
        let parts = PromptParts { progress: " \n", context: "", ..parts };
        assert_eq!(parts.prompt(), ASSIGNMENT);
    }
}
