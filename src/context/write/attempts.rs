//! `## Previous Attempts`: earlier attempts at this task, and what to try now.

use super::escape;
use super::section::{LeftOut, Section};
use super::{Budget, facts};
use crate::context::{Material, NumberedAttempt};
use std::cmp::Reverse;

use crate::entry::attempt::{Account, Outcome};
use crate::text::shorten;

/// How much of an error's or a validation's output is shown, in characters: its end.
const OUTPUT_CHARACTERS: usize = 500;
/// How much of the notes is shown, in characters; the journal has more.
const NOTES_CHARACTERS: usize = 1_000;
/// How much of a name is shown, in characters: a model, a category.
const NAME_CHARACTERS: usize = 60;
/// How many left-out attempts are listed.
const MAX_NAMED: usize = 5;
/// A text is not shown if it has less room than this, in characters.
const LEAST_CHARACTERS: usize = 12;

/// The minimum of the section, in characters: its heading, the newest attempt's heading and a word of a suggestion.
pub(super) const KEPT_CHARACTERS: usize = 170;

/// How much of an attempt is shown, in characters of each part.
#[derive(Debug, Clone, Copy)]
struct AttemptLimits {
    /// Of each text except feedback; 0 leaves it out.
    text: usize,
    /// Of the feedback.
    feedback: usize,
    /// Whether the model is named.
    has_model: bool,
}

impl AttemptLimits {
    const NONE: AttemptLimits = AttemptLimits { text: usize::MAX, feedback: usize::MAX, has_model: true };

    fn cut_anything(self) -> bool {
        self.text < usize::MAX
    }
}

/// Writes the section.
pub(super) fn section(material: &Material, room: Budget) -> Section {
    let mut left_out = LeftOut::new(MAX_NAMED, "`ralph-memory list --kind journal` names them");
    // The newest informative attempt comes first, then those that say most.
    let mut ranked: Vec<(usize, &NumberedAttempt)> = material.attempts.iter().enumerate().rev().collect();
    ranked.sort_by_key(|(_, past)| account(past) == Account::Silent);
    let Some((&mut (newest_at, newest), older)) = ranked.split_first_mut() else { return Section::none(left_out) };
    older.sort_by_key(|(_, past)| Reverse(account(past)));
    let n_known: usize = material.attempts.iter().map(|past| 1 + past.n_alike).sum();
    let n_attempts = material.n_attempts.max(n_known);
    left_out.n_unknown = n_attempts - n_known;
    let heading = "## Previous Attempts\n";
    let times = if n_attempts == 1 { "once".to_owned() } else { format!("{n_attempts} times") };
    let warning = warning(&material.attempts);
    let intro = format!("{heading}\nThis task has been attempted {times} before.{warning}\n");
    let suggestion = suggestion(&material.attempts);
    let whole = |head: &str, blocks: &[String], tail: &str| format!("{head}{}{tail}", blocks.concat());

    let blocks: Vec<String> = material.attempts.iter().map(|past| block(past, AttemptLimits::NONE)).collect();
    let tail = suggestion.map(|text| suggested(text, usize::MAX)).unwrap_or_default();
    if room.fits(&format!("{}{}", whole(&intro, &blocks, &tail), left_out.brief(0))) {
        let shown = material.attempts.iter().map(|past| past.id.clone()).collect();
        return Section { text: whole(&intro, &blocks, ""), tail, shown, ..Section::none(left_out) };
    }

    // The less room there is, the less is shown in addition to the required part.
    let line = left_out.brief(older.len());
    let heads = [(intro.as_str(), line.as_str()), (&intro, "")];
    let keep = |head: &str, line: &str| kept(newest, suggestion, room.beside(room.cost(&format!("{head}{line}"))));
    let has_all = |(_, text): &(String, String)| suggestion.is_none() || !text.is_empty();
    let found = heads.iter().find_map(|(head, line)| keep(head, line).filter(has_all).map(|kept| (*head, kept)));
    let Some((head, (newest_block, tail))) = found.or_else(|| keep(heading, "").map(|kept| (heading, kept))) else {
        left_out.ids = material.attempts.iter().map(|past| past.id.clone()).collect();
        return Section::none(left_out);
    };

    let mut taken = vec![(newest_at, newest_block)];
    let mut left = Vec::new();
    let mut text = whole(head, std::slice::from_ref(&taken[0].1), &tail);
    for (n_taken, (at, past)) in older.iter().enumerate() {
        let n_more = older.len() - 1 - n_taken + left.len();
        let beside = room.beside(room.cost(&format!("{text}{}", left_out.brief(n_more))));
        // If there was no room for more, an outcome alone is of no use.
        let is_of_use = left.is_empty() || account(past) > Account::Silent;
        // The first one without room is cut.
        let is_cut = left.is_empty() && beside.is_worth_a_cut();
        let block = Some(block(past, AttemptLimits::NONE)).filter(|block| is_of_use && beside.fits(block));
        match block.or_else(|| shrunk(past, beside).filter(|_| is_of_use && is_cut)) {
            Some(block) => {
                text.push_str(&block);
                taken.push((*at, block));
            }
            None => left.push(*at),
        }
    }
    taken.sort_by_key(|(at, _)| *at);
    left.sort_unstable();
    let id = |at: &usize| material.attempts[*at].id.clone();
    left_out.ids = left.iter().map(id).collect();
    let shown = taken.iter().map(|(at, _)| id(at)).collect();
    let blocks: Vec<String> = taken.into_iter().map(|(_, block)| block).collect();
    Section { text: whole(head, &blocks, ""), tail, shown, ..Section::none(left_out) }
}

/// Returns the warning not to repeat what failed. An attempt that succeeded, that was stopped, or whose agent could not
/// run says nothing against its approach.
fn warning(attempts: &[NumberedAttempt]) -> &'static str {
    let failed = attempts.iter().filter(|past| past.attempt.head.outcome.is_failure_of_task()).count();
    match failed {
        0 => "",
        _ if failed == attempts.len() => " **Do not repeat these approaches.**",
        _ => " **Do not repeat the approaches that failed.**",
    }
}

fn account(past: &NumberedAttempt) -> Account {
    past.attempt.head.account_of(&past.attempt.sections)
}

/// Returns the cost of an attempt in a context with room for all of it.
pub(crate) fn cost(past: &NumberedAttempt, budget: Budget) -> usize {
    budget.cost(&block(past, AttemptLimits::NONE))
}

/// Returns the required part: the newest attempt and the suggestion, cut to fit. If both are longer than half of the
/// room, each gets half.
fn kept(newest: &NumberedAttempt, suggestion: Option<&str>, room: Budget) -> Option<(String, String)> {
    let cut = |room: Budget| {
        let text = suggestion?;
        // A short text takes less room than its beginning with the mark of a cut.
        if room.fits(&suggested(text, usize::MAX)) {
            return Some(suggested(text, usize::MAX));
        }
        let length = text.chars().count().max(2);
        let limit = escape::longest(2..=length, |limit| room.fits(&suggested(text, limit)))?;
        Some(suggested(text, limit))
    };
    let first = cut(room.with(room.amount / 2)).unwrap_or_default();
    let newest = shrunk(newest, room.beside(room.cost(&first)))?;
    let suggestion = cut(room.beside(room.cost(&newest))).unwrap_or(first);
    Some((newest, suggestion))
}

/// Returns the attempt with its parts cut as little as possible; feedback of a person is cut last.
fn shrunk(past: &NumberedAttempt, room: Budget) -> Option<String> {
    let fits = |limits: AttemptLimits| room.fits(&block(past, limits));
    if fits(AttemptLimits::NONE) {
        return Some(block(past, AttemptLimits::NONE));
    }
    let sections = &past.attempt.sections;
    let texts = [&sections.what_tried, &sections.why_failed, &sections.notes, &sections.summary];
    let most = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(OUTPUT_CHARACTERS * 2);
    let texts = |text: usize| AttemptLimits { text, ..AttemptLimits::NONE };
    if let Some(limit) = escape::longest(0..=most, |limit| fits(texts(limit))) {
        return Some(block(past, texts(limit)));
    }
    let feedback = |feedback: usize| AttemptLimits { text: 0, feedback, ..AttemptLimits::NONE };
    let most = sections.feedback.chars().count();
    if let Some(limit) = escape::longest(0..=most, |limit| fits(feedback(limit))) {
        return Some(block(past, feedback(limit)));
    }
    let bare = AttemptLimits { has_model: false, ..feedback(0) };
    fits(bare).then(|| block(past, bare))
}

/// Returns the newest suggestion that no attempt has followed yet: that of the newest failed attempt, or of an attempt
/// after it. An attempt that could not run, was stopped, or ended without any report did not follow it. After a
/// successful attempt, there is no suggestion.
fn suggestion(attempts: &[NumberedAttempt]) -> Option<&str> {
    for past in attempts.iter().rev() {
        let outcome = past.attempt.head.outcome;
        let text = past.attempt.sections.retry_suggestion.trim();
        if outcome == Outcome::Done {
            return None;
        }
        if !text.is_empty() {
            return Some(text);
        }
        let is_silent = outcome == Outcome::Blocked && !past.attempt.sections.has_report();
        if outcome.is_failure_of_task() && !is_silent {
            return None;
        }
    }
    None
}

fn suggested(text: &str, limit: usize) -> String {
    let text = shorten(text.trim(), limit);
    format!("\n**Suggested approach for this retry:**\n{}\n", escape::paragraph(&text))
}

/// Writes one attempt.
fn block(past: &NumberedAttempt, limits: AttemptLimits) -> String {
    let attempt = &past.attempt;
    let outcome = attempt.head.outcome.as_str();
    let model = attempt.head.model.as_deref().map(str::trim).filter(|model| limits.has_model && !model.is_empty());
    let model = model.map(|model| escape::short(model, NAME_CHARACTERS.min(limits.text.max(20))) + ", ");
    let mut block = format!("\n### Attempt {} ({}{outcome})\n", past.number, model.unwrap_or_default());
    let bullets = bullets(past, limits);
    if !bullets.is_empty() {
        block.push('\n');
        block.push_str(&bullets);
    }
    if limits.cut_anything() {
        block.push_str("\n_(truncated)_\n");
    }
    block
}

fn bullets(past: &NumberedAttempt, limits: AttemptLimits) -> String {
    let attempt = &past.attempt;
    let (head, sections) = (&attempt.head, &attempt.sections);
    let bullet = |name: &str, text: &str, most: usize| {
        let limit = limits.text.min(most);
        if limit >= LEAST_CHARACTERS { escape::bullet(name, text, limit) } else { String::new() }
    };
    let output = |name: &str, text: &str| {
        let limit = limits.text.min(OUTPUT_CHARACTERS);
        let is_shown = !text.trim().is_empty() && limit >= LEAST_CHARACTERS;
        let fence = || escape::fence(&escape::end(text, limit), '`', "", "  ");
        if is_shown { format!("- **{name}:**\n{}", fence()) } else { String::new() }
    };
    let mut bullets = feedback(&sections.feedback, limits.feedback);
    if limits.text == 0 {
        return bullets;
    }
    // For an attempt that succeeded, why it failed is irrelevant.
    let why = sections.told_why().filter(|_| head.outcome != Outcome::Done);
    let is_report = !sections.what_tried.trim().is_empty() || why.is_some();
    if is_report {
        bullets += &bullet("Approach", &sections.what_tried, usize::MAX);
        bullets += &bullet("Why it failed", why.unwrap_or_default(), usize::MAX);
    } else if past.n_alike > 0 {
        let earlier = if past.n_alike == 1 { "attempt" } else { "attempts" };
        let outcome = head.outcome.as_str();
        let alike = format!("{outcome}, like {} earlier {earlier} that left no report", past.n_alike);
        bullets += &bullet("Outcome", &alike, usize::MAX);
    } else {
        bullets += &bullet("Outcome", &facts::outcome(attempt), NAME_CHARACTERS);
        if head.outcome.is_success() == Some(false) {
            bullets += "- **No structured failure report was provided.**\n";
        }
    }
    bullets += &bullet("Verification", &facts::verification(attempt).unwrap_or_default(), usize::MAX);
    // The placeholder for a missing report adds nothing.
    let category = head.error_category.as_deref().filter(|category| is_report || *category != "unknown");
    bullets += &bullet("Error type", category.unwrap_or_default(), NAME_CHARACTERS);
    bullets += &bullet("Files involved", &facts::files(attempt), usize::MAX);
    // For a refuted attempt, the refutation counts. Without a report, the rest may be the end of its claim.
    let is_refuted = head.outcome == Outcome::Retried;
    if is_report {
        bullets += &output("Error output", &sections.error_output);
    } else if !is_refuted {
        bullets += &output("Errors", &facts::errors(attempt));
        bullets += &output("Last output", &sections.error_output);
    }
    if is_refuted {
        bullets += &output("Validation output", &sections.validation_output);
    }
    let notes = facts::notes(attempt);
    let is_said = !is_report && !is_refuted && sections.error_output.contains(notes);
    // They may claim that all is well, but they also say what was tried.
    let name = if is_refuted { "Notes, before verification failed" } else { "Notes" };
    bullets + &bullet(name, if is_said { "" } else { notes }, NOTES_CHARACTERS)
}

/// Writes the feedback of a person first and prominently. If it has several lines, they stay separate.
fn feedback(text: &str, limit: usize) -> String {
    let text = text.trim();
    if text.is_empty() || limit == 0 {
        return String::new();
    }
    let text = shorten(text, limit);
    if text.lines().nth(1).is_none() {
        return format!("- **Feedback from a person:** {}\n", escape::line(&text));
    }
    format!("- **Feedback from a person:**\n{}\n", escape::quote(&text, "  "))
}
