//! One write for everything that is imported: one lock, and one update of the indexes.

use super::report::ImportReport;
use super::request::ImportRequest;
use crate::error::Result;
use crate::index::catalog::{Area, Catalog};
use crate::store::Lock;
use crate::workspace::Workspace;

/// A write of many files.
pub(super) struct ImportWrite<'a> {
    pub(super) workspace: &'a Workspace,
    /// None in a dry run.
    pub(super) lock: Option<&'a Lock>,
    pub(super) live: &'a Catalog,
    pub(super) archive: &'a Catalog,
    /// The paths of the written files.
    pub(super) written: Vec<String>,
}

/// Lets `write` write what is imported, and returns the paths of the live files that it wrote. In a dry run it gets no lock,
/// and writes nothing.
pub(super) fn in_one_write(
    workspace: &Workspace,
    request: &ImportRequest,
    report: &mut ImportReport,
    write: impl FnOnce(&mut ImportWrite<'_>, &mut ImportReport) -> Result<()>,
) -> Result<Vec<String>> {
    let archive = || workspace.catalog(Area::Archive);
    if request.dry_run {
        let (live, archive) = (workspace.catalog(Area::Live), archive());
        let written = Vec::new();
        write(&mut ImportWrite { workspace, lock: None, live: &live, archive: &archive, written }, report)?;
        return Ok(Vec::new());
    }
    let lock = workspace.lock_entries()?;
    let pending = workspace.begin_write();
    workspace.check_whole(&pending.catalog)?;
    let archive = archive();
    let written = Vec::new();
    let mut import = ImportWrite { workspace, lock: Some(&lock), live: &pending.catalog, archive: &archive, written };
    write(&mut import, report)?;
    let mut written = import.written;
    if written.iter().any(|path| path.starts_with("archive/")) {
        drop(pending);
        workspace.commit_moved();
    } else {
        workspace.commit_batch(pending);
    }
    let paths: Vec<_> = written.iter().map(|path| workspace.store.memory().join(path)).collect();
    report.problems.extend(lock.settled(&paths).filter(|_| !written.is_empty()));
    written.retain(|path| !path.starts_with("archive/"));
    Ok(written)
}
