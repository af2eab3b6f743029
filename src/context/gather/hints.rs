//! Hints at a call of a tool: what the memory knows about the files that the call read or changed, and about the error in
//! its output.
//!
//! Only exact matches count, and nothing is searched. The table of hints says where to look; each file is opened, and
//! quoted only if it is still the one that the table was made of.

use std::cmp::Reverse;

use super::briefing::{is_gone, is_loaded};
use crate::context::Reference;
use crate::context::write::{FailedAttempt, Hinted, hint_text};
use crate::entry::attempt::{Attempt, error_lines, line_fingerprint};
use crate::entry::knowledge::{Class, class, unsettled};
use crate::entry::path::matches_pattern;
use crate::entry::{self, Entry, Id, Scope};
use crate::index::hints::{
    Hint, HintKind, HintTable, attempts_of, hash_of, key_of_error, key_of_file, key_of_patterns, key_of_superseded,
};
use crate::workspace::Workspace;

/// How many items one call gets.
const MAX_ITEMS: usize = 3;
/// How many attempts at one file are considered.
const MAX_ATTEMPTS: usize = 2;
/// How many lines of an output are looked up.
const MAX_LINES: usize = 50;
/// The categories that come first: what an agent must not do.
const FIRST: [&str; 4] = ["pitfall", "anti_pattern", "decision", "architecture_decision"];

/// Returns what a call of a tool that has to do with these `files` of the project, and with this `output` of a command that
/// may have failed, should know. What the `client` reads by itself is left out. An item is shown only if `is_new` says so, which is asked for at most a few.
pub(crate) fn hints(
    workspace: &Workspace,
    (files, output): (&[String], &str),
    client: &str,
    is_new: &mut dyn FnMut(&Id) -> bool,
) -> Option<String> {
    if files.is_empty() && output.is_empty() {
        return None;
    }
    let source = HintSource { workspace, table: workspace.hints()?, client };
    let mut items = source.of_output(output);
    for file in files {
        items.extend(source.of_file(file));
    }
    let mut seen: Vec<Id> = Vec::new();
    let mut shown = Vec::new();
    for item in items {
        if seen.contains(item.id()) {
            continue;
        }
        seen.push(item.id().clone());
        if shown.len() < MAX_ITEMS && is_new(item.id()) {
            shown.push(item);
        }
    }
    (!shown.is_empty()).then(|| hint_text(&shown, &workspace.settings.allowed_secrets))
}

/// The table, and the files that it names.
struct HintSource<'a> {
    workspace: &'a Workspace,
    table: HintTable,
    client: &'a str,
}

impl HintSource<'_> {
    /// Returns the failed attempts whose error the output has, the newest one of each task.
    fn of_output(&self, output: &str) -> Vec<Hinted> {
        let fingerprints = error_lines(output).into_iter().filter_map(line_fingerprint);
        let mut known: Vec<u64> = Vec::new();
        for fingerprint in fingerprints {
            if known.len() < MAX_LINES && !known.contains(&fingerprint) {
                known.push(fingerprint);
            }
        }
        let failed = known.into_iter().find_map(|fingerprint| {
            let rows = self.table.rows(key_of_error(fingerprint));
            let attempts = attempts_of(&rows);
            let solved = attempts.iter().find_map(|row| self.failed(row, true));
            solved.or_else(|| attempts.iter().find_map(|row| self.failed_unsolved(row)))
        });
        failed.map(Hinted::Error).into_iter().collect()
    }

    /// Returns the entries about a file, and the failed attempts at open tasks that changed it.
    fn of_file(&self, file: &str) -> Vec<Hinted> {
        let rows = self.table.rows(key_of_file(file));
        let patterns = self.table.rows(key_of_patterns());
        let matching = patterns
            .iter()
            .filter(|row| matches!(&row.kind, HintKind::Pattern(pattern) if matches_pattern(pattern, file)));
        let about = rows.iter().filter(|row| row.kind == HintKind::About).chain(matching);
        let mut entries: Vec<Reference> = about.filter_map(|row| self.reference(row)).collect();
        entries.sort_by_key(|entry| {
            let category = entry.category.as_deref().unwrap_or_default();
            (!FIRST.contains(&category), Reverse(entry.recency))
        });
        let (mut tasks, mut attempts) = (Vec::new(), Vec::new());
        for row in attempts_of(&rows) {
            if attempts.len() < MAX_ATTEMPTS && !tasks.contains(&row.task) && self.success_after(row).is_none() {
                tasks.push(row.task);
                attempts.extend(self.attempt(row).map(|(id, attempt)| FailedAttempt { id, attempt, solved: None }));
            }
        }
        let attempts = attempts.into_iter().map(|failed| Hinted::File(file.to_owned(), failed));
        entries.into_iter().map(Hinted::Entry).chain(attempts).collect()
    }

    /// Returns the entry of a row, if it counts now.
    fn reference(&self, row: &Hint) -> Option<Reference> {
        let (id, entry) = self.entry(row)?;
        let head = &entry.head;
        let is_event = class(head.category.as_deref()) == Class::Event && head.category.as_deref() != Some("decision");
        let is_superseded = || {
            // An entry in a folder may be meant by its name alone.
            let names = [Some(id.clone()), Id::parse(id.stem())];
            let mut by = names.into_iter().flatten().flat_map(|name| self.table.rows(key_of_superseded(&name)));
            by.any(|row| self.workspace.store.read(&row.path).is_ok())
        };
        let counts = head.valid
            && head.scope == Scope::Project
            && !head.is_expired(self.workspace.now())
            && unsettled(head.status.as_deref()).is_none()
            && !is_event
            && !is_loaded(head, Some(self.client), true)
            && !is_superseded();
        counts.then(|| Reference {
            title: head.title_with_status(),
            tags: Vec::new(),
            category: head.category.clone(),
            recency: head.recency(),
            unverified: head.files.iter().find(|file| is_gone(self.workspace, file)).cloned(),
            body: entry.said(),
            id,
        })
    }

    /// Returns the attempt of a row, with what solved it, if something did and `is_solved` asks for it.
    fn failed(&self, row: &Hint, is_solved: bool) -> Option<FailedAttempt> {
        let solved = if is_solved { Some(self.success_after(row)?) } else { None };
        let (id, attempt) = self.attempt(row)?;
        Some(FailedAttempt { id, attempt, solved })
    }

    fn failed_unsolved(&self, row: &Hint) -> Option<FailedAttempt> {
        self.failed(row, false)
    }

    /// Returns the first success at the task of a failed attempt after it.
    fn success_after(&self, row: &Hint) -> Option<(Id, Attempt)> {
        let rows = self.table.rows(row.task);
        let later = rows.iter().filter(|did| did.kind == HintKind::Did && did.at >= row.at);
        later.min_by_key(|did| did.at).and_then(|did| self.attempt(did))
    }

    fn attempt(&self, row: &Hint) -> Option<(Id, Attempt)> {
        let (id, entry) = self.entry(row)?;
        Some((id, Attempt::of(&entry)?))
    }

    /// Returns the entry of a row, if its file is still the one that the table was made of.
    fn entry(&self, row: &Hint) -> Option<(Id, Entry)> {
        let bytes = self.workspace.store.read(&row.path).ok()?.bytes;
        let id = Id::of_path(&row.path)?;
        (hash_of(&bytes) == row.bytes).then(|| (id, entry::read(&row.path, &bytes)))
    }
}
