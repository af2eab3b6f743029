//! A section: the shown entries, and the line that lists what it left out.

use std::collections::HashSet;

use super::budget::Room;
use super::escape;
use crate::entry::Id;

/// The most of an entry's id that is shown, in characters. A file's name has at most 255 bytes, and
/// so has its folder's.
const ID_CHARACTERS: usize = 600;

/// A section of a context.
#[derive(Debug, Clone)]
pub(super) struct Section {
    /// Its text up to the line about left-out entries; empty if there is no section.
    pub(super) text: String,
    /// The left-out entries.
    pub(super) left_out: LeftOut,
    /// Its text after that line.
    pub(super) tail: String,
    /// The entries that it shows, in order.
    pub(super) shown: Vec<Id>,
}

/// The entries for which a section has no room.
#[derive(Debug, Clone)]
pub(super) struct LeftOut {
    /// Those that are known.
    pub(super) ids: Vec<Id>,
    /// How many more there are.
    pub(super) n_unknown: usize,
    /// How many are named at most.
    pub(super) most_named: usize,
    /// How to find the unlisted ones.
    pub(super) finds: &'static str,
}

impl LeftOut {
    /// Returns an empty list.
    pub(super) fn new(most_named: usize, finds: &'static str) -> LeftOut {
        LeftOut { ids: Vec::new(), n_unknown: 0, most_named, finds }
    }

    fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.n_unknown == 0
    }

    /// Says that up to `n` entries more were left out, without ids; nothing if there are none.
    pub(super) fn brief(&self, n: usize) -> String {
        let n_all = self.ids.len() + self.n_unknown + n;
        if n_all == 0 { String::new() } else { self.line(0, n_all) }
    }

    /// Lists what was left out, by id as far as that fits.
    fn longest(&self, fits: impl Fn(&str) -> bool) -> String {
        if self.is_empty() {
            return String::new();
        }
        let line = |n_named: usize| self.line(n_named, self.ids.len() + self.n_unknown);
        let most = self.ids.len().min(self.most_named);
        (0..=most).rev().map(line).find(|line| fits(line)).unwrap_or_default()
    }

    fn line(&self, n_named: usize, n_all: usize) -> String {
        let named: Vec<String> =
            self.ids[..n_named].iter().map(|id| escape::code(id.as_str(), ID_CHARACTERS)).collect();
        let n_more = n_all - n_named;
        let list = match (named.is_empty(), n_more) {
            (true, _) => format!("{n_more} more"),
            (false, 0) => named.join(", "),
            (false, _) => format!("{} and {n_more} more", named.join(", ")),
        };
        let hint = if n_named == 0 { self.finds } else { "`ralph-memory show ID` prints one" };
        format!("\nLeft out for space: {list}; {hint}.\n")
    }
}

impl Section {
    /// Returns a section that shows nothing, because there is no room.
    pub(super) fn none(left_out: LeftOut) -> Section {
        Section { text: String::new(), left_out, tail: String::new(), shown: Vec::new() }
    }

    /// Returns its whole text, which fits into `room` if the text without the line does.
    pub(super) fn render(&self, room: Room) -> String {
        if self.text.is_empty() {
            return String::new();
        }
        let with = |line: &str| format!("{}{line}{}", self.text, self.tail);
        with(&self.left_out.longest(|line| room.fits(&with(line))))
    }

    /// Removes entries from the list that another section shows.
    pub(super) fn forget(&mut self, shown: &[Id]) {
        self.left_out.ids.retain(|id| !shown.contains(id));
    }
}

/// The form of an entry in a section.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) id: Id,
    pub(super) text: String,
}

/// Returns the blocks that fit below `head`, at most `most`, the first ones first; one that does not fit is skipped.
/// The others are added to `left_out`, and there is room for their line.
pub(super) fn pack(head: &str, blocks: &[Block], most: usize, room: Room, left_out: &mut LeftOut) -> Vec<usize> {
    let whole = blocks.iter().fold(head.to_owned(), |text, block| text + &block.text);
    if blocks.len() <= most && room.fits(&format!("{whole}{}", left_out.brief(0))) {
        return (0..blocks.len()).collect();
    }
    let mut text = head.to_owned();
    let mut taken = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        // Room for the list of left-out entries is kept as long as there may be one.
        let n_to_come = blocks.len() - index - 1;
        let longer = format!("{text}{}", block.text);
        if taken.len() < most && room.fits(&format!("{longer}{}", left_out.brief(n_to_come))) {
            text = longer;
            taken.push(index);
        } else {
            left_out.ids.push(block.id.clone());
        }
    }
    taken
}

/// Returns those of `entries` whose id is new, and remembers them.
pub(super) fn unseen<'a, T>(entries: &'a [T], id: impl Fn(&T) -> &Id, seen: &HashSet<&Id>) -> Vec<&'a T> {
    let mut own = HashSet::new();
    entries.iter().filter(|entry| !seen.contains(id(entry)) && own.insert(id(entry).clone())).collect()
}
