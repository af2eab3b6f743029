//! Writing knowledge: the public methods of [`crate::knowledge`], each followed by the vectors of what it wrote.

use super::Memory;
use crate::entry::Id;
use crate::entry::knowledge::Knowledge;
use crate::error::Result;
use crate::knowledge::{self, EntryChanges, EntryText, EntryVersion, WriteAction, Written};
use crate::store::KeptText;

impl Memory {
    /// Adds knowledge: as a new entry, or to the one that says the same.
    ///
    /// An entry says the same if its scope and the title that its writer gave it are equal, or if the new body says
    /// what it said (see `crate::knowledge::dedup`). It then gets the new title, body, tags and other keys; the undo
    /// log has its old text. Anything else is a new entry, and the answer names similar ones. Without tags, a new entry
    /// gets some, from its title and from the entries nearest to it.
    ///
    /// An event, which is knowledge of one of [these categories](crate::entry::knowledge::EVENTS), is never updated: one
    /// that is known already is left as it is, and any other becomes a file of its own below `knowledge/events/`.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory};
    /// use ralph_memory::memory::WriteAction;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// let memory = Memory::open(root)?;
    /// let knowledge = Knowledge::new("WAL mode", ["sqlite"], "Use `PRAGMA journal_mode = WAL`.");
    /// let added = memory.add(&knowledge)?;
    /// assert_eq!((added.action, added.path.as_str()), (WriteAction::Created, ".ralph/knowledge/wal-mode.md"));
    /// assert_eq!(memory.add(&knowledge)?.action, WriteAction::Unchanged);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// * [`Error::Invalid`](crate::Error::Invalid) where title or body are missing, or where an agent's knowledge
    ///   has characters that no reader sees.
    /// * [`Error::Secret`](crate::Error::Secret) where something looks like a secret that neither
    ///   [`Memory::allow_secrets`] nor the settings allow.
    /// * [`Error::Locked`](crate::Error::Locked) where another process kept writing,
    ///   [`Error::Conflict`](crate::Error::Conflict) where an editor did.
    /// * [`Error::Uneditable`](crate::Error::Uneditable) where the entry's frontmatter cannot be edited without harm.
    /// * [`Error::Io`](crate::Error::Io).
    pub fn add(&self, knowledge: &Knowledge) -> Result<Written> {
        let _operation = self.operation("add");
        Ok(self.embedded(knowledge::add(&self.workspace, knowledge)?))
    }

    /// Makes the vector of an entry whose text was written, and returns the problems with the others.
    fn embedded(&self, mut written: Written) -> Written {
        if written.action != WriteAction::Unchanged {
            let path = written.path.as_relative().to_owned();
            written.problems.extend(self.semantic.embed_written(&self.workspace, &[path]));
        }
        written
    }

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
        let changed = knowledge::change(&self.workspace, id, changes)?;
        Ok(if changes.title.is_some() { self.embedded(changed) } else { changed })
    }

    /// Returns the text of a live knowledge entry, for an editor.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchEntry`](crate::Error::NoSuchEntry), [`Error::AlreadyArchived`](crate::Error::AlreadyArchived),
    /// [`Error::Invalid`](crate::Error::Invalid) where the entry is not knowledge or the id is the old one of several,
    /// [`Error::Uneditable`](crate::Error::Uneditable) where it is not UTF-8, and [`Error::Io`](crate::Error::Io).
    pub fn text(&self, id: &Id) -> Result<EntryText> {
        knowledge::text(&self.workspace, id)
    }

    /// Keeps the text of an entry in the undo log before an editor opens its file, so that no failure loses it. Remove what
    /// is returned once [`Memory::edited`] has reviewed the edit.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`](crate::Error::Locked) and [`Error::Io`](crate::Error::Io).
    pub fn keep_text(&self, old: &mut EntryText) -> Result<KeptText> {
        knowledge::keep_text(&self.workspace, old)
    }

    /// Reviews what an editor left in the file of an entry that was `old` when it was opened. A valid text stays, with the
    /// time of the change, and `undo` takes it back. With `restores`, an invalid one gives way to the old text, and `undo`
    /// brings it back; if another command changed the entry since, it stays.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidEdit`](crate::Error::InvalidEdit) with the problems of the new text: errors, secrets, warnings of
    ///   a kind that the old text does not have, the title of another entry, and entries that replace each other.
    /// * [`Error::Conflict`](crate::Error::Conflict) where the file is gone, and
    ///   [`Error::OutsideRoot`](crate::Error::OutsideRoot) where something else took its place: `undo` brings back the old
    ///   text once that place is free. [`Error::Locked`](crate::Error::Locked) and [`Error::Io`](crate::Error::Io).
    pub fn edited(&self, old: &EntryText, restores: bool) -> Result<Written> {
        let _operation = self.operation("edit");
        Ok(self.embedded(knowledge::edited(&self.workspace, old, restores)?))
    }

    /// Returns the earlier texts of a live entry that the undo log has, the newest first. The log keeps texts for a year, and
    /// at most 64 MiB of them.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchEntry`](crate::Error::NoSuchEntry), [`Error::AlreadyArchived`](crate::Error::AlreadyArchived),
    /// [`Error::Invalid`](crate::Error::Invalid) where the id is the old one of several, and
    /// [`Error::Io`](crate::Error::Io).
    pub fn versions(&self, id: &Id) -> Result<Vec<EntryVersion>> {
        knowledge::versions(&self.workspace, id)
    }

    /// Restores an archived entry, or gives a live one an earlier text again: the newest one, or the `version` of
    /// [`Memory::versions`]. An archived entry whose place a live one has gives that one its text. The entry keeps the
    /// names that it got since as aliases.
    ///
    /// # Errors
    ///
    /// [`Error::NoVersion`](crate::Error::NoVersion) where the undo log has no such text of a live entry,
    /// [`Error::NoSuchEntry`](crate::Error::NoSuchEntry) where there is no such entry at all,
    /// [`Error::Invalid`](crate::Error::Invalid) where the id is the old one of several,
    /// [`Error::Locked`](crate::Error::Locked) and [`Error::Io`](crate::Error::Io).
    pub fn restore(&self, id: &Id, version: Option<&str>) -> Result<Written> {
        let _operation = self.operation("restore");
        knowledge::restore(&self.workspace, id, version)
    }
}
