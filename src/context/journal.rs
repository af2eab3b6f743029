//! `## Run Journal`: the latest attempts of this run, and related ones of others.

use std::collections::HashSet;

use super::budget::Room;
use super::section::{Block, LeftOut, Section, pack, unseen};
use super::{NumberedAttempt, escape, facts};
use crate::entry::Id;
use crate::entry::attempt::{Attempt, Outcome};

/// How many attempts of the run are shown, and how many of others.
const MOST: usize = 5;
/// How many left-out attempts are listed.
const MAX_NAMED: usize = 5;
/// How much of the notes is shown, in characters, and of feedback.
const NOTES_CHARACTERS: usize = 1_000;
/// How much of the reason for a failure is shown, in characters.
const WHY_CHARACTERS: usize = 500;
/// How much of a name is shown, in characters: a model, a task's id, a run's.
const NAME_CHARACTERS: usize = 80;
/// How much of a task's title is shown, in characters.
const TITLE_CHARACTERS: usize = 160;

const HEADING: &str = "## Run Journal\n";

/// Writes the section: the run's own last attempts, oldest first, and those of other runs, best first, without those
/// that are shown `above`.
pub(super) fn section(own: &[NumberedAttempt], matching: &[NumberedAttempt], above: &[Id], room: Room) -> Section {
    let mut left_out = LeftOut::new(MAX_NAMED, "`ralph-memory list --kind journal` names them");
    let mut seen: HashSet<&Id> = above.iter().collect();
    let own = unseen(own, |past| &past.id, &seen);
    seen.extend(own.iter().map(|past| &past.id));
    let others = unseen(matching, |past| &past.id, &seen);
    // In the order of priority: the newest of the run first.
    let own = own.iter().rev().take(MOST).map(|past| (*past, false));
    let n_own = own.len();
    let blocks: Vec<Block> = own
        .chain(others.iter().take(MOST).map(|past| (*past, true)))
        .map(|(past, is_other)| Block { id: past.id.clone(), text: block(&past.attempt, is_other) })
        .collect();
    if blocks.is_empty() {
        return Section::none(left_out);
    }
    let mut taken = pack(HEADING, &blocks, usize::MAX, room, &mut left_out);
    if taken.is_empty() {
        // The section still says that there are some.
        let has_room = room.fits(&format!("{HEADING}{}", left_out.brief(0)));
        let text = if has_room { HEADING.to_owned() } else { String::new() };
        return Section { text, ..Section::none(left_out) };
    }
    let n_own_taken = taken.iter().filter(|index| **index < n_own).count();
    taken[..n_own_taken].reverse();
    let text = taken.iter().fold(HEADING.to_owned(), |text, index| text + &blocks[*index].text);
    let shown = taken.iter().map(|index| blocks[*index].id.clone()).collect();
    Section { text, left_out, tail: String::new(), shown }
}

/// Writes one attempt.
fn block(attempt: &Attempt, is_other: bool) -> String {
    let head = &attempt.head;
    let run = if is_other { format!(" of {}", escape::short(&attempt.run_id, NAME_CHARACTERS)) } else { String::new() };
    let mut block = format!("\n### Iteration {}{run} [{}]\n", head.iteration, head.outcome.as_str());
    let mut bullet = |name: &str, text: &str| {
        if !text.is_empty() {
            block.push_str(&format!("- **{name}**: {text}\n"));
        }
    };
    let id = escape::short(attempt.task_id.as_deref().unwrap_or_default(), NAME_CHARACTERS);
    let title = escape::short(&attempt.task_title, TITLE_CHARACTERS);
    let task: Vec<&str> = [id.as_str(), &title].into_iter().filter(|part| !part.is_empty()).collect();
    bullet("Task", &task.join(" · "));
    bullet("Model", &escape::short(head.model.as_deref().unwrap_or_default(), NAME_CHARACTERS));
    match (facts::duration_secs(attempt), facts::cost_usd(attempt)) {
        (Some(seconds), Some(cost)) => bullet("Duration", &format!("{seconds:.1}s | **Cost**: ${cost:.4}")),
        (Some(seconds), None) => bullet("Duration", &format!("{seconds:.1}s")),
        (None, Some(cost)) => bullet("Cost", &format!("${cost:.4}")),
        (None, None) => {}
    }
    bullet("Files", &facts::files(attempt));
    bullet("Why it failed", &why(attempt));
    bullet("Notes", &escape::short(facts::notes(attempt), NOTES_CHARACTERS));
    bullet("Feedback from a person", &escape::short(&attempt.sections.feedback, NOTES_CHARACTERS));
    block
}

/// Returns why it failed; nothing if it did not.
fn why(attempt: &Attempt) -> String {
    if attempt.head.outcome == Outcome::Done {
        return String::new();
    }
    // Without a report, the errors of its client are more useful than the placeholder.
    let errors = facts::errors(attempt);
    let error = errors.lines().next_back().filter(|_| !attempt.sections.has_report());
    let short = || escape::short(error.unwrap_or(&attempt.sections.why), WHY_CHARACTERS);
    facts::verification(attempt).unwrap_or_else(short)
}
