//! Joins the sections of a context.

use std::collections::HashSet;

use super::budget::{BudgetPart, Needs, SHARES};
use super::section::Section;
use super::{Budget, attempts, events, journal, knowledge, learnings, recurring, status};
use crate::context::{Context, Material};
use crate::entry::{Id, Kind};

/// The sections that are written so far.
struct ContextDraft<'a> {
    material: &'a Material,
    budget: Budget,
    body_words: usize,
    previous: Section,
    /// Those below the attempts, in the order of [`SHARES`].
    others: [Section; SHARES.len()],
}

/// Returns the context made from this material. Bodies of knowledge are cut to `body_words` words.
///
/// The budget must have passed [`Budget::check`] for the task's id.
pub(crate) fn build(material: &Material, budget: Budget, body_words: usize) -> Context {
    let total = budget.beside_instructions(&material.instructions);
    let reserved = reserve(material, budget, total);
    // The line break that ends a section also belongs to the status.
    let reserved = if reserved == 0 { 0 } else { reserved + budget.cost("\n") };
    let (previous, others) = Default::default();
    let mut draft = ContextDraft { material, budget, body_words, previous, others };
    let mut needs = Needs::default();
    for part in [BudgetPart::Learnings, BudgetPart::Status] {
        needs[part as usize] = draft.cost(&draft.write(part, total));
    }
    let room = draft.room(budget.of_attempts(total, needs, reserved));
    draft.previous = attempts::section(material, room).rendered(room);
    draft.fill(total - draft.cost(&draft.previous), reserved);
    draft.finish()
}

impl ContextDraft<'_> {
    /// Writes the sections below the attempts: each as a whole, then again those that do not have enough room.
    fn fill(&mut self, total: usize, reserved: usize) {
        let mut needs = Needs::default();
        for (at, share) in SHARES.iter().enumerate() {
            self.others[at] = self.write(share.part, total);
            needs[at] = self.cost(&self.others[at]);
        }
        let mut rooms = self.budget.divide(total, needs, reserved);
        if rooms == needs {
            return;
        }
        // The room that a section cannot use goes to the next one. What the last one leaves goes to the first one that
        // was cut.
        for _ in 0..2 {
            let mut spare = total - rooms.iter().sum::<usize>();
            let mut has_changed = false;
            for (at, share) in SHARES.iter().enumerate() {
                let (room, cost) = (rooms[at] + spare, self.cost(&self.others[at]));
                if has_changed || room < cost || (cost < needs[at] && cost < room) {
                    let new = self.write(share.part, room);
                    if has_changed || room < cost || self.cost(&new) > cost {
                        has_changed |= new.shown != self.others[at].shown;
                        self.others[at] = new;
                    }
                }
                rooms[at] = self.cost(&self.others[at]);
                spare = room - rooms[at];
            }
        }
    }

    /// Writes a section below the attempts into at most this much room, including the line break after it.
    fn write(&self, part: BudgetPart, room: usize) -> Section {
        let Material { learnings, status, journal, matching, knowledge, events, more_events, .. } = self.material;
        let most = self.budget.of_characters(SHARES[part as usize].most);
        let room = self.room(room);
        let room = room.with(room.amount.min(most));
        let previous = &self.previous;
        let section = match part {
            BudgetPart::Learnings => learnings::section(learnings, room, self.body_words),
            BudgetPart::Status => {
                let again = recurring::bullets(self.material, &previous.shown, &previous.rendered);
                let text = status::section(status.as_ref(), &again, room);
                Section { text, ..Section::default() }
            }
            BudgetPart::Journal => journal::section(journal, matching, &previous.shown, room),
            BudgetPart::Knowledge => {
                let learned = &self.others[BudgetPart::Learnings as usize];
                let above: HashSet<&Id> = learned.shown.iter().collect();
                knowledge::section(knowledge, &above, room, self.body_words)
            }
            BudgetPart::Events => {
                let run = &self.others[BudgetPart::Journal as usize];
                let above: HashSet<&Id> = previous.shown.iter().chain(&run.shown).collect();
                events::section(events, more_events, &above, room)
            }
        };
        section.rendered(room)
    }

    fn room(&self, amount: usize) -> Budget {
        self.budget.with(amount).beside(self.budget.cost("\n"))
    }

    fn cost(&self, section: &Section) -> usize {
        if section.rendered.is_empty() { 0 } else { self.budget.cost(&section.rendered) + self.budget.cost("\n") }
    }

    /// Joins the sections.
    fn finish(self) -> Context {
        let ContextDraft { material, budget, mut previous, others, .. } = self;
        let [mut learned, told, mut run, known, happened] = others;
        // An entry that a section left out may be in a later one.
        let again = |section: &mut Section, shown: &[Id]| {
            section.left_out.ids.retain(|id| !shown.contains(id));
            section.rendered = section.render(budget.with(budget.cost(&section.rendered)));
        };
        again(&mut previous, &run.shown);
        again(&mut learned, &known.shown);
        again(&mut run, &happened.shown);

        let all = [&previous, &learned, &told, &run, &known, &happened];
        let texts = all.map(|section| section.rendered.as_str()).into_iter().filter(|text| !text.is_empty());
        let mut text = String::new();
        texts.for_each(|section| text.extend([section, "\n"]));
        let notes_end = text.len();
        text.push_str(&material.instructions.text());
        let mut left_out: Vec<Id> = Vec::new();
        for id in all.into_iter().flat_map(|section| &section.left_out.ids) {
            if !left_out.contains(id) && !id.is_in_layer() {
                left_out.push(id.clone());
            }
        }
        let [previous, learned, _, run, mut known, happened] = all.map(|section| section.shown.clone());
        // What is recorded of a context is of this memory.
        known.retain(|id| !id.is_in_layer());
        let (from_journal, noted): (Vec<Id>, Vec<Id>) = happened.into_iter().partition(|id| id.kind() == Kind::Journal);
        Context {
            text,
            notes_end,
            task_id: material.instructions.task_id.clone(),
            entries: [learned, known, noted].concat(),
            attempts: [previous, run, from_journal].concat(),
            left_out,
            ..Context::default()
        }
    }
}

/// Returns the minimum of the status, which leaves the newest attempt its own minimum.
fn reserve(material: &Material, budget: Budget, total: usize) -> usize {
    let kept = if material.attempts.is_empty() { 0 } else { budget.of_characters(attempts::KEPT_CHARACTERS) };
    let line_breaks = budget.cost("\n") * 2;
    let room = budget.with(total.saturating_sub(kept + line_breaks));
    status::reserve(material.status.as_ref(), room)
}
