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
    pub(super) live: Catalog,
    pub(super) archive: Catalog,
    /// Holds the index while it is written.
    index_lock: Option<Lock>,
    /// The paths of the written files.
    pub(super) written: Vec<String>,
}

impl ImportWrite<'_> {
    /// Brings archived entries back: each file gets the path behind its own.
    pub(super) fn bring_back(&mut self, lock: &Lock, moves: &[(&str, &str)]) -> Result<()> {
        self.workspace.store.move_all(lock, moves)?.into_iter().collect::<Result<()>>()?;
        self.index_lock = None;
        self.workspace.commit_moved();
        let pending = self.workspace.begin_write();
        (self.live, self.index_lock) = (pending.catalog, pending.lock);
        self.archive = self.workspace.catalog(Area::Archive);
        self.written.extend(moves.iter().map(|(_, to)| (*to).to_owned()));
        Ok(())
    }
}

/// Lets `write` write what is imported, and returns the paths of the live files that it wrote. In a dry run it gets no lock,
/// and writes nothing.
pub(super) fn in_one_write(
    workspace: &Workspace,
    request: &ImportRequest,
    report: &mut ImportReport,
    write: impl FnOnce(&mut ImportWrite<'_>, &mut ImportReport) -> Result<()>,
) -> Result<Vec<String>> {
    let (archive, written) = (|| workspace.catalog(Area::Archive), Vec::new());
    if request.dry_run {
        let (live, archive) = (workspace.catalog(Area::Live), archive());
        write(&mut ImportWrite { workspace, lock: None, live, archive, index_lock: None, written }, report)?;
        return Ok(Vec::new());
    }
    let lock = workspace.lock_entries()?;
    let pending = workspace.begin_write();
    let (live, index_lock) = (pending.catalog, pending.lock);
    workspace.check_whole(&live)?;
    let mut import = ImportWrite { workspace, lock: Some(&lock), live, archive: archive(), index_lock, written };
    write(&mut import, report)?;
    let ImportWrite { index_lock, mut written, .. } = import;
    if written.iter().any(|path| path.starts_with("archive/")) {
        drop(index_lock);
        workspace.commit_moved();
    } else {
        workspace.commit_batch(index_lock);
    }
    let paths: Vec<_> = written.iter().map(|path| workspace.store.memory().join(path)).collect();
    report.problems.extend(lock.settled(&paths).filter(|_| !written.is_empty()));
    written.retain(|path| !path.starts_with("archive/"));
    Ok(written)
}
