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

use chrono::{DateTime, Utc};
use rustix::fs::Mode;

use super::common::path_of_copy;
use super::folder::{FileKind, Folder, split};
use super::layout::Store;
use super::seal::{SealKey, hex_digits};
use super::temp::{Access, Durability, PRIVATE_FILE};
use super::visit::{MAX_DEPTH, Visited};
use super::write::Created;
use crate::entry::path::COPIES;
use crate::entry::{MAX_FILE_BYTES, read};

/// The folder of the entries of linked work trees.
const TREES: &str = "trees";
/// The file in `state/` that names what could not be copied.
const UNCOPIED: &str = "uncopied";
/// Comes before the path of what was removed for good, in that file.
const FORGET: &str = "forget ";

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

    /// Copies an attempt that is about to be written to `path`, so that no other work tree takes its name; `None` if
    /// it cannot have a copy.
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

    /// Does the same for an attempt that was removed for good, and is there again.
    pub(super) fn revive_copy(&self, path: &str, bytes: &[u8]) {
        let live = live_path(path);
        if let Ok((folder, name)) = self.copies().and_then(|copies| Ok((copies.parent(&live)?.0, split(&live).1))) {
            let _ = folder.remove_file(&tombstone(name));
        }
        self.copy(path, bytes);
    }

    fn try_copy(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let Some(copy) = self.copy_of(path) else { return Ok(()) };
        if self.is_forgotten(path) || self.is_of_another(&copy, bytes) {
            return Ok(());
        }
        let (folder, name) = self.make_copy_parent(&copy)?;
        folder.write_private(name, bytes, Durability::Synced)
    }

    /// Moves the copy of a file that was moved.
    pub(super) fn move_copy(&self, from: &str, to: &str) {
        if let Ok(file) = self.read(to) {
            if self.copy_of(to).is_some() {
                self.copy(to, &file.bytes);
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
    pub(super) fn forget_copy(&self, path: &str, bytes: &[u8]) {
        let live = live_path(path);
        if !live.starts_with("journal/") {
            return self.drop_copy(path, bytes);
        }
        if self.try_forget(path, bytes).is_err() {
            self.note_uncopied(&format!("{FORGET}{live}"));
        }
    }

    fn try_forget(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let live = live_path(path);
        let copies = [live.clone(), format!("archive/{live}")];
        if copies.iter().any(|copy| self.is_of_another(copy, bytes)) {
            return Ok(());
        }
        let (folder, name) = self.make_copy_parent(&live)?;
        folder.write_private(&tombstone(name), b"", Durability::Synced)?;
        let others = copies.iter().filter(|copy| Some(copy.as_str()) != path_of_copy(path).as_deref());
        others.for_each(|copy| self.remove_copy(copy));
        Ok(())
    }

    /// Returns whether a copy is of another attempt than the one with these bytes, from a time at which no name could be
    /// claimed.
    pub(crate) fn is_of_another(&self, copy: &str, bytes: &[u8]) -> bool {
        let is_attempt = !copy.starts_with(TREES) && !bytes.is_empty();
        let identity = |bytes: &[u8]| {
            let head = read(copy, bytes).head;
            (head.created_at, head.task_id)
        };
        is_attempt && self.read_copy(copy).is_some_and(|other| identity(&other) != identity(bytes))
    }

    /// Returns whether an attempt was removed for good.
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

    /// Notes a file that could not be copied, for a later command.
    fn or_later<T>(&self, path: &str, copied: io::Result<T>) -> Option<T> {
        copied.inspect_err(|_| self.note_uncopied(path)).ok()
    }

    fn note_uncopied(&self, line: &str) {
        // Without a key of its own, a program that links the library keeps no copies.
        if self.git_clone().is_some() && self.user_key.has_folders() {
            let note = |key: SealKey| {
                let line = format!("{} {line}\n", seal_of_line(&key, line));
                self.folder("state")?.append_private(UNCOPIED, line.as_bytes())
            };
            let _ = self.make_state_key().and_then(note);
        }
    }

    /// Does to the copies what could not be done before.
    pub(crate) fn copy_later(&self) {
        let uncopied = self.uncopied();
        let is_done = |line: &String| match line.strip_prefix(FORGET) {
            Some(path) => self.try_forget(path, b"").is_ok(),
            None => self.copy_again(line).is_ok(),
        };
        if !uncopied.is_empty() && uncopied.iter().all(is_done) {
            let _ = self.folder("state").and_then(|state| state.remove_file(UNCOPIED));
        }
    }

    /// Copies a file as it is now: live or archived.
    fn copy_again(&self, path: &str) -> io::Result<()> {
        let live = live_path(path);
        let places = [live.clone(), format!("archive/{live}")];
        let Some((at, file)) = (0..2).find_map(|at| Some((at, self.read(&places[at]).ok()?))) else { return Ok(()) };
        self.try_copy(&places[at], &file.bytes)?;
        self.drop_copy(&places[1 - at], &file.bytes);
        Ok(())
    }

    /// Returns the files that could not be copied, relative to `.ralph/`.
    pub(crate) fn uncopied(&self) -> Vec<String> {
        let noted = self.folder("state").ok().and_then(|state| state.read(UNCOPIED, MAX_FILE_BYTES).ok());
        let noted = String::from_utf8(noted.unwrap_or_default()).unwrap_or_default();
        let Some(key) = Some(noted.as_str()).filter(|noted| !noted.is_empty()).and_then(|_| self.state_key().ok()?)
        else {
            return Vec::new();
        };
        let lines = noted.lines().filter_map(|line| line.split_once(' '));
        let own = lines.filter(|(seal, line)| *seal == seal_of_line(&key, line));
        let mut paths: Vec<String> = own.map(|(_, line)| line.to_owned()).collect();
        paths.sort();
        paths.dedup();
        paths
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
}

/// Returns what shows that a line of [`UNCOPIED`] was written here: it may remove a copy.
fn seal_of_line(key: &SealKey, line: &str) -> String {
    hex_digits(&key.short_sum(&[UNCOPIED.as_bytes(), b"\0", line.as_bytes()]))
}

/// Returns the path that an attempt has when it is live and has a file.
fn live_path(path: &str) -> String {
    path.strip_prefix("archive/").unwrap_or(path).replacen(COPIES, "journal", 1)
}

/// Returns the name of what stays of the copy of an attempt that was removed for good.
fn tombstone(name: &str) -> String {
    format!("{}.forgotten", name.strip_suffix(".md").unwrap_or(name))
}
