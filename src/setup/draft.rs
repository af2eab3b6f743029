//! The files as they will be: read once, and edited in memory until all clients are planned.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::io;
use std::path::{Path, PathBuf};

use super::block;
use super::client::SetupClient;
use super::format::ConfigFormat;
use super::lines::{line_end, split_mark};
use super::locate::{Base, Bases, ClientPlace};
use super::planned::PlannedFile;
use super::recognised::{Recognition, presence};
use super::record::{Edit, FileRecord, SetupRecord, fingerprint};
use super::seal::is_of_setup;
use super::table::Content;
use super::want::{Presence, Want};
use crate::store::{Folder, Unreadable};
use crate::text::own_block;

/// The largest file that is edited, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// They distinguish a file that setup has written from another one of the same name.
const OWN_MARKS: [&str; 2] = ["ralph-memory setup writes this file", "\"name\": \"ralph-memory\""];

/// All files that are being planned, and the record as it will be.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) files: BTreeMap<ClientPlace, PlannedFile>,
    pub(super) record: SetupRecord,
    /// The record as it is.
    pub(super) known: SetupRecord,
    /// Files of setup's own that a person has edited; they are left alone.
    pub(super) edited: BTreeSet<PathBuf>,
}

impl Draft {
    /// Makes an edit, or nothing at all if it fails.
    ///
    /// # Errors
    ///
    /// That of the edit.
    pub(super) fn attempt<E>(&mut self, edit: impl FnOnce(&mut Draft) -> Result<(), E>) -> Result<(), E> {
        let before = self.clone();
        edit(self).inspect_err(|_| *self = before)
    }

    /// Reads a file, unless it is here already.
    ///
    /// # Errors
    ///
    /// Why it cannot be used.
    pub(super) fn file(&mut self, place: &ClientPlace, path: &Path) -> Result<&mut PlannedFile, String> {
        match self.files.entry(place.clone()) {
            Entry::Occupied(file) => Ok(file.into_mut()),
            Entry::Vacant(vacant) => {
                let before = read_at(place)?;
                let (path, place, after) = (path.to_owned(), place.clone(), before.clone());
                Ok(vacant.insert(PlannedFile { path, place, before, after, ..PlannedFile::default() }))
            }
        }
    }

    /// Adds what a file lacks.
    ///
    /// # Errors
    ///
    /// Why it cannot be added.
    pub(super) fn add(
        &mut self,
        place: &ClientPlace,
        path: &Path,
        client: SetupClient,
        content: &Content,
    ) -> Result<(), String> {
        let recorded = self.record.of(place).cloned();
        let file = self.file(place, path)?;
        let is_as_left = file.is_as_recorded(recorded.as_ref());
        file.is_of(client);
        let n_lacks = file.lacks.len();
        let mut edits = Vec::new();
        // Whether it already has setup's part, or is setup's as a whole.
        let had_own = match content {
            Content::Entries(format, wants) => {
                edits = file.add_entries(*format, wants)?;
                false
            }
            Content::Block => {
                let had_own = matches!(own_block(file.text()), Ok(Some(_)));
                let lack = if had_own { "the current instructions" } else { "the instructions" };
                edits.extend(file.put(&block::with(file.text())?, Some(lack)));
                had_own
            }
            Content::Owned(text) | Content::Script(text) => {
                if !file.add_whole(text, is_as_left)? {
                    self.edited.insert(path.to_owned());
                    return Ok(());
                }
                true
            }
        };
        let is_changed = file.lacks.len() > n_lacks || !edits.is_empty();
        if is_changed && file.before.is_some() {
            check_writable(place)?;
        }
        let new = || FileRecord { place: place.clone(), ..FileRecord::default() };
        let Some(mut record) = recorded.or_else(|| is_changed.then(new)) else { return Ok(()) };
        if is_changed {
            record.created |= file.before.is_none();
            // When the edits are undone, the file must be left without setup's part.
            let goes_on = if is_as_left { !record.edits.is_empty() } else { record.added.is_empty() && !had_own };
            if !is_as_left || !goes_on {
                record.edits.clear();
            }
            if goes_on {
                record.edits.extend(edits);
            }
            if !had_own {
                record.added.extend(file.lacks[n_lacks..].iter().cloned());
            }
            record.after = fingerprint(file.after.as_deref().unwrap_or_default());
        }
        record.clients.insert(client);
        self.record.put(record);
        Ok(())
    }
}

impl PlannedFile {
    /// Returns whether the file is as setup left it, or is being changed by this plan.
    pub(super) fn is_as_recorded(&self, recorded: Option<&FileRecord>) -> bool {
        recorded.zip(self.after.as_deref()).is_some_and(|(record, text)| record.has_left(text))
    }

    /// Returns the text behind a byte order mark.
    fn text(&self) -> &str {
        split_mark(self.after.as_deref().unwrap_or_default()).1
    }

    /// Puts after the byte order mark a text with which the file no longer lacks this. Returns the edit if the text
    /// differs.
    fn put(&mut self, text: &str, lack: Option<&str>) -> Option<Edit> {
        let before = self.after.take().unwrap_or_default();
        let after = format!("{}{text}", split_mark(&before).0);
        let edit = (before != after).then(|| Edit::between(&before, &after));
        self.lacks.extend(lack.filter(|_| edit.is_some()).map(str::to_owned));
        self.after = Some(after);
        edit
    }

    fn add_entries(&mut self, format: ConfigFormat, wants: &[Want]) -> Result<Vec<Edit>, String> {
        let mut edits = Vec::new();
        for want in wants {
            match presence(&format.tree(self.text())?, want, Recognition::Runs)? {
                Presence::Present(program) => self.programs.extend(program),
                Presence::Taken => {
                    return Err(format!("`{}` is there already, and is not what setup writes", want.keys().join(".")));
                }
                Presence::Missing => {
                    let text = format.with(self.text(), want)?;
                    edits.extend(self.put(&text, want.described().as_deref()));
                }
            }
        }
        Ok(edits)
    }

    /// Writes all of a file; returns false if a person has edited it.
    fn add_whole(&mut self, text: &str, is_as_left: bool) -> Result<bool, String> {
        let lack = match self.after.as_deref() {
            // Git may have changed the line ends in a clone.
            Some(there) if there.replace("\r\n", "\n") == text => return Ok(true),
            None => "the file",
            Some(there) if is_as_left || is_of_setup(there, text) => "the current version",
            Some(there) if is_own_file(there) => return Ok(false),
            Some(_) => return Err("there is another file of this name".to_owned()),
        };
        let line_end = line_end(self.after.as_deref().unwrap_or_default());
        self.lacks.push(lack.to_owned());
        self.after = Some(text.replace('\n', line_end));
        Ok(true)
    }
}

pub(super) fn is_own_file(text: &str) -> bool {
    OWN_MARKS.iter().any(|mark| text.contains(mark))
}

/// Returns the text of a file, if it can be read.
pub(super) fn read(bases: &Bases, base: Base, path: &str) -> Option<String> {
    read_at(&bases.locate(base, path).ok()?).ok()?
}

/// Reads a file; returns `None` if there is none.
///
/// # Errors
///
/// Why it cannot be used.
pub(super) fn read_at(place: &ClientPlace) -> Result<Option<String>, String> {
    let folder = match Folder::open(&place.root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        folder => folder.map_err(|error| error.to_string())?,
    };
    match folder.read(&place.path, MAX_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8".to_owned()),
        Err(Unreadable::Missing) => Ok(None),
        Err(Unreadable::Link) => Err("a part of its path is a link".to_owned()),
        Err(Unreadable::NotAFile) => Err("it is not a regular file".to_owned()),
        Err(Unreadable::TooLarge { size }) => Err(format!("it has {size} bytes; the limit is {MAX_BYTES}")),
        Err(Unreadable::Io(error)) => Err(error.to_string()),
    }
}

pub(super) fn check_writable(place: &ClientPlace) -> Result<(), String> {
    let protection = Folder::open(&place.root).and_then(|folder| folder.protection(&place.path));
    match protection {
        Ok(Some(reason)) => Err(reason.to_owned()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
        _ => Ok(()),
    }
}
