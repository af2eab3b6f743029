//! Superseding: an entry records that it replaces another one.

use serde::Serialize;

use super::write::{edited, write_entry};
use crate::catalog::Catalog;
use crate::entry::edit::Change;
use crate::entry::path::EntryPath;
use crate::entry::{Id, Kind, Source};
use crate::error::{Error, Problem, Result};
use crate::retrieve::replacements;
use crate::store::Lock;
use crate::workspace::{Workspace, live_entry};

/// How many entries a refusal names.
const MAX_NAMED: usize = 3;

/// The result of [`Memory::supersede`](crate::Memory::supersede).
///
/// ```
/// use ralph_memory::{Knowledge, Memory, Query};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let old = memory.add(&Knowledge::new("Python 3.9 is the oldest", ["python"], "Test with 3.9."))?.id;
/// let new = memory.add(&Knowledge::new("Python 3.11 is the oldest", ["python"], "3.9 is not tested any more."))?.id;
/// assert!(memory.supersede(&old, &new)?.changed);
/// let found = memory.search(&Query { text: "oldest python".into(), ..Query::default() }, 9)?;
/// assert_eq!(found.hits.iter().map(|hit| &hit.entry.id).collect::<Vec<_>>(), [&new]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Superseded {
    /// The entry that replaces the other one.
    pub id: Id,
    /// The entry that is replaced.
    pub replaced: Id,
    /// Whether anything had to be written.
    pub changed: bool,
    /// Whether this is a suggestion, which changes nothing until a person confirms it.
    pub suggested: bool,
    /// Problems on the way that a person should see.
    pub problems: Vec<Problem>,
}

/// Records in the entry `new` that it replaces the entry `old`. By an agent, this is a suggestion where a person wrote
/// `old`; by a person, it confirms one.
pub(crate) fn supersede(workspace: &Workspace, old: &Id, new: &Id, by: Source) -> Result<Superseded> {
    if new.kind() != Kind::Knowledge {
        return Err(Error::invalid("NEW", "a journal entry never changes; name a knowledge entry"));
    }
    let lock = workspace.lock_entries()?;
    let (mut superseded, git_problem) =
        write_entry(workspace, &lock, |catalog| mark_superseded(workspace, &lock, catalog, (old, new), by))?;
    superseded.problems.extend(git_problem);
    Ok(superseded)
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

/// Also returns the path that was written; `None` if the entry has that record already.
fn mark_superseded(
    workspace: &Workspace,
    lock: &Lock,
    catalog: &Catalog,
    (old, new): (&Id, &Id),
    by: Source,
) -> Result<(Superseded, Option<EntryPath>)> {
    let (row, new) = live_entry(workspace, catalog, new)?;
    let (old_row, old) = live_entry(workspace, catalog, old)?;
    if old == new {
        return Err(Error::invalid("NEW", "an entry cannot replace itself"));
    }
    let path = catalog.path(row);
    let (text, entry) = workspace.read_entry(&path)?;
    if !by.is_person() && entry.head.source.is_person() {
        let reason = format!("`{new}` is an entry of a person, which no agent changes; add one that replaces `{old}`");
        return Err(Error::invalid("NEW", reason));
    }
    let mut changes = Vec::new();
    if !entry.head.supersedes.contains(&old) {
        changes.push(Change::AddItems("supersedes", vec![old.to_string()]));
    }
    let of_agent_for_person = !entry.head.source.is_person() && catalog.head(old_row).source.is_person();
    if of_agent_for_person && by.is_person() {
        refuse_others(workspace, catalog, &old, &new)?;
        changes.push(Change::Set("source", Source::Human.as_str().into()));
    }
    let suggested = of_agent_for_person && !by.is_person();
    let superseded =
        Superseded { id: new, replaced: old, changed: !changes.is_empty(), suggested, problems: Vec::new() };
    if changes.is_empty() {
        return Ok((superseded, None));
    }
    refuse_circle(workspace, catalog, &superseded.id, std::slice::from_ref(&superseded.replaced))?;
    let edited = edited(&path, &text, &changes, false)?;
    let problems = workspace.replace(lock, &path, &text, &edited)?;
    Ok((Superseded { problems, ..superseded }, Some(EntryPath::new(&path))))
}

/// Refuses to confirm that `new` replaces `old`, if that would hide other entries of people as well.
fn refuse_others(workspace: &Workspace, catalog: &Catalog, old: &Id, new: &Id) -> Result<()> {
    let suggested = replacements(&[catalog], workspace.now()).suggested;
    let others: Vec<&Id> =
        suggested.iter().filter(|(by, other)| by == new && other != old).map(|(_, other)| other).collect();
    if others.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = others.iter().take(MAX_NAMED).map(|id| format!("`{id}`")).collect();
    let more =
        if others.len() > named.len() { format!(" and {} more", others.len() - named.len()) } else { String::new() };
    let named = named.join(", ");
    let reason =
        format!("`{new}`, by an agent, would also replace {named}{more}; remove those ids from its `supersedes` first");
    Err(Error::invalid("NEW", reason))
}
