//! How much text a context may have, and how it is shared among the sections.

use super::render::INSTRUCTIONS;
use crate::error::{Error, Result};
use crate::text::estimate_tokens;

/// What a budget is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Characters.
    Characters,
    /// Tokens of a language model, as [`estimate_tokens`] counts them.
    Tokens,
}

/// The most text that a context may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// How much, fixed instructions included.
    pub amount: usize,
    /// Of what.
    pub unit: Unit,
}

/// A section's share of the budget, in characters.
struct Share {
    most: usize,
    least: usize,
}

/// The shares, in the order in which the budget is given out; what one leaves passes to the next. They
/// are the seeds' figures, at their four characters a token, and add up to 27,000.
const SHARES: [Share; 6] = [
    Share { most: 3_000, least: 500 }, // previous attempts
    Share { most: 1_500, least: 300 }, // learnings
    Share { most: 500, least: 200 },   // loop status
    Share { most: 12_000, least: 0 },  // run journal
    Share { most: 8_000, least: 0 },   // project knowledge
    Share { most: 2_000, least: 0 },   // events
];
/// Where project knowledge stands among [`SHARES`].
const KNOWLEDGE: usize = 4;

/// Returns the budget that leaves `characters` for the sections beside the fixed instructions.
pub fn default_budget(characters: usize) -> Budget {
    let instructions = Budget::characters(0).cost(INSTRUCTIONS);
    // Settings may ask for less than the least there is.
    Budget::characters(instructions + characters.max(SHARES[0].least))
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

    /// Returns how much of the budget a text takes.
    pub fn cost(self, text: &str) -> usize {
        match self.unit {
            Unit::Characters => text.chars().count(),
            Unit::Tokens => estimate_tokens(text),
        }
    }

    /// Returns the least budget of this unit: the instructions, and the floor of the first section.
    pub fn least(self) -> usize {
        self.cost(INSTRUCTIONS) + self.of_characters(SHARES[0].least)
    }

    /// Refuses a budget under the least.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`].
    pub fn check(self) -> Result<()> {
        if self.amount >= self.least() {
            return Ok(());
        }
        let unit = match self.unit {
            Unit::Characters => "characters",
            Unit::Tokens => "tokens",
        };
        let reason = format!(
            "{} {unit} are too few: the fixed instructions and the first section need {}",
            self.amount,
            self.least()
        );
        Err(Error::Invalid { what: "budget".to_owned(), reason })
    }

    /// Returns what project knowledge may take, when the sections before it take nothing.
    pub(super) fn for_knowledge(self) -> usize {
        let shares = self.shares();
        let total = self.amount.saturating_sub(self.cost(INSTRUCTIONS));
        total.saturating_sub(shares[KNOWLEDGE + 1..].iter().sum())
    }

    /// Returns the sections' shares: in full where there is enough, else in proportion, none under its
    /// floor, those at the bottom first to go.
    fn shares(self) -> [usize; SHARES.len()] {
        let total = self.amount.saturating_sub(self.cost(INSTRUCTIONS));
        let full: usize = SHARES.iter().map(|share| self.of_characters(share.most)).sum();
        let mut left = total;
        SHARES.map(|share| {
            let most = self.of_characters(share.most);
            let fair = if total >= full { most } else { most * total / full };
            let share = fair.max(self.of_characters(share.least)).min(left);
            left -= share;
            share
        })
    }

    fn of_characters(self, characters: usize) -> usize {
        match self.unit {
            Unit::Characters => characters,
            Unit::Tokens => characters * 10 / 33,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_shrink_in_proportion_and_not_under_their_floors() {
        let shares = |sections: usize| default_budget(sections).shares();
        assert_eq!(shares(27_000), [3_000, 1_500, 500, 12_000, 8_000, 2_000]);
        assert_eq!(shares(90_000), [3_000, 1_500, 500, 12_000, 8_000, 2_000]);
        assert_eq!(shares(13_500), [1_500, 750, 250, 6_000, 4_000, 1_000]);
        assert_eq!(shares(2_700), [500, 300, 200, 1_200, 500, 0]);
        assert_eq!(shares(900), [500, 300, 100, 0, 0, 0]);
        assert_eq!(default_budget(27_000).for_knowledge(), 25_000);
        assert_eq!(default_budget(90_000).for_knowledge(), 88_000);
    }

    #[test]
    fn too_little_is_refused() {
        let least = Budget::characters(0).least();
        assert!(Budget::characters(least).check().is_ok());
        assert!(Budget::characters(least - 1).check().is_err());
        assert!(default_budget(0).check().is_ok());
        let least = Budget::tokens(0).least();
        assert!(Budget::tokens(least).check().is_ok());
        assert!(Budget::tokens(least - 1).check().is_err());
    }
}
