//! Superseding: an entry records that it replaces another one.

use crate::entry::edit::Change;
use crate::entry::knowledge::is_proposed;
use crate::entry::{Entry, Id, Source};
use crate::error::{Error, Result};
use crate::index::catalog::Catalog;
use crate::search::retrieve::replacements;
use crate::workspace::{Workspace, live_entry};

/// How many entries a refusal names.
const MAX_NAMED: usize = 3;

/// Adds the changes by which an entry records what it replaces, and returns which of that is a suggestion. By an agent, it is
/// one where a person wrote the old entry; by a person, it confirms one. What a person confirms becomes the person's.
pub(super) fn plan(
    workspace: &Workspace,
    catalog: &Catalog,
    (id, entry): (&Id, &Entry),
    (replaced, confirm): (&[Id], bool),
    changes: &mut Vec<Change>,
) -> Result<Vec<Id>> {
    let by = &workspace.store.author;
    let (mut new, mut suggested, mut confirmed) = (Vec::new(), Vec::new(), Vec::new());
    for old in replaced {
        let (row, old) = live_entry(workspace, catalog, old)?;
        if old == *id {
            return Err(Error::invalid("supersedes", "an entry cannot replace itself"));
        }
        if !entry.head.source.is_person() && catalog.head(row).source.is_person() {
            if by.is_person() { &mut confirmed } else { &mut suggested }.push(old.clone());
        }
        if !entry.head.supersedes.contains(&old) && !new.contains(&old) {
            new.push(old);
        }
    }
    if confirm && by.is_person() && !entry.head.source.is_person() || !confirmed.is_empty() {
        refuse_others(workspace, catalog, id, &confirmed)?;
        changes.push(Change::Set("source", Source::Human.as_str().into()));
        changes.extend(is_proposed(&entry.head).then_some(Change::Remove("status")));
    }
    refuse_circle(workspace, catalog, id, &new)?;
    if !new.is_empty() {
        changes.push(Change::AddItems("supersedes", new.iter().map(Id::to_string).collect()));
    }
    Ok(suggested)
}

/// Refuses that the entry `new` replaces one of the `old` ones, if that one replaces `new`, itself or through others:
/// nobody would know which of them holds.
pub(super) fn refuse_circle(workspace: &Workspace, catalog: &Catalog, new: &Id, old: &[Id]) -> Result<()> {
    if old.contains(new) {
        return Err(Error::invalid("supersedes", format!("`{new}` cannot replace itself")));
    }
    if old.is_empty() {
        return Ok(());
    }
    let pairs = replacements(&[catalog], workspace.now()).counted;
    for old in old {
        let mut reached = vec![old];
        let mut at = 0;
        while let Some(replacing) = reached.get(at).copied() {
            for (_, replaced) in pairs.iter().filter(|(id, _)| id == replacing) {
                if replaced == new {
                    let (new, old, link) = (new.to_string(), old.to_string(), replacing.to_string());
                    return Err(Error::SupersedesCycle { new, old, link });
                }
                if !reached.contains(&replaced) {
                    reached.push(replaced);
                }
            }
            at += 1;
        }
    }
    Ok(())
}

/// Refuses to confirm that `new` replaces the `old` ones, if that would hide other entries of people as well.
fn refuse_others(workspace: &Workspace, catalog: &Catalog, new: &Id, old: &[Id]) -> Result<()> {
    let suggested = replacements(&[catalog], workspace.now()).suggested;
    let others = suggested.iter().filter(|(by, other)| by == new && !old.contains(other));
    let others: Vec<String> = others.map(|(_, other)| format!("`{other}`")).collect();
    if others.is_empty() {
        return Ok(());
    }
    let (named, more) = others.split_at(others.len().min(MAX_NAMED));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    let named = named.join(", ");
    let reason =
        format!("`{new}`, by an agent, would also replace {named}{more}; remove those ids from its `supersedes` first");
    Err(Error::invalid("ID", reason))
}
