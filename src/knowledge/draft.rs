//! Drafts: the copies of entries that people change in an editor, in `state/drafts/`.
//!
//! A draft stays until its text is written or discarded, also after a kill. Beside it is the text that it was made from,
//! so what others change meanwhile is not overwritten. A lock says that its editor is open.

use std::path::{Path, PathBuf};

use super::edit::EntryText;
use crate::entry::path::display_path;
use crate::entry::{self, Id};
use crate::error::{Error, Result};
use crate::index::catalog::Area;
use crate::store::{NamedLock, Store, Unreadable, write_private};
use crate::workspace::Workspace;

/// The folder, below `state/`.
const DRAFTS: &str = "drafts";
/// The folders in it for the texts that the drafts were made from, and for the locks.
const BASES: &str = "drafts/bases";
const LOCKS: &str = "drafts/locks";
/// How many bytes of a draft are read. It may have more than an entry: then the person can still take something out.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The copy of an entry that a person changes in an editor. Only this user can read it. Nobody else edits the entry in
/// this way until it is dropped.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let id = memory.add(&Knowledge::new("Port of the proxy", ["proxy"], "It is 8443."))?.id;
/// let entry = memory.text(&id)?;
/// let draft = memory.draft(&entry)?;
/// draft.begin()?;
/// std::fs::write(draft.path(), entry.text.replace("8443", "9443"))?; // an editor
/// memory.edit(&entry, &draft.text()?)?;
/// draft.discard()?;
/// assert!(memory.show(&id)?.entry.body.contains("9443"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EntryDraft<'a> {
    store: &'a Store,
    entry: &'a EntryText,
    /// The name of its file.
    name: String,
    path: PathBuf,
    _lock: NamedLock,
}

/// Implements [`Memory::draft`](crate::Memory::draft).
pub(crate) fn draft<'a>(workspace: &'a Workspace, entry: &'a EntryText) -> Result<EntryDraft<'a>> {
    let store = &workspace.store;
    // Each id has a name of its own.
    let named = |id: &Id| {
        format!("{}.md", id.as_str().trim_start_matches("knowledge/").replace('%', "%25").replace('/', "%2F"))
    };
    let folder = store.state().join(DRAFTS);
    let lock = store.try_named_lock(&format!("state/{LOCKS}"), &named(&entry.id))?;
    let live = workspace.catalog(Area::Live);
    // The entry may have been renamed since.
    let head = entry::read(entry.path.as_relative(), entry.text.as_bytes()).head;
    let old = head.old_ids().filter(|id| live.row_of_id(id).is_none()).map(|id| named(&id));
    let is_there = |name: &String| !matches!(read(store, DRAFTS, name), Err(Unreadable::Missing));
    let name = named(&entry.id);
    let name = [name.clone()].into_iter().chain(old).find(is_there).unwrap_or(name);
    Ok(EntryDraft { store, entry, path: folder.join(&name), name, _lock: lock })
}

impl EntryDraft<'_> {
    /// Returns its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether an earlier call left a text that is not the one that it began with.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn is_kept(&self) -> Result<bool> {
        match read(self.store, DRAFTS, &self.name) {
            Ok(text) => Ok(!read(self.store, BASES, &self.name).is_ok_and(|base| base == text)),
            Err(Unreadable::Missing) => Ok(false),
            Err(unreadable @ Unreadable::Io(_)) => Err(unreadable.into_error(&self.path)),
            Err(_) => Ok(true),
        }
    }

    /// Returns whether its text is that of the entry.
    pub fn is_unchanged(&self) -> bool {
        read(self.store, DRAFTS, &self.name).is_ok_and(|text| text == self.entry.text.as_bytes())
    }

    /// Writes the text of the entry into it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn begin(&self) -> Result<()> {
        self.write(BASES, self.entry.text.as_bytes())?;
        self.write(DRAFTS, self.entry.text.as_bytes())
    }

    /// Takes the kept text up again.
    ///
    /// # Errors
    ///
    /// [`Error::Uneditable`] where the entry changed since the draft was begun, [`Error::OutsideRoot`] and [`Error::Io`].
    pub fn resume(&self) -> Result<()> {
        match read(self.store, BASES, &self.name) {
            Err(Unreadable::Missing) => Ok(()),
            Ok(base) if base == self.entry.text.as_bytes() => Ok(()),
            Ok(_) => Err(self.uneditable(format!("`{}` changed since", self.entry.id))),
            Err(unreadable) => Err(unreadable.into_error(self.store.state().join(BASES).join(&self.name))),
        }
    }

    /// Returns its text.
    ///
    /// # Errors
    ///
    /// [`Error::Uneditable`] where it is not UTF-8 or has over 64 MiB, [`Error::OutsideRoot`] where an editor left a link,
    /// and [`Error::Io`].
    pub fn text(&self) -> Result<String> {
        let bytes = read(self.store, DRAFTS, &self.name).map_err(|unreadable| match unreadable {
            Unreadable::TooLarge { size } => self.uneditable(format!("it has {size} bytes; the limit is {MAX_BYTES}")),
            unreadable => unreadable.into_error(&self.path),
        })?;
        String::from_utf8(bytes).map_err(|_| self.uneditable("it is not UTF-8".to_owned()))
    }

    /// Removes it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn discard(self) -> Result<()> {
        for folder in [DRAFTS, BASES] {
            let removed = self.store.folder(&format!("state/{folder}")).and_then(|open| open.remove_file(&self.name));
            if let Err(source) = removed
                && source.kind() != std::io::ErrorKind::NotFound
            {
                return Err(Error::Io { action: "remove", path: self.path.clone(), source });
            }
        }
        Ok(())
    }

    fn write(&self, folder: &str, bytes: &[u8]) -> Result<()> {
        let path = self.store.state().join(folder);
        let failed = |source| Error::Io { action: "write", path: path.join(&self.name), source };
        // It follows no link.
        self.store.make_state_folder(folder).map_err(failed)?;
        write_private(&path, &self.name, bytes).map(drop).map_err(failed)
    }

    fn uneditable(&self, reason: String) -> Error {
        Error::Uneditable { path: display_path(&format!("state/{DRAFTS}/{}", self.name)), reason }
    }
}

fn read(store: &Store, folder: &str, name: &str) -> std::result::Result<Vec<u8>, Unreadable> {
    store.read_up_to(&format!("state/{folder}/{name}"), MAX_BYTES)
}
