//! Joins the sections of a context.

use std::collections::HashSet;

use super::budget::{BudgetPart, Filling, Room};
use super::events;
use super::section::Section;
use super::{Budget, Context, Material, attempts, journal, knowledge, learnings, recurring, status};
use crate::entry::{Id, Kind};

/// Returns the context with this material. Bodies of knowledge are cut to `body_words` words.
///
/// The budget must have passed [`Budget::check`] for the task's id.
pub(crate) fn build(material: &Material, budget: Budget, body_words: usize) -> Context {
    let total = budget.amount.saturating_sub(budget.cost(&material.instructions.text()));
    let mut filling = Filling::new(budget, total, reserve(material, budget, total));

    let room = filling.room(BudgetPart::Attempts);
    let mut previous = attempts::section(material, room);
    let mut previous_text = previous.render(room);
    filling.spend(&previous_text);

    let room = filling.room(BudgetPart::Learnings);
    let (mut learned, duplicates) = learnings::section(&material.learnings, room, body_words);
    let mut learned_text = learned.render(room);
    filling.spend(&learned_text);

    let again = recurring::bullets(material, &previous.shown, &previous_text);
    let status_text = status::section(material.status.as_ref(), &again, filling.room(BudgetPart::Status));
    filling.spend(&status_text);

    let room = filling.room(BudgetPart::Journal);
    let mut run = journal::section(&material.journal, &material.matching, &previous.shown, room);
    let mut run_text = run.render(room);
    filling.spend(&run_text);

    let room = filling.room(BudgetPart::Knowledge);
    let above: HashSet<&Id> = learned.shown.iter().chain(&duplicates).collect();
    let known = knowledge::section(&material.knowledge, &above, room, body_words);
    let known_text = known.render(room);
    filling.spend(&known_text);

    let room = filling.room(BudgetPart::Events);
    let above: HashSet<&Id> = previous.shown.iter().chain(&run.shown).collect();
    let happened = events::section(&material.events, &above, room);
    let happened_text = happened.render(room);

    // An entry that a section left out may be in a later one.
    let again = |section: &mut Section, text: &mut String, shown: &[Id]| {
        section.forget(shown);
        *text = section.render(Room(Budget { amount: budget.cost(text), ..budget }));
    };
    again(&mut previous, &mut previous_text, &run.shown);
    again(&mut learned, &mut learned_text, &known.shown);
    again(&mut run, &mut run_text, &happened.shown);

    let texts = [previous_text, learned_text, status_text, run_text, known_text, happened_text];
    let mut text: String =
        texts.iter().filter(|text| !text.is_empty()).flat_map(|text| [text.as_str(), "\n"]).collect();
    let notes_end = text.len();
    text.push_str(&material.instructions.text());
    let mut left_out: Vec<Id> = Vec::new();
    for id in [&previous, &learned, &run, &known, &happened].into_iter().flat_map(|section| &section.left_out.ids) {
        if !left_out.contains(id) {
            left_out.push(id.clone());
        }
    }
    let (from_journal, noted): (Vec<Id>, Vec<Id>) =
        happened.shown.into_iter().partition(|id| id.kind() == Kind::Journal);
    Context {
        text,
        notes_end,
        task_id: material.instructions.task_id.clone(),
        entries: [learned.shown, known.shown, noted].concat(),
        attempts: [previous.shown, run.shown, from_journal].concat(),
        left_out,
        ..Context::default()
    }
}

/// Returns the minimum of the status that leaves the newest attempt its own minimum.
fn reserve(material: &Material, budget: Budget, total: usize) -> usize {
    let kept = if material.attempts.is_empty() { 0 } else { budget.of_characters(attempts::KEPT_CHARACTERS) };
    let line_breaks = budget.cost("\n") * 2;
    let room = Room(Budget { amount: total.saturating_sub(kept + line_breaks), ..budget });
    status::reserve(material.status.as_ref(), room)
}
