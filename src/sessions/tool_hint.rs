//! What an agent is told at a call of a tool, once in a session.

use std::cell::LazyCell;

use xxhash_rust::xxh3::xxh3_64;

use super::call::HookCall;
use super::session::SessionName;
use super::tool_call::ToolUse;
use crate::agent_output::transcript::within_project;
use crate::context::hints;
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::PROPOSED;
use crate::entry::{self, Id, Kind, written};
use crate::error::Result;
use crate::index::catalog::Area;
use crate::knowledge::rejected;
use crate::workspace::{EntryLock, Workspace};

/// How many files of a call are looked up.
const MAX_FILES: usize = 16;

/// Marks the entries of which a tool of the agent changed the files themselves as an agent's: what they say is not a person's.
pub(super) fn sign_written(workspace: &Workspace, call: &HookCall) -> Option<()> {
    if !call.tool.writes {
        return None;
    }
    let memory = workspace.store.memory().canonicalize().ok()?;
    let work = call.folder().unwrap_or(workspace.root());
    let lock = workspace.lock_entries().ok()?;
    for file in &call.tool.files {
        let file = work.join(file);
        // A folder may have other names: through a link, or in `/proc`.
        let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
        let path = folder.zip(file.file_name()).map(|(folder, name)| folder.join(name));
        let inside = path.as_ref().and_then(|path| path.strip_prefix(&memory).ok()?.to_str());
        if let Some(path) = inside.filter(|path| Id::of_path(path).is_some_and(|id| id.kind() == Kind::Knowledge)) {
            // What cannot be read or written stays as it is; `check` says what is wrong with it.
            let _ = sign(workspace, &lock, path, &call.tool);
        }
    }
    Some(())
}

/// Signs a file that a tool wrote as the agent's. What it replaced goes to the undo log, if the client says it. An archived entry,
/// and one of a person whose text is as it was, get back what the tool changed.
fn sign(workspace: &Workspace, lock: &EntryLock, path: &str, tool: &ToolUse) -> Result<()> {
    let (text, entry) = workspace.read_entry(path)?;
    let known = workspace.last_known(path);
    let original = tool.original.as_ref().filter(|_| tool.files.len() == 1);
    // Another call may have seen the new text before this one.
    let is_unchanged = match original {
        Some(original) => *original == text,
        // The archive may never have been examined.
        None => known.map_or(path.starts_with("archive/"), |known| known == xxh3_64(text.as_bytes())),
    };
    if is_unchanged {
        return Ok(());
    }
    let undone = tool.replaced.as_ref().map(|(old, new)| text.replacen(new, old, 1));
    let undone = undone.filter(|undone| known == Some(xxh3_64(undone.as_bytes())));
    let before = original.or(undone.as_ref());
    if let Some(before) = before {
        let was = entry::read(path, before.as_bytes());
        let says_the_same = was.head.title == entry.head.title && was.body == entry.body;
        if path.starts_with("archive/") || was.head.source.is_person() && says_the_same {
            workspace.replace(lock, path, &text, before)?;
            return Ok(());
        }
        workspace.store.log_replaced(lock, path, before.as_bytes(), Some(text.as_bytes()))?;
    }
    let mut signed = written::by_agent(&text, before.map(String::as_str));
    let catalogs = [Area::Live, Area::Archive].map(|area| workspace.catalog(area));
    let said = (entry.head.title.as_str(), entry.body.as_str(), &entry.head.scope);
    if !matches!(rejected(workspace, catalogs.each_ref(), said), Ok(None)) {
        signed = edit::apply(&signed, &[Change::Set("status", PROPOSED.into())]).unwrap_or(signed);
    }
    if signed != text {
        workspace.replace(lock, path, &text, &signed)?;
    }
    Ok(())
}

/// Returns what is known about the files of a tool's call and about the error in its output, and the entries that this is
/// from. They are claimed, so that the agent is told once.
pub(super) fn tool_hint(workspace: &Workspace, call: &HookCall, session: &SessionName) -> Option<(String, Vec<Id>)> {
    let agent = call.payload.sub_agent.as_deref().unwrap_or_default();
    let root = workspace.root().canonicalize().ok()?;
    let [root, work] = [&root, call.folder().unwrap_or(&root)].map(|path| path.to_str());
    let within = |file: &String| within_project(root?, work?, file);
    let names = call.tool.files.iter().filter(|file| !file.contains(char::is_control)).take(MAX_FILES);
    let files: Vec<String> = names.filter_map(within).collect();
    let claims = LazyCell::new(|| session.claims(workspace, agent).ok());
    let is_told = &|id: &Id| claims.as_ref().is_none_or(|claims| claims.refuse(id.as_str()));
    let mut shown: Vec<Id> = Vec::new();
    let claim = &mut |id: &Id| {
        let is_new = claims.as_ref().is_some_and(|claims| claims.claim(id.as_str()));
        shown.extend(is_new.then(|| id.clone()));
        is_new
    };
    let text = hints(workspace, (&files, &call.tool.output), call.client(), is_told, claim)?;
    Some((text, shown))
}
