//! Moves planned files to the archive.
//!
//! A file that changed since the plan was made stays where it is, and is reported. It knows nothing about why a file is
//! archived.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use xxhash_rust::xxh3::xxh3_64;

use super::plan::ArchiveReason;
use super::report::{ArchivedEntry, TidyReport};
use crate::entry::{EntryPath, Id};
use crate::error::{Error, Problem, Result};
use crate::index::catalog::Catalog;
use crate::store::{Lock, Unreadable, archived_path};
use crate::workspace::Workspace;

/// Reasons why a file is left as it is.
pub(super) const SAVED: &str = "another program saved it at the same moment";
pub(super) const GONE: &str = "it is gone";

/// Returns the paths in the archive, to which a plan adds those that it takes.
pub(super) fn archived_names(archive: &Catalog) -> BTreeSet<String> {
    archive.rows().map(|row| archive.path(row)).collect()
}

/// A file that is to go to the archive.
pub(super) struct PlannedMove {
    /// Of the bytes that the plan was made from.
    fingerprint: u64,
    pub(super) entry: ArchivedEntry,
}

impl PlannedMove {
    /// Plans the move of the file at `from`, and takes a free one of the `names` in the archive.
    pub(super) fn new(
        (id, from): (&Id, &str),
        fingerprint: u64,
        reason: Option<ArchiveReason>,
        names: &mut BTreeSet<String>,
        now: DateTime<Utc>,
    ) -> PlannedMove {
        let to = archived_path(from, now, &|path| names.contains(path));
        let entry = ArchivedEntry { id: id.clone(), from: EntryPath::new(from), to: EntryPath::new(&to), reason };
        names.insert(to);
        PlannedMove { fingerprint, entry }
    }

    /// Returns its path, and its path in the archive.
    pub(super) fn paths(&self) -> (&str, &str) {
        (self.entry.from.as_relative(), self.entry.to.as_relative())
    }

    /// Returns a problem where the file is not the one that the plan was made from.
    pub(super) fn changed(&self, workspace: &Workspace) -> Option<Problem> {
        let reason = match workspace.store.read(self.entry.from.as_relative()) {
            Ok(file) if xxh3_64(&file.bytes) == self.fingerprint => return None,
            Err(Unreadable::Missing) => GONE,
            _ => SAVED,
        };
        Some(skipped(&self.entry.from, reason))
    }
}

/// Moves files as planned. A file that changed, disappeared or whose name was taken since is reported, and stays.
pub(super) fn move_planned(
    workspace: &Workspace,
    lock: &Lock,
    planned: &[PlannedMove],
    report: &mut TidyReport,
) -> Result<()> {
    let mut unchanged = Vec::new();
    for planned in planned {
        match planned.changed(workspace) {
            Some(problem) => report.problems.push(problem),
            None => unchanged.push(planned),
        }
    }
    let moves: Vec<(&str, &str)> = unchanged.iter().map(|planned| planned.paths()).collect();
    for (planned, moved) in unchanged.iter().zip(workspace.store.move_all(lock, &moves)?) {
        match moved {
            Ok(()) => report.moved.push(planned.entry.clone()),
            Err(Error::Conflict { .. }) => {
                let reason = "its name in the archive was taken in the meantime";
                report.problems.push(skipped(&planned.entry.from, reason));
            }
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                report.problems.push(skipped(&planned.entry.from, GONE));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reports that a file was left as it is.
pub(super) fn skipped(path: &EntryPath, reason: &str) -> Problem {
    let message = format!("left as it is: {reason}");
    Problem::warning(path.to_string(), "skipped", message, "the next call considers it again")
}
