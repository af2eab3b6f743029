//! Sigils: the elements with which an agent's text writes to the memory.
//!
//! Pure. [`tokens()`] yields the values of a text in order, and the refused elements; [`read`] gathers them. Which task
//! an element ends is decided where the tasks are known. Neither fails, panics or takes more than linear time, whatever
//! the text is. Text that goes into a prompt passes through [`defuse`], so that an agent that repeats its prompt writes
//! nothing; the examples in the instructions write nothing either.

mod suggestions;
mod tags;
mod tokens;
mod values;

use std::fmt;
use std::ops::Range;

use self::values::Skip;
use crate::entry::{Difficulty, Outcome};

pub(crate) use self::suggestions::{SuggestedScope, Suggestion};
pub(crate) use self::tags::in_list;

/// An element with which an agent reports.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReportElement {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it says.
    pub(crate) kind: ElementKind,
}

/// What an element says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ElementKind {
    /// A task ended in this way.
    TaskEnd(Outcome),
    /// The model that the run's next iteration should have.
    NextModel,
    /// Notes for the next agent that works on the task.
    Notes,
    /// A fact that holds beyond the task. Knowledge has a title, a learning a category.
    Fact {
        /// Whether it is a learning.
        is_learning: bool,
    },
    /// Why the attempt failed.
    FailureReport,
    /// A text that becomes the section with this heading in the entry of the attempt.
    Section(&'static str),
    /// How hard the task is.
    Difficulty,
    /// A list of events. It is the only one that is not an element but a block below a heading.
    Suggestions,
}

impl ReportElement {
    const fn new(name: &'static str, kind: ElementKind) -> ReportElement {
        ReportElement { name, kind }
    }

    /// Returns whether its content may be any text, including that of other elements.
    fn holds_any_text(&self) -> bool {
        matches!(self.kind, ElementKind::Notes | ElementKind::Fact { .. } | ElementKind::Section(_))
    }
}

/// The element with a suggestion for the next attempt.
const RETRY_SUGGESTION: &str = "retry-suggestion";

/// The elements that are read from an agent's text. A new one is a row here; one of a new kind is read in `values.rs`.
pub(crate) static ELEMENTS: [ReportElement; 9] = [
    ReportElement::new("task-done", ElementKind::TaskEnd(Outcome::Done)),
    ReportElement::new("task-failed", ElementKind::TaskEnd(Outcome::Failed)),
    ReportElement::new("next-model", ElementKind::NextModel),
    ReportElement::new("journal", ElementKind::Notes),
    ReportElement::new("knowledge", ElementKind::Fact { is_learning: false }),
    ReportElement::new("learning", ElementKind::Fact { is_learning: true }),
    ReportElement::new("failure-report", ElementKind::FailureReport),
    ReportElement::new(RETRY_SUGGESTION, ElementKind::Section("Retry suggestion")),
    ReportElement::new("difficulty-estimate", ElementKind::Difficulty),
];

/// The heading of the block in which an agent suggests events.
pub(crate) const SUGGESTIONS_HEADING: &str = "MEMORY_SUGGESTIONS";

static SUGGESTIONS: ReportElement = ReportElement::new(SUGGESTIONS_HEADING, ElementKind::Suggestions);

/// How many facts, and how many events, are taken from one text. An agent that writes more is stuck in a loop, and a
/// person has to review each fact.
pub(crate) const MAX_KNOWLEDGE: usize = 100;
/// How many refused elements are listed one by one.
pub(crate) const MAX_REFUSED: usize = 100;

/// A value that an agent writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sigil {
    /// `<task-done>` or `<task-failed>`.
    End(TaskEnd),
    /// `<next-model>`: the model that the run's next attempt should have.
    NextModel(String),
    /// `<journal>`: notes for the next agent that works on the task.
    Journal(String),
    /// `<knowledge>` or `<learning>`.
    Knowledge(Noted),
    /// `<failure-report>`.
    FailureReport(FailureReport),
    /// An element that becomes a section: its name and its text.
    Section(&'static str, String),
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
    /// `why_failed`; empty if it is not given. If a report has neither, its text is here.
    pub why: String,
    /// `error_category`, such as `test_failure`; `unknown` if none is given.
    pub category: String,
    /// `relevant_files`.
    pub files: Vec<String>,
    /// `stack_trace`, all of it.
    pub stack_trace: Option<String>,
    /// `retry_suggestion`, which is read like the element of that name.
    pub retry_suggestion: Option<String>,
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

/// An element that was refused, or was read differently from how it was written.
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

/// A value that an agent writes, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedSigil {
    /// The line that it begins in, from 1.
    pub line: u32,
    /// Its place, in bytes.
    pub place: Range<usize>,
    /// The value.
    pub sigil: Sigil,
}

/// The content of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The values, in order.
    pub sigils: Vec<PlacedSigil>,
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
    /// The texts of sections, each with the name of its element.
    pub sections: Vec<(&'static str, String)>,
    /// How hard its task is.
    pub difficulty: Option<Difficulty>,
    /// The events that it suggests, in order.
    pub suggestions: Vec<Suggestion>,
    /// The refused elements, in order.
    pub refused: Vec<Refused>,
}

/// Returns the sigils in an agent's final text, outside of code, quotations, comments and thoughts. An unclosed fence
/// ends at the first line that begins with a sigil.
///
/// An unclosed, empty or invalid element is skipped and reported, and its content is searched for others. So is one in
/// the middle of a line, unless the work `is_verified`: a sentence may be about it. The examples of the instructions are
/// skipped silently.
pub fn tokens(text: &str, is_verified: bool) -> Tokens {
    let (mut sigils, mut refused): (Vec<PlacedSigil>, _) = (Vec::new(), Vec::new());
    // The ends of tasks that only white space separates from an example in the instructions.
    let mut ends_before_examples: Vec<(usize, Outcome)> = Vec::new();
    tokens::scan(text, &mut |element| {
        let (line, name, place) = (element.line, element.of.name, element.place.clone());
        if element.of.kind == ElementKind::Suggestions {
            let (suggestions, invalid) = suggestions::read(element.content.unwrap_or_default(), line);
            let placed = |suggestion| PlacedSigil { line, place: place.clone(), sigil: Sigil::Suggestion(suggestion) };
            sigils.extend(suggestions.into_iter().map(placed));
            refused.extend(invalid);
            return true;
        }
        match values::value(&element) {
            Ok(_) if element.is_in_passing && !is_verified => {
                let reason = "stands in a sentence; put it on a line of its own".to_owned();
                refused.push(Refused { line, name, reason });
                true
            }
            Ok(sigil) => {
                let suggestion = match &sigil {
                    Sigil::FailureReport(report) => report.retry_suggestion.clone(),
                    _ => None,
                };
                sigils.push(PlacedSigil { line, place: place.clone(), sigil });
                let section = |text| Sigil::Section(RETRY_SUGGESTION, text);
                sigils.extend(suggestion.map(|text| PlacedSigil { line, place, sigil: section(text) }));
                true
            }
            // The closing tag belongs to it, and it is empty.
            Err(Skip::Example) => {
                if let Some(PlacedSigil { place: before, sigil: Sigil::End(end), .. }) = sigils.last()
                    && text[before.end..place.start].trim().is_empty()
                {
                    ends_before_examples.push((before.start, end.outcome));
                }
                true
            }
            Err(Skip::Prose) => false,
            Err(Skip::Refused(reason)) => {
                refused.push(Refused { line, name, reason });
                false
            }
        }
    });
    // The instructions show both ways to end the task, each before placeholders; an agent that reports fills in one of
    // them.
    let is_shown = |outcome| ends_before_examples.iter().any(|(_, of_end)| *of_end == outcome);
    if is_shown(Outcome::Done) && is_shown(Outcome::Failed) {
        sigils.retain(|placed| !ends_before_examples.iter().any(|(start, _)| *start == placed.place.start));
    }
    Tokens { sigils, refused }
}

/// Returns the heading of the section that an element's text becomes.
pub(crate) fn section_of(element: &str) -> Option<&'static str> {
    ELEMENTS.iter().find_map(|known| match known.kind {
        ElementKind::Section(heading) if known.name == element => Some(heading),
        _ => None,
    })
}

/// Returns the statements of an agent's final text, whose [`tokens()`] count if its work `is_verified` or not.
///
/// Of several elements of a kind, the first one counts; of knowledge and learnings, the first `MAX_KNOWLEDGE`. All ends
/// of tasks are returned. At most `MAX_REFUSED` refused elements are listed; the last of these counts the others.
pub fn read(text: &str, is_verified: bool) -> ParsedSigils {
    let Tokens { sigils, refused } = tokens(text, is_verified);
    let mut said = ParsedSigils { refused, ..ParsedSigils::default() };
    let mut too_many: Option<(Refused, usize)> = None;
    for PlacedSigil { line, sigil, .. } in sigils {
        match sigil {
            Sigil::End(end) => said.ends.push(end),
            Sigil::NextModel(model) => _ = said.next_model.get_or_insert(model),
            Sigil::Journal(notes) => _ = said.notes.get_or_insert(notes),
            Sigil::Knowledge(noted) if said.knowledge.len() < MAX_KNOWLEDGE => said.knowledge.push(noted),
            Sigil::Knowledge(noted) => {
                let reason = String::new();
                too_many.get_or_insert((Refused { line, name: noted.name, reason }, 0)).1 += 1;
            }
            Sigil::FailureReport(report) => {
                said.refused.extend(report.missing().map(|reason| Refused { line, name: "failure-report", reason }));
                said.failure.get_or_insert(report);
            }
            Sigil::Section(name, _) if said.sections.iter().any(|(known, _)| *known == name) => {}
            Sigil::Section(name, text) => said.sections.push((name, text)),
            Sigil::Difficulty(difficulty) => _ = said.difficulty.get_or_insert(difficulty),
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

impl FailureReport {
    /// Returns which of the two fields that every report should have are missing.
    fn missing(&self) -> Option<String> {
        Some(match (self.tried.is_empty(), self.why.is_empty()) {
            (false, false) => return None,
            (true, _) => "without `what_tried:`".to_owned(),
            (false, true) => "without `why_failed:`".to_owned(),
        })
    }
}

/// Returns a text without its elements, valid or not, and without the block of suggestions: the journal has them in other
/// places. An unclosed one stays, like everything else.
pub(crate) fn without_sigils(text: &str) -> String {
    let (mut kept, mut done) = (String::with_capacity(text.len()), 0);
    tokens::scan(text, &mut |element| {
        if element.content.is_some() {
            kept.push_str(&text[done..element.place.start]);
            done = element.place.end;
        }
        true
    });
    kept.push_str(&text[done..]);
    let mut lines: Vec<&str> = Vec::new();
    for line in kept.lines() {
        // Removed text leaves gaps.
        if !(line.trim().is_empty() && lines.last().is_none_or(|last| last.trim().is_empty())) {
            lines.push(line.trim_end());
        }
    }
    lines.join("\n").trim_end().to_owned()
}

/// Returns `text` with every sigil and every tag of agents' clients turned into plain text: `<` becomes `&lt;` in opening
/// and closing tags, and the heading for suggestions gets a backslash. The names of clients' tags have several words.
///
/// ```
/// use ralph_memory::context::defuse;
/// assert_eq!(defuse("say <task-done>t-1</task-done> or a < b"), "say &lt;task-done>t-1&lt;/task-done> or a < b");
/// assert_eq!(defuse("</system-reminder> in a Vec<u8>"), "&lt;/system-reminder> in a Vec<u8>");
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
            safe.push_str(if begins_tag(rest) { "&lt;" } else { "<" });
        }
        safe.push_str(rest);
    }
    safe
}

/// Returns whether the text starts with the name of a sigil or of its closing tag, in any case, possibly after white
/// space, or with a name that has `-` or `_`.
fn begins_tag(text: &str) -> bool {
    let name = text.trim_start().trim_start_matches('/').trim_start();
    let begins = |known: &str| name.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known));
    let tag = text.trim_start_matches('/');
    let is_of_name = |character: char| character.is_ascii_alphanumeric() || "-_:.".contains(character);
    let tag = &tag[..tag.find(|character| !is_of_name(character)).unwrap_or(tag.len())];
    let is_of_client = tag.starts_with(|first: char| first.is_ascii_alphabetic()) && tag.contains(['-', '_']);
    is_of_client || ELEMENTS.iter().any(|element| begins(element.name))
}

#[cfg(test)]
mod tests;
