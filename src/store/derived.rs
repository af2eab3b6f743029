//! Files in an open folder of `cache/` or `state/`: those of the search index, and git's working files.
//!
//! They can be rebuilt, so they are not made durable. Only this user can read them. Such a folder may come with a repository, and may be exchanged
//! while it is in use: names are resolved in the folder that is open, and no link is followed.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use rustix::fs::{AtFlags, OFlags, openat, renameat, unlinkat};

use super::folder::{FileKind, Folder, check_name, regular};
use super::layout::Store;
use super::private::make_private;
use super::sweep::is_alive;
use super::temp::{Access, Durability, PRIVATE_FILE, Temp};

/// Where git works, below `state/`, and where it puts objects there.
const SCRATCH: &str = "state/git";
const OBJECTS: &str = "state/git/objects";
/// How many files git may leave there: trees of at most some kilobytes.
const MAX_OBJECTS: usize = 20_000;
/// How many folders deep the search goes; this program writes nothing deeper.
const MAX_DEPTH: usize = 32;

impl Folder {
    /// Opens the regular file `name` in this folder for reading.
    ///
    /// # Errors
    ///
    /// `NotFound`, `InvalidInput` when it is not a regular file or `name` is not a single name, `ELOOP` when it is a
    /// link, and those of the file system.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        check_name(name)?;
        regular(self.open_below(name, OFlags::RDONLY | OFlags::NONBLOCK)?.into())
    }

    /// Creates the file `name` in this folder.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` when the name is taken, and those of [`Folder::open_file`].
    pub fn make_file(&self, name: &str) -> io::Result<File> {
        self.open_new(name, OFlags::WRONLY | OFlags::EXCL)
    }

    /// Opens the file `name` in this folder to lock it, and creates it if it is missing. Nobody else can open it from then
    /// on: whoever can open a file can lock it, for as long as they like.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::open_file`].
    pub fn open_lock_file(&self, name: &str) -> io::Result<File> {
        let file = self.open_new(name, OFlags::RDWR)?;
        make_private(file.as_fd(), 0o600)?;
        Ok(file)
    }

    fn open_new(&self, name: &str, flags: OFlags) -> io::Result<File> {
        check_name(name)?;
        let flags = flags | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        regular(openat(self, name, flags, PRIVATE_FILE)?.into())
    }

    /// Writes the file `name` in this folder, replacing an older one; a reader sees a whole one.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::open_file`]; an older file is then unchanged.
    pub fn replace_file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        check_name(name)?;
        let temp = Temp::write(self, bytes, Access::Mode(PRIVATE_FILE.as_raw_mode()), Durability::Unsynced)?;
        renameat(self, temp.name(), self, name)?;
        temp.keep();
        Ok(())
    }

    /// Removes the file `name` in this folder; of a link, the link itself.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::open_file`].
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        check_name(name)?;
        Ok(unlinkat(self, name, AtFlags::empty())?)
    }

    /// Removes whatever has this name in this folder; of a folder, all that is in it.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::clear`].
    pub fn remove_any(&self, name: &str) -> io::Result<()> {
        if self.stat_of(name)?.kind != FileKind::Folder {
            return self.remove_file(name);
        }
        self.descend(name)?.clear()?;
        Ok(unlinkat(self, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes everything in this folder.
    ///
    /// # Errors
    ///
    /// Those of the file system. Files that were removed before stay removed.
    pub fn clear(&self) -> io::Result<()> {
        self.clear_below(MAX_DEPTH)
    }

    fn clear_below(&self, depth: usize) -> io::Result<()> {
        for (name, kind) in self.listing()? {
            let flags = if kind == FileKind::Folder {
                let depth = depth.checked_sub(1).ok_or(io::ErrorKind::InvalidInput)?;
                self.enter(&name)?.clear_below(depth)?;
                AtFlags::REMOVEDIR
            } else {
                AtFlags::empty()
            };
            match unlinkat(self, &name, flags).map_err(io::Error::from) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns how many files are in this folder and below it, counted up to `most`; `None` if there are more, or if
    /// one of them is a link.
    fn count(&self, depth: usize, most: usize) -> io::Result<Option<usize>> {
        let mut n_files = 0;
        for (name, kind) in self.listing()? {
            n_files += match kind {
                FileKind::Folder if depth > 0 => match self.enter(&name)?.count(depth - 1, most - n_files)? {
                    Some(n_below) => n_below,
                    None => return Ok(None),
                },
                FileKind::Link | FileKind::Folder => return Ok(None),
                FileKind::File | FileKind::Other => 1,
            };
            if n_files > most {
                return Ok(None);
            }
        }
        Ok(Some(n_files))
    }

    /// Removes the files in this folder that git wrote for a process that has ended: its own index.
    fn sweep_indexes(&self) -> io::Result<()> {
        for (name, _) in self.listing()? {
            let process = name.to_str().and_then(|name| name.strip_prefix("index-")?.split('-').next()?.parse().ok());
            if process.is_some_and(|process| !is_alive(process)) {
                // A missing one was removed by another process that does the same.
                let _ = unlinkat(self, &name, AtFlags::empty());
            }
        }
        Ok(())
    }
}

impl Store {
    /// Opens the folder `name` below `cache/`, and creates it if it is missing. The empty name is `cache/` itself.
    ///
    /// # Errors
    ///
    /// Those of [`Store::folder`], and those of the file system.
    pub fn make_cache_folder(&self, name: &str) -> io::Result<Folder> {
        let path = if name.is_empty() { "cache".to_owned() } else { format!("cache/{name}") };
        self.make_folders(&path, Durability::Unsynced)
    }

    /// Opens the folder `name` below `state/`, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// Those of [`Store::folder`], and those of the file system.
    pub fn make_state_folder(&self, name: &str) -> io::Result<Folder> {
        self.make_folders(&format!("state/{name}"), Durability::Unsynced)
    }

    /// Creates the folder for git's working files, and returns its path: git cannot open our descriptors. Links from a
    /// repository could lead git elsewhere, so a folder with a link in it is emptied. So is one with very many files:
    /// iterations that are never finished would fill the disk with their trees.
    ///
    /// # Errors
    ///
    /// Those of [`Store::folder`], and those of the file system.
    pub fn make_scratch(&self) -> io::Result<PathBuf> {
        match self.folder(SCRATCH) {
            Ok(scratch) if scratch.count(MAX_DEPTH, MAX_OBJECTS)?.is_none() => scratch.clear()?,
            Ok(scratch) => scratch.sweep_indexes()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => self.folder("state")?.remove_file("git")?,
        }
        self.make_folders(OBJECTS, Durability::Unsynced)?;
        Ok(self.full_path(SCRATCH))
    }

    /// Removes git's working files.
    ///
    /// # Errors
    ///
    /// Those of [`Store::folder`], and those of the file system.
    pub fn clear_scratch(&self) -> io::Result<()> {
        self.folder(SCRATCH)?.clear()?;
        Ok(unlinkat(&self.folder("state")?, "git", AtFlags::REMOVEDIR)?)
    }
}
