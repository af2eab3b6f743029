//! Imports what a project has already: notes, decision records, rules for agents, JSON Lines, past sessions.
//!
//! `find` says which files there are, and `files` reads them. A reader turns each into [items](item::Item), and
//! `write` decides about each item under one lock for all. Sessions become attempts, in `transcripts`. What is imported was
//! written by others, so every item passes the gate of an agent's knowledge: secrets and invisible characters are refused,
//! item by item. Files are opened below one folder, and no link in it is followed.

mod blocks;
mod files;
mod find;
mod item;
mod jsonl;
mod notes;
mod places;
mod report;
mod request;
mod rules;
mod session_events;
mod sessions;
mod transcripts;
mod write;

use crate::entry::frontmatter::Fields;
use crate::error::{Error, Result};
use crate::open::Memory;
use crate::workspace::Workspace;
use files::{ImportFile, MAX_FILE, text_of};
use find::Sources;
use item::Item;

pub use report::{ImportAction, ImportOrigin, ImportReport, ImportedItem};
pub use request::{AgentFolders, ImportInput, ImportKind, ImportRequest};

/// What standard input is called in messages.
const STANDARD_INPUT: &str = "standard input";

impl Memory {
    /// Imports notes, decision records, rules for agents, JSON Lines and past sessions. An import that is repeated changes
    /// nothing, and one that was interrupted can be repeated.
    ///
    /// Each entry says in its `details` where it comes from, with a hash of what was imported. If its source has changed
    /// since, the entry is updated; if someone has edited it, it is left alone and reported, and so is every entry that was
    /// not imported. What is in the archive is not imported again.
    ///
    /// What looks like a secret, and what has invisible characters, is refused and named, and the rest is imported.
    ///
    /// # Errors
    ///
    /// * [`Error::Invalid`] where nothing says what a named file is, or it cannot be read as that;
    ///   nothing is imported then.
    /// * [`Error::Locked`] where another process kept writing.
    /// * [`Error::Io`] where the path cannot be read, or nothing can be written.
    pub fn import(&self, request: &ImportRequest) -> Result<ImportReport> {
        let _operation = self.operation("import");
        let workspace = &self.workspace;
        let mut report = ImportReport::default();
        let found = find::find(workspace, request, &mut report)?;
        let items = items(workspace, request, &found, &mut report)?;
        let written = write::add_or_update(workspace, request, &items, &mut report)?;
        transcripts::import(self, request, found.sessions, &mut report)?;
        if !written.is_empty() {
            report.problems.extend(self.semantic.embed_written(workspace, &written));
        }
        Ok(report)
    }
}

/// Reads what was found.
fn items(
    workspace: &Workspace,
    request: &ImportRequest,
    found: &Sources,
    report: &mut ImportReport,
) -> Result<Vec<Item>> {
    let writer = workspace.store.author.source();
    let mut items = Vec::new();
    if let ImportInput::Text(bytes) = &request.input {
        let invalid = |reason: String| Error::invalid(STANDARD_INPUT, reason);
        if bytes.len() > MAX_FILE {
            return Err(invalid("it is over the limit of 4 MiB; split it".to_owned()));
        }
        let text = text_of(bytes).map_err(|reason| invalid(reason.to_owned()))?;
        let (path, key) = (STANDARD_INPUT.to_owned(), "-".to_owned());
        report.read.push(path.clone());
        let file = ImportFile { path, key, text, fields: Fields::new(), n_before: 0, writer };
        items.extend(jsonl::read(&file, report).map_err(|reason| invalid(reason.to_owned()))?);
    }
    for file in &found.files {
        match files::read(writer, file, report).map(|text| items_of(workspace, &text, file.kind, report)) {
            Ok(Ok(read)) => {
                report.read.push(file.shown.clone());
                items.extend(read);
            }
            Ok(Err(reason)) | Err(reason) if !file.is_named => {
                report.skip(ImportOrigin::file(&file.shown), "", reason);
            }
            Ok(Err(reason)) | Err(reason) => return Err(Error::invalid(format!("`{}`", file.shown), reason)),
        }
    }
    notes::name_linked(&mut items);
    Ok(items)
}

fn items_of(
    workspace: &Workspace,
    file: &ImportFile,
    kind: ImportKind,
    report: &mut ImportReport,
) -> std::result::Result<Vec<Item>, String> {
    match kind {
        ImportKind::Rules => Ok(rules::read(file, report)),
        ImportKind::Jsonl => jsonl::read(file, report).map_err(str::to_owned),
        ImportKind::Markdown | ImportKind::Transcript => Ok(notes::read(workspace, file, report).into_iter().collect()),
    }
}
