//! Removes leftovers of a crash.
//!
//! A temporary file is removed if its bytes are known to be elsewhere. One that waited for an exchange may contain a
//! version that an editor saved in the meantime; that version is kept.

use std::io;

use chrono::{DateTime, Utc};

use super::folder::{FileKind, FileStat, Folder, explain, is_missing, is_outside, split};
use super::layout::Store;
use super::lock::{Guarded, Lock};
use super::temp::Leftover;
use super::visit::{MAX_DEPTH, Visited, join};
use crate::entry::MAX_FILE_BYTES;
use crate::entry::path::{ARCHIVED_COPIES, COPIES};
use crate::error::Result;
use crate::system::posix::io::Errno;
use crate::system::posix::process::{Pid, test_kill_process};

/// The folders in which temporary files are written under the entry lock. While this process holds the lock, no other
/// process uses such a file.
const LOCKED_FOLDERS: [&str; 4] = ["knowledge", "journal", "archive", "state"];
/// The folders in which they are written without that lock, each with how many levels deep. Only those of processes
/// that have ended are removed.
const OPEN_FOLDERS: [(&str, usize); 4] =
    [("", 0), ("cache", MAX_DEPTH), (COPIES, MAX_DEPTH), (ARCHIVED_COPIES, MAX_DEPTH)];

/// What was done with the temporary files that a crash left. Paths are relative to `.ralph/`, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// The files that were removed.
    pub removed: Vec<String>,
    /// Where files with the only copy of a version were moved: conflict files in the archive.
    pub kept: Vec<String>,
}

impl Store {
    /// Removes the temporary files of processes that have ended, and keeps those that may hold the
    /// only copy of a version.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Io`] if a folder cannot be listed or a file cannot be removed. What was done before the
    /// error stays done.
    pub fn sweep(&self, lock: &Lock) -> Result<Swept> {
        lock.assert_guards(Guarded::Entries);
        let mut swept = Swept::default();
        let locked = LOCKED_FOLDERS.into_iter().map(|path| (path, MAX_DEPTH, false));
        let open = OPEN_FOLDERS.into_iter().map(|(path, depth)| (path, depth, true));
        for (path, depth, must_be_dead) in locked.chain(open) {
            match self.folder(path) {
                Ok(folder) => self.sweep_folder(&folder, path, must_be_dead, depth, &mut swept)?,
                // A link, or anything else that is not a folder, has no files of this program in it.
                Err(error) if is_missing(&error) || is_outside(&error) => {}
                Err(error) => return Err(explain("clean up", self.full_path(path), error)),
            }
        }
        swept.removed.sort();
        swept.kept.sort();
        Ok(swept)
    }

    /// Removes the folder `name` in `cache/` with its content, if it exists. If it is a link, the link itself is
    /// removed.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Io`]. Files that were removed before stay removed.
    pub fn remove_cache_folder(&self, lock: &Lock, name: &str) -> Result<()> {
        lock.assert_guards(Guarded::Cache);
        match self.folder("cache").and_then(|cache| cache.remove_any(name)) {
            // Another process, sweeping at the same time, has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|error| explain("remove", self.cache().join(name), error)),
        }
    }

    /// Removes the temporary files in `cache/` of processes that have ended. Files that cannot be removed do no harm.
    pub(super) fn sweep_cache(&self) {
        if let Ok(cache) = self.folder("cache") {
            let _ = self.sweep_folder(&cache, "cache", true, MAX_DEPTH, &mut Swept::default());
        }
    }

    fn sweep_folder(
        &self,
        folder: &Folder,
        path: &str,
        must_be_dead: bool,
        depth: usize,
        swept: &mut Swept,
    ) -> Result<()> {
        let depth_of = |path: &str| path.split('/').filter(|part| !part.is_empty()).count();
        folder.visit(path, &mut |at, visited| {
            let failed = |error| explain("clean up", self.full_path(at), error);
            let (folder, name, kind) = match visited {
                Visited::Name(folder, name, kind) => (folder, name, kind),
                Visited::Closed(error) if at != path && error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Visited::Closed(error) => return Err(failed(error)),
            };
            // Names that this program gives are UTF-8.
            let Some(name) = name.to_str() else { return Ok(false) };
            if let Some(leftover) = Leftover::parse(name).filter(|_| kind == FileKind::File)
                && !(must_be_dead && is_alive(leftover.process))
            {
                self.sweep_file(folder, at, leftover, swept).map_err(failed)?;
            }
            Ok(kind == FileKind::Folder && depth_of(at) - depth_of(path) <= depth)
        })
    }

    /// Removes a temporary file, or keeps it if it may be the only copy of a version.
    fn sweep_file(&self, folder: &Folder, path: &str, leftover: Leftover<'_>, swept: &mut Swept) -> io::Result<()> {
        let (parent, name) = split(path);
        if let Some((target, _)) = leftover.exchange
            && !is_known(folder, name, leftover)
        {
            let kept = self.keep_version(folder, name, &join(parent, target), time_of(folder.stat_of(name)?))?;
            swept.kept.push(kept);
            return Ok(());
        }
        match folder.remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => {
                swept.removed.push(path.to_owned());
                Ok(())
            }
        }
    }
}

impl Folder {
    /// Removes the temporary files of processes that have ended in a folder below this one, except those that may be
    /// the only copy of a version. Files that cannot be removed do no harm.
    #[cfg(feature = "setup")]
    pub(crate) fn sweep(&self, path: &str) {
        let Ok(folder) = self.descend(path) else { return };
        for (name, kind) in folder.listing().unwrap_or_default() {
            let leftover = name.to_str().filter(|_| kind == FileKind::File).and_then(Leftover::parse);
            let Some((name, leftover)) = name.to_str().zip(leftover) else { continue };
            if !is_alive(leftover.process) && (leftover.exchange.is_none() || is_known(&folder, name, leftover)) {
                let _ = folder.remove_file(name);
            }
        }
    }
}

/// Returns whether the bytes of a temporary file are also elsewhere. This program writes none that is too large to
/// read.
fn is_known(folder: &Folder, name: &str, leftover: Leftover<'_>) -> bool {
    folder.read(name, MAX_FILE_BYTES).is_ok_and(|bytes| leftover.is_known(&bytes))
}

/// Returns when the version was written; a leftover file does not tell the time of the crash.
fn time_of(stat: FileStat) -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(stat.mtime)
}

/// Returns whether a process with this id is running, or may be running, on this machine.
pub(super) fn is_alive(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}
