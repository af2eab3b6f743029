//! The record of what set-up has inserted, and where, in the user's state folder.
//!
//! With it, a removal restores the bytes of each file that nobody has changed since. Without it, set-up's own parts are
//! recognised instead, so a lost record costs an empty line at most.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::SetupScope;
use super::client::SetupClient;
use super::config_value::{ConfigValue, quoted};
use super::insertion::Insertion;
use super::locate::ClientPlace;
use super::want::{Mark, Want};
use crate::error::{Error, IoContext as _, Result};
use crate::iterations::StateFolders;
use crate::store::{Folder, private_names, read_if_begins, remove_private, write_private};

/// How every record begins: the version of its form.
const START: &[u8] = b"{\"format\":1,";
/// How the name of every record begins.
const PREFIX: &str = "setup-";
/// The largest record that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// What set-up has done to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRecord {
    pub(super) root: PathBuf,
    pub(super) path: String,
    /// The names of the clients that use it.
    pub(super) clients: BTreeSet<String>,
    /// Whether set-up has created the file.
    pub(super) created: bool,
    /// In the order in which they were made.
    pub(super) insertions: Vec<Insertion>,
    /// The fingerprint of the file as set-up has left it.
    pub(super) after: String,
}

/// What set-up has done in a project, or for a user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SetupRecord {
    format: u32,
    pub(super) files: Vec<FileRecord>,
    /// The folders that set-up has created.
    pub(super) folders: BTreeSet<(PathBuf, String)>,
    /// The folders above this file that set-up has created, outermost first.
    own_folders: Vec<PathBuf>,
}

/// Returns a fingerprint of a file's bytes.
pub(super) fn fingerprint(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

/// Returns the name of the record of a project, or of a home.
fn file_name(scope: SetupScope, folder: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    format!("{PREFIX}{}-{:016x}.json", scope.as_str(), xxh3_64(folder.as_os_str().as_bytes()))
}

fn read(state: &Path, name: &str) -> Option<SetupRecord> {
    let bytes = read_if_begins(&state.join(name), START, MAX_BYTES).ok()??;
    serde_json::from_slice(&bytes).ok()
}

/// Removes the temporary files that a killed set-up has left in a state folder of this user's.
fn sweep(state: &Path) {
    if private_names(state).is_ok()
        && let Ok(folder) = Folder::open(state)
    {
        folder.sweep("");
    }
}

/// Removes a folder that set-up has made, if it is empty.
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

/// Returns a set with what was added to it `from` an older one, and without what was taken out of that.
fn merged_set<T: Ord + Clone>(ours: &BTreeSet<T>, from: &BTreeSet<T>, since: &BTreeSet<T>) -> BTreeSet<T> {
    let is_gone = |item: &&T| from.contains(item) && !ours.contains(item);
    let new = ours.difference(from);
    since.iter().filter(|item| !is_gone(item)).chain(new).cloned().collect()
}

impl SetupRecord {
    /// Reads the record; an empty one if there is none that can be read.
    pub(super) fn read(state: &StateFolders, scope: SetupScope, folder: &Path) -> SetupRecord {
        let name = file_name(scope, folder);
        // Only a folder of this user's is trusted.
        let has_it = |state: &PathBuf| private_names(state).unwrap_or_default().contains(&name);
        state.paths().iter().find_map(|state| read(state, &name).filter(|_| has_it(state))).unwrap_or_default()
    }

    /// Returns what this record, which was made `from` an older one, is beside what another process has recorded `since`
    /// then.
    pub(super) fn beside(self, from: &SetupRecord, since: SetupRecord) -> SetupRecord {
        if since == *from {
            return self;
        }
        let mut merged = since;
        let place = |file: &FileRecord| ClientPlace { root: file.root.clone(), path: file.path.clone() };
        for gone in from.files.iter().map(place).filter(|place| self.of(place).is_none()) {
            merged.forget(&gone);
        }
        merged.folders = merged_set(&self.folders, &from.folders, &merged.folders);
        for file in self.files {
            let place = place(&file);
            let before = from.of(&place);
            if before == Some(&file) {
                continue;
            }
            let none = BTreeSet::new();
            let known = |record: Option<&FileRecord>| record.map_or(none.clone(), |file| file.clients.clone());
            let clients = merged_set(&file.clients, &known(before), &known(merged.of(&place)));
            merged.put(FileRecord { clients, ..file });
        }
        merged
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
        self.format = 1;
        let mut failed = None;
        for state in state.paths() {
            let missing: Vec<PathBuf> =
                state.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
            let mut own = self.own_folders.clone();
            own.extend(missing.iter().rev().cloned());
            if own.is_empty() {
                // The last record that goes takes along what the first one made.
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
        Err(failed.unwrap_or_else(|| Error::invalid("state folder", "there is none to keep the record of set-up in")))
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
    pub(super) fn of(&self, location: &ClientPlace) -> Option<&FileRecord> {
        self.files.iter().find(|file| file.is_at(location))
    }

    /// Puts the record of a file in the place of an older one.
    pub(super) fn put(&mut self, record: FileRecord) {
        self.files.retain(|file| (&file.root, &file.path) != (&record.root, &record.path));
        self.files.push(record);
    }

    pub(super) fn forget(&mut self, location: &ClientPlace) {
        self.files.retain(|file| !file.is_at(location));
    }

    /// Notes that a client no longer uses a file that others use.
    pub(super) fn leave(&mut self, location: &ClientPlace, client: SetupClient) {
        for file in self.files.iter_mut().filter(|file| file.is_at(location)) {
            file.clients.remove(client.as_str());
        }
        self.files.retain(|file| !file.clients.is_empty());
    }

    /// Returns the clients that set-up has changed a file for.
    pub(super) fn clients(&self) -> Vec<SetupClient> {
        let is_here = |client: &SetupClient| self.files.iter().any(|file| file.has(*client));
        SetupClient::ALL.into_iter().filter(is_here).collect()
    }

    /// Returns the places of the files that a client uses.
    pub(super) fn places_of(&self, client: SetupClient) -> Vec<ClientPlace> {
        let of_client = self.files.iter().filter(|file| file.clients.contains(client.as_str()));
        of_client.map(|file| ClientPlace { root: file.root.clone(), path: file.path.clone() }).collect()
    }

    /// Returns the recorded folders, the deepest first.
    pub(super) fn folders_inside_out(&self) -> Vec<(PathBuf, String)> {
        let mut folders: Vec<(PathBuf, String)> = self.folders.iter().cloned().collect();
        folders.sort_by_key(|(root, path)| Reverse(root.join(path).components().count()));
        folders
    }
}

impl FileRecord {
    /// Returns whether a client uses the file.
    pub(super) fn has(&self, client: SetupClient) -> bool {
        self.clients.contains(client.as_str())
    }

    /// Returns whether set-up has inserted something, rather than found it.
    pub(super) fn has_inserted(&self, want: &Want) -> bool {
        let wanted = match (&want.mark, &want.value) {
            (Mark::Server, _) => want.key.map(quoted),
            // A line has the event in this form, whatever the program's path is.
            (Mark::Hook(event), _) => Some(format!(" hook {} ", event.as_str())),
            (Mark::Text, ConfigValue::Text(text)) => Some(quoted(text)),
            _ => None,
        };
        wanted.is_some_and(|wanted| self.insertions.iter().any(|insertion| insertion.text.contains(&wanted)))
    }

    fn is_at(&self, location: &ClientPlace) -> bool {
        self.root == location.root && self.path == location.path
    }
}
