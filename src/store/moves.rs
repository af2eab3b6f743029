//! Moves entry files.
//!
//! As in `write.rs`, every call completes or does nothing, and its result is on disk before it returns.

use std::collections::BTreeSet;
use std::io;

use xxhash_rust::xxh3::xxh3_64;

use super::folder::{FileStat, Folder, explain, split};
use super::layout::Store;
use super::lock::{Guarded, Lock};
use super::operation_log::record::LoggedChange;
use super::read::Unreadable;
use super::temp::{rename_new, respell};
use super::undo::MAX_EDITED_BYTES;
use crate::error::{Error, Result};
use crate::text::nfc;

impl Store {
    /// Moves the file at `from` to `to`, creates the folders that it needs, and makes that durable.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the name `to` is taken, and those of [`Store::create`]; the file then stays at `from`.
    /// Anything but a regular file is [`Error::Io`].
    pub fn move_to(&self, lock: &Lock, from: &str, to: &str) -> Result<()> {
        self.move_all(lock, &[(from, to)])?.into_iter().collect()
    }

    /// Moves each file to its new path as [`Store::move_to`] does, and returns the result of each. Everything is
    /// durable when this returns: each folder is synced once, instead of once per file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the moves cannot be made durable; every file is then back at its old path.
    pub fn move_all(&self, lock: &Lock, moves: &[(&str, &str)]) -> Result<Vec<Result<()>>> {
        let moves: Vec<_> = moves.iter().map(|(from, to)| (*from, *to, None)).collect();
        self.move_unchanged(lock, &moves)
    }

    /// Like [`Store::move_all`], but each file must have the fingerprint given for it.
    ///
    /// # Errors
    ///
    /// Those of [`Store::move_all`]. A file with another fingerprint stays where it is, and its result is
    /// [`Error::Conflict`].
    pub(crate) fn move_unchanged(&self, lock: &Lock, moves: &[(&str, &str, Option<u64>)]) -> Result<Vec<Result<()>>> {
        lock.assert_guards(Guarded::Entries);
        let moved: Vec<Result<()>> =
            moves.iter().map(|(from, to, expected)| self.rename_to(from, to, *expected)).collect();
        let done =
            || moves.iter().zip(&moved).filter(|(_, moved)| moved.is_ok()).map(|((from, to, _), _)| (*from, *to));
        // Sync the new names first, so that a power cut between the two leaves each file with at least one name.
        let new: BTreeSet<&str> = done().map(|(_, to)| split(to).0).collect();
        let old: BTreeSet<&str> = done().map(|(from, _)| split(from).0).collect();
        if let Err((folder, error)) =
            new.iter().chain(&old).try_for_each(|path| self.sync_folder(path).map_err(|error| (path, error)))
        {
            let error = explain("move files of", self.full_path(folder), error);
            done().for_each(|(from, to)| drop(self.rename_to(to, from, None)));
            return Err(error);
        }
        Ok(moved)
    }

    /// Moves a file to another path and creates its folders, unless the path is taken or the file lacks the expected
    /// fingerprint.
    fn rename_to(&self, from: &str, to: &str, expected: Option<u64>) -> Result<()> {
        let (from_folder, from_name) = self.open_file_parent("move", from)?;
        let failed = |error| explain("move", self.full_path(to), error);
        let (to_folder, to_name) = self.make_entry_parent(to).map_err(failed)?;
        let taken = || Error::Conflict { path: self.full_path(to), kept: None };
        let is_respelled = match to_folder.stat_of(to_name) {
            Err(_) => false,
            Ok(there) if is_respelled((&from_folder, from_name), (&to_folder, to_name), there).map_err(failed)? => true,
            Ok(_) => return Err(taken()),
        };
        let bytes =
            fingerprint(&from_folder, from_name).map_err(|unreadable| unreadable.into_error(self.full_path(from)))?;
        if expected.is_some_and(|expected| expected != bytes) {
            return Err(Error::Conflict { path: self.full_path(from), kept: None });
        }
        let change = LoggedChange::Move { from: from.to_owned(), to: to.to_owned(), bytes };
        self.before(&change, b"").map_err(failed)?;
        let rename = if is_respelled { respell } else { rename_new };
        match rename((&from_folder, from_name), (&to_folder, to_name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(taken()),
            renamed => renamed.map_err(failed)?,
        }
        self.after(&change);
        self.move_copy(from, to);
        Ok(())
    }

    /// Returns the size of the file at `path` in bytes; 0 if there is no file.
    pub(crate) fn size_of(&self, path: &str) -> u64 {
        self.stat_of(path).map_or(0, |stat| stat.size)
    }

    /// Returns whether the folder of the file at `path` lists it under this name, and not under one that differs in case.
    pub(crate) fn is_spelled_so(&self, path: &str) -> bool {
        let names = |(folder, name): (Folder, &str)| {
            let is_it = |listed: &str| nfc(listed) == nfc(name);
            folder.listing().map(|listing| listing.iter().any(|(listed, _)| listed.to_str().is_some_and(is_it)))
        };
        self.open_parent(path).and_then(names).unwrap_or(true)
    }

    /// Returns the fingerprint of the file at `path`; `None` if there is no file.
    ///
    /// # Errors
    ///
    /// If it is not a regular file, or cannot be read.
    pub(crate) fn fingerprint(&self, path: &str) -> std::result::Result<Option<u64>, Unreadable> {
        match self.open_parent(path).map_err(Unreadable::from).and_then(|(folder, name)| fingerprint(&folder, name)) {
            Err(Unreadable::Missing) => Ok(None),
            result => result.map(Some),
        }
    }
}

/// Returns whether the two names, of which the second is that of `there`, are spellings of one name, where the file system
/// ignores case or the Unicode form.
fn is_respelled(from: (&Folder, &str), to: (&Folder, &str), there: FileStat) -> io::Result<bool> {
    // Two names of one file are listed both.
    Ok(from.0.stat_of(from.1).is_ok_and(|file| file.ino == there.ino)
        && !to.0.listing()?.iter().any(|(name, _)| name.as_os_str() == to.1))
}

/// Returns the fingerprint of a file's bytes. A file larger than an editor may leave one is not read; it is identified by its
/// size, inode number and modification time, which a rename keeps.
fn fingerprint(folder: &Folder, name: &str) -> std::result::Result<u64, Unreadable> {
    match folder.read(name, MAX_EDITED_BYTES) {
        Ok(bytes) => Ok(xxh3_64(&bytes)),
        Err(Unreadable::TooLarge { size }) => {
            let stat = folder.stat_of(name)?;
            Ok(xxh3_64(format!("{size} {} {}", stat.ino, stat.mtime).as_bytes()))
        }
        Err(unreadable) => Err(unreadable),
    }
}
