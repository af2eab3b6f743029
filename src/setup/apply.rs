//! Writes what was planned.
//!
//! Each file is replaced as a whole, and only if it still contains what was read. The record is written before the
//! first file of a setup, so that what is inserted can always be removed.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Setup;
use super::locate::ClientPlace;
use super::planned::{PlannedAction, PlannedFile, SetupPlan};
use super::record::SetupRecord;
use crate::error::{Error, Result};
use crate::store::Folder;

/// How long to wait for another setup, which takes a few milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait before the next try.
const PAUSE: Duration = Duration::from_millis(5);

impl Setup {
    /// Writes what was planned.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if another setup of this scope takes too long, [`Error::Conflict`] if a file has changed since
    /// it was read, and [`Error::Io`] if the file system refuses. If files were written before, the error is an
    /// [`Error::PartlySetUp`] that names them.
    pub fn apply(&self, plan: SetupPlan) -> Result<()> {
        let (scope, folder) = (plan.scope, self.bases.folder(plan.scope));
        let _lock = lock(&folder)?;
        let known = SetupRecord::read(&self.state, scope, &folder);
        let SetupPlan { files, mut record, options, .. } =
            if known == plan.known { plan } else { self.planned_again(&plan)? };
        let recorded = known.files.iter().map(|file| &file.place);
        sweep(recorded.chain(files.iter().map(|file| &file.place)));
        let files: Vec<PlannedFile> = files.into_iter().filter(|file| file.action != PlannedAction::Keep).collect();
        let is_removal = options.is_none();
        if !is_removal && record != known {
            record.save(&self.state, scope, &folder)?;
        }
        for (position, file) in files.iter().enumerate() {
            let Err(source) = write(file) else { continue };
            let (written, rest) = files.split_at(position);
            for file in rest {
                match known.of(&file.place) {
                    Some(before) => record.put(before.clone()),
                    None => record.forget(&file.place),
                }
            }
            remove_folders(&mut record);
            // The first error is the one to report.
            let _ = record.save(&self.state, scope, &folder);
            let written: Vec<PathBuf> = written.iter().map(|file| file.path.clone()).collect();
            return Err(if written.is_empty() {
                source
            } else {
                Error::PartlySetUp { written, source: Box::new(source) }
            });
        }
        if is_removal {
            remove_folders(&mut record);
            if record != known || !known.files.is_empty() {
                record.save(&self.state, scope, &folder)?;
            }
        }
        Ok(())
    }

    /// Plans again on top of what another process has recorded since. What that process has written needs no further
    /// change; any other change must be the one that was planned.
    fn planned_again(&self, plan: &SetupPlan) -> Result<SetupPlan> {
        let again = match plan.options {
            Some(options) => self.plan(&plan.asked, plan.scope, options)?,
            None => self.plan_removal(&plan.asked, plan.scope)?,
        };
        let is_planned = |file: &&PlannedFile| file.action == PlannedAction::Keep || plan.files.contains(file);
        match again.files.iter().find(|file| !is_planned(file)) {
            Some(file) => Err(Error::Conflict { path: file.place.full(), kept: None }),
            None if again.clients != plan.clients => {
                Err(Error::Conflict { path: self.bases.folder(plan.scope), kept: None })
            }
            None => Ok(again),
        }
    }
}

/// Locks the folder of a scope while the record is changed. `None` if the file system has no locks.
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
    let failed = |action| move |source| Error::Io { action, path: file.place.full(), source };
    let open = if file.before.is_none() { Folder::make } else { Folder::open };
    let folder = open(&file.place.root).map_err(failed("open"))?;
    let at = &file.place.path;
    let is_done = match (&file.before, &file.after) {
        (None, Some(after)) => folder.create(at, after.as_bytes()).map(|_| true).map_err(failed("create"))?,
        (Some(before), Some(after)) => {
            folder.replace(at, before.as_bytes(), after.as_bytes()).map_err(failed("write"))?
        }
        (Some(before), None) => folder.remove(at, before.as_bytes()).map_err(failed("delete"))?,
        (None, None) => true,
    };
    if is_done { Ok(()) } else { Err(Error::Conflict { path: file.place.full(), kept: None }) }
}

/// Removes the temporary files beside these files that a killed setup has left.
fn sweep<'a>(files: impl Iterator<Item = &'a ClientPlace>) {
    let folders: BTreeSet<_> = files.map(|place| (&place.root, place.folders().next().unwrap_or_default())).collect();
    for (root, path) in folders {
        if let Ok(root) = Folder::open(root) {
            root.sweep(path);
        }
    }
}

/// Removes the folders that setup created, if they are empty, and forgets those that are gone. A folder that is left
/// when no file is recorded any more contains other people's files.
fn remove_folders(record: &mut SetupRecord) {
    for (root, path) in record.folders_inside_out() {
        let is_gone = Folder::open(&root).and_then(|folder| folder.remove_folder(&path)).unwrap_or(true);
        if is_gone || record.files.is_empty() {
            record.folders.remove(&(root, path));
        }
    }
}
