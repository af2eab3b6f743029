//! The rules for the folders of a memory: whether they can be read and written.

use super::facts::MemoryFacts;
use super::finding::{error, ok, warning};
use crate::entry::path::display_path;
use crate::error::Problem;
use crate::store::FolderState;
use crate::text::{count, printed_command};

/// Returns the findings about the folders of entries, of state and of the cache.
pub(super) fn folders(facts: &MemoryFacts) -> Vec<Problem> {
    let mut findings = entry_folders(facts);
    let usable = |state: FolderState| match state {
        // It is created in `.ralph/` on demand.
        FolderState::Missing => facts.memory == FolderState::Writable,
        state => state == FolderState::Writable,
    };
    let hint = |name: &str| format!("make `.ralph/{name}` a folder that you can write to");
    findings.push(if usable(facts.state) {
        ok("state", "can be written")
    } else {
        error("state", "`state/` cannot be written, so no command can change anything", hint("state"))
    });
    findings.extend(facts.key_problem.as_ref().map(|reason| {
        let detail = format!(
            "your key for it cannot be kept: no process knows what another one began, undo has nothing to undo, and nothing is cached: {reason}"
        );
        warning("state", detail, "set `HOME` or `XDG_STATE_HOME` to a folder of yours that can be written")
    }));
    findings.push(if usable(facts.cache) {
        ok("cache", "can be written")
    } else {
        warning(
            "cache",
            "`cache/` cannot be written, so every search reads all files and indexes them in memory",
            hint("cache"),
        )
    });
    findings
}

fn entry_folders(facts: &MemoryFacts) -> Vec<Problem> {
    let mut findings = Vec::new();
    let open_it = |name: &str| {
        let chmod = printed_command("chmod u+rwx FOLDER", &[("FOLDER", &display_path(name))]);
        format!("let yourself read it: {chmod}")
    };
    for (name, state) in &facts.entries {
        let (detail, hint) = match state {
            FolderState::Closed => ("cannot be opened", open_it(name)),
            FolderState::Blocked => {
                ("is not a folder, and links are not followed", format!("replace `.ralph/{name}` by a folder"))
            }
            FolderState::Missing | FolderState::Writable | FolderState::ReadOnly => continue,
        };
        findings.push(error("entries", format!("`{name}/` {detail}, so nothing in it is found"), hint));
    }
    // Those of another user are closed, and have findings of their own.
    let is_of_entries = |path: &&String| !["state", "cache"].contains(&path.split('/').next().unwrap_or_default());
    for path in facts.survey.closed.named.iter().filter(is_of_entries) {
        let detail = format!("`{path}/` cannot be opened, so nothing in it is found");
        findings.push(error("entries", detail, open_it(path)));
    }
    let read_only = facts.entries.iter().filter(|(_, state)| *state == FolderState::ReadOnly);
    let read_only: Vec<String> = read_only.map(|(name, _)| format!("`{name}/`")).collect();
    if !read_only.is_empty() {
        let detail = format!("{} cannot be written, so entries there can only be read", read_only.join(", "));
        let hint = "if that is not intended, check the owner of `.ralph/` and how it is mounted";
        findings.push(warning("entries", detail, hint));
    }
    if findings.is_empty() {
        let detail = format!("can be read and written, in {}", count(facts.survey.folders, "folder"));
        findings.push(ok("entries", detail));
    }
    findings
}
