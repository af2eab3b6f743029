//! Files that can be rebuilt: those in `cache/`, and the notes of running iterations in `state/`.
//!
//! They are written by rename, so that a reader sees a whole one, and are not made durable. Only this user can read them.
//! The checks for links are
//! the same as for entries: a repository can contain `.ralph/cache` as a link to anywhere.

use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, OFlags, openat, unlinkat};

use super::folder::{explain, regular};
use super::layout::{Store, from_root};
use super::lock::{Guarded, Lock};
use super::temp::{Durability, PRIVATE_FILE};
use crate::error::Result;

impl Store {
    /// Writes the file `name` below `cache/`, replacing an older one, and creates the folders that it needs.
    ///
    /// # Errors
    ///
    /// Those of the file system; an older file is then unchanged.
    pub fn write_cache(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_unsynced("cache", name, bytes)
    }

    /// Opens the file `name` below `cache/` for reading.
    ///
    /// # Errors
    ///
    /// Those of [`Store::folder`], and those of the file system.
    pub fn open_cache(&self, name: &str) -> io::Result<File> {
        let path = from_root(&format!("cache/{name}"));
        regular(self.root_folder.open_below(&path, OFlags::RDONLY | OFlags::NONBLOCK)?.into())
    }

    /// Opens the file `name` below `cache/` for reading and for appending. Creates it, and the folders that it needs,
    /// if it is missing.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open_cache`].
    pub fn append_cache(&self, name: &str) -> io::Result<File> {
        let path = format!("cache/{name}");
        let (folder, name) = self.make_parent(&path, Durability::Unsynced)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        regular(openat(&folder, name, flags | OFlags::CLOEXEC, PRIVATE_FILE)?.into())
    }

    /// Removes the file `name` below `cache/`, and returns whether there was one.
    ///
    /// # Errors
    ///
    /// Those of [`Store::folder`], and those of the file system.
    pub fn remove_cache(&self, name: &str) -> io::Result<bool> {
        self.remove_unsynced("cache", name)
    }

    /// Writes the file `name` below `state/`, replacing an older one.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::OutsideRoot`] and [`crate::error::Error::Io`]; an older file is then unchanged.
    pub fn write_state(&self, lock: &Lock, name: &str, bytes: &[u8]) -> Result<()> {
        lock.assert_guards(Guarded::Entries);
        self.write_unsynced("state", name, bytes).map_err(|error| explain("write", self.state().join(name), error))
    }

    /// Removes the file `name` below `state/`, and returns whether there was one.
    ///
    /// # Errors
    ///
    /// Those of [`Store::write_state`].
    pub fn remove_state(&self, lock: &Lock, name: &str) -> Result<bool> {
        lock.assert_guards(Guarded::Entries);
        self.remove_unsynced("state", name).map_err(|error| explain("remove", self.state().join(name), error))
    }

    fn write_unsynced(&self, area: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = format!("{area}/{name}");
        let (folder, name) = self.make_parent(&path, Durability::Unsynced)?;
        folder.replace_file(name, bytes)
    }

    fn remove_unsynced(&self, area: &str, name: &str) -> io::Result<bool> {
        let path = format!("{area}/{name}");
        let removed = self.open_parent(&path).and_then(|(folder, name)| Ok(unlinkat(&folder, name, AtFlags::empty())?));
        match removed {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}
