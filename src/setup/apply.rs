//! Writes what was planned.
//!
//! Each file is replaced as a whole, and only if it still contains what was read. The record is written before the
//! first file of a set-up, so that what is inserted can always be taken out.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::planned::{PlannedAction, PlannedFile, SetupPlan};
use super::record::SetupRecord;
use super::{Setup, SetupScope};
use crate::error::{Error, Result};
use crate::store::Folder;

/// How long to wait for another set-up, which takes a few milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait before the next try.
const PAUSE: Duration = Duration::from_millis(5);

impl Setup {
    /// Writes what was planned.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] where another set-up of this scope takes too long, [`Error::Conflict`] where a file was changed
    /// since it was read, and [`Error::Io`] where the file system refuses.
    /// If files were written before, the error is an [`Error::PartlySetUp`] that names them.
    pub fn apply(&self, plan: SetupPlan) -> Result<()> {
        let SetupPlan { files, scope, record, known: planned_from, is_removal, .. } = plan;
        let folder = self.bases.folder(scope);
        let _lock = lock(&folder)?;
        let known = SetupRecord::read(&self.state, scope, &folder);
        let mut record = record.beside(&planned_from, known.clone());
        let recorded = known.files.iter().map(|file| (&file.root, file.path.as_str()));
        sweep(recorded.chain(files.iter().map(|file| (&file.location.root, file.location.path.as_str()))));
        let files: Vec<PlannedFile> = files.into_iter().filter(|file| file.action != PlannedAction::Keep).collect();
        if !is_removal && record != known {
            record.save(&self.state, scope, &folder)?;
        }
        let mut written = Vec::new();
        for file in &files {
            if let Err(source) = write(file) {
                return Err(self.stopped(record, &known, &files, written, scope, source));
            }
            written.push(file.path.clone());
        }
        remove_folders(&mut record, is_removal);
        if is_removal && (record != known || !known.files.is_empty()) {
            record.save(&self.state, scope, &folder)?;
        }
        Ok(())
    }

    /// Keeps the record of what was written, and returns the error.
    fn stopped(
        &self,
        mut record: SetupRecord,
        known: &SetupRecord,
        files: &[PlannedFile],
        written: Vec<PathBuf>,
        scope: SetupScope,
        source: Error,
    ) -> Error {
        for file in &files[written.len()..] {
            match known.of(&file.location) {
                Some(before) => record.put(before.clone()),
                None => record.forget(&file.location),
            }
        }
        remove_folders(&mut record, true);
        // The first error is the one to report.
        let _ = record.save(&self.state, scope, &self.bases.folder(scope));
        if written.is_empty() { source } else { Error::PartlySetUp { written, source: Box::new(source) } }
    }
}

/// Locks the folder that a scope is about, for as long as the record is changed. `None` if the file system has no locks.
fn lock(folder: &Path) -> Result<Option<File>> {
    let Ok(file) = File::open(folder) else { return Ok(None) };
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if started.elapsed() < TIMEOUT => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let waited_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
                return Err(Error::Locked { path: folder.to_owned(), waited_ms, holder: None });
            }
        }
    }
}

fn write(file: &PlannedFile) -> Result<()> {
    let path = file.location.full();
    let failed = |action: &'static str| move |source: io::Error| Error::Io { action, path, source };
    let open = if file.before.is_none() { Folder::make } else { Folder::open };
    let folder = match open(&file.location.root) {
        Ok(folder) => folder,
        Err(source) => return Err(failed("open")(source)),
    };
    let at = &file.location.path;
    let is_done = match (&file.before, &file.after) {
        (None, Some(after)) => folder.create(at, after.as_bytes()).map(|_| true).map_err(failed("create"))?,
        (Some(before), Some(after)) => {
            folder.replace(at, before.as_bytes(), after.as_bytes()).map_err(failed("write"))?
        }
        (Some(before), None) => folder.remove(at, before.as_bytes()).map_err(failed("delete"))?,
        (None, None) => true,
    };
    if is_done { Ok(()) } else { Err(Error::Conflict { path: file.location.full(), kept: None }) }
}

/// Removes the temporary files beside these files that a killed set-up has left.
fn sweep<'a>(files: impl Iterator<Item = (&'a PathBuf, &'a str)>) {
    let folders: BTreeSet<_> =
        files.map(|(root, path)| (root, path.rsplit_once('/').map_or("", |(above, _)| above))).collect();
    for (root, path) in folders {
        if let Ok(root) = Folder::open(root) {
            root.sweep(path);
        }
    }
}

/// Removes the folders that set-up has made, as far as they are empty, and forgets those that are gone. What is left
/// when no file is recorded any more has files of others in it.
fn remove_folders(record: &mut SetupRecord, is_removal: bool) {
    if !is_removal {
        return;
    }
    for (root, path) in record.folders_inside_out() {
        let is_gone = Folder::open(&root).and_then(|folder| folder.remove_folder(&path)).unwrap_or(true);
        if is_gone || record.files.is_empty() {
            record.folders.remove(&(root, path));
        }
    }
}
