//! Files that can be rebuilt: those in `cache/`, the notes of running iterations in `state/`, and git's working files there.
//!
//! They are written by rename, so a reader always sees a complete file, and are not made durable. Only this user can
//! read them. The checks for links are the same as for entries: a repository can contain `.ralph/cache` as a link to
//! anywhere.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use super::folder::{FileKind, Folder, explain};
use super::layout::{Store, from_root};
use super::lock::{Guarded, Lock};
use super::sweep::is_alive;
use super::visit::{MAX_DEPTH, Visited};
use crate::error::Result;
use crate::system::posix::fs::{AtFlags, OFlags, unlinkat};

/// Where git works, below `state/`, and where it puts objects there.
const SCRATCH: &str = "state/git";
const OBJECTS: &str = "state/git/objects";
/// How many files git may leave there: trees of at most a few kilobytes.
const MAX_OBJECTS: usize = 20_000;

impl Store {
    /// Writes the file `name` below `cache/`, replacing an older one, and creates the folders that it needs.
    ///
    /// # Errors
    ///
    /// Those of the file system; an older file is then unchanged.
    pub fn write_cache(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_unsynced(&format!("cache/{name}"), bytes)
    }

    /// Opens the file `name` below `cache/` for reading.
    ///
    /// # Errors
    ///
    /// Those of [`Store::folder`], and those of the file system.
    pub fn open_cache(&self, name: &str) -> io::Result<File> {
        self.root_folder.open_file(&from_root(&format!("cache/{name}")))
    }

    /// Opens the file `name` below `cache/` for reading and for appending. Creates it, and the folders that it needs,
    /// if it is missing.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open_cache`].
    pub fn append_cache(&self, name: &str) -> io::Result<File> {
        let path = format!("cache/{name}");
        let (folder, name) = self.make_parent(&path)?;
        folder.open_private(name, OFlags::RDWR | OFlags::APPEND)
    }

    /// Removes the file `name` below `cache/`, and returns whether there was one.
    ///
    /// # Errors
    ///
    /// Those of [`Store::folder`], and those of the file system.
    pub fn remove_cache(&self, name: &str) -> io::Result<bool> {
        self.remove_unsynced(&format!("cache/{name}"))
    }

    /// Writes the file `name` below `state/`, replacing an older one.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::OutsideRoot`] and [`crate::error::Error::Io`]; an older file is then unchanged.
    pub fn write_state(&self, lock: &Lock, name: &str, bytes: &[u8]) -> Result<()> {
        lock.assert_guards(Guarded::Entries);
        let written = self.write_unsynced(&format!("state/{name}"), bytes);
        written.map_err(|error| explain("write", self.state().join(name), error))
    }

    /// Removes the file `name` below `state/`, and returns whether there was one.
    ///
    /// # Errors
    ///
    /// Those of [`Store::write_state`].
    pub fn remove_state(&self, lock: &Lock, name: &str) -> Result<bool> {
        lock.assert_guards(Guarded::Entries);
        let removed = self.remove_unsynced(&format!("state/{name}"));
        removed.map_err(|error| explain("remove", self.state().join(name), error))
    }

    fn write_unsynced(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let (folder, name) = self.make_parent(path)?;
        folder.replace_file(name, bytes)
    }

    fn remove_unsynced(&self, path: &str) -> io::Result<bool> {
        match self.open_parent(path).and_then(|(folder, name)| folder.remove_file(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true),
        }
    }

    /// Opens the folder `name` below `cache/`, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// Those of [`Store::folder`], and those of the file system.
    pub fn make_cache_folder(&self, name: &str) -> io::Result<Folder> {
        self.make_folders(&format!("cache/{name}"))
    }

    /// Opens the folder `name` below `state/`, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// Those of [`Store::folder`], and those of the file system.
    pub fn make_state_folder(&self, name: &str) -> io::Result<Folder> {
        self.make_folders(&format!("state/{name}"))
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
            Ok(scratch) => scratch.tidy_scratch()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => self.folder("state")?.remove_file("git")?,
        }
        self.make_folders(OBJECTS)?;
        Ok(self.full_path(SCRATCH))
    }

    /// Removes git's working files.
    ///
    /// # Errors
    ///
    /// Those of [`Store::folder`], and those of the file system.
    pub fn clear_scratch(&self) -> io::Result<()> {
        self.folder(SCRATCH)?.clear()?;
        self.folder("state")?.remove_folder("git").map(drop)
    }
}

impl Folder {
    /// Removes the index files that git wrote for processes that have ended. Removes everything if there is a link or
    /// there are too many files.
    fn tidy_scratch(&self) -> io::Result<()> {
        let mut n_files = 0;
        let counted = self.visit("", &mut |path, visited| {
            let (folder, name, kind) = match visited {
                Visited::Name(folder, name, kind) => (folder, name, kind),
                Visited::Closed(error) => return Err(Some(error)),
            };
            match kind {
                FileKind::Folder if path.matches('/').count() < MAX_DEPTH => return Ok(true),
                FileKind::Folder | FileKind::Link => return Err(None),
                FileKind::File | FileKind::Other => n_files += 1,
            }
            let process = path.strip_prefix("index-").and_then(|name| name.split('-').next()?.parse().ok());
            if process.is_some_and(|process| !is_alive(process)) {
                // If it is missing, another process doing the same removed it.
                let _ = unlinkat(folder, name, AtFlags::empty());
            }
            if n_files > MAX_OBJECTS { Err(None) } else { Ok(false) }
        });
        match counted {
            Ok(()) => Ok(()),
            Err(None) => self.clear(),
            Err(Some(error)) => Err(error),
        }
    }
}
