//! Reads the files of clients, and compares them with what they should contain.

use std::io;

use super::Setup;
use super::entry::Compared;
use super::locate::{Base, Bases, ClientPlace};
use super::table::ClientFile;
use super::want::Want;
use crate::store::{Folder, Unreadable};

/// The largest file that is edited, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

impl Setup {
    /// Compares a file with what it should contain.
    pub(super) fn compared<'f>(&self, file: &'f ClientFile) -> Vec<(&'f Want, Compared)> {
        let text = read(&self.bases, file.base, self.chosen(file));
        file.wants.iter().map(|want| (want, want.compare(text.as_deref()))).collect()
    }

    /// Returns whether a file registers the server.
    pub(super) fn has_server(&self, file: &ClientFile) -> bool {
        self.compared(file).iter().any(|(want, part)| want.is_server() && part.is_there())
    }

    /// Returns which of a file's paths is used.
    pub(super) fn chosen(&self, file: &ClientFile) -> &'static str {
        file.paths.iter().copied().find(|path| self.bases.exists(file.base, path)).unwrap_or(file.paths[0])
    }
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

/// Returns an error with the reason if a file must not or cannot be replaced.
pub(super) fn check_writable(place: &ClientPlace) -> Result<(), String> {
    let protection = Folder::open(&place.root).and_then(|folder| folder.protection(&place.path));
    match protection {
        Ok(Some(reason)) => Err(reason.to_owned()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
        _ => Ok(()),
    }
}
