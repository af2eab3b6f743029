//! Copies of attempts in git's common folder, for all work trees of a clone.
//!
//! Work trees are thrown away, and a branch hides what another one recorded. So whatever creates, replaces, moves or
//! removes an attempt's file does the same to its copy, in `ralph-memory/KEY/` of git's common folder, and readers see the
//! copies that have no file here at paths below [`COPIES`]. The entries of linked work trees are copied too, to a folder for
//! each tree that nothing reads but `check` and `restore`. A file that cannot be copied counts alone, until
//! `workspace/copies.rs` finds that it has no copy.
//!
//! The folder is sealed with the user's key: what an unpacked archive brings is not read.

use std::io;
use std::time::SystemTime;

use chrono::{DateTime, Utc};

use super::common::path_of_copy;
use super::folder::{FileKind, FileStat, Folder, explain, split};
use super::layout::Store;
use super::temp::{Access, Durability, PRIVATE_FILE};
use super::visit::{MAX_DEPTH, Visited};
use super::write::Created;
use crate::entry::path::{COPIES, without_extension};
use crate::entry::{MAX_FILE_BYTES, read};
use crate::error::Result;
use crate::system::posix::fs::{Mode, OFlags};

/// The folder of the entries of linked work trees.
pub(crate) const TREES: &str = "trees";
/// The end of the name of what stands for an attempt that was removed for good.
const FORGOTTEN: &str = ".forgotten";
/// A copy.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Its path below the folder of the copies.
    pub(crate) path: String,
    /// Whether it stands for an attempt that was removed for good.
    pub(crate) is_tombstone: bool,
    pub(crate) size: u64,
    pub(crate) written: DateTime<Utc>,
}

/// What is kept of an entry of a linked work tree that is gone.
#[derive(Debug)]
pub(crate) struct TreeEntry {
    /// The work tree.
    pub(crate) tree: String,
    /// The path that it had there, relative to `.ralph/`.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) written: DateTime<Utc>,
}

impl Store {
    fn copy_of(&self, path: &str) -> Option<String> {
        if path.starts_with("journal/") || path.starts_with("archive/journal/") {
            return Some(path.to_owned());
        }
        let tree = self.git_clone()?.tree.as_ref().filter(|_| path.starts_with("knowledge/"))?;
        Some(format!("{TREES}/{tree}/{path}"))
    }

    /// Copies an attempt that is about to be written to `path`, so that no other work tree takes its name; `None` if
    /// it cannot have a copy.
    pub(super) fn claim(&self, path: &str, bytes: &[u8]) -> Option<Created> {
        let (folder, name) = self.make_copy_parent(path).ok()?;
        let mode = Access::Mode(PRIVATE_FILE);
        let created = folder.create_file(name, bytes, mode, Durability::Synced).ok()?;
        if created == Created::Made {
            let _ = folder.remove_file(&tombstone(name));
        }
        Some(created)
    }

    /// Gives the copy of a file whose bytes were `old` its new bytes. Returns whether it has them now, or need not.
    pub(crate) fn copy(&self, path: &str, old: &[u8], new: &[u8]) -> bool {
        let Some(copy) = self.copy_of(path) else { return true };
        if self.is_forgotten(path) || self.is_of_another(&copy, old) {
            return true;
        }
        let written = self.make_copy_parent(&copy);
        written.and_then(|(folder, name)| folder.write_private(name, new, Durability::Synced)).is_ok()
    }

    /// Gives the copy of a file that was edited since it was copied the bytes of the file. A copy that has them counts as new, so
    /// that they are compared once.
    pub(crate) fn refresh_copy(&self, copy: &Copy) {
        let is_newer = |stat: FileStat| DateTime::from_timestamp_nanos(stat.mtime) > copy.written;
        if !self.stat_of(&copy.path).is_ok_and(is_newer) {
            return;
        }
        let Ok(file) = self.read(&copy.path) else { return };
        if self.read_copy(&copy.path).is_some_and(|bytes| bytes == file.bytes) {
            let opened = self.copies().and_then(|copies| copies.open_below(&copy.path, OFlags::RDONLY));
            let _ = opened.and_then(|opened| std::fs::File::from(opened).set_modified(SystemTime::now()));
        } else {
            self.copy(&copy.path, &file.bytes, &file.bytes);
        }
    }

    /// Copies an attempt that was removed for good, and is there again.
    pub(super) fn revive_copy(&self, path: &str, bytes: &[u8]) {
        let live = live_path(path);
        if let Ok((folder, name)) = self.copies().and_then(|copies| Ok((copies.parent(&live)?.0, split(&live).1))) {
            let _ = folder.remove_file(&tombstone(name));
        }
        self.copy(path, bytes, bytes);
    }

    /// Moves the copy of a file that was moved.
    pub(super) fn move_copy(&self, from: &str, to: &str) {
        if let Ok(file) = self.read(to) {
            if self.copy_of(to).is_some() {
                self.copy(to, &file.bytes, &file.bytes);
            }
            self.drop_copy(from, &file.bytes);
        }
    }

    /// Removes the copy of a file with these bytes. It may come back.
    pub(super) fn drop_copy(&self, path: &str, bytes: &[u8]) {
        if let Some(copy) = self.copy_of(path).filter(|copy| !self.is_of_another(copy, bytes)) {
            self.remove_copy(&copy);
        }
    }

    /// Removes a copy. A failure is harmless.
    pub(crate) fn remove_copy(&self, copy: &str) {
        if let Ok(folder) = self.copies()
            && let Ok((parent, name)) = folder.parent(copy)
            && parent.remove_file(name).is_ok()
        {
            let above = copy.match_indices('/').map(|(at, _)| &copy[..at]).rev();
            let _ = above.take_while(|above| folder.remove_folder(above).is_ok_and(|is_gone| is_gone)).count();
        }
    }

    /// Reads a copy.
    pub(crate) fn read_copy(&self, copy: &str) -> Option<Vec<u8>> {
        self.copies().ok()?.read(copy, MAX_FILE_BYTES).ok()
    }

    /// Removes the copies of an attempt that is removed for good, in all work trees, and keeps its name taken. The file at
    /// `path`, which may be a copy, stays.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if there is a copy that cannot be removed.
    pub(super) fn forget_copy(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let full = || self.copies_path().unwrap_or_default().join(live_path(path));
        self.try_forget(path, bytes).map_err(|error| explain("remove", full(), error))
    }

    fn try_forget(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let live = live_path(path);
        if !live.starts_with("journal/") {
            self.drop_copy(path, bytes);
            return Ok(());
        }
        let copies = match self.copies() {
            // There is no git, or nothing was ever copied.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let places = [live.clone(), format!("archive/{live}")];
        if places.iter().any(|copy| self.is_of_another(copy, bytes)) {
            return Ok(());
        }
        let forget = || {
            let (folder, name) = self.make_copy_parent(&live)?;
            folder.write_private(&tombstone(name), b"", Durability::Synced)
        };
        let has_copy = places.iter().any(|copy| copies.stat_of(copy).is_ok());
        forget().or_else(|error| if has_copy { Err(error) } else { Ok(()) })?;
        let others = places.iter().filter(|copy| Some(copy.as_str()) != path_of_copy(path).as_deref());
        others.for_each(|copy| self.remove_copy(copy));
        Ok(())
    }

    /// Returns whether a copy is of another attempt than the one with these bytes, from a time at which no name could be
    /// claimed. Attempts that began in the same second left their work trees in different states.
    pub(crate) fn is_of_another(&self, copy: &str, bytes: &[u8]) -> bool {
        let is_another = |other: &[u8]| {
            let [one, other] = [bytes, other].map(|bytes| read(copy, bytes).head);
            let [tree, other_tree] = [&one, &other].map(|head| head.attempt.as_ref()?.tree.clone());
            (one.created_at, one.task_id) != (other.created_at, other.task_id)
                || tree.zip(other_tree).is_some_and(|(one, other)| one != other)
        };
        let other = self.read_copy(copy).filter(|other| !copy.starts_with(TREES) && other != bytes);
        other.is_some_and(|other| is_another(&other))
    }

    /// Returns whether what this user records here is copied.
    pub(crate) fn keeps_copies(&self) -> bool {
        // Without a key of its own, a program that links the library keeps no copies.
        self.git_clone().is_some() && self.user_key.has_folders()
    }

    fn is_forgotten(&self, path: &str) -> bool {
        let live = live_path(path);
        let parent = self.copies().and_then(|copies| Ok(copies.parent(&live)?.0));
        parent.is_ok_and(|folder| folder.has(&tombstone(split(&live).1)))
    }

    fn make_copy_parent<'a>(&self, copy: &'a str) -> io::Result<(Folder, &'a str)> {
        let (folder, name) = split(copy);
        let folder = self.make_copies()?.make_folders(folder, Mode::RWXU, Durability::Synced, &mut |_| Ok(()))?;
        Ok((folder, name))
    }

    /// Returns the copies in these folders, and what stands for one.
    pub(crate) fn copies_in(&self, roots: &[&str]) -> Vec<Copy> {
        let mut found = Vec::new();
        let Ok(folder) = self.copies() else { return found };
        for root in roots {
            let Ok(root_folder) = folder.descend(root) else { continue };
            let _ = root_folder.visit(root, &mut |path, visited| {
                let Visited::Name(parent, name, kind) = visited else { return Ok::<_, ()>(false) };
                let attempt = path.strip_suffix(FORGOTTEN);
                if kind == FileKind::File
                    && (attempt.is_some() || without_extension(path).is_some())
                    && let Ok(stat) = parent.stat_of_os(name)
                {
                    let (is_tombstone, written) = (attempt.is_some(), DateTime::from_timestamp_nanos(stat.mtime));
                    let path = attempt.map_or_else(|| path.to_owned(), |attempt| format!("{attempt}.md"));
                    found.push(Copy { path, is_tombstone, size: stat.size, written });
                }
                Ok(kind == FileKind::Folder && path.matches('/').count() < MAX_DEPTH)
            });
        }
        found
    }

    /// Returns the entries of linked work trees that are gone.
    pub(crate) fn entries_of_gone_trees(&self) -> Vec<TreeEntry> {
        let (Some(clone), Ok(folder)) = (self.git_clone(), self.copies()) else { return Vec::new() };
        let of_tree = |copy: Copy| {
            let (tree, path) = copy.path.strip_prefix(TREES)?.strip_prefix('/')?.split_once('/')?;
            let (tree, path) = (tree.to_owned(), path.to_owned());
            let bytes = clone.is_gone(&tree).then(|| folder.read(&copy.path, MAX_FILE_BYTES).ok()).flatten()?;
            Some(TreeEntry { tree, path, bytes, written: copy.written })
        };
        self.copies_in(&[TREES]).into_iter().filter_map(of_tree).collect()
    }
}

fn live_path(path: &str) -> String {
    path.strip_prefix("archive/").unwrap_or(path).replacen(COPIES, "journal", 1)
}

/// Returns the name of what stays of the copy of an attempt that was removed for good.
fn tombstone(name: &str) -> String {
    format!("{}{FORGOTTEN}", name.strip_suffix(".md").unwrap_or(name))
}
