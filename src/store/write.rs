//! Creates and replaces entry files; `moves.rs` moves and `remove.rs` removes them.
//!
//! Every call here completes or does nothing: a file's bytes are on the disk before it gets its name, and the name is
//! on the disk before the call returns. Only bytes that the caller has read are replaced; a version that an editor
//! saves in the meantime is kept. This file knows nothing about the content.

use std::io;

use chrono::{DateTime, Utc};
use xxhash_rust::xxh3::xxh3_64;

use super::common::path_of_copy;
use super::folder::{FileKind, FileRefusal, Folder, check_path, explain, split};
use super::layout::Store;
use super::lock::{Guarded, Lock};
use super::make_folders::NEW_FOLDER;
use super::name::{archive_folder, conflict_name};
use super::operation_log::record::LoggedChange;
use super::replace_file::{ExchangeResult, WriteStep, put_back, replace_in};
use super::temp::{Access, Durability, rename_new};
use crate::entry::MAX_FILE_BYTES;
use crate::error::{Error, Result};
use crate::system::posix::fs::Mode;
use crate::system::posix::permissions;

/// The result of creating a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// It was created.
    Made,
    /// The name is taken, and the existing file was left alone.
    Exists,
}

impl Store {
    /// Creates the file at `path`, and the folders that it needs, and makes it durable.
    ///
    /// If anything has the name already, it is left alone. The file gets the mode 0666 minus the umask.
    ///
    /// # Errors
    ///
    /// [`Error::OutsideRoot`] when the path could leave `.ralph/` or leads through a link,
    /// [`Error::Invalid`] when there are more bytes than an entry may have, [`Error::Io`] when the
    /// file system refuses; then there is no file.
    pub fn create(&self, lock: &Lock, path: &str, bytes: &[u8]) -> Result<Created> {
        self.make_file(lock, path, bytes, None, path.starts_with("journal/"))
    }

    /// Like [`Store::create`], but for a file that was removed: nobody can read the new file who could not read the old
    /// one.
    ///
    /// # Errors
    ///
    /// Those of [`Store::create`].
    pub(crate) fn restore(&self, lock: &Lock, path: &str, bytes: &[u8], mode: Option<u32>) -> Result<Created> {
        self.make_file(lock, path, bytes, mode, false)
    }

    /// Creates a file. Where it `claims` its name, no other work tree has an attempt of that name.
    fn make_file(&self, lock: &Lock, path: &str, bytes: &[u8], mode: Option<u32>, claims: bool) -> Result<Created> {
        lock.assert_guards(Guarded::Entries);
        check_size(path, bytes)?;
        let failed = |error| explain("create", self.full_path(path), error);
        let (folder, name) = self.make_entry_parent(path).map_err(failed)?;
        if folder.is_taken(name).map_err(failed)? {
            return Ok(Created::Exists);
        }
        let claim = if claims { self.claim(path, bytes) } else { None };
        if claim == Some(Created::Exists) {
            return Ok(Created::Exists);
        }
        let change = LoggedChange::Create { path: path.to_owned(), after: xxh3_64(bytes) };
        let access = mode.map_or(Access::New, |mode| Access::Mode(permissions(mode)));
        let create = |()| folder.create_file(name, bytes, access, Durability::Synced);
        let created = self.before(&change, b"").and_then(create);
        match &created {
            Ok(Created::Made) => {
                self.after(&change);
                if !claims {
                    self.revive_copy(path, bytes);
                }
            }
            Ok(Created::Exists) | Err(_) if claim == Some(Created::Made) => self.drop_copy(path, bytes),
            Ok(Created::Exists) | Err(_) => {}
        }
        created.map_err(failed)
    }

    /// Replaces the bytes of the file at `path`, if they are `expected`, with `new`, and makes that durable. Its mode
    /// stays the same, and so does its owner if the system allows it.
    ///
    /// The file is checked again when the new bytes are on the disk, and then the two exchange names. So a version that
    /// was saved even after that check is not lost: it is kept in the archive as `<stem>.conflict-<now>.md`. If the
    /// file system cannot exchange names, the last step is a plain rename right after the check. If the bytes are
    /// equal, nothing is written. Returns where such a version is kept, for a person to look at: the new one does not
    /// contain it.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the file is gone or does not contain `expected`, and those of [`Store::create`]. The file
    /// is then unchanged. The one exception: if another program writes at the very moment the disk fails, its version
    /// may be left under another name, which [`Error::Conflict`] gives.
    pub fn replace(
        &self,
        lock: &Lock,
        path: &str,
        expected: &[u8],
        new: &[u8],
        now: DateTime<Utc>,
    ) -> Result<Option<String>> {
        self.replace_with(lock, path, expected, new, now, &mut |_| {})
    }

    /// Does what [`Store::replace`] does, and calls `interrupt` after each step, so that tests can interfere there.
    pub(super) fn replace_with(
        &self,
        lock: &Lock,
        path: &str,
        expected: &[u8],
        new: &[u8],
        now: DateTime<Utc>,
        interrupt: &mut dyn FnMut(WriteStep),
    ) -> Result<Option<String>> {
        lock.assert_guards(Guarded::Entries);
        // What an editor left may be too large for an entry, and is brought back all the same.
        if !self.is_taking_back() {
            check_size(path, new)?;
        }
        let failed = |error| explain("replace", self.full_path(path), error);
        let full = self.full_path(path);
        let conflict = |kept| Error::Conflict { path: full.clone(), kept };
        let (folder, name) = match self.open_parent(path) {
            // Another program removed the folder with the file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(conflict(None)),
            opened => opened.map_err(failed)?,
        };
        if expected == new && folder.holds(name, expected).map_err(failed)?.is_some() {
            return Ok(None);
        }
        let change = LoggedChange::Replace { path: path.to_owned(), before: xxh3_64(expected), after: xxh3_64(new) };
        let mut step = |step| {
            interrupt(step);
            if step == WriteStep::Checked { self.before(&change, expected) } else { Ok(()) }
        };
        let conflict_file = match replace_in((&folder, name), expected, new, &mut step).map_err(failed)? {
            ExchangeResult::Done => None,
            ExchangeResult::Refused if folder.stat_of(name).is_ok_and(|stat| stat.kind == FileKind::Link) => {
                return Err(Error::OutsideRoot { path: full });
            }
            ExchangeResult::Refused => return Err(conflict(None)),
            ExchangeResult::Displaced(temp, error) => {
                match error.map_or_else(|| self.keep_version(&folder, temp.name(), path, now), Err) {
                    Ok(kept) => {
                        temp.keep();
                        Some(kept)
                    }
                    Err(error) => {
                        let kept = put_back(&folder, name, temp, new);
                        // The file under the temporary name is not this program's.
                        return Err(
                            kept.map_or_else(|| failed(error), |kept| conflict(Some(full.with_file_name(kept))))
                        );
                    }
                }
            }
        };
        self.after(&change);
        self.copy(path, expected, new);
        Ok(conflict_file)
    }

    /// Moves a displaced version of the file at `path` to the archive, and returns its path.
    pub(super) fn keep_version(
        &self,
        folder: &Folder,
        displaced: &str,
        path: &str,
        now: DateTime<Utc>,
    ) -> io::Result<String> {
        let (archive, name) = archive_folder(path);
        let archived = self.make_entry_folders(&archive)?;
        let mut number = 1;
        loop {
            let candidate = conflict_name(name, now, number);
            match rename_new((folder, displaced), (&archived, &candidate)) {
                Ok(()) => {
                    archived.sync().inspect_err(|_| {
                        let _ = rename_new((&archived, &candidate), (folder, displaced));
                    })?;
                    return Ok(format!("{archive}/{candidate}"));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the names in the folder at `path` durable.
    pub(super) fn sync_folder(&self, path: &str) -> io::Result<()> {
        self.folder(path)?.sync()
    }

    /// Opens the folder at `path`, and creates its missing parts, each of which is durably logged first.
    fn make_entry_folders(&self, path: &str) -> io::Result<Folder> {
        if let Some(path) = path_of_copy(path) {
            return self.make_copies()?.make_folders(&path, Mode::RWXU, Durability::Synced, &mut |_| Ok(()));
        }
        let mut log = |folder: &str| self.before(&LoggedChange::Folder { path: folder.to_owned() }, b"");
        self.folder("")?.make_folders(path, NEW_FOLDER, Durability::Synced, &mut log)
    }

    /// Opens the folder of the entry at `path`, creates its missing parts, and returns it with the file's name.
    pub(super) fn make_entry_parent<'a>(&self, path: &'a str) -> io::Result<(Folder, &'a str)> {
        check_path(path)?;
        let (folder, name) = split(path);
        Ok((self.make_entry_folders(folder)?, name))
    }

    /// Opens the existing folder of the file at `path`, which must be a regular file, and returns it with the file's
    /// name.
    pub(super) fn open_file_parent<'a>(&self, action: &'static str, path: &'a str) -> Result<(Folder, &'a str)> {
        let failed = |error| explain(action, self.full_path(path), error);
        let (folder, name) = self.open_parent(path).map_err(failed)?;
        match folder.stat_of(name).map_err(failed)?.kind {
            FileKind::File => Ok((folder, name)),
            FileKind::Link => Err(Error::OutsideRoot { path: self.full_path(path) }),
            FileKind::Folder | FileKind::Other => Err(failed(FileRefusal::Kind.error())),
        }
    }
}

/// Refuses bytes that could be written but never read again.
fn check_size(path: &str, bytes: &[u8]) -> Result<()> {
    if bytes.len() <= MAX_FILE_BYTES {
        return Ok(());
    }
    let reason = format!("it would have {} bytes; the limit of an entry is {MAX_FILE_BYTES}", bytes.len());
    Err(Error::invalid(format!("`{path}`"), reason))
}
