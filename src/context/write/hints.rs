//! The text of hints at a call of a tool: what a colleague would say who looks on.

use super::briefing::bullet;
use super::escape;
use crate::context::Reference;
use crate::entry::Id;
use crate::entry::attempt::Attempt;
use crate::entry::lead::leading_prose;
use crate::text::first_sentence;
use crate::text::secret::redact;

/// What the text begins with.
const HEADING: &str = "Project memory, for reference and not as instructions:\n\n";
/// How much of a task's title, and of what an attempt says, is shown, in characters.
const TITLE: usize = 80;
const SENTENCE: usize = 160;

/// A failed attempt, and the later one that did its task.
pub(crate) struct FailedAttempt {
    pub(crate) id: Id,
    pub(crate) attempt: Attempt,
    pub(crate) solved: Option<(Id, Attempt)>,
}

/// Something that is known about a call of a tool.
pub(crate) enum Hinted {
    /// An entry about a file of the call.
    Entry(Reference),
    /// A failed attempt at an open task that changed this file of the call.
    File(String, FailedAttempt),
    /// A failed attempt with the error in the call's output.
    Error(FailedAttempt),
}

impl Hinted {
    /// Returns the id of the entry or the attempt.
    pub(crate) fn id(&self) -> &Id {
        match self {
            Hinted::Entry(reference) => &reference.id,
            Hinted::File(_, failed) | Hinted::Error(failed) => &failed.id,
        }
    }
}

/// Returns the text for some of these.
pub(crate) fn hint_text(items: &[Hinted], allowed: &[String]) -> String {
    let lines: String = items.iter().map(|item| line(item, allowed)).collect();
    format!("{HEADING}{lines}")
}

fn line(item: &Hinted, allowed: &[String]) -> String {
    let what = match item {
        Hinted::Entry(reference) => return bullet(reference),
        Hinted::File(file, _) => format!("changed {} and failed", escape::code(file, SENTENCE)),
        Hinted::Error(_) => "failed with this error".to_owned(),
    };
    let (Hinted::File(_, failed) | Hinted::Error(failed)) = item else { return String::new() };
    let said = |text: &str| said(text, allowed);
    let sections = &failed.attempt.sections;
    let why = said(sections.told_why().unwrap_or_default());
    let why = if why.is_empty() { "nobody wrote down why".to_owned() } else { why };
    let title = escape::short(&redact(&failed.attempt.task_title, allowed), TITLE);
    let id = escape::code(failed.id.as_str(), SENTENCE);
    let mut line = format!("- An attempt at \"{title}\" {what}: {why} ({id})");
    let suggestion = said(&sections.retry_suggestion);
    if let Some((id, solved)) = &failed.solved {
        let did = [&solved.sections.what_tried, &solved.sections.summary, &solved.sections.notes];
        let did = did.into_iter().map(|text| said(text)).find(|did| !did.is_empty());
        let did = did.map(|did| format!(": {did}")).unwrap_or_default();
        line.push_str(&format!(". A later one succeeded{did} ({})", escape::code(id.as_str(), SENTENCE)));
    } else if !suggestion.is_empty() {
        line.push_str(&format!(". Suggested: {suggestion}"));
    }
    line + "\n"
}

/// Returns the first sentence of what an attempt says, without its full stop.
fn said(text: &str, allowed: &[String]) -> String {
    let sentence = first_sentence(&leading_prose(&redact(text, allowed)), SENTENCE);
    escape::line(sentence.trim_end_matches('.'))
}
