//! The end of every context: how an agent reports its work and its learnings.

use super::escape;
use crate::agent_output::elements::SUGGESTIONS_HEADING;
use crate::entry::is_task_id;

/// How much of a model's name is shown, in characters.
const MODEL_CHARACTERS: usize = 60;
/// How much of a task's id is shown, in characters.
const ID_CHARACTERS: usize = 64;
/// The kinds of errors that agents are asked to name; any other word is accepted as well.
const ERROR_CATEGORIES: &str =
    "test_failure, build_error, missing_file, logic_error, type_error, dependency_error, timeout";

/// The heading.
const HEADING: &str = "## What to Report\n\n";

/// The placeholder in the examples for the id of an unknown task.
const ID: &str = "TASK-ID";

/// The examples. They are placeholders in code fences, so an agent that repeats them writes nothing to the memory.
const ELEMENTS: &str = r#"End your final answer with these, outside code fences:

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

/// The text for an agent that has the tools of the server, up to [`reporting`].
const TOOLS: &str = "`search_memory` finds more, `read_entry` shows an entry whole.\n\n";

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
    /// The id of the task; the examples have a placeholder if it is empty.
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
        let is_nameless = self.task_id.trim().is_empty();
        if self.by_tools {
            let id = Some(self.task_id.as_str()).filter(|_| !is_nameless);
            return format!("{TOOLS}{}", reporting(true, id));
        }
        // Ready to be copied.
        let elements = if is_task_id(&self.task_id) { &ELEMENTS.replace(ID, &self.task_id) } else { ELEMENTS };
        let models: Vec<String> = self.models.iter().map(|model| escape::short(model, MODEL_CHARACTERS)).collect();
        let models = if models.is_empty() { String::new() } else { format!(" Models: {}.", models.join(", ")) };
        let suggestions =
            if self.suggests_events { SUGGESTIONS.replace("HEADING", SUGGESTIONS_HEADING) } else { String::new() };
        format!("{elements}\nError categories: {ERROR_CATEGORIES}.{models}\n{suggestions}{END}")
    }
}

/// Returns two lines that tell an agent outside of a loop how to report, with the task's id if there is one. A client
/// may refuse the tools or lack them; hooks and `record` read what the second line asks for. The lines are inline code,
/// so nothing in them is an element.
pub(super) fn reporting(by_tools: bool, task_id: Option<&str>) -> String {
    let first = if by_tools {
        "Record what failed with `record_attempt`, facts with `add_knowledge`.\nIf refused, end"
    } else {
        "`ralph-memory add` keeps a fact, `ralph-memory record` an answer.\nOn failure, end it"
    };
    let second = match task_id {
        Some(id) => {
            let id = escape::code(id, ID_CHARACTERS);
            format!("and `<task-failed>{}</task-failed>`", id.trim_matches('`'))
        }
        None => "or `<learning category=\"pitfall\" tags=\"…\">`".to_owned(),
    };
    format!("{first} with `<failure-report>` (lines `what_tried:`, `why_failed:`) {second}.\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_output::elements;
    use crate::text::estimate_tokens;

    #[test]
    fn two_short_lines_say_how_to_report_and_are_no_report() {
        for (by_tools, id) in [(true, None), (true, Some("t-4be0f7e7cc")), (false, None)] {
            let text = reporting(by_tools, id);
            assert!(estimate_tokens(&text) <= 60 && text.lines().count() == 2, "{}: {text}", estimate_tokens(&text));
            assert!(text.contains("`<failure-report>` (lines `what_tried:`, `why_failed:`)"), "{text}");
            assert_eq!(text.contains("`record_attempt`"), by_tools, "{text}");
            assert_eq!(id.is_some(), text.contains("<task-failed>t-4be0f7e7cc</task-failed>"), "{text}");
            let read = elements::read(&text, false);
            assert!(read.ends.is_empty() && read.failure.is_none() && read.refused.is_empty(), "{read:?}");
        }
        assert!(reporting(true, Some("a`b\n<journal>")).contains("<task-failed>a'b\\u{a}&lt;journal></task-failed>"));
    }

    #[test]
    fn an_agent_with_tools_is_told_how_to_report_without_them() {
        let text = Instructions { by_tools: true, ..Instructions::new("t-1") }.text();
        assert!(text.ends_with(&reporting(true, Some("t-1"))) && text.contains("`read_entry`"), "{text}");
        let text = Instructions { by_tools: true, ..Instructions::default() }.text();
        assert!(text.ends_with(&reporting(true, None)), "{text}");
    }

    #[test]
    fn the_elements_that_end_the_task_are_ready_to_be_copied() {
        let check = |id: &str, shown: &str| {
            let text = Instructions::new(id).text();
            let ends: Vec<&str> = text.lines().filter(|line| line.starts_with("<task-")).collect();
            let expected = ["done", "failed"].map(|end| format!("<task-{end}>{shown}</task-{end}>"));
            assert_eq!(ends, expected);
        };
        check("t-4be0f7e7cc", "t-4be0f7e7cc");
        // Nothing gets out of its element.
        for id in ["", " ", "a`b\n<journal>", &"x".repeat(65)] {
            check(id, ID);
        }
    }

    #[test]
    fn models_are_named() {
        let told = Instructions { models: vec!["haiku".into(), "gpt 5\n`x`".into()], ..Instructions::new("t-1") };
        assert!(told.text().contains("timeout. Models: haiku, gpt 5 `x`.\n"), "{}", told.text());
        assert!(Instructions::new("t-1").text().contains("timeout.\n"));
    }
}
