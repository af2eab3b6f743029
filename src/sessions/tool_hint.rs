//! What an agent is told at a call of a tool, once in a session.

use std::cell::LazyCell;

use xxhash_rust::xxh3::xxh3_64;

use super::call::HookCall;
use super::session::SessionName;
use crate::agent_output::transcript::within_project;
use crate::context::hints;
use crate::entry::{Id, Kind, written};
use crate::workspace::Workspace;

/// Marks the entries of which a tool of the agent changed the files themselves as an agent's: what they say is not a person's.
/// What it replaced goes to the undo log, if the client says it.
pub(super) fn sign_written(workspace: &Workspace, call: &HookCall) -> Option<()> {
    if !call.tool.writes {
        return None;
    }
    let memory = workspace.store.memory().canonicalize().ok()?;
    let work = call.folder().unwrap_or(workspace.root());
    let within = |file: &String| within_project(memory.to_str()?, work.to_str()?, file);
    let written: Vec<String> = call.tool.files.iter().filter_map(within).collect();
    let is_knowledge = |path: &&String| Id::of_path(path).is_some_and(|id| id.kind() == Kind::Knowledge);
    for path in written.iter().filter(is_knowledge) {
        let lock = workspace.lock_entries().ok()?;
        let Ok((text, _)) = workspace.read_entry(path) else { continue };
        let known = workspace.last_known(path);
        // Another call may have seen the new text before this one.
        let is_seen = known == Some(xxh3_64(text.as_bytes()));
        if is_seen && call.tool.original.as_ref().is_none_or(|original| *original == text) {
            continue;
        }
        let replaced = call.tool.replaced.as_ref().map(|(old, new)| text.replacen(new, old, 1));
        if let Some(before) = [&call.tool.original, &replaced]
            .into_iter()
            .flatten()
            .find(|before| is_seen || known == Some(xxh3_64(before.as_bytes())))
        {
            let _ = workspace.store.log_replaced(&lock, path, before.as_bytes(), Some(text.as_bytes()));
        }
        // A file that cannot be edited stays as it is; `check` says what is wrong with it.
        if let Ok(signed) = written::by_agent(&text)
            && signed != text
        {
            let _ = workspace.replace(&lock, path, &text, &signed);
        }
    }
    Some(())
}

/// Returns what is known about the files of a tool's call and about the error in its output, and the entries that this is
/// from. They are claimed, so that the agent is told once.
pub(super) fn tool_hint(workspace: &Workspace, call: &HookCall, session: &SessionName) -> Option<(String, Vec<Id>)> {
    let agent = call.payload.sub_agent.as_deref().unwrap_or_default();
    let root = workspace.root().canonicalize().ok()?;
    let [root, work] = [&root, call.folder().unwrap_or(&root)].map(|path| path.to_str());
    let within = |file: &String| within_project(root?, work?, file);
    let files: Vec<String> = call.tool.files.iter().filter_map(within).collect();
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
