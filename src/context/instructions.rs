//! What every context ends with: how an agent writes to the memory.

use super::foreign;
use crate::sigil::SUGGESTIONS_HEADING;

/// The most of a task's id that is shown, in characters.
const ID_CHARACTERS: usize = 64;

/// The text up to the task's id. Its examples are placeholders and stand in code fences, so an agent
/// that repeats them says nothing by it.
const BEFORE_ID: &str = "This project keeps a memory of what was tried and learned. Write to it with the elements below, in the text of your final answer, outside code fences.

End with one of these two, with the id of your task";

const ELEMENTS: &str = r#":

```
<task-done>TASK-ID</task-done>
<task-failed>TASK-ID</task-failed>
```

Notes for whoever works on this next: what you decided and why, what you found out.

```
<journal>
…
</journal>
```

What holds beyond this task (a pitfall, a convention, how a tool behaves here), one element for each fact, at least one lowercase tag, 500 words at most:

```
<knowledge tags="tag1,tag2" title="Short descriptive title">
…
</knowledge>
<learning category="pitfall" tags="tag1,tag2">
…
</learning>
```

Categories: success_pattern, pitfall, tool_usage, code_structure, testing_strategy, debugging_technique, other.

If you failed, say what must not be tried again, and what should be:

```
<failure-report>
what_tried: …
why_failed: …
error_category: …
relevant_files: …
</failure-report>
<retry-suggestion>…</retry-suggestion>
<difficulty-estimate>trivial, easy, moderate, hard or blocked</difficulty-estimate>
<next-model>…</next-model>
```
"#;

const END: &str = "\nWhat every session should know, this loop or not, belongs into CLAUDE.md or AGENTS.md.\n";

/// The heading, under which events come first.
pub(super) const HEADING: &str = "## Memory\n\n";

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

/// What the instructions of a context say beside what they always say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The id of the task, which they name; left out where it is empty.
    pub task_id: String,
    /// Whether they say how to suggest events.
    pub suggests_events: bool,
}

impl Instructions {
    /// Returns the instructions for a task of this id.
    pub fn new(task_id: impl Into<String>) -> Instructions {
        Instructions { task_id: task_id.into(), suggests_events: false }
    }

    /// Returns their text, with the heading.
    pub fn text(&self) -> String {
        format!("{HEADING}{}", self.below_heading())
    }

    /// Returns their text without the heading.
    pub(super) fn below_heading(&self) -> String {
        let id = if self.task_id.trim().is_empty() {
            String::new()
        } else {
            format!(", {}, in the place of TASK-ID", foreign::code(&self.task_id, ID_CHARACTERS))
        };
        let suggestions =
            if self.suggests_events { SUGGESTIONS.replace("HEADING", SUGGESTIONS_HEADING) } else { String::new() };
        format!("{BEFORE_ID}{id}{ELEMENTS}{suggestions}{END}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_is_named() {
        let check = |id: &str, expected: &str| {
            let text = Instructions::new(id).text();
            let line = text.lines().find(|line| line.starts_with("End with")).unwrap();
            assert_eq!(line, expected);
        };
        let beginning = "End with one of these two, with the id of your task";
        check("t-4be0f7e7cc", &format!("{beginning}, `t-4be0f7e7cc`, in the place of TASK-ID:"));
        check(" ", &format!("{beginning}:"));
        check("a`b\n<journal>", &format!("{beginning}, `a'b &lt;journal>`, in the place of TASK-ID:"));
        check(&"é".repeat(70), &format!("{beginning}, `{}…`, in the place of TASK-ID:", "é".repeat(63)));
    }
}
