//! Imports what other programs remember.
//!
//! `sources` is the table of the sources. Each has a file that turns what it finds into [facts](gathered::Fact) or
//! attempts; almost none of them writes. `apply` decides about each fact, under one lock for all of them;
//! `provenance` and `matching` are what a repeated import recognises an entry by. What is imported was written by others, so every fact
//! passes the gate of an agent's knowledge: secrets and invisible characters are refused, fact by fact. Files are
//! opened below one folder, and no link in it is followed.

mod adr;
mod apply;
mod claude_memory;
mod concept;
mod dates;
mod decision_grammar;
mod decision_text;
mod decision_words;
mod files;
mod fillers;
mod find;
mod gathered;
mod generated;
mod jsonl;
mod kinds;
mod links;
mod markdown;
mod matching;
mod opencode;
mod past;
mod project;
mod provenance;
mod ralph;
mod replacing;
mod report;
mod request;
mod rules;
mod session_events;
mod sessions;
mod sources;
mod sqlite;
mod transcripts;
mod write;
mod written_dates;

use std::rc::Rc;

use crate::error::Result;
use crate::search::semantic::SemanticMemory;
use crate::workspace::Workspace;
use find::FileReader;
use gathered::SourceContent;
use project::ProjectFiles;
use write::in_one_write;

pub use report::{ImportAction, ImportOrigin, ImportReport, ImportedItem};
pub use request::{AgentFolders, ImportInput, ImportRequest, JsonlFields};
pub use sources::ImportSource;

/// Imports from one source, as `Memory::import` describes it. Also returns the paths of the files that were written and
/// have no vectors yet.
pub(crate) fn import(
    workspace: &Workspace,
    semantic: &SemanticMemory,
    request: &ImportRequest,
) -> Result<(ImportReport, Vec<String>)> {
    import_from(workspace, semantic, request, &Rc::default())
}

/// Returns what an import of each source from its usual places would do. The files of the project are listed once.
pub(crate) fn importable(
    workspace: &Workspace,
    semantic: &SemanticMemory,
    request: &ImportRequest,
) -> Vec<(ImportSource, Result<ImportReport>)> {
    let project = Rc::default();
    let sources = ImportSource::ALL.iter().copied();
    let each = |source| {
        let request = ImportRequest { source, dry_run: true, ..request.clone() };
        (source, import_from(workspace, semantic, &request, &project).map(|(report, _)| report))
    };
    sources.map(each).collect()
}

fn import_from(
    workspace: &Workspace,
    semantic: &SemanticMemory,
    request: &ImportRequest,
    project: &Rc<ProjectFiles>,
) -> Result<(ImportReport, Vec<String>)> {
    request.check_input()?;
    let mut content = SourceContent { project: Rc::clone(project), ..SourceContent::default() };
    let each = |read: FileReader, content: &mut SourceContent| {
        find::each_file(workspace, request, content, &mut |file, content| read(workspace, request, file, content))
    };
    match request.source {
        ImportSource::Sections => each(markdown::sections, &mut content)?,
        ImportSource::Rules => each(rules::read, &mut content)?,
        ImportSource::ClaudeMemory => each(claude_memory::read, &mut content)?,
        ImportSource::MemoryBank => replacing::gather_notes(workspace, request, &mut content)?,
        ImportSource::Adr => adr::gather(workspace, request, &mut content)?,
        ImportSource::Jsonl => jsonl::gather(workspace, request, &mut content)?,
        ImportSource::Ralph => ralph::gather(workspace, request, &mut content)?,
        ImportSource::Transcripts => return transcripts::import(workspace, semantic, request),
    }
    let mut report = std::mem::take(&mut content.report);
    let written = in_one_write(workspace, request, &mut report, |write, report| match request.source {
        ImportSource::Ralph => past::record_all(write, content.attempts, report),
        _ => apply::apply(write, request, content, report),
    })?;
    Ok((report, written))
}
