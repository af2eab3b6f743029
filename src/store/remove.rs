//! Removes entry files, but only those whose bytes are known and in the log.
//!
//! As in `write.rs`, a version that an editor saves in the meantime is kept.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64;

use super::folder::{explain, split};
use super::layout::Store;
use super::lock::{Guarded, Lock};
use super::operation_log::record::LoggedChange;
use super::read::Unreadable;
use super::replace_file::remove_if;
use crate::entry::MAX_FILE_BYTES;
use crate::error::{Error, Result};
use crate::system::posix::fs::{AtFlags, Stat, fstat, unlinkat};

impl Store {
    /// Removes these files, each of which must have this fingerprint, and makes that durable. Where it `forgets` attempts,
    /// they are gone in all work trees, and do not come back; otherwise their copies stay.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if one is gone or has other bytes, and those of [`Store::create`]. Files before it stay
    /// removed.
    pub fn remove_all(&self, lock: &Lock, files: &[(&str, u64)], forgets: bool) -> Result<()> {
        lock.assert_guards(Guarded::Entries);
        for (path, fingerprint) in files {
            if !self.remove_unchanged(path, *fingerprint, forgets)? {
                return Err(Error::Conflict { path: self.full_path(path), kept: None });
            }
        }
        let folders: BTreeSet<&str> = files.iter().map(|(path, _)| split(path).0).collect();
        folders.into_iter().try_for_each(|folder| {
            self.sync_folder(folder).map_err(|error| explain("remove files of", self.full_path(folder), error))
        })
    }

    /// Removes a file if it has this fingerprint, and returns whether it did.
    fn remove_unchanged(&self, path: &str, fingerprint: u64, forgets: bool) -> Result<bool> {
        let (folder, name) = self.open_file_parent("remove", path)?;
        let (bytes, file) = match folder.read_open(name, MAX_FILE_BYTES) {
            Ok((read, file)) if xxh3_64(&read.bytes) == fingerprint => (read.bytes, file),
            Err(Unreadable::Io(error)) => return Err(explain("remove", self.full_path(path), error)),
            Ok(_) | Err(_) => return Ok(false),
        };
        let mode = fstat(&file).ok().map(|stat| mode_of(&stat));
        let change = LoggedChange::Remove { path: path.to_owned(), before: fingerprint, mode };
        let failed = |error| explain("remove", self.full_path(path), error);
        self.before(&change, &bytes).map_err(failed)?;
        if forgets {
            // Before the file goes: a kill must not leave the copy alone, which would bring it back.
            self.forget_copy(path, &bytes)?;
        }
        let removed = remove_if(&folder, name, &bytes);
        if matches!(removed, Ok(true)) {
            self.after(&change);
        } else if forgets {
            self.revive_copy(path, &bytes);
        }
        removed.map_err(failed)
    }

    /// Removes the folder at `path` if it is empty. A failure is harmless.
    pub fn remove_empty_folder(&self, lock: &Lock, path: &str) {
        lock.assert_guards(Guarded::Entries);
        if let Ok((folder, name)) = self.open_parent(path) {
            let _ = unlinkat(&folder, name, AtFlags::REMOVEDIR);
        }
    }
}

/// Returns who may read and write a file, as a mode.
#[allow(clippy::useless_conversion, reason = "systems differ in the type")]
fn mode_of(stat: &Stat) -> u32 {
    u32::from(stat.st_mode & 0o777)
}
