//! Takes in what other programs remember, and gives all of this memory away.
//!
//! Each source has a file that turns what it finds into [facts](gathered::Fact) or attempts; none of them writes. `apply` decides about
//! each fact, under one lock for all of them, and `provenance` is what a repeated import recognises an entry by. What is
//! imported was written by others, so every fact passes the gate of an agent's knowledge: secrets and invisible characters
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
mod sqlite;
mod stream;
mod transcripts;

use crate::error::Result;
use crate::semantic::SemanticMemory;
use crate::workspace::Workspace;

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
    let gathered = match request.source {
        ImportSource::Export => return stream::take_back(workspace, request),
        ImportSource::Transcripts => {
            return transcripts::import(workspace, semantic, request).map(|report| (report, Vec::new()));
        }
        ImportSource::Ralph => return past::record_all(workspace, request, ralph::gather(workspace, request)?),
        ImportSource::Sections => markdown::sections(workspace, request)?,
        ImportSource::MemoryBank => markdown::memory_bank(workspace, request)?,
        ImportSource::Rules => rules::gather(workspace, request)?,
        ImportSource::ClaudeMemory => claude_memory::gather(workspace, request)?,
        ImportSource::Adr => adr::gather(workspace, request)?,
        ImportSource::Jsonl => jsonl::gather(workspace, request)?,
    };
    apply::apply(workspace, request, gathered)
}
