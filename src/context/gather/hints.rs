//! Hints at a call of a tool: what the memory knows about the files that the call read or changed, and about the error in
//! its output.
//!
//! Only exact matches count, and nothing is searched. The table of hints says where to look; each file is opened, and
//! quoted only if it is still the one that the table was made of.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::briefing::{gone_file, is_loaded};
use crate::context::Reference;
use crate::context::write::{FailedAttempt, Hinted, hint_line, hint_text};
use crate::entry::attempt::{Attempt, error_lines, line_fingerprint};
use crate::entry::knowledge::{Class, class, unsettled};
use crate::entry::path::{matches_pattern, named_file};
use crate::entry::{self, Entry, Id, Scope};
use crate::index::hints::{
    Hint, HintKind, HintTable, hash_of, key_of_error, key_of_file, key_of_patterns, key_of_superseded, success_after,
};
use crate::search::retrieve::{is_told, may_replace, with_people};
use crate::workspace::Workspace;

/// How many items one call gets.
const MAX_ITEMS: usize = 3;
/// How many attempts at one file are considered.
const MAX_ATTEMPTS: usize = 2;
/// How many different lines of an output are looked up.
const MAX_LINES: usize = 100;

/// Returns what a call of a tool that has to do with these `files` of the project, and with this `output` of a command that
/// may have failed, should know. What the `client` reads by itself and what `is_told` knows is left out; a further item
/// is shown only if `claim` allows it, which is asked for no more than are shown.
pub(crate) fn hints(
    workspace: &Workspace,
    (files, output): (&[String], &str),
    client: &str,
    is_told: &dyn Fn(&Id) -> bool,
    claim: &mut dyn FnMut(&Id) -> bool,
) -> Option<String> {
    if files.is_empty() && output.is_empty() {
        return None;
    }
    let table = workspace.hints()?;
    let (_, renames) = table.renames();
    let source = HintSource { workspace, table, renames, client, is_told };
    let mut seen: Vec<Id> = Vec::new();
    let mut shown = Vec::new();
    // Each is read only if there is room for it: many entries may be about one file.
    for item in source.of_output(output).into_iter().chain(files.iter().flat_map(|file| source.of_file(file))) {
        if seen.contains(item.id()) {
            continue;
        }
        seen.push(item.id().clone());
        if let Some(line) = hint_line(&item, &workspace.settings.allowed_secrets)
            && claim(item.id())
        {
            shown.push(line);
        }
        if shown.len() == MAX_ITEMS {
            break;
        }
    }
    (!shown.is_empty()).then(|| hint_text(&shown))
}

/// The table, and the files that it names.
struct HintSource<'a> {
    workspace: &'a Workspace,
    table: HintTable,
    /// Files that have other names now.
    renames: Vec<(String, String)>,
    client: &'a str,
    is_told: &'a dyn Fn(&Id) -> bool,
}

impl HintSource<'_> {
    /// Returns the failed attempts whose error the output has, the newest one of each task.
    fn of_output(&self, output: &str) -> Vec<Hinted> {
        let mut seen = HashSet::new();
        let fingerprints = error_lines(output).filter_map(line_fingerprint).filter(|line| seen.insert(*line));
        let failed = fingerprints.take(MAX_LINES).find_map(|fingerprint| {
            let rows = self.table.rows(key_of_error(fingerprint));
            let attempts = self.table.attempts(&rows);
            let solved = attempts.iter().find_map(|row| self.failed(row, Some(self.success_after(row)?)));
            solved.or_else(|| attempts.iter().find_map(|row| self.failed(row, None)))
        });
        failed.map(Hinted::Error).into_iter().collect()
    }

    /// Returns the entries about a file, the rules first, then the newest; and the failed attempts at open tasks that changed
    /// it.
    fn of_file<'a>(&'a self, file: &'a str) -> impl Iterator<Item = Hinted> + 'a {
        let old = self.renames.iter().filter(move |(_, new)| new == file).map(|(old, _)| old.as_str());
        let names = old.chain([file]).map(key_of_file);
        let rows: Vec<Hint> = names.flat_map(|name| self.table.rows(name)).collect();
        let patterns = self.table.rows(key_of_patterns()).into_iter();
        let matching =
            patterns.filter(|row| matches!(&row.kind, HintKind::Pattern(pattern) if matches_pattern(pattern, file)));
        let about = rows.iter().filter(|row| row.kind == HintKind::About).cloned();
        let mut entries: Vec<Hint> = about.chain(matching).collect();
        entries.sort_by_key(|row| (!row.is_rule, Reverse(row.at)));
        let entries = with_people(entries, |row| Some(row.is_of_person));
        let entries = entries.into_iter().filter_map(|row| Some(Hinted::Entry(self.reference(&row)?)));
        let failed = std::iter::once_with(move || self.changed_by(&rows)).flatten();
        entries.chain(failed.map(move |failed| Hinted::File(file.to_owned(), failed)))
    }

    /// Returns the failed attempts at open tasks among the rows of a file.
    fn changed_by(&self, rows: &[Hint]) -> Vec<FailedAttempt> {
        let (mut tasks, mut attempts) = (Vec::new(), Vec::new());
        for row in self.table.attempts(rows) {
            if attempts.len() < MAX_ATTEMPTS && !tasks.contains(&row.task) && self.success_after(row).is_none() {
                tasks.push(row.task);
                attempts.extend(self.failed(row, None));
            }
        }
        attempts
    }

    /// Returns the entry of a row, if it counts now.
    fn reference(&self, row: &Hint) -> Option<Reference> {
        if Id::of_path(&row.path).is_none_or(|id| (self.is_told)(&id)) {
            return None;
        }
        let (id, entry) = self.entry(row)?;
        let (head, now) = (&entry.head, self.workspace.now());
        let is_event = class(head.category.as_deref()) == Class::Event && head.category.as_deref() != Some("decision");
        let is_superseded = || {
            // An entry in a folder may be meant by its name alone.
            let names = [Some(id.clone()), Id::parse(id.stem())];
            let mut by = names.into_iter().flatten().flat_map(|name| self.table.rows(key_of_superseded(&name)));
            by.any(|row| {
                let read = self.workspace.store.read(&row.path);
                read.is_ok_and(|file| may_replace(&entry::read(&row.path, &file.bytes).head, head.source, now))
            })
        };
        let counts = is_told(head, now, is_superseded)
            && head.scope == Scope::Project
            && unsettled(head.status.as_deref()).is_none()
            && !is_event
            && !is_loaded(head, Some(self.client), true);
        counts.then(|| Reference {
            title: head.title_with_status(),
            tags: Vec::new(),
            category: head.category.clone(),
            contradicts: Vec::new(),
            unverified: gone_file(self.workspace, &self.not_renamed(&head.files)),
            body: entry.said(),
            id,
        })
    }

    fn not_renamed(&self, files: &[String]) -> Vec<String> {
        files.iter().filter(|file| !self.renames.iter().any(|(old, _)| old == named_file(file))).cloned().collect()
    }

    fn failed(&self, row: &Hint, solved: Option<(Id, Attempt)>) -> Option<FailedAttempt> {
        let (id, attempt) = self.attempt(row)?;
        Some(FailedAttempt { id, attempt, solved })
    }

    fn success_after(&self, row: &Hint) -> Option<(Id, Attempt)> {
        self.attempt(success_after(&self.table.rows(row.task), row)?)
    }

    fn attempt(&self, row: &Hint) -> Option<(Id, Attempt)> {
        let (id, entry) = self.entry(row)?;
        Some((id, Attempt::of(&entry)?))
    }

    /// Returns the entry of a row, if its file is still the one that the table was made of and answers may contain it.
    fn entry(&self, row: &Hint) -> Option<(Id, Entry)> {
        let bytes = self.workspace.store.read(&row.path).ok()?.bytes;
        let id = Id::of_path(&row.path)?;
        (hash_of(&bytes) == row.bytes).then(|| (id, entry::read(&row.path, &bytes)))
    }
}
