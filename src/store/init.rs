//! Creates a memory.
//!
//! Everything here adds what is missing and leaves the rest alone, so that a second call changes nothing. It is the
//! only place that touches files beside `.ralph/`, such as `.claude/skills`, with the same checks for links.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, mkdirat, renameat, unlinkat};
use rustix::io::Errno;

use super::folder::{FileKind, Folder, check_path, explain, is_missing};
use super::layout::{MEMORY, Store};
use super::make_folders::{NEW_FOLDER, make_folders};
use super::temp::{Durability, rename_new, try_rename_new};
use super::write::Created;
use crate::error::{Error, IoContext as _, Result};

/// Where skills are now, and where earlier programs kept them; relative to the root.
const SKILLS: &str = ".claude/skills";
const OLD_SKILLS: &str = ".ralph/skills";

/// The result of moving the skills of an earlier program. Names are in the order in which they were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MovedSkills {
    /// Those that are in `.claude/skills` now.
    pub moved: Vec<String>,
    /// Those that are in `.ralph/skills` still: the name is taken, or it is a link.
    pub left: Vec<String>,
}

impl Store {
    /// Creates `.ralph/` in `root` if it is missing, and opens it.
    ///
    /// # Errors
    ///
    /// [`Error::OutsideRoot`] when `.ralph` is a link, [`Error::Io`] when it is a file, when `root`
    /// does not exist, and when the file system refuses.
    pub fn create_root(root: &Path) -> Result<Store> {
        let folder = Folder::open_root(root).io("open", root)?;
        let memory = root.join(MEMORY);
        match mkdirat(&folder, MEMORY, NEW_FOLDER) {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                let kind = folder.stat_of(MEMORY).io("open", &memory)?.kind;
                if matches!(kind, FileKind::File | FileKind::Other) {
                    return Err(Error::Io { action: "create", path: memory, source: Errno::NOTDIR.into() });
                }
            }
            Err(error) => return Err(Error::Io { action: "create", path: memory, source: error.into() }),
        }
        Store::open(root)
    }

    /// Creates the folder at `path` and those above it, and returns whether it was missing.
    ///
    /// # Errors
    ///
    /// [`Error::OutsideRoot`] when the path could leave `.ralph/` or leads through a link,
    /// [`Error::Io`] when a file is in the way or the file system refuses.
    pub fn make_folder(&self, path: &str) -> Result<bool> {
        self.make_beside(&format!("{MEMORY}/{path}"))
    }

    /// Creates the file at `path` and the folders that it needs, unless the name is taken. It appears whole or not at
    /// all; it is not made durable.
    ///
    /// # Errors
    ///
    /// Those of [`Store::make_folder`].
    pub fn init_file(&self, path: &str, bytes: &[u8]) -> Result<Created> {
        self.init_file_beside(&format!("{MEMORY}/{path}"), bytes)
    }

    /// Does what [`Store::make_folder`] does, with a path that is relative to the root.
    ///
    /// # Errors
    ///
    /// Those of [`Store::make_folder`].
    pub fn make_beside(&self, path: &str) -> Result<bool> {
        let made = check_path(path).and_then(|()| match self.root_folder.descend(path) {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_folders(&self.root_folder, path, NEW_FOLDER, Durability::Unsynced).map(|_| true)
            }
            Err(error) => Err(error),
        });
        made.map_err(|error| explain("create", self.root().join(path), error))
    }

    /// Does what [`Store::init_file`] does, with a path that is relative to the root.
    ///
    /// # Errors
    ///
    /// Those of [`Store::make_folder`].
    pub fn init_file_beside(&self, path: &str, bytes: &[u8]) -> Result<Created> {
        let made = check_path(path).and_then(|()| {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let folder = make_folders(&self.root_folder, folder, NEW_FOLDER, Durability::Unsynced)?;
            self.create_in(&folder, name, bytes, None, Durability::Unsynced)
        });
        made.map_err(|error| explain("create", self.root().join(path), error))
    }

    /// Moves the content of `.ralph/skills` to `.claude/skills`, one name after the other, and removes the old folder
    /// when it is empty. Without an old folder it does nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Store::make_folder`]. Files that were moved before stay moved.
    pub fn move_skills(&self) -> Result<MovedSkills> {
        let mut result = MovedSkills::default();
        let failed = |error| explain("move", self.root().join(OLD_SKILLS), error);
        let old = match self.root_folder.descend(OLD_SKILLS) {
            Ok(folder) => folder,
            Err(error) if is_missing(&error) => return Ok(result),
            Err(error) => return Err(failed(error)),
        };
        let listing = old.listing().map_err(failed)?;
        if !listing.is_empty() {
            let new = make_folders(&self.root_folder, SKILLS, NEW_FOLDER, Durability::Unsynced)
                .map_err(|error| explain("create", self.root().join(SKILLS), error))?;
            for (name, kind) in listing {
                let moved = self.move_skill(&old, &new, &name, kind).map_err(failed)?;
                let names = if moved { &mut result.moved } else { &mut result.left };
                names.push(name.to_string_lossy().into_owned());
            }
        }
        if result.left.is_empty() {
            let memory = self.folder("").map_err(failed)?;
            // Another program may have put a file there in the meantime, which stays.
            let _ = unlinkat(&memory, "skills", AtFlags::REMOVEDIR);
        }
        result.moved.sort();
        result.left.sort();
        Ok(result)
    }

    /// Returns whether one name was moved.
    fn move_skill(&self, old: &Folder, new: &Folder, name: &OsStr, kind: FileKind) -> io::Result<bool> {
        // A relative link would point elsewhere from its new place.
        let Some(name) = name.to_str().filter(|_| matches!(kind, FileKind::File | FileKind::Folder)) else {
            return Ok(false);
        };
        if new.stat_of(name).is_ok() {
            return Ok(false);
        }
        let (here, there) = ((old, name), (new, name));
        let moved = match kind {
            FileKind::Folder => try_rename_new(self.abilities, here, there).and_then(|done| {
                // It replaces nothing but an empty folder that appeared after the check above.
                if done { Ok(()) } else { Ok(renameat(old, name, new, name)?) }
            }),
            _ => rename_new(self.abilities, here, there),
        };
        match moved {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }
}
