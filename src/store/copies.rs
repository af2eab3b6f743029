//! Copies of attempts in git's common folder, for all work trees of a clone.
//!
//! Work trees are thrown away, and a branch hides what another one recorded. So whatever creates, replaces, moves or
//! removes an attempt's file does the same to its copy, in `ralph-memory/KEY/` of git's common folder, and readers see the
//! copies that have no file here at paths below [`COPIES`]. The entries of linked work trees are copied too, to a folder for
//! each tree that nothing reads but `check` and `restore`. A file that cannot be copied counts alone, and a later command
//! copies it.
//!
//! The folder is sealed with the user's key: what an unpacked archive brings is not read.

use std::io;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use rustix::fs::Mode;

use super::clone::COMMON;
use super::folder::{FileKind, Folder, is_missing, split};
use super::layout::Store;
use super::temp::{Access, Durability, PRIVATE_FILE};
use super::visit::{MAX_DEPTH, Visited};
use super::write::Created;
use crate::entry::MAX_FILE_BYTES;
use crate::entry::path::COPIES;

/// The folder of the entries of linked work trees.
const TREES: &str = "trees";
/// The file in `state/` that names what could not be copied.
const UNCOPIED: &str = "uncopied";

/// A copy.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Its path below the folder of the copies.
    pub(crate) path: String,
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
    /// Returns the path of the copy of a file, below the folder of the copies.
    fn copy_of(&self, path: &str) -> Option<String> {
        if path.starts_with("journal/") || path.starts_with("archive/journal/") {
            return Some(path.to_owned());
        }
        let tree = self.git_clone()?.tree.as_ref().filter(|_| path.starts_with("knowledge/"))?;
        Some(format!("{TREES}/{tree}/{path}"))
    }

    /// Copies an attempt that is about to be written to `path`, so that no other work tree takes its name.
    /// `None` if it cannot have a copy.
    pub(super) fn claim(&self, path: &str, bytes: &[u8]) -> Option<Created> {
        self.or_later(path, self.try_claim(path, bytes))
    }

    fn try_claim(&self, path: &str, bytes: &[u8]) -> io::Result<Created> {
        let (folder, name) = self.make_copy_parent(path)?;
        let created = folder.create_file(name, bytes, Access::Mode(PRIVATE_FILE.as_raw_mode()), Durability::Synced)?;
        if created == Created::Made {
            let _ = folder.remove_file(&tombstone(name));
        }
        Ok(created)
    }

    /// Gives the copy of a file the bytes of the file.
    pub(super) fn copy(&self, path: &str, bytes: &[u8]) {
        self.or_later(path, self.try_copy(path, bytes));
    }

    fn try_copy(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let Some(copy) = self.copy_of(path) else { return Ok(()) };
        let (folder, name) = self.make_copy_parent(&copy)?;
        folder.write_private(name, bytes, Durability::Synced)?;
        let _ = folder.remove_file(&tombstone(name));
        Ok(())
    }

    /// Moves the copy of a file that was moved.
    pub(super) fn move_copy(&self, from: &str, to: &str) {
        if self.copy_of(to).is_some()
            && let Ok(file) = self.read(to)
        {
            self.copy(to, &file.bytes);
        }
        self.drop_copy(from);
    }

    /// Removes the copy of a file. It may come back.
    pub(super) fn drop_copy(&self, path: &str) {
        if let Some(copy) = self.copy_of(path) {
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

    /// Removes the copies of an attempt that is removed for good, in all work trees, and keeps its name taken.
    pub(super) fn forget_copy(&self, path: &str) {
        let own = path.replacen(COPIES, "journal", 1);
        let live = own.strip_prefix("archive/").unwrap_or(&own);
        if !live.starts_with("journal/") {
            return self.drop_copy(path);
        }
        let leave = |(folder, name): (Folder, &str)| folder.write_private(&tombstone(name), b"", Durability::Synced);
        let left = self.make_copy_parent(live).and_then(leave);
        self.or_later(path, left);
        self.remove_copy(live);
        self.remove_copy(&format!("archive/{live}"));
    }

    /// Returns whether an attempt was removed for good.
    fn is_forgotten(&self, path: &str) -> bool {
        let parent = self.copies().and_then(|copies| Ok(copies.parent(path)?.0));
        parent.is_ok_and(|folder| folder.has(&tombstone(split(path).1)))
    }

    fn make_copy_parent<'a>(&self, copy: &'a str) -> io::Result<(Folder, &'a str)> {
        let (folder, name) = split(copy);
        let folder = self.make_copies()?.make_folders(folder, Mode::RWXU, Durability::Synced, &mut |_| Ok(()))?;
        Ok((folder, name))
    }

    /// Notes a file that could not be copied, for a later command.
    fn or_later<T>(&self, path: &str, copied: io::Result<T>) -> Option<T> {
        copied.inspect_err(|_| self.note_uncopied(path)).ok()
    }

    fn note_uncopied(&self, path: &str) {
        // Without a key of its own, a program that links the library keeps no copies.
        if self.git_clone().is_some() && self.user_key.has_folders() {
            let append = |state: Folder| state.append_private(UNCOPIED, format!("{path}\n").as_bytes());
            let _ = self.folder("state").and_then(append);
        }
    }

    /// Copies the files that could not be copied before.
    pub(crate) fn copy_later(&self) {
        let uncopied = self.uncopied();
        let is_copied = |path: &String| match self.read(path) {
            Ok(_) if self.is_forgotten(path) => true,
            Ok(file) if path.starts_with("journal/") => self.try_claim(path, &file.bytes).is_ok(),
            Ok(file) => self.try_copy(path, &file.bytes).is_ok(),
            Err(_) => true,
        };
        if !uncopied.is_empty() && uncopied.iter().all(is_copied) {
            let _ = self.folder("state").and_then(|state| state.remove_file(UNCOPIED));
        }
    }

    /// Returns the files that could not be copied, relative to `.ralph/`.
    pub(crate) fn uncopied(&self) -> Vec<String> {
        let noted = self.folder("state").ok().and_then(|state| state.read(UNCOPIED, MAX_FILE_BYTES).ok());
        let noted = String::from_utf8(noted.unwrap_or_default()).unwrap_or_default();
        let mut paths: Vec<String> = noted.lines().map(str::to_owned).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Returns the paths of the folders that were made elsewhere, or by another user, where those of the copies would be.
    pub(crate) fn foreign_copies(&self) -> Vec<PathBuf> {
        let Some(path) = self.copies_path() else { return Vec::new() };
        let (Some(above), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return Vec::new();
        };
        let names = Folder::open(above).and_then(|folder| folder.names()).unwrap_or_default();
        let is_set_aside = |found: &str| found.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
        let is_foreign = |found: &str| is_set_aside(found) || found == name && self.copies().is_err();
        let mut found: Vec<PathBuf> = names
            .iter()
            .filter_map(|found| found.to_str())
            .filter(|found| is_foreign(found))
            .map(|found| above.join(found))
            .collect();
        found.sort();
        found
    }

    /// Returns all copies.
    pub(crate) fn all_copies(&self) -> Vec<Copy> {
        let mut found = Vec::new();
        let Ok(folder) = self.copies() else { return found };
        for root in ["journal", "archive", TREES] {
            let Ok(root_folder) = folder.descend(root) else { continue };
            let _ = root_folder.visit(root, &mut |path, visited| {
                let Visited::Name(parent, name, kind) = visited else { return Ok::<_, ()>(false) };
                if kind == FileKind::File
                    && path.strip_suffix(".md").is_some()
                    && let Ok(stat) = parent.stat_of_os(name)
                {
                    let written = DateTime::from_timestamp_nanos(stat.mtime);
                    found.push(Copy { path: path.to_owned(), size: stat.size, written });
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
        self.all_copies().into_iter().filter_map(of_tree).collect()
    }

    /// Removes all copies, of this user.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub(crate) fn clear_copies(&self) -> io::Result<bool> {
        match self.copies() {
            Ok(folder) => folder.clear()?,
            Err(error) if is_missing(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
        let Some(clone) = self.git_clone() else { return Ok(false) };
        let common = Folder::open(&clone.common)?;
        common.remove_folder(&format!("{COMMON}/{}", clone.key))?;
        // Another memory or user may have copies there.
        common.remove_folder(COMMON)?;
        Ok(true)
    }
}

/// Returns the name of what stays of the copy of an attempt that was removed for good.
fn tombstone(name: &str) -> String {
    format!("{}.forgotten", name.strip_suffix(".md").unwrap_or(name))
}
