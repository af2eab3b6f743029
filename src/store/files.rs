//! Files in an open folder: those in `cache/` and `state/`, and those of a project or a home.
//!
//! Names are resolved in the open folder, because the folder may come with a repository and may be exchanged while it
//! is in use. No link below it is followed, and nothing but a regular file is replaced. This file knows nothing about
//! the meaning of files.

use std::fs::File;
use std::io::{self, Write as _};

use super::folder::{FileKind, Folder, check_name, check_path, regular, split};
use super::make_folders::NEW_FOLDER;
use super::private::make_private;
use super::temp::{Access, Durability, PRIVATE_FILE, Temp, rename_new};
use super::visit::MAX_DEPTH;
use super::write::Created;
use crate::system::posix::fd::AsFd as _;
use crate::system::posix::fs::{AtFlags, OFlags, openat, renameat, unlinkat};
use crate::system::posix::io::Errno;

impl Folder {
    /// Creates a file of this name that only this user can read, and opens it for writing.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` when the name is taken, even by a link, and those of [`Folder::open_file`].
    pub(crate) fn create_private(&self, name: &str) -> io::Result<File> {
        self.open_private(name, OFlags::WRONLY | OFlags::EXCL)
    }

    /// Opens the file `name` in this folder to lock it, and creates it if it is missing. Nobody else can open it from then
    /// on: whoever can open a file can lock it, for as long as they like.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::open_file`].
    pub(crate) fn open_lock_file(&self, name: &str) -> io::Result<File> {
        let file = self.open_private(name, OFlags::RDWR)?;
        make_private(file.as_fd(), PRIVATE_FILE)?;
        Ok(file)
    }

    /// Adds bytes at the end of the file `name` in this folder, which must exist: nothing is created.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::open_file`].
    pub(crate) fn append_file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        check_name(name)?;
        let file = self.open_below(name, OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        regular(file.into())?.write_all(bytes)
    }

    /// Adds bytes at the end of the file `name` in this folder, which only this user can read and which is created if it is
    /// missing. Returns its length.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::open_file`].
    pub(crate) fn append_private(&self, name: &str, bytes: &[u8]) -> io::Result<u64> {
        let mut file = self.open_private(name, OFlags::WRONLY | OFlags::APPEND)?;
        file.write_all(bytes)?;
        Ok(file.metadata()?.len())
    }

    /// Opens the file `name` in this folder with these flags. If it is missing, it is created for this user alone.
    pub(super) fn open_private(&self, name: &str, flags: OFlags) -> io::Result<File> {
        check_name(name)?;
        let flags = flags | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        regular(openat(self, name, flags, PRIVATE_FILE)?.into())
    }

    /// Writes the file `name` in this folder, replacing an older one; a reader always sees a complete file. It is not
    /// made durable, and only this user can read it.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::open_file`]; an older file is then unchanged.
    pub(crate) fn replace_file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_private(name, bytes, Durability::Unsynced)
    }

    /// Does the same, and makes the file durable if `durability` asks for it.
    pub(super) fn write_private(&self, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        check_name(name)?;
        let temp = Temp::write(self, bytes, Access::Mode(PRIVATE_FILE), durability)?;
        renameat(self, temp.name(), self, name)?;
        temp.keep();
        if durability == Durability::Synced {
            // The file is in place; the rest depends on the system.
            let _ = self.sync();
        }
        Ok(())
    }

    /// Creates a file of this single name, unless the name is taken.
    pub(super) fn create_file(
        &self,
        name: &str,
        bytes: &[u8],
        access: Access<'_>,
        durability: Durability,
    ) -> io::Result<Created> {
        if self.is_taken(name)? {
            return Ok(Created::Exists);
        }
        let temp = Temp::write(self, bytes, access, durability)?;
        match rename_new((self, temp.name()), (self, name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Created::Exists),
            renamed => renamed?,
        }
        temp.keep();
        if durability == Durability::Synced {
            self.sync().inspect_err(|_| {
                // The caller will assume that there is no such file, and may create it again.
                let _ = unlinkat(self, name, AtFlags::empty());
            })?;
        }
        Ok(Created::Made)
    }

    /// Returns whether anything has this name.
    pub(super) fn is_taken(&self, name: &str) -> io::Result<bool> {
        match self.stat_of(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            stat => stat.map(|_| true),
        }
    }

    /// Creates a file below this folder, and the folders that it needs; returns these, outermost first. A name that is
    /// taken is the error `AlreadyExists`.
    pub(crate) fn create(&self, path: &str, bytes: &[u8]) -> io::Result<Vec<String>> {
        check_path(path)?;
        let (parents, name) = split(path);
        let mut made = Vec::new();
        let mut note = |folder: &str| {
            made.push(folder.to_owned());
            Ok(())
        };
        let folder = self.make_folders(parents, NEW_FOLDER, Durability::Synced, &mut note);
        let created = match folder.and_then(|folder| folder.create_file(name, bytes, Access::New, Durability::Synced)) {
            Ok(Created::Made) => return Ok(made),
            Ok(Created::Exists) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) => Err(error),
        };
        for folder in made.iter().rev() {
            let _ = unlinkat(self, folder.as_str(), AtFlags::REMOVEDIR);
        }
        created
    }

    /// Removes the file `name` in this folder. A link is removed itself, not its target.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::open_file`].
    pub(crate) fn remove_file(&self, name: &str) -> io::Result<()> {
        check_name(name)?;
        Ok(unlinkat(self, name, AtFlags::empty())?)
    }

    /// Removes whatever has this name in this folder, a folder with all its content.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::clear`].
    pub(crate) fn remove_any(&self, name: &str) -> io::Result<()> {
        if self.stat_of(name)?.kind != FileKind::Folder {
            return self.remove_file(name);
        }
        self.descend(name)?.clear()?;
        Ok(unlinkat(self, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes a folder below this one if it is empty. Returns whether it is gone.
    pub(crate) fn remove_folder(&self, path: &str) -> io::Result<bool> {
        let (parent, name) = self.parent(path)?;
        match unlinkat(&parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes everything in this folder.
    ///
    /// # Errors
    ///
    /// Those of the file system. Files that were removed before stay removed.
    pub(crate) fn clear(&self) -> io::Result<()> {
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

    /// Returns whether anything exists at this path below the folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.parent(path).is_ok_and(|(folder, name)| folder.stat_of(name).is_ok())
    }
}
