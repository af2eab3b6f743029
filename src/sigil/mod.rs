//! Sigils: the elements with which an agent's text writes to the memory.
//!
//! Pure. [`tokens()`] yields the values of a text in order, and the refused elements; [`read`] gathers them. Which task
//! an element ends is decided where the tasks are known. Neither fails, panics or takes more than linear time, whatever the text. Text that goes into a prompt passes
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
    /// `<task-done>`: the task with this id or title is done.
    Done(String),
    /// `<task-failed>`: the task with this id or title failed, and will not be done in this iteration.
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
    /// `what_tried`; empty if it is not given.
    pub tried: String,
    /// `why_failed`; empty if it is not given. A report without both has its text here.
    pub why: String,
    /// `error_category`, such as `test_failure`; `unknown` if none is given.
    pub category: String,
    /// `relevant_files`.
    pub files: Vec<String>,
    /// `stack_trace`, all of it.
    pub stack_trace: Option<String>,
    /// The lines that belong to none of these.
    pub other: String,
}

/// An element that ends a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEnd {
    /// The line that it begins in, from 1.
    pub line: u32,
    /// How the task ended: done or failed.
    pub outcome: Outcome,
    /// The task, as the agent names it.
    pub named: String,
}

impl TaskEnd {
    /// Returns the refusal of the element, for this reason.
    pub(crate) fn refused(&self, reason: String) -> Refused {
        let name = if self.outcome == Outcome::Done { "task-done" } else { "task-failed" };
        Refused { line: self.line, name, reason }
    }
}

/// An element that was refused, or was not read as it stands.
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

/// The statements of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedSigils {
    /// The ends of tasks, in order.
    pub ends: Vec<TaskEnd>,
    /// The model that the run's next iteration should have.
    pub next_model: Option<String>,
    /// Notes for the next agent that works on its task.
    pub notes: Option<String>,
    /// The facts that hold beyond it, in order.
    pub knowledge: Vec<Noted>,
    /// Why its task failed.
    pub failure: Option<FailureReport>,
    /// What to do instead.
    pub retry_suggestion: Option<String>,
    /// How hard its task is.
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
    let (sigils, refused) = placed(text);
    Tokens { sigils: sigils.into_iter().map(|placed| (placed.line, placed.sigil)).collect(), refused }
}

/// Returns the sigils of a text, in order, with their places in bytes.
pub(crate) fn places(text: &str) -> Vec<(Range<usize>, Sigil)> {
    let mark = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let with_mark = |place: Range<usize>| place.start + mark..place.end + mark;
    placed(text).0.into_iter().map(|placed| (with_mark(placed.place), placed.sigil)).collect()
}

/// A sigil, and where it is.
struct PlacedSigil {
    line: u32,
    /// In bytes. A byte order mark does not count.
    place: Range<usize>,
    sigil: Sigil,
    /// Whether nothing but white space is between it and an example of the instructions.
    is_before_example: bool,
}

fn placed(text: &str) -> (Vec<PlacedSigil>, Vec<Refused>) {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut sigils: Vec<PlacedSigil> = Vec::new();
    let mut refused = Vec::new();
    tokens::scan(text, &mut |element| {
        let (line, place) = (element.line, element.place.clone());
        let mut add = |sigil| {
            sigils.push(PlacedSigil { line, place: place.clone(), sigil, is_before_example: false });
        };
        if element.name == SUGGESTIONS_HEADING {
            let (suggestions, invalid) = suggestions::read(element.content.unwrap_or_default(), element.line);
            for suggestion in suggestions {
                add(Sigil::Suggestion(suggestion));
            }
            refused.extend(invalid);
            return true;
        }
        match values::value(&element) {
            Ok(sigil) => {
                add(sigil);
                true
            }
            // The closing tag belongs to it, and it is empty.
            Err(Skip::Example) => {
                if let Some(before) = sigils.last_mut() {
                    before.is_before_example |= bare[before.place.end..element.place.start].trim().is_empty();
                }
                true
            }
            Err(Skip::Prose) => false,
            Err(Skip::Refused(reason)) => {
                refused.push(Refused { line, name: element.name, reason });
                false
            }
        }
    });
    // The instructions show both ways to end the task, each before placeholders; an agent that reports fills in one.
    let is_end = |placed: &PlacedSigil, is_done: bool| match placed.sigil {
        Sigil::Done(_) => is_done && placed.is_before_example,
        Sigil::Failed(_) => !is_done && placed.is_before_example,
        _ => false,
    };
    if [true, false].iter().all(|is_done| sigils.iter().any(|placed| is_end(placed, *is_done))) {
        sigils.retain(|placed| !is_end(placed, true) && !is_end(placed, false));
    }
    (sigils, refused)
}

/// Returns the statements of an agent's final text.
///
/// Of several elements of a kind the first one counts, of knowledge and learnings the first `MAX_KNOWLEDGE`. All ends of
/// tasks are returned. Refused elements are listed up to `MAX_REFUSED`; the last of them counts the rest.
pub fn read(text: &str) -> ParsedSigils {
    let Tokens { sigils, refused } = tokens(text);
    let mut said = ParsedSigils { refused, ..ParsedSigils::default() };
    let mut too_many: Option<(Refused, usize)> = None;
    for (line, sigil) in sigils {
        match sigil {
            Sigil::Done(named) => said.ends.push(TaskEnd { line, outcome: Outcome::Done, named }),
            Sigil::Failed(named) => said.ends.push(TaskEnd { line, outcome: Outcome::Failed, named }),
            Sigil::NextModel(model) => first(&mut said.next_model, model),
            Sigil::Journal(notes) => first(&mut said.notes, notes),
            Sigil::Knowledge(noted) if said.knowledge.len() < MAX_KNOWLEDGE => said.knowledge.push(noted),
            Sigil::Knowledge(noted) => {
                let reason = String::new();
                too_many.get_or_insert((Refused { line, name: noted.name, reason }, 0)).1 += 1;
            }
            Sigil::FailureReport(report) => {
                said.refused.extend(report.missing().map(|reason| Refused { line, name: "failure-report", reason }));
                first(&mut said.failure, report);
            }
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

impl FailureReport {
    /// Returns what it lacks of the two fields that every report should have.
    fn missing(&self) -> Option<String> {
        Some(match (self.tried.is_empty(), self.why.is_empty()) {
            (false, false) => return None,
            (true, _) => "without `what_tried:`".to_owned(),
            (false, true) => "without `why_failed:`".to_owned(),
        })
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
