//! The folder in git's common folder in which all work trees of a clone keep copies: finds, seals and opens it.
//!
//! It is `ralph-memory/KEY/`, with the mode 0700. KEY is made of the memory's place, the user id and the user's key: another home
//! of the user has another folder. It is sealed with the key: what an unpacked archive brings is not read.
//! This file knows nothing about the copies.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::clone::GitClone;
use super::folder::{Folder, foreign_folder, split};
use super::seal::{SealKey, hex_digits};
use super::temp::{Durability, rename_new, temporary_name};
use super::user_key::{UserKey, place_of_file};
use crate::entry::MAX_FILE_BYTES;
use crate::entry::path::{COPIES, is_copy};
use crate::system::posix::fd::AsFd as _;
use crate::system::posix::fs::Mode;
use crate::system::posix::process::geteuid;

/// The folder in git's common folder.
const COMMON: &str = "ralph-memory";
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

    /// Returns the folder's path; `None` without git, or without a key.
    pub(super) fn path(&self, root: &Path, user_key: &UserKey) -> Option<PathBuf> {
        let clone = self.clone_of(root)?;
        Some(clone.path(COMMON).join(name_of(clone, &user_key.kept()?)))
    }

    /// Opens the folder.
    ///
    /// # Errors
    ///
    /// `NotFound` if this user made no such folder here, and those of the file system.
    pub(super) fn open(&self, root: &Path, user_key: &UserKey) -> io::Result<Folder> {
        let clone = self.clone_of(root).ok_or(io::ErrorKind::NotFound)?;
        let key = user_key.kept().ok_or(io::ErrorKind::NotFound)?;
        let folder = clone.open()?.descend(&format!("{COMMON}/{}", name_of(clone, &key)))?;
        let ino = folder.stat()?.ino;
        if self.sealed.load(Ordering::Relaxed) != ino {
            if !is_sealed(&key, clone, &folder)? {
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
        let key = user_key.make_kept()?;
        let name = &name_of(clone, &key);
        let make =
            |above: &Folder, name: &str, mode| above.make_folders(name, mode, Durability::Synced, &mut |_| Ok(()));
        let above = make(&clone.open()?, COMMON, Mode::from_raw_mode(0o777))?;
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
        // Windows renames and removes no folder that is open.
        drop(folder);
        match rename_new((&above, &unnamed), (&above, name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => above.remove_any(&unnamed)?,
            renamed => renamed?,
        }
        above.sync()?;
        self.open(root, user_key)
    }

    /// Moves what is in the folders of `former`, which this user sealed, to the folder of this memory. A file with another
    /// content than that of the same name stays.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such folder, `PermissionDenied` if another user or home sealed it, and those of the file
    /// system.
    pub(super) fn adopt(&self, root: &Path, user_key: &UserKey, former: &str) -> io::Result<()> {
        let (clone, key) = self.clone_of(root).zip(user_key.kept()).ok_or(io::ErrorKind::NotFound)?;
        let above = clone.open()?.descend(COMMON)?;
        let from = above.descend(former)?;
        if !is_sealed(&key, clone, &from)? {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let to = self.make(root, user_key)?;
        let paths = from.files(&|path| path.contains('/')).paths;
        let move_file = |path: &String| {
            let (parent, name) = from.parent(path)?;
            let target = to.make_folders(split(path).0, Mode::RWXU, Durability::Synced, &mut |_| Ok(()))?;
            match rename_new((&parent, name), (&target, name)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let [one, other] = [&parent, &target].map(|folder| folder.read(name, MAX_FILE_BYTES).ok());
                    Ok(one == other)
                }
                moved => moved.map(|()| true),
            }
        };
        let moved: Vec<bool> = paths.iter().map(move_file).collect::<io::Result<_>>()?;
        drop(from);
        if moved.into_iter().all(|is_moved| is_moved) { above.remove_any(former) } else { Ok(()) }
    }

    /// Returns the folders of this memory that are not sealed with the user's key: of another user or home, or made elsewhere.
    pub(super) fn foreign(&self, root: &Path, user_key: &UserKey) -> Vec<PathBuf> {
        let Some(clone) = self.clone_of(root) else { return Vec::new() };
        let own = self.path(root, user_key).filter(|_| self.open(root, user_key).is_ok());
        let mut found = folders_of(clone);
        found.retain(|path| Some(path) != own.as_ref());
        found
    }

    /// Returns all folders of this memory, whoever made them and whatever the settings say.
    pub(super) fn all(root: &Path) -> Vec<PathBuf> {
        GitClone::of(root).map(|clone| folders_of(&clone)).unwrap_or_default()
    }
}

fn name_of(clone: &GitClone, key: &SealKey) -> String {
    let id = hex_digits(&key.short_sum(&[b"copies of"]));
    format!("{}-{}", clone.key, &id[..8])
}

/// Returns the folders of a memory, whoever made them, sorted.
fn folders_of(clone: &GitClone) -> Vec<PathBuf> {
    let above = clone.path(COMMON);
    let names = clone.open().and_then(|common| common.descend(COMMON)?.names()).unwrap_or_default();
    let is_of_memory = |name: &&std::ffi::OsString| name.to_str().is_some_and(|name| name.starts_with(&clone.key));
    let mut found: Vec<PathBuf> = names.iter().filter(is_of_memory).map(|name| above.join(name)).collect();
    found.sort();
    found
}

fn is_sealed(key: &SealKey, clone: &GitClone, folder: &Folder) -> io::Result<bool> {
    let is_own = folder.owner()? == geteuid().as_raw();
    Ok(is_own && folder.read(SEAL, MAX_FILE_BYTES).ok() == Some(seal(key, clone, folder)?))
}

fn seal(key: &SealKey, clone: &GitClone, folder: &Folder) -> io::Result<Vec<u8>> {
    let opened = File::from(folder.as_fd().try_clone_to_owned()?);
    Ok(key.derive("copies", &place_of_file(&opened, || clone.path(&name_of(clone, key)))?).line(b""))
}

/// Returns the path below the folder of the copies, if this path names something there.
pub(super) fn path_of_copy(path: &str) -> Option<String> {
    is_copy(path).then(|| path.replacen(COPIES, "journal", 1))
}
