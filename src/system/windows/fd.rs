//! Handles of files in the place of descriptors: those of folders with their paths.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// An open file or folder.
#[derive(Debug)]
pub struct OwnedFd {
    pub(super) file: File,
    /// Where a folder is: the path without links. Nothing else can get it as long as the folder is open.
    pub(super) path: PathBuf,
}

impl OwnedFd {
    pub(crate) fn try_clone(&self) -> io::Result<OwnedFd> {
        self.as_fd().try_clone_to_owned()
    }
}

impl From<OwnedFd> for File {
    fn from(opened: OwnedFd) -> File {
        opened.file
    }
}

/// An open file, or an open folder with its path.
#[derive(Debug, Clone, Copy)]
pub struct BorrowedFd<'a> {
    pub(super) file: &'a File,
    pub(super) path: Option<&'a Path>,
}

impl BorrowedFd<'_> {
    pub(crate) fn try_clone_to_owned(self) -> io::Result<OwnedFd> {
        Ok(OwnedFd { file: self.file.try_clone()?, path: self.path.unwrap_or(Path::new("")).to_owned() })
    }
}

/// What is an open file or folder.
pub trait AsFd {
    fn as_fd(&self) -> BorrowedFd<'_>;
}

impl AsFd for OwnedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        BorrowedFd { file: &self.file, path: Some(&self.path) }
    }
}

impl AsFd for BorrowedFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        *self
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        BorrowedFd { file: self, path: None }
    }
}

impl<T: AsFd> AsFd for &T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}
