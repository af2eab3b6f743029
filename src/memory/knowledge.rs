//! Writing knowledge: the public methods of [`crate::knowledge`], each followed by the vectors of what it wrote.

use super::Memory;
use crate::entry::knowledge::Knowledge;
use crate::entry::{Event, Id, Scope, Source};
use crate::error::Result;
use crate::knowledge::{
    self, AddAction, Added, Edited, EntryDraft, EntryText, Promoted, Renamed, Restored, Superseded,
};

impl Memory {
    /// Adds knowledge: as a new entry, or to the one that says the same.
    ///
    /// An entry says the same when its scope and the title that its writer gave it are equal, or when the new body says
    /// what it said (see `crate::dedup`). It then gets the new title, body, tags and other
    /// keys, and its old version goes to the archive first. Anything else is a new entry, and the answer names those
    /// that are like it.
    ///
    /// An event, which is knowledge of one of [these categories](crate::entry::knowledge::EVENTS), is never updated: one
    /// that is known already is left as it is, and any other becomes a file of its own below `knowledge/events/`.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory};
    /// use ralph_memory::memory::AddAction;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// let memory = Memory::open(root)?;
    /// let knowledge = Knowledge::new("WAL mode", ["sqlite"], "Use `PRAGMA journal_mode = WAL`.");
    /// let added = memory.add(&knowledge)?;
    /// assert_eq!((added.action, added.path.as_str()), (AddAction::Created, ".ralph/knowledge/wal-mode.md"));
    /// assert_eq!(memory.add(&knowledge)?.action, AddAction::Unchanged);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// * [`Error::Invalid`](crate::Error::Invalid) where title, tags or body are missing, or where an agent's knowledge
    ///   has characters that no reader sees.
    /// * [`Error::Secret`](crate::Error::Secret) where something looks like a secret that neither
    ///   [`Memory::allow_secrets`] nor the settings allow.
    /// * [`Error::Locked`](crate::Error::Locked) where another process kept writing,
    ///   [`Error::Conflict`](crate::Error::Conflict) where an editor did.
    /// * [`Error::Uneditable`](crate::Error::Uneditable) where the entry's frontmatter cannot be edited without harm.
    /// * [`Error::Io`](crate::Error::Io).
    pub fn add(&self, knowledge: &Knowledge) -> Result<Added> {
        let _operation = self.operation("add");
        let mut added = knowledge::add(&self.workspace, knowledge)?;
        if added.action != AddAction::Unchanged {
            added.problems.extend(self.semantic.embed_written(&self.workspace, &[added.path.as_relative().to_owned()]));
        }
        Ok(added)
    }

    /// Adds an event: as a file of its own, unless a live one of the same scope and category says the same in the same
    /// words.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) where it is not an event or its summary is empty or over
    /// [`MAX_SUMMARY`](crate::entry::MAX_SUMMARY), and those of [`Memory::add`].
    pub fn note(&self, event: &Event) -> Result<Added> {
        let _operation = self.operation("note");
        self.add(&event.to_knowledge()?)
    }

    /// Writes into the entry `new` that it replaces the entry `old`, as a person. Searches and contexts then leave `old`
    /// out unless it is asked for.
    ///
    /// Where an agent wrote `new` and a person `old`, this confirms what the agent suggests: `new` becomes the person's
    /// entry, with `source: human`.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchEntry`](crate::Error::NoSuchEntry), [`Error::AlreadyArchived`](crate::Error::AlreadyArchived),
    /// [`Error::Invalid`](crate::Error::Invalid) where both are the same, `new` is not knowledge or would replace other
    /// entries of people as well, or one is the old id of several entries, [`Error::Locked`](crate::Error::Locked),
    /// [`Error::Conflict`](crate::Error::Conflict), [`Error::Uneditable`](crate::Error::Uneditable) and
    /// [`Error::Io`](crate::Error::Io), as for [`Memory::add`].
    pub fn supersede(&self, old: &Id, new: &Id) -> Result<Superseded> {
        let _operation = self.operation("supersede");
        knowledge::supersede(&self.workspace, old, new, Source::Human)
    }

    /// Does what [`Memory::supersede`] does, as an agent: where a person wrote `old`, it is a suggestion, and changes
    /// nothing until a person confirms it.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::supersede`], and [`Error::Invalid`](crate::Error::Invalid) where a person wrote `new`.
    pub fn suggest_superseding(&self, old: &Id, new: &Id) -> Result<Superseded> {
        let _operation = self.operation("supersede");
        knowledge::supersede(&self.workspace, old, new, Source::Agent)
    }

    /// Gives a knowledge entry another title, and its file the name that goes with it. Links to the entry follow: `[[id]]`
    /// and `[[Title]]` in the bodies of live entries, and ids in `supersedes`. Its archived versions are renamed, too. It
    /// keeps its old id and title in `aliases`, so contexts in the journal still count for it, and links of other branches
    /// still lead to it.
    ///
    /// A call that was cut off can be repeated, with the old id or the new one.
    ///
    /// # Errors
    ///
    /// * [`Error::TitleTaken`](crate::Error::TitleTaken) where another entry of the scope has the title.
    /// * [`Error::Invalid`](crate::Error::Invalid) where the title is empty, too long or has characters that no reader
    ///   sees, the entry is not knowledge, or the id is the old one of several entries, and
    ///   [`Error::Secret`](crate::Error::Secret) where the title looks like one.
    /// * [`Error::NoSuchEntry`](crate::Error::NoSuchEntry), [`Error::AlreadyArchived`](crate::Error::AlreadyArchived),
    ///   [`Error::Uneditable`](crate::Error::Uneditable),
    ///   [`Error::Conflict`](crate::Error::Conflict), [`Error::Locked`](crate::Error::Locked) and
    ///   [`Error::Io`](crate::Error::Io). Links that were changed before stay so.
    pub fn rename(&self, id: &Id, title: &str) -> Result<Renamed> {
        let _operation = self.operation("rename");
        let mut renamed = knowledge::rename(&self.workspace, id, title)?;
        if renamed.changed {
            let written = [renamed.path.as_relative().to_owned()];
            renamed.problems.extend(self.semantic.embed_written(&self.workspace, &written));
        }
        Ok(renamed)
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

    /// Replaces the whole text of an entry by that of an editor; the old version goes to the archive first. The file keeps
    /// its name. `updated_at` gets the time, unless the editor changed it.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidEdit`](crate::Error::InvalidEdit) with the problems of the new text: errors, secrets, warnings of
    ///   a kind that the old text does not have, the title of another entry, and entries that replace each other.
    /// * [`Error::Conflict`](crate::Error::Conflict) where the entry is not `old` any more,
    ///   [`Error::Locked`](crate::Error::Locked) and [`Error::Io`](crate::Error::Io).
    pub fn edit(&self, old: &EntryText, new: &str) -> Result<Edited> {
        let _operation = self.operation("edit");
        let mut edited = knowledge::edit(&self.workspace, old, new)?;
        if edited.archived.is_some() {
            let written = [edited.path.as_relative().to_owned()];
            edited.problems.extend(self.semantic.embed_written(&self.workspace, &written));
        }
        Ok(edited)
    }

    /// Opens the copy of an entry that a person changes in an editor, in `state/`: one that an earlier call left, also under
    /// an old name of the entry, or a new one. See [`EntryDraft`].
    ///
    /// # Errors
    ///
    /// [`Error::Locked`](crate::Error::Locked) where it is open already, and [`Error::Io`](crate::Error::Io).
    pub fn draft<'a>(&'a self, entry: &'a EntryText) -> Result<EntryDraft<'a>> {
        knowledge::draft(&self.workspace, entry)
    }

    /// Restores an archived entry. The id of a live entry that has archived versions stands for the newest version. A
    /// live entry in the place of the archived one changes places with it.
    ///
    /// # Errors
    ///
    /// [`Error::NotArchived`](crate::Error::NotArchived) where the archive has no version of a live entry,
    /// [`Error::NoSuchEntry`](crate::Error::NoSuchEntry) where there is no such entry at all,
    /// [`Error::Invalid`](crate::Error::Invalid) where the id is the old one of several, [`Error::Locked`](crate::Error::Locked) and [`Error::Io`](crate::Error::Io).
    pub fn restore(&self, id: &Id) -> Result<Restored> {
        let _operation = self.operation("restore");
        knowledge::restore(&self.workspace, id)
    }

    /// Changes whom an entry concerns, such as the project instead of one task.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) where the scope is unknown, the entry is not knowledge, or the id is the
    /// old one of several, [`Error::Secret`](crate::Error::Secret) where the scope looks like one,
    /// [`Error::NoSuchEntry`](crate::Error::NoSuchEntry), [`Error::AlreadyArchived`](crate::Error::AlreadyArchived),
    /// [`Error::Locked`](crate::Error::Locked),
    /// [`Error::Conflict`](crate::Error::Conflict), [`Error::Uneditable`](crate::Error::Uneditable) and
    /// [`Error::Io`](crate::Error::Io), as for [`Memory::add`].
    pub fn promote(&self, id: &Id, scope: &Scope) -> Result<Promoted> {
        let _operation = self.operation("promote");
        knowledge::promote(&self.workspace, id, scope)
    }
}
