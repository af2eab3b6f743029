//! A section: the shown entries, and the line that lists what it left out.

use std::collections::HashSet;

use super::{Budget, escape};
use crate::context::Reference;
use crate::entry::{Id, body};
use crate::text::Wording;

/// How much of an entry's id is shown, in characters. The name of a file has at most 255 bytes, and so has that of its
/// folder.
const ID_CHARACTERS: usize = 600;

/// A section of a context.
#[derive(Debug, Clone, Default)]
pub(super) struct Section {
    /// Its text before the line about left-out entries; empty if there is no section.
    pub(super) text: String,
    /// Its whole text.
    pub(super) rendered: String,
    /// The left-out entries.
    pub(super) left_out: LeftOut,
    /// Its text after that line.
    pub(super) tail: String,
    /// The entries that it shows, in order.
    pub(super) shown: Vec<Id>,
}

/// The entries for which a section has no room.
#[derive(Debug, Clone, Default)]
pub(super) struct LeftOut {
    /// The ids that are known.
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

    /// Says how many entries were left out, `n` more than are known, without ids; nothing if there are none.
    pub(super) fn brief(&self, n: usize) -> String {
        let n_all = self.ids.len() + self.n_unknown + n;
        if n_all == 0 { String::new() } else { self.line(0, n_all) }
    }

    /// Lists what was left out, by id if there is room.
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
        Section { left_out, ..Section::default() }
    }

    /// Returns its whole text, which fits into `room` if the text without the line does.
    pub(super) fn render(&self, room: Budget) -> String {
        if self.text.is_empty() {
            return String::new();
        }
        let with = |line: &str| format!("{}{line}{}", self.text, self.tail);
        with(&self.left_out.longest(|line| room.fits(&with(line))))
    }

    /// Returns the section with its whole text.
    pub(super) fn rendered(mut self, room: Budget) -> Section {
        self.rendered = self.render(room);
        self
    }
}

/// The form of an entry in a section.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) id: Id,
    pub(super) text: String,
    /// Its place among the others in the text.
    pub(super) place: usize,
}

/// Returns the section with the blocks that fit below `head`, at most `most`, in order of priority. A block that does
/// not fit is skipped; the best of these is cut to the rest of the room if that is worth it. `cut` takes the index of a
/// block and returns a version that fits.
pub(super) fn pack(
    head: &str,
    blocks: Vec<Block>,
    most: usize,
    room: Budget,
    mut left_out: LeftOut,
    cut: impl Fn(usize, Budget) -> Option<String>,
) -> Section {
    let whole = blocks.iter().fold(head.to_owned(), |text, block| text + &block.text);
    let n_blocks = blocks.len();
    let has_room_for_all = n_blocks <= most && room.fits(&format!("{whole}{}", left_out.brief(0)));
    let mut text = head.to_owned();
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    for (index, block) in blocks.into_iter().enumerate() {
        // Room for the list of left-out entries is kept as long as there may be one.
        let line = left_out.brief(left.len() + n_blocks - index - 1);
        let fits = || room.fits(&format!("{text}{}{line}", block.text));
        if has_room_for_all || taken.len() < most && fits() {
            text.push_str(&block.text);
            taken.push(block);
        } else {
            left.push((index, block));
        }
    }
    let line = left_out.brief(left.len().saturating_sub(1));
    let rest = room.beside(room.cost(&format!("{text}{line}")));
    if taken.is_empty() || taken.len() < most && rest.is_worth_a_cut() {
        let found = left.iter().enumerate().find_map(|(at, (index, _))| Some((at, cut(*index, rest)?)));
        taken.extend(found.map(|(at, text)| Block { text, ..left.remove(at).1 }));
    }
    left_out.ids.extend(left.into_iter().map(|(_, block)| block.id));
    if taken.is_empty() {
        return Section::none(left_out);
    }
    taken.sort_by_key(|block| block.place);
    let text = taken.iter().fold(head.to_owned(), |text, block| text + &block.text);
    Section { text, shown: taken.into_iter().map(|block| block.id).collect(), ..Section::none(left_out) }
}

/// Returns the section with the entries that fit below `head`, at most `most`, as `write` writes them with a body of at
/// most `body_words` words.
pub(super) fn pack_references(
    head: &str,
    references: &[&Reference],
    most: usize,
    (room, body_words): (Budget, usize),
    left_out: LeftOut,
    write: impl Fn(&Reference, &str) -> String,
) -> Section {
    let whole = |(place, reference): (usize, &&Reference)| {
        let body = escape::cut_to_words(&reference.body, body_words);
        Block { id: reference.id.clone(), text: write(reference, &body), place }
    };
    let cut = |index: usize, room: Budget| {
        let text = |body: &str| write(references[index], body);
        let fits = |body: &str| escape::has_at_most(body, body_words) && room.fits(&text(body));
        body::cut(&references[index].body, &fits).map(|body| text(&body))
    };
    pack(head, references.iter().enumerate().map(whole).collect(), most, room, left_out, cut)
}

/// Returns the first of each group of texts that say nearly the same, and the others, each with the first. Only texts of which
/// `are_of_one` holds are compared.
pub(super) fn folded<T>(
    entries: Vec<&T>,
    wording: impl Fn(&T) -> Wording,
    are_of_one: impl Fn(&T, &T) -> bool,
) -> (Vec<&T>, Vec<(&T, &T)>) {
    let mut first: Vec<(&T, Wording)> = Vec::new();
    let mut similar: Vec<(&T, &T)> = Vec::new();
    for entry in entries {
        let own = wording(entry);
        match first.iter().find(|(other, words)| are_of_one(other, entry) && words.is_near(&own)) {
            Some((other, _)) => similar.push((*other, entry)),
            None => first.push((entry, own)),
        }
    }
    (first.into_iter().map(|(entry, _)| entry).collect(), similar)
}

/// Says how many similar ones an entry stands for.
pub(super) fn and_similar(n: usize) -> String {
    if n == 0 { String::new() } else { format!(", and {n} similar") }
}

/// Names the entries that contradict one.
pub(super) fn contradicting(reference: &Reference) -> String {
    let others: Vec<String> = reference.contradicts.iter().map(|id| escape::code(id.as_str(), ID_CHARACTERS)).collect();
    if others.is_empty() { String::new() } else { format!(", contradicting {}", others.join(", ")) }
}

/// Returns those `entries` whose id is new, and remembers the ids.
pub(super) fn unseen<'a, T>(entries: &'a [T], id: impl Fn(&T) -> &Id, seen: &HashSet<&Id>) -> Vec<&'a T> {
    let mut own = HashSet::new();
    entries.iter().filter(|entry| !seen.contains(id(entry)) && own.insert(id(entry).clone())).collect()
}
