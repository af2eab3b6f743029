//! The changes that an entry's keys allow, and the edits of its file that they need.

use super::author::permit;
use super::supersede;
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::{Knowledge, timestamp};
use crate::entry::{Entry, Id, Scope, Source, imported};
use crate::error::{Error, Result};
use crate::index::catalog::Catalog;
use crate::workspace::Workspace;

/// What [`Memory::change`](crate::Memory::change) changes of an entry. What is left out stays as it is.
///
/// ```
/// use ralph_memory::memory::{EntryChanges, WriteAction};
/// use ralph_memory::{Knowledge, Memory, Query, Scope};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let old = memory.add(&Knowledge::new("Python 3.9 is the oldest", ["python"], "Test with 3.9."))?.id;
/// let new = memory.add(&Knowledge::new("Python 3.11 is the oldest", ["python"], "3.9 is not tested any more."))?.id;
/// let changes = EntryChanges { scope: Some(Scope::Feature("ci".into())), ..EntryChanges::superseding([old]) };
/// assert_eq!(memory.change(&new, &changes)?.action, WriteAction::Updated);
/// assert_eq!(memory.change(&new, &changes)?.action, WriteAction::Unchanged);
/// let found = memory.search(&Query { text: "oldest python".into(), ..Query::default() }, 9)?;
/// assert_eq!(found.hits.iter().map(|hit| &hit.entry.id).collect::<Vec<_>>(), [&new]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryChanges {
    /// Its new title. The file gets the name that goes with it, and the old id and title become aliases.
    pub title: Option<String>,
    /// Whom it concerns from now on.
    pub scope: Option<Scope>,
    /// Its new tags, at least one, instead of those that it has.
    pub tags: Option<Vec<String>>,
    /// Entries that it replaces, beside those that it names already.
    pub supersedes: Vec<Id>,
    /// Whether it still holds as it is. It then counts as written now, and as a person's if one says so.
    pub confirm: bool,
}

impl EntryChanges {
    /// Returns the change that gives an entry another title.
    pub fn titled(title: impl Into<String>) -> EntryChanges {
        EntryChanges { title: Some(title.into()), ..EntryChanges::default() }
    }

    /// Returns the change by which an entry replaces others.
    pub fn superseding(old: impl IntoIterator<Item = Id>) -> EntryChanges {
        EntryChanges { supersedes: old.into_iter().collect(), ..EntryChanges::default() }
    }

    /// Returns the same changes in their written form, if an entry may have them.
    pub(super) fn checked(&self, workspace: &Workspace) -> Result<EntryChanges> {
        if self.tags.as_ref().is_some_and(|tags| tags.iter().all(|tag| tag.trim().is_empty())) {
            return Err(Error::invalid("tags", "an entry needs at least one tag"));
        }
        let knowledge = Knowledge {
            scope: self.scope.clone().unwrap_or(Scope::Project),
            // Whoever gives a title: it becomes the text of links.
            source: Source::Agent,
            ..Knowledge::new(
                self.title.as_deref().unwrap_or("Title"),
                self.tags.clone().unwrap_or_else(|| vec!["tag".to_owned()]),
                "Body.",
            )
        };
        let Knowledge { title, tags, scope, .. } = knowledge.normalised()?;
        workspace.refuse_secrets(&knowledge)?;
        Workspace::refuse_invisible(&knowledge)?;
        Ok(EntryChanges {
            title: self.title.is_some().then_some(title),
            scope: self.scope.is_some().then_some(scope),
            tags: self.tags.is_some().then_some(tags),
            ..self.clone()
        })
    }

    /// Returns the changes of an entry's file besides those of its title, and what it replaces once a person confirms it.
    pub(super) fn planned(
        &self,
        workspace: &Workspace,
        catalog: &Catalog,
        id: &Id,
        (text, entry): (&str, &Entry),
    ) -> Result<(Vec<Change>, Vec<Id>)> {
        permit(&workspace.store.author, "change", (id, &entry.head))?;
        let mut changes = Vec::new();
        match &self.scope {
            Some(scope) if *scope == entry.head.scope => {}
            Some(Scope::Project) => changes.push(Change::Remove("scope")),
            Some(scope) => changes.push(Change::Set("scope", scope.to_string().into())),
            None => {}
        }
        if !changes.is_empty() || self.confirm {
            changes.push(Change::Set(edit::updated_key(text), timestamp(workspace.now()).into()));
        }
        // They are how the entry is found, and not what it says.
        if let Some(tags) = self.tags.as_ref().filter(|tags| **tags != entry.head.tags) {
            changes.push(Change::Set("tags", tags.clone().into()));
        }
        if self.confirm && workspace.store.author.is_person() {
            changes.extend(imported::confirmed(text));
        }
        let suggested =
            supersede::plan(workspace, catalog, (id, entry), (&self.supersedes, self.confirm), &mut changes)?;
        Ok((changes, suggested))
    }
}
