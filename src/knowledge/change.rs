//! Changing an entry by its keys: its title, its scope, its tags and what it replaces.

use super::entry_changes::EntryChanges;
use super::rename::rename;
use super::write::{edited, refuse_attempt, write_entry};
use super::written::{WriteAction, Written};
use crate::entry::Id;
use crate::error::Result;
use crate::open::Memory;
use crate::workspace::live_entry;

impl Memory {
    /// Changes the title, the scope or the tags of a knowledge entry, or what it replaces, all at once.
    ///
    /// With another title, the file gets the name that goes with it. The entry keeps its old id and title in `aliases`, so
    /// links and `supersedes` of other entries, and contexts in the journal, still lead to it. A call that was cut off can be
    /// repeated, with the old id or the new one.
    ///
    /// Searches and contexts leave out what is replaced unless it is asked for. If an agent replaces what a person
    /// wrote, this is a suggestion, and changes nothing until a person does the same: then the entry becomes the
    /// person's, with `source: human`.
    ///
    /// ```
    /// use ralph_memory::memory::EntryChanges;
    /// use ralph_memory::{Knowledge, Memory};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let id = memory.add(&Knowledge::new("Cache", ["build"], "It is on the build host."))?.id;
    /// let changed = memory.change(&id, &EntryChanges::titled("Compiler cache"))?;
    /// assert_eq!(changed.id.as_str(), "knowledge/compiler-cache");
    /// assert_eq!(memory.show(&id)?.entry.summary.id, changed.id, "the old id still finds it");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// * [`Error::TitleTaken`](crate::Error::TitleTaken) where another entry of the scope has the title.
    /// * [`Error::Invalid`](crate::Error::Invalid) where the title is empty, too long or has characters that no reader
    ///   sees, the scope is unknown, there is no tag, the entry is not knowledge, would replace itself or, by an agent, is a
    ///   person's, or an id is the old one of several entries, and [`Error::Secret`](crate::Error::Secret) where something
    ///   looks like one.
    /// * [`Error::SupersedesCycle`](crate::Error::SupersedesCycle) where two entries would replace each other.
    /// * [`Error::NoSuchEntry`](crate::Error::NoSuchEntry), [`Error::AlreadyArchived`](crate::Error::AlreadyArchived),
    ///   [`Error::Uneditable`](crate::Error::Uneditable),
    ///   [`Error::Conflict`](crate::Error::Conflict), [`Error::Locked`](crate::Error::Locked) and
    ///   [`Error::Io`](crate::Error::Io). Links that were changed before stay so.
    pub fn change(&self, id: &Id, changes: &EntryChanges) -> Result<Written> {
        let _operation = self.operation("edit");
        let workspace = &self.workspace;
        let changes = changes.checked(workspace)?;
        refuse_attempt(id)?;
        let lock = workspace.lock_entries()?;
        if let Some(title) = &changes.title {
            let renamed = rename(workspace, &lock, id, title, &changes)?;
            drop(lock);
            return Ok(self.embedded(renamed));
        }
        let (mut written, git_problem) = write_entry(workspace, &lock, |catalog| {
            let (row, id) = live_entry(workspace, catalog, id)?;
            let path = catalog.path(row);
            let (text, entry) = workspace.read_entry(&path)?;
            let (changes, suggested) = changes.planned(workspace, catalog, &id, (&text, &entry))?;
            let mut written =
                Written { suggested, ..Written::new(WriteAction::Unchanged, id, entry.head.title, &path) };
            if changes.is_empty() {
                return Ok((written, None));
            }
            written.problems = workspace.replace(&lock, &path, &text, &edited(&path, &text, &changes, false)?)?;
            written.action = WriteAction::Updated;
            let path = written.path.clone();
            Ok((written, Some(path)))
        })?;
        written.problems.extend(git_problem);
        Ok(written)
    }
}
