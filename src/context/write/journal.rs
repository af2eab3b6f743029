//! `## Run Journal`: the latest attempts of this run, and related attempts of other runs.

use std::collections::HashSet;

use super::section::{Block, LeftOut, Section, pack, unseen};
use super::{Budget, escape, facts};
use crate::context::NumberedAttempt;
use crate::entry::Id;
use crate::entry::attempt::{Attempt, Outcome};

/// How many attempts of the run are shown, and how many of other runs.
const MOST: usize = 5;
/// How many left-out attempts are listed.
const MAX_NAMED: usize = 5;
/// How much of the notes is shown, in characters, and of feedback.
const TEXT_CHARACTERS: usize = 1_000;
/// With less room for them than this, in characters, an attempt is left out.
const LEAST_CHARACTERS: usize = 100;
/// How much of the reason for a failure is shown, in characters.
const WHY_CHARACTERS: usize = 500;
/// How much of a name is shown, in characters: a model, a task's id, a run's.
const NAME_CHARACTERS: usize = 80;
/// How much of a task's title is shown, in characters.
const TITLE_CHARACTERS: usize = 160;

const HEADING: &str = "## Run Journal\n";

/// Writes the section: the run's own last attempts, oldest first, and those of other runs, best first, without those
/// that are shown `above`.
pub(super) fn section(own: &[NumberedAttempt], matching: &[NumberedAttempt], above: &[Id], room: Budget) -> Section {
    let left_out = LeftOut::new(MAX_NAMED, "`ralph-memory list --kind journal` names them");
    let mut seen: HashSet<&Id> = above.iter().collect();
    let own = unseen(own, |past| &past.id, &seen);
    seen.extend(own.iter().map(|past| &past.id));
    let others = unseen(matching, |past| &past.id, &seen);
    // In the order of priority: the newest attempt of the run first.
    let own = own.iter().rev().take(MOST).map(|past| (*past, false));
    let n_own = own.len();
    let pasts: Vec<_> = own.chain(others.iter().take(MOST).map(|past| (*past, true))).collect();
    if pasts.is_empty() {
        return Section::none(left_out);
    }
    let text = |index: usize, limit: usize| block(&pasts[index].0.attempt, pasts[index].1, limit);
    let blocks = pasts.iter().enumerate().map(|(index, (past, is_other))| {
        let place = if *is_other { index } else { n_own - 1 - index };
        Block { id: past.id.clone(), text: text(index, TEXT_CHARACTERS), place }
    });
    let cut = |index: usize, room: Budget| {
        let limit = escape::longest(LEAST_CHARACTERS..=TEXT_CHARACTERS, |limit| room.fits(&text(index, limit)))?;
        Some(text(index, limit))
    };
    let section = pack(HEADING, blocks.collect(), usize::MAX, room, left_out, cut);
    // The section still says that there are attempts.
    let has_room = section.shown.is_empty() && room.fits(&format!("{HEADING}{}", section.left_out.brief(0)));
    if has_room { Section { text: HEADING.to_owned(), ..section } } else { section }
}

/// Writes one attempt, with at most `limit` characters of each text.
fn block(attempt: &Attempt, is_other: bool, limit: usize) -> String {
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
    bullet("Why it failed", &why(attempt, limit.min(WHY_CHARACTERS)));
    bullet("Notes", &escape::short(facts::notes(attempt), limit));
    bullet("Feedback from a person", &escape::short(&attempt.sections.feedback, limit));
    block
}

/// Returns why it failed, in at most `limit` characters; nothing if it did not fail.
fn why(attempt: &Attempt, limit: usize) -> String {
    if attempt.head.outcome == Outcome::Done {
        return String::new();
    }
    // Without a report, the errors of its client are more useful than the placeholder.
    let errors = facts::errors(attempt);
    let error = errors.lines().next_back().filter(|_| !attempt.sections.has_report());
    let short = || escape::short(error.unwrap_or(&attempt.sections.why_failed), limit);
    facts::verification(attempt).unwrap_or_else(short)
}
