//! The folder layout.
//!
//! [`Store`] finds `.ralph/` and names its parts. It keeps the folder that contains `.ralph/` open, and opens every
//! path anew from there, because `.ralph/` may be removed and created again, for example by a checkout, during a long
//! process.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::clone::GitClone;
use super::common::{CommonFolder, path_of_copy};
use super::folder::{FileKind, FileStat, Folder, check_path, explain, is_missing, split};
use super::operation_log::UndoLog;
use super::read::{ReadFile, Unreadable};
use super::seal::SealKey;
use super::trust::Trust;
use super::user_key::UserKey;
use crate::entry::path::is_copy;
use crate::entry::{Author, MAX_FILE_BYTES};
use crate::error::{Error, IoContext as _, Result};

/// The file in `state/` with the name of the folder of the copies, which moves with the memory.
const PLACE: &str = "copies";
/// The name of the folder.
pub(super) const MEMORY: &str = ".ralph";
/// The folders of a memory. Other programs have an `archive/`, too.
const OWN_FOLDERS: [&str; 4] = ["knowledge", "journal", "archive/knowledge", "archive/journal"];
/// The settings file in `.ralph/`, which has a line with its format.
pub(crate) const CONFIG: &str = "config.toml";

/// The entry files of one project.
///
/// Paths in arguments and results are relative to `.ralph/`, with `/` between their parts; `..`, absolute paths, empty
/// parts and links are refused.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    memory: PathBuf,
    pub(super) root_folder: Folder,
    pub(super) undo_log: Arc<UndoLog>,
    pub(super) user_key: UserKey,
    common: CommonFolder,
    is_read_only: bool,
    /// Who asks for the changes.
    pub(crate) author: Author,
    /// How many changes of files this process began.
    pub(super) n_changes: AtomicU64,
}

impl Store {
    /// Opens the memory in `root`, the folder that holds `.ralph/`.
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`] when there is no folder of that name, or another program's, [`Error::OutsideRoot`] when it is
    /// a link, and [`Error::Io`] when the file system refuses to look.
    pub fn open(root: &Path) -> Result<Store> {
        let store = Store::open_any(root)?;
        if store.is_memory() { Ok(store) } else { Err(Error::NoMemory { start: store.root, above: None }) }
    }

    /// Does what [`Store::open`] does, also for a folder in which nothing is this program's.
    pub(super) fn open_any(root: &Path) -> Result<Store> {
        // A relative path would mean something else after a change of the working folder.
        let root = std::path::absolute(root).io("find", root)?;
        let root_folder = match Folder::open(&root) {
            Ok(folder) => folder,
            Err(error) if is_missing(&error) => return Err(Error::NoMemory { start: root, above: None }),
            Err(error) => return Err(explain("open", root, error)),
        };
        let memory = root.join(MEMORY);
        match root_folder.stat_of(MEMORY) {
            Ok(stat) if stat.kind == FileKind::Folder => {}
            Ok(stat) if stat.kind == FileKind::Link => return Err(Error::OutsideRoot { path: memory }),
            Ok(_) => return Err(Error::NoMemory { start: root, above: None }),
            Err(error) if is_missing(&error) => return Err(Error::NoMemory { start: root, above: None }),
            Err(error) => return Err(explain("open", memory, error)),
        }
        Ok(Store {
            root,
            memory,
            root_folder,
            undo_log: Arc::default(),
            user_key: UserKey::default(),
            common: CommonFolder::default(),
            is_read_only: false,
            author: Author::Person,
            n_changes: AtomicU64::new(0),
        })
    }

    /// Returns whether the folder has what only a memory has: others keep other things in one of this name.
    fn is_memory(&self) -> bool {
        // A link, and what may not be looked at, is reported later.
        let has_folder = |path: &&str| !self.folder(path).is_err_and(|error| is_missing(&error));
        let is_format = |line: &str| {
            let line = line.replace(' ', "");
            line.strip_prefix("format=").is_some_and(|format| format.starts_with(|first: char| first.is_ascii_digit()))
        };
        let has_format = |file: ReadFile| String::from_utf8_lossy(&file.bytes).lines().any(is_format);
        OWN_FOLDERS.iter().any(has_folder) || self.read(CONFIG).is_ok_and(has_format)
    }

    /// Opens another memory of a user whom `trust` names, to read it: nothing is made or locked in it. The key of the cache
    /// is the one of this memory.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open`], and [`Error::ForeignOwner`].
    pub(crate) fn open_other(&self, root: &Path, trust: &Trust<'_>) -> Result<Store> {
        let other = Store::open(root)?.owned(trust)?;
        Ok(Store { is_read_only: true, user_key: self.user_key.clone(), ..other })
    }

    /// Fails if nothing may be made here.
    pub(super) fn check_writable(&self) -> io::Result<()> {
        if self.is_read_only { Err(io::ErrorKind::ReadOnlyFilesystem.into()) } else { Ok(()) }
    }

    /// Returns the nearest folder above `start` that has a memory, whoever owns it.
    pub fn above(start: &Path) -> Option<PathBuf> {
        let start = std::path::absolute(start).ok()?;
        start.ancestors().skip(1).find(|folder| Store::open(folder).is_ok()).map(Path::to_owned)
    }

    /// Opens the nearest memory: in `start`, or in the next folder above that has one.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open`], and [`Error::ForeignOwner`] if `.ralph` or its folder belongs to a user that `trust`
    /// does not name; a link named `.ralph`, or such a memory, ends the search.
    pub fn discover(start: &Path, trust: &Trust<'_>) -> Result<Store> {
        let start = std::path::absolute(start).io("find", start)?;
        for root in start.ancestors() {
            match Store::open(root) {
                Err(Error::NoMemory { .. }) => {}
                Ok(store) => return store.owned(trust),
                result => return result,
            }
        }
        Err(Error::NoMemory { start, above: None })
    }

    fn owned(self, trust: &Trust<'_>) -> Result<Store> {
        if trust.is_safe(&self.root) {
            return Ok(self);
        }
        let memory = self.folder("").and_then(|memory| memory.owner());
        let owners = [(self.root_folder.owner(), &self.root), (memory, &self.memory)];
        for (owner, path) in owners {
            let owner = owner.map_err(|error| explain("open", path, error))?;
            if !trust.is_own(owner) {
                return Err(Error::ForeignOwner { path: path.clone(), owner, user: trust.user });
            }
        }
        Ok(self)
    }

    /// Returns the folder that holds `.ralph/`, as an absolute path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns how many changes of files this process began.
    pub(crate) fn n_changes(&self) -> u64 {
        self.n_changes.load(Ordering::Relaxed)
    }

    /// Returns the path of `.ralph/`.
    pub fn memory(&self) -> &Path {
        &self.memory
    }

    /// Keeps no copies, and reads none.
    pub(crate) fn leave_copies(&mut self) {
        self.common.switch_off();
    }

    /// Returns the clone that the memory is in.
    pub(super) fn git_clone(&self) -> Option<&GitClone> {
        self.common.clone_of(&self.root)
    }

    /// Returns whether the memory is in a repository that points back at its work tree: git's folder may be changed.
    pub(crate) fn has_own_git(&self) -> bool {
        GitClone::of(&self.root).is_some()
    }

    /// Returns the path of the folder of the copies, which may not exist; `None` without git.
    pub(crate) fn copies_path(&self) -> Option<PathBuf> {
        self.common.path(&self.root, &self.user_key)
    }

    /// Returns the folders of copies that are not read: of another user or home, or made elsewhere.
    pub(crate) fn foreign_copies(&self) -> Vec<PathBuf> {
        self.common.foreign(&self.root, &self.user_key)
    }

    /// Returns the folders of copies, also those that are not read.
    pub(crate) fn all_copies(&self) -> Vec<PathBuf> {
        CommonFolder::all(&self.root)
    }

    /// Takes over the copies from where the memory was before its folder moved in the repository.
    pub(crate) fn adopt_copies(&self) {
        let (Some(path), Ok(state)) = (self.copies_path(), self.folder("state")) else { return };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let former = state.read(PLACE, MAX_FILE_BYTES).ok().and_then(|former| String::from_utf8(former).ok());
        if former.as_deref() != Some(name)
            && former.is_none_or(|former| self.common.adopt(&self.root, &self.user_key, &former).is_ok())
        {
            let _ = state.replace_file(PLACE, name.as_bytes());
        }
    }

    /// Opens the folder of the copies.
    ///
    /// # Errors
    ///
    /// Those of [`CommonFolder::open`].
    pub(crate) fn copies(&self) -> io::Result<Folder> {
        self.common.open(&self.root, &self.user_key)
    }

    /// Returns the key of what this user writes in the folder of the copies; `None` if there is none.
    pub(crate) fn copies_key(&self) -> Option<SealKey> {
        Some(self.user_key.kept()?.derive("told", b""))
    }

    /// Does the same, and makes the folder if it is missing.
    ///
    /// # Errors
    ///
    /// Those of [`CommonFolder::make`].
    pub(super) fn make_copies(&self) -> io::Result<Folder> {
        self.common.make(&self.root, &self.user_key)
    }

    /// Returns the path of `.ralph/cache/`, which may not exist.
    pub fn cache(&self) -> PathBuf {
        self.memory.join("cache")
    }

    /// Returns the path of `.ralph/state/`, which may not exist.
    pub fn state(&self) -> PathBuf {
        self.memory.join("state")
    }

    /// Opens the folder at `path`; the empty path is `.ralph/` itself.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is none, `ELOOP` when a part of the path is a link, `InvalidInput`
    /// when the path could leave `.ralph/`, `NotADirectory` when it names a file.
    pub fn folder(&self, path: &str) -> io::Result<Folder> {
        if let Some(path) = path_of_copy(path) {
            return self.copies()?.descend(&path);
        }
        self.root_folder.descend(&from_root(path))
    }

    /// Opens the existing folder of the file at `path`, and returns it with the name.
    pub(super) fn open_parent<'a>(&self, path: &'a str) -> io::Result<(Folder, &'a str)> {
        check_path(path)?;
        let (folder, name) = split(path);
        Ok((self.folder(folder)?, name))
    }

    /// Returns the metadata of the file at `path`.
    pub(super) fn stat_of(&self, path: &str) -> io::Result<FileStat> {
        let (folder, name) = self.open_parent(path)?;
        folder.stat_of(name)
    }

    /// Returns the names in the folder at `path`; none if there is no such folder. For callers that would do harm if
    /// they took an unreadable folder for an empty one.
    ///
    /// # Errors
    ///
    /// [`Error::OutsideRoot`] when a part of the path is a link, [`Error::Io`] when the file system refuses.
    pub fn names(&self, path: &str) -> Result<Vec<OsString>> {
        match self.folder(path).and_then(|folder| folder.names()) {
            Err(error) if is_missing(&error) || is_copy(path) => Ok(Vec::new()),
            result => result.map_err(|error| explain("list", self.full_path(path), error)),
        }
    }

    /// Returns the absolute path, for messages.
    pub(crate) fn full_path(&self, path: &str) -> PathBuf {
        match path_of_copy(path).zip(self.copies_path()) {
            Some((path, copies)) => copies.join(path),
            None => self.memory.join(path),
        }
    }
}

impl Store {
    /// Reads the file at `path`, which is relative to `.ralph/`.
    ///
    /// # Errors
    ///
    /// `Unreadable` says what is there instead of an entry.
    pub fn read(&self, path: &str) -> Result<ReadFile, Unreadable> {
        if is_copy(path) {
            let (folder, name) = self.open_parent(path)?;
            return Ok(folder.read_open(name, MAX_FILE_BYTES)?.0);
        }
        Ok(self.root_folder.read_open(&from_root(path), MAX_FILE_BYTES)?.0)
    }

    /// Reads the file at `path`, which may have at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// `Unreadable` says what is there instead.
    pub(crate) fn read_up_to(&self, path: &str, limit: usize) -> Result<Vec<u8>, Unreadable> {
        self.root_folder.read(&from_root(path), limit)
    }
}

/// Returns the path relative to the folder that holds `.ralph/`.
pub(super) fn from_root(path: &str) -> String {
    if path.is_empty() { MEMORY.to_owned() } else { format!("{MEMORY}/{path}") }
}
