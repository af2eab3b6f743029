//! Creates a memory.
//!
//! Everything here adds what is missing and leaves the rest alone, so that a second call changes nothing. It is the
//! only place that touches files beside `.ralph/`, such as `.claude/skills`, with the same checks for links.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::folder::{FileKind, Folder, check_path, explain, is_missing, split};
use super::layout::{MEMORY, Store};
use super::make_folders::NEW_FOLDER;
use super::temp::{Access, Durability, rename_new};
use super::write::Created;
use crate::error::{IoContext as _, Result};
use crate::system::posix::fs::{AtFlags, unlinkat};

/// Where skills are now, and where earlier programs kept them; relative to the root.
const SKILLS: &str = ".claude/skills";
const OLD_SKILLS: &str = ".ralph/skills";

impl Store {
    /// Creates `.ralph/` in `root` if it is missing, and opens it.
    ///
    /// # Errors
    ///
    /// [`Error::OutsideRoot`](crate::error::Error::OutsideRoot) when `.ralph` is a link,
    /// [`Error::Io`](crate::error::Error::Io) when it is a file, when `root`
    /// does not exist, and when the file system refuses.
    pub fn create_root(root: &Path) -> Result<Store> {
        let folder = Folder::open(root).io("open", root)?;
        folder
            .make_folders(MEMORY, NEW_FOLDER, Durability::Unsynced, &mut |_| Ok(()))
            .map_err(|error| explain("create", root.join(MEMORY), error))?;
        Store::open_any(root)
    }

    /// Creates the folder at `path`, which is relative to the root, and those above it, and returns whether it was missing.
    ///
    /// # Errors
    ///
    /// [`Error::OutsideRoot`](crate::error::Error::OutsideRoot) when the path could leave the root or leads through a link,
    /// [`Error::Io`](crate::error::Error::Io) when a file is in the way or the file system refuses.
    pub fn make_folder(&self, path: &str) -> Result<bool> {
        self.make_at_root(path).map(|(_, is_new)| is_new)
    }

    /// Opens the folder at `path`, which is relative to the root, creates it if it is missing, and returns whether it was.
    fn make_at_root(&self, path: &str) -> Result<(Folder, bool)> {
        let mut is_new = false;
        let mut note = |_: &str| {
            is_new = true;
            Ok(())
        };
        match self.root_folder.make_folders(path, NEW_FOLDER, Durability::Unsynced, &mut note) {
            Ok(folder) => Ok((folder, is_new)),
            Err(error) => Err(explain("create", self.root().join(path), error)),
        }
    }

    /// Creates the file at `path`, which is relative to the root, and the folders that it needs, unless the name is taken. It
    /// appears whole or not at all; it is not made durable.
    ///
    /// # Errors
    ///
    /// Those of [`Store::make_folder`].
    pub fn init_file(&self, path: &str, bytes: &[u8]) -> Result<Created> {
        let failed = |error| explain("create", self.root().join(path), error);
        check_path(path).map_err(failed)?;
        let (folder, name) = split(path);
        self.make_at_root(folder)?.0.create_file(name, bytes, Access::New, Durability::Unsynced).map_err(failed)
    }

    /// Moves the content of `.ralph/skills` to `.claude/skills`, one name after another, and removes the old folder
    /// when it is empty. Without an old folder it does nothing. Returns the names that were moved, and those that were
    /// left because the name is taken or is a link.
    ///
    /// # Errors
    ///
    /// Those of [`Store::make_folder`]. Files that were moved before stay moved.
    pub fn move_skills(&self) -> Result<(Vec<String>, Vec<String>)> {
        let (mut moved, mut left) = (Vec::new(), Vec::new());
        let failed = |error| explain("move", self.root().join(OLD_SKILLS), error);
        let old = match self.root_folder.descend(OLD_SKILLS) {
            Ok(folder) => folder,
            Err(error) if is_missing(&error) => return Ok((moved, left)),
            Err(error) => return Err(failed(error)),
        };
        let listing = old.listing().map_err(failed)?;
        if !listing.is_empty() {
            let (new, _) = self.make_at_root(SKILLS)?;
            for (name, kind) in listing {
                let is_moved = move_skill(&old, &new, &name, kind).map_err(failed)?;
                let names = if is_moved { &mut moved } else { &mut left };
                names.push(name.to_string_lossy().into_owned());
            }
        }
        if left.is_empty() {
            drop(old);
            let memory = self.folder("").map_err(failed)?;
            // Another program may have put a file there in the meantime, which stays.
            let _ = unlinkat(&memory, "skills", AtFlags::REMOVEDIR);
        }
        moved.sort();
        left.sort();
        Ok((moved, left))
    }
}

/// Returns whether one name was moved.
fn move_skill(old: &Folder, new: &Folder, name: &OsStr, kind: FileKind) -> io::Result<bool> {
    // A relative link would point elsewhere from its new place.
    let Some(name) = name.to_str().filter(|_| matches!(kind, FileKind::File | FileKind::Folder)) else {
        return Ok(false);
    };
    if new.stat_of(name).is_ok() {
        return Ok(false);
    }
    match rename_new((old, name), (new, name)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        moved => moved.map(|()| true),
    }
}
