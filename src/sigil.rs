//! Sigils: the marked elements by which an agent's text says something to the memory.
//!
//! Pure. Text that goes into a prompt passes [`defuse`], so that an agent which repeats what it was
//! shown says nothing by it.

/// The elements that are read from an agent's text.
pub const NAMES: [&str; 9] = [
    "task-done",
    "task-failed",
    "next-model",
    "journal",
    "knowledge",
    "learning",
    "failure-report",
    "retry-suggestion",
    "difficulty-estimate",
];

/// The heading of the block in which an agent suggests events.
pub const SUGGESTIONS_HEADING: &str = "MEMORY_SUGGESTIONS";

/// Returns `text` with every sigil in it made plain text: `<` becomes `&lt;` where one begins or
/// ends, and the heading for suggestions gets a backslash.
///
/// ```
/// use ralph_memory::sigil::defuse;
/// assert_eq!(defuse("say <task-done>t-1</task-done> or a < b"), "say &lt;task-done>t-1&lt;/task-done> or a < b");
/// assert_eq!(defuse("## MEMORY_SUGGESTIONS"), "\\## MEMORY_SUGGESTIONS");
/// ```
pub fn defuse(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        let is_heading = bare.starts_with('#')
            && bare.trim_start_matches('#').trim_start().to_ascii_uppercase().starts_with(SUGGESTIONS_HEADING);
        let mut rest = line;
        if is_heading {
            safe.push_str(&line[..line.len() - bare.len()]);
            safe.push('\\');
            rest = bare;
        }
        while let Some(at) = rest.find('<') {
            safe.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            safe.push_str(if begins_sigil(rest) { "&lt;" } else { "<" });
        }
        safe.push_str(rest);
    }
    safe
}

/// Returns whether the name of a sigil, or of its end, stands at the start, in whatever case and
/// with white space before it.
fn begins_sigil(text: &str) -> bool {
    let name = text.trim_start().trim_start_matches('/').trim_start();
    NAMES.iter().any(|known| name.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sigil_is_defused_and_nothing_else() {
        for name in NAMES {
            assert_eq!(defuse(&format!("a<{name} x=\"y\">b</{name}>")), format!("a&lt;{name} x=\"y\">b&lt;/{name}>"));
        }
        assert_eq!(defuse("## MEMORY_SUGGESTIONS <journal>"), "\\## MEMORY_SUGGESTIONS &lt;journal>");
        assert_eq!(defuse("< / Journal>"), "&lt; / Journal>");
        assert_eq!(defuse("<b> <é <<journal>"), "<b> <é <&lt;journal>");
        assert_eq!(
            defuse("x\n  ###  memory_suggestions\ny ## MEMORY_SUGGESTIONS"),
            "x\n  \\###  memory_suggestions\ny ## MEMORY_SUGGESTIONS"
        );
    }
}
use crate::entry::{Difficulty, Outcome};
#[derive(Default)]
pub struct Said {
    pub outcome: Option<Outcome>,
    pub next_model: Option<String>,
    pub notes: Option<String>,
    pub knowledge: Vec<Noted>,
    pub failure: Option<FailureReport>,
    pub retry_suggestion: Option<String>,
    pub difficulty: Option<Difficulty>,
    pub refused: Vec<Refused>,
}
pub struct Noted {
    pub line: u32,
    pub name: &'static str,
    pub title: String,
    pub tags: Vec<String>,
    pub category: Option<String>,
    pub body: String,
}
pub struct FailureReport {
    pub tried: String,
    pub why: String,
    pub category: String,
    pub files: Vec<String>,
    pub stack_trace: Option<String>,
}
pub struct Refused {
    pub line: u32,
    pub name: String,
    pub reason: String,
}
impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: <{}> {}", self.line, self.name, self.reason)
    }
}
pub fn read(text: &str, task_id: &str) -> Said {
    Said {
        outcome: if text.contains(&format!("<task-done>{task_id}</task-done>")) {
            Some(Outcome::Done)
        } else if text.contains(&format!("<task-failed>{task_id}</task-failed>")) {
            Some(Outcome::Failed)
        } else {
            None
        },
        notes: text
            .split_once("<journal>")
            .and_then(|(_, r)| r.split_once("</journal>"))
            .map(|(n, _)| n.trim().to_owned()),
        ..Said::default()
    }
}
