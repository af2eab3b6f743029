//! `## Learnings from Previous Iterations`: the best learnings from other tasks of the project.

use std::collections::HashSet;

use super::section::{LeftOut, Section, pack_references, unseen};
use super::{Budget, escape, own_title};
use crate::context::Reference;
use crate::entry::Id;
use crate::entry::body::TRUNCATED;
use crate::text::words;

/// How many are shown.
const MOST: usize = 5;
/// How many left-out learnings are listed.
const MAX_NAMED: usize = 5;
/// How much of an id is shown, in characters: all of it.
const ID_CHARACTERS: usize = 600;
/// How much of a category or a title is shown, in characters.
const NAME_CHARACTERS: usize = 120;

const HEADING: &str = "## Learnings from Previous Iterations\n\n";

/// Writes the section with the best of these, best first.
pub(super) fn section(learnings: &[Reference], room: Budget, body_words: usize) -> Section {
    let left_out = LeftOut::new(MAX_NAMED, "`ralph-memory search QUERY` finds them");
    let (distinct, represented) = distinct(unseen(learnings, |learning| &learning.id, &HashSet::new()));
    Section { represented, ..pack_references(HEADING, &distinct, MOST, (room, body_words), left_out, bullet) }
}

/// Returns the distinct learnings, and the ids of the others. Of two learnings of a category that share over four
/// fifths of their words, the newer one takes the position of the better one.
fn distinct(learnings: Vec<&Reference>) -> (Vec<&Reference>, Vec<Id>) {
    let mut kept: Vec<(&Reference, HashSet<String>)> = Vec::new();
    let mut duplicates = Vec::new();
    for learning in learnings {
        let own: HashSet<String> = words(&learning.body).into_iter().collect();
        let is_same = |(other, words): &(&Reference, HashSet<String>)| {
            other.category == learning.category && are_alike(&own, words)
        };
        let same: Vec<usize> = (0..kept.len()).filter(|index| is_same(&kept[*index])).collect();
        let is_newest = same.iter().all(|index| learning.recency > kept[*index].0.recency);
        match same.split_first() {
            None => kept.push((learning, own)),
            Some((first, others)) if is_newest => {
                duplicates.push(kept[*first].0.id.clone());
                kept[*first] = (learning, own);
                for index in others.iter().rev() {
                    duplicates.push(kept.remove(*index).0.id.clone());
                }
            }
            Some(_) => duplicates.push(learning.id.clone()),
        }
    }
    (kept.into_iter().map(|(learning, _)| learning).collect(), duplicates)
}

/// Returns whether each of the two contains over four fifths of the other's words.
fn are_alike(one: &HashSet<String>, other: &HashSet<String>) -> bool {
    let (fewer, more) = if one.len() < other.len() { (one, other) } else { (other, one) };
    // Most pairs differ so much in size that the words need not be compared.
    if fewer.len() * 5 <= more.len() * 4 {
        return false;
    }
    let n_shared = fewer.iter().filter(|word| more.contains(*word)).count();
    n_shared * 5 > (fewer.len() + more.len() - n_shared) * 4
}

/// Writes one learning: its title and id, its first paragraph on the same line, the rest in a fence. A title that was
/// cut from the body is left out.
fn bullet(learning: &Reference, body: &str) -> String {
    let category = escape::short(learning.category.as_deref().unwrap_or("other"), NAME_CHARACTERS);
    let unverified = learning.unverified.as_ref().map(|stale| format!(" ({})", escape::doubt(stale)));
    let id = escape::code(learning.id.as_str(), ID_CHARACTERS);
    let title = match own_title(&learning.title, &learning.body) {
        Some(title) => format!("{} ({id}):", escape::short(title, NAME_CHARACTERS)),
        None => format!("({id})"),
    };
    let category = format!("**[{category}]**{} {title}", unverified.unwrap_or_default());
    let own = body.strip_suffix(TRUNCATED).unwrap_or(body).trim_end();
    let (line, rest) = match escape::first_paragraph(own) {
        Some((paragraph, "")) if own.len() < body.len() => {
            return format!("- {category} {} {TRUNCATED}\n", escape::line(paragraph));
        }
        Some((paragraph, "")) => (escape::line(paragraph), ""),
        Some((paragraph, _)) => {
            // The mark of a cut belongs to the part that was cut.
            let (_, rest) = escape::first_paragraph(body).unwrap_or_default();
            (escape::line(paragraph), rest)
        }
        None => (String::new(), body),
    };
    let rest = if rest.trim().is_empty() { String::new() } else { escape::fence(rest, '`', "", "  ") };
    format!("{}\n{rest}", format!("- {category} {line}").trim_end())
}
