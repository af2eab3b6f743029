//! The record of what setup has changed, and where, in the user's state folder.
//!
//! With it, a removal restores the bytes of each file that nobody has changed since. Without it, setup's own parts are
//! recognised instead, so a lost record costs an empty line at most.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::SetupScope;
use super::client::SetupClient;
use super::locate::ClientPlace;
use crate::error::{Error, IoContext as _, Result};
use crate::recording::StateFolders;
use crate::store::{Folder, private_names, read_if_begins, remove_private, write_private};

/// How every record begins: the version of its form.
const START: &[u8] = b"{\"format\":2,";
/// How the name of every record begins.
const PREFIX: &str = "setup-";
/// The largest record that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A text that replaced another one, at an offset in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    at: usize,
    removed: String,
    inserted: String,
}

impl Edit {
    /// Returns the smallest edit that makes one text of the other.
    pub(super) fn between(before: &str, after: &str) -> Edit {
        let shared = before.chars().zip(after.chars()).take_while(|(one, other)| one == other);
        let at: usize = shared.map(|(one, _)| one.len_utf8()).sum();
        let (before, after) = (&before[at..], &after[at..]);
        let shared = before.chars().rev().zip(after.chars().rev()).take_while(|(one, other)| one == other);
        let end: usize = shared.map(|(one, _)| one.len_utf8()).sum();
        let middle = |text: &str| text[..text.len() - end].to_owned();
        Edit { at, removed: middle(before), inserted: middle(after) }
    }

    /// Returns the text before the edit; `None` if what it inserted is not there.
    pub(super) fn undone(&self, text: &str) -> Option<String> {
        let end = self.at.checked_add(self.inserted.len())?;
        let is_there = text.get(self.at..end)? == self.inserted;
        is_there.then(|| format!("{}{}{}", &text[..self.at], self.removed, &text[end..]))
    }
}

/// What setup has done to one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRecord {
    pub(super) place: ClientPlace,
    /// The clients that use it.
    pub(super) clients: BTreeSet<SetupClient>,
    /// Whether setup has created the file.
    pub(super) created: bool,
    /// What it lacked before, in words.
    pub(super) added: BTreeSet<String>,
    /// The edits since somebody else changed the file, in order; none if it was never without setup's part.
    pub(super) edits: Vec<Edit>,
    /// The fingerprint of the file as setup has left it.
    pub(super) after: String,
}

impl FileRecord {
    /// Returns whether setup has left a file with this text.
    pub(super) fn has_left(&self, text: &str) -> bool {
        self.after == fingerprint(text)
    }
}

/// What setup has done in a project, or for a user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SetupRecord {
    format: u32,
    pub(super) files: Vec<FileRecord>,
    /// The folders that setup has created.
    pub(super) folders: BTreeSet<(PathBuf, String)>,
    /// The folders above this file that setup has created, outermost first.
    own_folders: Vec<PathBuf>,
}

/// Returns a fingerprint of a file's bytes.
pub(super) fn fingerprint(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

/// Returns the name of the record of a project, or of a home.
fn file_name(scope: SetupScope, folder: &Path) -> String {
    format!("{PREFIX}{}-{:016x}.json", scope.as_str(), xxh3_64(folder.as_os_str().as_encoded_bytes()))
}

fn read(state: &Path, name: &str) -> Option<SetupRecord> {
    let bytes = read_if_begins(&state.join(name), START, MAX_BYTES).ok()??;
    serde_json::from_slice(&bytes).ok()
}

/// Removes the temporary files that a killed setup has left in a state folder of this user's.
fn sweep(state: &Path) {
    if private_names(state).is_ok()
        && let Ok(folder) = Folder::open(state)
    {
        folder.sweep("");
    }
}

/// Removes a folder that setup has made, if it is empty.
fn remove_if_empty(path: &Path) {
    if let (Some(above), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) {
        let _ = Folder::open(above).and_then(|above| above.remove_folder(name));
    }
}

/// Returns the other records of a state folder.
fn others(state: &Path, name: &str) -> impl Iterator<Item = SetupRecord> {
    let mut names = private_names(state).unwrap_or_default();
    names.retain(|other| other.starts_with(PREFIX) && other != name);
    names.into_iter().filter_map(move |name| read(state, &name))
}

impl SetupRecord {
    /// Reads the record; an empty one if there is none that can be read.
    pub(super) fn read(state: &StateFolders, scope: SetupScope, folder: &Path) -> SetupRecord {
        let name = file_name(scope, folder);
        // Only a folder of this user's is trusted.
        let has_it = |state: &PathBuf| private_names(state).unwrap_or_default().contains(&name);
        state.paths().iter().find_map(|state| read(state, &name).filter(|_| has_it(state))).unwrap_or_default()
    }

    /// Writes the record, or removes it with its folder if it is empty.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if no folder takes it.
    pub(super) fn save(&mut self, state: &StateFolders, scope: SetupScope, folder: &Path) -> Result<()> {
        let name = file_name(scope, folder);
        if self.files.is_empty() && self.folders.is_empty() {
            return self.remove(state, &name);
        }
        self.format = 2;
        let mut failed = None;
        for state in state.paths() {
            let missing: Vec<PathBuf> =
                state.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
            let mut own = self.own_folders.clone();
            own.extend(missing.iter().rev().cloned());
            if own.is_empty() {
                // The last record to go also removes what the first one created.
                own = others(state, &name).find(|other| !other.own_folders.is_empty()).unwrap_or_default().own_folders;
            }
            let record = SetupRecord { own_folders: own, ..self.clone() };
            let bytes = serde_json::to_vec(&record).map_err(io::Error::from);
            match bytes.and_then(|bytes| write_private(state, &name, &bytes)) {
                Ok(_) => {
                    sweep(state);
                    *self = record;
                    return Ok(());
                }
                Err(source) => {
                    for made in &missing {
                        remove_if_empty(made);
                    }
                    failed.get_or_insert(Error::Io { action: "write", path: state.join(&name), source });
                }
            }
        }
        Err(failed.unwrap_or_else(|| Error::invalid("state folder", "there is none to keep the record of setup in")))
    }

    fn remove(&self, state: &StateFolders, name: &str) -> Result<()> {
        for folder in state.paths() {
            sweep(folder);
            let path = folder.join(name);
            if remove_private(&path).io("remove", path)? {
                for own in self.own_folders.iter().rev() {
                    remove_if_empty(own);
                }
            }
        }
        Ok(())
    }

    /// Returns the record of a file.
    pub(super) fn of(&self, place: &ClientPlace) -> Option<&FileRecord> {
        self.files.iter().find(|file| file.place == *place)
    }

    /// Puts the record of a file in the place of an older one.
    pub(super) fn put(&mut self, record: FileRecord) {
        self.forget(&record.place);
        self.files.push(record);
    }

    pub(super) fn forget(&mut self, place: &ClientPlace) {
        self.files.retain(|file| file.place != *place);
    }

    /// Notes that a client no longer uses these files, of which others may use some.
    pub(super) fn leave(&mut self, client: SetupClient, leaves: impl Fn(&ClientPlace) -> bool) {
        for file in self.files.iter_mut().filter(|file| leaves(&file.place)) {
            file.clients.remove(&client);
        }
        self.files.retain(|file| !file.clients.is_empty());
    }

    /// Returns whether setup has changed a file for a client.
    pub(super) fn has(&self, client: SetupClient) -> bool {
        self.files.iter().any(|file| file.clients.contains(&client))
    }

    /// Returns the recorded folders, the deepest first.
    pub(super) fn folders_inside_out(&self) -> Vec<(PathBuf, String)> {
        let mut folders: Vec<(PathBuf, String)> = self.folders.iter().cloned().collect();
        folders.sort_by_key(|(root, path)| Reverse(root.join(path).components().count()));
        folders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_undone_to_the_byte() {
        let check = |before: &str, after: &str| {
            let edit = Edit::between(before, after);
            assert_eq!(edit.undone(after).as_deref(), Some(before), "{before:?} {after:?}");
            edit
        };
        assert_eq!(check("a\u{f6}b", "a\u{f6},\u{f6}b").inserted, ",\u{f6}");
        assert_eq!(check("aa", "aaaa"), Edit { at: 2, removed: String::new(), inserted: "aa".into() });
        assert_eq!(check("old", "new"), Edit { at: 0, removed: "old".into(), inserted: "new".into() });
        for (before, after) in [("", "x"), ("x", ""), ("\u{e9}", "\u{e8}"), ("ab", "ba"), ("same", "same")] {
            check(before, after);
        }
        let edit = Edit::between("ab", "a,b");
        for changed in ["a;b", "", "a", "\u{e9}"] {
            assert_eq!(edit.undone(changed), None, "{changed:?}");
        }
        assert_eq!(Edit { at: usize::MAX, ..edit }.undone("a,b"), None);
    }
}
