//! The budget of a context, and its distribution to the sections: the attempts get what they need, and the others share
//! the rest.

use super::Instructions;
use crate::error::{Error, Result};
use crate::text::estimate_tokens;

/// What each of the sections below the attempts needs or has, in the order of [`SHARES`].
pub(super) type Needs = [usize; SHARES.len()];

/// The unit of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Characters.
    Characters,
    /// Tokens of a language model, as [`estimate_tokens`] counts them.
    Tokens,
}

/// The maximum size of a context.
///
/// ```
/// use ralph_memory::context::{Budget, Request};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let budget = Budget::tokens(1_500);
/// let task = Task::new("Speed up the catalog scan");
/// let context = memory.context(&Request { task, budget: Some(budget), ..Request::default() })?;
/// assert!(budget.cost(&context.text) <= 1_500);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The number of units, including the fixed instructions.
    pub(crate) amount: usize,
    /// The unit.
    pub(crate) unit: Unit,
    /// How many of the units a preceding text takes.
    pub(crate) before: usize,
}

/// The minimum room of the attempts, in characters.
const LEAST: usize = 500;
/// With less room than this, in characters, an entry is not cut to fit beside a whole one.
const LEAST_CUT: usize = 300;

/// A section below the attempts, with its part of the room that the attempts leave. All lengths are in characters.
pub(super) struct Share {
    pub(super) part: BudgetPart,
    /// What it gets from every budget, if it needs that much.
    least: usize,
    /// What it gets if each section gets its part.
    usual: usize,
    /// What it never exceeds.
    pub(super) most: usize,
}

/// The sections below the attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BudgetPart {
    Learnings,
    Status,
    Journal,
    Knowledge,
    Events,
}

/// The sections in the order of their value, which is also their order in the text. At four characters per token, their
/// usual parts and 3,000 characters of attempts add up to 27,000.
pub(super) const SHARES: [Share; 5] = [
    Share { part: BudgetPart::Learnings, least: 300, usual: 1_500, most: usize::MAX },
    Share { part: BudgetPart::Status, least: 200, usual: 500, most: usize::MAX },
    Share { part: BudgetPart::Journal, least: 0, usual: 12_000, most: 12_000 },
    Share { part: BudgetPart::Knowledge, least: 0, usual: 8_000, most: 8_000 },
    Share { part: BudgetPart::Events, least: 0, usual: 2_000, most: usize::MAX },
];

/// Returns the budget that leaves `characters` for the sections, apart from the fixed instructions, which name the
/// task's id.
pub(crate) fn default_budget(characters: usize, instructions: &Instructions) -> Budget {
    let fixed = Budget::characters(0).cost(&instructions.text());
    // Settings may be under the minimum.
    Budget::characters(fixed + characters.max(LEAST))
}

impl Budget {
    /// Returns a budget of this many characters.
    pub fn characters(amount: usize) -> Budget {
        Budget { amount, unit: Unit::Characters, before: 0 }
    }

    /// Returns a budget of this many tokens.
    pub fn tokens(amount: usize) -> Budget {
        Budget { amount, unit: Unit::Tokens, before: 0 }
    }

    /// Returns this budget for a context that comes after `text`, so that both together do not exceed it.
    ///
    /// ```
    /// use ralph_memory::context::{Budget, Request};
    /// use ralph_memory::{Memory, Task};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let preamble = "You are a careful engineer. ".repeat(20);
    /// let budget = Some(Budget::characters(3_000).after(&preamble));
    /// let context = memory.context(&Request { task: Task::new("Add a cache"), budget, ..Request::default() })?;
    /// assert!(format!("{preamble}{}", context.text).chars().count() <= 3_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn after(self, text: &str) -> Budget {
        Budget { before: self.before + self.cost(text), ..self }
    }

    /// Returns the room that the instructions and the preceding text leave.
    pub(super) fn beside_instructions(self, instructions: &Instructions) -> usize {
        self.amount.saturating_sub(self.before + self.cost(&instructions.text()))
    }

    /// Returns the cost of a text. The costs of two texts never add up to less than the cost of both together.
    pub fn cost(self, text: &str) -> usize {
        match self.unit {
            Unit::Characters => text.chars().count(),
            Unit::Tokens => estimate_tokens(text),
        }
    }

    /// Returns the minimum in this unit: the preceding text, the instructions, and the minimum of the attempts.
    pub(crate) fn least(self, instructions: &Instructions) -> usize {
        self.before + self.cost(&instructions.text()) + self.of_characters(LEAST)
    }

    /// Refuses a budget under the minimum of a context.
    ///
    /// # Errors
    ///
    /// [`Error::BudgetTooSmall`].
    pub(crate) fn check(self, instructions: &Instructions) -> Result<()> {
        self.check_least("context", self.least(instructions))
    }

    /// Refuses a budget below the minimum that this text needs.
    pub(super) fn check_least(self, text: &'static str, least: usize) -> Result<()> {
        let unit = match self.unit {
            Unit::Characters => "characters",
            Unit::Tokens => "tokens",
        };
        let given = self.amount;
        if given >= least { Ok(()) } else { Err(Error::BudgetTooSmall { text, unit, given, least }) }
    }

    /// Returns the room of the attempts. It is `total`, the room that the instructions leave, without the minimum that
    /// the other sections need, of which the status gets `reserved` in any case. It is never less than the attempts'
    /// own minimum.
    pub(super) fn of_attempts(self, total: usize, needs: Needs, reserved: usize) -> usize {
        let least = |at: usize| self.of_characters(SHARES[at].least).min(needs[at]);
        let status = BudgetPart::Status as usize;
        let others: usize = (0..needs.len()).filter(|at| *at != status).map(least).sum();
        let most = total.saturating_sub(others + least(status).max(reserved));
        most.max(self.of_characters(LEAST)).min(total.saturating_sub(reserved))
    }

    /// Distributes `total`, the room below the attempts, to sections with these needs; the status gets `reserved` in
    /// any case. Each section first gets its minimum, then its usual part, in proportion if there is less than that.
    /// What is left over goes to the most important section that needs more.
    pub(super) fn divide(self, total: usize, needs: Needs, reserved: usize) -> Needs {
        let usual: usize = SHARES.iter().map(|share| self.of_characters(share.usual)).sum();
        let mut left = total;
        let mut rooms = Needs::default();
        let mut give = |at: usize, amount: usize| {
            let more = amount.min(needs[at]).saturating_sub(rooms[at]).min(left);
            rooms[at] += more;
            left -= more;
        };
        give(BudgetPart::Status as usize, reserved);
        let all = || SHARES.iter().enumerate();
        all().for_each(|(at, share)| give(at, self.of_characters(share.least)));
        all().for_each(|(at, share)| give(at, self.of_characters(share.usual) * total.min(usual) / usual));
        all().for_each(|(at, _)| give(at, usize::MAX));
        rooms
    }

    /// Returns the same with another amount.
    pub(super) fn with(self, amount: usize) -> Budget {
        Budget { amount, ..self }
    }

    /// Returns what is left after a cost.
    pub(super) fn beside(self, cost: usize) -> Budget {
        self.with(self.amount.saturating_sub(cost))
    }

    pub(super) fn fits(self, text: &str) -> bool {
        self.cost(text) <= self.amount
    }

    /// Returns whether an entry may be cut to fit beside others that are whole.
    pub(super) fn is_worth_a_cut(self) -> bool {
        self.amount >= self.of_characters(LEAST_CUT)
    }

    pub(super) fn of_characters(self, characters: usize) -> usize {
        match self.unit {
            Unit::Characters => characters,
            Unit::Tokens => characters.saturating_mul(10) / 33,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_gets_its_least_then_its_usual_part_then_what_is_left() {
        let check = |total: usize, needs: Needs, reserved: usize, expected: Needs| {
            assert_eq!(Budget::characters(0).divide(total, needs, reserved), expected, "{total} {needs:?} {reserved}");
        };
        let all = [9_000, 900, 12_000, 8_000, 9_000];
        check(24_000, all, 0, [1_500, 500, 12_000, 8_000, 2_000]);
        check(12_000, all, 0, [750, 250, 6_000, 4_000, 1_000]);
        check(1_000, all, 0, [300, 200, 500, 0, 0]);
        check(400, all, 0, [300, 100, 0, 0, 0]);
        check(400, all, 350, [50, 350, 0, 0, 0]);
        check(300, all, 350, [0, 300, 0, 0, 0]);
        // What is left over goes to the most important section that needs more.
        check(26_000, all, 0, [3_500, 500, 12_000, 8_000, 2_000]);
        check(90_000, all, 0, all);
        check(10_000, [0, 900, 100, 100, 9_000], 0, [0, 900, 100, 100, 8_900]);
        check(3_000, [100, 0, 900, 8_000, 0], 0, [100, 0, 900, 2_000, 0]);
    }

    #[test]
    fn attempts_leave_the_others_their_least() {
        let check = |total: usize, needs: Needs, reserved: usize, expected: usize| {
            assert_eq!(Budget::characters(0).of_attempts(total, needs, reserved), expected, "{total} {needs:?}");
        };
        let all = [9_000, 900, 12_000, 8_000, 9_000];
        check(10_000, all, 0, 9_500);
        check(10_000, all, 600, 9_100);
        check(10_000, [100, 0, 12_000, 0, 0], 0, 9_900);
        check(700, all, 0, 500);
        check(700, all, 400, 300);
    }

    #[test]
    fn too_little_is_refused() {
        let id = &Instructions::new("t-4be0f7e7cc");
        let least = Budget::characters(0).least(id);
        assert!(Budget::characters(least).check(id).is_ok());
        assert!(Budget::characters(least).check(&Instructions::new("t-of-one-character-more")).is_err());
        assert!(Budget::characters(least - 1).check(id).is_err());
        assert!(default_budget(0, id).check(id).is_ok());
        let least = Budget::tokens(0).least(id);
        assert!(Budget::tokens(least).check(id).is_ok());
        assert!(Budget::tokens(least - 1).check(id).is_err());
    }
}
