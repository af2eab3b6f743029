//! Takes in what other programs remember, and gives all of this memory away.
//!
//! `sources` is the table of the sources. Each has a file that turns what it finds into [facts](gathered::Fact) or attempts;
//! nearly none of them writes. `apply` decides about each fact, under one lock for all of them, and `provenance` is what a
//! repeated import recognises an entry by. What is imported was written by others, so every fact passes the gate of an agent's knowledge: secrets and invisible characters
//! are refused, fact by fact. Files are opened below one folder, and no link in it is followed.

mod adr;
mod apply;
mod claude_memory;
mod export;
mod files;
mod gathered;
mod jsonl;
mod markdown;
mod past;
mod provenance;
mod ralph;
mod report;
mod request;
mod rules;
mod sessions;
mod sources;
mod sqlite;
mod stream;
mod transcripts;

use crate::catalog::{Area, Catalog};
use crate::error::Result;
use crate::semantic::SemanticMemory;
use crate::store::Lock;
use crate::workspace::Workspace;
use gathered::SourceContent;
use sources::SourceReader;

pub use export::ExportStream;
pub(crate) use export::export;
pub use report::{ImportAction, ImportOrigin, ImportReport, ImportedItem};
pub use request::{AgentFolders, ImportInput, ImportRequest, ImportSource, JsonlFields};

/// Imports from one source, as `Memory::import` describes it. Also returns the paths of the files that were written and
/// have no vectors yet.
pub(crate) fn import(
    workspace: &Workspace,
    semantic: &SemanticMemory,
    request: &ImportRequest,
) -> Result<(ImportReport, Vec<String>)> {
    request.check_input()?;
    let mut content = SourceContent::default();
    match request.source.row().read {
        SourceReader::Writing(import) => return import(workspace, semantic, request),
        SourceReader::Whole(read) => read(workspace, request, &mut content)?,
        SourceReader::EachFile(read) => {
            let read = &mut |file: &_, content: &mut _| read(workspace, request, file, content);
            files::each_file(workspace, request, &mut content, read)?;
        }
    }
    let SourceContent { mut report, facts, attempts, .. } = content;
    let written = in_one_write(workspace, request, &mut report, |write, report| match request.source {
        ImportSource::Ralph => past::record_all(write, attempts, report),
        _ => apply::apply(write, request, facts, report),
    })?;
    Ok((report, written))
}

/// A write of many files: one lock, and one update of the indexes.
struct ImportWrite<'a> {
    workspace: &'a Workspace,
    /// None in a dry run.
    lock: Option<&'a Lock>,
    live: &'a Catalog,
    archive: &'a Catalog,
    /// The paths of the written files.
    written: Vec<String>,
}

/// Lets `write` write what is imported, and returns the paths of the live files that it wrote. In a dry run it gets no lock,
/// and writes nothing.
fn in_one_write(
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
