//! The budget of a context, and its distribution to the sections.

use super::Instructions;
use crate::error::{Error, Result};
use crate::text::estimate_tokens;

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
    /// The number of units, fixed instructions included.
    pub(crate) amount: usize,
    /// The unit.
    pub(crate) unit: Unit,
}

/// A section's share of the budget, in characters.
struct Share {
    most: usize,
    least: usize,
}

/// The sections with a share, in their order in the text, which is also the order of distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BudgetPart {
    Attempts,
    Learnings,
    Status,
    Journal,
    Knowledge,
    Events,
}

/// The shares, in the order of [`BudgetPart`]; the rest of one passes to the next. At four characters a token they add
/// up to 27,000.
const SHARES: [Share; 6] = [
    Share { most: 3_000, least: 500 }, // previous attempts
    Share { most: 1_500, least: 300 }, // learnings
    Share { most: 500, least: 200 },   // loop status
    Share { most: 12_000, least: 0 },  // run journal
    Share { most: 8_000, least: 0 },   // project knowledge
    Share { most: 2_000, least: 0 },   // events
];

/// Returns the budget that leaves `characters` for the sections beside the fixed instructions, which name the task's
/// id.
pub(crate) fn default_budget(characters: usize, instructions: &Instructions) -> Budget {
    let fixed = Budget::characters(0).cost(&instructions.text());
    // Settings may be under the minimum.
    Budget::characters(fixed + characters.max(SHARES[0].least))
}

impl Budget {
    /// Returns a budget of so many characters.
    pub fn characters(amount: usize) -> Budget {
        Budget { amount, unit: Unit::Characters }
    }

    /// Returns a budget of so many tokens.
    pub fn tokens(amount: usize) -> Budget {
        Budget { amount, unit: Unit::Tokens }
    }

    /// Returns the cost of a text. The costs of two texts are never less than the cost of both together.
    pub fn cost(self, text: &str) -> usize {
        match self.unit {
            Unit::Characters => text.chars().count(),
            Unit::Tokens => estimate_tokens(text),
        }
    }

    /// Returns the minimum of this unit: the instructions, and the floor of the first section.
    pub(crate) fn least(self, instructions: &Instructions) -> usize {
        self.cost(&instructions.text()) + self.of_characters(SHARES[0].least)
    }

    /// Refuses a budget under the minimum of a context.
    ///
    /// # Errors
    ///
    /// [`Error::BudgetTooSmall`].
    pub(crate) fn check(self, instructions: &Instructions) -> Result<()> {
        self.check_least("context", self.least(instructions))
    }

    /// Refuses a budget under what this text needs at least.
    pub(super) fn check_least(self, text: &'static str, least: usize) -> Result<()> {
        let unit = match self.unit {
            Unit::Characters => "characters",
            Unit::Tokens => "tokens",
        };
        let given = self.amount;
        if given >= least { Ok(()) } else { Err(Error::BudgetTooSmall { text, unit, given, least }) }
    }

    /// Returns the shares of `total`, the room beside the instructions: in full if there is enough, else in proportion,
    /// none under its floor, the last ones dropped first. The status gets `reserved` in any case, at the cost of the
    /// last ones.
    fn shares(self, total: usize, reserved: usize) -> [usize; SHARES.len()] {
        let full: usize = SHARES.iter().map(|share| self.of_characters(share.most)).sum();
        let mut left = total;
        let mut shares = SHARES.map(|share| {
            let most = self.of_characters(share.most);
            let fair = if total >= full { most } else { most * total / full };
            let share = fair.max(self.of_characters(share.least)).min(left);
            left -= share;
            share
        });
        let status = BudgetPart::Status as usize;
        let mut missing = reserved.saturating_sub(shares[status]).saturating_sub(left);
        shares[status] = shares[status].max(reserved);
        for part in (0..SHARES.len()).rev().filter(|part| *part != status) {
            let taken = missing.min(shares[part]);
            shares[part] -= taken;
            missing -= taken;
        }
        // The reservation cannot exceed the total.
        shares[status] -= missing;
        shares
    }

    pub(super) fn of_characters(self, characters: usize) -> usize {
        match self.unit {
            Unit::Characters => characters,
            Unit::Tokens => characters * 10 / 33,
        }
    }
}

/// The room that a section has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room(pub(super) Budget);

impl Room {
    pub(super) fn fits(self, text: &str) -> bool {
        self.cost(text) <= self.0.amount
    }

    pub(super) fn cost(self, text: &str) -> usize {
        self.0.cost(text)
    }

    /// Returns the room that is left after a cost.
    pub(super) fn beside(self, cost: usize) -> Room {
        Room(Budget { amount: self.0.amount.saturating_sub(cost), ..self.0 })
    }

    pub(super) fn half(self) -> Room {
        Room(Budget { amount: self.0.amount / 2, ..self.0 })
    }
}

/// A budget that is distributed section by section, in their order.
pub(super) struct Filling {
    budget: Budget,
    shares: [usize; SHARES.len()],
    left: usize,
}

impl Filling {
    /// Begins to distribute `total`, the room beside the instructions, of which the status has `reserved` in any case.
    /// Room beyond the sum of all shares is available from the first section on.
    pub(super) fn new(budget: Budget, total: usize, reserved: usize) -> Filling {
        // The line break that ends a section is the status's as well.
        let reserved = if reserved == 0 { 0 } else { reserved + budget.cost("\n") };
        let shares = budget.shares(total, reserved);
        Filling { budget, shares, left: total - shares.iter().sum::<usize>() }
    }

    /// Returns the room of a section: its share, and the rest of those before it.
    pub(super) fn room(&mut self, part: BudgetPart) -> Room {
        self.left += self.shares[part as usize];
        // One more line break goes between this section and the next.
        Room(Budget { amount: self.left, ..self.budget }).beside(self.budget.cost("\n"))
    }

    /// Subtracts the cost of a section's text.
    pub(super) fn spend(&mut self, text: &str) {
        if !text.is_empty() {
            self.left -= self.budget.cost(text) + self.budget.cost("\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_shrink_in_proportion_and_not_under_their_floors() {
        let shares = |total: usize| Budget::characters(0).shares(total, 0);
        assert_eq!(shares(27_000), [3_000, 1_500, 500, 12_000, 8_000, 2_000]);
        assert_eq!(shares(90_000), [3_000, 1_500, 500, 12_000, 8_000, 2_000]);
        assert_eq!(shares(13_500), [1_500, 750, 250, 6_000, 4_000, 1_000]);
        assert_eq!(shares(2_700), [500, 300, 200, 1_200, 500, 0]);
        assert_eq!(shares(900), [500, 300, 100, 0, 0, 0]);
    }

    #[test]
    fn the_reservation_is_taken_from_the_last_sections() {
        let shares = |total, reserved| Budget::characters(0).shares(total, reserved);
        assert_eq!(shares(27_000, 400), [3_000, 1_500, 500, 12_000, 8_000, 2_000]);
        assert_eq!(shares(27_000, 600), [3_000, 1_500, 600, 12_000, 8_000, 1_900]);
        assert_eq!(shares(1_000, 350), [500, 150, 350, 0, 0, 0]);
        assert_eq!(shares(500, 350), [150, 0, 350, 0, 0, 0]);
        assert_eq!(shares(300, 350), [0, 0, 300, 0, 0, 0]);
        // Room beyond the shares pays for it first.
        assert_eq!(shares(90_000, 600), [3_000, 1_500, 600, 12_000, 8_000, 2_000]);
    }

    #[test]
    fn unused_room_passes_to_the_next_section() {
        let mut filling = Filling::new(Budget::characters(0), 27_000, 0);
        let room = |filling: &mut Filling, part| filling.room(part).0.amount;
        assert_eq!(room(&mut filling, BudgetPart::Attempts), 2_999);
        filling.spend(&"x".repeat(2_000));
        assert_eq!(room(&mut filling, BudgetPart::Learnings), 2_498);
        filling.spend("");
        assert_eq!(room(&mut filling, BudgetPart::Status), 2_998);
        assert_eq!(room(&mut filling, BudgetPart::Journal), 14_998);
        filling.spend(&"x".repeat(14_998));
        assert_eq!(room(&mut filling, BudgetPart::Knowledge), 7_999);
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
