//! Tags for knowledge whose writer gave none: from its title, and from the entries that are nearest to it.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::entry::Head;
use crate::entry::knowledge::Knowledge;
use crate::error::{Error, Result};
use crate::index::catalog::Catalog;
use crate::knowledge::dedup::content_words;
use crate::text::{is_negation, words};
use crate::workspace::Workspace;

/// How many tags an entry gets at most.
const MAX_TAGS: usize = 4;
/// How many entries count as near.
const MAX_NEAR: usize = 3;

/// Returns tags for this knowledge: those of the nearest entries that its text names or that two of them share, then
/// words of its title.
///
/// # Errors
///
/// [`Error::Invalid`] if there is no word in the title either.
pub(super) fn derived(workspace: &Workspace, catalog: &Catalog, knowledge: &Knowledge) -> Result<Vec<String>> {
    let rows = catalog.knowledge_rows().filter(|row| catalog.is_indexable(*row) && !catalog.is_event(*row));
    let heads = rows.map(|row| catalog.head(row)).filter(|head| workspace.shows(head));
    let tags = tags_of(&knowledge.title, &knowledge.body, heads);
    if tags.is_empty() {
        return Err(Error::invalid("tags", "the title has no word that could be one: give some (`--tags`)"));
    }
    // In the form in which tags are written.
    Ok(Knowledge { tags, ..knowledge.clone() }.normalised()?.tags)
}

fn tags_of(title: &str, body: &str, heads: impl Iterator<Item = Head>) -> Vec<String> {
    let about = content_words(title);
    let said: HashSet<String> = words(title).into_iter().chain(words(body)).collect();
    let is_said = |tag: &String| words(tag).iter().all(|word| said.contains(word));
    let points = |head: &Head| {
        let n_shared = content_words(&head.title).intersection(&about).count();
        2 * n_shared + head.tags.iter().filter(|tag| is_said(tag)).count()
    };
    let mut near: Vec<(usize, Head)> = Vec::new();
    for head in heads {
        let points = points(&head);
        if points > 0 {
            near.push((points, head));
            // The earlier of two that are as near.
            near.sort_by_key(|(points, _)| Reverse(*points));
            near.truncate(MAX_NEAR);
        }
    }
    let of_near: Vec<&String> = near.iter().flat_map(|(_, head)| &head.tags).collect();
    let is_shared = |tag: &String| of_near.iter().filter(|other| **other == tag).count() > 1;
    let of_title = words(title)
        .into_iter()
        .filter(|word| !is_negation(word) && !content_words(word).is_empty() && names_something(word));
    let of_title: Vec<String> = of_title.collect();
    let mut tags: Vec<String> = Vec::new();
    let chosen = of_near.iter().copied().filter(|tag| is_said(tag) || is_shared(tag)).chain(&of_title);
    for tag in chosen {
        if tags.len() < MAX_TAGS && tags.iter().all(|known| content_words(known) != content_words(tag)) {
            tags.push(tag.clone());
        }
    }
    // A title of nothing but common words.
    if tags.is_empty() { words(title).into_iter().take(1).collect() } else { tags }
}

/// Returns whether a word can be a tag of its own: no number and no single letter.
fn names_something(word: &str) -> bool {
    word.chars().nth(1).is_some() && word.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Kind;

    #[test]
    fn tags_come_from_the_nearest_entries_and_the_title() {
        let head = |title: &str, tags: &[&str]| Head {
            title: title.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..Head::empty(Kind::Knowledge)
        };
        let known = [
            head("WAL mode", &["sqlite", "wal", "locks"]),
            head("WAL files grow", &["sqlite", "locks"]),
            head("Fonts", &["ui"]),
            head("Locks are kept", &["rust"]),
        ];
        let check = |title: &str, body: &str, expected: &[&str]| {
            assert_eq!(tags_of(title, body, known.iter().cloned()), expected, "{title}: {body}");
        };
        check("Checkpoints of the WAL", "Run them at night.", &["sqlite", "wal", "locks", "checkpoints"]);
        check("Checkpoints", "Those of sqlite.", &["sqlite", "locks", "checkpoints"]);
        check("Never deploy on Fridays", "Ask first.", &["deploy", "fridays"]);
        check("How it is", "So.", &["how"]);
        check("Uses 2 keys of x", "So.", &["keys"]);
        check("…", "So.", &[]);
    }
}
