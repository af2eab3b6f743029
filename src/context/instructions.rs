//! The end of every context: how an agent reports its work and its learnings.

use super::escape;
use crate::sigil::SUGGESTIONS_HEADING;

/// The most of a task's id that is shown, in characters.
const ID_CHARACTERS: usize = 64;
/// The most of a model's name that is shown, in characters.
const MODEL_CHARACTERS: usize = 60;
/// The kinds of errors that agents are asked to name; any other word is accepted as well.
const ERROR_CATEGORIES: &str =
    "test_failure, build_error, missing_file, logic_error, type_error, dependency_error, timeout";

/// The heading.
const HEADING: &str = "## What to Report\n\n";

/// The text up to the task's id. Its examples are placeholders in code fences, so an agent that repeats them writes
/// nothing to the memory.
const BEFORE_ID: &str = "End your final answer with these, outside code fences";

const ELEMENTS: &str = r#":

```
<task-done>TASK-ID</task-done>
<journal>…</journal>
<difficulty-estimate>trivial, easy, moderate, hard or blocked</difficulty-estimate>
<knowledge tags="tag1" title="…" questions="…">…</knowledge>
<learning category="pitfall" tags="tag1" questions="…">…</learning>
```

journal: what you decided and found out. knowledge, learning: each fact that outlives the task, with questions it answers. Categories: pitfall, success_pattern, tool_usage, code_structure, testing_strategy, debugging_technique.

If you failed, in place of the first:

```
<task-failed>TASK-ID</task-failed>
<failure-report>
what_tried: …
why_failed: …
error_category: …
relevant_files: …
stack_trace: …
</failure-report>
<retry-suggestion>…</retry-suggestion>
<next-model>…</next-model>
```
"#;

const END: &str = "\nRules for all sessions go to CLAUDE.md or AGENTS.md. A procedure that you worked out and that \
    will be repeated goes to `.claude/skills/NAME/SKILL.md`, in other clients to `.agents/skills/NAME/SKILL.md`.\n";

/// The text for an agent that has the tools of the server.
const TOOLS: &str = "Write each fact that outlives the task down with `add_knowledge`, with the questions that it answers. \
    `search_memory` finds more, `read_entry` shows an entry whole. When the task is done, or an approach failed, record it with \
    `record_attempt`.\n";

/// How events are suggested. The example is a placeholder as well.
const SUGGESTIONS: &str = r#"
What happened that others should know (a decision, a rejection, a hint), each in one entry of a list, for this task, its section or the project:

````
## HEADING

```json
[{"scope": "task", "event_type": "decision", "summary": "…", "importance": 50, "tags": ["tag1"]}]
```
````

Events: submission, rejection, approval, decision, follow_up, hint, dispute.
"#;

/// The variable parts of the instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The id of the task; left out if it is empty.
    pub task_id: String,
    /// The models that the agent may ask for.
    pub models: Vec<String>,
    /// Whether they say how to suggest events.
    pub suggests_events: bool,
    /// Whether the agent reports with the tools of the server, instead of elements in its output.
    pub by_tools: bool,
}

impl Instructions {
    /// Returns the instructions for a task of this id.
    pub fn new(task_id: impl Into<String>) -> Instructions {
        Instructions { task_id: task_id.into(), ..Instructions::default() }
    }

    /// Returns their text, with the heading.
    pub fn text(&self) -> String {
        format!("{HEADING}{}", self.below_heading())
    }

    /// Returns their text without the heading.
    pub(super) fn below_heading(&self) -> String {
        if self.by_tools {
            return TOOLS.to_owned();
        }
        let id = if self.task_id.trim().is_empty() {
            String::new()
        } else {
            format!("; the task's id is {}", escape::code(&self.task_id, ID_CHARACTERS))
        };
        let models: Vec<String> = self.models.iter().map(|model| escape::short(model, MODEL_CHARACTERS)).collect();
        let models = if models.is_empty() { String::new() } else { format!(" Models: {}.", models.join(", ")) };
        let suggestions =
            if self.suggests_events { SUGGESTIONS.replace("HEADING", SUGGESTIONS_HEADING) } else { String::new() };
        format!("{BEFORE_ID}{id}{ELEMENTS}\nError categories: {ERROR_CATEGORIES}.{models}\n{suggestions}{END}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_is_named() {
        let check = |id: &str, expected: &str| {
            let text = Instructions::new(id).text();
            let line = text.lines().find(|line| line.starts_with("End your")).unwrap();
            assert_eq!(line, expected);
        };
        check("t-4be0f7e7cc", &format!("{BEFORE_ID}; the task's id is `t-4be0f7e7cc`:"));
        check(" ", &format!("{BEFORE_ID}:"));
        check("a`b\n<journal>", &format!("{BEFORE_ID}; the task's id is `a'b &lt;journal>`:"));
        check(&"é".repeat(70), &format!("{BEFORE_ID}; the task's id is `{}…`:", "é".repeat(63)));
    }

    #[test]
    fn models_are_named() {
        let told = Instructions { models: vec!["haiku".into(), "gpt 5\n`x`".into()], ..Instructions::new("t-1") };
        assert!(told.text().contains("timeout. Models: haiku, gpt 5 `x`.\n"), "{}", told.text());
        assert!(Instructions::new("t-1").text().contains("timeout.\n"));
    }
}
