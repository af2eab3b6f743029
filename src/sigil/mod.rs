//! Sigils: the elements with which an agent's text writes to the memory.
//!
//! Pure. [`tokens()`] yields the values of a text in order, and the refused elements; [`read`] interprets them for one
//! task. Neither fails, panics or takes more than linear time, whatever the text. Text that goes into a prompt passes
//! [`defuse`], so that an agent which repeats its prompt writes nothing by it; the examples of the instructions write
//! nothing either.

mod suggestions;
mod tokens;
mod values;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use self::values::Skip;
use crate::entry::{Difficulty, Outcome};

pub(crate) use self::suggestions::{SuggestedScope, Suggestion};

/// The elements that are read from an agent's text.
pub(crate) const NAMES: [&str; 9] = [
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
pub(crate) const SUGGESTIONS_HEADING: &str = "MEMORY_SUGGESTIONS";

/// How much knowledge is taken from one text, and how many events. An agent that writes more is stuck in a loop of its
/// own, and a person has to review each fact.
pub(crate) const MAX_KNOWLEDGE: usize = 100;
/// How many refused elements are listed one by one.
pub(crate) const MAX_REFUSED: usize = 100;

/// A value that an agent writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sigil {
    /// `<task-done>`: the task with this id is done.
    Done(String),
    /// `<task-failed>`: the task with this id failed, and will not be done in this iteration.
    Failed(String),
    /// `<next-model>`: the model that the run's next iteration should have.
    NextModel(String),
    /// `<journal>`: notes for the next agent that works on the task.
    Journal(String),
    /// `<knowledge>` or `<learning>`.
    Knowledge(Noted),
    /// `<failure-report>`.
    FailureReport(FailureReport),
    /// `<retry-suggestion>`: what to do instead.
    RetrySuggestion(String),
    /// `<difficulty-estimate>`.
    Difficulty(Difficulty),
    /// An entry of the block under the heading [`SUGGESTIONS_HEADING`].
    Suggestion(Suggestion),
}

/// A fact that holds beyond the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// The line that it begins in, from 1.
    pub line: u32,
    /// The element: `knowledge` or `learning`.
    pub name: &'static str,
    /// Its title; for a learning its first sentence.
    pub title: String,
    /// Keywords, lowercase, at least one.
    pub tags: Vec<String>,
    /// The category of a learning; none for plain knowledge.
    pub category: Option<String>,
    /// The questions that it answers, in the words of someone who has the problem.
    pub questions: Vec<String>,
    /// The text, markdown.
    pub body: String,
}

/// Why an attempt failed, according to its agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailureReport {
    /// `what_tried`.
    pub tried: String,
    /// `why_failed`.
    pub why: String,
    /// `error_category`, such as `test_failure`; `unknown` if none is given.
    pub category: String,
    /// `relevant_files`.
    pub files: Vec<String>,
    /// `stack_trace`, all of it.
    pub stack_trace: Option<String>,
}

/// An element that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The line that it begins in, from 1.
    pub line: u32,
    /// The element's name.
    pub name: &'static str,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name == SUGGESTIONS_HEADING {
            return write!(formatter, "line {}: {} {}", self.line, self.name, self.reason);
        }
        write!(formatter, "line {}: <{}> {}", self.line, self.name, self.reason)
    }
}

/// The content of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The sigils with the lines that they begin in, in order.
    pub sigils: Vec<(u32, Sigil)>,
    /// The refused elements, in order.
    pub refused: Vec<Refused>,
}

/// The statements of a text about one task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedSigils {
    /// How it ended: done or failed.
    pub outcome: Option<Outcome>,
    /// The model that the run's next iteration should have.
    pub next_model: Option<String>,
    /// Notes for the next agent that works on the task.
    pub notes: Option<String>,
    /// The facts that hold beyond it, in order.
    pub knowledge: Vec<Noted>,
    /// Why it failed.
    pub failure: Option<FailureReport>,
    /// What to do instead.
    pub retry_suggestion: Option<String>,
    /// How hard it is.
    pub difficulty: Option<Difficulty>,
    /// The events that it suggests, in order.
    pub suggestions: Vec<Suggestion>,
    /// The refused elements, in order.
    pub refused: Vec<Refused>,
}

/// Returns the sigils in an agent's final text, outside of code fences, inline code and quotations. An unclosed fence
/// ends at the first line that begins with a sigil.
///
/// An unclosed, empty or invalid element is skipped and reported, and its content is searched for others. The examples
/// of the instructions are skipped silently.
pub fn tokens(text: &str) -> Tokens {
    let mut said = Tokens::default();
    tokens::scan(text, &mut |element| {
        if element.name == SUGGESTIONS_HEADING {
            let (suggestions, refused) = suggestions::read(element.content.unwrap_or_default(), element.line);
            said.sigils.extend(suggestions.into_iter().map(|suggestion| (element.line, Sigil::Suggestion(suggestion))));
            said.refused.extend(refused);
            return true;
        }
        match values::value(&element) {
            Ok(sigil) => {
                said.sigils.push((element.line, sigil));
                true
            }
            // The closing tag belongs to it, and it is empty.
            Err(Skip::Example) => true,
            Err(Skip::Prose) => false,
            Err(Skip::Refused(reason)) => {
                said.refused.push(Refused { line: element.line, name: element.name, reason });
                false
            }
        }
    });
    said
}

/// Returns the sigils of a text that are elements, in order, with their places in bytes.
pub(crate) fn places(text: &str) -> Vec<(Range<usize>, Sigil)> {
    let mark = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut found = Vec::new();
    tokens::scan(text, &mut |element| {
        if element.name == SUGGESTIONS_HEADING {
            return true;
        }
        let value = values::value(&element);
        let is_skipped = matches!(value, Err(Skip::Example));
        let is_good = value.is_ok() || is_skipped;
        found.extend(value.ok().map(|sigil| (element.place.start + mark..element.place.end + mark, sigil)));
        is_good
    });
    found
}

/// Returns the statements of an agent's final text about the task with this id.
///
/// Of several elements of a kind the first one counts, of `task-done` and `task-failed` together the last one that
/// names the task, and of knowledge and learnings the first `MAX_KNOWLEDGE`. Refused elements are listed up to
/// `MAX_REFUSED`; the last of them counts the rest.
pub fn read(text: &str, task_id: &str) -> ParsedSigils {
    let Tokens { sigils, refused } = tokens(text);
    let mut said = ParsedSigils { refused, ..ParsedSigils::default() };
    let mut too_many: Option<(Refused, usize)> = None;
    for (line, sigil) in sigils {
        match sigil {
            Sigil::Done(id) => said.end(line, "task-done", Outcome::Done, &id, task_id),
            Sigil::Failed(id) => said.end(line, "task-failed", Outcome::Failed, &id, task_id),
            Sigil::NextModel(model) => first(&mut said.next_model, model),
            Sigil::Journal(notes) => first(&mut said.notes, notes),
            Sigil::Knowledge(noted) if said.knowledge.len() < MAX_KNOWLEDGE => said.knowledge.push(noted),
            Sigil::Knowledge(noted) => {
                let reason = String::new();
                too_many.get_or_insert((Refused { line, name: noted.name, reason }, 0)).1 += 1;
            }
            Sigil::FailureReport(report) => first(&mut said.failure, report),
            Sigil::RetrySuggestion(suggestion) => first(&mut said.retry_suggestion, suggestion),
            Sigil::Difficulty(difficulty) => first(&mut said.difficulty, difficulty),
            Sigil::Suggestion(suggestion) if said.suggestions.len() < MAX_KNOWLEDGE => {
                said.suggestions.push(suggestion);
            }
            Sigil::Suggestion(suggestion) => {
                let reason = format!("entry {}: one text has at most {MAX_KNOWLEDGE}", suggestion.number);
                said.refused.push(Refused { line, name: SUGGESTIONS_HEADING, reason });
            }
        }
    }
    if let Some((mut refused, count)) = too_many {
        refused.reason = format!("and what follows, {count} in all: one text has at most {MAX_KNOWLEDGE}");
        said.refused.push(refused);
    }
    said.refused.sort_by_key(|refused| refused.line);
    if let Some(more) = said.refused.len().checked_sub(MAX_REFUSED).filter(|more| *more > 0) {
        said.refused.truncate(MAX_REFUSED);
        if let Some(last) = said.refused.last_mut() {
            last.reason.push_str(&format!("; and {more} more after it were refused"));
        }
    }
    said
}

fn first<T>(kept: &mut Option<T>, said: T) {
    kept.get_or_insert(said);
}

impl ParsedSigils {
    fn end(&mut self, line: u32, name: &'static str, outcome: Outcome, id: &str, task_id: &str) {
        if id == task_id {
            self.outcome = Some(outcome);
        } else {
            let reason = format!("names the task `{id}`, and this one is `{task_id}`");
            self.refused.push(Refused { line, name, reason });
        }
    }
}

/// Returns `text` with every sigil in it as plain text: `<` becomes `&lt;` at its beginning and its end, and the
/// heading for suggestions gets a backslash.
///
/// ```
/// use ralph_memory::context::defuse;
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

/// Returns whether the text starts with the name of a sigil, or of its end, in whatever case and after white space.
fn begins_sigil(text: &str) -> bool {
    let name = text.trim_start().trim_start_matches('/').trim_start();
    NAMES.iter().any(|known| name.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known)))
}
