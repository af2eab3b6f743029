//! The folder in git's common folder in which all work trees of a clone keep copies: finds, seals and opens it.
//!
//! It is `ralph-memory/KEY/`, with the mode 0700. It is sealed with the user's key: what an unpacked archive brings is not read.
//! This file knows nothing about the copies.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::Mode;
use rustix::process::geteuid;

use super::clone::{COMMON, GitClone};
use super::folder::{Folder, foreign_folder};
use super::seal::SealKey;
use super::temp::{Durability, rename_new, temporary_name};
use super::user_key::{UserKey, place_of_file};
use crate::entry::MAX_FILE_BYTES;
use crate::entry::path::{COPIES, is_copy};

/// The file that shows who made the folder with it, and that it was made there.
const SEAL: &str = "seal";

/// The folder, which may not exist.
#[derive(Debug, Default)]
pub(super) struct CommonFolder {
    is_off: bool,
    clone: OnceLock<Option<GitClone>>,
    /// The inode number of the folder whose seal was found good.
    sealed: AtomicU64,
}

impl CommonFolder {
    /// Returns no folder from now on.
    pub(super) fn switch_off(&mut self) {
        self.is_off = true;
    }

    /// Returns the clone that the memory in `root` is in.
    pub(super) fn clone_of(&self, root: &Path) -> Option<&GitClone> {
        self.clone.get_or_init(|| GitClone::of(root).filter(|_| !self.is_off)).as_ref()
    }

    /// Returns the folder's path; `None` without git.
    pub(super) fn path(&self, root: &Path) -> Option<PathBuf> {
        self.clone_of(root).map(GitClone::folder)
    }

    /// Opens the folder.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none that was made here by this user, and those of the file system.
    pub(super) fn open(&self, root: &Path, user_key: &UserKey) -> io::Result<Folder> {
        let clone = self.clone_of(root).ok_or(io::ErrorKind::NotFound)?;
        let folder = Folder::open(&clone.common)?.descend(&format!("{COMMON}/{}", clone.key))?;
        let ino = folder.stat()?.ino;
        if self.sealed.load(Ordering::Relaxed) != ino {
            let key = user_key.kept().ok_or(io::ErrorKind::NotFound)?;
            let is_own = folder.owner()? == geteuid().as_raw();
            if !is_own || folder.read(SEAL, MAX_FILE_BYTES).ok() != Some(seal(&key, clone, &folder)?) {
                return Err(io::ErrorKind::NotFound.into());
            }
            self.sealed.store(ino, Ordering::Relaxed);
        }
        Ok(folder)
    }

    /// Does the same, and makes the folder if it is missing. One that was made elsewhere gets another name.
    ///
    /// # Errors
    ///
    /// `NotFound` without git, `PermissionDenied` if the folder belongs to another user, and those of the file system.
    pub(super) fn make(&self, root: &Path, user_key: &UserKey) -> io::Result<Folder> {
        match self.open(root, user_key) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        let clone = self.clone_of(root).ok_or(io::ErrorKind::NotFound)?;
        let (name, key) = (&clone.key, user_key.make_kept()?);
        let make =
            |above: &Folder, name: &str, mode| above.make_folders(name, mode, Durability::Synced, &mut |_| Ok(()));
        let above = make(&Folder::open(&clone.common)?, COMMON, Mode::from_raw_mode(0o777))?;
        if above.is_taken(name)? {
            if above.is_of_other_user(name) {
                return Err(foreign_folder());
            }
            // Another process may have made the folder just now.
            return self.open(root, user_key).or_else(|_| {
                let mut free =
                    (1..).map(|number| format!("{name}-{number}")).filter(|free| above.stat_of(free).is_err());
                rename_new((&above, name), (&above, &free.next().unwrap_or_default()))?;
                self.make(root, user_key)
            });
        }
        // It gets its name when it is sealed, so that no other process finds it without a seal.
        let unnamed = temporary_name();
        let folder = make(&above, &unnamed, Mode::RWXU)?;
        folder.write_private(SEAL, &seal(&key, clone, &folder)?, Durability::Synced)?;
        match rename_new((&above, &unnamed), (&above, name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => above.remove_any(&unnamed)?,
            renamed => renamed?,
        }
        above.sync()?;
        self.open(root, user_key)
    }
}

/// Returns the content of the seal of a folder that this user made.
fn seal(key: &SealKey, clone: &GitClone, folder: &Folder) -> io::Result<Vec<u8>> {
    let stat = File::from(folder.as_fd().try_clone_to_owned()?).metadata()?;
    Ok(key.derive("copies", &place_of_file(&stat, || clone.folder())).line(b""))
}

/// Returns the path below the folder of the copies, if this path names something there.
pub(super) fn path_of_copy(path: &str) -> Option<String> {
    is_copy(path).then(|| path.replacen(COPIES, "journal", 1))
}
