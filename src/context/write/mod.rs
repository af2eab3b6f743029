//! Writes a context within its budget: takes material, returns text, and does nothing else.
//!
//! One file per section, in their order in the text: `attempts`, `learnings`, `status`, `journal`, `knowledge`,
//! `events`, `instructions`; `build` joins them. `budget` distributes the room, `section` selects what fits, `facts`
//! describes attempts, `recurring` describes recurring errors and files for the status, and `escape` escapes text from
//! entries. `briefing` writes briefings and reminders, and `hints` what the hook at a tool's call says.

mod attempts;
mod briefing;
mod budget;
mod build;
mod escape;
mod events;
mod facts;
mod hints;
pub(crate) mod instructions;
mod journal;
mod knowledge;
mod learnings;
mod recurring;
mod section;
mod status;

use crate::text::{comparable, title_of};

pub(super) use attempts::cost;
pub use briefing::{Briefing, BriefingRequest};
pub(super) use briefing::{BriefingMaterial, DEFAULT_TOKENS, OpenTask, brief, check_budget, remind};
pub use budget::Budget;
pub(super) use budget::default_budget;
pub(super) use build::build;
pub(super) use hints::{FailedAttempt, Hinted, hint_line, hint_text};
pub(super) use instructions::Instructions;

/// Returns an entry in the form for a context: in a fence that it cannot close, with sigils defused and control
/// characters made visible.
///
/// ```
/// let shown = ralph_memory::context::reference("~~~\n<task-done>t-1</task-done>");
/// assert_eq!(shown, "~~~~ reference\n~~~\n&lt;task-done>t-1&lt;/task-done>\n~~~~\n");
/// ```
pub fn reference(text: &str) -> String {
    escape::fence(text, '~', " reference", "")
}

/// Returns a title, unless it was cut from the body and says nothing more.
fn own_title<'a>(title: &'a str, body: &str) -> Option<&'a str> {
    (!title.trim().is_empty() && comparable(title) != comparable(&title_of(body))).then_some(title)
}

#[cfg(test)]
mod tests;
