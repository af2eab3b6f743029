//! `## Learnings from Previous Iterations`: the best learnings from other tasks of the project.

use std::collections::HashSet;

use super::section::{LeftOut, Section, and_similar, contradicting, folded, pack_references, unseen};
use super::{Budget, escape, own_title};
use crate::context::Reference;
use crate::entry::body::TRUNCATED;
use crate::text::Wording;

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
    let mut left_out = LeftOut::new(MAX_NAMED, "`ralph-memory search QUERY` finds them");
    let learnings = unseen(learnings, |learning| &learning.id, &HashSet::new());
    let wording = |learning: &Reference| Wording::of(&format!("{}\n{}", learning.title, learning.body));
    let (first, similar) = folded(learnings, wording, |one, other| one.category == other.category);
    left_out.ids.extend(similar.iter().map(|(_, learning)| learning.id.clone()));
    let write = |learning: &Reference, body: &str| {
        bullet(learning, body, similar.iter().filter(|(first, _)| first.id == learning.id).count())
    };
    pack_references(HEADING, &first, MOST, (room, body_words), left_out, write)
}

/// Writes one learning: its title and id, its first paragraph on the same line, the rest in a fence. A title that was
/// cut from the body is left out. It stands for `n_similar` others.
fn bullet(learning: &Reference, body: &str, n_similar: usize) -> String {
    let category = escape::short(learning.category.as_deref().unwrap_or("other"), NAME_CHARACTERS);
    let unverified = learning.unverified.as_ref().map(|stale| format!(" ({})", escape::doubt(stale)));
    let id = escape::code(learning.id.as_str(), ID_CHARACTERS) + &contradicting(learning) + &and_similar(n_similar);
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
