//! Writes what was planned. Each file is replaced as a whole, and only if it still contains what was read.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::locate::ClientPlace;
use super::planned::{PlannedAction, PlannedFile, SetupPlan};
use crate::error::{Error, Result};
use crate::store::Folder;

impl SetupPlan {
    /// Writes what was planned.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if a file has changed since it was read, and [`Error::Io`] if the file system refuses. If files
    /// were written before, the error is an [`Error::PartlySetUp`] that names them.
    pub fn apply(self) -> Result<()> {
        sweep(self.files.iter().map(|file| &file.place));
        let mut written: Vec<PathBuf> = Vec::new();
        for file in self.files.into_iter().filter(|file| file.action != PlannedAction::Keep) {
            match write(&file) {
                Ok(()) => written.push(file.path),
                Err(source) if written.is_empty() => return Err(source),
                Err(source) => return Err(Error::PartlySetUp { written, source: Box::new(source) }),
            }
        }
        Ok(())
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
    if !is_done {
        return Err(Error::Conflict { path: file.place.full(), kept: None });
    }
    if file.after.is_none() {
        // Those that are empty without the file.
        let _ = file.place.folders().all(|above| folder.remove_folder(above).unwrap_or(false));
    }
    Ok(())
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
